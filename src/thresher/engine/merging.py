"""Sums of blocks, added as a tree whose shape depends on their number alone."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TypeVar

Part = TypeVar("Part")


def merged(parts: Sequence[Part]) -> Part:
    """Neighbours are added, then neighbours of their sums, until one is left.

    Two, four, eight ... parts that begin at a multiple of their number are a branch of the tree: it
    has the same bits whoever adds them up, so branches may grow on other machines.
    """
    while len(parts) > 1:
        parts = [reduce(add, parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return parts[0]
