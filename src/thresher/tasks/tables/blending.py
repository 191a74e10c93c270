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

from thresher.kernels.small_weights import choose
from thresher.tasks.tables.model import Guesses

_SCATTERED = 0.05  # of the readings are hidden one by one, besides whole gaps
_ENOUGH = 40  # hidden entries that tell about a kind of gap; with fewer, longer ones tell too
_MOST = 100_000  # entries from which weights are learned
_PRIOR = 40  # entries of all columns that count with those of one
_REACHES = 16  # kinds of gaps: up to 1, 2, 4, ... steps from a reading; twice, see below
_KINDS = 2 * _REACHES
_ALONE, _VOTED = 2, 3  # places of guesses
_HEED = 2.0 ** -(np.arange(_KINDS) % _REACHES)  # of an entry: all errors of one gap are much alike
# Entries for which the design counts in long gaps; of 10, 40, 160, 640 the last two were best. Of
# single readings that are missing enough is always known.
_BY_DESIGN = 300.0
_NEXT = 0.25  # how much a gap twice or half as long tells of one


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


def kinds_of_gap(guesses: Guesses, whole_row: NDArray[Any]) -> NDArray[Any]:
    """A number for each entry: how far the nearest reading is, and whether its row tells anything.

    A row tells if it leaves at most half as much again of the entry's variance as a whole row does,
    or less than the entry's column; kinds of entries whose row does not tell come after the others.
    """
    reach = np.clip(guesses.reach, 1.0, 2.0 ** (_REACHES - 1))
    blind = guesses.beside > np.maximum(1.5 * whole_row, guesses.around)
    return np.asarray(np.log2(reach).astype(int) + _REACHES * blind)


def some_of(entries: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """As many entries as are enough to learn weights from, drawn at random."""
    count = entries.sum()
    if count <= _MOST:
        return entries
    return np.asarray(entries & (rng.random(entries.shape) < _MOST / count))


@dataclass(frozen=True)
class Blend:
    """Weights of the guesses for each kind of gap and column, and how far off they are."""

    weights: NDArray[Any]  # kinds × F × M
    spread: NDArray[Any]  # kinds × F: root mean square error, standardised columns
    quantiles: NDArray[Any]  # kinds: of |error| / (spread · activity), at the coverage asked for

    @classmethod
    def learned(
        cls, truth: NDArray[Any], guesses: Guesses, kinds: NDArray[Any], hidden: NDArray[Any]
    ) -> Blend:
        """From what was hidden.

        Weights w of a kind and column are the least of ``Σ (y − wᵀ b)² / v`` over w ≥ 0, with all
        columns of this kind and of those next to it beside, and with what is best by design if
        these are few. Errors v of a column are in there so that columns which nobody can guess do
        not decide for all.
        """
        F = truth.shape[1]
        rows, columns = np.nonzero(hidden)
        kind = kinds[rows, columns]
        y, B = truth[rows, columns], guesses.candidates[:, rows, columns]
        group = kind * F + columns
        counts = np.bincount(kind, minlength=_KINDS)
        pools = _pools(counts)
        variances = _variances(_squares_of_best(B, y, kind), group, F, pools)
        solved = np.flatnonzero(counts)
        place = np.searchsorted(solved, kind) * F + columns
        moments = _moments(B, y, place, (len(solved), F))
        grams, sides = (np.tensordot(pools[:, solved], sums, 1) for sums in moments)
        grams *= (_HEED[:, None] / variances)[..., None, None]
        sides *= (_HEED[:, None] / variances)[..., None]
        counts = pools @ counts
        all_grams, n = _of_all_columns(grams, counts)
        all_sides, _ = _of_all_columns(sides, counts)
        design = all_grams[..., _by_design(len(B))]
        known = (n / (n + _BY_DESIGN * (1 - _HEED)))[:, None, None]
        grams += _PRIOR * all_grams
        sides += _PRIOR * (known * all_sides + (1 - known) * design)
        if len(B) > _VOTED:  # next to a reading it is the joint guess, which is to have its weight
            grams[..., _VOTED, _VOTED] *= 1 + 1e-6
        weights = np.zeros(sides.shape)
        weights[solved] = nonnegative_solutions(grams[solved], sides[solved])
        errors = y - np.einsum("ke,ek->e", B, weights[kind, columns])
        beside = _beside(guesses) if len(B) > _VOTED else 1.0
        spread = np.sqrt(_variances(errors**2, group, F, pools, beside)) + 1e-9
        alone = np.sqrt(_variances((y - B[_ALONE]) ** 2, group, F, pools)) + 1e-9
        for other in np.setdiff1d(np.arange(_KINDS), solved):
            alike = solved[solved // _REACHES == other // _REACHES]
            if len(alike):
                weights[other] = weights[alike[np.argmin(np.abs(alike - other))]]
        for few in np.flatnonzero(counts < _ENOUGH):
            weights[few], spread[few] = _without(weights, spread, alone, counts, int(few))
        return cls(weights, spread, np.full(_KINDS, 1.645))

    def blended(self, guesses: Guesses, kinds: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """One guess of each entry, and its typical error."""
        F, M = self.weights.shape[1:]
        group = kinds * F + np.arange(F)
        mean = np.zeros(kinds.shape)
        for each, weights in zip(guesses.candidates, self.weights.reshape(-1, M).T, strict=True):
            mean += each * np.take(weights, group)
        return mean, np.take(self.spread, group)

    def with_quantiles(self, ratios: NDArray[Any], kinds: NDArray[Any], coverage: float) -> Blend:
        """With quantiles of |error| / scale of hidden entries, so that intervals keep a promise.

        The least that holds for ``coverage`` of n + 1 such entries, of which n are known.
        """
        usual = _quantile(ratios, coverage) if len(ratios) else 1.645
        quantiles = np.full(_KINDS, usual)
        for kind, pool in enumerate(_pools(np.bincount(kinds, minlength=_KINDS))):
            of = ratios[pool[kinds] > 0]
            if len(of) >= _ENOUGH:
                quantiles[kind] = _quantile(of, coverage)
        return Blend(self.weights, self.spread, quantiles)


def _without(
    weights: NDArray[Any],
    spread: NDArray[Any],
    alone: NDArray[Any],
    counts: NDArray[Any],
    kind: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """For a kind of gap of which nothing is known: by design.

    Where the row does not tell, that is the column alone, which then errs as it does where a row
    tells, if that is known.
    """
    told, blind = np.zeros(weights.shape[-1]), kind >= _REACHES
    told[_ALONE if blind else 0] = 1.0
    errs = alone[0] if blind and counts[0] >= _ENOUGH else np.ones(spread[kind].shape)
    return np.broadcast_to(told, weights[kind].shape), errs


def _by_design(n_guesses: int) -> int:
    """The guess to trust before anything is known: the committee's; without it, the joint one."""
    return _VOTED if n_guesses > _VOTED else 0


def _squares_of_best(B: NDArray[Any], y: NDArray[Any], kind: NDArray[Any]) -> NDArray[Any]:
    """Squared errors of the guess that is the best one for each kind."""
    squares = (B - y) ** 2
    totals = [np.bincount(kind, square, _KINDS) for square in squares]
    return np.asarray(squares[np.argmin(totals, axis=0)[kind], np.arange(len(y))])


def _pools(counts: NDArray[Any]) -> NDArray[Any]:
    """Which kinds (columns) tell of each (rows): itself, and if it has too few entries more.

    First longer gaps, whose errors are rather larger; if there are too few of these, shorter ones.
    """
    pools = np.eye(_KINDS)
    for kind in range(_KINDS):
        block = kind - kind % _REACHES
        longer, shorter = range(kind + 1, block + _REACHES), range(kind - 1, block - 1, -1)
        known = counts[kind]
        for other in (*longer, *shorter):
            if known >= _ENOUGH:
                break
            pools[kind, other] = 1.0
            known += counts[other]
    return pools


def _beside(guesses: Guesses) -> NDArray[Any]:
    """How much of each column its row leaves, for kinds of gaps (kinds × F) that the row tells of.

    It is 1 where time tells more: next to a reading, and where the row does not tell.
    """
    left = np.ones((_KINDS, guesses.beside.shape[1]))
    left[1:_REACHES] = np.sqrt(guesses.beside.mean(0))
    return left


def _variances(
    squares: NDArray[Any],
    group: NDArray[Any],
    F: int,
    pools: NDArray[Any],
    usual: NDArray[Any] | float = 1.0,
) -> NDArray[Any]:
    """Mean square of each kind and column, with some entries of all columns besides.

    These are in proportion to what is ``usual`` of each kind and column.
    """
    total = pools @ np.bincount(group, squares, _KINDS * F).reshape(-1, F)
    count = pools @ np.bincount(group, minlength=_KINDS * F).reshape(-1, F)
    expected = (usual * count).sum(1, keepdims=True)
    usual = usual * total.sum(1, keepdims=True) / np.where(expected > 0, expected, 1.0)
    heed = _HEED[:, None]
    return np.asarray((heed * total + _PRIOR * usual) / (heed * count + _PRIOR) + 1e-12)


def _moments(
    B: NDArray[Any], y: NDArray[Any], group: NDArray[Any], shape: tuple[int, int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sums of products of guesses, and of guesses with the truth, for each kind and column."""
    n_groups, M = shape[0] * shape[1], len(B)
    grams, sides = np.empty((n_groups, M, M)), np.empty((n_groups, M))
    for a in range(M):
        sides[:, a] = np.bincount(group, B[a] * y, n_groups)
        for b in range(a + 1):
            grams[:, a, b] = grams[:, b, a] = np.bincount(group, B[a] * B[b], n_groups)
    return grams.reshape(*shape, M, M), sides.reshape(*shape, M)


def _of_all_columns(sums: NDArray[Any], counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The mean over all entries of a kind, and their number; kinds next to it count less."""
    reach = np.arange(_REACHES)
    near = np.kron(np.eye(2), _NEXT ** np.abs(reach[:, None] - reach))
    entries = np.maximum(near @ (_HEED * counts), 1e-9)
    shape = (-1,) + (1,) * (sums.ndim - 1)
    total = np.tensordot(near, sums.sum(1, keepdims=True), 1)
    return total / entries.reshape(shape), entries


def nonnegative_solutions(grams: NDArray[Any], sides: NDArray[Any]) -> NDArray[Any]:
    """The least of ``wᵀ G w / 2 − hᵀ w`` over w ≥ 0, for many small G and h at once.

    A little of the size of G is added to its diagonal, for guesses that are the same.
    """
    M = sides.shape[-1]
    size = np.einsum("...aa->...", grams)[..., None, None]
    grams = grams + (1e-9 * size + 1e-300) * np.eye(M)
    best = np.empty((sides.size // M, M))
    choose(grams.reshape(-1, M, M), sides.reshape(-1, M), best)
    return best.reshape(sides.shape)


def _quantile(values: NDArray[Any], share: float) -> float:
    return float(np.quantile(values, min(share * (1 + 1 / len(values)), 1.0)))
