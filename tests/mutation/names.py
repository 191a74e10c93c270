"""Slips of the pen: another name than the one that is meant, a line forgotten."""

import ast
from collections.abc import Iterator

from mutation.fair import called, speaks
from mutation.registry import Edit, slip
from mutation.source import Source


@slip("other attribute", ast.Attribute)
def _other_attribute(code: Source, node: ast.Attribute) -> Iterator[Edit]:
    """``self.b`` for ``self.a``, where both are used in the same function."""
    scope, owner = code.function(node), node.value
    if scope is None or not isinstance(owner, ast.Name) or not _is_local(scope, owner.id):
        return
    others = {
        other.attr
        for other in ast.walk(scope)
        if isinstance(other, ast.Attribute)
        and isinstance(other.value, ast.Name)
        and other.value.id == owner.id
        and _use(code, other) == _use(code, node)
        and _look(other.attr) == _look(node.attr)
    }
    for other in sorted(others - {node.attr})[:3]:
        yield code.end(node) - len(node.attr), code.end(node), other


@slip("other variable", ast.Name)
def _other_variable(code: Source, node: ast.Name) -> Iterator[Edit]:
    """Another parameter of the same type than the one that is meant."""
    scope = code.function(node)
    if scope is None or not isinstance(node.ctx, ast.Load) or _is_callee(code, node):
        return
    types = {a.arg: a.annotation and ast.dump(a.annotation) for a in _arguments(scope)}
    if node.id not in types:
        return
    subscripted = {
        other.value.id
        for other in ast.walk(scope)
        if isinstance(other, ast.Subscript) and isinstance(other.value, ast.Name)
    }
    for other in sorted(types.keys() - {node.id, "self", "cls"}):
        alike = (other in subscripted) == (node.id in subscripted)
        if types[other] == types[node.id] and (alike or types[other] is not None):
            yield code.start(node), code.end(node), other


def _look(name: str) -> tuple[bool, bool, bool]:
    """What the form of a name tells of its type."""
    return name.startswith("_"), name.endswith("_"), name.isupper()


def _use(code: Source, node: ast.AST) -> tuple[type, str]:
    """How a name is used: called, indexed, as an owner of attributes, read or written."""
    above = code.parents[node]
    uses = (ast.Call, "func"), (ast.Subscript, "value"), (ast.Attribute, "value")
    place = next((kind for kind, part in uses if getattr(above, part, None) is node), ast.AST)
    return place, type(node.ctx).__name__  # type: ignore[attr-defined]


def _is_callee(code: Source, node: ast.AST) -> bool:
    above = code.parents[node]
    return isinstance(above, ast.Call) and above.func is node


def _arguments(scope: ast.FunctionDef) -> list[ast.arg]:
    return [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]


def _parameters(scope: ast.FunctionDef) -> set[str]:
    return {argument.arg for argument in _arguments(scope)}


def _is_local(scope: ast.FunctionDef, name: str) -> bool:
    return name in _parameters(scope) or any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(scope)
    )


@slip("dropped statement", ast.stmt)
def _dropped_statement(code: Source, node: ast.stmt) -> Iterator[Edit]:
    """A line that is not there, where the code still runs without it."""
    if _can_go(code, node):
        yield code.start(node), code.end(node), "pass"


def _can_go(code: Source, node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call) and (
            not speaks(node.value) or called(node.value) == "warn"
        )
    if isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break):
        return True
    scope = code.function(node)
    if not isinstance(node, ast.Assign) or scope is None:
        return False
    return all(
        isinstance(target, ast.Attribute | ast.Subscript)
        or (isinstance(target, ast.Name) and _known_before(scope, target.id, node))
        for target in node.targets
    )


def _known_before(scope: ast.FunctionDef, name: str, node: ast.stmt) -> bool:
    return name in _parameters(scope) or any(
        isinstance(other, ast.Name)
        and other.id == name
        and isinstance(other.ctx, ast.Store)
        and other.lineno < node.lineno
        for other in ast.walk(scope)
    )
