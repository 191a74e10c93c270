"""Codes against samples: losses and gradients of the prediction ``C D``, for each kind of block.

Of sparse rows the prediction is known at the nonzeros only, and that is enough (errata E.4): with
``∇ = ∇⁺ − ∇⁻``, the part ∇⁻ vanishes where data are zero, and ∇⁺ is the same number everywhere (KL,
α > 0, ℓ1) or the prediction itself (squared ℓ2), so that the sums over all F features come from the
row sums of D, or from D Dᵀ. The work grows with the nonzeros.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from thresher.kernels.bundles import EntryPenalty, read_only
from thresher.kernels.envelope import mean_curvature
from thresher.kernels.floors import FLOOR
from thresher.kernels.products import add_rows, floor_rows, products_at
from thresher.kernels.quadratic import BlockSums, block_sums
from thresher.linalg import Array, ObservedPart
from thresher.losses import Loss, SeparableLoss

Pair = tuple[Array, Array]


class Fit(ABC):
    """Losses and gradients of some samples at their codes ``C`` on the dictionary ``D``.

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
        """The same, with the prediction where an entry is missing."""

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

    def code_gradient(self) -> Array:
        """``∇Dᵀ``, shape (n, K)."""
        positive, negative = self.code_slopes()
        return positive - negative

    def gradient_at_zero(self) -> Array:
        """``∇Dᵀ`` of codes that are all zero."""
        return self.code_gradient()

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
        """``|x − y|`` of at most ``limit`` observed entries, the row and the weight of each.

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
        assert envelope is not None  # other losses have no outliers
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

    def code_gradient(self) -> Array:
        """A product with Dᵀ, without the values of the loss."""
        if self.outliers is None:
            return self.loss.gradient(self.X, self.prediction, self.weight) @ self.D.T
        return self.gradient @ self.D.T

    def gradient_at_zero(self) -> Array:
        """Without the product that is zero."""
        return self.loss.gradient(self.X, np.zeros_like(self.X), self.weight) @ self.D.T

    def dictionary_slopes(self, C: Array) -> Pair:
        """Two products with Cᵀ."""
        positive, negative = self._split
        return C.T @ positive, C.T @ negative

    def dictionary_gradient(self, C: Array) -> Array:
        """A product with Cᵀ."""
        product: Array = C.T @ self.gradient
        return product

    def row_curvatures(self) -> Array:
        """Those of the loss."""
        return self.loss.row_curvatures(self.X, self.prediction, self.weight)

    def curvatures(self, energy: Array) -> Array:
        """In one compiled pass, unless the loss defines its own weights."""
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
        curvature = self.loss.irls_weights(self.X, self.prediction)
        total: Array = C.T @ (curvature if self.weight is None else curvature * self.weight)
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
        than codes have weight zero.
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


@dataclass
class SparseFit(Fit):
    """Of a CSR block without missing entries, for losses with `stays_sparse`.

    ``transposed`` is Dᵀ in memory order, ``row_sums`` the sums of the atoms, and ``gram`` gives
    D Dᵀ, which only the squared loss needs; ``products`` are ``C D`` at the nonzeros, if known.
    """

    loss: SeparableLoss
    X: Any
    C: Array
    D: Array
    transposed: Array
    row_sums: Array
    gram: Callable[[], Array]
    weight: None = None
    products: Array | None = None

    def samples(self, rows: slice = slice(None)) -> Array:
        """Expanded."""
        expanded: Array = self.X[rows].toarray()
        return expanded

    def filled_samples(self, rows: slice) -> Array:
        """No entries are missing."""
        return self.samples(rows)

    def feature_counts(self, sample_weight: Array | None) -> Array:
        """Counted by column index."""
        weights = None if sample_weight is None else sample_weight[self.rows]
        counts = np.bincount(self.X.indices, weights, minlength=self.X.shape[1])
        return counts.astype(np.float64, copy=False)

    def energies(self) -> None:
        """Not known."""
        return None

    @cached_property
    def rows(self) -> Any:
        """The row of every nonzero."""
        return np.repeat(np.arange(self.X.shape[0]), np.diff(self.X.indptr))

    @cached_property
    def _products(self) -> Array:
        """``C D`` at the nonzeros."""
        if self.products is not None:
            return self.products
        y: Array = np.empty_like(self.X.data)
        arrays = (self.X.indptr, self.X.indices, self.C, self.transposed)
        products_at(*map(read_only, arrays), y)
        return y

    @cached_property
    def _entries(self) -> Pair:
        """Data and predictions at the nonzeros, in the domain of the loss."""
        x, y = self.X.data, self._products
        if not self.loss.needs_positive_prediction:
            return x, y
        floored: Array = np.empty_like(y)
        floor_rows(*map(read_only, (self.X.indptr, x, y)), x.dtype.type(FLOOR), floored)
        return x, floored

    @cached_property
    def _negative(self) -> Array:
        """∇⁻ at the nonzeros; it is zero where data are."""
        positive, values = self.loss.entry_split(*self._entries)
        if self.loss.zero_slope is not None:  # what ∇⁺ is beyond its value at zeros belongs here
            values = values - (positive - positive.dtype.type(self.loss.zero_slope))
        return values

    def values(self) -> Array:
        """What the nonzeros cost beyond zeros, and what all F entries would cost as zeros."""
        x, y = self._entries
        slope = self.loss.zero_slope
        as_zeros = self._products**2 / 2 if slope is None else x.dtype.type(slope) * self._products
        beyond = self.loss.entry_value(x, y) - as_zeros
        total = _row_sums(self.X.indptr, beyond)
        if self.loss.zero_slope is None:
            total += np.einsum("nk,nk->n", self.C @ self.gram(), self.C) / 2
        else:
            total += self.loss.zero_slope * (self.C @ self.row_sums)
        return total.astype(x.dtype)

    def code_slopes(self) -> Pair:
        """Row sums or the Gram matrix for all features; the nonzeros by a sparse product."""
        places = (self._negative, self.X.indices, self.X.indptr)
        negative = sparse.csr_array(places, shape=self.X.shape) @ self.transposed
        if self.loss.zero_slope is None:
            return self.C @ self.gram(), negative
        return self._apart((self.loss.zero_slope * self.row_sums)[None], negative)

    def dictionary_slopes(self, C: Array) -> Pair:
        """Code sums or CᵀC for all features; the nonzeros by a sparse product."""
        sums = np.zeros((self.X.shape[1], C.shape[1]))  # float64, whatever the data are
        self._add_rows(self._negative, C, sums)
        negative = sums.T
        if self.loss.zero_slope is None:
            return (C.T @ self.C) @ self.D, negative
        return self._apart(self.loss.zero_slope * C.sum(axis=0)[:, None], negative)

    def _add_rows(self, values: Array, C: Array, sums: Array) -> None:
        add_rows(*map(read_only, (self.X.indptr, self.X.indices, values, C)), sums)

    def dictionary_gradient(self, C: Array) -> Array:
        """The difference of the two parts."""
        positive, negative = self.dictionary_slopes(C)
        return positive - negative

    def row_curvatures(self) -> Array:
        """One."""
        return np.ones(self.X.shape[0], dtype=self.X.dtype)

    def curvatures(self, energy: Array) -> Array:
        """At the nonzeros; a linear cost has no curvature, a quadratic one has one."""
        if self.loss.zero_slope is None:
            return np.full(self.X.shape[1], energy.sum(dtype=np.float64))
        curvature = self.loss.entry_irls_weights(*self._entries) * energy[self.rows]
        return _sums(self.X.indices, curvature, self.X.shape[1])

    def inlier_energies(self, energy: Array) -> Array:
        """The same for all features."""
        return np.full(self.X.shape[1], float(np.add.reduce(energy, None, np.float64)))

    def dictionary_curvature(self, C: Array) -> Array:
        """At the nonzeros, by a sparse product."""
        sums = np.zeros((self.X.shape[1], C.shape[1]))
        if self.loss.zero_slope is None:
            sums += C.sum(axis=0, dtype=np.float64)
        else:
            self._add_rows(self.loss.entry_irls_weights(*self._entries), C, sums)
        return sums.T

    def residuals(self, limit: int) -> tuple[Array, Any, Array]:
        """At the nonzeros, not enlarged: how many entries codes were fitted to is not known."""
        x, y = self._entries
        step = max(1, -(-x.size // limit))
        sizes = np.abs(x - y)[::step]
        return sizes, self.rows[::step], np.ones(len(sizes))

    def _apart(self, positive: Array, negative: Array) -> Pair:
        """Two parts that are not negative, with the same difference.

        The second one can be, where zeros weigh less than other entries.
        """
        if self._negative.min(initial=0) >= 0:
            return positive, negative
        excess = np.minimum(negative, 0)
        return positive - excess, negative - excess


def _sums(places: Any, values: Array, length: int) -> Array:
    """Add values up by place, in float64."""
    return np.asarray(np.bincount(places, weights=values, minlength=length), dtype=np.float64)


def _row_sums(indptr: Any, values: Array) -> Array:
    """Sums of the values of every sparse row, in float64."""
    sums = np.zeros(len(indptr) - 1)
    filled = indptr[:-1] < indptr[1:]
    if filled.any():
        sums[filled] = np.add.reduceat(values, indptr[:-1][filled], dtype=np.float64)
    return sums


@dataclass
class ObservedFit(Fit):
    """Of a block whose parts are dense fits on their own features; missing entries add nothing.

    ``transposed`` is Dᵀ in memory order.
    """

    loss: Loss
    X: Any
    C: Array
    D: Array
    transposed: Array
    weight: None = None

    @cached_property
    def _parts(self) -> list[tuple[ObservedPart, DenseFit]]:
        return [
            (part, DenseFit(self.loss, part.X, self.C[part.rows], D, part.weight))
            for part in self.X.parts
            for D in (np.ascontiguousarray(self.transposed[part.features].T),)
        ]

    def _rows(self, of: Callable[[DenseFit], Array]) -> Array:
        """Values of rows, one part after the other."""
        values: Array = np.concatenate([of(fit) for _, fit in self._parts])
        return values

    def _features(self, n_rows: int, of: Callable[[ObservedPart, DenseFit], Array]) -> Array:
        """Sums over rows for each feature, in float64."""
        sums: Array = np.zeros((n_rows, self.D.shape[1]))
        for part, fit in self._parts:
            sums[:, part.features] += of(part, fit)
        return sums

    def samples(self, rows: slice = slice(None)) -> Array:
        """Expanded, zero where an entry is missing."""
        samples: Array = self.X[rows].dense()[0]
        return samples

    def filled_samples(self, rows: slice) -> Array:
        """Expanded, with the prediction where an entry is missing."""
        X, weight = self.X[rows].dense()
        return np.where(weight > 0, X, self.C[rows] @ self.D)

    def feature_counts(self, sample_weight: Array | None) -> Array:
        """Counted in every part."""

        def counts(part: ObservedPart, fit: DenseFit) -> Array:
            weights = None if sample_weight is None else sample_weight[part.rows]
            return fit.feature_counts(weights)

        return np.asarray(self._features(1, counts)[0])

    def energies(self) -> tuple[Array, ...]:
        """Those of every part."""
        parts = [fit.energies() for _, fit in self._parts]
        return tuple(map(np.concatenate, zip(*parts, strict=True)))

    def values(self) -> Array:
        """Those of every part."""
        return self._rows(DenseFit.values)

    def code_slopes(self) -> Pair:
        """Those of every part."""
        parts = [fit.code_slopes() for _, fit in self._parts]
        positive, negative = map(np.concatenate, zip(*parts, strict=True))
        return positive, negative

    def dictionary_slopes(self, C: Array) -> Pair:
        """Added up; both have all features, since each is observed in some row."""
        K = C.shape[1]
        positive = self._features(K, lambda p, fit: fit.dictionary_slopes(C[p.rows])[0])
        return positive, self._features(K, lambda p, fit: fit.dictionary_slopes(C[p.rows])[1])

    def dictionary_gradient(self, C: Array) -> Array:
        """Added up."""
        return self._features(C.shape[1], lambda p, fit: fit.dictionary_gradient(C[p.rows]))

    def row_curvatures(self) -> Array:
        """Those of every part."""
        return self._rows(DenseFit.row_curvatures)

    def curvatures(self, energy: Array) -> Array:
        """Added up."""
        sums = self._features(1, lambda p, fit: fit.curvatures(energy[p.rows])[None])
        return np.asarray(sums[0])

    def inlier_energies(self, energy: Array) -> Array:
        """Added up."""
        sums = self._features(1, lambda p, fit: fit.inlier_energies(energy[p.rows])[None])
        return np.asarray(sums[0])

    def dictionary_curvature(self, C: Array) -> Array:
        """Added up."""
        return self._features(C.shape[1], lambda p, fit: fit.dictionary_curvature(C[p.rows]))

    def residuals(self, limit: int) -> tuple[Array, Any, Array]:
        """Of every part as many entries as it has rows of the block."""
        n = max(len(self.C), 1)
        sizes: list[Array] = [np.empty(0)]
        rows, weights = [np.empty(0, dtype=int)], list(sizes)
        for part, fit in self._parts:
            size, row, weight = fit.residuals(max(1, limit * len(fit.C) // n))
            sizes.append(size)
            rows.append(row + part.rows.start)
            weights.append(weight)
        return np.concatenate(sizes), np.concatenate(rows), np.concatenate(weights)
