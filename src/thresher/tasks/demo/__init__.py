"""The demonstration: a synthetic street, taken apart and shown on a page."""
