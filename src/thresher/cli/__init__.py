"""The command line: it parses and prints; what is done is in `thresher.tasks`."""

from .app import app, main

__all__ = ["app", "main"]
