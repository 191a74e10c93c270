"""Codes of sparse rows under an α-divergence (KL, Hellinger), each on its own nonzeros."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from thresher.encoding.iterate import Encoding, Status
from thresher.encoding.problem import CodingProblem
from thresher.kernels.sparse_power import encode_rows, rough_rows
from thresher.linalg import Array
from thresher.losses import AlphaDivergence, BetaDivergence
from thresher.penalties import ElasticNet
from thresher.sets import NonnegativeOrthant

_ROUGH_STEPS = 8  # EM steps before Newton's; by judgement


@dataclass(frozen=True)
class SparsePower:
    """Expectation steps, then active-set Newton; see `thresher.kernels.sparse_power`.

    The certificate is the duality gap relative to ``Σ x``. Rough codes are five expectation steps:
    more of them, or exact codes, teach a dictionary no better (docs/divergences.md).
    """

    tol: float = 1e-4
    max_iter: int = 1000
    rough_steps: int = 5

    @staticmethod
    def applies(problem: CodingProblem, X: Any) -> bool:
        """Whether rows are sparse, and `suits`."""
        return sparse.issparse(X) and SparsePower.suits(problem)

    @staticmethod
    def suits(problem: CodingProblem) -> bool:
        """Whether the loss has α > 0, and codes are nonnegative under an elastic net."""
        return (
            _order(problem) is not None
            and isinstance(problem.regulariser.region, NonnegativeOrthant)
            and isinstance(problem.regulariser.penalty, ElasticNet)
        )

    def encode(self, problem: CodingProblem, X: Any, start: Array | None = None) -> Encoding:
        """Codes whose certificate is at most ``tol``."""
        n, dtype = X.shape[0], problem.D.dtype
        C = np.zeros((n, len(problem.D)), dtype=dtype) if start is None else start.copy()
        certificate, n_iter = np.zeros(n, dtype=dtype), np.zeros(n, dtype=np.int32)
        s, alpha, l2 = self._constants(problem)
        encode_rows(
            X.indptr,
            X.indices,
            X.data,
            problem.transposed,
            s,
            alpha,
            l2,
            dtype.type(self.tol),
            _ROUGH_STEPS,
            self.max_iter,
            C,
            certificate,
            n_iter,
        )
        return Encoding.certified(C, n_iter, certificate, self.tol)

    def encode_roughly(self, problem: CodingProblem, X: Any) -> Encoding:
        """Codes to learn from."""
        n, dtype = X.shape[0], problem.D.dtype
        C = np.zeros((n, len(problem.D)), dtype=dtype)
        s, alpha, l2 = self._constants(problem)
        steps = self.rough_steps
        rough_rows(X.indptr, X.indices, X.data, problem.transposed, s, alpha, l2, steps, C)
        status = np.full(n, Status.MAX_ITER, dtype=np.int8)
        n_iter = np.full(n, steps, dtype=np.int32)
        return Encoding(C, status, n_iter, np.full(n, np.nan, dtype=dtype))

    @staticmethod
    def _constants(problem: CodingProblem) -> tuple[Array, Any, Any]:
        """``Σ_f D + α·l1`` for each atom, α and l2."""
        penalty: Any = problem.regulariser.penalty
        number, alpha = problem.D.dtype.type, _order(problem)
        assert alpha is not None
        s = problem.row_sums + number(alpha * penalty.l1)
        return s, number(alpha), number(penalty.l2)


def _order(problem: CodingProblem) -> float | None:
    loss = problem.loss
    if isinstance(loss, AlphaDivergence) and loss.zero_slope is not None:
        return loss.alpha
    return 1.0 if isinstance(loss, BetaDivergence) and loss.beta == 1 else None
