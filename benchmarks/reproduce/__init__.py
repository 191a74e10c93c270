"""The tables and figures of the five papers, again: ``python -m benchmarks.reproduce``."""
