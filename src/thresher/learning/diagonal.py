"""Separable quadratic majorisers of the loss: one curvature for each entry of the dictionary.

A document has few words, and most words occur with few atoms. So the curvature of a word differs
between atoms. A common curvature, as in `thresher.learning.quadratic`, is far too small for the
atoms that have the word, and their steps overshoot.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.learning.statistics import Learner, Statistics
from thresher.linalg import Array
from thresher.penalties import Regulariser

_NEWTON_STEPS = 100  # each changes the set of positive entries, except the last


@dataclass(frozen=True)
class DiagonalStatistics(Statistics):
    """The quadratic ``Σ_kf ½ H_kf D_kf² − B_kf D_kf`` of a batch or a stream.

    Attributes
    ----------
    H, B : float64 arrays of shape (K, F)
    weight : float
        Total weight of the samples.
    """

    AXES: ClassVar[dict[str, str]] = {"H": "KF", "B": "KF"}

    H: Array
    B: Array
    weight: float


@dataclass(frozen=True)
class DiagonalLearner(Learner):
    """Add separable quadratics that majorise the loss, and minimise the sum.

    The loss of a residual e is majorised by a quadratic of curvature ``b = |∇|/|e|``, and for
    nonnegative codes ``(Σ_k c_k δ_k)² ≤ (Σ_k c_k)(Σ_k c_k δ_k²)``, so that with

        H = Σ_n c_nk ‖c_n‖₁ b_nf,    G the gradient,    B = H∘D − G

    the quadratic ``½ Σ H∘D² − Σ B∘D`` majorises the loss, with equality at the current D. The
    minimiser in the nonnegative ℓ1 ball is ``[(B − θ)/H]₊`` with one θ ≥ 0 for each atom.

    Parameters
    ----------
    share : float
        Share of the way to the minimum that the dictionary moves.
    """

    share: float = 1.0

    def empty(self, n_components: int, n_features: int) -> DiagonalStatistics:
        """Zeros."""
        return DiagonalStatistics.zeros(n_components, n_features)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> DiagonalStatistics:
        """The quadratic of a block."""
        C = fit.C if sample_weight is None else fit.C * sample_weight.astype(fit.C.dtype)[:, None]
        H = fit.dictionary_curvature(C * np.abs(fit.C).sum(axis=1, keepdims=True))
        H = H.astype(np.float64)
        total = float(len(C) if sample_weight is None else sample_weight.sum())
        return DiagonalStatistics(H, H * fit.D - fit.dictionary_gradient(C), total)

    def update(
        self,
        past: DiagonalStatistics,
        batch: DiagonalStatistics,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, DiagonalStatistics, Array]:
        """Add the quadratic of the batch, and minimise the sum over the free atoms."""
        statistics = past + batch
        moved = np.array(D)
        moved[free] = _minimiser(statistics, D.astype(np.float64), regulariser)[free]
        if self.share < 1:
            moved = D + D.dtype.type(self.share) * (moved - D)
        return moved, statistics, np.ones(len(D), dtype=D.dtype)

    def cautious(self) -> "DiagonalLearner":
        """Half the step: the quadratic majorises the smoothed loss, not the loss itself."""
        return replace(self, share=self.share / 2)

    def usage(self, statistics: DiagonalStatistics, D: Array) -> Array:
        """The curvature-weighted energy ``Σ_f H_kf D_kf²``."""
        share: Array = np.einsum("kf,kf,kf->k", statistics.H, D, D, dtype=np.float64)
        return share


def _minimiser(statistics: DiagonalStatistics, D: Array, regulariser: Regulariser) -> Array:
    """Minimise the mean quadratic plus the regulariser; atoms without codes stay."""
    scale = 1 / statistics.weight if statistics.weight > 0 else 0.0
    H, B = statistics.H * scale, statistics.B * scale
    form = regulariser.form
    sums_only = form.is_ball and form.sum_radius < np.inf
    if not (form.elastic and (form.is_orthant or sums_only)):
        # Other sets have no simple projection in this metric, so use one curvature for each atom.
        largest = H.max(axis=1, keepdims=True, initial=0)
        if regulariser.form.couples_rows:  # and one for all, if atoms are coupled
            largest[:] = largest.max()
        largest[largest == 0] = 1
        return regulariser.prox(D - (H * D - B) / largest, 1 / largest)
    H, B = H + form.l2, B - form.l1
    # A word in no document of the atom has a negative slope without curvature: it becomes zero.
    used, seen = H.any(axis=1, keepdims=True), H > 0
    inverse = np.divide(1, H, out=np.zeros_like(H), where=seen)
    low: Array = np.zeros((len(H), 1))
    if sums_only:
        low = _threshold(B, inverse, form.sum_radius)
    target = np.maximum(B - low, 0) * inverse
    # Entries without any data are arbitrary; take the minimiser nearest to D.
    unknown = ~seen & np.equal(B, 0)
    kept = np.where(unknown, D, 0)
    if sums_only:
        left = form.sum_radius - target.sum(axis=1, keepdims=True)
        kept = np.maximum(kept - _threshold(kept, unknown.astype(kept.dtype), left), 0)
    return np.where(used, np.where(unknown, kept, target), D)


def _threshold(B: Array, inverse: Array, radius: float | Array) -> Array:
    """The least θ ≥ 0 of every row with ``Σ [B − θ]₊/H ≤ radius``, shape (K, 1).

    The sum is convex and decreases with θ, so that Newton's method from the left never passes the
    root, and has reached it once the set of positive entries no longer changes.
    """
    theta = np.zeros((len(B), 1))
    for _ in range(_NEWTON_STEPS):
        above = theta < B
        total = np.where(above, B * inverse, 0).sum(axis=1, keepdims=True)
        slope = np.where(above, inverse, 0).sum(axis=1, keepdims=True)
        new = np.divide(total - radius, slope, out=theta.copy(), where=slope > 0)
        new = np.maximum(new, theta)
        if (new - theta <= 1e-15 * np.abs(new)).all():
            break
        theta = new
    return theta
