"""Paper C, section 3: the smoothed Manhattan distance, and Nesterov's method for one factor."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.engine import Pool
from thresher.linalg import Array
from thresher.manhattan import Half


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
    def lipschitz(self) -> Array:
        """L of the gradient of every row, ``Σ w q/λ + square·‖A diag(w) Aᵀ‖₂``, shape (n, 1).

        The second term has the largest weights of every column. L is zero if A is.
        """
        L = weighted_lengths(self.q, self.weight, len(self.X))[:, None] / self.width
        if self.square:
            w = np.ones(len(self.q)) if self.weight is None else self.weight.max(axis=0)
            gram = (self.A * w.astype(self.A.dtype)) @ self.A.T
            L = L + self.square * float(np.linalg.eigvalsh(gram)[-1])
        bound: Array = L.astype(self.A.dtype)
        return bound

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
    """``Σ_f w q`` of every row: the D of the paper."""
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


class Stop(NamedTuple):
    """λ (n, 1) and ε (n) of the rows of a half, and which rows end together."""

    width: Array
    epsilon: Array
    problems: NDArray[np.int64] | None
    """Rows with the same number are one problem; None: every row is one by itself."""


class SmoothedRows:
    """Some rows of a half under the smoothed loss: gradient, values, proximal map, duality gap.

    Parameters
    ----------
    half : Half
    A : array of shape (K, F)
        The fixed factor.
    stop : Stop
    blocks : list of slice
        Consecutive row blocks; without a pool, a single one that is loaded once and kept.
    pool : Pool, optional
        Evaluates several blocks.
    """

    def __init__(
        self, half: Half, A: Array, stop: Stop, blocks: list[slice], pool: Pool | None = None
    ) -> None:
        self.half, self.A, self.width, self.problems = half, A, stop.width, stop.problems
        self.rows = slice(blocks[0].start, blocks[-1].stop)
        self.blocks, self.pool = blocks, pool
        self.has_gap = has_gap(half)
        self._kept = None if pool else self._loss(blocks[0])
        self._mean_dual: Array | None = None
        coupled = not half.rows_are_independent
        self._row_weight: Array | None = None
        if coupled and half.row_weight is not None:
            self._row_weight = half.row_weight.astype(A.dtype)[:, None]
        L = np.concatenate(self._map(lambda loss, rows: loss.lipschitz))
        if coupled:
            L = (L if self._row_weight is None else L * self._row_weight).max(keepdims=True)
        if half.graph is not None:
            L = L + A.dtype.type(half.graph.curvature)
        self.lipschitz: Array = L

    def evaluate(self, V: Array, k: int) -> tuple[Array, Array, Array]:
        """Gradient, smoothed value and value in iteration k; values of whole problems."""

        def work(loss: SmoothedLoss, rows: slice) -> tuple[Array, Array, Array]:
            E = loss.residual(V[self._within(rows)])
            U = loss.dual(E)
            if self.has_gap:  # the mean of the duals, with weights i + 1
                before, share = self._mean_dual, U.dtype.type(2 / (k + 2))
                self._mean_dual = U if before is None else before + share * (U - before)
            return loss.gradient(E, U), loss.values(E), self.half.losses(E, loss.weight)

        slope, smooth, true = map(np.concatenate, zip(*self._map(work), strict=True))
        half = self.half
        if self._row_weight is not None:
            slope = slope * self._row_weight
        if half.graph is not None:
            slope = slope + half.graph.gradient(V)
        slope = slope if half.free is None else slope * half.free
        return slope, self._of_problems(smooth, V), self._of_problems(true, V)

    def values(self, V: Array) -> Array:
        """Smoothed loss, penalty and graph."""

        def work(loss: SmoothedLoss, rows: slice) -> Array:
            return loss.values(loss.residual(V[self._within(rows)]))

        return self._of_problems(np.concatenate(self._map(work)), V)

    def prox(self, V: Array, step: Array, start: Array) -> Array:
        """The proximal map of set and penalty; atoms that are not free stay at ``start``."""
        half = self.half
        if half.rows_are_independent:
            moved = half.regulariser.prox(V, step * step.dtype.type(half.penalty_factor))
        else:
            moved = half.prox(V, step)
        return moved if half.free is None else np.where(half.free, moved, start)

    def gap(self, Y: Array) -> Array:
        """The duality gap (25) of every row."""
        assert self._kept is not None
        assert self._mean_dual is not None
        form = self.half.regulariser.form
        return box_gap(
            self._kept, Y, self._mean_dual, form.upper, self.half.penalty_factor * form.l1
        )

    def _of_problems(self, values: Array, V: Array) -> Array:
        """Values with penalties, summed over the rows of a problem, and given to each of them."""
        half = self.half
        penalised = not half.regulariser.form.is_unpenalised
        if self.problems is None:
            return values + half.penalty_factor * half.regulariser.value(V) if penalised else values
        weighted = values if half.row_weight is None else values * half.row_weight
        sums: Array = np.bincount(self.problems, weighted).astype(np.float64)
        if half.graph is not None or penalised:
            rows = (self.problems[:, None] == number for number in range(len(sums)))
            sums = sums + [half.penalty(np.where(some, V, V.dtype.type(0))) for some in rows]
        total: Array = sums[self.problems]
        return total

    def _loss(self, rows: slice) -> SmoothedLoss:
        X, weight = self.half.load(rows)
        return SmoothedLoss(X, weight, self.A, self.width[rows], self.half.square)

    def _map(self, work: Callable[[SmoothedLoss, slice], Any]) -> list[Any]:
        if self._kept is not None:
            return [work(self._kept, self.blocks[0])]
        assert self.pool is not None
        return self.pool.map(lambda rows: work(self._loss(rows), rows), self.blocks)

    def _within(self, rows: slice) -> slice:
        return slice(rows.start - self.rows.start, rows.stop - self.rows.start)


def has_gap(half: Half) -> bool:
    """Whether rows are codes in a box, of which the dual is known in closed form."""
    form = half.regulariser.form
    bounded = form.is_box and form.lower == 0 and form.upper < np.inf
    return (
        bounded and form.elastic and form.l2 == 0 and not half.square and half.rows_are_independent
    )


@dataclass
class OptimalGradient:
    """One call of Algorithm 2 for each half, with the ``λ_t = λ₀/(t + 1)`` of Algorithm 3.

    From V₀ the sequences (19)–(21) are::

        Y_k = prox(V_k − ∇_k/L),   Z_k = prox(centre·V₀ − Σ_{i≤k} (i+1)/2 ∇_i/L),
        V_{k+1} = 2/(k+3) Z_k + (k+1)/(k+3) Y_k,     L = Σ q/λ,

    with ``prox`` that of set and penalty, (30), (47), (56), and what squares (58) and a graph (33)
    add to L. It ends, with ``V_{k+1}``, where the objective of the whole matrix changes by no more
    than ``ε_t`` from one k to the next (8), ``ε_t`` being the smaller of ε and what Theorem 2
    allows. Groups of rows (40) are problems of their own, and end by themselves.

    Units (errata C.4): λ in ``mean|X|/mean(q)``, ε in the mean ``|x|`` of what ends together.

    Codes in a box end where the duality gap (25) is at most ε. Then ``λ = ε/Σq``, which makes
    the bound (25) least, and the result is ``Y_k``, of which (25) speaks.

    As printed, λ₀ and ε have the unit of the data, (35) takes all gradients at V_k, and in a box
    ``λ = 2ε/Σq``.

    Parameters
    ----------
    lambda_0, epsilon : float
    centre : float
        1 to start from V₀ (errata C.3), 0 as printed.
    monotone : bool
        Take the best of ``Y_{k−1}``, ``V_k`` and ``Y_k`` for Y_k.
    by_row : bool
        End each row by itself, by its smoothed loss (22).
    as_printed : bool
    max_iter : int
        Bound on k; the paper has none.
    safeguard : bool
        Return V₀ where the objective of the half, which is not smoothed, would rise. The paper has
        no such test.
    """

    lambda_0: float = 0.1
    epsilon: float = 0.1
    centre: float = 1.0
    monotone: bool = False
    by_row: bool = False
    as_printed: bool = False
    max_iter: int = 1000
    safeguard: bool = False
    _round: int = field(default=0, init=False)

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Minimise the smoothed loss of the round."""
        A, V = np.ascontiguousarray(A), np.ascontiguousarray(V)
        self._round += 1
        q = np.sqrt(np.einsum("kf,kf->f", A, A))
        spread = np.concatenate(
            half.for_rows(lambda rows, X, weight: weighted_lengths(q, weight, len(X)), pool)
        )
        if not half.total(spread) > 0:
            return V, half.evaluate(A, V, pool)
        moved = self._moved(half, A, V, self._stop(half, spread), pool)
        losses = half.evaluate(A, moved, pool)
        if self.safeguard:
            before = half.evaluate(A, V, pool)
            now, last = half.total(losses) + half.penalty(moved), half.total(before)
            if not now < last + half.penalty(V):
                return V, before
        return moved, losses

    def _moved(self, half: Half, A: Array, V: Array, stop: Stop, pool: Pool) -> Array:
        def minimised(blocks: list[slice], pool: Pool | None = None) -> Array:
            rows = SmoothedRows(half, A, stop, blocks, pool)
            return self._minimise(rows, V[rows.rows], stop.epsilon[rows.rows])

        with np.errstate(over="ignore", invalid="ignore"):  # (35) as printed may diverge
            if stop.problems is None:  # rows end by themselves: one block after the other
                moved = np.concatenate(pool.map(lambda rows: minimised([rows]), half.blocks()))
            else:
                moved = minimised(half.blocks(), pool)
        if not np.isfinite(moved).all():
            raise ValueError(
                "The iterates of ogm diverged, which they can do as printed; leave out as_printed, "
                "or divide the data by a number."
            )
        return moved

    def _stop(self, half: Half, spread: Array) -> Stop:
        """Widths and tolerances of the round; ``spread`` is ``Σ_f w q`` of every row."""
        sizes, counts = half.row_sums
        problems = half.problem_numbers
        alone = half.rows_are_independent and (self.by_row or has_gap(half))
        if half.rows_are_independent and not alone:
            problems = np.zeros_like(problems)
        unit = np.ones(len(sizes))
        if not self.as_printed:
            size, count = sizes, counts
            if not alone:
                weight = np.ones(len(sizes)) if half.row_weight is None else half.row_weight
                size, count = (_sums(problems, weight * each) for each in half.row_sums)
            unit = np.where(size > 0, size / np.where(count > 0, count, 1), 1.0)
        if has_gap(half):
            share = 2.0 if self.as_printed else 1.0
            epsilon = self.epsilon * unit
            width = share * epsilon / np.where(spread > 0, spread, 1.0)
            return Stop(width[:, None], epsilon, None)
        width_t = self.lambda_0 / self._round
        error = half.total(spread) / 2  # of smoothing, in units of λ: Theorem 1
        if self.by_row:
            error /= half.total(np.ones(len(sizes)))
        if not self.as_printed:
            width_t *= half.mean_entry * half.total(counts) / half.total(spread)
            error /= half.mean_entry
        epsilon = min(self.epsilon, error * width_t) * unit
        return Stop(np.full((len(sizes), 1), width_t), epsilon, None if alone else problems)

    def _minimise(self, rows: SmoothedRows, V0: Array, epsilon: Array) -> Array:
        """Algorithm 2, with the numbers of its lines."""
        number, L, free = V0.dtype.type, rows.lipschitz, rows.half.free
        steps = 1 / np.where(L > 0, L, 1)
        V = Y = V0
        past = np.zeros_like(V0)  # Σ (i+1)/2 ∇_i
        running = np.broadcast_to(L[:, 0] > 0, len(V0))
        last: Array | None = None
        for k in range(self.max_iter + 1):
            slope, smooth, true = rows.evaluate(V, k)  # 3, 4
            values = smooth if self.by_row else true
            if last is not None and not rows.has_gap:
                running = running & (np.abs(last - values) > epsilon)  # 8
            if k == self.max_iter or not running.any():
                break
            last = values
            past = past + number((k + 1) / 2) * slope
            total = number((k + 1) * (k + 2) / 4)
            if self.as_printed and rows.half.graph is not None:
                past = total * slope  # (35)
            after = rows.prox(V - slope * steps, steps, V0)  # 5
            if self.monotone:
                after = _best(rows, V, Y, after, smooth, k)
            Z = rows.prox(number(self.centre) * V0 - past * steps, total * steps, V0)  # 6
            moves = running[:, None]
            Y = np.where(moves, after, Y)
            mixed = number(2 / (k + 3)) * Z + number((k + 1) / (k + 3)) * Y  # 7
            V = np.where(moves if free is None else moves & free, mixed, V)
            if rows.has_gap:
                running = running & (rows.gap(Y) > epsilon)  # (25)
        return Y if rows.has_gap else V


def _sums(problems: NDArray[np.int64], values: Array) -> Array:
    """Sums of values over the rows of each problem, given to each of them."""
    return np.bincount(problems, values)[problems].astype(np.float64)


def _best(rows: SmoothedRows, V: Array, Y: Array, after: Array, smooth: Array, k: int) -> Array:
    """The best of ``Y_{k−1}``, ``V_k`` and ``Y_k`` by smoothed value; of several, the first."""
    tried = [(V, smooth), (after, rows.values(after))]
    if k > 0:
        tried.insert(0, (Y, rows.values(Y)))
    best, least = tried[0]
    for point, value in tried[1:]:
        best = np.where((value < least)[:, None], point, best)
        least = np.minimum(value, least)
    return best
