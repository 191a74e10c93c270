"""What the robust models share: parameters that name outliers, and the separation itself."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from thresher.encoding import AutoEncoder
from thresher.engine import Candidates, Method, Specification
from thresher.estimators.anomalies import FlagsAnomalies
from thresher.estimators.base import DictionaryModel
from thresher.estimators.by_batch import comes_in_parts
from thresher.estimators.coded_block import CodedBlock
from thresher.estimators.containers import codes_like, samples_like
from thresher.estimators.inputs import computing_dtype
from thresher.estimators.registry import (
    frozen_mask,
    named_codes,
    named_dictionary_set,
    named_forgetting,
    named_loss,
    named_outlier_weight,
    named_penalty,
    named_scaling,
)
from thresher.learning import OutlierWeight
from thresher.linalg import Array
from thresher.solvers import named_solver


class Separation(NamedTuple):
    """Samples taken apart: ``X = low_rank + outliers + noise``."""

    low_rank: Any
    """What the dictionary explains, ``codes @ components_``."""
    outliers: Any
    """What was set aside; zero in most places."""
    codes: Any
    """Codes of the samples."""


class RobustModel(FlagsAnomalies, DictionaryModel):
    """A dictionary model whose loss sets outliers aside."""

    solver: Any
    outlier_weight: Any
    outlier_penalty: Any
    outlier_sign: str
    outlier_bound: float | None
    code_set: Any
    code_penalty: Any
    dictionary_set: Any
    dictionary_penalty: Any
    frozen_atoms: Any
    scale_samples: str | None
    forgetting: Any = "auto"

    _solvers: ClassVar[dict[str, Any]]

    def _plan(self, n_components: int, in_order: bool = True) -> Candidates[Method]:
        solver = named_solver(self.solver, self._solvers)
        chosen: Candidates[Method] = solver(self._specification(n_components, in_order))
        return chosen

    def _specification(self, n_components: int, in_order: bool = True) -> Specification:
        """The problem that the parameters describe."""
        codes = named_codes(self.code_set, self.code_penalty)
        scaling = named_scaling(self.scale_samples)
        if scaling and not codes.region.is_cone:
            raise ValueError(
                f"scale_samples='max' codes divided samples and multiplies their codes back, which "
                f"takes codes out of code_set={self.code_set!r}; use code_set='nonnegative', or "
                "divide the samples yourself and set scale_samples=None."
            )
        return Specification(
            loss=named_loss(self.outlier_penalty, self.outlier_sign, self.outlier_bound),
            code_regulariser=codes,
            dictionary_set=named_dictionary_set(self.dictionary_set),
            dictionary_penalty=named_penalty("dictionary_penalty", self.dictionary_penalty),
            outlier_weight=self._weight_rule(),
            forgetting=named_forgetting(self.forgetting),
            in_order=in_order,
            frozen=frozen_mask(self.frozen_atoms, n_components),
            scale_samples=scaling,
            only_stored=self.implicit_zeros == "missing",
        )

    def _weight_rule(self) -> OutlierWeight:
        return named_outlier_weight(self.outlier_weight)

    def _exact_encoder(self) -> AutoEncoder:
        return AutoEncoder(float(self.tol), self.max_iter)

    @property
    def outlier_weight_(self) -> float:
        """λ in use, in the units in which samples are coded (with ``scale_samples``: of one)."""
        check_is_fitted(self, "components_")
        self._check_goes_on()
        return self._fitted_method().threshold(self._state) * self._state.unit

    def separate(
        self,
        X: Any,
        *,
        low_rank: Array | None = None,
        outliers: Array | None = None,
        write: Any = None,
    ) -> Any:
        """Take samples apart into what the dictionary explains and outliers.

        Parameters
        ----------
        X : array-like or data frame of shape (n, F), or a source (`thresher.open`)
            From a source, or any iterable of arrays, batches are separated as they come.
        low_rank, outliers : arrays of shape (n, F), optional
            Where to write, such as memory maps for results that do not fit in memory.
        write : mapping, optional
            Where to put ``low_rank``, ``outliers`` and ``codes``, or some of them, batch by batch:
            paths (``.npy``, Parquet, Feather, CSV; video if samples are pictures) or arrays.

        Returns
        -------
        Separation, or an iterable of them
            ``low_rank``, ``outliers`` and ``codes``, as `set_output` wants them; without it
            ``low_rank`` and ``outliers`` of a data frame are frames of its kind. Of a source, one
            for each batch. An outlier of a missing entry is zero. With ``write``, the paths.
        """
        check_is_fitted(self, "components_")
        if write is not None or comes_in_parts(X):
            if low_rank is not None or outliers is not None:
                raise ValueError(
                    "A stream yields its separations one by one; leave low_rank and outliers out, "
                    "and say where to with write={'low_rank': ..., 'outliers': ...}."
                )
            parts = self._by_batch("separate", X, write)
            return Separation(*parts) if isinstance(parts, list) else parts
        return self._separate(X, low_rank, outliers)

    def _separate(self, X: Any, low_rank: Array | None, outliers: Array | None) -> Separation:
        if sparse.issparse(X) and self.implicit_zeros == "observed":
            raise TypeError(
                "separate gives dense arrays of the size of the data; pass a sparse matrix as an "
                "iterable of dense row blocks instead, such as (X[i:i+256].toarray() for i in ...)."
            )
        given, X = X, self._checked(X, known=True)
        dtype = computing_dtype(X)
        low_rank = np.empty(X.shape, dtype=dtype) if low_rank is None else low_rank
        outliers = np.empty(X.shape, dtype=dtype) if outliers is None else outliers
        for name, target in (("low_rank", low_rank), ("outliers", outliers)):
            if target.shape != X.shape or target.dtype.kind != "f":
                raise ValueError(
                    f"{name} must be a float array of shape {X.shape}, got {target.dtype} of shape "
                    f"{target.shape}."
                )
        codes = np.empty((X.shape[0], len(self.components_)), dtype=dtype)

        def split(block: CodedBlock) -> tuple[Array, Array, Array]:
            return block.prediction(), block.outliers(), block.codes()

        for rows, (prediction, R, C) in self._coded(X, None, split):
            low_rank[rows], outliers[rows], codes[rows] = prediction, R, C
        return Separation(
            samples_like(given, low_rank, self),
            samples_like(given, outliers, self),
            codes_like(given, codes, self),
        )
