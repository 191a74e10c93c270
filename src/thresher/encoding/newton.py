"""Exact codes by an active-set Newton method, from any start: the finish."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.block_admm import BlockADMM
from thresher.encoding.loop import Encoder, Encoding, IterativeEncoder, Never
from thresher.encoding.problem import CodingProblem, Rows
from thresher.encoding.stages import Stages
from thresher.kernels.bundles import EntryPenalty, Limits, Outcome, Samples, read_only
from thresher.kernels.newton import CurvedAtoms, newton_rows
from thresher.kernels.region import Region
from thresher.linalg import Array

_RESTARTS = 3  # from new residuals, where rounding errors matter; heuristic
_MANY = 64  # rounding errors that add up in the steps of a row; heuristic
_RIDGE = {"f": 1e-6, "d": 1e-12}  # of the largest eigenvalue; heuristic
# Where there are this many features for each atom, codes of a subsample of the features are an
# excellent start, and cost nearly nothing (heuristic).
_FEATURES_PER_ATOM = 512
_KEPT_FEATURES_PER_ATOM = 64
# Where a set restricts codes, residuals are large and five iterations may not suffice: twenty cost
# a fifth more where five suffice, and save half where they do not (heuristic).
_START_ITERATIONS, _START_ITERATIONS_IN_BOUNDS = 5, 20


@dataclass(frozen=True)
class Newton(Encoder):
    """Row by row, a handful of Newton steps on the inliers; see `thresher.kernels.newton`.

    It needs feasible codes to start from, such as those of `NewtonStart`.
    """

    tol: float = 1e-4
    max_iter: int = 100

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Squares with outliers set aside entry by entry, and a set that steps can be kept in."""
        if problem.loss.entry_constants is None:
            return "squares, or squares with outliers set aside entry by entry"
        return problem.regulariser.form.lacks_compiled_form

    def precompute(self, problem: CodingProblem, rows: Rows) -> CurvedAtoms:
        """What the steps of blocks without weights take."""
        number, L = problem.D.dtype.type, problem.dictionary_bound
        largest = float(problem.gram.diagonal().max(initial=0.0))
        ridge = _RIDGE[problem.D.dtype.char] * (largest if largest > 0 else 1.0)
        return CurvedAtoms(read_only(problem.D), read_only(problem.gram), number(L), number(ridge))

    def run(
        self, problem: CodingProblem, shared: Any, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Codes whose certificate is at most ``tol``, from feasible codes."""
        constants = problem.loss.entry_constants
        assert constants is not None
        C = np.array(start, order="C")
        certificate, n_iter = self._steps(problem, shared, X, weight, C)
        # Residuals are updated from step to step. Where their rounding errors are no longer small
        # compared with λ·tol, only new residuals show whether a row converged.
        rounding = np.finfo(X.dtype).eps * np.abs(X).max(initial=0)
        drifted = 0 < constants[0] * self.tol < _MANY * rounding
        late = ~(certificate <= self.tol) | drifted
        if late.any():  # perhaps rounding alone keeps them from the tolerance
            mask = None if weight is None else weight[late]
            certificate[late] = problem.certificate(X[late], C[late], mask)
        for _ in range(_RESTARTS if drifted else 0):
            late = ~(certificate <= self.tol)
            if not late.any():
                break
            rows, mask, again = X[late], None if weight is None else weight[late], C[late]
            n_iter[late] += self._steps(problem, shared, rows, mask, again)[1]
            found = problem.certificate(rows, again, mask)
            better = found < certificate[late]
            C[late] = np.where(better[:, None], again, C[late])
            certificate[late] = np.where(better, found, certificate[late])
        return Encoding.certified(C, n_iter, certificate, self.tol)

    def _steps(
        self,
        problem: CodingProblem,
        atoms: CurvedAtoms,
        X: Array,
        weight: Array | None,
        C: Array,
    ) -> tuple[Array, NDArray[np.int32]]:
        """Improve codes in place; return certificates from running residuals, and step counts."""
        form, constants = problem.regulariser.form, problem.loss.entry_constants
        assert constants is not None
        outcome = Outcome(np.empty(len(X), dtype=X.dtype), np.zeros(len(X), dtype=np.int32))
        if weight is not None:
            L = problem.dictionary_bound * max(1.0, float(weight.max()))
            atoms = atoms._replace(L=X.dtype.type(L))
        newton_rows(
            Samples.of(X, weight),
            atoms,
            read_only(problem.gradient_scale(X, weight)),
            Region.of(X.dtype, form),
            EntryPenalty.of(X.dtype, constants),
            C,
            Limits(self.tol, self.max_iter),
            outcome,
        )
        return outcome


@dataclass(frozen=True)
class NewtonStart(Encoder):
    """A few rounds of ADMM; for very wide samples (F ≥ 512 K) codes of evenly spaced features."""

    def precompute(self, problem: CodingProblem, rows: Rows) -> Any:
        """The distance of the features that are taken, and an encoder on these."""
        K, F = problem.D.shape
        plain = problem.regulariser.form.is_orthant
        rounds = _START_ITERATIONS if plain else _START_ITERATIONS_IN_BOUNDS
        first = IterativeEncoder(BlockADMM(), Never(), rounds)
        if F < _FEATURES_PER_ATOM * K:
            return 1, first.prepare(problem, rows)
        stride = F // (_KEPT_FEATURES_PER_ATOM * K)
        some = replace(problem, D=np.ascontiguousarray(problem.D[:, ::stride]))
        return stride, Stages((Newton(1e-3, 20),), first, 20).prepare(some, rows)

    def run(
        self, problem: CodingProblem, shared: Any, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Codes that are close to the optimum."""
        stride, encode = shared
        if stride > 1:
            X = np.ascontiguousarray(X[:, ::stride])
            weight = None if weight is None else np.ascontiguousarray(weight[:, ::stride])
        encoding: Encoding = encode(X, weight)
        return encoding
