"""The encoding layer."""
