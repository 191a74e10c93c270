"""Samples of results: the values that are stored, how they are compared, and where they lie.

A sample is the shape of an array, its norm, and 24 values at evenly spaced places, in units of its
largest value. Regenerate them with ``python -m tests.contract.samples [NAME ...]``: all cases, or
those whose name contains one of the words.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAMPLES = Path(__file__).with_name("samples.json")
N_VALUES = 24
TOLERANCE = 1e-7
"""Largest difference of a value, in units of the largest value of its array."""
TOLERANCE_FLOAT32 = 1e-4
ITERATIVE = ("VideoSeparator", "SpectralUnmixer")
"""Cases compared at the tolerance of float32: they compute in it, or end an optimisation by a
tolerance of its own, so that the rounding of another processor shows."""

Sample = dict[str, Any]


def samples_of(results: dict[str, Any]) -> dict[str, Sample]:
    """Return the sample of each result; one in float32 makes all of them inexact."""
    arrays = {name: np.asarray(values) for name, values in results.items()}
    single = any(values.dtype == np.float32 for values in arrays.values())
    return {name: _sample_of(values, single) for name, values in arrays.items()}


def _sample_of(values: NDArray[Any], single: bool) -> Sample:
    """Return the shape, the largest absolute value, the norm and some values of an array."""
    flat = np.nan_to_num(values.astype(np.float64).ravel(), nan=-1.0)
    places = np.linspace(0, flat.size - 1, min(N_VALUES, flat.size)).astype(int)
    digits = 6 if single else 10
    chosen = [float(f"{value:.{digits}g}") for value in flat[places]]
    return {
        "shape": list(values.shape),
        "float32": single,
        "largest": float(np.abs(flat).max()),
        "norm": float(np.linalg.norm(flat)),
        "values": chosen,
    }


def differences(found: dict[str, Sample], stored: dict[str, Sample], case: str = "") -> list[str]:
    """Name the results that differ from what was stored, with the largest difference of each."""
    wrong = [f"{name}: missing or new" for name in sorted(found.keys() ^ stored.keys())]
    for name in sorted(found.keys() & stored.keys()):
        new, old = found[name], stored[name]
        if new["shape"] != old["shape"] or new["float32"] != old["float32"]:
            wrong.append(f"{name}: shape or dtype differs, {new['shape']} and {old['shape']}")
            continue
        inexact = old["float32"] or case in ITERATIVE
        tolerance = TOLERANCE_FLOAT32 if inexact else TOLERANCE
        off = np.abs(np.subtract(new["values"], old["values"])).max() / (old["largest"] or 1.0)
        off = max(off, abs(new["norm"] - old["norm"]) / (old["norm"] or 1.0))
        if not off <= tolerance:
            wrong.append(f"{name}: differs by {off:.1e} of its largest value")
    return wrong


def read() -> dict[str, dict[str, Sample]]:
    """Return the stored samples by case and result."""
    return json.loads(SAMPLES.read_text()) if SAMPLES.exists() else {}


def write(samples: dict[str, dict[str, Sample]]) -> None:
    """Store samples, one line per result, so that a change shows which results it touches."""
    cases = []
    for case, results in samples.items():
        lines = [f"  {json.dumps(name)}: {json.dumps(sample)}" for name, sample in results.items()]
        cases.append(f" {json.dumps(case)}: {{\n" + ",\n".join(lines) + "\n }")
    SAMPLES.write_text("{\n" + ",\n".join(cases) + "\n}\n")


def main(words: list[str]) -> None:
    """Regenerate the samples of the cases whose name contains one of the words, or of all."""
    from tests.contract.cases import CASES

    stored = read()
    chosen = [name for name in CASES if not words or any(word in name for word in words)]
    new = {name: samples_of(CASES[name]()) for name in chosen}
    changed = [name for name in chosen if differences(new[name], stored.get(name, {}), name)]
    # Unchanged samples keep their digits, so that the file shows only what changed.
    kept = {name: sample for name, sample in stored.items() if name not in changed}
    together = kept | {name: new[name] for name in changed}
    write({name: together[name] for name in CASES if name in together})
    print(f"{len(chosen)} cases computed, {len(changed)} samples changed:", *changed, sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
