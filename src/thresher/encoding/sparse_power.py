"""Codes of sparse rows under an α-divergence (KL, Hellinger), each on its own nonzeros."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.encoding.loop import Encoder, Encoding, Status
from thresher.encoding.problem import CodingProblem, Rows, balance
from thresher.kernels.bundles import Limits, Outcome, SparseRows, read_only
from thresher.kernels.sparse_power import PowerProblem, encode_rows, rough_rows
from thresher.linalg import Array

_STEPS_BEFORE_NEWTON = 8  # expectation steps; heuristic
# Of approximate codes: five where at most a quarter of the entries are nonzero, twenty elsewhere.
# On text, more steps or exact codes teach no better (docs/guide/divergences.md), and twice as many
# cost 13 % more time; codes of dense rows are further from their optimum after five.
_STEPS, _STEPS_DENSE, _MOSTLY_ZERO = 5, 20, 0.25


@dataclass(frozen=True)
class SparsePower(Encoder):
    """Expectation steps, then active-set Newton; see `thresher.kernels.sparse_power`.

    The certificate is the duality gap relative to ``Σ x``. Without a ``tol``, a few expectation
    steps give codes that are good enough to learn from.
    """

    tol: float | None = 1e-4
    max_iter: int = 1000

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Sparse rows, a divergence of α > 0, and nonnegative codes."""
        if not rows.sparse:
            return "sparse samples"
        if problem.loss.order is None:
            return "a divergence whose zeros cost a multiple of the prediction"
        return problem.regulariser.form.lacks_plain_codes

    def precompute(self, problem: CodingProblem, rows: Rows) -> PowerProblem:
        """The problem as kernels take it."""
        form, alpha = problem.regulariser.form, problem.loss.order
        assert alpha is not None  # required
        number = problem.D.dtype.type
        s = read_only(problem.row_sums + number(alpha * form.l1))
        return PowerProblem(read_only(problem.transposed), s, number(alpha), number(form.l2))

    def run(
        self,
        problem: CodingProblem,
        shared: PowerProblem,
        X: Any,
        weight: Array | None,
        start: Array | None,
    ) -> Encoding:
        """Codes whose certificate is at most ``tol``, or approximate ones."""
        n, dtype = X.shape[0], problem.D.dtype
        if self.tol is None:
            C, products = np.zeros((n, len(problem.D)), dtype=dtype), np.empty(X.nnz, dtype=dtype)
            steps = _STEPS if X.nnz <= _MOSTLY_ZERO * n * X.shape[1] else _STEPS_DENSE
            rough_rows(SparseRows.of(X), shared, steps, C, products)
            status = np.full(n, Status.MAX_ITER, dtype=np.int8)
            n_iter = np.full(n, steps, dtype=np.int32)
            unknown = np.full(n, np.nan, dtype=dtype)
            return Encoding(C, status, n_iter, unknown, products=products)
        C = np.zeros((n, len(problem.D)), dtype=dtype) if start is None else start.copy()
        certificate, n_iter = np.zeros(n, dtype=dtype), np.zeros(n, dtype=np.int32)
        limits, outcome = Limits(dtype.type(self.tol), self.max_iter), Outcome(certificate, n_iter)
        encode_rows(SparseRows.of(X), shared, _STEPS_BEFORE_NEWTON, C, limits, outcome)
        return Encoding.certified(C, n_iter, certificate, self.tol)

    def certificate(
        self, problem: CodingProblem, X: Any, C: Array, weight: Array | None = None
    ) -> Array:
        """The duality gap of given codes.

        A dual point is made from codes. Rows without codes have the balance of the gradient.
        """
        dtype, n = problem.D.dtype, len(C)
        codes = C.astype(dtype)
        gaps: Array = np.zeros(n, dtype=dtype)
        limits, outcome = Limits(dtype.type(0), 0), Outcome(gaps, np.zeros(n, dtype=np.int32))
        shared = self.precompute(problem, Rows(sparse=True))
        encode_rows(SparseRows.of(X), shared, 0, codes, limits, outcome)
        none = (C.max(axis=1) <= 0) | (codes.max(axis=1) <= 0)
        if none.any():
            gaps[none] = balance(problem, X[none], C[none])
        return gaps
