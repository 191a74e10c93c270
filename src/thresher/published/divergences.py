"""Paper E, general divergences: SPSGD, its baselines OL-Guan, OL-Lef and OL-Wang, and MU."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import (
    ActiveRows,
    ArmijoGradient,
    AutoEncoder,
    CodingProblem,
    Encoder,
    Fit,
    IterativeEncoder,
    MultiplicativeUpdates,
    Never,
    Rows,
    RowSolver,
    SmallChange,
    State,
    Stop,
    can_stay_sparse,
)
from thresher.engine import Specification
from thresher.learning import Learner, RatioLearner, Statistics
from thresher.linalg import Array
from thresher.losses import ItakuraSaito, Loss
from thresher.penalties import Form, Regulariser
from thresher.published.base import (
    AT_LEAST_0,
    BETWEEN_0_AND_1,
    COUNT,
    COUNT_OR_0,
    FLAG,
    POSITIVE,
    constant,
    one_of,
)
from thresher.published.method import PublishedMethod, PublishedSolver
from thresher.sets import CoveredBox, Simplex

StepRule = Literal["armijo", "constant", "polyak"]


def published_rule(loss: Loss) -> StepRule:
    """Return the step rule of the paper for a loss (section V-C)."""
    if not loss.smooth:
        return "polyak"
    return "constant" if np.isfinite(loss.curvature) else "armijo"


@dataclass(frozen=True)
class ProjectedSubgradient(ArmijoGradient):
    """``c ← Π(c − β ∇)``, (12), with one of three step sizes.

    - ``armijo``: an initial β, multiplied by 0.1 at most eleven times, until
      ``d(c⁺) ≤ d(c) + 0.01⟨∇, c⁺ − c⟩`` at the *projected* point c⁺; otherwise the row stays.
      Algorithm 3 tests the unprojected point, where KL and IS are often undefined (errata E.1).
    - ``constant``: β = 1/L, L the curvature of the loss times ‖D‖₂².
    - ``polyak``: ``β = (d − d_best + δ)/‖∇‖²``, and the best codes are returned.

    The published first trial β = 1 and δ = 0.01 depend on the unit of the data (errata E.3). Here
    the first trial is ten times the last step, initially the size of the codes divided by that of
    the gradient, and δ is relative to the loss of zero codes. ``as_printed`` takes β = 1, an
    absolute δ, and Algorithm 3, which accepts undefined values and the last trial.

    Parameters
    ----------
    rule : {"armijo", "constant", "polyak"}, optional
        The step size; None is `published_rule` of the loss.
    delta : float
        δ of Polyak's steps.
    patience : int
        Number of Polyak's steps over which `SmallGain` measures the improvement.
    as_printed : bool
    """

    rule: StepRule | None = None
    delta: float = 0.01
    patience: int = 100
    as_printed: bool = False

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """Nothing: each kind of loss has its step."""
        return None

    def precompute(self, problem: CodingProblem) -> float:
        """The norm that the constant step needs."""
        return problem.dictionary_norm

    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Return equal codes with the sum of the row as prediction, projected onto their set."""
        problem, state = block.problem, super().start(block, codes)
        value, delta = state["value"], np.full_like(state["value"], self.delta)
        if not self.as_printed:
            zero = problem.regulariser.region.project(np.zeros_like(state["C"]))
            delta = delta * block.objective(zero)
        state["delta"] = delta
        if self.rule_for(problem.loss) == "polyak":
            state["bests"] = np.full((len(value), self.patience + 1), np.inf, dtype=value.dtype)
            state["bests"][:, -1] = value
        return state

    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Take steps by the rule of the loss."""
        rules = {"armijo": self.search, "constant": self._constant, "polyak": self._polyak}
        for _ in range(times):
            rules[self.rule_for(block.problem.loss)](block, state)

    def rule_for(self, loss: Loss) -> StepRule:
        """Return the chosen rule, or that of the paper for a loss."""
        return self.rule or published_rule(loss)

    def codes(self, block: ActiveRows, state: State) -> Array:
        """The best codes so far; as printed the last ones, except with Polyak's steps."""
        return state["C" if self._returns_last(block) else "best"]

    def objective(self, block: ActiveRows, state: State) -> Array:
        """The objective of the same codes."""
        return state["value" if self._returns_last(block) else "best_value"]

    def _returns_last(self, block: ActiveRows) -> bool:
        return self.as_printed and self.rule_for(block.problem.loss) != "polyak"

    # ----------------------------------------------------------------- the rules

    def first_trial(self, state: State) -> Array:
        """As printed β = 1."""
        trial = super().first_trial(state)
        return np.ones_like(trial) if self.as_printed else trial

    def accepts(
        self, block: ActiveRows, state: State, gradient: Array, step: Array, trial: Array, n: int
    ) -> NDArray[np.bool_]:
        """As printed ``not d(c − β∇) > d(c) − αβ‖∇‖²``, also where the left side is undefined."""
        if not self.as_printed:
            return super().accepts(block, state, gradient, step, trial, n)
        problem, C = block.problem, state["C"] - step * gradient
        predicted = step[:, 0] * np.einsum("nk,nk->n", gradient, gradient)
        fails = block.objective(C) > state["value"] - self.acceptance * predicted
        if problem.loss.needs_positive_prediction:
            fails &= (C @ problem.D >= 0).all(axis=1)
        return np.asarray(~fails | (n == self.cuts))  # the last trial is not tested

    def _constant(self, block: ActiveRows, state: State) -> None:
        problem = block.problem
        curvature = problem.row_curvature(block.weight, len(block.X))
        eta = 1 / (curvature * block.X.dtype.type(problem.dictionary_norm))
        gradient = problem.gradient(block.X, state["C"], block.weight)
        self.move(block, state, problem.regulariser.prox(state["C"] - eta * gradient, eta))

    def _polyak(self, block: ActiveRows, state: State) -> None:
        problem, C = block.problem, state["C"]
        gradient = problem.gradient(block.X, C, block.weight)
        energy = np.einsum("nk,nk->n", gradient, gradient)
        excess = state["value"] - state["best_value"] + state["delta"]
        step = np.where(energy > 0, excess / np.where(energy > 0, energy, 1), 0)[:, None]
        self.move(block, state, problem.regulariser.prox(C - step * gradient, step))
        latest = state["best_value"][:, None]
        state["bests"] = np.concatenate([state["bests"][:, 1:], latest], axis=1)


@dataclass(frozen=True)
class SmallGain(Stop):
    """Stop a row of `ProjectedSubgradient` at a relative change of its objective below ``tol``.

    Polyak's steps are not monotone. Such a row stops when its last steps lowered the best value by
    less than δ, the guarantee of section V-C.
    """

    tol: float = 1e-3

    def done(self, solver: RowSolver, block: ActiveRows, state: State) -> NDArray[np.bool_]:
        """Test the objectives of the last steps."""
        if "bests" in state:
            return np.asarray(state["bests"][:, 0] - state["best_value"] < state["delta"])
        return SmallChange(self.tol).done(solver, block, state)


@dataclass(frozen=True)
class StepStatistics(Statistics):
    """The gradient of a batch, and the quantities for the step size.

    Attributes
    ----------
    gradient : array of shape (K, F)
        ``Σ cᵀ∇`` of a batch; empty for a stream, which keeps no gradients.
    curvature : float
        The curvature of the loss in the dictionary, summed over samples.
    weight : float
        Total weight of the samples, never discounted: τt.
    """

    AXES: ClassVar[dict[str, str]] = {"gradient": "mn"}

    gradient: Array
    curvature: float
    weight: float

    def discounted(self, factor: float) -> "StepStatistics":
        """Return it unchanged: step sizes depend on all samples so far."""
        return self


@dataclass(frozen=True)
class StochasticGradient(Learner):
    """``D ← Π(D − η_t G)``, G the mean (sub)gradient of the batch, ``η_t = a/(τt + b)``.

    t counts batches from 1. Without ``tau``, τt is the number of samples so far, including those of
    the batch, so that batches may be uneven. With ``scaled`` the step is divided by the curvature
    of the residuals, averaged over the stream::

        Σ ‖c‖² mean_f |∇|/|x − cD|

    so that the dictionary does not depend on the unit of the data. As published it does, and
    diverges on the data of the paper (errata E.3). For nonsmooth losses the quotient of an entry is
    unbounded, and is replaced by that of the sample, ``‖∇‖₁/‖x − cD‖₁``. ``constant`` omits the
    decrease (OL-Wang).
    """

    a: float = 2e4
    b: float = 2e4
    tau: float | None = None
    scaled: bool = True
    constant: bool = False

    def empty(self, n_components: int, n_features: int) -> StepStatistics:
        """Zeros."""
        return StepStatistics.zeros(n_components, n_features)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> StepStatistics:
        """The gradient and the curvature of a block."""
        C = fit.C
        weights = np.ones(len(C), dtype=C.dtype)
        if sample_weight is not None:
            weights = sample_weight.astype(C.dtype)
        energy = np.einsum("nk,nk->n", C, C) * weights
        if fit.loss.smooth:
            curvature = fit.curvatures(energy).mean(dtype=np.float64)
        else:
            curvature = energy @ fit.row_curvatures()
        gradient = fit.dictionary_gradient(C * weights[:, None]).astype(np.float64)
        return StepStatistics(gradient, float(curvature), float(weights.sum(dtype=np.float64)))

    def update(
        self,
        past: StepStatistics,
        batch: StepStatistics,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, StepStatistics, Array]:
        """Take one step."""
        more = batch.weight if self.tau is None else self.tau
        mean = 1 / batch.weight if batch.weight > 0 else 0.0
        seen, curvature = past.weight + more, past.curvature + batch.curvature * mean * more
        eta = self.a / (self.b if self.constant else seen + self.b)
        if self.scaled:
            eta = eta * seen / curvature if curvature > 0 else 0.0
        target = D.astype(np.float64) - eta * mean * batch.gradient
        moved = np.where(free[:, None], regulariser.prox(target, eta), D).astype(D.dtype)
        after = StepStatistics(past.gradient, curvature, seen)
        return moved, after, np.ones(len(D), dtype=D.dtype)


@dataclass(frozen=True)
class BufferStatistics(Statistics):
    """The last samples and their codes, at most as many as the buffer holds; or those of a batch.

    Attributes
    ----------
    X, C : arrays of shape (l, F) and (l, K)
    weight : float
        Weight of the samples so far, which also seeds the random numbers.
    """

    AXES: ClassVar[dict[str, str]] = {"X": "nF", "C": "nK"}

    X: Array
    C: Array
    weight: float

    def __add__(self, other: "BufferStatistics") -> "BufferStatistics":
        """Concatenate samples and codes."""
        X, C = np.concatenate([self.X, other.X]), np.concatenate([self.C, other.C])
        return BufferStatistics(X, C, self.weight + other.weight)

    def discounted(self, factor: float) -> "BufferStatistics":
        """Return it unchanged: the buffer has a fixed length."""
        return self


@dataclass(frozen=True)
class RobustApproximation(Learner):
    """``D ← Π(D − θ_i cᵀ(cD − x))`` on random samples of a buffer; the average of the iterates.

    Steps are ``θ_i = step/(L√i)`` with L the spectral norm of the buffer's ``mean cᵀc``. Every
    batch takes ``steps`` of them, each on ``draw`` samples. The average has the weights θ_i, over
    the points where gradients were computed, including the old dictionary.
    """

    keeps_samples: ClassVar[bool] = True

    length: int = 1000
    steps: int = 20
    draw: int = 50
    step: float = 1.0

    def requires(self, loss: Loss, atoms: Form) -> str | None:
        """Require the squared loss."""
        metric = loss.canonical.metric
        if isinstance(metric, float) and metric == 1:
            return None
        return f"the squared loss, not {loss}; use solver='auto'"

    def empty(self, n_components: int, n_features: int) -> BufferStatistics:
        """An empty buffer."""
        return BufferStatistics.zeros(n_components, n_features)

    def summarise(self, fit: Fit, sample_weight: Array | None) -> BufferStatistics:
        """Return the last samples and codes of a block, times the root of their weights."""
        last = slice(-self.length, None)
        X, C = fit.filled_samples(last), fit.C[last]
        if sample_weight is not None:
            root = np.sqrt(sample_weight[last])[:, None]
            X, C = X * root, C * root
        total = len(fit.C) if sample_weight is None else sample_weight.sum()
        return BufferStatistics(X.astype(np.float64), C.astype(np.float64), float(total))

    def update(
        self,
        past: BufferStatistics,
        batch: BufferStatistics,
        D: Array,
        regulariser: Regulariser,
        free: NDArray[np.bool_],
    ) -> tuple[Array, BufferStatistics, Array]:
        """Take steps on random samples of the buffer, and average them."""
        whole = past + batch
        X, C = whole.X[-self.length :], whole.C[-self.length :]
        statistics = BufferStatistics(X, C, whole.weight)
        ones = np.ones(len(D), dtype=D.dtype)
        L = float(np.linalg.norm(C.T @ C / max(len(C), 1), 2))
        if L == 0:
            return D.copy(), statistics, ones
        rng = np.random.default_rng([int(whole.weight), len(C)])
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

    def usage(self, statistics: BufferStatistics, D: Array) -> Array:
        """Energy of its codes in the buffer."""
        share: Array = (statistics.C**2).sum(axis=0)
        return share


@dataclass(frozen=True)
class PrintedCoveredBox(CoveredBox):
    """The set of paper E with the map printed in its supplement, which is not a projection.

    It tests columns before clipping, and maps those with a small sum to the simplex of radius one
    (errata E.2).
    """

    def project(self, V: Array) -> Array:
        """Clip, and map the columns whose sum is too small."""
        P = np.clip(V, 0, self.upper)
        small = np.abs(V).sum(axis=0) < self.least
        if small.any():
            P[:, small] = Simplex().project(V[:, small].T).T
        return P


@dataclass(frozen=True)
class SPSGD(PublishedSolver[Specification]):
    """Algorithm 1 of paper E: projected subgradient codes, stochastic gradient dictionary.

    Parameters
    ----------
    a, b : float
        Constants of the steps ``η_t = a/(τt + b)`` of the dictionary (VIII-C), for batches t = 1,
        2, …
    tau : float, optional
        τ; None: τt is the number of samples so far, including the batch.
    rule : {"armijo", "constant", "polyak"}, optional
        The step rule of the codes. None is that of section V-C: ``polyak`` for nonsmooth losses,
        ``constant`` for losses of bounded curvature, ``armijo`` for all others.
    alpha, gamma, q : float, float, int
        Armijo's rule (Algorithm 3): the required share of the predicted decrease, the factor
        between two trials, and q of the q + 2 trials.
    delta : float
        δ of Polyak's steps, in units of the loss of zero codes.
    tol, max_iter, patience : float, int, int
        The stop of the codes, which the paper does not give: a relative change of at most ``tol``
        (Polyak's rule: a gain below δ in ``patience`` steps), or ``max_iter`` iterations.
    as_printed : bool
        Steps have the unit of the data, and diverge on those of the paper (errata E.3); codes are
        tested before projection (E.1), and columns of the dictionary before clipping (E.2).
    """

    name = "spsgd"
    description = "projected subgradient codes, projected stochastic gradient dictionary (paper E)"
    a: float = constant(2e4, POSITIVE)
    b: float = constant(2e4, POSITIVE)
    tau: float | None = constant(None, POSITIVE)
    rule: StepRule | None = constant(None, one_of(StepRule))
    alpha: float = constant(0.01, BETWEEN_0_AND_1)
    gamma: float = constant(0.1, BETWEEN_0_AND_1)
    q: int = constant(10, COUNT_OR_0)
    delta: float = constant(0.01, POSITIVE)
    tol: float = constant(1e-3, AT_LEAST_0)
    max_iter: int = constant(2000, COUNT)
    patience: int = constant(100, COUNT)
    as_printed: bool = constant(False, FLAG)

    @property
    def encoder(self) -> Encoder:
        """Algorithms 2 and 3."""
        codes = ProjectedSubgradient(
            acceptance=self.alpha,
            cut=self.gamma,
            cuts=self.q + 1,
            rule=self.rule,
            delta=self.delta,
            patience=self.patience,
            as_printed=self.as_printed,
        )
        return IterativeEncoder(codes, SmallGain(self.tol), self.max_iter)

    def method(self, given: Specification) -> PublishedMethod:
        """Build the method, on the set of the paper unless another is given."""
        learner = StochasticGradient(self.a, self.b, self.tau, scaled=not self.as_printed)
        region = PrintedCoveredBox() if self.as_printed else CoveredBox()
        return self.build(given, self.encoder, learner, region)


@dataclass(frozen=True)
class OLGuan(PublishedSolver[Specification]):
    """Exact codes, robust stochastic approximation over a buffer (Guan et al., OL-Guan).

    Neither paper A nor paper E gives its constants.

    Parameters
    ----------
    buffer : int
        Number of samples in the buffer, with their codes.
    steps, draw : int
        Steps for each batch, and number of random samples of a step.
    step : float
        The k-th of them is ``step/(L√k)``, L the spectral norm of the buffer's ``mean cᵀc``.
    tol : float
        Tolerance of the certificate of the codes.
    """

    name = "ol_guan"
    description = "exact codes, robust stochastic approximation over a buffer (OL-Guan)"
    buffer: int = constant(1000, COUNT)
    steps: int = constant(20, COUNT)
    draw: int = constant(50, COUNT)
    step: float = constant(1.0, POSITIVE)
    tol: float = constant(1e-4, POSITIVE)

    @property
    def encoder(self) -> Encoder:
        """Exact codes."""
        return AutoEncoder(self.tol)

    def method(self, given: Specification) -> PublishedMethod:
        """Build the method."""
        learner = RobustApproximation(self.buffer, self.steps, self.draw, self.step)
        return self.build(given, self.encoder, learner)


@dataclass(frozen=True)
class OLLef(PublishedSolver[Specification]):
    """Multiplicative codes and dictionary from two sums (Lefèvre et al., OL-Lef).

    Atoms sum to one. A discount of the past is `forgetting` of the estimator.

    Parameters
    ----------
    updates, tol : int, float
        Maximum number of updates of the codes, and the relative change at which they stop; the
        paper gives neither.
    """

    name = "ol_lef"
    description = "multiplicative codes, majorised dictionary (Lefèvre et al., OL-Lef)"
    updates: int = constant(100, COUNT)
    tol: float = constant(1e-3, AT_LEAST_0)

    @property
    def encoder(self) -> Encoder:
        """Multiplicative updates."""
        return IterativeEncoder(MultiplicativeUpdates(), SmallChange(self.tol), self.updates)

    def method(self, given: Specification) -> PublishedMethod:
        """Build the method, for the Itakura–Saito divergence."""
        self.check(needs_loss(ItakuraSaito(), given.loss(1.0)))
        return self.build(given, self.encoder, RatioLearner(2.0, 0.0), Simplex())


@dataclass(frozen=True)
class OLWang(PublishedSolver[Specification]):
    """Multiplicative codes, stochastic gradient with a constant step (Wang et al., OL-Wang).

    Parameters
    ----------
    step : float, optional
        The constant step, in the inverse square of the unit of the data. The paper does not give
        it; None is the inverse of the curvature of the residuals, averaged over the stream.
    updates, tol : int, float
        As in `OLLef`.
    """

    name = "ol_wang"
    description = "multiplicative codes, stochastic gradient with a constant step (OL-Wang)"
    step: float | None = constant(None, POSITIVE)
    updates: int = constant(100, COUNT)
    tol: float = constant(1e-3, AT_LEAST_0)

    @property
    def encoder(self) -> Encoder:
        """Multiplicative updates."""
        return OLLef(self.updates, self.tol).encoder

    def method(self, given: Specification) -> PublishedMethod:
        """Build the method, for losses with outliers."""
        loss, step = given.loss(1.0), 1.0 if self.step is None else self.step
        if loss.envelope is None:
            self.check(f"divergence='huber', not {loss}; use solver='auto', or that divergence")
        learner = StochasticGradient(step, 1.0, scaled=self.step is None, constant=True)
        return self.build(given, self.encoder, learner, CoveredBox())


@dataclass(frozen=True)
class MU(PublishedSolver[Specification]):
    """One multiplicative update of codes and dictionary in turn (paper E, batch).

    Parameters
    ----------
    exponent : float, optional
        Exponent of both updates. None is the one of majorisation; some texts use 1 for β < 1 and
        β > 2.
    """

    name = "mu"
    description = "one multiplicative update of codes and dictionary in turn"
    exponent: float | None = constant(None, POSITIVE)

    @property
    def encoder(self) -> Encoder:
        """One update."""
        return IterativeEncoder(MultiplicativeUpdates(self.exponent, lift=0.0), Never(), 1)

    def method(self, given: Specification) -> PublishedMethod:
        """Build the method; an exponent without proof is 1, halved if the objective rises."""
        loss, codes = given.loss(1.0), given.code_regulariser
        a, b = (1.0, 0.0) if loss.powers is None else loss.powers
        if self.exponent is not None:
            a, b = 1 / self.exponent, 0.0
        learner = RatioLearner(a, b, rescale=codes.form.is_scale_invariant)
        atoms = given.parts()["dictionary_regulariser"]
        reason = learner.requires(loss, atoms.form)
        self.check(reason and f"{reason}, not {atoms.penalty} on {atoms.region}")
        # Updates of nonsmooth losses weight every entry by its residual, including zeros.
        sparse = loss.smooth and can_stay_sparse(loss, codes)
        return self.build(given, self.encoder, learner, keep_sparse=sparse)


def needs_loss(required: Loss, loss: Loss) -> str | None:
    """The requirement of a solver for one loss; None if it is met."""
    if loss.canonical == required:
        return None
    return f"{required}, not {loss}; use solver='auto', or that divergence"
