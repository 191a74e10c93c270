"""The tasks layer."""
