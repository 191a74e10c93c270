"""Nesterov's smoothing method for `auto`: Algorithms 2 and 3 of paper C, in finer steps."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from thresher.engine.executor import Pool
from thresher.linalg import Array
from thresher.manhattan.half import Half
from thresher.manhattan.smoothing import SmoothedLoss, box_gap, weighted_lengths

_SHARE = 0.005  # of the bound of Theorem 2: the inner precision (errata C.4)


@dataclass
class NesterovSmoothing:
    """One call of Algorithm 2 for each half, on a loss that gets sharper with every round.

    Given V₀, the sequences (19)–(21) are::

        Y_k = prox(V_k − ∇_k/L),   Z_k = prox(V₀ − Σ_{i≤k} (i+1)/2 ∇_i/L),
        V_{k+1} = 2/(k+3) Z_k + (k+1)/(k+3) Y_k,

    with ``prox`` that of set and penalty, (47)–(48) and (56)–(57). The paper centres Z at zero,
    which throws the start away (errata C.3), and sums the wrong gradients (errata C.2). In round t
    the width is ``λ₀/(t + 1)``. Theorem 2 asks for a precision of at most ``λ/2 Σ w q``, which is
    what rounding off may hide; ours is 1/200 of that, which gets lower in the same time. Both are
    relative to the first loss (errata C.4). What is left is estimated by what the last half of the
    iterations brought; for codes in a box it is known, by the duality gap (25).

    A row, or a half whose rows are coupled, that got no better stays as it was.

    Parameters
    ----------
    smoothing : float
        λ₀, so that kinks are rounded off at that multiple of the first mean residual.
    monotone : bool
        Take the best of ``Y_{k−1}``, ``V_k`` and ``Y_k`` for Y_k: steadier, and slower.
    max_iter : int
        Bound on the iterations of a call.
    """

    smoothing: float = 2.0
    monotone: bool = False
    max_iter: int = 512
    _round: int = field(default=0, init=False)
    _first_loss: float = field(default=0.0, init=False)

    def improve(self, half: Half, A: Array, V: Array, pool: Pool) -> tuple[Array, Array]:
        """Minimise the smoothed loss to the precision of the round."""
        A = np.ascontiguousarray(A)
        V = np.ascontiguousarray(V)
        q = np.sqrt(np.einsum("kf,kf->f", A, A))

        def look(rows: slice, X: Array, weight: Array | None) -> tuple[Array, Array]:
            return half.losses(X - V[rows] @ A, weight), weighted_lengths(q, weight, len(X))

        losses, spreads = (
            np.concatenate(parts) for parts in zip(*half.for_rows(look, pool), strict=True)
        )
        spread = half.total(spreads)
        self._round += 1
        if self._round == 1:
            self._first_loss = half.total(losses)
        if not (self._first_loss > 0 and spread > 0):
            return V, losses
        width = self.smoothing * self._first_loss / spread / self._round
        if half.rows_are_alone:
            return self._by_blocks(half, A, V, width, losses, pool)
        return self._together(half, A, V, width, _SHARE * width * spread / 2, losses, pool)

    def _by_blocks(
        self, half: Half, A: Array, V: Array, width: float, losses: Array, pool: Pool
    ) -> tuple[Array, Array]:
        V, losses = V.copy(), losses.copy()

        def work(rows: slice, X: Array, weight: Array | None) -> None:
            row_weight = None if half.row_weight is None else half.row_weight[rows]
            piece = _Block(half, SmoothedLoss(X, weight, A, width, half.square), row_weight)
            hidden = width * piece.total(piece.loss.spread) / 2
            moved = self._minimise(piece, V[rows], _SHARE * hidden)
            after = half.losses(piece.loss.residual(moved), weight)
            now, before = after + piece.penalty(moved), losses[rows] + piece.penalty(V[rows])
            better = now < before
            V[rows] = np.where(better[:, None], moved, V[rows])
            losses[rows] = np.where(better, after, losses[rows])

        half.for_rows(work, pool)
        return V, losses

    def _together(
        self,
        half: Half,
        A: Array,
        V: Array,
        width: float,
        precision: float,
        losses: Array,
        pool: Pool,
    ) -> tuple[Array, Array]:
        piece = _Coupled(half, A, width, pool)
        moved = self._minimise(piece, V, precision)
        after = piece.true_losses(moved)
        if half.total(after) + half.penalty(moved) < half.total(losses) + half.penalty(V):
            return moved, after
        return V, losses

    def _minimise(self, piece: "_Block | _Coupled", start: Array, precision: float) -> Array:
        L, V = piece.lipschitz, start
        number = start.dtype.type
        past = np.zeros_like(start)
        best, best_value, last = start, piece.values(start), np.inf
        look, Y = 4, start
        for k in range(self.max_iter):
            slope = piece.gradient(V, k)
            past += number((k + 1) / 2) * slope
            Y = piece.prox(V - slope / L, 1 / L, start)
            if self.monotone:
                for candidate in (V, Y):
                    value = piece.values(candidate)
                    better = value < best_value
                    best = np.where(better[:, None], candidate, best)
                    best_value = np.where(better, value, best_value)
                Y = best
            Z = piece.prox(start - past / L, number((k + 1) * (k + 2) / 4) / L, start)
            V = number(2 / (k + 3)) * Z + number((k + 1) / (k + 3)) * Y
            if k + 1 == look:
                left = piece.gap(Y)
                now = piece.total(piece.values(Y))
                if left is not None and left <= precision / _SHARE * (1 + _SHARE):
                    break  # what rounding off may hide, and the precision
                if left is None and last - now <= precision:
                    break
                look, last = 2 * look, now
        return Y


@dataclass
class _Block:
    """Rows that stand alone: every one has its own Lipschitz constant and its own best point."""

    half: Half
    loss: SmoothedLoss
    row_weight: Array | None = None
    mean_dual: Array | None = None

    def __post_init__(self) -> None:
        form = self.half.regulariser.form
        bounded = form.is_box and form.lower == 0 and form.upper < np.inf
        linear = form.elastic and form.l2 == 0
        self._has_gap = bounded and linear and not self.half.square

    @property
    def lipschitz(self) -> Array:
        """One for every row."""
        return self.loss.lipschitz

    def gradient(self, V: Array, k: int) -> Array:
        """Of the smoothed loss; the dual is averaged with weights i + 1 on the way."""
        E = self.loss.residual(V)
        if self._has_gap:
            U = self.loss.dual(E)
            share = U.dtype.type(2 / (k + 2))
            self.mean_dual = (
                U if self.mean_dual is None else self.mean_dual + share * (U - self.mean_dual)
            )
            slope: Array = U @ self.loss.A.T
        else:
            slope = self.loss.gradient(E)
        return slope if self.half.free is None else slope * self.half.free

    def total(self, values: Array) -> float:
        """Sum over rows, by their weight."""
        return float(values.sum() if self.row_weight is None else self.row_weight @ values)

    def penalty(self, V: Array) -> Array:
        """Of every row."""
        return self.half.amount * self.half.regulariser.value(V)

    def values(self, V: Array) -> Array:
        """Smoothed loss and penalty of every row."""
        return self.loss.values(self.loss.residual(V)) + self.penalty(V)

    def prox(self, V: Array, step: Array, start: Array) -> Array:
        """Of set and penalty; atoms that are not free stay."""
        moved = self.half.regulariser.prox(V, step * self.half.amount)
        return _kept(moved, start, self.half.free)

    def gap(self, V: Array) -> float | None:
        """The duality gap (25), where it is known."""
        if not self._has_gap or self.mean_dual is None:
            return None
        form = self.half.regulariser.form
        l1 = self.half.amount * form.l1
        return self.total(box_gap(self.loss, V, self.mean_dual, form.upper, l1))


@dataclass
class _Coupled:
    """Rows that a graph, or a set or penalty across rows, ties together."""

    half: Half
    A: Array
    width: float
    pool: Pool

    def _pieces(self, V: Array, what: str) -> list[Array]:
        half = self.half

        def work(rows: slice, X: Array, weight: Array | None) -> Array:
            loss = SmoothedLoss(X, weight, self.A, self.width, half.square)
            E = loss.residual(V[rows])
            if what == "true":
                return half.losses(E, weight)
            result: Array = (
                loss.lipschitz[:, 0]
                if what == "lipschitz"
                else (loss.gradient(E) if what == "gradient" else loss.values(E))
            )
            return result

        return half.for_rows(work, self.pool)

    @cached_property
    def _rows(self) -> Array:
        given = self.half.row_weight
        n = self.half.samples.shape[0]
        return (
            np.ones((n, 1), self.A.dtype) if given is None else given.astype(self.A.dtype)[:, None]
        )

    @cached_property
    def lipschitz(self) -> Array:
        """One for all rows, shape (1, 1)."""
        nothing = np.zeros((self.half.samples.shape[0], len(self.A)), self.A.dtype)
        each = np.concatenate(self._pieces(nothing, "lipschitz"))
        L = float((each * self._rows[:, 0]).max())
        if self.half.graph is not None:
            L += self.half.graph.curvature
        return np.full((1, 1), L, dtype=self.A.dtype)

    def gradient(self, V: Array, k: int) -> Array:
        """Of the smoothed loss and the graph."""
        slope = np.concatenate(self._pieces(V, "gradient")) * self._rows
        if self.half.graph is not None:
            slope = slope + self.half.graph.gradient(V)
        return slope if self.half.free is None else slope * self.half.free

    def total(self, values: Array) -> float:
        """The one number that `values` gives."""
        return float(values[0])

    def true_losses(self, V: Array) -> Array:
        """Of every row, with its kinks."""
        return np.concatenate(self._pieces(V, "true"))

    def values(self, V: Array) -> Array:
        """Smoothed loss, penalty and graph of all rows together, shape (1,)."""
        smoothed = self.half.total(np.concatenate(self._pieces(V, "values")))
        return np.array([smoothed + self.half.penalty(V)])

    def prox(self, V: Array, step: Array, start: Array) -> Array:
        """Of set and penalty; atoms that are not free stay."""
        return _kept(self.half.prox(V, step), start, self.half.free)

    def gap(self, V: Array) -> float | None:
        """Unknown."""
        return None


def _kept(moved: Array, start: Array, free: NDArray[np.bool_] | None) -> Array:
    return moved if free is None else np.where(free, moved, start)
