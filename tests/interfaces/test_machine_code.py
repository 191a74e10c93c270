"""Machine code is found by what it depends on, wherever it lies, and never when it is stale."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from numba.extending import is_jitted
from sklearn.base import clone

from thresher import (
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineRobustNMF,
    RobustNMF,
    SpectralUnmixer,
)

BUILD = Path(__file__).parents[2] / "hatch_build.py"
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


def test_another_helper_is_another_kernel(folder, tmp_path):
    """A kernel depends on the kernels that it imports from other modules of the package."""
    imports = f"import thresher; thresher.__path__.append({str(folder)!r})"
    imports += "\nfrom thresher.other_kernels import start"
    (folder / "kernels_here.py").write_text(KERNEL.format(imports=imports, start="start()"))
    helper = "from thresher.kernels.compiling import kernel\n\n@kernel\ndef start():\n    return "
    for start, expected in (("0.0", "6.0"), ("1.0", "7.0")):
        (folder / "other_kernels.py").write_text(f"{helper}{start}\n")
        assert run(folder, tmp_path / "cache") == [expected, "0"]
        assert run(folder, tmp_path / "cache") == [expected, "1"]


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


@pytest.fixture
def hook(monkeypatch, tmp_path):
    """The hook of the build, on sources of its own."""
    interface = types.ModuleType("interface")
    interface.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", interface)
    spec = importlib.util.spec_from_file_location("hatch_build", BUILD)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hook = module.MachineCodeHook()
    hook.root, hook.target_name = str(tmp_path), "wheel"
    (tmp_path / "src" / "thresher").mkdir(parents=True)
    (tmp_path / "src" / "thresher" / "kernel.py").write_text("first")
    return hook


def test_editable_installs_take_what_a_wheel_has_compiled(hook, tmp_path):
    kept = hook._folder() / "thresher" / "kernel.nbc"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"machine code")
    place = tmp_path / "src" / "thresher" / "machine_code"
    hook.initialize("editable", {})  # the wheel was interrupted
    assert not place.exists()
    (hook._folder() / "done").touch()
    hook.initialize("editable", {})
    assert (place / "kernel.nbc").read_bytes() == b"machine code"
    shutil.rmtree(place)
    (tmp_path / "src" / "thresher" / "kernel.py").write_text("second")
    hook.initialize("editable", {})  # what is there is of other sources
    assert not place.exists()


def test_wheels_do_not_rely_on_what_the_checkout_has_kept(hook, tmp_path, monkeypatch):
    """It would be found beside the sources, and nothing compiled for the wheel."""
    kept = tmp_path / "src" / "thresher" / "machine_code"
    kept.mkdir()
    (kept / "kernel.nbc").write_bytes(b"machine code")
    seen = []

    def compiles(command, env, **_):
        sources = Path(env["PYTHONPATH"].split(os.pathsep)[0])
        seen.extend(path.name for path in sources.rglob("*") if path.is_file())
        (Path(command[-1]) / "thresher").mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", compiles)
    hook.initialize("standard", asked := {"force_include": {}})
    assert seen == ["kernel.py"]
    assert asked["force_include"] == {str(hook._folder() / "thresher"): "thresher/machine_code"}


def _signatures():
    """The types for which each kernel of the package is compiled."""
    modules = [module for name, module in list(sys.modules.items()) if "thresher" in name]
    values = [value for module in modules for value in vars(module).values()]
    return {kernel: set(kernel.signatures) for kernel in values if is_jitted(kernel)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "model",
    [
        OnlineRobustNMF(3, random_state=0, verbose=0),
        RobustNMF(3, random_state=0, verbose=0),
        OnlineNMF(3, divergence="kl", random_state=0, verbose=0),
        OnlineL1Dictionary(3, random_state=0, verbose=0),
        ManhattanNMF(3, random_state=0, max_iter=3, verbose=0),
        SpectralUnmixer(3, random_state=0, verbose=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")  # such data have no parts
def test_the_memory_layout_of_rows_compiles_nothing_again(model, dtype):
    X = np.random.default_rng(0).random((300, 40)).astype(dtype)  # unmixing leaves bands out
    wide = np.zeros((300, 90), dtype)
    wide[:, 3:83:2] = X
    shifted = np.frombuffer(b"\0" + X.tobytes(), dtype, offset=1).reshape(X.shape)
    before, codes = _signatures(), clone(model).fit(X).transform(X)
    for same in (np.asfortranarray(X), wide[:, 3:83:2], X[::-1].copy()[::-1], shifted):
        np.testing.assert_array_equal(clone(model).fit(same).transform(same), codes)
    new = [str(s) for k, found in _signatures().items() for s in found - before.get(k, set())]
    assert not [signature for signature in new if re.search(r"[AF]\)|'[AF]'", signature)]
