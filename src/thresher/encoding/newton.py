"""Exact codes by an active-set Newton method, from any start: the finish."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.block_admm import BlockADMM
from thresher.encoding.iterate import Encoder, Encoding, Never
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.kernels.bundles import EntryPenalty, Limits, Outcome, Samples, read_only
from thresher.kernels.newton import CurvedAtoms, newton_rows
from thresher.kernels.region import Region
from thresher.linalg import Array

# Where there are this many features for each atom, codes of a subsample of the features are an
# excellent start, and cost nearly nothing (heuristic).
_FEATURES_PER_ATOM = 512
_KEPT_FEATURES_PER_ATOM = 64
_START = Encoder(BlockADMM(), Never(), 5, certify=False)
# Where a set holds codes back, residuals are large and five rounds may be far: twenty cost a fifth
# more where that is not so, and save half where it is (heuristic).
_START_IN_BOUNDS = Encoder(BlockADMM(), Never(), 20, certify=False)


@dataclass(frozen=True)
class Newton:
    """Row by row, a handful of Newton steps on the inliers; see `thresher.kernels.newton`.

    It starts from a few rounds of the block encoder; for very wide samples (F ≥ 512 K) from codes
    of features at even distances.
    """

    tol: float = 1e-4
    max_iter: int = 100

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Squares with outliers set aside entry by entry, and a set that steps can be kept in."""
        if problem.loss.entry_constants is None:
            return "squares, or squares with outliers set aside entry by entry"
        return problem.regulariser.form.lacks_numbers

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what the blocks share."""
        problem.dictionary_bound, problem.transposed  # noqa: B018 - kept by the problem
        _START.prepare(_coarse(problem) if _is_wide(problem) else problem)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Exact codes of the rows of a block."""
        first = _START if problem.regulariser.form.is_orthant else _START_IN_BOUNDS
        if start is None and _is_wide(problem):
            stride = _stride(problem)
            x = np.ascontiguousarray(X[:, ::stride])
            w = None if weight is None else np.ascontiguousarray(weight[:, ::stride])
            coarse = _coarse(problem)
            rough = first.encode(coarse, x, w).codes
            start = Newton(1e-3, 20).finish(coarse, x, w, rough).codes
        elif start is None:
            start = first.encode(problem, X, weight).codes
        return self.finish(problem, X, weight, start)

    def finish(
        self, problem: CodingProblem, X: Array, weight: Array | None, codes: Array
    ) -> Encoding:
        """Codes whose certificate is at most ``tol``, from feasible ``codes``."""
        constants = problem.loss.entry_constants
        assert constants is not None
        C = np.array(codes, order="C")
        certificate, n_iter = self._steps(problem, X, weight, C)
        # Residuals are updated from step to step. Where their rounding errors are no longer small
        # beside λ·tol, only new residuals show whether a row converged.
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
            n_iter[late] += self._steps(problem, rows, mask, again)[1]
            found = problem.certificate(rows, again, mask)
            better = found < certificate[late]
            C[late] = np.where(better[:, None], again, C[late])
            certificate[late] = np.where(better, found, certificate[late])
        return Encoding.certified(C, n_iter, certificate, self.tol)

    def _steps(
        self, problem: CodingProblem, X: Array, weight: Array | None, C: Array
    ) -> tuple[Array, NDArray[np.int32]]:
        """Improve codes in place; return certificates from running residuals, and step counts."""
        form, constants = problem.regulariser.form, problem.loss.entry_constants
        assert constants is not None
        outcome = Outcome(np.empty(len(X), dtype=X.dtype), np.zeros(len(X), dtype=np.int32))
        atoms = _curved(problem, X.dtype)
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


_RESTARTS = 3  # from new residuals, where rounding errors matter; heuristic
_MANY = 64  # rounding errors that add up in the steps of a row; heuristic
_RIDGE = {"f": 1e-6, "d": 1e-12}  # of the largest eigenvalue; by judgement


def _curved(problem: CodingProblem, dtype: np.dtype[Any]) -> CurvedAtoms:
    """What the steps of all blocks without weights share."""

    def make() -> CurvedAtoms:
        number, L = dtype.type, problem.dictionary_bound
        largest = float(problem.gram.diagonal().max(initial=0.0))
        ridge = _RIDGE[dtype.char] * (largest if largest > 0 else 1.0)
        return CurvedAtoms(read_only(problem.D), read_only(problem.gram), number(L), number(ridge))

    atoms: CurvedAtoms = problem.remember(("curved", dtype), make)
    return atoms


def _is_wide(problem: CodingProblem) -> bool:
    K, F = problem.D.shape
    return bool(F >= _FEATURES_PER_ATOM * K)


def _stride(problem: CodingProblem) -> int:
    K, F = problem.D.shape
    return int(F // (_KEPT_FEATURES_PER_ATOM * K))


def _coarse(problem: CodingProblem) -> CodingProblem:
    """The problem on features at even distances."""

    def make() -> CodingProblem:
        return replace(problem, D=np.ascontiguousarray(problem.D[:, :: _stride(problem)]))

    coarse: CodingProblem = problem.remember("coarse", make)
    return coarse
