"""A quick way to good factors: ADMM on residuals and factors together."""

from dataclasses import dataclass, field

import numpy as np

from thresher.engine.executor import Pool
from thresher.engine.units import OVERFLOW
from thresher.kernels.block_admm import split_residual
from thresher.kernels.bundles import read_only
from thresher.kernels.quadratic import AtomSet, sweeps
from thresher.linalg import Array, has_gram
from thresher.manhattan.half import Half

# By judgement; what comes of them is measured in docs/lab/manhattan.md.
_LEAST_SQUARES = 5  # iterations for squares, to start from
_WIDTH = 0.7  # the first threshold t, in units of the mean residual
_SWEEPS = 5  # of block coordinate descent for each factor in an iteration
_NARROWER = 0.5  # what the threshold is multiplied by when iterations slow down
_NARROWINGS = 2  # how often


@dataclass
class FactorADMM:
    """``min ‖E‖₁ over X = C D + E``, with a dual for every entry that is kept over all iterations.

    An iteration splits the residual, ``E = soft(X − CD + U, t)``, adds what is left to the scaled
    dual U, and makes one sweep of block coordinate descent for ``½‖X − E + U − CD‖²`` over the
    codes, then over the dictionary. All of it is matrix products and one pass over the data, while
    every breakpoint of the loss takes part: it converges in a small part of the time of sweeps of
    medians, to a lower objective. It starts with a few sweeps for squares.

    Weights of samples weigh the squares, weights of entries the breakpoints. The dual takes a dense
    matrix of the size of the data, so of large sparse data a part is enough. The objective may rise
    in between; whoever uses it keeps the best factors.
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
        for _ in range(_LEAST_SQUARES):
            self._iterate(np.inf, 0.0)
        entries = self.codes.total(np.ones(len(self.C))) * self.D.shape[1]
        self._narrowed = 0
        self._width = _WIDTH * self.loss / max(entries, 1.0)

    @staticmethod
    def applies(codes: Half, dictionary: Half) -> bool:
        """Whether block coordinate descent knows sets and penalties."""
        return codes.graph is None and all(map(_is_known, (codes, dictionary)))

    def narrow(self) -> bool:
        """Halve the width and keep the dual; whether that still makes sense."""
        self._width *= _NARROWER
        for U in self._U:
            U *= U.dtype.type(_NARROWER)
        self._narrowed += 1
        return self._narrowed <= _NARROWINGS

    def burst(self, times: int) -> tuple[Array, Array, float]:
        """Some iterations; the best codes and dictionary among them, and their loss."""
        best, lowest = (_joined(self._Ct), self.D.copy(), np.inf), np.inf
        for _ in range(times):
            C, D = _joined(self._Ct), self.D.copy()
            self._iterate(self._width, 1.0)  # tells the loss of the factors before
            objective = self.loss + self.codes.penalty(C) + self.dictionary.penalty(D.T)
            if objective < lowest:
                best, lowest = (C, D, self.loss), objective
        return best

    def _iterate(self, width: float, push: float) -> None:
        number = self.D.dtype.type
        if not has_gram(self.D):
            raise ValueError(OVERFLOW)
        gram = self.D @ self.D.T
        reach = number(min(width, float(np.finfo(number).max) / 4))
        regular = self.codes.regulariser.form
        upper = regular.upper
        penalty = 0.0 if width == np.inf else width

        def work(item: tuple[int, slice]) -> tuple[Array, Array, Array]:
            i, rows = item
            X, weight = self.codes.load(rows)
            nothing = np.empty((0, 0), dtype=X.dtype)
            Ct, U = self._Ct[i], self._U[i]
            Y = Ct.T @ self.D
            w = nothing if weight is None else weight
            losses = np.empty(len(X))
            split_residual(
                read_only(X),
                Y,
                read_only(w),
                reach,
                number(self.codes.square),
                number(push),
                U,
                losses,
            )
            B = np.ascontiguousarray(self.D @ Y.T)
            orthant = AtomSet.of(Ct.dtype, penalty * regular.l1, penalty * regular.l2)
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

    def _move_dictionary(self, A: Array, B: Array, width: float) -> None:
        number, free = self.D.dtype.type, self._free
        regular = self.dictionary.regulariser.form
        D = np.ascontiguousarray(self.D[free])
        rest = np.setdiff1d(np.arange(len(self.D)), free)
        target = B[free] - A[np.ix_(free, rest)] @ self.D[rest]
        amount = width * self.dictionary.amount
        A, target = np.ascontiguousarray(A[np.ix_(free, free)]), np.ascontiguousarray(target)
        l1, l2 = amount * regular.l1, amount * regular.l2
        ball = AtomSet.of(D.dtype, l1, l2, regular.length_radius)
        sweeps(A, target, D, ball, number(0), _SWEEPS)
        upper = regular.upper
        self.D[free] = np.minimum(D, number(upper)) if upper < np.inf else D


def _joined(parts: list[Array]) -> Array:
    return np.ascontiguousarray(np.concatenate(parts, axis=1).T)


def _is_known(half: Half) -> bool:
    form = half.regulariser.form
    box = form.is_box and form.lower == 0
    ball = form.is_ball and form.length_radius < np.inf and half.transposed
    return form.elastic and (box or ball)
