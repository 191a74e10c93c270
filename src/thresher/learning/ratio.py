"""Separable majorisers of α- and β-divergences, whose minimiser is a ratio of sums.

At codes C and the dictionary D₀, with the slope ``∇⁺ − ∇⁻`` of the loss, the divergence is
majorised by a sum of functions of single entries of D, with slopes

    (Cᵀ∇⁺)_kf (D_kf/D₀_kf)^b − (Cᵀ∇⁻)_kf (D_kf/D₀_kf)^−a,

and equality at D₀. Convex terms are split by Jensen's inequality, and concave terms replaced by
their tangents, which determines a and b (`Loss.powers`). Each slope is ``P D^b − N D^−a`` with

    P = D₀^−b ∘ Cᵀ∇⁺,      N = D₀^a ∘ Cᵀ∇⁻,

and these add up over batches, each at the dictionary of its time. Without constraints the minimiser
is ``D = (N/P)^(1/(a+b))``: for KL the ratio of ``D ∘ Cᵀ(x/y)`` and the code sums, for Itakura–Saito
the square root of OL-Lef, for β = 2 the rule of Lee and Seung.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.fit import Fit
from thresher.kernels.bundles import read_only
from thresher.kernels.floors import TINY
from thresher.kernels.ratio import add_batch, measure_atoms, write_atoms
from thresher.learning.statistics import Learner, Statistics
from thresher.linalg import Array, squared_lengths
from thresher.losses import Loss
from thresher.penalties import Form, Regulariser
from thresher.sets import RowConstraint

_MIN_ENTRY = 1e-10
"""Smallest entry, relative to the length of its atom: multiplicative steps cannot leave zero, and
subnormal numbers are slow."""

_MARGIN_RATE = 0.1  # margins are forgotten ten times more slowly; heuristic
_MAX_LOG_POWER = 575.0  # of powers of entries: about that of 1e250
_MAX_ENTRY = 1e75  # its square, divided by the least curvature, is finite
_MIN_CURVATURE = 1e-150
_MAX_LOG_ENTRY = 300.0  # beyond it, powers of entries overflow


@dataclass(frozen=True)
class RatioStatistics(Statistics):
    """The majoriser of a batch, in units of the entries of its D₀, or of a stream, with D₀ = 1.

    Attributes
    ----------
    N, P : float64 arrays of shape (K, F)
        The coefficients ``Σ Cᵀ∇⁻`` and ``Σ Cᵀ∇⁺``, times D₀^a and D₀^−b for a stream; P has one
        column where it is the same for all features.
    margin : float64 array of shape (F,)
        ``Σ x`` of every feature, forgotten ten times more slowly; used for KL. Zero for a batch,
        where it follows from N.
    counts : float64 array of shape (F,)
        Weighted number of nonzeros of every feature, discounted like the margin.
    weight : float
        Total weight of the samples.
    """

    AXES: ClassVar[dict[str, str]] = {"N": "KF", "P": "Kf", "margin": "F", "counts": "F"}

    N: Array
    P: Array
    margin: Array
    counts: Array
    weight: float

    def discounted(self, factor: float) -> "RatioStatistics":
        """Discount the frequencies of features more slowly than their division between atoms."""
        slow = factor**_MARGIN_RATE
        return RatioStatistics(
            self.N * factor,
            self.P * factor,
            self.margin * slow,
            self.counts * slow,
            self.weight * factor,
        )


@dataclass(frozen=True)
class RatioLearner(Learner):
    """Add the majoriser of the batch to those of the stream, and minimise the sum over a set.

    Parameters
    ----------
    a, b : float
        `Loss.powers` of the divergence.
    rescale : bool
        Whether codes are free of scale (nonnegative, without penalty). Then atoms are rescaled to
        the boundary of a ball and codes inversely, which does not change predictions; otherwise the
        ball is a constraint of the step.
    prior : float
        For KL: with ν nonzeros of a feature so far, the share ``(prior/(ν + prior))²`` of its mass
        is divided between atoms in proportion to all features. So a rare word is not assigned to a
        single atom. This does not depend on the unit of the feature.
    """

    a: float
    b: float
    rescale: bool = True
    prior: float = 0.0

    def empty(self, n_components: int, n_features: int) -> RatioStatistics:
        """Zeros."""
        return RatioStatistics.zeros(n_components, n_features)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> RatioStatistics:
        """Sum both terms of the slope in the dictionary over samples."""
        C = fit.C if sample_weight is None else fit.C * sample_weight.astype(fit.C.dtype)[:, None]
        positive, negative = fit.dictionary_slopes(C)
        total = float(len(C)) if sample_weight is None else float(sample_weight.sum())
        counts, none = fit.feature_counts(sample_weight), np.zeros(fit.D.shape[1])
        N, P = negative.astype(np.float64, copy=False), positive.astype(np.float64, copy=False)
        return RatioStatistics(N, P, none, counts, total)

    def update(
        self,
        past: RatioStatistics,
        batch: RatioStatistics,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, RatioStatistics, Array]:
        """Add the majoriser of the batch, and minimise the sum over the free atoms."""
        if self._is_compiled(past, batch, regulariser):
            return self._update_compiled(past, batch, D, regulariser.form.row_constraint, free)
        old = D.astype(np.float64)
        _raise_to_min(old)  # a user's atoms may have zeros
        N = batch.N * (old if self.a == 1 else old**self.a)
        margin = past.margin + N.sum(axis=0)
        N += past.N
        used = old > 0  # zero entries stay
        P = past.P + batch.P * (used * np.where(used, old, 1.0) ** -self.b if self.b else 1.0)
        counts, weight = past.counts + batch.counts, past.weight + batch.weight
        form = regulariser.form
        sizes: Array = np.ones((len(D), 1))
        whole = self._with_margins(N, margin, counts, weight) if P.shape[1] == 1 else N
        if self._is_free(regulariser.form):
            moved: Array = whole / np.where(P > 0, P, 1)
            if self.a + self.b != 1:
                moved **= 1 / (self.a + self.b)
            squares = (moved * moved).sum(axis=1)
            sizes = _sizes(form.row_constraint, moved.sum(axis=1), squares)[:, None]
            moved /= sizes
        else:
            moved = self._constrained(whole, P, weight, regulariser)
        _raise_to_min(moved)
        # Atoms that no sample has used so far stay.
        idle = ~free | ~(N.sum(axis=1) > 0)
        if idle.any():
            moved[idle], sizes[idle] = D[idle], 1
        # Rescale: c ↦ c·size, D ↦ D/size.
        N = N if self.a == 1 else N * sizes ** (1 - self.a)
        P = P * sizes ** (1 + self.b)
        statistics = RatioStatistics(N, P, margin, counts, weight)
        return moved.astype(D.dtype), statistics, sizes[:, 0].astype(D.dtype)

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """A set and a penalty with an exact step."""
        limit = atoms.row_constraint
        squares = limit is not None and limit.equality and limit.gamma2 > 0
        if (atoms.is_box or atoms.is_ball) and atoms.elastic and not squares:
            return None
        return (
            "an elastic net on atoms, on the orthant, a box, an ℓ1, ℓ2 or elastic-net ball, or the "
            "simplex"
        )

    def cautious(self) -> "RatioLearner":
        """Half the exponent, where a majoriser is not proven."""
        return replace(self, a=2 * self.a, b=2 * self.b)

    def usage(self, statistics: RatioStatistics, D: Array) -> Array:
        """Its predictions, weighted by the slope of the loss: ``Σ_f P D^(1+b)``."""
        if self.b == 0 and statistics.P.shape[1] == 1:
            share: Array = statistics.P[:, 0] * D.sum(axis=1, dtype=np.float64)
        else:
            share = (statistics.P * D.astype(np.float64) ** (1 + self.b)).sum(axis=1)
        return share

    # ------------------------------------------------------------------- details

    def _is_compiled(
        self, past: RatioStatistics, batch: RatioStatistics, regulariser: Regulariser
    ) -> bool:
        """Whether it is KL without constraints, of sparse rows: one P for all features."""
        kl, whole = self.a == 1 and self.b == 0, past.P.shape[1] == batch.P.shape[1] == 1
        return kl and whole and self._is_free(regulariser.form)

    def _update_compiled(
        self,
        past: RatioStatistics,
        batch: RatioStatistics,
        D: Array,
        constraint: RowConstraint | None,
        free: NDArray[np.bool_],
    ) -> tuple[Array, RatioStatistics, Array]:
        """`update` for KL without constraints, in three passes over N."""
        N, columns, added = np.empty(D.shape), np.zeros(D.shape[1]), np.zeros(D.shape[1])
        negative = np.ascontiguousarray(batch.N.T)
        rows = add_batch(*map(read_only, (past.N, negative, D)), _min_entries(D), N, columns, added)
        margin, P = past.margin + added, past.P + batch.P
        counts, weight = past.counts + batch.counts, past.weight + batch.weight
        column, extra, share = self._margins(columns, rows, margin, counts, weight)
        inverse = 1 / np.where(P > 0, P, 1)[:, 0]
        linear, quadratic = measure_atoms(N, column, extra, share, inverse)
        sizes = _sizes(constraint, linear, quadratic)
        idle = ~free | ~(rows > 0)
        sizes[idle] = 1
        moved = np.empty_like(D)
        least = _MIN_ENTRY * np.sqrt(quadratic) / sizes
        write_atoms(N, column, extra, share, inverse / sizes, least, moved)
        moved[idle] = D[idle]
        statistics = RatioStatistics(N, P * sizes[:, None], margin, counts, weight)
        return moved, statistics, sizes.astype(D.dtype)

    def _with_margins(self, N: Array, margin: Array, counts: Array, weight: float) -> Array:
        """N with the mass of every feature from its margin; for KL only."""
        if self.a != 1 or self.b != 0:
            return N
        rows = N.sum(axis=1)
        column, extra, share = self._margins(N.sum(axis=0), rows, margin, counts, weight)
        whole: Array = N * column + share[:, None] * extra
        return whole

    def _margins(
        self, columns: Array, rows: Array, margin: Array, counts: Array, weight: float
    ) -> tuple[Array, Array, Array]:
        """Factors of the columns of N, terms to add to them, and the shares of atoms in these.

        ``Σ_k N_kf = Σ_n x_nf`` for every dictionary. So only the division of this mass between
        atoms is forgotten; otherwise a word absent from the last batches would vanish from all
        atoms. A feature without nonzeros so far has the mass of a mean feature in one sample,
        because multiplicative steps cannot leave zero.
        """
        total = float(rows.sum())
        if not total > 0:
            return np.ones_like(columns), np.zeros_like(columns), np.zeros_like(rows)
        everything = float(margin.sum())
        seen = (margin > 0) & (columns > 0)
        unseen = everything / (max(weight, 1.0) * len(margin))
        mass = total / everything * np.where(seen, margin, unseen)
        lent = np.where(seen, (self.prior / np.maximum(counts + self.prior, TINY)) ** 2, 1.0)
        column = (1 - lent) * mass / np.where(seen, columns, 1)
        return column, lent * mass, rows / total

    def _is_free(self, form: Form) -> bool:
        """Whether the minimiser is the ratio itself, up to lengths that the codes absorb."""
        unbounded = form.is_box and form.upper == np.inf and form.lower <= 0
        return form.is_unpenalised and (unbounded or (self.rescale and form.is_ball))

    def _constrained(self, N: Array, P: Array, weight: float, regulariser: Regulariser) -> Array:
        """Minimise under ``γ₁Σd + γ₂/2 Σd² ≤ 1`` (or equality) and an elastic net, atom by atom.

        The slope of the Lagrangian in an entry, ``P d^b − N d^−a + l1 + μγ₁ + (l2 + μγ₂)d``,
        rises with d, and the constraint falls with μ: two nested searches.
        """
        form, region = regulariser.form, regulariser.region
        linear, quadratic, limit = form.l1 * weight, form.l2 * weight, form.row_constraint
        if limit is None:
            entries = self._entries(
                N, P, np.full((len(N), 1), linear), np.full((len(N), 1), quadratic)
            )
            return region.project(entries)
        g1, g2 = limit.gamma1, limit.gamma2
        if limit.equality and g2 == 0:
            linear = 0.0  # sums are fixed, and so is their cost
        unit = (P * np.ones_like(N)).max(axis=1, keepdims=True) + linear + quadratic + TINY

        def atoms(mu: Array) -> Array:
            entries = self._entries(N, P, linear + mu * g1, quadratic + mu * g2)
            return np.minimum(entries, _MAX_ENTRY)

        def size(D: Array) -> Array:
            total: Array = (g1 * D + g2 / 2 * D * D).sum(axis=1, keepdims=True)
            return np.maximum(total, TINY)

        def fall(D: Array, mu: Array) -> Array:
            """The negative derivative of the size in μ, by implicit differentiation."""
            counts = 1e-40 * D.max(axis=1, keepdims=True) < D  # others are at the end of a search
            d = np.where(counts, D, 1.0)
            curvature = self.b * P * _power(d, self.b - 1) + self.a * N * _power(d, -self.a - 1)
            curvature = np.maximum(curvature + quadratic + mu * g2, _MIN_CURVATURE)
            total: Array = np.where(counts, (g1 + g2 * D) ** 2 / curvature, 0.0)
            return np.asarray(total.sum(axis=1, keepdims=True))

        least = np.zeros_like(unit)
        if limit.equality:  # the multiplier may be negative: at the least, one entry is the radius
            alone = P.min(axis=1, keepdims=True) * limit.radius**self.b
            least = -(alone + quadratic * limit.radius) / g1 * (1 - 1e-12)
        D = atoms(least)
        inside_already = (size(D) <= 1) & (not limit.equality)
        high = least + unit / max(g1, g2)
        for _ in range(200):
            outside = size(atoms(high)) > 1
            if not outside.any():
                break
            high = least + np.where(outside, 4 * (high - least), high - least)
        # The logarithm of the size is nearly linear in that of μ above its least value, as sizes
        # of atoms are quotients. Where a Newton step leaves the interval, bisect.
        high = np.log(high - least)
        low, s = high - 80, high
        for _ in range(100):
            above = np.exp(s)
            D = atoms(least + above)
            sizes = size(D)
            outside = sizes > 1
            low, high = np.where(outside, s, low), np.where(outside, high, s)
            falls = fall(D, least + above) * above
            step = np.log(sizes) * sizes / np.where(falls > 0, falls, 1.0)
            inside = (s + step > low) & (s + step < high) & (falls > 0)
            step = np.where(inside, step, (low + high) / 2 - s)
            step[(np.abs(sizes - 1) <= 1e-13) | inside_already] = 0
            if not step.any():
                break
            s = s + step
        return region.project(np.where(inside_already, atoms(least), D))

    def _entries(self, N: Array, P: Array, linear: Array, quadratic: Array) -> Array:
        """Roots in d of ``P d^b + linear + quadratic·d = N d^−a``, by Newton steps in log d."""
        if self.b == 0 and not np.any(quadratic):
            total = np.maximum(P + linear, TINY)
            return np.asarray((N / total) ** (1 / self.a))
        if self.a == 0 and not np.any(quadratic):
            ratio = np.maximum(N - linear, 0) / np.maximum(P, 1e-150 * N.max(initial=TINY))
            return np.asarray(ratio ** (1 / self.b))
        positive = N > 0
        n = np.where(positive, N, 1.0)
        t = np.log(np.where(P > 0, n / np.where(P > 0, P, 1), 1)) / (self.a + self.b)
        low, high = np.full_like(t, -np.inf), np.full_like(t, np.inf)
        furthest = _MAX_LOG_ENTRY / max(1.0, self.a, self.b)
        for _ in range(100):
            d = np.exp(t)
            rising = P * d**self.b + linear + quadratic * d
            falling = n * d**-self.a
            below = rising < falling
            low, high = np.where(below, t, low), np.where(below, high, t)
            # The logarithm of the quotient is nearly linear in t. Where it is undefined, or curved
            # by a negative multiplier, bisect.
            safe = np.maximum(rising, 1e-12 * falling)
            slope = (self.b * P * d**self.b + quadratic * d) / safe + self.a
            step = np.clip((np.log(falling) - np.log(safe)) / np.maximum(slope, 1e-9), -5, 5)
            middle = np.where(np.isfinite(high - low), (low + high) / 2 - t, 5.0)
            outside = (t + step <= low) | (t + step >= high) | (rising <= 0)
            step = np.where(outside & (np.abs(step) > 1e-13), middle, step)
            step = np.clip(t + step, -furthest, furthest) - t  # there may be no root
            t = t + step
            if np.abs(step).max() < 1e-13:
                break
        return np.where(positive, np.exp(t), 0.0)


def _power(d: Array, exponent: float) -> Array:
    """``d^exponent`` of positive numbers, within 1e±250 so that its products are finite."""
    power: Array = np.exp(np.clip(exponent * np.log(d), -_MAX_LOG_POWER, _MAX_LOG_POWER))
    return power


def _sizes(constraint: RowConstraint | None, sums: Array, squares: Array) -> Array:
    """Factors by which atoms are divided to reach the boundary, from sums and squares: (K,)."""
    if constraint is None:
        return np.ones(len(sums))
    size = constraint.gauge(sums, squares)
    return np.where(size > 0, size, 1)


def _raise_to_min(D: Array) -> None:
    """Raise entries to the smallest of their atom, in place."""
    np.maximum(D, _min_entries(D)[:, None].astype(D.dtype), out=D)


def _min_entries(D: Array) -> Array:
    """The smallest entry of every atom, shape (K,)."""
    least: Array = _MIN_ENTRY * np.sqrt(squared_lengths(D)).astype(np.float64)
    return least
