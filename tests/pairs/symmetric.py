"""What must hold of the embedding of similarities."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize

from fuzz.checks import same_bits
from pairs.case import Trial
from thresher import load, save


def check(trial: Trial, model: Any) -> str:
    """Nonnegative, no entry alone can be made better, and a file keeps it."""
    H, data = model.embedding_.astype(np.float64), trial.data
    assert np.isfinite(H).all(), "The embedding is not finite."
    assert (H >= 0).all(), "The embedding is negative somewhere."
    X, W = data.numbers, data.W

    def distance(H: Any) -> float:
        return float((W * np.abs(X - H @ H.T)).sum())

    now, told = distance(H), float(model.history_[-1].loss) * len(H)
    assert abs(now - told) <= 1e-4 * (W * X).sum(), f"The distance is {now:.6g}, told {told:.6g}."
    for i, k in np.ndindex(*H.shape):

        def along(h: float, i: int = i, k: int = k) -> float:
            moved = H.copy()
            moved[i, k] = h
            return distance(moved)

        best = optimize.minimize_scalar(along, bounds=(0, 2 * H.max() + 1), method="bounded").fun
        gain = (now - best) / (W * X).sum()
        assert gain <= 5e-2, f"Entry {i}, {k} alone gains {gain:.2g} of the similarities."
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.thresher"
        save(model, path)
        same_bits(load(path).embedding_, model.embedding_, "The loaded embedding")
    return "critical"
