"""The persistence layer."""
