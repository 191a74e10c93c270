"""Which guess proves to know how much: weights learned from entries that were hidden.

Gaps are of many kinds: one reading, a night, a sensor that is off for a month, all sensors of a
mast at once. So the table's own gaps, moved to another time, hide readings that are known; what
each guess makes of them gives its weight, by the distance to the nearest reading of the column and
by whether the other columns of the row were there. Their errors also give the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from thresher.tasks.tables.model import Guesses

_SCATTERED = 0.05  # of the readings are hidden one by one, besides whole gaps
_ENOUGH = 40  # hidden entries that tell about a kind of gap; with fewer, the next shorter one does
_PRIOR = 40  # entries of all columns that count with those of one
_REACHES = 16  # kinds of gaps: up to 1, 2, 4, ... steps from a reading
_CLIP = 4.0  # standardised errors beyond it count as this one, so that no single one decides


def hidden_entries(
    gaps: NDArray[Any], trusted: NDArray[Any], rng: np.random.Generator
) -> NDArray[Any]:
    """Trusted entries to hide: the table's gaps at another time, and scattered ones.

    Of no column more than half of what is known.
    """
    n = len(gaps)
    shift = int(rng.integers(n // 4, max(3 * n // 4, n // 4 + 1)))
    hidden = trusted & np.roll(gaps, shift, axis=0)
    hidden[:, 2 * hidden.sum(0) > trusted.sum(0)] = False
    hidden |= trusted & (rng.random(gaps.shape) < _SCATTERED)
    return hidden & (trusted.sum(0) > 2)


def kinds_of_gap(
    trusted: NDArray[Any],
    times: NDArray[Any],
    beside: NDArray[Any],
    whole: NDArray[Any],
    causal: bool = False,
) -> NDArray[Any]:
    """A number for each entry: how far the nearest reading is, and whether its row tells anything.

    A row tells if it leaves at most half as much again of the entry's variance as a whole row does.
    """
    n, F = trusted.shape
    reach = np.full((n, F), np.inf)
    for j in range(F):
        read = np.flatnonzero(trusted[:, j])
        if not len(read):
            continue
        after = np.searchsorted(read, np.arange(n))
        itself = read[np.minimum(after, len(read) - 1)] == np.arange(n)
        before = np.where(after > 0, times - times[read[np.maximum(after - 1, 0)]], np.inf)
        place = np.minimum(after + itself, len(read) - 1)
        behind = np.where(after + itself < len(read), times[read[place]] - times, np.inf)
        reach[:, j] = before if causal else np.minimum(before, behind)
    reach = np.minimum(np.maximum(reach, 1.0), 2.0 ** (_REACHES - 1))
    kinds = np.minimum(np.log2(reach).astype(int), _REACHES - 1)
    return np.asarray(kinds + _REACHES * (beside > 1.5 * whole))


@dataclass(frozen=True)
class Blend:
    """Weights of the guesses for each kind of gap and column, and how far off they are."""

    weights: NDArray[Any]  # kinds × F × 3
    spread: NDArray[Any]  # kinds × F: root mean square error, standardised columns
    quantiles: NDArray[Any]  # kinds: of |error| / (spread · activity), at the coverage asked for

    @classmethod
    def learned(
        cls, truth: NDArray[Any], guesses: Guesses, kinds: NDArray[Any], hidden: NDArray[Any]
    ) -> Blend:
        """From what was hidden."""
        F = truth.shape[1]
        weights = np.zeros((2 * _REACHES, F, 3))
        spread = np.ones((2 * _REACHES, F))
        rows, columns = np.nonzero(hidden)
        y, of = truth[rows, columns], kinds[rows, columns]
        B = guesses.candidates[:, rows, columns].T
        for kind in range(2 * _REACHES):
            chosen = of == kind
            if chosen.sum() < _ENOUGH:
                weights[kind], spread[kind] = _without(weights, spread, kind)
                continue
            gaps = 2.0 ** -(kind % _REACHES)  # errors of one gap are hardly more than one error
            weights[kind] = _weights(B[chosen], y[chosen], columns[chosen], F, gaps)
            errors = y[chosen] - np.einsum("ek,ek->e", B[chosen], weights[kind, columns[chosen]])
            spread[kind] = _spread(errors, columns[chosen], F, gaps)
        return cls(weights, spread, np.full(2 * _REACHES, 1.645))

    def blended(self, guesses: Guesses, kinds: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """One guess of each entry, and its typical error."""
        j = np.arange(kinds.shape[1])
        weights = self.weights[kinds, j]
        mean = np.einsum("ktj,tjk->tj", guesses.candidates, weights)
        return mean, self.spread[kinds, j]

    def with_quantiles(self, ratios: NDArray[Any], kinds: NDArray[Any], coverage: float) -> Blend:
        """With quantiles of |error| / scale of hidden entries, so that intervals keep a promise.

        The least that holds for ``coverage`` of n + 1 such entries, of which n are known.
        """
        quantiles = np.empty(2 * _REACHES)
        usual = _quantile(ratios, coverage) if len(ratios) else 1.645
        for kind in range(2 * _REACHES):
            of = ratios[kinds == kind]
            enough = len(of) >= _ENOUGH
            shorter = quantiles[kind - 1] if kind % _REACHES else usual
            quantiles[kind] = _quantile(of, coverage) if enough else shorter
        return Blend(self.weights, self.spread, quantiles)


def _without(
    weights: NDArray[Any], spread: NDArray[Any], kind: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """For a kind of gap of which too little is known: as the next shorter one; else, by design.

    Where the row tells, the joint guess; where it does not, the column alone.
    """
    if kind % _REACHES:
        return weights[kind - 1], spread[kind - 1]
    told = np.array([1.0, 0.0, 0.0] if kind == 0 else [0.0, 0.0, 1.0])
    return np.broadcast_to(told, weights[kind].shape), spread[kind]


def _weights(
    B: NDArray[Any], y: NDArray[Any], columns: NDArray[Any], F: int, heed: float
) -> NDArray[Any]:
    """Nonnegative least squares for each column, with some entries of all columns besides."""
    grams = np.zeros((F, 3, 3))
    sides = np.zeros((F, 3))
    np.add.at(grams, columns, B[:, :, None] * B[:, None, :])
    np.add.at(sides, columns, B * y[:, None])
    gram, side = grams.sum(0) * (_PRIOR / len(y)), sides.sum(0) * (_PRIOR / len(y))
    found = np.empty((F, 3))
    for j in range(F):
        values, vectors = np.linalg.eigh(heed * grams[j] + gram)
        values = np.sqrt(np.maximum(values, 1e-9 * max(values[-1], 1e-300)))
        root = vectors * values  # (G + g) = root rootᵀ
        found[j] = nnls(root.T, np.linalg.solve(root, heed * sides[j] + side))[0]
    return found


def _spread(errors: NDArray[Any], columns: NDArray[Any], F: int, heed: float) -> NDArray[Any]:
    """Root mean square error of each column, with some entries of all columns besides."""
    squares = errors**2
    total, count = np.bincount(columns, squares, F), np.bincount(columns, minlength=F)
    return np.sqrt((heed * total + _PRIOR * squares.mean()) / (heed * count + _PRIOR)) + 1e-9


def _quantile(values: NDArray[Any], share: float) -> float:
    return float(np.quantile(values, min(share * (1 + 1 / len(values)), 1.0)))
