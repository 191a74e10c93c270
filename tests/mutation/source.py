"""A source file with its syntax tree, and where each node stands in the text."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef)


class Source:
    """The text of a module, its tree, and the way back from nodes to characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.lines = text.splitlines()
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    def _at(self, line: int, column: int) -> int:
        """Characters before a place that the tree names by line and by bytes of UTF-8."""
        before = self.lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(before)

    def start(self, node: ast.AST) -> int:
        return self._at(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self._at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def of(self, node: ast.AST) -> str:
        return self.text[self.start(node) : self.end(node)]

    def line_of(self, place: int) -> int:
        """The number of the line, from 1, in which a character stands."""
        return self.text.count("\n", 0, place) + 1

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parents of a node, from the nearest on."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function(self, node: ast.AST) -> ast.FunctionDef | None:
        """The function that a node belongs to."""
        return next((up for up in self.above(node) if isinstance(up, FUNCTIONS)), None)

    @cached_property
    def shape(self) -> str:
        """The tree as text, without places."""
        return ast.dump(self.tree)

    @cached_property
    def scopes(self) -> list[str]:
        """For each line the dotted name of the innermost function or class in which it runs.

        The line of a ``def``, with its defaults, belongs to the function: it runs at import, but
        only calls of the function can tell what stands there.
        """
        names = [""] * (len(self.lines) + 1)

        def visit(node: ast.AST, prefix: str) -> None:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, SCOPES):
                    name = f"{prefix}.{child.name}" if prefix else child.name
                    for line in range(child.lineno, child.end_lineno + 1):
                        names[line] = name
                    visit(child, name)
                else:
                    visit(child, prefix)

        visit(self.tree, "")
        return names

    def runs_at_import(self, line: int) -> bool:
        """Whether a line stands in no function: any test that imports the file first runs it."""
        around = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, FUNCTIONS) and node.lineno <= line <= (node.end_lineno or line)
        ]
        return not around

    @cached_property
    def keys(self) -> list[tuple[str, str, int]]:
        """A name for each line that outlives changes elsewhere: its scope, its text, and how often.

        ``keys[n]`` is of line ``n``, from 1.
        """
        seen: Counter[tuple[str, str]] = Counter()
        keys = [("", "", 0)]
        for number, line in enumerate(self.lines, 1):
            name = (self.scopes[number], line.strip())
            keys.append((*name, seen[name]))
            seen[name] += 1
        return keys
