"""Machine code is found by what it depends on, wherever it lies, and never when it is stale."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thresher.cli.app import app
from thresher.kernels import machine_code
from thresher.tasks import warm_up

KERNEL = """
from thresher.kernels.compiling import kernel
{imports}

@kernel
def total(x):
    s = {start}
    for i in range(x.size):
        s += x[i]
    return s
"""
PROGRAM = """
import numpy as np, {module}
print({module}.total(np.arange(4.0)), sum({module}.total.stats.cache_hits.values()))
"""


def run(folder: Path, cache: Path, module: str = "kernels_here", **variables: str) -> list[str]:
    """What a fresh process computes, and how often it found machine code."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    place = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache)} | variables
    program = PROGRAM.format(module=module)
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], env=place, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kernels_here.py").write_text(KERNEL.format(imports="", start="0.0"))
    return tmp_path


def test_kept_for_the_next_process_even_if_it_is_copied(folder, tmp_path):
    assert run(folder, tmp_path / "cache") == ["6.0", "0"]
    assert run(folder, tmp_path / "cache") == ["6.0", "1"]
    shutil.copytree(tmp_path / "cache", tmp_path / "elsewhere")
    os.utime(folder / "kernels_here.py", (1, 1))  # copies are as old as they are
    assert run(folder, tmp_path / "elsewhere") == ["6.0", "1"]


def test_another_source_is_another_kernel(folder, tmp_path):
    run(folder, tmp_path / "cache")
    (folder / "kernels_here.py").write_text(KERNEL.format(imports="", start="1.0"))
    assert run(folder, tmp_path / "cache") == ["7.0", "0"]


def test_another_processor_compiles_anew(folder, tmp_path):
    run(folder, tmp_path / "cache")
    assert run(folder, tmp_path / "cache", NUMBA_CPU_NAME="generic") == ["6.0", "0"]


def test_damaged_files_are_compiled_anew(folder, tmp_path):
    run(folder, tmp_path / "cache")
    for file in (tmp_path / "cache" / "thresher").iterdir():
        file.write_bytes(file.read_bytes()[:100])
    assert run(folder, tmp_path / "cache") == ["6.0", "0"]
    assert run(folder, tmp_path / "cache") == ["6.0", "1"]


def test_without_a_place_to_write_all_works(folder, tmp_path):
    (tmp_path / "cache").write_text("no folder")
    assert run(folder, tmp_path / "cache") == ["6.0", "0"]


def test_package_that_cannot_be_written_keeps_machine_code_with_the_user(folder, tmp_path):
    (tmp_path / "package").mkdir()
    shipped = tmp_path / "package" / "machine_code"
    shipped.write_text("no folder")  # even the administrator cannot write into it
    (folder / "kernels_there.py").write_text(
        f"""
from pathlib import Path
from thresher.kernels import machine_code
machine_code.SHIPPED = Path({str(shipped)!r})
from kernels_here import total
"""
    )
    place = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path / "caches")}
    assert run(folder, tmp_path, "kernels_there", **place) == ["6.0", "0"]
    assert run(folder, tmp_path, "kernels_there", **place) == ["6.0", "1"]
    (kept,) = (tmp_path / "caches" / "thresher").iterdir()
    assert kept.name.startswith("kernels_here.total-")
    assert shipped.read_text() == "no folder"


def test_helpers_of_other_modules_count():
    """A kernel is made of what it imports, too."""
    assert machine_code.imported("thresher.kernels.newton") > {"thresher.kernels.products"}
    everything = machine_code.imported("thresher.kernels.lad_dense")
    assert "thresher.kernels.compiling" in everything


def test_a_line_says_so_if_compiling_takes_long(monkeypatch, capfd):
    notice = machine_code._Notice()
    monkeypatch.setattr(machine_code, "_PATIENCE", 0.01)
    for _ in range(2):  # once is enough
        notice.begin()
        if notice._timer is not None:
            notice._timer.join()
        notice.end()
    assert capfd.readouterr().err.count("compiles") == 1


def test_quick_compilations_are_silent(capfd):
    notice = machine_code._Notice()
    notice.begin()
    timer = notice._timer
    notice.end()
    assert timer is not None
    assert timer.finished.is_set()  # it will not speak up later
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("jobs", [[], ["--jobs", "3"]])
def test_command_runs_all_pieces_and_says_where_machine_code_is(monkeypatch, jobs):
    done, asked = [], []

    def threads(count, mp_context):  # processes would not know of what is replaced here
        asked.append(count)
        return ThreadPoolExecutor(1)

    pieces = tuple(lambda dtype, name=name: done.append((name, dtype)) for name in "abc")
    monkeypatch.setattr(warm_up, "_BY_COST", pieces)
    monkeypatch.setattr(warm_up, "ProcessPoolExecutor", threads)
    result = CliRunner().invoke(app, ["warm-up", *jobs])
    assert result.exit_code == 0
    assert sorted(done) == [(name, dtype) for name in "abc" for dtype in warm_up.DTYPES]
    assert asked == [3 if jobs else os.cpu_count()]
    assert result.stdout.splitlines()[-1] == str(machine_code.folder())
