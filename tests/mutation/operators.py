"""Slips in operators, numbers and conditions."""

import ast
import re
from collections.abc import Iterator

from mutation.registry import Edit, slip, swapped
from mutation.source import Source

COMPARISONS = {
    "<": ["<=", ">"],
    "<=": ["<"],
    ">": [">=", "<"],
    ">=": [">"],
    "==": ["!="],
    "!=": ["=="],
    "is": ["is not"],
    "is not": ["is"],
    "in": ["not in"],
    "not in": ["in"],
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.Pow: ("**", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}


@slip("comparison", ast.Compare)
def _comparison(code: Source, node: ast.Compare) -> Iterator[Edit]:
    """``<`` for ``<=``, ``is`` for ``is not``: boundaries and directions."""
    left: ast.expr = node.left
    for right in node.comparators:
        offset = code.end(left)
        between = code.text[offset : code.start(right)]
        match = re.search(r"<=|>=|==|!=|<|>|is\s+not|not\s+in|is|in", between)
        if match:
            for other in COMPARISONS[re.sub(r"\s+", " ", match[0])]:
                yield offset + match.start(), offset + match.end(), other
        left = right


def _is_text_or_list(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text_or_list(node.left) or _is_text_or_list(node.right)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp | ast.Dict)


@slip("arithmetic", ast.BinOp)
def _arithmetic(code: Source, node: ast.BinOp) -> Iterator[Edit]:
    """``+`` for ``-``, ``*`` for ``/``."""
    if type(node.op) not in ARITHMETIC or _is_text_or_list(node):
        return
    old, new = ARITHMETIC[type(node.op)]
    offset = code.end(node.left)
    at = code.text.index(old, offset, code.start(node.right))
    yield at, at + len(old), new


@slip("swapped operands", ast.BinOp)
def _swapped_operands(code: Source, node: ast.BinOp) -> Iterator[Edit]:
    """``b - a`` for ``a - b``."""
    if isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Pow | ast.Mod):
        yield from swapped(code, node.left, node.right)


@slip("augmented", ast.AugAssign)
def _augmented(code: Source, node: ast.AugAssign) -> Iterator[Edit]:
    """``-=`` for ``+=``, or a plain ``=``."""
    if type(node.op) not in ARITHMETIC:
        return
    old, new = ARITHMETIC[type(node.op)]
    at = code.text.index(old + "=", code.end(node.target))
    yield at, at + len(old), new
    yield at, at + len(old), ""


@slip("not", ast.UnaryOp)
def _dropped_sign(code: Source, node: ast.UnaryOp) -> Iterator[Edit]:
    """A ``not`` or a minus that was forgotten."""
    if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield code.start(node), code.start(node.operand), ""


@slip("condition", ast.If, ast.While, ast.IfExp)
def _condition(code: Source, node: ast.If | ast.While | ast.IfExp) -> Iterator[Edit]:
    """A condition the wrong way round, two results exchanged."""
    test = node.test
    if isinstance(test, ast.Name | ast.Attribute | ast.Call):
        yield code.start(test), code.start(test), "not "
    if isinstance(node, ast.IfExp):
        body, other = code.of(node.body), code.of(node.orelse)
        between = code.text[code.end(node.body) : code.start(node.orelse)]
        yield code.start(node.body), code.end(node.orelse), other + between + body


@slip("and/or", ast.BoolOp)
def _and_or(code: Source, node: ast.BoolOp) -> Iterator[Edit]:
    """``or`` for ``and``, or a part of the condition forgotten."""
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        at = code.text.index(old, code.end(left), code.start(right))
        yield at, at + len(old), new
        yield code.start(left), code.start(right), ""
    yield code.end(node.values[-2]), code.end(node.values[-1]), ""


@slip("constant", ast.Constant)
def _constant(code: Source, node: ast.Constant) -> Iterator[Edit]:
    """Off by one, scaled, the wrong axis, True for False."""
    value, place = node.value, (code.start(node), code.end(node))
    above = code.parents[node]
    if isinstance(value, bool):
        yield *place, str(not value)
    elif isinstance(above, ast.keyword) and above.arg == "axis":
        yield *place, "0" if value == 1 else "1"
    elif isinstance(value, int):
        yield *place, str(value + 1)
        if value > 0:
            yield *place, str(value - 1)
        if value > 9:
            yield *place, str(2 * value)
    elif isinstance(value, float) and 0 < abs(value) < float("inf"):
        if "e" in code.of(node).lower():
            yield *place, f"{10 * value:.3g}"
            yield *place, f"{value / 10:.3g}"
        else:
            yield *place, repr(2 * value)
            yield *place, repr(value / 2)
    elif value == 0 and isinstance(value, float):
        yield *place, "1.0"
