"""The testing layer."""
