"""Our estimators under scikit-learn's names and parameters, for scikit-learn's own tests.

`with_ours` executes one of scikit-learn's test modules from the installed package in a namespace in
which its estimators are replaced by the adapters below. Nothing of the tests is copied.
"""

import importlib.util
import re
from numbers import Real
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sklearn.decomposition
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from thresher import BatchNMF, OnlineNMF, OnlineRobustPCA
from thresher.penalties import ElasticNet

_DIVERGENCES = {
    **{"frobenius": ("squared_l2", None), 2: ("squared_l2", None)},
    **{"kullback-leibler": ("kl", None), 1: ("kl", None)},
    **{"itakura-saito": ("is", None), 0: ("is", None)},
}


class Adapter(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An estimator of scikit-learn's interface that delegates to ``model_``."""

    model_: Any

    def _made(self, X: Any, start: Any) -> Any:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, **starts: Any) -> "Adapter":
        self.model_ = self._made(X, starts.get("H")).fit(X)
        # scikit-learn's measure: √(2·Σ loss), the Frobenius norm under squares.
        self._error = float(np.sqrt(2 * max(-self.model_.score_samples(X).sum(), 0.0)))
        return self

    def fit_transform(self, X: Any, y: Any = None, W: Any = None, **starts: Any) -> Any:
        return self.fit(X, **starts).transform(X)

    def partial_fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> "Adapter":
        if not hasattr(self, "model_"):
            self.model_ = self._made(X, H)
        self.model_.partial_fit(X)
        return self

    def transform(self, X: Any) -> Any:
        return self.model_.transform(X)

    def inverse_transform(self, X: Any) -> Any:
        return self.model_.inverse_transform(X)

    @property
    def n_steps_(self) -> int:
        return int(self.model_.n_iter_)

    @property
    def reconstruction_err_(self) -> float:
        return self._error

    @property
    def _n_components(self) -> int:
        return self._n_features_out

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.components_.shape[0])

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_") and not name.startswith("_") and "model_" in vars(self):
            return getattr(vars(self)["model_"], name)
        raise AttributeError(name)


class NMF(Adapter):
    """`BatchNMF` as `sklearn.decomposition.NMF`."""

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        init: Any = None,
        solver: str = "cd",
        beta_loss: Any = "frobenius",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
        alpha_W: float = 0.0,
        alpha_H: Any = "same",
        l1_ratio: float = 0.0,
        verbose: int = 0,
        shuffle: bool = False,
    ) -> None:
        self.n_components, self.init, self.solver = n_components, init, solver
        self.beta_loss, self.tol, self.max_iter = beta_loss, tol, max_iter
        self.random_state, self.alpha_W, self.alpha_H = random_state, alpha_W, alpha_H
        self.l1_ratio, self.verbose, self.shuffle = l1_ratio, verbose, shuffle

    def _common(self, X: Any, start: Any) -> dict[str, Any]:
        F = X.shape[1]
        divergence, parameter = _DIVERGENCES.get(self.beta_loss, ("beta", self.beta_loss))
        codes = float(self.alpha_W)
        atoms = float(self.alpha_H) if isinstance(self.alpha_H, Real) else codes

        def penalty(weight: float) -> ElasticNet | None:
            share = self.l1_ratio
            return ElasticNet(weight * share, weight * (1 - share)) if weight else None

        K = self.n_components
        if K in ("auto", None):
            K = F if start is None else len(start)
        return {
            "n_components": K,
            "divergence": divergence,
            "divergence_parameter": parameter,
            "init": "random" if self.init == "random" else "auto" if start is None else start,
            "code_penalty": penalty(codes * F),
            "dictionary_penalty": penalty(atoms),
            "dictionary_set": "nonnegative" if atoms else "auto",
            "tol": self.tol,
            "max_iter": self.max_iter,
            "random_state": self.random_state,
            "verbose": self.verbose,
        }

    def _made(self, X: Any, start: Any) -> Any:
        X = np.asarray(X) if isinstance(X, list) else X
        return BatchNMF(solver="mu" if self.solver == "mu" else "auto", **self._common(X, start))


class MiniBatchNMF(NMF):
    """`OnlineNMF` as `sklearn.decomposition.MiniBatchNMF`."""

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        init: Any = None,
        batch_size: int = 1024,
        beta_loss: Any = "frobenius",
        tol: float = 1e-4,
        max_no_improvement: Any = 10,
        max_iter: int = 200,
        alpha_W: float = 0.0,
        alpha_H: Any = "same",
        l1_ratio: float = 0.0,
        forget_factor: float = 0.7,
        fresh_restarts: bool = False,
        fresh_restarts_max_iter: int = 30,
        transform_max_iter: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_components,
            init=init,
            beta_loss=beta_loss,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            alpha_W=alpha_W,
            alpha_H=alpha_H,
            l1_ratio=l1_ratio,
            verbose=verbose,
        )
        self.batch_size, self.max_no_improvement = batch_size, max_no_improvement
        self.forget_factor, self.fresh_restarts = forget_factor, fresh_restarts
        self.fresh_restarts_max_iter = fresh_restarts_max_iter
        self.transform_max_iter = transform_max_iter

    def _made(self, X: Any, start: Any) -> Any:
        common = self._common(X, start)
        n_passes = common.pop("max_iter")  # passes here, iterations of a code there
        return OnlineNMF(
            batch_size=self.batch_size, n_passes=n_passes, code_max_iter=1000, **common
        )


class MiniBatchDictionaryLearning(Adapter):
    """`OnlineRobustPCA`, our dictionary of either sign, as `MiniBatchDictionaryLearning`."""

    def __init__(
        self,
        n_components: Any = None,
        *,
        alpha: float = 1.0,
        max_iter: int = 1000,
        fit_algorithm: str = "lars",
        batch_size: int = 256,
        shuffle: bool = True,
        dict_init: Any = None,
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: Any = None,
        transform_alpha: Any = None,
        transform_max_iter: int = 1000,
        verbose: bool = False,
        split_sign: bool = False,
        random_state: Any = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        n_jobs: Any = None,
        tol: float = 1e-3,
        max_no_improvement: Any = 10,
        callback: Any = None,
    ) -> None:
        for name, value in list(locals().items()):
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _made(self, X: Any, start: Any) -> Any:
        K = self.n_components or X.shape[1]
        init = "auto" if self.dict_init is None else np.array(self.dict_init)
        return OnlineRobustPCA(
            n_components=K,
            init=init,
            batch_size=self.batch_size,
            n_passes=min(self.max_iter, 10),
            shuffle=self.shuffle,
            tol=self.tol,
            random_state=self.random_state,
            verbose=0,
        )


class DictionaryLearning(MiniBatchDictionaryLearning):
    """The same as `DictionaryLearning`."""


OURS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        NMF,
        MiniBatchNMF,
        MiniBatchDictionaryLearning,
        DictionaryLearning,
    )
}


def with_ours(name: str) -> ModuleType:
    """A test module of scikit-learn, executed with our estimators in place of its own."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    spec = importlib.util.spec_from_file_location(name.rpartition(".")[2], found.origin)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    theirs = {kind: getattr(sklearn.decomposition, kind) for kind in OURS}
    try:
        for kind, ours in OURS.items():
            setattr(sklearn.decomposition, kind, ours)
        spec.loader.exec_module(module)
    finally:
        for kind, original in theirs.items():
            setattr(sklearn.decomposition, kind, original)
    return module


def collected(module: ModuleType, exceptions: dict[str, str]) -> dict[str, Any]:
    """The test functions of a module by name, but for those that a pattern matches."""

    def applies(name: str) -> bool:
        excepted = any(re.match(pattern, name) for pattern in exceptions)
        return name.startswith("test_") and not excepted

    return {name: value for name, value in vars(module).items() if applies(name)}


def skip_exceptions(request: Any, exceptions: dict[str, str]) -> None:
    """Skip a test that a pattern in a list of exceptions matches, with the reason given there."""
    for pattern, reason in exceptions.items():
        if re.match(pattern, request.node.name):
            pytest.skip(reason)
