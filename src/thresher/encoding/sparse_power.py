"""Codes of sparse rows under an α-divergence (KL, Hellinger), each on its own nonzeros."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.iterate import Encoding, Status
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.kernels.bundles import Limits, Outcome, SparseRows, read_only
from thresher.kernels.sparse_power import PowerProblem, encode_rows, rough_rows
from thresher.linalg import Array

_MOSTLY_ZERO = 0.25  # share of nonzeros, at most; heuristic: twice as many steps cost text 13 %
_ROUGH_STEPS = 8  # EM steps before Newton's; by judgement


@dataclass(frozen=True)
class SparsePower:
    """Expectation steps, then active-set Newton; see `thresher.kernels.sparse_power`.

    The certificate is the duality gap relative to ``Σ x``.
    """

    tol: float = 1e-4
    max_iter: int = 1000

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Sparse rows, a divergence of α > 0, and nonnegative codes."""
        if not rows.sparse:
            return "sparse samples"
        if problem.loss.order is None:
            return "a divergence whose zeros cost a multiple of the prediction"
        return problem.regulariser.form.lacks_plain_codes

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what the blocks share."""
        problem.transposed, problem.row_sums  # noqa: B018 - kept by the problem

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Codes whose certificate is at most ``tol``."""
        n, dtype = X.shape[0], problem.D.dtype
        C = np.zeros((n, len(problem.D)), dtype=dtype) if start is None else start.copy()
        certificate, n_iter = np.zeros(n, dtype=dtype), np.zeros(n, dtype=np.int32)
        encode_rows(
            SparseRows.of(X),
            _power(problem),
            _ROUGH_STEPS,
            C,
            Limits(dtype.type(self.tol), self.max_iter),
            Outcome(certificate, n_iter),
        )
        return Encoding.certified(C, n_iter, certificate, self.tol)


def duality_gaps(problem: CodingProblem, X: Any, C: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The certificate of given codes, as `SparsePower` ends by it, and the rows that have none.

    None have rows without codes, and rows that want none: a dual point is made from codes.
    """
    dtype = problem.D.dtype
    codes = C.astype(dtype)
    gaps, n_iter = np.zeros(len(C), dtype=dtype), np.zeros(len(C), dtype=np.int32)
    limits, outcome = Limits(dtype.type(0), 0), Outcome(gaps, n_iter)
    encode_rows(SparseRows.of(X), _power(problem), 0, codes, limits, outcome)
    none = (C.max(axis=1) <= 0) | (codes.max(axis=1) <= 0)
    return gaps, none


@dataclass(frozen=True)
class RoughSparsePower(SparsePower):
    """Expectation steps: five where most entries are zero, twenty elsewhere.

    On text, more steps or exact codes teach no better (docs/guide/divergences.md); codes of dense
    rows are further from their optimum after five.
    """

    steps: int = 5
    dense_steps: int = 20

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Codes to learn from."""
        n, dtype = X.shape[0], problem.D.dtype
        C = np.zeros((n, len(problem.D)), dtype=dtype)
        products = np.empty(X.nnz, dtype=dtype)
        steps = self.steps if X.nnz <= _MOSTLY_ZERO * n * X.shape[1] else self.dense_steps
        rough_rows(SparseRows.of(X), _power(problem), steps, C, products)
        status = np.full(n, Status.MAX_ITER, dtype=np.int8)
        n_iter = np.full(n, steps, dtype=np.int32)
        unknown = np.full(n, np.nan, dtype=dtype)
        return Encoding(C, status, n_iter, unknown, products=products)


def _power(problem: CodingProblem) -> PowerProblem:
    """The problem as kernels take it."""
    form, alpha = problem.regulariser.form, problem.loss.order
    assert alpha is not None  # required
    number = problem.D.dtype.type
    s = problem.row_sums + number(alpha * form.l1)
    return PowerProblem(read_only(problem.transposed), read_only(s), number(alpha), number(form.l2))
