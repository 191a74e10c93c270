"""The second loop: improve the codes, improve the dictionary, with all data in memory.

The objective is checked after each half-step; the loop ends when an iteration changes it by less
than the tolerance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import CodingProblem, Encoder
from thresher.engine.atoms import restarted
from thresher.engine.executor import Pool
from thresher.engine.residuals import EXACT
from thresher.engine.state import StreamState
from thresher.learning import Learner
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.streams import Batch

if TYPE_CHECKING:
    from thresher.engine.method import Method

_MAX_STEPS = 4  # of a learner, each more cautious, before a dictionary stays; heuristic
_ADAPTATION_STEPS = 3  # of dictionary and codes before a change of support is compared
_MIN_SUPPORT_GAIN = 1e-4  # of the objective, for a change of support
_CERTIFIED_ROWS = 16
_HELD_OUT_ROWS = 512  # with so many, a rise of a few per cent is significant; heuristic
_HELD_OUT_SHARE = 0.1  # of the observed entries of a row
# Heuristic: older iterations describe a map that has changed since, and nearly parallel differences
# are dominated by rounding.
_MEMORY = 6
_RCOND = 1e-4


@dataclass
class BatchProblem:
    """All samples with their weights, and the objective (S-7) of the method.

    Samples are loaded block by block, so CSR stays sparse and integers stay small.
    """

    method: Method
    batch: Batch
    loss: Loss
    dtype: np.dtype[Any]
    dictionary_loss: Loss | None = None

    def __post_init__(self) -> None:
        ones = np.ones(self.batch.n_samples)
        given = self.batch.sample_weight
        self.sample_weight: Array = ones if given is None else given.astype(np.float64)

    @classmethod
    def of(cls, method: Method, batch: Batch, state: StreamState) -> BatchProblem:
        """The problem with the λ of a state."""
        threshold = method.threshold(state)
        smoothed = None if method.dictionary_loss is None else method.dictionary_loss(threshold)
        return cls(method, batch, method.loss(threshold), state.D.dtype, smoothed)

    def load(self, rows: slice) -> tuple[Any, Array | None]:
        """Return a block of samples and the weights of its entries, zero where missing."""
        X, weight, _ = self.method.load(self.batch, rows, self.dtype)
        return X, weight

    def blocks(self) -> list[slice]:
        """Row blocks of fixed size."""
        return list(self.method.blocks(self.batch))

    def coding(self, D: Array) -> CodingProblem:
        """The coding problem on a dictionary."""
        return CodingProblem(D, self.loss, self.method.code_regulariser)

    def learning(self, D: Array) -> CodingProblem:
        """The problem with the loss of the learner, which may be smoothed."""
        loss = self.loss if self.dictionary_loss is None else self.dictionary_loss
        return CodingProblem(D, loss, self.method.code_regulariser)

    def mean(self, losses: Array, D: Array) -> float:
        """Weighted mean of the samples' objectives, plus the penalty of the dictionary."""
        total = float(np.dot(self.sample_weight, losses.astype(np.float64)))
        penalty = float(self.method.dictionary_regulariser.value(D).sum())
        return total / float(self.sample_weight.sum()) + penalty

    def certificate(self, D: Array, C: Array) -> float:
        """The largest certificate of the first few codes."""
        some = slice(0, min(_CERTIFIED_ROWS, self.batch.n_samples))
        X, weight = self.load(some)
        return float(self.coding(D).certificate(X, C[some], weight).max())

    def free(self, n_components: int) -> NDArray[np.bool_]:
        """Flags of the atoms that may move."""
        return self.method.free_atoms(n_components)


class Alternation(ABC):
    """A running batch method; the half-steps change it in place.

    Attributes
    ----------
    problem : BatchProblem
        The samples and the objective.
    D, C : array
        Feasible dictionary and codes.
    early_stopping : bool
        Whether a fit ends when missing entries are predicted worse with every iteration.
    """

    problem: BatchProblem
    D: Array
    C: Array
    early_stopping: ClassVar[bool] = False

    @property
    def absolute_tol(self) -> float | None:
        """The change of the objective that ends a fit; None is ``tol`` of the objective."""
        return None

    @abstractmethod
    def improve_codes(self) -> None:
        """Improve the codes for the current dictionary."""

    @abstractmethod
    def improve_dictionary(self) -> None:
        """Improve the dictionary for the current codes."""

    @abstractmethod
    def objective(self) -> float:
        """Mean objective per sample at the feasible variables; infinite before the first codes."""

    def change_support(self, seed: int) -> bool:
        """Drop or restart an atom where a penalty on the dictionary makes that pay.

        Return whether an atom changed; by default all stay as they are.
        """
        return False

    def certificate(self) -> float:
        """The largest optimality certificate of some codes; NaN where it is not known."""
        return self.problem.certificate(self.D, self.C)


Rounds = Callable[[BatchProblem, StreamState, Array | None, Pool], Alternation]
"""Begins a batch method: from the problem, the state, codes to start from if any, and a pool."""

Report = Callable[[int, float, float], bool]
"""Called after each iteration (number, objective after codes, after dictionary); True ends it."""


class Ending(NamedTuple):
    """How an alternation ended."""

    rounds: int
    missed: float
    """Last change of the objective, relative to the tolerance: above one if ``max_rounds`` ended
    the fit, infinite if one iteration was not enough to measure it; zero after convergence."""


def alternate(
    method: Alternation, report: Report, max_rounds: int, tol: float, change: float | None = None
) -> Ending:
    """Alternate until the objective has converged (never if ``tol`` is 0).

    It has converged when an iteration changes it by at most ``tol`` times its value, or by at most
    ``change`` where that is given.
    """
    last, missed = method.objective(), 0.0
    for number in range(1, max_rounds + 1):
        method.improve_codes()
        after_codes = method.objective()
        method.improve_dictionary()
        now = method.objective()
        small = tol * abs(last) if change is None else change
        converged = tol > 0 and last < float("inf") and abs(last - now) <= small
        if report(number, after_codes, now) or converged:
            return Ending(number, 0.0)
        known = 0 < small < float("inf") and last < float("inf")
        missed = abs(last - now) / small if known else float("inf")
        last = now
    return Ending(max_rounds, missed)


@dataclass
class AndersonExtrapolation:
    """Anderson extrapolation of iterations that map ``D_i`` to ``T_i``.

    With weights ``a_i`` of sum one that minimise ``‖Σ a_i (T_i − D_i)‖``, the extrapolated
    dictionary is ``Σ a_i T_i``, the fixed point of a linear map with a few slow directions.
    """

    iterations: list[tuple[Array, Array]] = field(default_factory=list)

    def add(self, before: Array, after: Array) -> None:
        """Record an iteration; the last six are kept."""
        self.iterations = [*self.iterations, (before, after)][-_MEMORY:]

    def reset(self) -> None:
        """Forget all iterations."""
        self.iterations = []

    def extrapolated(self) -> Array | None:
        """Return the extrapolated dictionary; None if the iterations do not determine it."""
        steps = [(after - before).ravel().astype(np.float64) for before, after in self.iterations]
        if len(steps) < 2:
            return None
        # Normalised differences: early iterations are long, late ones matter.
        changes = np.diff(steps, axis=0)
        lengths = np.linalg.norm(changes, axis=1, keepdims=True)
        if not (lengths > 0).all():
            return None
        weights = np.linalg.lstsq((changes / lengths).T, steps[-1], rcond=_RCOND)[0] / lengths[:, 0]
        moves = np.diff([after for _, after in self.iterations], axis=0)
        last = self.iterations[-1][1]
        D: Array = (last - np.einsum("i,ikf->kf", weights, moves)).astype(last.dtype)
        return D


@dataclass
class ExactAlternation(Alternation):
    """Codes by an encoder, warm-started and never worsened; dictionary by a learner's step.

    With one multiplicative update for each half it is that of Lee and Seung and its kin; with an
    exact encoder and an ``extrapolation`` it is ``auto``. The objective never rises.
    """

    early_stopping: ClassVar[bool] = True

    problem: BatchProblem
    D: Array
    C: Array
    encoder: Encoder
    pool: Pool
    extrapolation: AndersonExtrapolation | None = None
    cold: bool = False
    """Whether ``C`` is a buffer without codes, so that the first iteration starts without any."""

    def __post_init__(self) -> None:
        if self.cold:
            self.losses: Array = np.full(len(self.C), np.inf, dtype=self.C.dtype)
        else:
            self._evaluate()

    def improve_codes(self) -> None:
        """Code the extrapolated dictionary, or the current one."""
        if not self._extrapolate():
            self._code()

    def _extrapolate(self) -> bool:
        """Move to the extrapolated dictionary if the objective falls."""
        ahead = None if self.extrapolation is None else self.extrapolation.extrapolated()
        if self.extrapolation is None or ahead is None:
            return False
        D, C, losses, last = self.D, self.C, self.losses, self.objective()
        ahead = self.problem.method.dictionary_regulariser.region.project(ahead)
        self.D = np.where(self.problem.free(len(D))[:, None], ahead, D)
        self.C = C.copy()
        self._evaluate()
        self._code()
        if self.objective() < last:
            return True
        self.D, self.C, self.losses = D, C, losses
        self.extrapolation.reset()
        return False

    def _code(self) -> None:
        """Code every block from its last codes; rows whose objective rises keep them."""
        coding = self.problem.coding(self.D)
        encode = self.encoder.prepare(coding, self.problem.method.rows(self.problem.batch))

        def work(rows: slice) -> None:
            X, weight = self.problem.load(rows)
            start = None if self.cold else self.C[rows]
            C = encode(X, weight, start).codes
            losses = coding.objective(X, C, weight)
            better = losses < self.losses[rows]
            self.C[rows] = np.where(better[:, None], C, self.C[rows])
            self.losses[rows] = np.where(better, losses, self.losses[rows])

        self.pool.map(work, self.problem.blocks())
        self.cold = False

    def improve_dictionary(self) -> None:
        """Take the learner's step; if the objective rises, a more cautious one, or none."""
        learner, sums = self.problem.method.learner, self._summed()
        D, C, losses, last = self.D, self.C, self.losses, self.objective()
        for _ in range(_MAX_STEPS):
            self._move(learner, sums)
            if self.objective() <= last:
                if self.extrapolation is not None:
                    self.extrapolation.add(D, self.D)
                return
            self.D, self.C, self.losses = D, C, losses
            learner = learner.cautious()

    def change_support(self, seed: int) -> bool:
        """Drop an atom, or restart one that is zero, if the objective falls; return whether it did.

        With a penalty on the dictionary, alternation has local optima in which an atom costs more
        than it explains, or in which an atom is missing that would explain more than it costs.
        """
        method = self.problem.method
        if not method.selects_atoms or self.cold:
            return False
        free, used = self.problem.free(len(self.D)), self.D.any(axis=1)
        for k in [*np.flatnonzero(free & used), *np.flatnonzero(free & ~used)[:1]]:
            D, C, losses, last = self.D, self.C, self.losses, self.objective()
            self.D, self.C = self._with_atom_toggled(k, seed), C.copy()
            self.C[:, k] = 0
            self._evaluate()
            self._code()
            for _ in range(_ADAPTATION_STEPS):
                self.improve_dictionary()
                self._code()
            if self.objective() < last * (1 - _MIN_SUPPORT_GAIN):
                if self.extrapolation is not None:
                    self.extrapolation.reset()
                return True
            self.D, self.C, self.losses = D, C, losses
        return False

    def _with_atom_toggled(self, k: int, seed: int) -> Array:
        """Return the dictionary with atom k set to zero or, if it was zero, restarted."""
        method, lengths = self.problem.method, np.linalg.norm(self.D, axis=1)
        if lengths[k] > 0:
            D = self.D.copy()
            D[k] = 0
            return D
        length = float(lengths[lengths > 0].mean()) if lengths.any() else None
        state = StreamState(self.D, self.D, method.learner.empty(*self.D.shape), seed)
        some = self.problem.batch.glance()
        return restarted(method, state, some, np.array([k]), length).D.copy()

    def _summed(self) -> Any:
        learner, coding = self.problem.method.learner, self.problem.learning(self.D)

        def work(rows: slice) -> Any:
            X, weight = self.problem.load(rows)
            fit = coding.fit(X, self.C[rows], weight)
            return learner.summarise(fit, self.problem.sample_weight[rows])

        return reduce(add, self.pool.map(work, self.problem.blocks()))

    def _move(self, learner: Learner, sums: Any) -> None:
        method, free = self.problem.method, self.problem.free(len(self.D))
        nothing = learner.empty(*self.D.shape)
        D, _, gain = learner.update(nothing, sums, self.D, method.dictionary_regulariser, free)
        if method.selects_atoms:
            D = np.where((free & ~self.C.any(axis=0))[:, None], D.dtype.type(0), D)
        self.D, self.C = D, self.C * gain
        self._evaluate()

    def objective(self) -> float:
        """Weighted mean over samples, plus the penalty of the dictionary."""
        return float("inf") if self.cold else self.problem.mean(self.losses, self.D)

    def _evaluate(self) -> None:
        coding = self.problem.coding(self.D)

        def work(rows: slice) -> Array:
            X, weight = self.problem.load(rows)
            return coding.objective(X, self.C[rows], weight)

        self.losses = np.concatenate(self.pool.map(work, self.problem.blocks()))


@dataclass
class HeldOutEntries:
    """Observed entries that are hidden from the codes of some rows, to detect overfitting.

    With missing entries an alternation that continues makes atoms that fit the noise of single
    entries: the objective falls while predictions of missing entries get worse with every iteration
    (docs/guide/choices.md).
    """

    rows: slice
    X: Any
    shown: Array
    hidden: Array
    sample_weight: Array
    best: tuple[Array, Array, Array] | None = None
    """Losses of the rows, dictionary and all codes of the best iteration."""

    @classmethod
    def of(cls, problem: BatchProblem, seed: int) -> HeldOutEntries | None:
        """Hide a tenth of the entries of evenly spaced rows; None if nothing is missing."""
        if (
            problem.method.block_kind(problem.batch) == "sparse"
        ):  # such rows have no missing entries
            return None
        rows = slice(0, None, -(-problem.batch.n_samples // _HELD_OUT_ROWS))
        X, weight = problem.load(rows)
        if weight is None or (weight > 0).all():
            return None
        hide = np.random.default_rng([seed, 4]).random(weight.shape) < _HELD_OUT_SHARE
        zero = weight.dtype.type(0)
        shown, hidden = np.where(hide, zero, weight), np.where(hide, weight, zero)
        return cls(rows, X, shown, hidden, problem.sample_weight[rows])

    def overfits(self, coding: CodingProblem, C: Array) -> bool:
        """Whether hidden entries are predicted worse than in the best iteration.

        The mean loss of the rows has to rise by more than a standard error.
        """
        start = np.ascontiguousarray(C[self.rows])
        codes = EXACT.encode(coding, self.X, self.shown, start).codes
        losses = coding.loss.value(self.X, codes @ coding.D, self.hidden) * self.sample_weight
        if self.best is None or losses.sum() < self.best[0].sum():
            self.best = losses, coding.D, C.copy()
            return False
        rise = losses - self.best[0]
        return bool(rise.mean() > rise.std() / np.sqrt(len(rise)))
