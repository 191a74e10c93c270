"""What needs a library that is not installed says so, and names the extra that has it."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import thresher
from thresher.cli import app

CASES = {
    "files": ("pyarrow", "fit a.csv m.thr"),
    "video": ("av", "fit a.avi m.thr"),
    "sound": ("soundfile", "sound a.wav parts"),
    "live": ("starlette", "fit a.npy m.thr --live"),
}
"""Of each extra: a library that it has, and a command that needs it."""


def packages(extra):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    found = project["project"]["optional-dependencies"][extra]
    return {re.match(r"[\w-]+", package)[0] for package in found}


@pytest.mark.parametrize("extra", CASES)
def test_a_missing_library_is_named_with_its_extra(extra, tmp_path, monkeypatch):
    library, command = CASES[extra]
    assert library in packages(extra)
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "a.avi", "a.wav"):
        Path(name).write_text("a,b\n1,2\n3,4\n")
    np.save("a.npy", np.ones((4, 3)))
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 1
    assert library in done.stderr
    assert f"thresher[{extra}]" in done.stderr


def test_other_files_need_no_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    np.save(tmp_path / "a.npy", np.ones((4, 3)))
    assert sum(len(batch) for batch in thresher.open(tmp_path / "a.npy")) == 4
