"""The papers as plain NumPy, written from their text alone."""
