"""Learning by a surrogate that is separable in the entries of the dictionary: ℓ1 on documents.

A document has few words, and most words occur with few atoms. So the curvature of a word differs
from atom to atom, and one for all of them, as in `thresher.learning.quadratic`, is far too small
for the atoms that have the word: their steps overshoot.
"""

from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.learning.statistics import Statistics
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.penalties import Constrained, Form

_ROUNDS = 100


@dataclass(frozen=True)
class DiagonalStatistics(Statistics):
    """``Σ_kf ½ H_kf D_kf² − B_kf D_kf``, which stands for a stream.

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
class DiagonalSums:
    """Curvature and gradient of a coded block or batch in the dictionary; they add up."""

    H: Array
    gradient: Array
    weight: float

    def __add__(self, other: "DiagonalSums") -> "DiagonalSums":
        """Merge two sums."""
        return DiagonalSums(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True)
class DiagonalLearner:
    """Sums of separable quadratics that lie above the loss; the dictionary is their minimiser.

    A residual e costs no more than a quadratic of curvature ``b = |∇|/|e|`` through it, and for
    nonnegative codes ``(Σ_k c_k δ_k)² ≤ (Σ_k c_k)(Σ_k c_k δ_k²)``, so that with

        H = Σ_n c_nk ‖c_n‖₁ b_nf,    G the gradient,    B = H∘D − G

    the quadratic ``½ Σ H∘D² − Σ B∘D`` lies above the loss and touches it at the current D. The
    minimiser in the nonnegative ℓ1 ball is ``[(B − θ)/H]₊`` with one θ ≥ 0 for each atom.
    ``share`` is how much of the way to it the dictionary goes.
    """

    share: float = 1.0

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """Nothing: other sets than ℓ1 balls have steps with one curvature for each atom."""
        return None

    def empty(self, n_components: int, n_features: int) -> DiagonalStatistics:
        """Zeros."""
        H = np.zeros((n_components, n_features))
        return DiagonalStatistics(H, H.copy(), 0.0)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> DiagonalSums:
        """H and G."""
        C = fit.C if sample_weight is None else fit.C * sample_weight.astype(fit.C.dtype)[:, None]
        H = fit.dictionary_curvature(C * np.abs(fit.C).sum(axis=1, keepdims=True))
        total = len(C) if sample_weight is None else sample_weight.sum()
        gradient = np.broadcast_to(fit.dictionary_gradient(C), H.shape)
        return DiagonalSums(H.astype(np.float64), gradient.astype(np.float64), float(total))

    def learn(
        self,
        past: DiagonalStatistics,
        sums: DiagonalSums,
        D: Array,
        regulariser: Constrained,
        free: NDArray[np.bool_],
    ) -> tuple[Array, DiagonalStatistics, Array]:
        """Add the batch's quadratic, and minimise the sum over the free atoms."""
        B = sums.H * D - sums.gradient
        statistics = past + DiagonalStatistics(sums.H, B, sums.weight)
        moved = np.array(D)
        moved[free] = _minimiser(statistics, D.astype(np.float64), regulariser)[free]
        if self.share < 1:
            moved = D + D.dtype.type(self.share) * (moved - D)
        return moved, statistics, np.ones(len(D), dtype=D.dtype)

    def cautious(self) -> "DiagonalLearner":
        """The quadratic lies above the smoothed loss; for the loss itself, a shorter step."""
        return replace(self, share=self.share / 2)

    def usage(self, statistics: DiagonalStatistics, D: Array) -> Array:
        """Its share of the energy, ``Σ_f H_kf D_kf²``."""
        share: Array = np.einsum("kf,kf,kf->k", statistics.H, D, D, dtype=np.float64)
        return share


def _minimiser(statistics: DiagonalStatistics, D: Array, regulariser: Constrained) -> Array:
    """The minimum of the quadratic, per sample, and the regulariser; unused atoms stay."""
    scale = 1 / statistics.weight if statistics.weight > 0 else 0.0
    H, B = statistics.H * scale, statistics.B * scale
    form = regulariser.form
    sums_only = form.is_ball and form.sum_radius < np.inf
    if not (form.elastic and (form.is_orthant or sums_only)):
        # Other sets have no simple projection in this metric: one curvature for each atom.
        largest = H.max(axis=1, keepdims=True, initial=0)
        if regulariser.couples_rows:  # and one for all, where atoms move together
            largest[:] = largest.max()
        largest[largest == 0] = 1
        return regulariser.prox(D - (H * D - B) / largest, 1 / largest)
    H, B = H + form.l2, B - form.l1
    # A word that no document with the atom has is a slope without curvature, and points down.
    used, seen = H.any(axis=1, keepdims=True), H > 0
    inverse = np.divide(1, H, out=np.zeros_like(H), where=seen)
    low: Array = np.zeros((len(H), 1))
    if sums_only:
        low = _threshold(B, inverse, form.sum_radius)
    target = np.maximum(B - low, 0) * inverse
    # Entries that no sample has shown are free: of all minimisers, the one nearest to D.
    unknown = ~seen & np.equal(B, 0)
    kept = np.where(unknown, D, 0)
    if sums_only:
        left = form.sum_radius - target.sum(axis=1, keepdims=True)
        kept = np.maximum(kept - _threshold(kept, unknown.astype(kept.dtype), left), 0)
    return np.where(used, np.where(unknown, kept, target), D)


def _threshold(B: Array, inverse: Array, radius: float | Array) -> Array:
    """The least θ ≥ 0 of every row with ``Σ [B − θ]₊/H ≤ radius``, shape (K, 1).

    The sum falls with θ and is convex, so Newton's method from the left never passes the root, and
    is there once the positive entries no longer change.
    """
    theta = np.zeros((len(B), 1))
    for _ in range(_ROUNDS):
        above = theta < B
        total = np.where(above, B * inverse, 0).sum(axis=1, keepdims=True)
        slope = np.where(above, inverse, 0).sum(axis=1, keepdims=True)
        new = np.divide(total - radius, slope, out=theta.copy(), where=slope > 0)
        new = np.maximum(new, theta)
        if (new - theta <= 1e-15 * np.abs(new)).all():
            break
        theta = new
    return theta
