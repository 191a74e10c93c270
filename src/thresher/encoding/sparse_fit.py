"""Codes against sparse samples, by their nonzeros alone.

The prediction is known at the nonzeros only, and that is enough (errata E.4): with ``∇ = ∇⁺ − ∇⁻``,
the part ∇⁻ vanishes where data are zero, and ∇⁺ is the same number everywhere (KL, α > 0, ℓ1) or
the prediction itself (squared ℓ2), so that the sums over all F features come from the row sums of
D, or from D Dᵀ. The work grows with the nonzeros.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from thresher.encoding.fit import Fit, Pair
from thresher.kernels.bundles import read_only
from thresher.kernels.floors import FLOOR
from thresher.kernels.products import add_rows, floor_rows, products_at
from thresher.linalg import Array
from thresher.losses import SeparableLoss


@dataclass
class SparseFit(Fit):
    """Of a CSR block without gaps, for losses that say `stays_sparse`.

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
        """There are no gaps."""
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
        bend = self.loss.entry_irls_weights(*self._entries) * energy[self.rows]
        return _sums(self.X.indices, bend, self.X.shape[1])

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
        """At the nonzeros, as they are: they alone do not tell how many entries codes fitted."""
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
