"""Nesterov's smoothing method for one factor: paper C, section 3 and Algorithm 2."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.engine.executor import Pool
from thresher.linalg import Array
from thresher.manhattan.half import Half

_PRECISION = 0.005  # of the bound of Theorem 2 (errata C.4); a larger share ends at a higher loss


@dataclass(frozen=True)
class SmoothedLoss:
    """The smoothed loss of some rows (15), as a function of their codes V.

        f_λ(v) = Σ_f w_f max over |u| ≤ 1 of u e_f − λ q_f u²/2,     e = vA − x,  q_f = ‖A[:, f]‖₂

    The maximiser is ``U = clip(e/(λq), 1)`` (14), the gradient ``(wU)Aᵀ``. Theorem 1:
    ``f_λ ≤ f ≤ f_λ + λ/2 Σ w q``. An entry with ``q = 0`` has no gradient; its U is the sign of e,
    or the duality gap would keep ``|x|`` (errata C.1).

    Squares (58) are smooth as they are. ``width`` is λ: one, or one for each row, shape (n, 1).
    """

    X: Array
    weight: Array | None
    A: Array
    width: float | Array
    square: float = 0.0

    @cached_property
    def q(self) -> Array:
        """Lengths of the columns of A."""
        lengths: Array = np.sqrt(np.einsum("kf,kf->f", self.A, self.A))
        return lengths

    @cached_property
    def spread(self) -> Array:
        """``Σ_f w q`` of every row: the D of the paper."""
        return weighted_lengths(self.q, self.weight, len(self.X))

    @cached_property
    def lipschitz(self) -> Array:
        """L of the gradient of every row, shape (n, 1).

        The smaller of ``‖A diag(w/q) Aᵀ‖₂/λ`` with the largest weights of every column (errata
        C.4), and of ``Σ w q/λ``, the bound of the paper.
        """
        heaviest = self.largest_weights
        L = np.minimum(self.norm(heaviest / np.where(self.q > 0, self.q, 1)), self.spread)
        L = L[:, None] / self.width
        if self.square:
            L = L + self.square * self.norm(heaviest)
        bound: Array = np.where(L > 0, L, 1).astype(self.A.dtype)
        return bound

    @cached_property
    def largest_weights(self) -> Array:
        """The largest weight of every column."""
        return np.ones(len(self.q)) if self.weight is None else self.weight.max(axis=0)

    def norm(self, weight: Array) -> float:
        """``‖A diag(weight) Aᵀ‖₂``."""
        return float(np.linalg.eigvalsh((self.A * weight.astype(self.A.dtype)) @ self.A.T)[-1])

    @property
    def _reach(self) -> Array:
        """``λq``: the smoothed loss is quadratic up to that residual."""
        return np.asarray(self.width, dtype=self.A.dtype) * self.q

    def residual(self, V: Array) -> Array:
        """``e = vA − x``."""
        E: Array = V @ self.A - self.X
        return E

    def dual(self, E: Array) -> Array:
        """``wU``, between −w and w."""
        reach = self._reach
        U = E / np.where(reach > 0, reach, 1)
        np.clip(U, -1, 1, out=U)
        flat = reach <= 0
        if flat.any():
            U = np.where(flat, np.sign(E), U)
        return U if self.weight is None else U * self.weight

    def gradient(self, E: Array, U: Array) -> Array:
        """The gradient in the codes, from the residual and its dual ``wU``."""
        slope = U
        if self.square:
            squares = E if self.weight is None else E * self.weight
            slope = slope + self.A.dtype.type(self.square) * squares
        product: Array = slope @ self.A.T
        return product

    def values(self, E: Array) -> Array:
        """``f_λ`` of every row."""
        reach = self._reach
        size = np.abs(E)
        inside = size * size / np.where(reach > 0, 2 * reach, 1)
        values = np.where(size < reach, inside, size - reach / 2)
        if self.square:
            values += self.A.dtype.type(self.square / 2) * E * E
        if self.weight is not None:
            values *= self.weight
        total: Array = values.sum(axis=1, dtype=np.float64)
        return total


def weighted_lengths(q: Array, weight: Array | None, n_rows: int) -> Array:
    """``Σ_f w q`` of every row."""
    if weight is None:
        return np.full(n_rows, q.sum(dtype=np.float64))
    total: Array = (weight @ q).astype(np.float64)
    return total


def box_gap(loss: SmoothedLoss, V: Array, mean_dual: Array, upper: float, l1: float = 0.0) -> Array:
    """The duality gap (25) of every row for codes in [0, upper]: a bound on its suboptimality.

    With any dual ``|μ| ≤ w`` the optimum is at least ``φ(μ) = −x·μ + upper·Σ_k min(0, μA_k + l1)``.
    """
    E = np.abs(loss.residual(V))
    above = (E if loss.weight is None else E * loss.weight).sum(axis=1) + l1 * V.sum(axis=1)
    slopes = mean_dual @ loss.A.T + l1
    below = upper * np.minimum(slopes, 0).sum(axis=1) - (loss.X * mean_dual).sum(axis=1)
    gap: Array = above - below
    return gap


@dataclass
class NesterovIterates:
    """The sequences (19)–(21) of paper C.

    From V₀::

        Y_k = prox(V_k − ∇_k/L),   Z_k = prox(centre·V₀ − Σ_{i≤k} (i+1)/2 ∇_i/L),
        V_{k+1} = 2/(k+3) Z_k + (k+1)/(k+3) Y_k,

    with the proximal map of set and penalty, (47)–(48) and (56)–(57).

    Parameters
    ----------
    part : SmoothedRows
        The rows, with their Lipschitz constants L.
    V : array
        V₀, then V_k, where the next gradient is taken.
    centre : float
        1 keeps the start in Z; 0 drops it, as the paper has it (errata C.3).
    """

    part: "SmoothedRows"
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
        """Set Y_k, and mix it with Z_k, in the rows that are ``running``."""
        number, free = self.V.dtype.type, self.part.half.free
        weight = number((k + 1) * (k + 2) / 4) * self.steps
        Z = self.part.prox(self._origin - self.past * self.steps, weight, self.start)
        self.Y = np.where(running, Y, self.Y)
        mixed = number(2 / (k + 3)) * Z + number((k + 1) / (k + 3)) * self.Y
        moves = running if free is None else running & free
        self.V = np.where(moves, mixed, self.V)


class SmoothedRows:
    """Some rows of a half under the smoothed loss: gradient, values, proximal map, duality gap.

    Parameters
    ----------
    half : Half
    A : array of shape (K, F)
        The fixed factor.
    width : float or array of shape (n, 1)
        λ of the smoothed loss, for all rows of the half or for each.
    blocks : list of slice
        Consecutive row blocks; a single one is loaded once and kept.
    bound : callable
        The Lipschitz constants of the gradient of a `SmoothedLoss`, shape (n, 1).
    problems : array of int of shape (n,), optional
        Rows with the same number are one problem, whose values are added; None: every row is one
        by itself.
    pool : Pool, optional
        Evaluates several blocks.
    """

    def __init__(
        self,
        half: Half,
        A: Array,
        width: float | Array,
        blocks: list[slice],
        bound: Callable[[SmoothedLoss], Array],
        problems: NDArray[np.int64] | None = None,
        pool: Pool | None = None,
    ) -> None:
        self.half, self.A, self.width, self.problems = half, A, width, problems
        self.rows_range = slice(blocks[0].start, blocks[-1].stop)
        self.blocks, self.pool = blocks, pool
        self.has_gap = has_gap(half)
        self._kept = None if pool else self._loss(blocks[0])
        self._mean_dual: Array | None = None
        coupled = not half.rows_are_independent
        self._row_weight: Array | None = None
        if coupled and half.row_weight is not None:
            self._row_weight = half.row_weight.astype(A.dtype)[:, None]
        L = np.concatenate(self._map(lambda loss, rows: bound(loss)))
        if coupled:
            L = (L if self._row_weight is None else L * self._row_weight).max(keepdims=True)
        if half.graph is not None:
            L = L + A.dtype.type(half.graph.curvature)
        self.lipschitz: Array = L

    def evaluate(self, V: Array, k: int) -> tuple[Array, Array, Array]:
        """Gradient, smoothed value and value in iteration k; values of whole problems."""

        def work(loss: SmoothedLoss, E: Array) -> tuple[Array, Array, Array]:
            return self._slope(loss, E, k), loss.values(E), self.half.losses(E, loss.weight)

        slope, smooth, true = map(np.concatenate, zip(*self._of_residuals(work, V), strict=True))
        return self._whole_gradient(slope, V), self._whole(smooth, V), self._whole(true, V)

    def gradient(self, V: Array, k: int) -> Array:
        """Gradient of the smoothed loss and the graph penalty in iteration k."""
        slopes = self._of_residuals(lambda loss, E: self._slope(loss, E, k), V)
        return self._whole_gradient(np.concatenate(slopes), V)

    def values(self, V: Array) -> Array:
        """Smoothed loss, penalty and graph."""
        values = self._of_residuals(lambda loss, E: loss.values(E), V)
        return self._whole(np.concatenate(values), V)

    def losses(self, V: Array) -> Array:
        """The loss of every row, without smoothing."""
        return np.concatenate(
            self._of_residuals(lambda loss, E: self.half.losses(E, loss.weight), V)
        )

    def prox(self, V: Array, step: Array, start: Array) -> Array:
        """The proximal map of set and penalty; atoms that are not free stay at ``start``."""
        half = self.half
        if half.rows_are_independent:
            moved = half.regulariser.prox(V, step * step.dtype.type(half.penalty_factor))
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
        return box_gap(
            self._kept, Y, self._mean_dual, form.upper, self.half.penalty_factor * form.l1
        )

    def _slope(self, loss: SmoothedLoss, E: Array, k: int) -> Array:
        """The gradient of a block; the mean of the duals has weights i + 1."""
        U = loss.dual(E)
        if self.has_gap:
            before, share = self._mean_dual, U.dtype.type(2 / (k + 2))
            self._mean_dual = U if before is None else before + share * (U - before)
        return loss.gradient(E, U)

    def _whole_gradient(self, slope: Array, V: Array) -> Array:
        half = self.half
        if self._row_weight is not None:
            slope = slope * self._row_weight
        if half.graph is not None:
            slope = slope + half.graph.gradient(V)
        return slope if half.free is None else slope * half.free

    def _whole(self, values: Array, V: Array) -> Array:
        """Values with penalties, summed over the rows of a problem, and given to each of them."""
        half = self.half
        if self.problems is None:
            penalised = not half.regulariser.form.is_unpenalised
            return values + half.penalty_factor * half.regulariser.value(V) if penalised else values
        sums = summed(
            self.problems, values if half.row_weight is None else values * half.row_weight
        )
        if half.graph is not None or not half.regulariser.form.is_unpenalised:
            groups = (self.problems[:, None] == number for number in range(len(sums)))
            sums = sums + [half.penalty(np.where(group, V, V.dtype.type(0))) for group in groups]
        total: Array = sums[self.problems]
        return total

    def _of_residuals(self, work: Callable[[SmoothedLoss, Array], Any], V: Array) -> list[Any]:
        """Apply a function of the loss and the residual at V to every block."""
        start = self.rows_range.start

        def of_block(loss: SmoothedLoss, rows: slice) -> Any:
            return work(loss, loss.residual(V[rows.start - start : rows.stop - start]))

        return self._map(of_block)

    def _loss(self, rows: slice) -> SmoothedLoss:
        X, weight = self.half.load(rows)
        width = self.width[rows] if isinstance(self.width, np.ndarray) else self.width
        return SmoothedLoss(X, weight, self.A, width, self.half.square)

    def _map(self, work: Callable[[SmoothedLoss, slice], Any]) -> list[Any]:
        if self._kept is not None:
            return [work(self._kept, self.blocks[0])]
        assert self.pool is not None
        return self.pool.map(lambda rows: work(self._loss(rows), rows), self.blocks)


@dataclass
class NesterovSmoothing:
    """One call of Algorithm 2 for each half, with less smoothing in each iteration.

    In iteration t of the alternation the width is ``λ₀/(t + 1)``. Theorem 2 requires a precision of
    at most ``λ/2 Σ w q``, the error of smoothing; here it is 1/200 of that, which reaches a lower
    objective in the same time. Both are relative to the first loss (errata C.4). The suboptimality
    is estimated by the decrease in the last half of the iterations; for codes in a box, it is
    bounded by the duality gap (25). Its stop and its bound L differ from those of ``ogm``.

    A row, or a half whose rows are coupled, keeps its value if the objective does not fall.

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
        """Minimise the smoothed loss to its precision."""
        A, V = np.ascontiguousarray(A), np.ascontiguousarray(V)
        losses = half.evaluate(A, V, pool)
        spread = half.total(spreads(half, A, pool))
        self._round += 1
        if self._round == 1:
            self._first_loss = half.total(losses)
        if not (self._first_loss > 0 and spread > 0):
            return V, losses
        width = self.smoothing * self._first_loss / spread / self._round
        if half.rows_are_independent:
            return self._by_blocks(half, A, V, width, losses, pool)
        one = np.zeros(len(V), dtype=np.int64)
        part = SmoothedRows(half, A, width, half.blocks(), _bound, one, pool)
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
            return half.penalty_factor * half.regulariser.value(V)

        def work(rows: slice) -> None:
            part = SmoothedRows(half, A, width, [rows], _bound)
            error = width * _total(part, part.spread) / 2
            moved = self._minimise(part, V[rows], error)
            after = part.losses(moved)
            better = after + penalty(moved) < losses[rows] + penalty(V[rows])
            V[rows] = np.where(better[:, None], moved, V[rows])
            losses[rows] = np.where(better, after, losses[rows])

        pool.map(work, half.blocks())
        return V, losses

    def _minimise(self, part: SmoothedRows, start: Array, error: float) -> Array:
        """Iterate until the suboptimality is a small share of ``error``, that of smoothing."""
        iterates, check, last = NesterovIterates(part, start), 4, np.inf
        for k in range(self.max_iter):
            slope = part.gradient(iterates.V, k)
            iterates.add(slope, k)
            iterates.advance(iterates.descent(slope), k)
            if k + 1 < check:
                continue
            if part.has_gap:
                if _total(part, part.gap(iterates.Y)) <= error * (1 + _PRECISION):
                    break
            else:
                now = _total(part, part.values(iterates.Y))
                if last - now <= _PRECISION * error:
                    break
                last = now
            check *= 2
        return iterates.Y


def _bound(loss: SmoothedLoss) -> Array:
    return loss.lipschitz


def _total(part: SmoothedRows, values: Array) -> float:
    """Values of all rows together, by their weight."""
    if part.problems is not None:
        return float(values[0])
    weight = part.half.row_weight
    return float(values.sum() if weight is None else weight[part.rows_range] @ values)


def summed(problems: NDArray[np.int64], values: Array) -> Array:
    """Sums of the values of rows with the same number."""
    return np.bincount(problems, values).astype(np.float64)


def has_gap(half: Half) -> bool:
    """Whether rows are codes in a box, of which the dual is known in closed form."""
    form = half.regulariser.form
    bounded = form.is_box and form.lower == 0 and form.upper < np.inf
    return (
        bounded and form.elastic and form.l2 == 0 and not half.square and half.rows_are_independent
    )


def spreads(half: Half, A: Array, pool: Pool) -> Array:
    """``Σ_f w q`` of every row, q the lengths of the columns of A."""
    q = np.sqrt(np.einsum("kf,kf->f", A, A))
    return np.concatenate(
        half.for_rows(lambda rows, X, weight: weighted_lengths(q, weight, len(X)), pool)
    )
