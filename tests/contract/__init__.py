"""Stored samples of results: a refactoring changes none of them."""
