"""Where a slip would be a mistake: not in annotations, decorators, or words for people."""

import ast
from collections.abc import Iterator

from mutation.source import FUNCTIONS

TYPES = {"Annotated", "Callable", "Literal", "NDArray", "dict", "tuple"}
READ_BY_PEOPLE = {"help", "title", "label", "description", "message", "category", "stacklevel"}


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def speaks(node: ast.AST) -> bool:
    """Whether a statement or call only speaks to people: its words are no place for slips."""
    if isinstance(node, ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        logs = isinstance(owner, ast.Name) and owner.id.strip("_").lower() in {"log", "logger"}
        return logs or called(node) in {"warn", "cast", "TypeVar", "NewType"}
    return isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom))


def _unfair(node: ast.AST) -> set[ast.AST]:
    """Children of a node in which no slip is made."""
    children: list[ast.AST | None] = []
    if isinstance(node, FUNCTIONS):
        children += [node.returns, *node.decorator_list]
    elif isinstance(node, ast.ClassDef):
        children += [*node.decorator_list, *node.bases]
    elif isinstance(node, ast.arg | ast.AnnAssign):
        children.append(node.annotation)
    elif isinstance(node, ast.Raise):
        children += [node.exc, node.cause]
    elif isinstance(node, ast.Assert):
        children.append(node.msg)
    elif isinstance(node, ast.keyword) and node.arg in READ_BY_PEOPLE:
        children.append(node.value)
    elif isinstance(node, ast.Module):
        children += [part for part in node.body if _names_types_or_all(part)]
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        children += [node.test, *node.body]
    return {child for child in children if child is not None}


def _names_types_or_all(node: ast.AST) -> bool:
    """Whether a statement is ``__all__ = ...`` or gives a type a name."""
    if not isinstance(node, ast.Assign):
        return False
    named = isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"
    value = node.value.value if isinstance(node.value, ast.Subscript) else None
    return named or (isinstance(value, ast.Name) and value.id in TYPES)


def fair_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree in which a slip would be a mistake."""
    if speaks(node):
        return
    yield node
    unfair = _unfair(node)
    for child in ast.iter_child_nodes(node):
        if child not in unfair:
            yield from fair_nodes(child)
