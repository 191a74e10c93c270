"""The streams layer."""
