"""Small data for checks, and an estimator ready for them."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from thresher.linalg import Array

N_COMPONENTS = 4


def planted(n_samples: int = 300, n_features: int = 24, seed: int = 0) -> Array:
    """Samples with four parts, some noise and a few outliers, nonnegative, of range one."""
    rng = np.random.default_rng(seed)
    parts = np.abs(np.random.default_rng(99).standard_normal((N_COMPONENTS, n_features)))
    parts *= np.random.default_rng(98).random(parts.shape) < 0.5
    X = rng.random((n_samples, N_COMPONENTS)) @ parts
    X += 0.01 * rng.standard_normal(X.shape)
    outliers = rng.random(X.shape) < 0.03
    X[outliers] += rng.random(int(outliers.sum())) * 3
    X = np.maximum(X, 0)
    return np.asarray(X / X.max())


def start(estimator: Any, n_features: int) -> Array:
    """Random first atoms, as many as the estimator takes: few, or a square of them."""
    n_atoms = N_COMPONENTS if takes(estimator, "n_components") else n_features
    return np.asarray(np.random.default_rng(0).random((n_atoms, n_features)))


def given_start(estimator: Any, n_features: int) -> dict[str, Any]:
    """The same as a parameter, for estimators that have a start."""
    return {"init": start(estimator, n_features)} if takes(estimator, "init") else {}


def ready(estimator: Any, **parameters: Any) -> Any:
    """A quiet clone with a seed, few atoms and small batches."""
    model = clone(estimator)
    wanted = {"n_components": N_COMPONENTS, "random_state": 0, "verbose": 0, "batch_size": 64}
    known = model.get_params()
    wanted = {name: value for name, value in wanted.items() if name in known}
    return model.set_params(**{**wanted, **parameters})


def takes(estimator: Any, parameter: str) -> bool:
    """Whether an estimator has a parameter of that name."""
    return parameter in estimator.get_params()


def threads_used(work: Callable[[], Any]) -> int:
    """How many threads other than this one run Python code while some work is done."""
    seen = set()

    def note(*event: object) -> None:
        seen.add(threading.get_ident())
        sys.setprofile(None)  # once for each thread is enough

    threading.setprofile(note)
    try:
        work()
    finally:
        threading.setprofile(None)
    return len(seen)
