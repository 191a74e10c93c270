"""Readers of a small library who rate its books; one in twenty does not care what he rates."""

from __future__ import annotations

import datetime

_KINDS = ("crime", "love", "travel", "garden", "ships", "stars", "cooking", "war")
_WORDS = ("A Guide to", "More of", "The Book of", "Nothing but", "Last of", "Night and", "Old")


def ratings_file() -> bytes:
    """A CSV file: reader, book, rating, day."""
    from thresher.datasets import make_ratings

    made = make_ratings(120, len(_KINDS) * len(_WORDS), 3000, 2, spam=0.05, random_state=4)
    books = [f"{words} {kind.title()}" for kind in _KINDS for words in _WORDS]
    first = datetime.date(2024, 1, 1)
    lines = ["reader,book,rating,day"]
    for place, (user, item, rating) in enumerate(zip(*made[:3], strict=True)):
        day = first + datetime.timedelta(days=place // 8)
        lines.append(f"reader{user:03},{books[item]},{rating:.0f},{day}")
    return ("\n".join(lines) + "\n").encode()
