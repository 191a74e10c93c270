"""A mutant as another body of one function, exchanged in a process that has imported everything.

Most slips are made inside of a function. There a trial needs no copy of the repository and no start
of Python: a process that has collected the tests is forked, and the function gets its other body.
Constants of a module can be exchanged too, wherever they were imported; only what was computed from
them before stays as it was, so that one that lives has to be tried in a copy as well.
"""

import ast
import gc
import sys
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

from mutation.source import FUNCTIONS

Place = tuple[str, str, int]  # file, name of a function, and its first line


class Body(NamedTuple):
    """What a function became, and which one it is."""

    place: Place
    lines: range
    """Of the body, before."""
    code: CodeType


def other_body(before: str, after: str, path: str) -> Body | None:
    """The body that differs between two texts of a file; None if anything else does."""
    trees = ast.parse(before), ast.parse(after)
    pairs = list(zip(*(_outermost(tree) for tree in trees), strict=False))
    changed = [(old, new) for old, new in pairs if ast.dump(old) != ast.dump(new)]
    if len(changed) != 1:
        return None
    old, new = changed[0]
    lines = range(old.body[0].lineno, (old.end_lineno or 0) + 1)
    old.body = new.body = []
    if ast.dump(trees[0]) != ast.dump(trees[1]):  # a default, a decorator, another function
        return None
    first = min(node.lineno for node in (new, *new.decorator_list))
    place = (path, new.name, first)
    code = next(c for c in _codes(compile(after, path, "exec")) if _place(c) == place)
    return Body(place, lines, code)


class Constant(NamedTuple):
    """What the constant of a module became."""

    name: str
    value: CodeType

    def take(self, module: ModuleType) -> None:
        """Put it in the place of the old one, in its module and in those that imported it."""
        old, new = getattr(module, self.name), eval(self.value, vars(module))
        setattr(module, self.name, new)
        for other in [] if self.name.startswith("_") else list(sys.modules.values()):
            if getattr(other, "__dict__", {}).get(self.name) is old:
                setattr(other, self.name, new)


def other_constant(before: str, after: str) -> Constant | None:
    """The constant that differs between two texts of a file; None if anything else does."""
    bodies = (ast.parse(text).body for text in (before, after))
    changed = [new for old, new in zip(*bodies, strict=False) if ast.dump(old) != ast.dump(new)]
    if len(changed) != 1 or not isinstance(changed[0], ast.Assign | ast.AnnAssign):
        return None
    (statement,) = changed
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name) or statement.value is None:
        return None
    value = compile(ast.Expression(statement.value), "constant", "eval")
    return Constant(targets[0].id, value)


def _outermost(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions and methods, without those inside of others."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            yield child  # type: ignore[misc]
        else:
            yield from _outermost(child)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_name, code.co_firstlineno


class Functions:
    """All functions that a process has, by their place."""

    def __init__(self) -> None:
        self._found: dict[Place, list[FunctionType]] = defaultdict(list)
        for function in gc.get_objects():
            if type(function) is FunctionType:
                self._found[_place(function.__code__)].append(function)

    def can_take(self, body: Body) -> bool:
        """Whether a function is there, and what it closes over is what its other body needs."""
        found = self._found.get(body.place, [])
        names = body.code.co_freevars
        return bool(found) and all(f.__code__.co_freevars == names for f in found)

    def take(self, body: Body) -> None:
        """Give a function its other body, wherever it is referred to."""
        for function in self._found[body.place]:
            function.__code__ = body.code
