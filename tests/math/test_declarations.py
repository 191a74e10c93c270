"""Losses, sets, penalties and methods declare properties; no other code asks for their class."""

import ast
import inspect
from pathlib import Path

import thresher
from thresher import encoding, learning, losses, manhattan, penalties, sets

ROOT = Path(thresher.__file__).parent
PARTS = {
    name
    for module in (losses, sets, penalties, encoding, learning, manhattan)
    for name in module.__all__
    if inspect.isclass(getattr(module, name))
}
# Where names become objects, objects become files and back, and the objects themselves.
ALLOWED = (
    "estimators/registry.py",
    "solvers/",
    "published/",
    "estimators/parts.py",
    "estimators/saving.py",
    "persistence/",
)
OWN = {"losses": losses, "sets": sets, "penalties": penalties}


def names_in(node):
    return {
        inner.id if isinstance(inner, ast.Name) else inner.attr
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name | ast.Attribute)
    }


def decisions(tree):
    """Tests of a class: isinstance, issubclass, type(…) is, hasattr, class patterns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass") and names_in(node.args[1]) & PARTS:
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Compare):
            called = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
            types = any(isinstance(c.func, ast.Name) and c.func.id == "type" for c in called)
            if types and names_in(node) & PARTS:
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.MatchClass) and names_in(node.cls) & PARTS:
            yield node.lineno, ast.unparse(node)


def found():
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(ALLOWED) and name.split("/")[0] not in OWN:
            for line, text in decisions(ast.parse(path.read_text(encoding="utf-8"))):
                yield f"{name}:{line}: {text}"


def test_no_decision_depends_on_the_class_of_a_loss_set_or_penalty():
    assert list(found()) == []
