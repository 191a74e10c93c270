"""Tests of commands, sources, frames, river and the live page."""
