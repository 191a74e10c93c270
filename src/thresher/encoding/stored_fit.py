"""Codes against rows of which only the stored entries were seen."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thresher.encoding.fit import DenseFit, Fit, Pair
from thresher.linalg import Array, Part, StoredBlock
from thresher.losses import Loss


@dataclass
class StoredFit(Fit):
    """Of a block whose parts are dense fits on their own features; gaps add nothing.

    ``transposed`` is Dᵀ in memory order.
    """

    loss: Loss
    X: StoredBlock
    C: Array
    D: Array
    transposed: Array
    weight: None = None

    @cached_property
    def _parts(self) -> list[tuple[Part, DenseFit]]:
        return [
            (part, DenseFit(self.loss, part.X, self.C[part.rows], D, part.weight))
            for part in self.X.parts
            for D in (np.ascontiguousarray(self.transposed[part.features].T),)
        ]

    def _rows(self, of: Callable[[DenseFit], Array]) -> Array:
        """What is said of rows, one part after the other."""
        return np.concatenate([of(fit) for _, fit in self._parts])

    def _features(self, n_rows: int, of: Callable[[Part, DenseFit], Array]) -> Array:
        """What is said of features, added up in float64."""
        sums: Array = np.zeros((n_rows, self.D.shape[1]))
        for part, fit in self._parts:
            sums[:, part.features] += of(part, fit)
        return sums

    def samples(self, rows: slice = slice(None)) -> Array:
        """Expanded, zero in the gaps."""
        return self.X[rows].dense()[0]

    def filled_samples(self, rows: slice) -> Array:
        """Expanded, with the prediction in the gaps."""
        X, weight = self.X[rows].dense()
        return np.where(weight > 0, X, self.C[rows] @ self.D)

    def feature_counts(self, sample_weight: Array | None) -> Array:
        """Counted in every part."""

        def counts(part: Part, fit: DenseFit) -> Array:
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
        """Added up; both have all features, since each was seen by others."""
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
