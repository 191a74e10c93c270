"""Each benchmark script can be imported: its names exist, and peers are imported inside functions.

One process imports all scripts, each as if it were run from its folder. Nothing is measured.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [
    str(path.relative_to(ROOT))
    for folder in ("benchmarks", "benchmarks/reproduce")
    for path in sorted((ROOT / folder).glob("*.py"))
]
PEERS = {"cv2", "fpzip", "gensim", "librosa", "spams", "tomotopy", "zfpy", "zstandard"}
"""Modules that only benchmarks need; the tests do not install them."""

PROGRAM = """
import importlib, json, runpy, sys
from pathlib import Path

root = Path(sys.argv[1])
own = (str(root / "benchmarks"), str(root / "tests"))
failures = {}
for script in sys.argv[2:]:
    path, before = list(sys.path), set(sys.modules)
    try:
        if "reproduce" in script:  # `python -m benchmarks.reproduce`
            sys.path.insert(0, str(root))
            importlib.import_module(script.removesuffix(".py").replace("/", "."))
        else:
            sys.path.insert(0, str(root / "benchmarks"))
            runpy.run_path(script, run_name="imported")
    except ImportError as error:
        failures[script] = [error.name, f"{type(error).__name__}: {error}"]
    except Exception as error:
        failures[script] = [None, f"{type(error).__name__}: {error}"]
    sys.path[:] = path
    for name in set(sys.modules) - before:  # scripts and tests have names in common
        file = str(getattr(sys.modules[name], "__file__", ""))
        if file.startswith(own) and not name.startswith("benchmarks"):
            del sys.modules[name]
print(json.dumps(failures))
"""


@pytest.fixture(scope="module")
def failures() -> dict[str, tuple[str | None, str]]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, str(ROOT), *SCRIPTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[str | None, str]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_is_imported(script, failures):
    if script in failures:
        module, message = failures[script]
        if module in PEERS:
            pytest.skip(f"{script} needs {module}")
        pytest.fail(message)


def test_quality_reports_changes_beyond_both_limits(tmp_path):
    """More than 2 % and two standard errors of the differences, in the direction of the figure."""
    cases = [
        ("gained", "higher", 1, 1),  # seeds differ, but both gain
        ("lost", "lower", 1, 1),
        ("small", "higher", 1, 1),
        ("reached", 0.9, 1, 0.5),
    ]

    def write(name, factors):
        figures = {
            figure: {"values": {"0": a * f, "1": 2 * b * f}, "better": better, "unit": "x"}
            for (figure, better, a, b), f in zip(cases, factors, strict=True)
        }
        path = tmp_path / name
        path.write_text(json.dumps({"figures": figures}))
        return str(path)

    old, new = write("old.json", [1, 1, 1, 1]), write("new.json", [2, 2, 1.01, 0.9])
    command = [sys.executable, "benchmarks/quality.py", "--out", new, "--against", old, "--no-run"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = {line.split()[1]: line.split()[0] for line in done.stdout.splitlines()}
    assert found == {"gained": "better", "lost": "WORSE", "reached": "better"}
