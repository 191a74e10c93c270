"""The first call of a newcomer: an empty environment, the installation, one process an estimator.

Every estimator runs in a process of its own on small data: seconds of the import, of the first
`fit` and of the first `transform` after it. Then the files of the environment are copied elsewhere,
and all is done again there. What compiles although the package brought machine code along is named.

    python benchmarks/cold.py [--keep FOLDER] [--pure]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import RESULTS, clock, command_line, machine, write_json

ROOT = Path(__file__).resolve().parents[1]

DENSE = "np.random.default_rng(0).random((300, 40))"
SIMILARITIES = f"(lambda X: X @ X.T)({DENSE})"
COUNTS = "sparse.csr_matrix(np.random.default_rng(0).poisson(0.2, (300, 40)).astype(float))"
TEXTS = "['the cat and the dog', 'dogs chase a cat', 'rain and wind', 'wind and rain'] * 50"
FIRST_CALLS = {
    "OnlineRobustNMF": ("OnlineRobustNMF(5, verbose=0)", DENSE),
    "OnlineRobustNMF, float32": ("OnlineRobustNMF(5, verbose=0)", f"np.float32({DENSE})"),
    "RobustNMF": ("RobustNMF(5, verbose=0)", DENSE),
    "OnlineNMF, KL": ("OnlineNMF(5, divergence='kl', verbose=0)", DENSE),
    "OnlineNMF, KL, CSR": ("OnlineNMF(5, divergence='kl', verbose=0)", COUNTS),
    "BatchNMF, KL, CSR": ("BatchNMF(5, divergence='kl', verbose=0)", COUNTS),
    "OnlineL1Dictionary": ("OnlineL1Dictionary(5, verbose=0)", DENSE),
    "OnlineL1Dictionary, CSR": ("OnlineL1Dictionary(5, verbose=0)", COUNTS),
    "L1Dictionary": ("L1Dictionary(5, verbose=0)", DENSE),
    "ManhattanNMF": ("ManhattanNMF(5, verbose=0)", DENSE),
    "SymmetricManhattanNMF": (
        "SymmetricManhattanNMF(3, verbose=0)",
        SIMILARITIES,
        "fit(X)",
        "fit(X)",
    ),
    "OnlineOrthogonalDictionary": ("OnlineOrthogonalDictionary(verbose=0)", DENSE),
    "OnlineRobustPCA": ("OnlineRobustPCA(5, verbose=0)", DENSE),
    "RobustPCA": ("RobustPCA(verbose=0)", DENSE),
    "GoDec": ("GoDec(5, verbose=0)", DENSE),
    "TopicModel": ("TopicModel(2)", TEXTS),
    "NovelDocumentDetector": ("NovelDocumentDetector()", TEXTS, "fit(X)", "novelty_scores(X[:20])"),
    "SpectralUnmixer": ("SpectralUnmixer(3)", DENSE),
    "TableCleaner": ("TableCleaner()", DENSE, "clean(X)", "clean(X)"),
    "VideoSeparator": (
        "VideoSeparator()",
        "np.random.default_rng(0).random((60, 24, 32))",
        "separate(X[:30])",
        "separate(X[30:])",
    ),
    "ImageDenoiser": (
        "ImageDenoiser()",
        "np.random.default_rng(0).random((60, 24, 32))",
        "fit(X)",
        "separate(X)",
    ),
    "SensorCodec": ("SensorCodec(error=0.01)", DENSE, "compress(X)", "compress(X)"),
}
PROGRAM = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
began = time.perf_counter()
import numpy as np
from scipy import sparse
import thresher
from thresher import {name}
model, X = {model}, {data}
ready = time.perf_counter()
model.{first}
fitted = time.perf_counter()
model.{second}
done = time.perf_counter()
from thresher.kernels import machine_code
print(json.dumps(dict(where=thresher.__file__, import_=ready - began, fit=fitted - ready,
                      transform=done - fitted, compiled=machine_code.COMPILED)))
"""


def environment() -> dict[str, str]:
    """Without a way to another tree."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def first_calls(python: Path, folder: Path) -> dict[str, Any]:
    """A fresh process for each estimator."""
    rows = {}
    for name, (model, data, *calls) in FIRST_CALLS.items():
        first, second = calls or ("fit(X)", "transform(X)")
        program = PROGRAM.format(
            name=model.partition("(")[0], model=model, data=data, first=first, second=second
        )
        run = subprocess.run(
            [python, "-c", program],
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        row = json.loads(run.stdout)
        assert str(folder) in row.pop("where"), "this is another package"
        rows[name] = row
        print(
            f"{name:28} import {row['import_']:.2f} s, fit {row['fit']:.2f}, transform "
            f"{row['transform']:.2f}   {', '.join(row['compiled'])}",
            flush=True,
        )
    return rows


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--keep", type=Path, help="use this folder, and keep it")
    parser.add_argument("--pure", action="store_true", help="without machine code, for comparison")
    parser.add_argument("--out", type=Path, default=RESULTS / "cold.json")
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp())
    how = environment() | ({"THRESHER_PURE": "1"} if given.pure else {})
    subprocess.run([sys.executable, "-m", "venv", folder / "here"], check=True)
    python = folder / "here" / "bin" / "python"
    with clock() as dependencies:  # which any package of this kind has
        names = ["numba", "scikit-learn", "scipy", "matplotlib", "typer", "safetensors"]
        subprocess.run([python, "-m", "pip", "install", "-q", *names], check=True)
    with clock() as package:
        subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT)], env=how, check=True)
    print(f"dependencies {dependencies.wall:.0f} s, then the package {package.wall:.0f} s")
    rows = {"installed": first_calls(python, folder / "here")}
    shutil.copytree(folder / "here", folder / "copy", symlinks=True)
    print("\ncopied elsewhere:")
    rows["copied"] = first_calls(folder / "copy" / "bin" / "python", folder / "copy")
    installation = {"dependencies": dependencies.wall, "package": package.wall, "pure": given.pure}
    write_json(given.out, {"machine": machine(), "installation": installation, "calls": rows})
    if given.keep is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
