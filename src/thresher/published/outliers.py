"""Paper A, robust NMF: OPGD and OADMM online, BPGD and BADMM in batch."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import (
    ActiveRows,
    BlockADMM,
    CodingProblem,
    Encoder,
    Fit,
    IterativeEncoder,
    Never,
    RowSolver,
    SmallChange,
    State,
)
from thresher.engine import Alternation, BatchProblem, Pool, Rounds, Specification
from thresher.learning import (
    BlockDescent,
    DictionaryProblem,
    DictionaryStep,
    QuadraticLearner,
    QuadraticStatistics,
)
from thresher.linalg import Array
from thresher.losses import Envelope
from thresher.published.base import (
    AT_LEAST_0,
    COUNT,
    FLAG,
    POSITIVE,
    SHARE,
    constant,
)
from thresher.published.method import (
    PublishedMethod,
    PublishedSolver,
    plain_updates,
    uniform_codes,
)
from thresher.sets import Reals


def uniform_start(
    block: ActiveRows, seed: int, envelope: Envelope | None
) -> tuple[Array, Array | None]:
    """Uniform codes and, under an ``envelope``, outliers of a block, projected onto their sets.

    Rows differ; the same block always starts from the same values.
    """
    problem, X = block.problem, block.X
    n, (K, F) = X.shape[0], problem.D.shape
    rng = np.random.default_rng(seed)
    C = problem.regulariser.region.project(rng.random((n, K)).astype(X.dtype))
    if envelope is None:
        return C, None
    R: Array = envelope.region.project(rng.random((n, F)).astype(X.dtype))
    if block.weight is not None:
        R[block.weight == 0] = 0
    return C, R


@dataclass(frozen=True)
class ProjectedGradient(RowSolver):
    """``c ← prox(c − η(cD + r − x)Dᵀ)``, ``η = κ/‖D‖₂²``, ``r ← clip(soft(x − cD, λ), M)``.

    These are (15)–(17) of paper A. Codes and outliers start uniform on [0, 1], as published. After
    the first step, r is the exact minimiser given c. So the alternation is projected gradient
    descent on the envelope, and r needs no variable (errata A.1). From given codes, this holds from
    the first step on.
    """

    kappa: float = 0.7
    seed: int = field(default=0, repr=False)

    def precompute(self, problem: CodingProblem) -> float:
        """The norm that the step size needs."""
        return problem.dictionary_norm

    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Return uniform codes and outliers, or given codes, and a step size for each row."""
        problem, X = block.problem, block.X
        if codes is None:
            C, R = uniform_start(block, self.seed, problem.loss.envelope)
        else:
            C, R = problem.regulariser.region.project(codes), None
        curvature = problem.row_curvature(block.weight, X.shape[0])
        eta = self.kappa / (curvature * X.dtype.type(problem.dictionary_norm))
        state = {"C": C, "eta": eta}
        if R is not None:
            values = problem.fit(X, C, block.weight, R).values()
            state["R"], state["objective"] = R, values + problem.regulariser.value(C)
        return state

    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Projected (proximal, under a penalty) gradient steps."""
        problem, eta = block.problem, state["eta"]
        for _ in range(times):
            C, R = state["C"], state.pop("R", None)
            gradient = problem.gradient(block.X, C, block.weight, R)
            state["C"] = problem.regulariser.prox(C - eta * gradient, eta)

    def codes(self, block: ActiveRows, state: State) -> Array:
        """The current codes."""
        return state["C"]


@dataclass(frozen=True)
class OutlierADMM(RowSolver):
    """Eqs (25)–(30): copies u of the codes h and q of the outliers r.

    In the notation of the paper::

        h ← (D Dᵀ + ρ₁I)⁻¹ ((x − r)Dᵀ + ρ₁u − α)     r ← prox_{φ/(1+ρ₂)}((ρ₂q + x − β − hD)/(1+ρ₂))
        u ← prox(h + α/ρ₁)                           q ← Π(r + β/ρ₂)
        α ← α + ρ₁(h − u)                            β ← β + ρ₂(r − q)

    with the new h in the r-step. u and q start uniform on [0, 1], and the duals at zero. The
    feasible copies u, q are returned and determine the stop, because at (h, r) the objective can be
    below the optimum (errata A.5); ``as_printed`` takes h, r. All rows share the inverse of
    ``D Dᵀ + ρ₁I``; with entry weights, each row has its own.
    """

    rho_1: float = 1.0
    rho_2: float = 1.0
    as_printed: bool = False
    seed: int = field(default=0, repr=False)

    def precompute(self, problem: CodingProblem) -> Array:
        """``(D Dᵀ + ρ₁I)⁻¹`` of (25)."""
        shifted = problem.gram.astype(np.float64) + self.rho_1 * np.eye(len(problem.gram))
        inverse: Array = np.linalg.inv(shifted).astype(problem.D.dtype)
        return inverse

    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Uniform codes (or given ones) and outliers, as published, and zero duals."""
        problem, X, weight = block.problem, block.X, block.weight
        U, Q = uniform_start(block, self.seed, _envelope(problem))
        assert Q is not None
        if codes is not None:
            U = problem.regulariser.region.project(codes)
        state = {"H": U, "U": U, "R": Q, "Q": Q}
        state |= {"alpha": np.zeros_like(U), "beta": np.zeros_like(Q)}
        if weight is not None:
            gram = (weight[:, None, :] * problem.D) @ problem.D.T
            state["inverse"] = np.linalg.inv(
                gram + self.rho_1 * np.eye(len(gram[0]), dtype=X.dtype)
            )
        state["objective"] = self.objective(block, state)
        return state

    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Iterate (25)–(30)."""
        inverse = self.precompute(block.problem) if block.shared is None else block.shared
        for _ in range(times):
            self._iterate(block, inverse, state)

    def _iterate(self, block: ActiveRows, inverse: Array, state: State) -> None:
        problem, X, weight = block.problem, block.X, block.weight
        rho_1, rho_2, D, loss = self.rho_1, self.rho_2, problem.D, _envelope(problem)
        U, Q, R, alpha, beta = (state[name] for name in ("U", "Q", "R", "alpha", "beta"))
        if weight is None:
            H = ((X - R) @ D.T + rho_1 * U - alpha) @ inverse
            V = (X - H @ D + rho_2 * Q - beta) / (1 + rho_2)
            R = loss.penalty.prox(V, 1 / (1 + rho_2), Reals())
        else:
            right = (weight * (X - R)) @ D.T + rho_1 * U - alpha
            H = np.einsum("nk,nkj->nj", right, state["inverse"])
            V = (weight * (X - H @ D) + rho_2 * Q - beta) / (weight + rho_2)
            R = self._weighted_outliers(loss, V, weight)
        U = problem.regulariser.prox(H + alpha / rho_1, 1 / rho_1)
        Q = loss.region.project(R + beta / rho_2)
        state["alpha"] = alpha + rho_1 * (H - U)
        state["beta"] = beta + rho_2 * (R - Q)
        state["H"], state["U"], state["R"], state["Q"] = H, U, R, Q

    def _weighted_outliers(self, loss: Envelope, V: Array, weight: Array) -> Array:
        """The r-step with entry weights w: the cost ``w·φ`` against a curvature of ``w + ρ₂``."""
        if loss.penalty.weights is not None:
            return loss.penalty.prox(V, weight / (weight + self.rho_2), Reals())
        # Under a group penalty weights are 0 or 1; a missing entry belongs to no group.
        return loss.penalty.prox(V * weight, 1 / (1 + self.rho_2), Reals())

    def codes(self, block: ActiveRows, state: State) -> Array:
        """The feasible copy u."""
        return state["H" if self.as_printed else "U"]

    def outliers(self, block: ActiveRows, state: State) -> Array:
        """The feasible copy q; a missing entry has no outlier."""
        R = state["R" if self.as_printed else "Q"]
        return R if block.weight is None else np.where(block.weight > 0, R, 0)

    def objective(self, block: ActiveRows, state: State) -> Array:
        """The objective of (5) at both."""
        problem, C, R = block.problem, self.codes(block, state), self.outliers(block, state)
        fit = _envelope(problem).value_with(block.X, C @ problem.D, R, block.weight)
        return fit + problem.regulariser.value(C)


def _envelope(problem: CodingProblem) -> Envelope:
    envelope = problem.loss.envelope
    if envelope is None:
        raise ValueError(
            f"OADMM splits outliers from the squared loss and cannot use {problem.loss}; use "
            "an outlier envelope such as Huber, or another solver."
        )
    return envelope


def has_converged(now: float, before: float, tol: float, as_printed: bool = False) -> bool:
    """Whether the relative change of an objective is at most ``tol``.

    The objective of the dictionary is negative. ``as_printed`` divides by it without absolute
    value, so every change is small (errata A.8).
    """
    return (as_printed and before < 0) or abs(now - before) <= tol * abs(before)


@dataclass(frozen=True)
class DictionaryGradient:
    """``D ← Π(D − η(A D − B))``, ``η = κ/‖A‖_F``: (20)–(22), until the objective converges.

    ``‖A‖_F`` is the bound below (18); ``as_printed`` takes ``‖D‖₂²``, as in the text after (22)
    (errata A.6).
    """

    kappa: float = 0.7
    tol: float = 1e-4
    max_iter: int = 200
    as_printed: bool = False

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Iterate from D; without any coded sample there is no step."""
        D = D.astype(np.float64)
        bound = float(np.linalg.norm(problem.A))
        if self.as_printed:
            bound = float(np.linalg.norm(D, 2)) ** 2
        if bound == 0:
            return D
        eta = self.kappa / bound
        before = problem.objective(D)
        for _ in range(self.max_iter):
            D = problem.regulariser.prox(D - eta * problem.gradient(D), eta)
            now = problem.objective(D)
            if has_converged(now, before, self.tol, self.as_printed):
                break
            before = now
        return D


@dataclass(frozen=True)
class DictionaryADMM:
    """ADMM for the dictionary, (33)–(35) with ρ = ρ₃.

    With the feasible copy Q and the dual Δ (D in the paper)::

        W ← (A + ρI)⁻¹ (B − Δ + ρQ)     Q ← Π(W + Δ/ρ)     Δ ← Δ + ρ(W − Q)

    Q is returned, and determines the stop (errata A.5); ``as_printed`` takes W for both.
    """

    rho: float = 1.0
    tol: float = 1e-4
    max_iter: int = 200
    as_printed: bool = False

    def minimise(self, problem: DictionaryProblem, D: Array) -> Array:
        """Iterate from ``Q = D`` with a zero dual."""
        rho, A, B = self.rho, problem.A, problem.B
        shown: Array = D.astype(np.float64)
        if not A.any():
            return shown
        inverse = np.linalg.inv(A + rho * np.eye(len(A)))
        Q, dual = shown, np.zeros_like(shown)
        before = problem.objective(shown)
        for _ in range(self.max_iter):
            W = inverse @ (B - dual + rho * Q)
            Q = problem.regulariser.prox(W + dual / rho, 1 / rho)
            dual = dual + rho * (W - Q)
            shown = W if self.as_printed else Q
            now = problem.objective(shown)
            if has_converged(now, before, self.tol, self.as_printed):
                break
            before = now
        return shown


@dataclass(frozen=True)
class SurrogateStatistics(QuadraticStatistics):
    """The quadratic with its constant s, so that its value is the surrogate (11) of paper A.

    For a batch, s is the loss at its dictionary. For a stream, ``s = Σ ½‖x − r‖² + φ(r)`` with
    ``A = Σ cᵀc`` and ``B = Σ cᵀ(x − r)`` gives

        Σ ½‖x − cD − r‖² + φ(r) = ½ tr(DᵀA D) − tr(DᵀB) + s

    at every D, with the codes and outliers of each sample at its time.
    """

    s: float = 0.0

    def around_zero(self, D: Array, sharp: bool) -> "SurrogateStatistics":
        """The quadratic around zero; s makes its value at D equal to the loss."""
        moved = super().around_zero(D, sharp)
        D = D.astype(np.float64)
        s = self.s - float(np.vdot(D, moved.A @ D)) / 2 + float(np.vdot(D, moved.B))
        return replace(moved, s=s)

    def measures(self, D: Array) -> dict[str, float]:
        """(11) at D, without the penalties of codes and dictionary."""
        if not self.weight > 0:
            return {}
        D = D.astype(np.float64)
        total = float(np.vdot(D, self.A @ D)) / 2 - float(np.vdot(D, self.B)) + self.s
        return {"surrogate": total / self.weight}

    def keep(self, columns: NDArray[np.intp]) -> QuadraticStatistics:  # type: ignore[override]
        """Keep some features only, without s, which is not known by feature."""
        kept = super().keep(columns)
        return QuadraticStatistics(kept.A, kept.B, kept.weight, kept.curvature, kept.inlier)


@dataclass(frozen=True)
class SurrogateLearner(QuadraticLearner):
    """A quadratic learner that records the surrogate (11) after every step."""

    def empty(self, n_components: int, n_features: int) -> SurrogateStatistics:
        """Zeros."""
        return SurrogateStatistics.zeros(n_components, n_features)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> SurrogateStatistics:
        """The quadratic of a block, and its loss."""
        q, values = super().summarise(fit, sample_weight), fit.values()
        values = values if sample_weight is None else values * sample_weight
        loss = float(values.sum(dtype=np.float64))
        return SurrogateStatistics(q.A, q.B, q.weight, q.curvature, q.inlier, loss)


@dataclass
class BatchGradient(Alternation):
    """BPGD, (S-8)–(S-10): one projected gradient step for codes C and dictionary D in turn.

    In the notation of this library, with ``η₁ = κ₁/‖D‖₂²`` and ``η₂ = κ₂/‖CᵀC‖_F``::

        C ← [C − η₁(C D + R − X)Dᵀ]₊     R ← prox_φ(X − C D)     D ← Π(D − η₂Cᵀ(C D + R − X))

    The first step uses R of the last iteration, which belongs to the dictionary before the last
    step. So that dictionary is stored instead of R. R starts at zero.
    """

    problem: BatchProblem
    D: Array
    C: Array
    pool: Pool
    solver: ProjectedGradient
    _outlier_dictionary: Array | None = field(default=None, init=False)
    """The dictionary to which R belongs; None while R is zero."""

    def improve_codes(self) -> None:
        """Take the step (S-8); then R belongs to the new codes and the current D, (S-9)."""
        coding = self.problem.coding(self.D)
        shared = self.solver.precompute(coding)

        def work(rows: slice) -> None:
            X, weight = self.problem.load(rows)
            block = ActiveRows(coding, X, weight, shared)
            state = self.solver.start(block, self.C[rows])
            state["R"] = self._outliers(X, self.C[rows], weight)
            self.solver.steps(block, state, 1)
            self.C[rows] = state["C"]

        self.pool.map(work, self.problem.blocks())
        self._outlier_dictionary = self.D

    def improve_dictionary(self) -> None:
        """Take the step (S-10) of the learner, with the outliers of (S-9)."""
        method, coding = self.problem.method, self.problem.coding(self.D)

        def work(rows: slice) -> Any:
            X, weight = self.problem.load(rows)
            fit = coding.fit(X, self.C[rows], weight)
            return method.learner.summarise(fit, self.problem.sample_weight[rows])

        sums = reduce(add, self.pool.map(work, self.problem.blocks()))
        nothing, free = method.learner.empty(*self.D.shape), self.problem.free(len(self.D))
        regulariser = method.dictionary_regulariser
        self.D, _, _ = method.learner.update(nothing, sums, self.D, regulariser, free)

    def objective(self) -> float:
        """The objective of (S-7) at (C, R, D), per sample: it never rises."""
        coding = self.problem.coding(self.D)

        def work(rows: slice) -> Array:
            X, weight = self.problem.load(rows)
            C = self.C[rows]
            fit = coding.fit(X, C, weight, self._outliers(X, C, weight))
            return fit.values() + coding.regulariser.value(C)

        losses = np.concatenate(self.pool.map(work, self.problem.blocks()))
        return self.problem.mean(losses, self.D)

    def _outliers(self, X: Array, C: Array, weight: Array | None) -> Array:
        if self._outlier_dictionary is None:
            return np.zeros_like(X)
        return self.problem.loss.outliers(X, C @ self._outlier_dictionary, weight)


@dataclass
class BatchADMM(Alternation):
    """BADMM, (S-12)–(S-20): codes H, outliers R and dictionary W with copies U, Q, Ψ and duals.

    The copies are feasible; the objective is evaluated at them, and they are returned (errata A.5).
    This method stores the outliers of all samples. Missing entries have unpenalised outliers.
    """

    problem: BatchProblem
    Psi: Array
    U: Array
    rho_1: float = 1.0
    rho_2: float = 1.0
    rho_3: float = 1.0
    Q: Array = field(init=False)
    R: Array = field(init=False)
    H: Array = field(init=False)
    W: Array = field(init=False)

    def __post_init__(self) -> None:
        envelope = self.problem.loss.envelope
        if envelope is None:
            raise ValueError(
                f"badmm splits outliers from the squared loss and cannot use {self.problem.loss}; "
                "use solver='auto'."
            )
        self.envelope: Envelope = envelope
        self.X, self.weight = self.problem.load(slice(0, self.problem.batch.n_samples))
        if self.weight is not None and not np.isin(self.weight, (0, 1)).all():
            raise ValueError(
                "badmm supports missing entries, but no other entry weights; use solver='auto'."
            )
        self.H, self.W = self.U.copy(), self.Psi.copy()
        self.R = np.zeros_like(self.X)
        if self.weight is not None:  # values at missing entries have no influence
            self.R = np.where(self.weight > 0, self.R, self.X - self.H @ self.W)
        self.Q = self.R.copy()
        self.A, self.B, self.Delta = (np.zeros_like(Z) for Z in (self.H, self.R, self.W))

    @property
    def D(self) -> Array:  # type: ignore[override]  # noqa: N802 - the notation
        """The feasible dictionary."""
        return self.Psi

    @property
    def C(self) -> Array:  # type: ignore[override]  # noqa: N802 - the notation
        """The feasible codes."""
        return self.U

    def improve_codes(self) -> None:
        """(S-12), (S-13) and the copies and duals of codes and outliers."""
        rho_1, rho_2, X, loss = self.rho_1, self.rho_2, self.X, self.envelope
        eye = np.eye(len(self.W), dtype=X.dtype)
        right = (X - self.R) @ self.W.T + rho_1 * self.U - self.A
        self.H = np.linalg.solve(self.W @ self.W.T + rho_1 * eye, right.T).T
        residual = X - self.H @ self.W
        V = (rho_2 * self.Q + residual - self.B) / (1 + rho_2)
        R = loss.penalty.prox(self._observed(V), 1 / (1 + rho_2), Reals())
        self.R = R if self.weight is None else np.where(self.weight > 0, R, residual)
        self.U = self.problem.method.code_regulariser.prox(self.H + self.A / rho_1, 1 / rho_1)
        Q = loss.region.project(self.R + self.B / rho_2)
        self.Q = Q if self.weight is None else np.where(self.weight > 0, Q, self.R)
        self.A = self.A + rho_1 * (self.H - self.U)
        self.B = self.B + rho_2 * (self.R - self.Q)

    def improve_dictionary(self) -> None:
        """(S-14) and the copy and dual of the dictionary, for the atoms that are free."""
        rho, free = self.rho_3, self.problem.free(len(self.Psi))
        sample = self.problem.sample_weight.astype(self.H.dtype)[:, None]
        sample = sample / sample.mean()
        gram = (self.H * sample).T @ self.H + rho * np.eye(self.H.shape[1], dtype=self.H.dtype)
        cross = (self.H * sample).T @ (self.X - self.R)
        W = np.linalg.solve(gram, cross - self.Delta + rho * self.Psi)
        step = len(self.X) / rho  # the penalty is relative to the mean loss; this loss is the sum
        Psi = self.problem.method.dictionary_regulariser.prox(W + self.Delta / rho, step)
        W[~free], Psi[~free] = self.Psi[~free], self.Psi[~free]
        self.W, self.Psi = W, Psi
        self.Delta = self.Delta + rho * (W - Psi)

    def objective(self) -> float:
        """The objective of (S-7) at the copies, per sample."""
        fit = self.envelope.value_with(
            self.X, self.U @ self.Psi, self._observed(self.Q), self.weight
        )
        return self.problem.mean(fit + self.problem.method.code_regulariser.value(self.U), self.Psi)

    def _observed(self, V: Array) -> Array:
        return V if self.weight is None else np.where(self.weight > 0, V, 0)


class _OutlierSolver(PublishedSolver[Specification]):
    """A solver of paper A: uniform start, quadratic (11), and the surrogate in the history."""

    as_printed: bool

    @property
    @abstractmethod
    def encoder(self) -> Encoder:
        """The encoder of the stream."""

    @property
    @abstractmethod
    def step(self) -> DictionaryStep:
        """The step of the dictionary."""

    @property
    def rounds(self) -> Rounds:
        """The batch method."""
        return plain_updates

    def method(self, given: Specification) -> PublishedMethod:
        """Build the method; as printed, the uniform start is not feasible (errata A.7)."""
        return self.build(
            given,
            self.encoder,
            SurrogateLearner(self.step),
            default_init="uniform",
            feasible=not self.as_printed,
            rounds=self.rounds,
        )


@dataclass(frozen=True)
class OPGD(_OutlierSolver):
    """Projected gradient codes and dictionary (paper A, IV-A), from uniform starts on [0, 1].

    Parameters
    ----------
    kappa : float
        κ: codes take steps of ``κ/‖D‖₂²``, (15).
    kappa_dictionary : float
        κ̃: the dictionary takes steps of ``κ̃/‖A‖_F``, (20)–(22).
    code_tol, code_max_iter : float, int
        Relative change of (6) at which the codes of a sample stop, and maximum number of
        iterations (VII-B2).
    dictionary_tol, dictionary_max_iter : float, int
        The same for the dictionary, with (18).
    as_printed : bool
        The step of the dictionary is ``κ̃/‖D‖₂²``, its stop divides by the negative (18), and its
        start is not feasible (errata A.6 to A.8).
    """

    name = "opgd"
    description = "projected gradient codes and dictionary (paper A, OPGD)"
    kappa: float = constant(0.7, SHARE)
    kappa_dictionary: float = constant(0.7, SHARE)
    code_tol: float = constant(1e-3, AT_LEAST_0)
    code_max_iter: int = constant(50, COUNT)
    dictionary_tol: float = constant(1e-4, AT_LEAST_0)
    dictionary_max_iter: int = constant(200, COUNT)
    as_printed: bool = constant(False, FLAG)

    @property
    def encoder(self) -> Encoder:
        """(15)–(17)."""
        step, stop = ProjectedGradient(self.kappa), SmallChange(self.code_tol)
        return IterativeEncoder(step, stop, self.code_max_iter)

    @property
    def step(self) -> DictionaryStep:
        """(20)–(22)."""
        return DictionaryGradient(
            self.kappa_dictionary, self.dictionary_tol, self.dictionary_max_iter, self.as_printed
        )


@dataclass(frozen=True)
class OADMM(_OutlierSolver):
    """ADMM codes and dictionary (paper A, IV-B), from uniform starts on [0, 1].

    Parameters
    ----------
    rho_1, rho_2, rho_3 : float
        Penalty parameters of the copies of codes (ρ₁) and outliers (ρ₂), (24), and of the
        dictionary (ρ₃), (32).
    code_tol, code_max_iter : float, int
        Relative change of (6) at which the codes of a sample stop, and maximum number of
        iterations (VII-B2).
    dictionary_tol, dictionary_max_iter : float, int
        The same for the dictionary, with (18).
    as_printed : bool
        The infeasible variables h, r and W are returned and determine the stop; the stop of the
        dictionary divides by the negative (18), and its start is not feasible (errata A.5, A.7,
        A.8).
    """

    name = "oadmm"
    description = "ADMM codes and dictionary (paper A, OADMM)"
    rho_1: float = constant(1.0, POSITIVE)
    rho_2: float = constant(1.0, POSITIVE)
    rho_3: float = constant(1.0, POSITIVE)
    code_tol: float = constant(1e-3, AT_LEAST_0)
    code_max_iter: int = constant(50, COUNT)
    dictionary_tol: float = constant(1e-4, AT_LEAST_0)
    dictionary_max_iter: int = constant(200, COUNT)
    as_printed: bool = constant(False, FLAG)

    @property
    def encoder(self) -> Encoder:
        """(25)–(30)."""
        steps = OutlierADMM(self.rho_1, self.rho_2, self.as_printed)
        return IterativeEncoder(steps, SmallChange(self.code_tol), self.code_max_iter)

    @property
    def step(self) -> DictionaryStep:
        """(33)–(35)."""
        return DictionaryADMM(
            self.rho_3, self.dictionary_tol, self.dictionary_max_iter, self.as_printed
        )


@dataclass(frozen=True)
class BPGD(_OutlierSolver):
    """One projected gradient step for codes and dictionary in turn (paper A, (S-8)–(S-10)).

    Parameters
    ----------
    kappa, kappa_dictionary : float
        Steps are ``κ/‖D‖₂²`` for codes and ``κ̃/‖CᵀC‖_F`` for the dictionary.
    as_printed : bool
        The uniform start of the dictionary is not feasible (errata A.7).
    """

    name = "bpgd"
    description = "one projected gradient step for codes and dictionary (paper A, BPGD)"
    kappa: float = constant(0.7, SHARE)
    kappa_dictionary: float = constant(0.7, SHARE)
    as_printed: bool = constant(False, FLAG)

    @property
    def encoder(self) -> Encoder:
        """(S-8)."""
        return IterativeEncoder(ProjectedGradient(self.kappa), Never(), 1)

    @property
    def step(self) -> DictionaryStep:
        """(S-10)."""
        return DictionaryGradient(self.kappa_dictionary, max_iter=1)

    @property
    def rounds(self) -> Rounds:
        """(S-8)–(S-10)."""
        solver = ProjectedGradient(self.kappa)
        return lambda problem, state, codes, pool: BatchGradient(
            problem, state.D.copy(), uniform_codes(problem, state, codes), pool, solver
        )


@dataclass(frozen=True)
class BADMM(_OutlierSolver):
    """ADMM on codes, outliers and dictionary together (paper A, (S-12)–(S-20)).

    Parameters
    ----------
    rho_1, rho_2, rho_3 : float
        ρ̃₁, ρ̃₂ and ρ̃₃, penalty parameters of the copies of codes, outliers and dictionary, (S-11).
    as_printed : bool
        The uniform start of the dictionary is not feasible (errata A.7).
    """

    name = "badmm"
    description = "ADMM on codes, outliers and dictionary together (paper A, BADMM)"
    rho_1: float = constant(1.0, POSITIVE)
    rho_2: float = constant(1.0, POSITIVE)
    rho_3: float = constant(1.0, POSITIVE)
    as_printed: bool = constant(False, FLAG)

    @property
    def encoder(self) -> Encoder:
        """Used for streams only."""
        return IterativeEncoder(BlockADMM(), Never(), 6)

    @property
    def step(self) -> DictionaryStep:
        """Used for streams only."""
        return BlockDescent()

    @property
    def rounds(self) -> Rounds:
        """(S-12)–(S-20)."""
        rhos = self.rho_1, self.rho_2, self.rho_3
        return lambda problem, state, codes, pool: BatchADMM(
            problem, state.D.copy(), uniform_codes(problem, state, codes), *rhos
        )
