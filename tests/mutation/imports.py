"""Who imports and who calls what, read from the text: compiled lines are not seen at run time."""

import ast
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from mutation.source import FUNCTIONS, Source

Function = tuple[str, str]  # a file of the library and the name of a function in it
Line = tuple[str, int]


def is_compiled(file: str) -> bool:
    """Whether a file's functions are compiled: those of the kernels, wherever they stand."""
    return "kernels/" in file


def file_of(root: Path, module: str) -> str | None:
    """The file of a module, relative to the root of the repository."""
    path = Path("src", *module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if (root / candidate).exists():
            return candidate.as_posix()
    return None


def imported(root: Path, tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """File, name there and name here of everything imported from the library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("thresher"):
            for alias in node.names:
                here = alias.asname or alias.name
                module = file_of(root, f"{node.module}.{alias.name}")
                file = module or file_of(root, str(node.module))
                if file:
                    yield file, "" if module else alias.name, here


class Imports:
    """The imports and calls of every file of the library and of its tests."""

    def __init__(self, root: Path) -> None:
        paths = [*root.glob("src/thresher/**/*.py"), *root.glob("tests/test_*.py")]
        self.files = {p.relative_to(root).as_posix(): Source(p.read_text("utf-8")) for p in paths}
        self._names = {f: list(imported(root, s.tree)) for f, s in self.files.items()}

    def nearest_tests(self, file: str) -> list[str]:
        """Files of tests, those with the fewest imports on the way to a file first."""
        uses = {user: {source for source, _, _ in names} for user, names in self._names.items()}
        tests = [name for name in self.files if name.startswith("tests/")]
        distance = {test: _reached([test], uses).get(file) for test in tests}
        return sorted((t for t in tests if distance[t]), key=lambda t: (distance[t], t))

    def lines_that_call(self, file: str, function: str) -> set[Line]:
        """Lines of Python that name a compiled function, or one that calls it when compiled."""
        callers, lines = self._uses
        reached = _reached([(file, function)], callers)
        return {line for target in reached for line in lines[target]}

    @cached_property
    def _uses(self) -> tuple[dict[Function, set[Function]], dict[Function, set[Line]]]:
        """Of every function: the compiled ones that name it, and the lines of Python that do."""
        callers: dict[Function, set[Function]] = defaultdict(set)
        lines: dict[Function, set[Line]] = defaultdict(set)
        for name, code in self.files.items():
            compiled = is_compiled(name)
            for line, user, target in self._calls(name, code):
                if compiled and user:
                    callers[target].add((name, user))
                else:
                    lines[target].add((name, line))
        return callers, lines

    def _calls(self, name: str, code: Source) -> Iterator[tuple[int, str, Function]]:
        """Line, function around it and what is named there, for names of functions."""
        here = {local: (file, there) for file, there, local in self._names[name]}
        here |= {f.name: (name, f.name) for f in code.tree.body if isinstance(f, FUNCTIONS)}
        for node in ast.walk(code.tree):
            owner = node.value if isinstance(node, ast.Attribute) else node
            if not isinstance(owner, ast.Name) or owner.id not in here:
                continue
            file, there = here[owner.id]
            target = node.attr if isinstance(node, ast.Attribute) and not there else there
            yield node.lineno, code.scopes[node.lineno].split(".")[0], (file, target)


def _reached(first: Iterable[Any], edges: dict[Any, set[Any]]) -> dict[Any, int]:
    """Everything that can be reached, with the number of steps."""
    steps = dict.fromkeys(first, 0)
    waiting = deque(steps)
    while waiting:
        node = waiting.popleft()
        for other in edges.get(node, ()):
            if other not in steps:
                steps[other] = steps[node] + 1
                waiting.append(other)
    return steps
