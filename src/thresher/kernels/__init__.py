"""Compiled loops, where a matrix product cannot serve. The only layer that imports numba."""
