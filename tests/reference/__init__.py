"""The published algorithms in plain NumPy, written from the papers alone."""
