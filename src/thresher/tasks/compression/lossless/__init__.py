"""Columns that come back letter by letter: whole numbers, numerals, times, words."""

from thresher.tasks.compression.lossless.integers import packed_integers, unpacked_integers
from thresher.tasks.compression.lossless.texts import packed_texts, unpacked_texts

__all__ = ["packed_integers", "packed_texts", "unpacked_integers", "unpacked_texts"]
