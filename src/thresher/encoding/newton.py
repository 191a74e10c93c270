"""Exact nonnegative codes by an active-set Newton method, from any start: the finish."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.encoding.iterate import Encoding
from thresher.encoding.problem import CodingProblem
from thresher.kernels.newton import newton_rows
from thresher.linalg import Array
from thresher.losses import Envelope, SquaredL2
from thresher.penalties import ElasticNet
from thresher.sets import NonnegativeOrthant


@dataclass(frozen=True)
class Newton:
    """Row by row, a handful of Newton steps on the inliers; see `thresher.kernels.newton`.

    It needs a separable envelope (or the squared loss), and codes that are nonnegative, under an
    elastic net at most.
    """

    tol: float = 1e-4
    max_iter: int = 100

    @staticmethod
    def applies(problem: CodingProblem) -> bool:
        """Whether the problem has the form that the method needs."""
        loss, regulariser = problem.loss, problem.regulariser
        return (
            isinstance(loss, SquaredL2)
            or (isinstance(loss, Envelope) and isinstance(loss.penalty, ElasticNet))
        ) and (
            isinstance(regulariser.region, NonnegativeOrthant)
            and isinstance(regulariser.penalty, ElasticNet)
        )

    def finish(
        self, problem: CodingProblem, X: Array, weight: Array | None, codes: Array
    ) -> Encoding:
        """Codes whose certificate is at most ``tol``, from nonnegative ``codes``."""
        number = X.dtype.type
        penalty: Any = problem.regulariser.penalty
        loss = problem.loss
        constants = (
            loss.constants(X.dtype)
            if isinstance(loss, Envelope)
            else tuple(number(value) for value in (_NEVER, 0, -np.inf, np.inf))
        )
        C = np.array(codes, order="C")
        certificate = np.empty(len(X), dtype=X.dtype)
        n_iter = np.zeros(len(X), dtype=np.int32)
        L = problem.dictionary_bound * (1.0 if weight is None else max(1.0, float(weight.max())))
        largest = float(np.diag(problem.gram).max(initial=0.0))
        newton_rows(
            X,
            np.empty((0, 0), dtype=X.dtype) if weight is None else weight,
            problem.D,
            problem.gram,
            number(L),
            problem.gradient_scale(X, weight),
            number(penalty.l1),
            number(penalty.l2),
            *constants,
            C,
            self.tol,
            self.max_iter,
            number(_RIDGE[X.dtype.name] * (largest if largest > 0 else 1.0)),
            certificate,
            n_iter,
        )
        return Encoding.certified(C, n_iter, certificate, self.tol)


_NEVER = 1e30  # an outlier weight that no residual reaches: the squared loss
_RIDGE = {"float32": 1e-6, "float64": 1e-12}  # of the largest eigenvalue; by judgement
