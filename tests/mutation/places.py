"""Slips in slices, indices and filters."""

import ast
from collections.abc import Iterator

from mutation.registry import Edit, slip, swapped
from mutation.source import Source


@slip("slice", ast.Slice)
def _slice(code: Source, node: ast.Slice) -> Iterator[Edit]:
    """``[:-1]`` for ``[1:]``, one too many, the other half, a forgotten step."""
    place = code.start(node), code.end(node)
    low, high = node.lower, node.upper
    if low and not high and not node.step:
        other = "-1" if code.of(low) == "1" else code.of(low)
        yield *place, f":{other}"
        yield code.end(low), code.end(low), " + 1"
    elif high and not low and not node.step:
        yield *place, "1:" if code.of(high) == "-1" else f"{code.of(high)}:"
        yield code.end(high), code.end(high), " + 1"
    elif low and high:
        yield code.end(low), code.end(low), " + 1"
        yield code.end(high), code.end(high), " - 1"
    if node.step:
        yield code.start(node.step), code.end(node.step), ""


@slip("index", ast.Subscript)
def _index(code: Source, node: ast.Subscript) -> Iterator[Edit]:
    """``[i - 1]`` for ``[i]``, ``[j, i]`` for ``[i, j]``."""
    at = node.slice
    parts = at.elts if isinstance(at, ast.Tuple) else [at]
    for part in parts:
        if isinstance(part, ast.Name) and part.id.islower() and len(part.id) <= 2:
            yield code.end(part), code.end(part), " - 1"
    if len(parts) == 2 and not any(isinstance(p, ast.Slice | ast.Constant) for p in parts):
        yield from swapped(code, parts[0], parts[1])


@slip("transpose", ast.Attribute)
def _transpose(code: Source, node: ast.Attribute) -> Iterator[Edit]:
    """``X`` for ``X.T``."""
    if node.attr == "T":
        yield code.end(node.value), code.end(node), ""


@slip("filter", ast.comprehension)
def _filter(code: Source, node: ast.comprehension) -> Iterator[Edit]:
    """A comprehension that forgets its condition."""
    if node.ifs:
        yield code.end(node.iter), code.end(node.ifs[-1]), ""
