"""The learning layer."""
