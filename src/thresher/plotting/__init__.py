"""The plotting layer."""
