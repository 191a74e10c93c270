"""Dictionary by block coordinate descent: one atom after the other, each exactly."""

from dataclasses import dataclass

import numpy as np

from thresher.kernels.block_descent import AtomSet, sweeps
from thresher.learning.projected_gradient import ProjectedGradientStep
from thresher.learning.surrogate import DictionaryProblem
from thresher.linalg import Array, length

_FADED = 1e6
_TOGETHER = ProjectedGradientStep()


@dataclass(frozen=True)
class BlockDescent:
    """``d_k ← prox(d_k + (B_k − A_k D)/A_kk)``, sweep after sweep, started at the last dictionary.

    In d_k alone the surrogate is an isotropic quadratic, so each update is its exact minimiser:
    no step size, and the objective never rises. The common sets run in a compiled sweep, in the
    precision of the dictionary.
    """

    max_sweeps: int = 8
    tol: float = 1e-5

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Sweep until the atoms move by less than ``tol``, relatively, or the bound is reached.

        Where atoms share a budget, one of them alone would take what the others need: then all move
        together, by projected gradient steps.
        """
        if problem.regulariser.couples_rows:
            return _TOGETHER.minimise(problem, D).astype(D.dtype)
        D = np.array(D, order="C")
        A = np.ascontiguousarray(problem.A, dtype=D.dtype)
        B = np.ascontiguousarray(problem.B, dtype=D.dtype)
        # Of an atom that nobody has used for long, only numbers are left that cannot be divided by.
        faded = np.abs(A) < _FADED * np.finfo(D.dtype).tiny
        if np.logical_or.reduce(faded, None):
            A = np.where(faded, D.dtype.type(0), A)
        least = self.tol * length(D)
        form = problem.regulariser.form
        radius = min(form.sum_radius, form.length_radius)
        if form.elastic and (form.is_orthant or (form.is_ball and radius < np.inf)):
            by_sum = form.sum_radius < np.inf
            atoms = AtomSet.of(D.dtype, form.l1, form.l2, radius, by_sum)
            sweeps(A, B, D, atoms, D.dtype.type(least), self.max_sweeps)
            return D
        for _ in range(self.max_sweeps):
            if self._sweep(problem, A, B, D) <= least:
                break
        return D

    def _sweep(self, problem: DictionaryProblem, A: Array, B: Array, D: Array) -> float:
        """One sweep over any set, and how far the atoms moved."""
        moved = 0.0
        for k in range(len(D)):
            if A[k, k] <= 0:
                continue
            target = D[k] + (B[k] - A[k] @ D) / A[k, k]
            atom = problem.regulariser.prox(target[None], 1 / A[k, k])[0]
            moved += float(np.sum((atom - D[k]) ** 2))
            D[k] = atom
        return float(np.sqrt(moved))
