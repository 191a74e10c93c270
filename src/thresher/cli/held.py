"""What fits into memory is held, as more can be done with it; of what does not, the beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

MOST = 1 << 28  # bytes of numbers, or letters of text; by judgement

Part = TypeVar("Part")


def held(
    parts: Iterable[Part], size: Callable[[Part], int]
) -> tuple[list[Part], Iterator[Part] | None]:
    """The first parts, up to `MOST` in all, and the others; None if there are none."""
    kept, total = [], 0
    rest = iter(parts)
    for part in rest:
        kept.append(part)
        total += size(part)
        if total > MOST:
            return kept, rest
    return kept, None
