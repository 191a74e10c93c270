"""One case: its data, its model, and whether `fit` accepts it."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy import sparse

from fuzz.checks import refused_or, without_trace
from pairs.covering import Case
from pairs.samples import F, K, N
from pairs.slots import labels, values
from thresher import estimators

_SMALL = {
    **{"n_components": K, "random_state": 0, "verbose": 0, "n_jobs": 1},
    **{"batch_size": 4, "n_passes": 3, "max_iter": 10},
}


@dataclass(frozen=True)
class Data:
    """Samples as the library gets them, and as numbers with weights: zero where nothing is seen."""

    X: Any
    fit_weights: dict[str, Any]
    weights: dict[str, Any]
    numbers: Any
    W: Any

    @property
    def exact(self) -> bool:
        """Whether the samples are in double precision."""
        return self.X.dtype == np.float64


@cache
def data(kind: str, seed: int, signed: bool = False, square: bool = False) -> Data:
    """Samples of a kind: a few parts, some zeros, some noise, an outlier or two."""
    rng = np.random.default_rng([seed, 1])
    atoms = rng.random((K, F)) * (rng.random((K, F)) < 0.8)
    X = rng.gamma(1.0, 1.0, (N, K)) @ atoms + 0.05 * rng.random((N, F))
    X[rng.random(X.shape) < 0.1] += 2
    X[rng.random(X.shape) < 0.15] = 0
    X[np.arange(F), np.arange(F)] += 0.1  # no feature and no sample is empty
    if signed:
        X *= rng.choice([-1, 1], X.shape)
    if square:
        X = X @ X.T
    W = np.ones_like(X)
    if kind == "CSR":
        return Data(sparse.csr_array(X), {}, {}, X, W)
    if kind == "float32":
        X = X.astype(np.float32)
        return Data(X, {}, {}, X.astype(np.float64), W)
    if kind == "gaps":
        missing = rng.random(X.shape) < 0.15
        missing[:, 0] = False
        if square:
            missing |= missing.T
        return Data(np.where(missing, np.nan, X), {}, {}, X, (~missing).astype(float))
    if kind == "sample weights":
        return Data(X, {"sample_weight": rng.uniform(0.2, 2, N)}, {}, X, W)
    if kind == "entry weights":
        # Dictionaries that fill gaps know no other weights than these.
        W = rng.uniform(0.3, 2, X.shape) if not signed else W
        W[rng.random(X.shape) < 0.1] = 0
        W[:, 0] = 1
        return Data(X, {"entry_weight": W}, {"entry_weight": W}, X, W)
    assert kind == "dense", f"There are no data of the kind {kind!r}; make them in case.py."
    return Data(X, {}, {}, X, W)


@dataclass(frozen=True)
class Trial:
    """An estimator with a choice for every slot, and the seed of its data."""

    estimator: str
    case: Case
    seed: int = 0

    @cached_property
    def data(self) -> Data:
        """The samples."""
        kind = getattr(estimators, self.estimator)
        square = not hasattr(kind, "transform")
        signed = not kind().__sklearn_tags__().input_tags.positive_only
        given = data(self.case["data"], self.seed, signed, square)
        if self.case.get("implicit_zeros") != "missing":
            return given
        return replace(given, W=given.W * (given.numbers != 0))

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """What the case says, as the estimator takes it."""
        choices = values(self.estimator)
        found = {slot: choices[slot][label] for slot, label in self.case.items() if slot != "data"}
        if "divergence" in found:
            found["divergence"], found["divergence_parameter"] = found["divergence"]
        return found

    def model(self) -> Any:
        """The model, quiet and small."""
        model = getattr(estimators, self.estimator)()
        known = model.get_params()
        small = {name: value for name, value in _SMALL.items() if name in known}
        return model.set_params(**small, **self.parameters)

    def fit(self, model: Any) -> Any:
        """Fit a model to the data; what it says of their size is no fault, of numbers it is."""
        return quietly(lambda: model.fit(self.data.X, **self.data.fit_weights))

    def fitted(self) -> Any:
        """The model that `fit` makes of the case, or None if it is refused.

        It was fitted before, with plain parts: a refusal must be a sentence, and leave it so.
        """
        model = copy.deepcopy(_plain(self.estimator)).set_params(**self.parameters)
        return refused_or(lambda: without_trace(model, lambda: self.fit(model)))

    def key(self) -> str:
        """The estimator and what is not plain, in one word."""
        chosen = [f"{k}={v}" for k, v in sorted(self.case.items()) if plain(self.estimator)[k] != v]
        return f"{self.estimator};{';'.join(chosen)}"

    @classmethod
    def of(cls, key: str, seed: int) -> "Trial":
        """The trial of a key."""
        estimator, *chosen = key.split(";")
        return cls(estimator, plain(estimator) | dict(c.split("=", 1) for c in chosen if c), seed)

    def line(self) -> str:
        """How to repeat the case."""
        return f"python benchmarks/pairs.py --seed {self.seed} --only '{self.key()}'"


def plain(estimator: str) -> Case:
    """The case of the first value of every slot."""
    return {slot: each[0] for slot, each in labels(estimator).items()}


def quietly(call: Callable[[], Any]) -> Any:
    """What a call gives; warnings for users pass, those of NumPy are faults."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=UserWarning)
        # Seen once, in the weighted round of OADMM in float32, and not again in three runs of the
        # same case. The cause is not known: BLAS, or a code that diverges. Results are checked.
        warnings.filterwarnings("ignore", "invalid value encountered in matmul", RuntimeWarning)
        return call()


@cache
def _plain(estimator: str) -> Any:
    """A model that was fitted with plain parts."""
    trial = Trial(estimator, plain(estimator))
    return trial.fit(trial.model())
