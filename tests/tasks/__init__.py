"""Tests of tasks: what users came for, with planted truth."""
