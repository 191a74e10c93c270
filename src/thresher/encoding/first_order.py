"""Codes by first-order steps: projected gradients, and multiplicative updates for divergences."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thresher.encoding.loop import ActiveRows, RowSolver, State
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.linalg import Array

_LEAST_CODE = 1e-12  # of the row's largest, to which it adds nothing in float32; heuristic
_HALVINGS = 20  # of the exponent; heuristic


@dataclass(frozen=True)
class ArmijoGradient(RowSolver):
    """``c⁺ = prox(c − β∇)`` with a backtracking step size β for each row.

    A step is accepted if ``d(c⁺) ≤ d(c) + acceptance ⟨∇, c⁺ − c⟩``. The first trial is the accepted
    step of the iteration before, divided by ``cut``; it starts at the size of the codes over that
    of the gradient. Otherwise β is multiplied by ``cut``. A row whose trials all fail stays.

    Parameters
    ----------
    acceptance : float
        Share of the predicted decrease that a step must reach.
    cut : float
        Factor between two trials.
    cuts : int
        Maximum number of reductions in an iteration.
    """

    acceptance: float = 0.01
    cut: float = 0.1
    cuts: int = 11

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """A gradient."""
        if rows.sparse:
            return "dense samples"
        return None if problem.loss.smooth else "a smooth loss"

    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Equal codes that explain the mass of the row, or given codes, made feasible."""
        problem, X = block.problem, block.X
        C = problem.regulariser.region.project(block.even_codes() if codes is None else codes)
        value = block.objective(C)
        size = np.linalg.norm(C, axis=1, keepdims=True)
        slope = np.linalg.norm(problem.gradient(X, C, block.weight), axis=1, keepdims=True)
        step = np.where(slope > 0, np.where(size > 0, size, 1) / np.where(slope > 0, slope, 1), 1)
        state = {"C": C, "value": value, "best": C, "best_value": value, "objective": value}
        # Where a loss is flat, every step is accepted; beyond this bound steps only lose digits.
        return state | {"step": step, "longest": step / np.finfo(step.dtype).eps}

    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Iterations, each with its line search."""
        for _ in range(times):
            self.search(block, state)

    def codes(self, block: ActiveRows, state: State) -> Array:
        """The best codes so far."""
        return state["best"]

    def objective(self, block: ActiveRows, state: State) -> Array:
        """The objective of the best codes."""
        return state["best_value"]

    def search(self, block: ActiveRows, state: State) -> None:
        """Take the first step of each row that is accepted."""
        problem, C = block.problem, state["C"]
        gradient = problem.gradient(block.X, C, block.weight)
        step = self.first_trial(state)
        moved, left = C.copy(), np.ones(len(C), dtype=bool)
        for n in range(self.cuts + 1):
            with np.errstate(over="ignore", invalid="ignore"):  # a step that is too long
                trial = problem.regulariser.prox(C - step * gradient, step)
                accepted = left & self.accepts(block, state, gradient, step, trial, n)
            moved[accepted] = trial[accepted]
            left &= ~accepted
            if not left.any():
                break
            step = np.where(left[:, None], step * self.cut, step)
        state["step"] = step
        self.move(block, state, moved)

    def first_trial(self, state: State) -> Array:
        """The longest step size of an iteration, shape (n, 1)."""
        longer: Array = np.minimum(state["step"] / self.cut, state["longest"])
        return longer

    def accepts(
        self, block: ActiveRows, state: State, gradient: Array, step: Array, trial: Array, n: int
    ) -> NDArray[np.bool_]:
        """Whether the n-th trial of each row decreases the objective enough."""
        predicted = np.einsum("nk,nk->n", gradient, trial - state["C"])
        enough = block.objective(trial) <= state["value"] + self.acceptance * predicted
        return np.asarray(enough)

    def move(self, block: ActiveRows, state: State, C: Array) -> None:
        """Take new codes, and keep the best."""
        state["C"], state["value"] = C, block.objective(C)
        better = state["value"] < state["best_value"]
        state["best"] = np.where(better[:, None], C, state["best"])
        state["best_value"] = np.where(better, state["value"], state["best_value"])


@dataclass(frozen=True)
class MultiplicativeUpdates(RowSolver):
    """``c ← c ∘ (∇⁻Dᵀ / ∇⁺Dᵀ)^γ``, with the exponent that makes it a majorisation step.

    γ is ``1/(a + b)`` for the powers of an α- or β-divergence, and one for squares and reweighted
    squares. Others have no proven exponent; so a row whose objective would rise takes half of it,
    and again, until it does not: the objective never rises, for any divergence. The ℓ1 penalty of
    codes adds to ∇⁺Dᵀ, the Tikhonov one ``l2·c``. Parts that signed
    atoms make negative change sides.

    Codes below a tiny share of their row's largest are flushed to zero, from where they do not
    return: ever smaller numbers would slow the arithmetic down.

    Parameters
    ----------
    exponent : float, optional
        γ, if it is to be another one.
    lift : float
        Codes to start from are at least this share of the mean of their row: a zero would stay,
        a thousandth of the mean can still grow.
    """

    exponent: float | None = None
    lift: float = 1e-3

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """What multiplications can do."""
        form = problem.regulariser.form
        if not (form.is_box and form.nonnegative and form.elastic):
            return "nonnegative codes, each bounded by itself, under an elastic net at most"
        return None

    def precompute(self, problem: CodingProblem) -> None:
        """Refuse what multiplications cannot do."""
        reason = self.requires(problem, DENSE)
        if reason is not None:
            regulariser = problem.regulariser
            raise ValueError(
                f"Multiplicative updates need {reason}, not {problem.loss} with "
                f"{regulariser.penalty} on {regulariser.region}; use solver='auto'."
            )

    def start(self, block: ActiveRows, codes: Array | None) -> State:
        """Equal codes that explain the mass of the row; given ones must be positive to move."""
        if codes is None:
            codes = block.even_codes()
        elif self.lift:
            least = codes.dtype.type(self.lift) * codes.mean(axis=1, keepdims=True)
            codes = np.maximum(codes, least)
        C = block.problem.regulariser.region.project(codes)
        return {"C": C, "value": block.objective(C)}

    def steps(self, block: ActiveRows, state: State, times: int) -> None:
        """Updates, each checked."""
        for _ in range(times):
            self._update(block, state)

    def codes(self, block: ActiveRows, state: State) -> Array:
        """The current codes."""
        return state["C"]

    def objective(self, block: ActiveRows, state: State) -> Array:
        """Known from the check."""
        return state["value"]

    def _update(self, block: ActiveRows, state: State) -> None:
        problem, C = block.problem, state["C"]
        form, region = problem.regulariser.form, problem.regulariser.region
        positive, negative = problem.fit(block.X, C, block.weight).code_slopes()
        number = C.dtype.type
        positive = positive + number(form.l1) + number(form.l2) * C
        if positive.min() < 0 or negative.min() < 0:  # signed atoms or samples
            positive, negative = _unsigned(positive, negative), _unsigned(negative, positive)
        ratio = np.where(positive > 0, negative / np.where(positive > 0, positive, 1), 1)
        powers = problem.loss.powers
        proven = 1.0 if powers is None else 1 / sum(powers)
        exponent = np.full((len(C), 1), self.exponent or proven, dtype=C.dtype)
        for _ in range(_HALVINGS):
            moved = region.project(C * ratio**exponent)
            moved[moved < number(_LEAST_CODE) * moved.max(axis=1, keepdims=True)] = 0
            value = block.objective(moved)
            rose = ~(value <= state["value"] + 4 * np.finfo(C.dtype).eps * np.abs(state["value"]))
            if not rose.any():
                break
            exponent[rose] /= 2
        better = ~rose
        state["C"] = np.where(better[:, None], moved, C)
        state["value"] = np.where(better, value, state["value"])


def _unsigned(part: Array, other: Array) -> Array:
    """One of two parts, without what is negative and with what is so in the other.

    Their difference, which is the gradient, stays as it is.
    """
    return np.maximum(part, 0) - np.minimum(other, 0)
