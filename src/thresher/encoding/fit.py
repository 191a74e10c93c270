"""Codes against samples: losses and slopes of the prediction ``C D``, and those of dense blocks.

`sparse_fit` has those of CSR blocks, `stored_fit` those whose unstored entries are missing.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thresher.kernels.bundles import EntryPenalty, read_only
from thresher.kernels.envelope import mean_curvature
from thresher.kernels.quadratic import BlockSums, block_sums
from thresher.linalg import Array
from thresher.losses import Loss

Pair = tuple[Array, Array]


class Fit(ABC):
    """The codes ``C`` of some samples on the dictionary ``D``, and what a loss says of them.

    ``weight`` is that of the entries, if they have any.
    """

    loss: Loss
    X: Any
    C: Array
    D: Array
    weight: Array | None

    @abstractmethod
    def samples(self, rows: slice = slice(None)) -> Array:
        """Some of the samples, expanded."""

    @abstractmethod
    def filled_samples(self, rows: slice) -> Array:
        """The same, with the prediction in their gaps."""

    @abstractmethod
    def feature_counts(self, sample_weight: Array | None) -> Array:
        """Weighted number of observed nonzero entries of every feature, shape (F,), float64."""

    @abstractmethod
    def energies(self) -> tuple[Array, ...] | None:
        """``Σ w x²``, ``Σ w xy``, ``Σ w y²``, ``Σ w x``, ``Σ w y`` of every row; y: prediction.

        None of sparse rows, whose codes have any size.
        """

    @abstractmethod
    def values(self) -> Array:
        """Loss of every row, shape (n,)."""

    @abstractmethod
    def code_slopes(self) -> Pair:
        """``∇⁺Dᵀ`` and ``∇⁻Dᵀ``: the slope in the codes, in its two parts; (n, K) or (1, K)."""

    @abstractmethod
    def dictionary_slopes(self, C: Array) -> Pair:
        """``Cᵀ∇⁺`` and ``Cᵀ∇⁻`` for codes that include sample weights; (K, F) or (K, 1)."""

    @abstractmethod
    def dictionary_gradient(self, C: Array) -> Array:
        """``Cᵀ∇``, shape (K, F), for codes that include sample weights."""

    @abstractmethod
    def row_curvatures(self) -> Array:
        """A bound κ on the curvature of every row's loss, shape (n,); one if there is none."""

    @abstractmethod
    def curvatures(self, energy: Array) -> Array:
        """``Σ_n energy_n |∇|/|x − y|`` for each feature: see `learning.quadratic`."""

    @abstractmethod
    def inlier_energies(self, energy: Array) -> Array:
        """``Σ_n energy_n w/max w`` for each feature, w the weights of a row, in float64."""

    @abstractmethod
    def dictionary_curvature(self, C: Array) -> Array:
        """``Σ_n C_nk |∇|/|x − y|`` for each atom and feature: what `learning.diagonal` needs."""

    def sums_at_once(self, weights: Array | None) -> tuple[Array, Array, Array, Array] | None:
        """``Σ wcᵀc``, ``Σ wcᵀ∇``, ``Σ w‖c‖²|∇|/|x − y|``, ‖c‖² of rows; None if not compiled."""
        return None

    @abstractmethod
    def residuals(self, limit: int) -> tuple[Array, Any, Array]:
        """``|x − y|`` of at most ``limit`` entries that were seen, the row and the weight of each.

        As large as they would be if codes had not been fitted to them.
        """


@dataclass
class DenseFit(Fit):
    """Of a dense block; with ``outliers`` that were not chosen by the loss, if there are any."""

    loss: Loss
    X: Array
    C: Array
    D: Array
    weight: Array | None = None
    outliers: Array | None = None

    @cached_property
    def prediction(self) -> Array:
        """``C D``."""
        product: Array = self.C @ self.D
        return product

    def samples(self, rows: slice = slice(None)) -> Array:
        """As they are."""
        some: Array = self.X[rows]
        return some

    def filled_samples(self, rows: slice) -> Array:
        """Gaps have no weight."""
        if self.weight is None:
            return self.samples(rows)
        return np.where(self.weight[rows] > 0, self.X[rows], self.prediction[rows])

    def feature_counts(self, sample_weight: Array | None) -> Array:
        """Counted."""
        seen = self.X != 0 if self.weight is None else (self.X != 0) & (self.weight > 0)
        if sample_weight is None:
            return np.asarray(seen.sum(axis=0), dtype=np.float64)
        return np.asarray(sample_weight @ seen, dtype=np.float64)

    @cached_property
    def _value_and_gradient(self) -> Pair:
        if self.outliers is None:
            return self.loss.value_and_gradient(self.X, self.prediction, self.weight)
        envelope = self.loss.envelope
        assert envelope is not None  # nobody else has outliers
        given = self.X, self.prediction, self.outliers, self.weight
        return envelope.value_with(*given), envelope.gradient_with(*given)

    @cached_property
    def _split(self) -> Pair:
        return self.loss.split(self.X, self.prediction, self.weight)

    def sums_at_once(self, weights: Array | None) -> tuple[Array, Array, Array, Array] | None:
        """In one call, without the interpreter: so that threads do not wait for each other."""
        constants = self.loss.entry_constants
        plain = self.weight is None and self.outliers is None and not self.loss.defines_irls_weights
        if constants is None or not plain:
            return None
        X, dtype = self.X, self.X.dtype
        ones = np.ones(len(X), dtype) if weights is None else weights.astype(dtype, copy=False)
        outliers, sums = EntryPenalty.of(dtype, constants), BlockSums.like(X, len(self.D))
        block_sums(*map(read_only, (X, self.C, self.D, ones)), outliers, sums)
        self.__dict__["_value_and_gradient"] = sums.values, sums.gradient
        return sums.A, sums.B, sums.curvature, sums.squares

    @property
    def gradient(self) -> Array:
        """∇, shape (n, F)."""
        return self._value_and_gradient[1]

    def values(self) -> Array:
        """From the prediction."""
        return self._value_and_gradient[0]

    def code_slopes(self) -> Pair:
        """Two products with Dᵀ."""
        positive, negative = self._split
        return positive @ self.D.T, negative @ self.D.T

    def dictionary_slopes(self, C: Array) -> Pair:
        """Two products with Cᵀ."""
        positive, negative = self._split
        return C.T @ positive, C.T @ negative

    def dictionary_gradient(self, C: Array) -> Array:
        """A product with Cᵀ."""
        product: Array = C.T @ self.gradient
        return product

    def row_curvatures(self) -> Array:
        """As the loss says."""
        return self.loss.row_curvatures(self.X, self.prediction, self.weight)

    def curvatures(self, energy: Array) -> Array:
        """In one compiled pass, unless the loss knows it better."""
        if self.loss.defines_irls_weights:
            total: Array = self.dictionary_curvature(energy[:, None])[0]
            return total
        dtype = self.X.dtype
        sums = np.zeros(self.X.shape[1], dtype=dtype)
        bound = self.loss.curvature if np.isfinite(self.loss.curvature) else 0.0
        weight = np.empty((0, 0), dtype=dtype) if self.weight is None else self.weight
        values = (self.X, self.prediction, self.gradient, weight, energy.astype(dtype, copy=False))
        mean_curvature(*map(read_only, values), dtype.type(bound), sums)
        return sums

    def inlier_energies(self, energy: Array) -> Array:
        """A product with the weights."""
        if self.weight is None:
            return np.full(self.X.shape[1], float(np.add.reduce(energy, None, np.float64)))
        largest = self.weight.max(axis=1, initial=0)
        sums: Array = (energy / np.where(largest > 0, largest, 1)) @ self.weight
        return sums.astype(np.float64)

    def dictionary_curvature(self, C: Array) -> Array:
        """A product with Cᵀ."""
        bend = self.loss.irls_weights(self.X, self.prediction)
        total: Array = C.T @ (bend if self.weight is None else bend * self.weight)
        return total

    def energies(self) -> tuple[Array, ...]:
        """From the prediction."""
        X, Y = self.X, self.prediction
        ones: Array = np.ones((1, 1), dtype=X.dtype)
        if self.weight is not None:
            ones = np.sqrt(self.weight)
            X, Y = np.where(ones > 0, X * ones, 0), Y * ones
        ones = np.broadcast_to(ones, X.shape)
        pairs = ((X, X), (X, Y), (Y, Y), (X, ones), (Y, ones))
        return tuple(np.einsum("nf,nf->n", *pair) for pair in pairs)

    def residuals(self, limit: int) -> tuple[Array, Any, Array]:
        """Entries at even distances, ``limit`` of them at most.

        The residuals of f entries to which a codes were fitted have the energy of f − a: each is
        divided by ``√(1 − a/f)``, and counts as much as that leaves. Rows with no more entries
        than codes say nothing.
        """
        width = self.X.shape[1]
        step = max(1, -(-self.X.size // limit))
        if step > 1 and width % step == 0:
            step += 1  # or every row would give the same features
        places = np.arange(0, self.X.size, step)
        if self.weight is not None:
            places = places[self.weight.ravel()[places] > 0]
        E = np.abs(self.X.ravel()[places] - self.prediction.ravel()[places])
        rows = places // width
        weights = np.ones(len(rows)) if self.weight is None else self.weight.ravel()[places]
        seen = np.full(len(self.X), width)
        if self.weight is not None:
            seen = np.count_nonzero(self.weight, axis=1)
        left = 1 - np.count_nonzero(self.C, axis=1) / np.maximum(seen, 1)
        left = np.maximum(left, 0)[rows]
        sizes = E / np.sqrt(np.where(left > 0, left, 1)).astype(E.dtype)
        return sizes, rows, weights * left
