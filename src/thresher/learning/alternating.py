"""Dictionaries of any atoms by codes and atoms in turn: online AODL, a peer of paper D."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thresher.encoding import AutoEncoder, CodingProblem
from thresher.kernels.floors import TINY
from thresher.learning.orthogonal import (
    START_ITERATIONS,
    Progress,
    random_orthogonal,
    second_moments,
)
from thresher.learning.statistics import Statistics
from thresher.linalg import Array
from thresher.losses import SquaredL2
from thresher.penalties import L1, Constrained
from thresher.sets import ConvexSet, L2Ball, Reals

# By judgement: supports are mostly right at the first tolerance; the others need the second.
_NEAR, _EXACT = AutoEncoder(1e-6), AutoEncoder(1e-13, 2000)
_ROUNDING = 1e-9
_BALL = L2Ball()


@dataclass(frozen=True)
class CodeStatistics(Statistics):
    """``A = Σ cᵀc``, ``B = Σ cᵀy``, each sample coded with the dictionary of its time; S."""

    AXES: ClassVar[dict[str, str]] = {"A": "KK", "B": "KF", "S": "FF"}

    A: Array
    B: Array
    S: Array
    weight: float


@dataclass(frozen=True)
class AlternatingLearner:
    r"""Minimise :math:`\sum_t \|y_t - c_t D\|^2 + \lambda \|c_t\|_1` (paper D, (23)).

    Codes of a batch with the last dictionary; A, B; then ``d_k ← Π(d_k + (B_k − A_k D)/A_kk)``, one
    atom after the other, Π onto the unit ball. Without ``bounded`` atoms Π is left out, as in (23),
    which then has no minimiser: atoms grow and codes vanish (errata D.8).

    Parameters
    ----------
    penalty : float or None
        λ; None is ``2.4/√N``.
    sweeps : int
        How often all atoms are moved in a step.
    bounded : bool
        Whether atoms have length one at most.
    n_start : int
        Iterations on the first batch.
    """

    statistics: ClassVar[type[Statistics]] = CodeStatistics
    name: ClassVar[str] = "aodl"
    coding: ClassVar[str] = "lasso"
    orthogonal: ClassVar[bool] = False
    whitens: ClassVar[bool] = False

    penalty: float | None = None
    sweeps: int = 1
    bounded: bool = True
    n_start: int = START_ITERATIONS

    @property
    def description(self) -> str:
        """Its name in the paper."""
        return "online AODL"

    @property
    def why(self) -> str:
        """By name only."""
        return "it was asked for by name, and keeps to what was published"

    @property
    def region(self) -> ConvexSet:
        """The unit ball, for each atom."""
        return _BALL if self.bounded else Reals()

    def problem(self, D: Array) -> CodingProblem:
        """``½‖y − cD‖² + ½λ‖c‖₁``: half of (23)."""
        return CodingProblem(D, SquaredL2(), Constrained(L1(self._half(D)), Reals()))

    def codes(self, Y: Array, D: Array) -> Array:
        """Exact ones: on the support that was found they solve a linear system."""
        problem = self.problem(np.ascontiguousarray(D))
        C = _NEAR.encode(problem, Y).codes
        left = [i for i in range(len(Y)) if not _finished(Y[i], D, C[i], self._half(D))]
        if left:
            C[left] = _EXACT.encode(problem, Y[left]).codes
        return C

    def _half(self, D: Array) -> float:
        """``λ/2``."""
        return float(1.2 / np.sqrt(D.shape[1]) if self.penalty is None else self.penalty / 2)

    def energies(self, statistics: CodeStatistics, D: Array) -> Array:
        """Of the codes that the stream had."""
        found: Array = np.diag(statistics.A) / max(statistics.weight, TINY)
        return found

    def nearest(self, D: Array) -> Array:
        """The same, longer atoms cut."""
        return self.region.project(D)

    def start(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Codes and atoms of the first batch in turn, from a random orthogonal dictionary."""
        D = random_orthogonal(Y.shape[1], rng)
        for _ in range(self.n_start):
            D = self._moved(self._sums(D, Y, weight), D)
        return D

    def begin(self, Y: Array, weight: Array, D: Array) -> CodeStatistics:
        """``A₀ = 0``, ``B₀ = 0``."""
        zero = np.zeros(D.shape)
        return CodeStatistics(zero, zero, zero, 0.0)

    def summarise(self, past: CodeStatistics, D: Array, Y: Array, weight: Array) -> CodeStatistics:
        """Code, and sum up."""
        return self._sums(D, Y, weight)

    def learn(
        self, past: CodeStatistics, sums: CodeStatistics, D: Array, progress: Progress
    ) -> tuple[Array, CodeStatistics]:
        """Add the batch, and move the atoms."""
        now = past.discounted(progress.keep) + sums
        return self._moved(now, D), now

    def _sums(self, D: Array, Y: Array, weight: Array) -> CodeStatistics:
        C = self.codes(Y, D)
        weighted = C * weight[:, None]
        S = second_moments(Y, weight)
        return CodeStatistics(weighted.T @ C, weighted.T @ Y, S, float(weight.sum()))

    def _moved(self, sums: CodeStatistics, D: Array) -> Array:
        """Sweeps of block coordinate descent; atoms that no code has used stay."""
        A, B, D = sums.A, sums.B, D.copy()
        for _ in range(self.sweeps):
            for k in np.flatnonzero(np.diag(A) > 0):
                D[k] = self.region.project((D[k] + (B[k] - A[k] @ D) / A[k, k])[None])[0]
        return D


def _finished(y: Array, D: Array, c: Array, half: float) -> bool:
    """Solve ``d (y − cD)ᵀ = ½λ sign c`` on the support of c, in place; False if it is not that."""
    support = np.flatnonzero(c)
    A, signs = D[support], np.sign(c[support])
    try:
        found = np.linalg.solve(A @ A.T, A @ y - half * signs)
    except np.linalg.LinAlgError:
        return False
    slopes = np.abs(D @ (y - found @ A))
    if not ((np.sign(found) == signs).all() and (slopes <= half * (1 + _ROUNDING)).all()):
        return False
    c[support] = found
    return True
