"""Thresher learns parts from streams and sets the outliers aside.

Nothing heavy is imported until it is used: names are looked up on first access.
"""
