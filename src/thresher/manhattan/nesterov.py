"""Nesterov's smoothing method for one factor: Algorithm 2 of paper C, and how `auto` uses it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.engine.executor import Pool
from thresher.linalg import Array
from thresher.manhattan.half import Half
from thresher.manhattan.smoothing import SmoothedLoss, box_gap, weighted_lengths

_PRECISION = 0.005  # of the bound of Theorem 2 (errata C.4); a larger share ends at a higher loss


@dataclass
class NesterovIterates:
    """The sequences (19)–(21) of an accelerated proximal gradient method.

    From V₀::

        Y_k = prox(V_k − ∇_k/L),   Z_k = prox(centre·V₀ − Σ_{i≤k} (i+1)/2 ∇_i/L),
        V_{k+1} = 2/(k+3) Z_k + (k+1)/(k+3) Y_k,

    with ``prox`` that of set and penalty, (47)–(48) and (56)–(57).

    Parameters
    ----------
    part : SmoothedPart
        The rows, with their Lipschitz constants L.
    V : array
        The start; the point of the next gradient from then on.
    centre : float
        1 keeps the start in Z; 0 drops it, as the paper has it (errata C.3).
    """

    part: "SmoothedPart"
    V: Array
    centre: float = 1.0

    def __post_init__(self) -> None:
        number, L = self.V.dtype.type, self.part.lipschitz
        self.steps: Array = 1 / np.where(L > 0, L, 1)
        self.start, self.Y = self.V, self.V
        self.past = np.zeros_like(self.V)
        self._origin = number(self.centre) * self.V

    def descent(self, slope: Array) -> Array:
        """Y: a proximal gradient step from V."""
        return self.part.prox(self.V - slope * self.steps, self.steps, self.start)

    def add(self, slope: Array, k: int) -> None:
        """Add the k-th gradient to the weighted sum."""
        self.past = self.past + self.V.dtype.type((k + 1) / 2) * slope

    def advance(self, Y: Array, k: int, running: Any = True) -> None:
        """Take Y, and mix it with Z, in the rows that are ``running``."""
        number, free = self.V.dtype.type, self.part.half.free
        weight = number((k + 1) * (k + 2) / 4) * self.steps
        Z = self.part.prox(self._origin - self.past * self.steps, weight, self.start)
        self.Y = np.where(running, Y, self.Y)
        mixed = number(2 / (k + 3)) * Z + number((k + 1) / (k + 3)) * self.Y
        moves = running if free is None else running & free
        self.V = np.where(moves, mixed, self.V)


class SmoothedPart:
    """Some blocks of a half with the smoothed loss: gradient, values, prox and duality gap.

    Parameters
    ----------
    half : Half
    A : array of shape (K, F)
        The factor that stays.
    width : float or array of shape (n, 1)
        λ of the smoothed loss, for all rows of the half or for each.
    blocks : list of slice
        Consecutive row blocks; one alone is loaded once and kept.
    bound : callable
        The Lipschitz constants of the gradient of a `SmoothedLoss`, shape (n, 1).
    ties : array of int of shape (n,), optional
        Rows with the same number are one problem, whose values are added up; None: every row is
        one by itself.
    pool : Pool, optional
        Where several blocks are evaluated.
    """

    def __init__(
        self,
        half: Half,
        A: Array,
        width: float | Array,
        blocks: list[slice],
        bound: Callable[[SmoothedLoss], Array],
        ties: NDArray[np.int64] | None = None,
        pool: Pool | None = None,
    ) -> None:
        self.half, self.A, self.width, self.ties = half, A, width, ties
        self.all = slice(blocks[0].start, blocks[-1].stop)
        self.blocks, self.pool = blocks, pool
        self.has_gap = has_gap(half)
        self._kept = None if pool else self._loss(blocks[0])
        self._mean_dual: Array | None = None
        coupled = not half.rows_are_alone
        self._rows: Array | None = None
        if coupled and half.row_weight is not None:
            self._rows = half.row_weight.astype(A.dtype)[:, None]
        L = np.concatenate(self._map(lambda loss, rows: bound(loss)))
        if coupled:
            L = (L if self._rows is None else L * self._rows).max(keepdims=True)
        if half.graph is not None:
            L = L + A.dtype.type(half.graph.curvature)
        self.lipschitz: Array = L

    def evaluate(self, V: Array, k: int) -> tuple[Array, Array, Array]:
        """Gradient, smoothed value and value; the values of all rows that are one problem."""

        def work(loss: SmoothedLoss, rows: slice) -> tuple[Array, Array, Array]:
            E = loss.residual(V[self._within(rows)])
            return self._slope(loss, E, k), loss.values(E), self.half.losses(E, loss.weight)

        slope, smooth, true = map(np.concatenate, zip(*self._map(work), strict=True))
        return self._whole_gradient(slope, V), self._whole(smooth, V), self._whole(true, V)

    def gradient(self, V: Array, k: int) -> Array:
        """Of the smoothed loss and the graph, in iteration k."""

        def work(loss: SmoothedLoss, rows: slice) -> Array:
            return self._slope(loss, loss.residual(V[self._within(rows)]), k)

        return self._whole_gradient(np.concatenate(self._map(work)), V)

    def values(self, V: Array) -> Array:
        """Smoothed loss, penalty and graph."""

        def work(loss: SmoothedLoss, rows: slice) -> Array:
            return loss.values(loss.residual(V[self._within(rows)]))

        return self._whole(np.concatenate(self._map(work)), V)

    def losses(self, V: Array) -> Array:
        """The loss of every row, not smoothed."""

        def work(loss: SmoothedLoss, rows: slice) -> Array:
            return self.half.losses(loss.residual(V[self._within(rows)]), loss.weight)

        return np.concatenate(self._map(work))

    def prox(self, V: Array, step: Array, start: Array) -> Array:
        """Of set and penalty; atoms that are not free stay."""
        half = self.half
        if half.rows_are_alone:
            moved = half.regulariser.prox(V, step * step.dtype.type(half.amount))
        else:
            moved = half.prox(V, step)
        return moved if half.free is None else np.where(half.free, moved, start)

    @property
    def spread(self) -> Array:
        """``Σ_f w q`` of every row."""
        return np.concatenate(self._map(lambda loss, rows: loss.spread))

    def gap(self, Y: Array) -> Array:
        """The duality gap (25) of every row."""
        assert self._kept is not None
        assert self._mean_dual is not None
        form = self.half.regulariser.form
        return box_gap(self._kept, Y, self._mean_dual, form.upper, self.half.amount * form.l1)

    def _slope(self, loss: SmoothedLoss, E: Array, k: int) -> Array:
        """The gradient of a block; the mean of the duals has weights i + 1."""
        U = loss.dual(E)
        if self.has_gap:
            before, share = self._mean_dual, U.dtype.type(2 / (k + 2))
            self._mean_dual = U if before is None else before + share * (U - before)
        return loss.gradient(E, U)

    def _whole_gradient(self, slope: Array, V: Array) -> Array:
        half = self.half
        if self._rows is not None:
            slope = slope * self._rows
        if half.graph is not None:
            slope = slope + half.graph.gradient(V)
        return slope if half.free is None else slope * half.free

    def _whole(self, values: Array, V: Array) -> Array:
        """Values with penalties, summed over the rows of a problem, and given to each of them."""
        half = self.half
        if self.ties is None:
            penalised = not half.regulariser.form.is_unpenalised
            return values + half.amount * half.regulariser.value(V) if penalised else values
        sums = summed(self.ties, values if half.row_weight is None else values * half.row_weight)
        if half.graph is not None or not half.regulariser.form.is_unpenalised:
            groups = (self.ties[:, None] == number for number in range(len(sums)))
            sums = sums + [half.penalty(np.where(group, V, V.dtype.type(0))) for group in groups]
        total: Array = sums[self.ties]
        return total

    def _loss(self, rows: slice) -> SmoothedLoss:
        X, weight = self.half.load(rows)
        width = self.width[rows] if isinstance(self.width, np.ndarray) else self.width
        return SmoothedLoss(X, weight, self.A, width, self.half.square)

    def _map(self, work: Callable[[SmoothedLoss, slice], Any]) -> list[Any]:
        if self._kept is not None:
            return [work(self._kept, self.blocks[0])]
        assert self.pool is not None
        return self.pool.map(lambda rows: work(self._loss(rows), rows), self.blocks)

    def _within(self, rows: slice) -> slice:
        return slice(rows.start - self.all.start, rows.stop - self.all.start)


@dataclass
class NesterovSmoothing:
    """One call of Algorithm 2 for each half, on a loss that is smoothed less with every round.

    In round t the width is ``λ₀/(t + 1)``. Theorem 2 asks for a precision of at most ``λ/2 Σ w q``,
    which is the error of smoothing; ours is 1/200 of that, which ends lower in the same time. Both
    are relative to the first loss (errata C.4). The remaining error is estimated by the decrease in
    the last half of the iterations; for codes in a box it is known, by the duality gap (25).

    A row, or a half whose rows are coupled, that did not improve stays as it was.

    Parameters
    ----------
    smoothing : float
        λ₀, in units of the first mean residual.
    max_iter : int
        Maximum number of iterations of a call.
    """

    smoothing: float = 2.0
    max_iter: int = 512
    _round: int = field(default=0, init=False)
    _first_loss: float = field(default=0.0, init=False)

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Minimise the smoothed loss to the precision of the round."""
        A, V = np.ascontiguousarray(A), np.ascontiguousarray(V)
        losses = half.evaluate(A, V, pool)
        spread = half.total(spreads(half, A, pool))
        self._round += 1
        if self._round == 1:
            self._first_loss = half.total(losses)
        if not (self._first_loss > 0 and spread > 0):
            return V, losses
        width = self.smoothing * self._first_loss / spread / self._round
        if half.rows_are_alone:
            return self._by_blocks(half, A, V, width, losses, pool)
        one = np.zeros(len(V), dtype=np.int64)
        part = SmoothedPart(half, A, width, half.blocks(), _bound, one, pool)
        moved = self._minimise(part, V, width * spread / 2)
        after = part.losses(moved)
        if half.total(after) + half.penalty(moved) < half.total(losses) + half.penalty(V):
            return moved, after
        return V, losses

    def _by_blocks(
        self, half: Half, A: Array, V: Array, width: float, losses: Array, pool: Pool
    ) -> tuple[Array, Array]:
        V, losses = V.copy(), losses.copy()

        def penalty(V: Array) -> Array:
            return half.amount * half.regulariser.value(V)

        def work(rows: slice) -> None:
            part = SmoothedPart(half, A, width, [rows], _bound)
            hidden = width * _total(part, part.spread) / 2
            moved = self._minimise(part, V[rows], hidden)
            after = part.losses(moved)
            better = after + penalty(moved) < losses[rows] + penalty(V[rows])
            V[rows] = np.where(better[:, None], moved, V[rows])
            losses[rows] = np.where(better, after, losses[rows])

        pool.map(work, half.blocks())
        return V, losses

    def _minimise(self, part: SmoothedPart, start: Array, hidden: float) -> Array:
        """Iterate until what remains is a small share of ``hidden``, the error of smoothing."""
        iterates, check, last = NesterovIterates(part, start), 4, np.inf
        for k in range(self.max_iter):
            slope = part.gradient(iterates.V, k)
            iterates.add(slope, k)
            iterates.advance(iterates.descent(slope), k)
            if k + 1 < check:
                continue
            if part.has_gap:
                if _total(part, part.gap(iterates.Y)) <= hidden * (1 + _PRECISION):
                    break
            else:
                now = _total(part, part.values(iterates.Y))
                if last - now <= _PRECISION * hidden:
                    break
                last = now
            check *= 2
        return iterates.Y


def _bound(loss: SmoothedLoss) -> Array:
    return loss.lipschitz


def _total(part: SmoothedPart, values: Array) -> float:
    """Values of all rows together, by their weight."""
    if part.ties is not None:
        return float(values[0])
    weight = part.half.row_weight
    return float(values.sum() if weight is None else weight[part.all] @ values)


def summed(ties: NDArray[np.int64], values: Array) -> Array:
    """Sums of the values of rows with the same number."""
    return np.bincount(ties, values).astype(np.float64)


def has_gap(half: Half) -> bool:
    """Whether rows are codes in a box, of which the dual is known in closed form."""
    form = half.regulariser.form
    bounded = form.is_box and form.lower == 0 and form.upper < np.inf
    return bounded and form.elastic and form.l2 == 0 and not half.square and half.rows_are_alone


def spreads(half: Half, A: Array, pool: Pool) -> Array:
    """``Σ_f w q`` of every row, q the lengths of the columns of A."""
    q = np.sqrt(np.einsum("kf,kf->f", A, A))
    return np.concatenate(
        half.for_rows(lambda rows, X, weight: weighted_lengths(q, weight, len(X)), pool)
    )
