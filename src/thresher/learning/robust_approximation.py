"""Dictionary by robust stochastic approximation over a buffer: OL-Guan, ONMF of paper A's tables.

N. Guan, D. Tao, Z. Luo, B. Yuan, "Online nonnegative matrix factorization with robust stochastic
approximation", IEEE Transactions on Neural Networks and Learning Systems 23(7), 2012. Formulas
are from the description in papers A and E, where settings are not given.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.learning.statistics import Statistics
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Constrained, Form


@dataclass(frozen=True)
class BufferStatistics(Statistics):
    """The last samples and their codes, at most as many as the buffer holds.

    Attributes
    ----------
    X, C : arrays of shape (l, F) and (l, K)
    weight : float
        Samples seen, which also is what random numbers are drawn from.
    """

    AXES: ClassVar[dict[str, str]] = {"X": "nF", "C": "nK"}

    X: Array
    C: Array
    weight: float

    def discounted(self, factor: float) -> "BufferStatistics":
        """The buffer forgets by itself."""
        return self


@dataclass(frozen=True)
class BufferSums:
    """Samples and codes of a block, with missing entries as the model predicts them."""

    X: Array
    C: Array
    weight: float

    def __add__(self, other: "BufferSums") -> "BufferSums":
        """One after the other."""
        X, C = np.concatenate([self.X, other.X]), np.concatenate([self.C, other.C])
        return BufferSums(X, C, self.weight + other.weight)


@dataclass(frozen=True)
class RobustApproximation:
    """``D ← Π(D − θ_i (c ᵀ(cD − x)))`` on samples drawn from a buffer; the iterates' average.

    Steps are ``θ_i = step/(L√i)`` with L the spectral norm of the buffer's ``mean cᵀc``. Every
    batch makes ``steps`` of them, each on as many samples as ``draw``. The average has the weights
    θ_i and the points where slopes were taken, from the old dictionary on.
    """

    keeps_samples: ClassVar[bool] = True

    length: int = 1000
    steps: int = 20
    draw: int = 50
    step: float = 1.0

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """The squared loss: its slope is the step's."""
        metric = loss.canonical.metric
        if isinstance(metric, float) and metric == 1:
            return None
        return f"the squared loss, not {loss}; use solver='auto'"

    def empty(self, n_components: int, n_features: int) -> BufferStatistics:
        """An empty buffer."""
        return BufferStatistics(np.zeros((0, n_features)), np.zeros((0, n_components)), 0.0)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> BufferSums:
        """Keep the last samples of a block; a weight counts as a factor of both."""
        last = slice(-self.length, None)
        X, C = fit.filled_samples(last), fit.C[last]
        if sample_weight is not None:
            root = np.sqrt(sample_weight[last])[:, None]
            X, C = X * root, C * root
        total = len(fit.C) if sample_weight is None else sample_weight.sum()
        return BufferSums(X.astype(np.float64), C.astype(np.float64), float(total))

    def learn(
        self,
        past: BufferStatistics,
        sums: BufferSums,
        D: Array,
        regulariser: Constrained,
        free: NDArray[np.bool_],
    ) -> tuple[Array, BufferStatistics, Array]:
        """Steps on random samples of the buffer, and their average."""
        seen = past.weight + sums.weight
        X = np.concatenate([past.X, sums.X])[-self.length :]
        C = np.concatenate([past.C, sums.C])[-self.length :]
        statistics = BufferStatistics(X, C, seen)
        ones = np.ones(len(D), dtype=D.dtype)
        L = float(np.linalg.norm(C.T @ C / max(len(C), 1), 2))
        if L == 0:
            return D.copy(), statistics, ones
        rng = np.random.default_rng([int(seen), len(C)])
        point = D.astype(np.float64)
        average = np.zeros_like(point)
        total = 0.0
        for i in range(1, self.steps + 1):
            chosen = rng.integers(len(C), size=min(self.draw, len(C)))
            c, theta = C[chosen], self.step / (L * np.sqrt(i))
            average, total = average + theta * point, total + theta
            gradient = c.T @ (c @ point - X[chosen]) / len(chosen)
            target = regulariser.prox(point - theta * gradient, theta)
            point = np.where(free[:, None], target, point)
        return (average / total).astype(D.dtype), statistics, ones

    def cautious(self) -> "RobustApproximation":
        """There is none."""
        return self

    def usage(self, statistics: BufferStatistics, D: Array) -> Array:
        """Energy of its codes in the buffer."""
        share: Array = (statistics.C**2).sum(axis=0)
        return share
