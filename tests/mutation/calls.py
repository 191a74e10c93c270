"""Slips in calls: what is called, with which arguments."""

import ast
from collections.abc import Iterator

from mutation.fair import READ_BY_PEOPLE, called
from mutation.registry import Edit, slip, swapped
from mutation.source import Source

_PAIRS = (
    "min max, minimum maximum, argmin argmax, nanmin nanmax, any all, floor ceil, ones zeros, "
    "ones_like zeros_like, hstack vstack, sin cos, sum mean, nansum nanmean, triu tril, "
    "multiply divide, add subtract, startswith endswith, lstrip rstrip"
)
SIBLINGS = {a: b for pair in _PAIRS.split(", ") for a, b in (pair.split(), pair.split()[::-1])}
SIBLINGS |= {"median": "mean", "nanmedian": "nanmean", "isnan": "isinf", "log1p": "log"}
TRANSPARENT = {
    "abs", "sqrt", "square", "exp", "expm1", "log", "log1p", "log2", "round", "floor", "ceil",
    "sorted", "reversed", "set", "unique", "cumsum", "positive_part", "float", "int",
}  # fmt: skip


@slip("keyword", ast.Call)
def _forgotten_keyword(code: Source, node: ast.Call) -> Iterator[Edit]:
    """A keyword argument that was not passed on."""
    parts: list[ast.AST] = [*node.args, *node.keywords]
    for number, part in enumerate(parts):
        if isinstance(part, ast.keyword) and part.arg and part.arg not in READ_BY_PEOPLE:
            if number:
                yield code.end(parts[number - 1]), code.end(part), ""
            elif len(parts) > 1:
                yield code.start(part), code.start(parts[1]), ""
            else:
                yield code.start(part), code.end(part), ""


@slip("swapped arguments", ast.Call)
def _swapped_arguments(code: Source, node: ast.Call) -> Iterator[Edit]:
    """Two neighbours in the wrong order."""
    for a, b in zip(node.args, node.args[1:], strict=False):
        if not isinstance(a, ast.Starred) and not isinstance(b, ast.Starred):
            yield from swapped(code, a, b)


@slip("other function", ast.Call)
def _other_function(code: Source, node: ast.Call) -> Iterator[Edit]:
    """``max`` for ``min``, ``mean`` for ``sum``."""
    name = called(node)
    if name in SIBLINGS:
        yield code.end(node.func) - len(name), code.end(node.func), SIBLINGS[name]


@slip("forgotten call", ast.Call)
def _forgotten_call(code: Source, node: ast.Call) -> Iterator[Edit]:
    """``x`` for ``sqrt(x)`` or ``x.copy()``."""
    if called(node) in TRANSPARENT and len(node.args) == 1 and not node.keywords:
        yield code.start(node), code.end(node), f"({code.of(node.args[0])})"
    if called(node) == "copy" and not node.args and isinstance(node.func, ast.Attribute):
        yield code.end(node.func.value), code.end(node), ""


@slip("range", ast.Call)
def _range(code: Source, node: ast.Call) -> Iterator[Edit]:
    """A loop that misses its first or last turn."""
    if called(node) not in {"range", "arange"} or not node.args:
        return
    last = node.args[min(1, len(node.args) - 1)]
    yield code.end(last), code.end(last), " - 1"
    if len(node.args) == 1:
        yield code.start(last), code.start(last), "1, "
    else:
        yield code.end(node.args[0]), code.end(node.args[0]), " + 1"


@slip("returned argument", ast.Return)
def _returned_argument(code: Source, node: ast.Return) -> Iterator[Edit]:
    """``return X`` for ``return f(X)``."""
    call = node.value
    if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name):
        yield code.start(call), code.end(call), call.args[0].id
