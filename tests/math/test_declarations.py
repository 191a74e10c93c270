"""Who decides by class where a part could be asked: nobody but the registry and the parts."""

import ast
import inspect
from pathlib import Path

import pytest

import thresher
from thresher import encoding, learning, losses, manhattan, penalties, sets

ROOT = Path(thresher.__file__).parent
PARTS = {
    name
    for module in (losses, sets, penalties, encoding, learning, manhattan)
    for name in module.__all__
    if inspect.isclass(getattr(module, name))
}
# Where strings become parts, where parts become files and back, and the parts themselves.
MAY = (
    "estimators/registry.py",
    "solvers/",
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
        if not name.startswith(MAY) and name.split("/")[0] not in OWN:
            for line, text in decisions(ast.parse(path.read_text(encoding="utf-8"))):
                yield f"{name}:{line}: {text}"


def test_nobody_decides_by_the_class_of_a_part():
    assert list(found()) == []


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(loss, Envelope | L1Distance)",
        "isinstance(region, sets.Box)",
        "type(penalty) is ElasticNet",
        "match loss:\n    case Huber() | SquaredL2():\n        pass",
    ],
)
def test_such_decisions_would_be_found(line):
    assert list(decisions(ast.parse(line)))


def test_auto_is_compared_with_in_the_registry_alone():
    """The word stands as a default everywhere, but nobody else asks for it."""
    asked = []
    for path in sorted([*(ROOT / "estimators").glob("*.py"), *(ROOT / "engine").glob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and path.name not in ("registry.py", "solvers.py"):
                constants = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
                if "auto" in constants:
                    asked.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert asked == []
