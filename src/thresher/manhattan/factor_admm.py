"""ADMM on the residuals and both factors together: a fast start for alternation."""

from dataclasses import dataclass, field

import numpy as np

from thresher.engine.executor import Pool
from thresher.engine.units import OVERFLOW
from thresher.kernels.block_admm import split_residual
from thresher.kernels.bundles import read_only
from thresher.kernels.quadratic import AtomSet, sweeps
from thresher.linalg import Array, has_gram
from thresher.manhattan.half import Half

# Heuristic; their results are measured in docs/lab/manhattan.md.
_SQUARED_STEPS = 5  # iterations for the squared loss, as a start
_THRESHOLD = 0.7  # the first threshold t, in units of the mean residual
_SWEEPS = 5  # of block coordinate descent for each factor in an iteration
_REDUCTION = 0.5  # factor of the threshold when iterations slow down
_MAX_REDUCTIONS = 2


@dataclass
class FactorADMM:
    """ADMM for ``min ‖E‖₁`` subject to ``X = C D + E``, with a scaled dual U for each entry.

    An iteration is

        E ← soft(X − C D + U, t),    U ← X − C D + U − E,

    then sweeps of block coordinate descent for ``½‖X − E + U − C D‖²`` over the codes, and over the
    dictionary. It takes a few matrix products and one pass over the data. It converges in a small
    share of the time of sweeps of medians, to a lower objective. The first iterations are those of
    the squared loss (t = ∞).

    Sample weights multiply the squares, entry weights the breakpoints. The dual is a dense matrix
    of the size of the data, so large sparse data start from a subset. The objective may rise
    between iterations; `run` returns the best factors.
    """

    codes: Half
    dictionary: Half
    D: Array
    C: Array
    pool: Pool
    loss: float = field(default=np.inf, init=False)

    def __post_init__(self) -> None:
        rows = self.codes.blocks()
        F = self.D.shape[1]
        self._U = [np.zeros((r.stop - r.start, F), dtype=self.D.dtype) for r in rows]
        self._Ct = [np.ascontiguousarray(self.C[r].T) for r in rows]
        self.D = self.D.copy()
        self._free = self.dictionary.atoms(len(self.D))
        for _ in range(_SQUARED_STEPS):
            self._iterate(np.inf, 0.0)
        entries = self.codes.total(np.ones(len(self.C))) * self.D.shape[1]
        self._reductions = 0
        self._threshold = _THRESHOLD * self.loss / max(entries, 1.0)

    @staticmethod
    def applies(codes: Half, dictionary: Half) -> bool:
        """Whether block coordinate descent supports the sets and penalties of both factors."""
        return codes.graph is None and all(map(_is_supported, (codes, dictionary)))

    def reduce_threshold(self) -> bool:
        """Halve the threshold; return False if it has been halved often enough."""
        self._threshold *= _REDUCTION
        for U in self._U:
            U *= U.dtype.type(_REDUCTION)
        self._reductions += 1
        return self._reductions <= _MAX_REDUCTIONS

    def run(self, iterations: int) -> tuple[Array, Array, float]:
        """Iterate; return the best codes and dictionary so far, and their loss."""
        best, lowest = (_joined(self._Ct), self.D.copy(), np.inf), np.inf
        for _ in range(iterations):
            C, D = _joined(self._Ct), self.D.copy()
            self._iterate(self._threshold, 1.0)  # computes the loss of C and D
            objective = self.loss + self.codes.penalty(C) + self.dictionary.penalty(D.T)
            if objective < lowest:
                best, lowest = (C, D, self.loss), objective
        return best

    def _iterate(self, threshold: float, dual_step: float) -> None:
        number = self.D.dtype.type
        if not has_gram(self.D):
            raise ValueError(OVERFLOW)
        gram = self.D @ self.D.T
        limit = number(min(threshold, float(np.finfo(number).max) / 4))
        form = self.codes.regulariser.form
        upper = form.upper
        penalty = 0.0 if threshold == np.inf else threshold

        def work(item: tuple[int, slice]) -> tuple[Array, Array, Array]:
            i, rows = item
            X, weight = self.codes.load(rows)
            no_weight = np.empty((0, 0), dtype=X.dtype)
            Ct, U = self._Ct[i], self._U[i]
            Y = Ct.T @ self.D
            w = no_weight if weight is None else weight
            losses = np.empty(len(X))
            split_residual(
                read_only(X),
                Y,
                read_only(w),
                limit,
                number(self.codes.square),
                number(dual_step),
                U,
                losses,
            )
            B = np.ascontiguousarray(self.D @ Y.T)
            orthant = AtomSet.of(Ct.dtype, penalty * form.l1, penalty * form.l2)
            sweeps(gram, B, Ct, orthant, number(0), _SWEEPS)
            if upper < np.inf:
                np.minimum(Ct, number(upper), out=Ct)
            given = self.codes.row_weight
            weighted = Ct if given is None else Ct * given[rows].astype(Ct.dtype)
            return losses, weighted @ Ct.T, weighted @ Y

        parts = self.pool.map(work, list(enumerate(self.codes.blocks())))
        A = np.sum([part[1] for part in parts], axis=0)
        B = np.sum([part[2] for part in parts], axis=0)
        self.loss = self.codes.total(np.concatenate([part[0] for part in parts]))
        self._move_dictionary(A, B, penalty)

    def _move_dictionary(self, A: Array, B: Array, threshold: float) -> None:
        number, free = self.D.dtype.type, self._free
        form = self.dictionary.regulariser.form
        D = np.ascontiguousarray(self.D[free])
        fixed = np.setdiff1d(np.arange(len(self.D)), free)
        target = B[free] - A[np.ix_(free, fixed)] @ self.D[fixed]
        factor = threshold * self.dictionary.penalty_factor
        A, target = np.ascontiguousarray(A[np.ix_(free, free)]), np.ascontiguousarray(target)
        l1, l2 = factor * form.l1, factor * form.l2
        ball = AtomSet.of(D.dtype, l1, l2, form.length_radius)
        sweeps(A, target, D, ball, number(0), _SWEEPS)
        upper = form.upper
        self.D[free] = np.minimum(D, number(upper)) if upper < np.inf else D


def _joined(parts: list[Array]) -> Array:
    return np.ascontiguousarray(np.concatenate(parts, axis=1).T)


def _is_supported(half: Half) -> bool:
    form = half.regulariser.form
    box = form.is_box and form.lower == 0
    ball = form.is_ball and form.length_radius < np.inf and half.transposed
    return form.elastic and (box or ball)
