"""What is missing is named with the extra that has it: every place that asks for one is read."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from thresher.streams.extras import needed

ROOT = Path(__file__).parents[1]
PACKAGES = {"PIL": "pillow"}


def requests():
    """Module, extra and place of every call of `needed` that names them."""
    for path in sorted((ROOT / "src" / "thresher").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "needed":
                module, extra, what = node.args
                place = f"{path.relative_to(ROOT / 'src')}:{node.lineno}"
                yield pytest.param(ast.unparse(module), extra.value, ast.unparse(what), id=place)


def extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {
        name: {re.match(r"[\w-]+", package)[0] for package in packages}
        for name, packages in project["optional-dependencies"].items()
    }


@pytest.mark.parametrize(("module", "extra", "what"), list(requests()))
def test_the_extra_has_the_package(module, extra, what):
    if module == "module":  # of the live page, which looks for both
        assert extras()[extra] == {"starlette", "uvicorn"}
        return
    package = re.match(r"f?'(\w+)", module)[1]
    assert PACKAGES.get(package, package) in extras()[extra]
    assert what not in (repr(name) for name in extras())


def test_the_sentence_says_what_needs_what_and_how_to_install_it():
    with pytest.raises(ImportError) as caught:
        needed("no_such_package.part", "files", "Parquet")
    assert str(caught.value) == (
        'Parquet needs no_such_package, which is not installed; pip install "thresher[files]".'
    )
    assert needed("ast", "files", "Parquet") is ast
