"""Kinds of slips, and which nodes of a syntax tree they fit."""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mutation.source import Source

Edit = tuple[int, int, str]  # from character, to character, what stands there instead
Maker = Callable[..., Iterator[Edit]]
MAKERS: list[tuple[str, tuple[type[ast.AST], ...], Maker]] = []


class Slip(NamedTuple):
    """One mistake: its kind, and which characters become what."""

    kind: str
    start: int
    end: int
    new: str


def slip(kind: str, *types: type[ast.AST]) -> Callable[[Maker], Maker]:
    """Register a maker of slips for some types of nodes."""

    def register(maker: Maker) -> Maker:
        MAKERS.append((kind, types, maker))
        return maker

    return register


def swapped(code: Source, a: ast.AST, b: ast.AST) -> Iterator[Edit]:
    """Two parts of the text in each other's place."""
    between = code.text[code.end(a) : code.start(b)]
    yield code.start(a), code.end(b), code.of(b) + between + code.of(a)
