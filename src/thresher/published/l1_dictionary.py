"""Paper B, ℓ1 dictionaries: OIADMM online, and ADMM (Algorithms 2 to 4) in batch."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.encoding import (
    ActiveRows,
    CodingProblem,
    Encoder,
    Fit,
    IterativeEncoder,
    RowSolver,
    State,
    Stop,
    can_stay_sparse,
)
from thresher.engine import Alternation, BatchProblem, Pool, Specification, StreamState
from thresher.learning import Learner, Statistics
from thresher.linalg import Array, as_dense, thinned
from thresher.losses import Loss
from thresher.penalties import Form, Regulariser
from thresher.published.base import BELOW_1, COUNT, POSITIVE, Rule, constant, one_of
from thresher.published.method import PlainUpdates, PublishedMethod, PublishedSolver

Horizon = Literal["doubling", "growing"]
_HORIZONS = one_of(Horizon)
_HORIZON = Rule(
    f"{COUNT.words}, {_HORIZONS.words}", lambda value: COUNT.holds(value) or _HORIZONS.holds(value)
)


@dataclass(frozen=True)
class LinearisedConstants:
    """Constants of Algorithms 2 and 3 of paper B.

    Parameters
    ----------
    phi, gamma : float
        φ and γ of both, in the unit of the data: 5 and 1.89 are for documents that sum to one.
    kappa : float
        κ in units of ``1/λmax(D Dᵀ)`` (Algorithm 2, printed) and ``1/λmax(CᵀC)`` (Algorithm 3, not
        given).
    iterations : int
        Maximum number of iterations of either algorithm.
    tol : float
        Both residuals at which either stops; 0 runs all iterations. The paper: "to convergence"
        (errata B.9).
    """

    phi: float = constant(5.0, POSITIVE)
    gamma: float = constant(1.89, POSITIVE)
    kappa: float = constant(1.0, POSITIVE)
    iterations: int = constant(1000, COUNT)
    tol: float = constant(1e-3, BELOW_1)

    @property
    def encoder(self) -> Encoder:
        """Codes: Algorithm 2."""
        steps = LinearisedADMM(self)
        return IterativeEncoder(steps, SmallSplitResiduals(self.tol), self.iterations)


@dataclass(frozen=True)
class DualConstants(LinearisedConstants):
    """Constants of OIADMM, in addition to those of its codes.

    Parameters
    ----------
    beta : float
        β of every batch, in the inverse unit of the data, unless there is a ``horizon``; 5 is
        quoted from memory of the main paper.
    share : float
        ``τ = share/λmax(CᵀC)`` of every batch; Theorem B.5 (iv) requires at most 1/2.
    tau : float, optional
        A constant τ instead, for which the sums of the theorem telescope.
    horizon : int, "doubling" or "growing", optional
        T, the number of batches to come, for ``β = (Φ/‖D*‖)√(τT)`` of Theorem B.5 instead of
        ``beta``. It is unknown for a stream. ``doubling``: τ and β are constant over an epoch of T
        batches, T doubles from epoch to epoch, and the dual restarts at zero; an epoch also ends
        when a batch has a larger Φ or requires a smaller τ, and τ is then half of the required
        value. ``growing``: T is the number of batches so far.
    best_norm, subgradient_norm : float, optional
        ‖D*‖ and Φ of the theorem; by default their bounds √K and, for every batch, √(nF).
    """

    beta: float = constant(5.0, POSITIVE)
    share: float = constant(0.5, POSITIVE)
    tau: float | None = constant(None, POSITIVE)
    horizon: int | Horizon | None = constant(None, _HORIZON)
    best_norm: float | None = constant(None, POSITIVE)
    subgradient_norm: float | None = constant(None, POSITIVE)


@dataclass(frozen=True)
class LinearisedADMM(RowSolver):
    """Algorithm 2: a copy E of the residual ``P − C D``, its dual ρ, a gradient step for the codes.

    As printed, with ``κ = 1/λmax(D Dᵀ)``, ``φ = 5``, ``γ = 1.89``::

        E ← soft(P − C D + ρ/φ, 1/φ)                 G ← (C D + E − P − ρ/φ) Dᵀ
        C ← [C − κG − λκ/φ]₊                         ρ ← ρ + γφ(P − C D − E)

    E is not stored: with ``U = clip(φ(P − C D) + ρ, 1)``, which is φ(P − C D − E) + ρ,

        C' ← [C + (κ/φ)(U Dᵀ − λ)]₊                  ρ ← ρ + γ(U − ρ − φ(C' − C) D).

    φ has the inverse unit of the data: 5 is for documents that sum to one. Convergence is proven
    for ``κλmax + γ ≤ 2`` only. With these constants it is slow (errata B.2), so scores need exact
    codes.

    Features without any atom do not change the codes, and are left out. Products use sparse atoms
    where atoms have few features, as those of documents have.
    """

    constants: LinearisedConstants = field(default_factory=LinearisedConstants)

    def precompute(self, problem: CodingProblem) -> tuple[NDArray[np.intp], Any, float]:
        """Features of the atoms, the dictionary on them (CSR if it is sparse), and λmax."""
        columns = np.flatnonzero(problem.D.any(axis=0))
        D = thinned(np.ascontiguousarray(problem.D[:, columns]))
        return columns, D, problem.dictionary_norm

    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Zero codes, as published, or given ones; a zero dual."""
        problem = block.problem
        points = problem.loss.nonsmooth_points
        if points is None or points.square:
            raise ValueError(
                f"This ADMM splits off the residual of the ℓ1 distance and cannot use "
                f"{problem.loss}; use L1Distance, or another solver."
            )
        columns, D, _ = block.shared
        weight = block.weight
        seen = block.X if weight is None else np.where(weight > 0, block.X, 0)
        size = np.asarray(abs(seen).sum(axis=1)).ravel()
        X = seen[:, columns]
        X, _ = as_dense(X)  # as is the dual
        n, K = X.shape[0], len(problem.D)
        C = np.zeros((n, K), dtype=X.dtype) if codes is None else np.array(codes, dtype=X.dtype)
        moved = np.full(n, np.inf, dtype=X.dtype)
        bound = points.bounds(X, None if weight is None else weight[:, columns])
        bound = np.ones((n, 1), dtype=X.dtype) if bound is None else bound
        state = {"C": C, "residual": X - _predicted(C, D), "dual": np.zeros_like(X), "size": size}
        return state | {"bound": bound, "primal": moved, "change": moved.copy()}

    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Iterate Algorithm 2."""
        problem = block.problem
        _, D, norm = block.shared
        bound, number, given = state["bound"], block.X.dtype.type, self.constants
        phi, step = number(given.phi), number(given.kappa / norm / given.phi)
        for _ in range(times):
            C, dual, residual = state["C"], state["dual"], state["residual"]
            U = phi * residual
            U += dual
            np.clip(U, -bound, bound, out=U)
            new = problem.regulariser.prox(C + step * _correlated(U, D), step)
            towards = _predicted(new - C, D)
            residual -= towards
            towards *= phi
            U -= dual
            U -= towards  # φ(P − C' D − E)
            state["C"] = new
            state["primal"] = np.abs(U).sum(axis=1) / phi
            state["change"] = np.abs(new - C).max(axis=1) / step
            U *= number(given.gamma)
            dual += U

    def codes(self, block: ActiveRows, state: State) -> Array:
        """Return the codes, which are feasible."""
        return state["C"]


def _predicted(C: Array, D: Any) -> Array:
    """``C D``."""
    if isinstance(D, np.ndarray):
        return np.asarray(C @ D)
    return np.asarray((sparse.csr_array(C) @ D).toarray())


def _correlated(U: Array, D: Any) -> Array:
    """``U Dᵀ``."""
    if isinstance(D, np.ndarray):
        return np.asarray(U @ D.T)
    return np.asarray(D @ np.ascontiguousarray(U.T)).T


@dataclass(frozen=True)
class SmallSplitResiduals(Stop):
    """Stop a row when its primal and its dual residual are small.

    ``‖p − c D − e‖₁ ≤ tol ‖p‖₁`` on the features of the atoms, and ``(φ/κ) max |c' − c| ≤ tol
    max_k ‖d_k‖₁``, the largest possible slope of a code. The paper: "to convergence" (errata B.9).
    """

    tol: float = 1e-3

    def done(self, solver: RowSolver, block: ActiveRows, state: State) -> NDArray[np.bool_]:
        """Test the residuals of the last step."""
        slope = np.abs(block.problem.D).sum(axis=1).max()
        dual, primal = (
            state["change"] <= self.tol * slope,
            state["primal"] <= self.tol * state["size"],
        )
        return np.asarray(dual & primal)


def needs_l1(loss: Loss) -> str | None:
    """The requirement of steps that split off the residual of the ℓ1 distance."""
    if loss.nonsmooth_points is None or loss.nonsmooth_points.square:
        return f"the ℓ1 distance, whose residual is split off, not {loss}; use solver='auto'"
    return None


@dataclass(frozen=True)
class CodedSamples(Statistics):
    """Samples P and codes C of a block or batch: statistics that add up by concatenation.

    Attributes
    ----------
    P, C : arrays of shape (n, F) and (n, K)
    bound : array of shape (n, F) or (n, 1)
        Weight of each residual: zero where an entry is missing.
    sample_weight : array of shape (n,)
        A weight of two counts as two equal samples.
    """

    AXES: ClassVar[dict[str, str]] = {"P": "nF", "C": "nK", "bound": "nf", "sample_weight": "n"}

    P: Array
    C: Array
    bound: Array
    sample_weight: Array

    @classmethod
    def of(cls, fit: Fit, sample_weight: Array | None) -> "CodedSamples":
        """Return the samples and codes of a fit."""
        P, points = fit.samples(), fit.loss.nonsmooth_points
        if points is None:
            raise ValueError(f"The ADMM steps of paper B need {needs_l1(fit.loss)}.")
        bound = points.bounds(P, fit.weight)
        weights = np.ones(len(P)) if sample_weight is None else sample_weight
        if bound is None:
            bound = np.ones((len(P), 1), dtype=P.dtype)
        return cls(P, fit.C, bound, weights.astype(P.dtype))

    def __add__(self, other: "CodedSamples") -> "CodedSamples":
        """Concatenate the samples."""
        pairs = zip(self.arrays().values(), other.arrays().values(), strict=True)
        return CodedSamples(*map(np.concatenate, pairs))

    @property
    def weight(self) -> float:
        """Total weight of the samples."""
        return float(self.sample_weight.sum())

    def spectral_norm(self) -> float:
        """``λmax(CᵀC)``."""
        return float(np.linalg.norm((self.C * self.sample_weight[:, None]).T @ self.C, 2))

    def subgradient_norm(self) -> float:
        """Φ, a bound on the length of subgradients of ``‖P − C D‖₁``; √(nF) without weights."""
        bound = np.broadcast_to(self.bound, self.P.shape)
        return float(np.sqrt(self.sample_weight @ np.einsum("nf,nf->n", bound, bound)))

    def residual(self, D: Array) -> Array:
        """``P − C D``."""
        R = self.predicted(D)
        return np.subtract(self.P, R, out=R)

    def predicted(self, D: Array) -> Array:
        """``C D``."""
        return np.asarray(self._codes @ D)

    def correlated(self, U: Array) -> Array:
        """``Cᵀ W U``, W the weights of the samples."""
        return np.asarray(self._codes.T @ (U * self.sample_weight[:, None]))

    @cached_property
    def _codes(self) -> Any:
        return thinned(self.C)  # sparse, as documents have few atoms each

    def loss(self, residual: Array) -> float:
        """``‖P − C D‖₁`` of a residual."""
        return float(self.sample_weight @ (self.bound * np.abs(residual)).sum(axis=1))


def linearised_step(
    samples: CodedSamples,
    D: Array,
    residual: Array,
    dual: Array,
    beta: float,
    tau: float,
    gamma: float,
    regulariser: Regulariser,
    free: NDArray[np.bool_],
) -> tuple[Array, Array, Array, Array]:
    """One step of linearised ADMM for ``min over D of ‖P − C D‖₁``.

    With ``Γ̃ = P − C D`` and a copy Γ of it (paper B, (2)–(4); Algorithm 3 calls it E and takes
    ``γ = 1.89``)::

        Γ ← soft(Γ̃ + Δ/β, 1/β)                      G ← −Cᵀ(Δ/β + Γ̃ − Γ)
        D' ← Π(D − τG)                               Δ ← Δ + γβ(P − C D' − Γ)

    Γ is not stored: ``U = clip(βΓ̃ + Δ, 1)`` is ``β(Γ̃ − Γ) + Δ``, so that

        G = −CᵀU/β                                   Δ ← Δ + γ(U − Δ − βC(D' − D)).

    Returns D', ``P − C D'``, the new Δ, and ``P − C D' − Γ``, the violation of the constraint.
    """
    bound = samples.bound
    U = beta * residual
    U += dual
    np.clip(U, -bound, bound, out=U)
    G = -samples.correlated(U) / beta
    # The penalty is relative to the mean loss; this loss is the sum.
    moved = regulariser.prox(D - tau * G, samples.weight * tau / beta)
    moved = np.where(free[:, None], moved, D)
    towards = samples.predicted(moved - D)
    U -= dual
    U -= beta * towards  # β(P − C D' − Γ)
    return moved, np.subtract(residual, towards, out=towards), dual + gamma * U, U / beta


@dataclass(frozen=True)
class DualStatistics(Statistics):
    """The state of OIADMM.

    Attributes
    ----------
    Delta : float64 array of shape (n, F)
        The dual, one row for each document of the largest batch so far.
    slope : float64 array of shape (K, F), or (0, F) where the regret is not known
        ``Σ CᵀU`` with ``U = clip(β(P − C D) + Δ, 1)``.
    step, horizon : float
        Steps of this epoch, and the number for which its β was computed.
    tau, beta : float
        Step sizes of the last step.
    phi : float
        Φ of this β.
    violation : float
        ``Σ ‖Γ − (P − C D')‖²`` over all steps (Theorem B.6).
    cost, value : float
        ``Σ ‖P − C D‖₁`` and ``Σ ⟨U, P⟩``.
    regret : float
        ``cost − value + max over D* in S of ⟨Σ CᵀU, D*⟩``.
    """

    AXES: ClassVar[dict[str, str]] = {"Delta": "nF", "slope": "mF"}

    Delta: Array
    slope: Array
    step: float = 0.0
    horizon: float = 1.0
    tau: float = 0.0
    beta: float = 0.0
    phi: float = 0.0
    violation: float = 0.0
    cost: float = 0.0
    value: float = 0.0
    regret: float = 0.0

    def discounted(self, factor: float) -> "DualStatistics":
        """Return it unchanged: a dual is not an average."""
        return self

    def measures(self, D: Array) -> dict[str, float]:
        """The violation so far, and a bound on the regret."""
        regret = {"regret": self.regret} if len(self.slope) else {}
        return {"violation": self.violation, **regret}

    def keep(self, columns: NDArray[np.intp]) -> "DualStatistics":
        """Keep some features only; the regret restarts on those."""
        kept = super().keep(columns)
        return replace(kept, slope=0 * kept.slope, cost=0.0, value=0.0, regret=0.0)

    def after(
        self, samples: CodedSamples, cost: float, U: Array, regulariser: Regulariser
    ) -> "DualStatistics":
        """Add a step of cost ``‖P − C D‖₁`` to the regret.

        No entry of U exceeds one, so the total cost of any D* in S is at least
        ``Σ⟨U, P − C D*⟩``. Therefore the regret against the best of them, at the same codes, is at
        most `regret`. This requires a set with a linear minimisation oracle.
        """
        region = regulariser.region
        if not hasattr(region, "minimise_linear") or not regulariser.form.is_unpenalised:
            return self
        slope = samples.correlated(U)
        slope[: len(self.slope)] += self.slope  # new atoms had no codes
        value = self.value + float(samples.sample_weight @ np.einsum("nf,nf->n", U, samples.P))
        most = float(np.vdot(slope, region.minimise_linear(-slope)))
        total = self.cost + cost
        return replace(self, slope=slope, cost=total, value=value, regret=total - value + most)


@dataclass(frozen=True)
class OnlineInexactADMM(Learner):
    """One `linearised_step` with ``γ = 1`` for every batch; the dual is kept between batches.

    Row i of the dual belongs to the i-th document of a batch, so the order within batches matters.
    The theory is for batches of equal size. Here new rows of the dual start at zero, and rows
    beyond the size of a small batch stay unchanged until the next large one (errata B.4). A batch
    without any codes leaves the dictionary unchanged, and moves the dual (errata B.3).
    """

    keeps_samples: ClassVar[bool] = True

    constants: DualConstants = field(default_factory=DualConstants)

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """Require the ℓ1 distance, whose residual is split off."""
        return needs_l1(loss)

    def empty(self, n_components: int, n_features: int) -> DualStatistics:
        """An empty dual."""
        return DualStatistics.zeros(n_components, n_features)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> CodedSamples:
        """Return the samples and codes."""
        return CodedSamples.of(fit, sample_weight)

    def update(
        self,
        past: DualStatistics,
        batch: CodedSamples,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, DualStatistics, Array]:
        """(2)–(4)."""
        ones = np.ones(len(D), dtype=D.dtype)
        now = self._step_sizes(past, batch, len(D))
        if now.beta == 0:  # β of the theorem without any codes, where τ is not known
            return D.copy(), past, ones
        n = len(batch.P)
        Delta = now.Delta
        if len(Delta) < n:
            Delta = np.concatenate([Delta, np.zeros((n - len(Delta), D.shape[1]))])
        exact = D.astype(np.float64)
        before = batch.residual(exact)
        cost = batch.loss(before)
        moved, residual, rows, gap = linearised_step(
            batch, exact, before, Delta[:n], now.beta, now.tau, 1.0, regulariser, free
        )
        U = rows + now.beta * (before - residual)
        after = replace(
            now.after(batch, cost, U, regulariser),
            Delta=np.concatenate([rows, Delta[n:]]),
            step=now.step + 1,
            violation=now.violation
            + float(batch.sample_weight @ np.where(batch.bound > 0, gap**2, 0).sum(axis=1)),
        )
        return moved.astype(D.dtype), after, ones

    def _step_sizes(
        self, past: DualStatistics, batch: CodedSamples, n_components: int
    ) -> DualStatistics:
        """Return τ and β of the next step, in a new epoch if the last one has ended."""
        given, largest = self.constants, batch.spectral_norm()
        tau = given.share / largest if largest > 0 else 0.0
        tau = tau if given.tau is None else given.tau
        if given.horizon is None:
            return replace(past, tau=tau, beta=given.beta)
        phi = batch.subgradient_norm() if given.subgradient_norm is None else given.subgradient_norm
        if given.horizon == "doubling":
            return self._epoch(past, tau, phi, n_components)
        T = past.step + 1 if given.horizon == "growing" else float(given.horizon)
        beta = self._beta(phi, tau, T, n_components)
        return replace(past, tau=tau, beta=beta, phi=phi, horizon=T)

    def _epoch(
        self, past: DualStatistics, tau: float, phi: float, n_components: int
    ) -> DualStatistics:
        """Continue the epoch, or begin the next one."""
        tau = tau if tau > 0 else past.tau  # a batch without codes has no bound on τ
        used_up = past.step >= past.horizon
        if past.step > 0 and not used_up and tau >= past.tau and phi <= past.phi:
            return past
        if self.constants.tau is None:
            tau = past.tau if 0 < past.tau <= tau else tau / 2
        phi = max(phi, past.phi)
        T = 2 * past.horizon if used_up else past.horizon
        beta = self._beta(phi, tau, T, n_components)
        nothing = np.zeros_like(past.Delta)
        return replace(past, Delta=nothing, step=0.0, horizon=T, tau=tau, beta=beta, phi=phi)

    def _beta(self, phi: float, tau: float, T: float, n_components: int) -> float:
        """``(Φ/‖D*‖)√(τT)``."""
        given = self.constants.best_norm
        size = float(np.sqrt(n_components)) if given is None else given
        return phi / size * float(np.sqrt(tau * T))


@dataclass(frozen=True)
class L1DictionaryADMM(Learner):
    """Algorithm 3, ``min over D in S of ‖P − C D‖₁``: iterate `linearised_step` from the last D.

    It stops when ``‖P − C D − E‖₁ ≤ tol ‖P‖₁`` and ``(φ/κ) max |D' − D| ≤ tol max_k Σ_n c_nk``
    (errata B.9). The loss is not monotone.
    """

    keeps_samples: ClassVar[bool] = True

    constants: LinearisedConstants = field(default_factory=LinearisedConstants)

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """Require the ℓ1 distance, whose residual is split off."""
        return needs_l1(loss)

    def empty(self, n_components: int, n_features: int) -> Statistics:
        """Empty statistics: all samples are in memory."""
        return Statistics()

    def summarise(self, fit: Fit, sample_weight: Array | None) -> CodedSamples:
        """Return the samples and codes."""
        return CodedSamples.of(fit, sample_weight)

    def update(
        self,
        past: Statistics,
        batch: CodedSamples,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, Statistics, Array]:
        """Run Algorithm 3 from D; without any codes there is no step."""
        ones = np.ones(len(D), dtype=D.dtype)
        largest = batch.spectral_norm()
        if largest == 0:
            return D.copy(), past, ones
        given, size = self.constants, batch.loss(batch.P)
        kappa = given.kappa / largest
        slope = float((batch.sample_weight @ np.abs(batch.C)).max())
        point, residual, dual = D, batch.residual(D), np.zeros_like(batch.P)
        for _ in range(given.iterations):
            before = point
            point, residual, dual, gap = linearised_step(
                batch, point, residual, dual, given.phi, kappa, given.gamma, regulariser, free
            )
            moved = float(np.abs(point - before).max()) * given.phi / kappa
            if batch.loss(gap) <= given.tol * size and moved <= given.tol * slope:
                break
        return point.astype(D.dtype), past, ones


@dataclass
class DictionaryFirst(PlainUpdates):
    """Alternate between dictionary and codes: Algorithm 4 of paper B.

    An iteration updates the dictionary, then solves all codes from zero. Initial codes are used for
    the first dictionary only. The objective may rise.
    """

    def __post_init__(self) -> None:
        if self.cold:
            self.cold = False
            self._code()
        else:
            self._evaluate()

    def improve_codes(self) -> None:
        """Do nothing: the codes belong to the dictionary already."""

    def improve_dictionary(self) -> None:
        """Take the learner's step, and code all samples."""
        method = self.problem.method
        self.D, _, _ = method.learner.update(
            method.learner.empty(*self.D.shape),
            self._summed(),
            self.D,
            method.dictionary_regulariser,
            self.problem.free(len(self.D)),
        )
        self._code()

    def _code(self) -> None:
        coding = self.problem.coding(self.D)
        encode = self.encoder.prepare(coding, self.problem.method.rows(self.problem.batch))

        def work(rows: slice) -> None:
            X, weight = self.problem.load(rows)
            self.C[rows] = encode(X, weight).codes

        self.C = np.zeros_like(self.C)
        self.pool.map(work, self.problem.blocks())
        self._evaluate()


def dictionary_first(
    problem: BatchProblem, state: StreamState, codes: Array | None, pool: Pool
) -> Alternation:
    """Begin Algorithm 4 at zero codes, or at a copy of given ones."""
    D = state.D.copy()
    zero = np.zeros((problem.batch.n_samples, len(D)))
    start = (zero if codes is None else codes).astype(D.dtype)
    encoder, cold = problem.method.encoder, codes is None
    return DictionaryFirst(problem, D, start, encoder, pool, cold=cold)


@dataclass(frozen=True)
class OIADMM(DualConstants, PublishedSolver[Specification]):
    """Linearised ADMM codes, online inexact ADMM dictionary (paper B, (2)–(4)).

    Its constants are those of `LinearisedConstants` and `DualConstants`.
    """

    name = "oiadmm"
    description = "linearised ADMM codes, online inexact ADMM dictionary (paper B, OIADMM)"

    def method(self, given: Specification) -> PublishedMethod:
        """Build the method; batches are expanded, scores need not be."""
        learner = OnlineInexactADMM(self)
        sparse = can_stay_sparse(given.loss(1.0), given.code_regulariser)
        return self.build(given, self.encoder, learner, keep_sparse=sparse)


@dataclass(frozen=True)
class ADMM(LinearisedConstants, PublishedSolver[Specification]):
    """Linearised ADMM dictionary and codes in turns (paper B, Algorithms 3 and 2).

    Its constants are those of `LinearisedConstants`.
    """

    name = "admm"
    description = "linearised ADMM codes and dictionary (paper B, Algorithms 2 and 3)"

    @property
    def learner(self) -> L1DictionaryADMM:
        """The dictionary: Algorithm 3."""
        return L1DictionaryADMM(self)

    def method(self, given: Specification) -> PublishedMethod:
        """Build the method; samples are expanded, scores need not be."""
        sparse = can_stay_sparse(given.loss(1.0), given.code_regulariser)
        rounds = dictionary_first
        return self.build(given, self.encoder, self.learner, rounds=rounds, keep_sparse=sparse)
