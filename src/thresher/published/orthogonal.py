"""Paper D, orthogonal dictionaries: NoncvxSFW, SFW, AODL, and the compression of section II-B."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from thresher.encoding import AutoEncoder, CodingProblem
from thresher.engine.orthogonal import row_means
from thresher.kernels.floors import TINY
from thresher.learning import (
    FrankWolfeState,
    OrthogonalLearner,
    PowerSchedule,
    Progress,
    Statistics,
    StochasticFrankWolfe,
    random_orthogonal,
)
from thresher.learning.orthogonal import START_ITERATIONS, power_gradient, second_moments
from thresher.linalg import Array, from_givens, givens_angles, polar
from thresher.losses import SquaredL2
from thresher.penalties import L1, Regulariser
from thresher.published.base import (
    ABOVE_MINUS_1,
    AT_LEAST_0,
    COUNT,
    COUNT_OR_0,
    FLAG,
    POSITIVE,
    Published,
    constant,
)
from thresher.sets import ConvexSet, L2Ball, Reals, SpectralBall

# Heuristic: supports are mostly correct at the first tolerance; the others need the second.
_NEAR, _EXACT = AutoEncoder(1e-6), AutoEncoder(1e-13, 2000)
_ROUNDING = 1e-9
_BALL = L2Ball()


@dataclass(frozen=True)
class GradientStatistics(Statistics):
    """The averaged gradient G; as sums of a block, ``Σ (|c|^(p−2) ∘ c)ᵀ y``.

    ``gap`` is the Frank–Wolfe gap (10) of the dictionary before the last step, estimated by G.
    """

    AXES: ClassVar[dict[str, str]] = {"G": "KF", "S": "FF"}

    G: Array
    S: Array
    weight: float
    gap: float = 0.0

    def measures(self, D: Array) -> dict[str, float]:
        """The gap."""
        return {"gap": self.gap}


@dataclass(frozen=True)
class FrankWolfeLearner(OrthogonalLearner):
    r"""Maximise :math:`E\|y D^T\|_p^p` over the unit spectral ball (paper D, (5)).

    Algorithm 2 is Algorithm 1 with the loss :math:`-\|y D^T\|_p^p`, so that

    .. math:: g = -p \;\mathrm{mean}\,(|c|^{p-2} \circ c)^T y, \qquad c = y D^T,

    the oracle ``polar(−G)`` and, in NoncvxSFW, also ``polar`` as the improving map (Lemma 4). A
    step takes one or two SVDs. If G is singular, the oracle is the one nearest to the dictionary
    (errata D.3), unless ``nearest_oracle`` is False.
    """

    statistics: ClassVar[type[Statistics]] = GradientStatistics
    name: ClassVar[str] = "frank_wolfe"

    averaging: PowerSchedule
    step: PowerSchedule
    orthogonal: bool = True
    p: int = 3
    n_start: int = START_ITERATIONS
    nearest_oracle: bool = True

    @property
    def description(self) -> str:
        """The name in the paper."""
        return f"{'NoncvxSFW' if self.orthogonal else 'SFW'} on the ℓ{self.p} norm"

    @property
    def why(self) -> str:
        """Chosen by name only."""
        return f"{self.description}, chosen by name"

    def start(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Take the same steps from a random dictionary, each on the first batch (errata D.9).

        Zero is a member of the ball, but has no gradient (errata D.3).
        """
        D = random_orthogonal(Y.shape[1], rng)
        state = self.begin(Y, weight, D)
        for t in range(1, self.n_start + 1):
            batch = self.summarise(state, D, Y, weight)
            progress = Progress(t, batch.weight, t * batch.weight, 1.0)
            D, state = self.update(state, batch, D, progress)
        return D

    def begin(self, Y: Array, weight: Array, D: Array) -> GradientStatistics:
        """``G₀ = 0``."""
        return GradientStatistics.zeros(*D.shape)

    def summarise(
        self, past: GradientStatistics, D: Array, Y: Array, weight: Array
    ) -> GradientStatistics:
        """Gradients, second moments and weight of a block."""
        weighted = Y * weight[:, None]
        G = -self.p * power_gradient(Y @ D.T, self.p).T @ weighted
        return GradientStatistics(G, weighted.T @ Y, float(weight.sum()))

    def update(
        self, past: GradientStatistics, batch: GradientStatistics, D: Array, progress: Progress
    ) -> tuple[Array, GradientStatistics]:
        """Take a step of Algorithm 1; a half-life bounds ρ and γ from below."""
        if not batch.weight > 0:
            return D, past
        least = 1 - progress.keep
        method = StochasticFrankWolfe(
            SpectralBall(),
            lambda t: max(self.averaging(t), least),
            lambda t: max(self.step(t), least),
            polar if self.orthogonal else None,
            self.nearest_oracle,
        )
        before = FrankWolfeState(D, past.G, progress.step - 1)
        after = method.advance(before, batch.G / batch.weight)
        S = progress.keep * past.S + batch.S
        weight = progress.keep * past.weight + batch.weight
        return after.X, replace(past, G=after.G, S=S, weight=weight, gap=after.gap)


@dataclass(frozen=True)
class CodeStatistics(Statistics):
    """``A = Σ cᵀc``, ``B = Σ cᵀy`` and S; each sample is coded with the dictionary of its time."""

    AXES: ClassVar[dict[str, str]] = {"A": "KK", "B": "KF", "S": "FF"}

    A: Array
    B: Array
    S: Array
    weight: float


@dataclass(frozen=True)
class AlternatingLearner(OrthogonalLearner):
    r"""Minimise :math:`\sum_t \|y_t - c_t D\|^2 + \lambda \|c_t\|_1` (paper D, (23)).

    Code a batch with the last dictionary, update A, B, then ``d_k ← Π(d_k + (B_k − A_k D)/A_kk)``
    for one atom after the other, with the projection Π onto the unit ball. ``bounded=False`` omits
    Π, as (23) does, which then has no minimiser: atoms grow and codes vanish (errata D.8).

    Parameters
    ----------
    penalty : float or None
        λ; None is ``2.4/√N``.
    sweeps : int
        Sweeps over all atoms in a step.
    bounded : bool
        Whether the length of atoms is at most one.
    n_start : int
        Iterations on the first batch.
    """

    statistics: ClassVar[type[Statistics]] = CodeStatistics
    name: ClassVar[str] = "aodl"
    coding: ClassVar[str] = "lasso"
    whitens: ClassVar[bool] = False

    penalty: float | None = None
    sweeps: int = 1
    bounded: bool = True
    n_start: int = START_ITERATIONS

    @property
    def description(self) -> str:
        """The name in the paper."""
        return "online AODL"

    @property
    def why(self) -> str:
        """Chosen by name only."""
        return f"{self.description}, chosen by name"

    @property
    def orthogonal(self) -> bool:
        """Atoms are not orthogonal."""
        return False

    @property
    def region(self) -> ConvexSet:
        """The unit ball, for each atom."""
        return _BALL if self.bounded else Reals()

    def problem(self, D: Array) -> CodingProblem:
        """``½‖y − cD‖² + ½λ‖c‖₁``: half of (23)."""
        return CodingProblem(D, SquaredL2(), Regulariser(L1(self._half(D)), Reals()))

    def codes(self, Y: Array, D: Array) -> Array:
        """Exact codes: on their support they solve a linear system."""
        problem = self.problem(np.ascontiguousarray(D))
        C = _NEAR.encode(problem, Y).codes
        wrong = [i for i in range(len(Y)) if not _solve_on_support(Y[i], D, C[i], self._half(D))]
        if wrong:
            C[wrong] = _EXACT.encode(problem, Y[wrong]).codes
        return C

    def _half(self, D: Array) -> float:
        """``λ/2``."""
        return float(1.2 / np.sqrt(D.shape[1]) if self.penalty is None else self.penalty / 2)

    def energies(self, statistics: CodeStatistics, D: Array) -> Array:
        """Mean squares of the codes of the stream."""
        found: Array = np.diag(statistics.A) / max(statistics.weight, TINY)
        return found

    def nearest(self, D: Array) -> Array:
        """The projection onto the set."""
        return self.region.project(D)

    def start(self, Y: Array, weight: Array, rng: np.random.Generator) -> Array:
        """Alternate on the first batch, from a random orthogonal dictionary."""
        D = random_orthogonal(Y.shape[1], rng)
        for _ in range(self.n_start):
            D = self._moved(self._sums(D, Y, weight), D)
        return D

    def begin(self, Y: Array, weight: Array, D: Array) -> CodeStatistics:
        """``A₀ = 0``, ``B₀ = 0``."""
        return CodeStatistics.zeros(*D.shape)

    def summarise(self, past: CodeStatistics, D: Array, Y: Array, weight: Array) -> CodeStatistics:
        """Code a block, and return its sums."""
        return self._sums(D, Y, weight)

    def update(
        self, past: CodeStatistics, batch: CodeStatistics, D: Array, progress: Progress
    ) -> tuple[Array, CodeStatistics]:
        """Add the batch, and update the atoms."""
        now = past.discounted(progress.keep) + batch
        return self._moved(now, D), now

    def _sums(self, D: Array, Y: Array, weight: Array) -> CodeStatistics:
        C = self.codes(Y, D)
        weighted = C * weight[:, None]
        S = second_moments(Y, weight)
        return CodeStatistics(weighted.T @ C, weighted.T @ Y, S, float(weight.sum()))

    def _moved(self, sums: CodeStatistics, D: Array) -> Array:
        """Block coordinate descent; atoms without codes stay."""
        A, B, D = sums.A, sums.B, D.copy()
        for _ in range(self.sweeps):
            for k in np.flatnonzero(np.diag(A) > 0):
                D[k] = self.region.project((D[k] + (B[k] - A[k] @ D) / A[k, k])[None])[0]
        return D


def _solve_on_support(y: Array, D: Array, c: Array, half: float) -> bool:
    """Solve ``d (y − cD)ᵀ = ½λ sign c`` on the support of c, in place; False if it is wrong."""
    support = np.flatnonzero(c)
    A, signs = D[support], np.sign(c[support])
    try:
        found = np.linalg.solve(A @ A.T, A @ y - half * signs)
    except np.linalg.LinAlgError:
        return False
    slopes = np.abs(D @ (y - found @ A))
    if not ((np.sign(found) == signs).all() and (slopes <= half * (1 + _ROUNDING)).all()):
        return False
    c[support] = found
    return True


@dataclass(frozen=True)
class NoncvxSFW(Published):
    r"""Nonconvex stochastic Frank–Wolfe (paper D, Algorithm 2).

    For t = 1, 2, …

    .. math::

        G_t &= (1 - \rho_t) G_{t-1} + \rho_t g_t, \qquad S_t = \mathrm{polar}(-G_t), \\
        D_t &= \mathrm{polar}((1 - \gamma_t) D_{t-1} + \gamma_t S_t),

    ``G₀ = 0``, g the mean gradient of :math:`-\|y D^T\|_p^p` over the batch at the last dictionary.

    Parameters
    ----------
    averaging_scale, averaging_shift, averaging_power : float
        ``ρ_t = scale · (t + shift)^(−power)`` of step 1: ``4 (t + 1)^(−1/2)``, which exceeds one
        before t = 15 (errata D.1).
    step_scale, step_shift, step_power : float
        γ_t of step 3: ``2 (t + 2)^(−3/4)``.
    start_iterations : int
        Iterations of the batch version on the first batch (Table I): the same steps, each with this
        batch; then t and G restart.
    as_printed : bool
        Of the polar factors of a singular G, take that of the SVD instead of the nearest to the
        last dictionary (errata D.3).
    """

    name = "noncvx_sfw"
    powers: ClassVar[tuple[int, ...]] = (3, 4)
    averaging_scale: float = constant(4.0, POSITIVE)
    averaging_shift: float = constant(1.0, ABOVE_MINUS_1)
    averaging_power: float = constant(0.5, AT_LEAST_0)
    step_scale: float = constant(2.0, POSITIVE)
    step_shift: float = constant(2.0, ABOVE_MINUS_1)
    step_power: float = constant(0.75, AT_LEAST_0)
    start_iterations: int = constant(START_ITERATIONS, COUNT_OR_0)
    as_printed: bool = constant(False, FLAG)

    def learner(self, p: int, drifts: bool) -> OrthogonalLearner:
        """The learner of the ℓp norm."""
        return self._frank_wolfe(p, orthogonal=True, first=1)

    def _frank_wolfe(self, p: int, *, orthogonal: bool, first: int) -> FrankWolfeLearner:
        """Build the learner; its schedules count from one, those of a solver from ``first``."""
        shift = first - 1
        return FrankWolfeLearner(
            PowerSchedule(self.averaging_scale, self.averaging_shift + shift, self.averaging_power),
            PowerSchedule(self.step_scale, self.step_shift + shift, self.step_power),
            orthogonal,
            p,
            self.start_iterations,
            not self.as_printed,
        )


@dataclass(frozen=True)
class SFW(NoncvxSFW):
    """Stochastic Frank–Wolfe for convex problems, Baseline 1 of paper D: no outer polar factor.

    As `noncvx_sfw`, but for t = 0, 1, 2, … and ``D_t = (1 − γ_t) D_{t−1} + γ_t S_t``, which stays
    in the ball. The paper gives only the name; the constants are those of the authors' code.

    Parameters
    ----------
    averaging_scale, averaging_shift, averaging_power : float
        ρ_t: ``4/(t + 8)^(2/3)``, so that the first G is the first gradient.
    step_scale, step_shift, step_power : float
        γ_t: ``2/(t + 8)``. The first must not exceed one.
    start_iterations, as_printed
        As in `noncvx_sfw`.
    """

    name = "sfw"
    averaging_shift: float = constant(8.0, POSITIVE)
    averaging_power: float = constant(2 / 3, AT_LEAST_0)
    step_shift: float = constant(8.0, POSITIVE)
    step_power: float = constant(1.0, AT_LEAST_0)

    def __post_init__(self) -> None:
        super().__post_init__()
        first = self.step_scale * self.step_shift**-self.step_power
        if first > 1:
            raise ValueError(
                f"The first step of sfw would be step_scale · step_shift^(−step_power) = "
                f"{first:.3g}, and steps above one leave the ball; use a larger step_shift."
            )

    def learner(self, p: int, drifts: bool) -> OrthogonalLearner:
        """The learner of the ℓp norm, without the outer polar factor."""
        return self._frank_wolfe(p, orthogonal=False, first=0)


@dataclass(frozen=True)
class AODL(Published):
    r"""Online alternating dictionary learning, Baseline 3 of paper D; atoms are *not* orthogonal.

    .. math:: \min \sum_t \|y_t - c_t D\|^2 + \lambda \|c_t\|_1 \qquad (23)

    Exact codes with the last dictionary, ``A += cᵀc``, ``B += cᵀy``, then block coordinate descent
    over atoms in the unit ball (Mairal et al., 2009, cited by the paper).

    Parameters
    ----------
    penalty : float, optional
        λ, in the unit of the data. Paper D does not give it; None is ``2.4/√N``, for samples of
        length one: twice the value of Mairal et al. (from memory), as (23) has no ½.
    sweeps : int
        Sweeps over all atoms in a step.
    start_iterations : int
        Alternations on the first batch (Table I).
    as_printed : bool
        As in (23), do not bound the length of atoms; then there is no minimiser, and atoms grow
        without limit (errata D.8).
    """

    name = "aodl"
    powers: ClassVar[tuple[int, ...]] = (3,)
    penalty: float | None = constant(None, POSITIVE)
    sweeps: int = constant(1, COUNT)
    start_iterations: int = constant(START_ITERATIONS, COUNT_OR_0)
    as_printed: bool = constant(False, FLAG)

    def learner(self, p: int, drifts: bool) -> OrthogonalLearner:
        """The learner, which has one norm."""
        return AlternatingLearner(
            self.penalty, self.sweeps, not self.as_printed, self.start_iterations
        )


# ---------------------------------------- compression by codes on two dictionaries (II-B)


class Codes(NamedTuple):
    """The transmitted codes of rows: positions and values, each of shape (n, η₀)."""

    positions: Array
    values: Array

    def decoded(self, D: Array) -> Array:
        """Return ``ŷ = c D``."""
        rows: Array = np.einsum("nk,nkj->nj", self.values, D[self.positions])
        return rows


class DictionaryAngles(NamedTuple):
    """A transmitted orthogonal dictionary: Givens angles, and the sign of its determinant."""

    angles: Array
    sign: int

    @classmethod
    def of(cls, D: Array, bits: int | None, *, with_sign: bool = False) -> "DictionaryAngles":
        """Return the angles of a dictionary, rounded to multiples of 2π / 2^bits if given.

        Without the sign, the last atom may be negated, which does not affect the codes.
        """
        angles, sign = givens_angles(D)
        if bits is not None:
            unit = 2 * np.pi / 2**bits
            angles = np.rint(angles / unit) * unit
        return cls(angles, sign if with_sign else 1)

    def matrix(self, N: int) -> Array:
        """Return the dictionary."""
        return from_givens(self.angles, self.sign, N)


class DictionaryCompression:
    r"""The edge of the compression scheme of section II-B, example 1.

    Edge and cloud share a dictionary :math:`D_c`, and the edge learns another one, D. In time slot
    t, for each sample y:

    1. Codes :math:`c = T(y D_c^T)`, where T keeps the η₀ largest.
    2. If :math:`\|y - c D_c\| > \mathrm{threshold} \cdot \|y\|`, or the cloud has no dictionary,
       the edge sends :math:`D_{t-1}` as N(N−1)/2 Givens angles, which becomes :math:`D_c`, and y is
       coded with it.
    3. After the last sample, one step of Algorithm 2 (NoncvxSFW) on the slot gives :math:`D_t`.
    4. The cloud recovers :math:`\hat y = c D_c`.

    As printed, step 1 codes with :math:`D_{t-1}`, which is not the dictionary of the decoder
    (errata D.6). Missing values are imputed by the mean of the others, as in section V-C.

    Parameters
    ----------
    n_sensors : int
        N.
    n_nonzero : int
        η₀.
    threshold : float
        The relative error of a row above which a dictionary is sent.
    forgetting : float, optional
        Half-life in samples; the paper has no forgetting.
    angle_bits : int, optional
        Round angles to multiples of 2π / 2^bits; the paper does not specify their format.
    start : array of shape (N, N), optional
        D₀; by default a random orthogonal matrix.
    as_printed : bool
        Code with the dictionary of the edge, send a sign, and allow several dictionaries in a slot.
    """

    def __init__(
        self,
        n_sensors: int,
        n_nonzero: int,
        threshold: float,
        *,
        forgetting: float | None = None,
        angle_bits: int | None = None,
        start: Array | None = None,
        as_printed: bool = False,
    ) -> None:
        self.D = random_orthogonal(n_sensors, np.random.default_rng(0)) if start is None else (
            polar(np.asarray(start, dtype=np.float64))
        )  # fmt: skip
        self.cloud: Array | None = None
        self._n_nonzero, self._threshold = min(n_nonzero, n_sensors), threshold
        self._forgetting, self._bits, self._as_printed = forgetting, angle_bits, as_printed
        self._learner = NoncvxSFW().learner(3, drifts=False)
        self._learned: Any = self._learner.begin(np.empty((0, n_sensors)), np.empty(0), self.D)
        self._n_slots = self._n_rows = 0

    def slot(self, Y: Array) -> Iterator[DictionaryAngles | Codes]:
        """Yield the messages for the rows of a time slot, NaN where missing; then learn."""
        present = ~np.isnan(Y)
        filled = row_means(Y, None if present.all() else present)
        coded, is_sent = list[tuple[Array, Array]](), False
        for y in filled:
            codes = self._codes(y)
            if self._exceeds(y, codes) and (self._as_printed or not is_sent):
                if coded:
                    yield _joined(coded)
                sent = DictionaryAngles.of(self.D, self._bits, with_sign=self._as_printed)
                self.cloud, coded, is_sent = sent.matrix(len(self.D)), [], True
                yield sent
                codes = codes if self._as_printed else self._codes(y)
            coded.append(codes)
        yield _joined(coded)
        self._learn(filled)

    def _codes(self, y: Array) -> tuple[Array, Array]:
        D = self.D if self._as_printed or self.cloud is None else self.cloud
        c = D @ y
        positions: Any = np.argsort(-np.abs(c), kind="stable")[: self._n_nonzero]
        return positions, c[positions]

    def _exceeds(self, y: Array, codes: tuple[Array, Array]) -> bool:
        if self.cloud is None:
            return True
        positions, values = codes
        error = np.linalg.norm(y - values @ self.cloud[positions])
        return bool(error > self._threshold * np.linalg.norm(y))

    def _learn(self, Y: Array) -> None:
        n = len(Y)
        self._n_slots, self._n_rows = self._n_slots + 1, self._n_rows + n
        keep = 1.0 if self._forgetting is None else 2.0 ** (-n / self._forgetting)
        sums = self._learner.summarise(self._learned, self.D, Y, np.ones(n))
        progress = Progress(self._n_slots, n, self._n_rows, keep)
        self.D, self._learned = self._learner.update(self._learned, sums, self.D, progress)


def _joined(rows: list[tuple[Array, Array]]) -> Codes:
    positions, values = zip(*rows, strict=True)
    return Codes(np.array(positions), np.array(values))
