"""The surrogate (11) of paper A as a number, from sums of fixed size.

With ``A = Σ cᵀc``, ``B = Σ cᵀ(x − r)`` and ``s = Σ ½‖x − r‖² + φ(r)`` over all samples,

    Σ ½‖x − cD − r‖² + φ(r) = ½ tr(DᵀA D) − tr(DᵀB) + s

at every D, with the codes and outliers that were found when each sample came. Where entries are
missing or weighted, it is the quadratic of `learning.surrogate`, which touches the loss at the D of
the time: s is what makes it touch.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.learning.quadratic import QuadraticLearner
from thresher.learning.surrogate import BatchSums, QuadraticStatistics
from thresher.linalg import Array


@dataclass(frozen=True)
class RunningSurrogate(QuadraticStatistics):
    """The quadratic that stands for a stream, with the constant ``s``, a sum like the others."""

    s: float = 0.0

    def measures(self, D: Array) -> dict[str, float]:
        """(11) at D: penalties of codes and dictionary are no part of it."""
        if not self.weight > 0:
            return {}
        D = D.astype(np.float64)
        total = float(np.vdot(D, self.A @ D)) / 2 - float(np.vdot(D, self.B)) + self.s
        return {"surrogate": total / self.weight}

    def keep(self, columns: NDArray[np.intp]) -> QuadraticStatistics:  # type: ignore[override]
        """Forget all features but some, and s, as nobody knows their part of it."""
        kept = super().keep(columns)
        return QuadraticStatistics(kept.A, kept.B, kept.weight)


@dataclass(frozen=True)
class SurrogateSums(BatchSums):
    """The sums of a batch, with its loss at the dictionary of the time."""

    loss: float = 0.0

    @classmethod
    def of(cls, fit: Fit, sample_weight: Array | None) -> "SurrogateSums":
        """Sum up a coded block."""
        sums, values = BatchSums.of(fit, sample_weight), fit.values()
        values = values if sample_weight is None else values * sample_weight
        parts = {part.name: getattr(sums, part.name) for part in fields(sums)}
        return cls(**parts, loss=float(values.sum(dtype=np.float64)))

    def surrogate(self, D: Array, sharp: bool) -> QuadraticStatistics:
        """The quadratic, and the s with which it touches the loss at D."""
        quadratic = super().surrogate(D, sharp)
        A, B = quadratic.A, quadratic.B
        D = D.astype(np.float64)
        s = self.loss - float(np.vdot(D, A @ D)) / 2 + float(np.vdot(D, B))
        return RunningSurrogate(A, B, quadratic.weight, s)


@dataclass(frozen=True)
class SurrogateLearner(QuadraticLearner):
    """The learner of paper A: the same as its parent, and it tells (11) after every step."""

    def empty(self, n_components: int, n_features: int) -> RunningSurrogate:
        """Zeros."""
        nothing = QuadraticStatistics.empty(n_components, n_features)
        return RunningSurrogate(nothing.A, nothing.B, 0.0)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> SurrogateSums:
        """The sums of the parent, and the loss."""
        return SurrogateSums.of(fit, sample_weight)
