"""Lower bounds of numbers that must not be zero, shared by compiled loops and NumPy code."""

FLOOR = 1e-8
"""Relative to the largest entry of a row: what is added where a divergence needs positive numbers.

It stands for the ε of paper E (4)–(5), which has no unit; this one has that of the data, so that
scaling them changes nothing (errata E.3, E.4)."""

TINY = 1e-300
"""Least divisor in float64. By judgement: above the smallest normal number, 2e-308, and far below
the squares of the smallest data that are promised to work (1e-30, docs/guide/choices.md), so that
it decides nothing but 0/0."""

TINY_FLOAT32 = 1e-30
"""The same where numbers may be float32, whose smallest normal number is 1e-38. By judgement."""
