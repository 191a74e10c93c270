"""Codes by any encoder and dictionaries by any learner, in turns, for the second loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thresher.encoding import BlockEncoder, CodingProblem
from thresher.engine.alternate import Alternation, PlainAlternation
from thresher.engine.extrapolation import Extrapolation
from thresher.engine.pool import Pool
from thresher.engine.restarts import restarted
from thresher.engine.state import StreamState
from thresher.learning import Learner
from thresher.linalg import Array
from thresher.losses import Loss
from thresher.streams import Batch

if TYPE_CHECKING:
    from thresher.engine.method import Method

Rounds = Callable[["BatchProblem", StreamState, Array | None, Pool], Alternation]
"""Begins a batch method: from the problem, the state, codes to start from if any, and a pool."""

# By judgement: steps of a learner, each more cautious, before a dictionary stays as it is, and the
# rows whose codes a certificate is taken of.
_TRIALS = 4
_ADAPTS = 3
_PAYS = 1e-4  # of the objective is what another support must save
_CERTIFIED_ROWS = 16


@dataclass
class BatchProblem:
    """All samples with their weights, and the parts of the method: (S-7).

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
        """A block of samples and the weights of its entries, zero where missing."""
        X, weight, _ = self.method.load(self.batch, rows, self.dtype)
        return X, weight

    def blocks(self) -> list[slice]:
        """Row blocks of fixed size."""
        return list(self.method.blocks(self.batch))

    def coding(self, D: Array) -> CodingProblem:
        """The coding problem on a dictionary."""
        return CodingProblem(D, self.loss, self.method.code_regulariser)

    def learning(self, D: Array) -> CodingProblem:
        """The same as the learner sees it, which may be with a smoothed loss."""
        loss = self.loss if self.dictionary_loss is None else self.dictionary_loss
        return CodingProblem(D, loss, self.method.code_regulariser)

    def mean(self, losses: Array, D: Array) -> float:
        """Weighted mean of the samples' objectives, plus the penalty of the dictionary."""
        total = float(np.dot(self.sample_weight, losses.astype(np.float64)))
        penalty = float(self.method.dictionary_regulariser.value(D).sum())
        return total / float(self.sample_weight.sum()) + penalty

    def certificate(self, D: Array, C: Array) -> float:
        """The worst certificate of the first few codes."""
        some = slice(0, min(_CERTIFIED_ROWS, self.batch.n_samples))
        X, weight = self.load(some)
        return float(self.coding(D).certificate(X, C[some], weight).max())

    def free(self, n_components: int) -> NDArray[np.bool_]:
        """Flags of the atoms that may move."""
        return self.method.free_atoms(n_components)


@dataclass
class ExactAlternation(PlainAlternation):
    """Codes by an encoder, warm-started and never worsened; dictionary by a learner's step.

    With one multiplicative update for each half it is that of Lee and Seung and its kin; with an
    exact encoder and an ``extrapolation`` it is ``auto``. The objective never rises.
    """

    early_stopping: ClassVar[bool] = True

    problem: BatchProblem
    D: Array
    C: Array
    encoder: BlockEncoder
    pool: Pool
    extrapolation: Extrapolation | None = None
    cold: bool = False
    """Whether ``C`` is only room for codes, and the first round starts without any."""

    def __post_init__(self) -> None:
        if self.cold:
            self.losses: Array = np.full(len(self.C), np.inf, dtype=self.C.dtype)
        else:
            self._evaluate()

    def improve_codes(self) -> None:
        """Codes of the dictionary, or of the one ahead of it."""
        if not self._goes_ahead():
            self._code()

    def _goes_ahead(self) -> bool:
        """Try the dictionary that the last rounds lead to; it stays if the objective falls."""
        ahead = None if self.extrapolation is None else self.extrapolation.ahead()
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
        self.extrapolation.forget()
        return False

    def _code(self) -> None:
        """Code every block from its last codes; a row that got worse keeps them."""
        coding = self.problem.coding(self.D)
        self.encoder.prepare(coding, self.problem.method.rows(self.problem.batch))

        def work(rows: slice) -> None:
            X, weight = self.problem.load(rows)
            start = None if self.cold else self.C[rows]
            C = self.encoder.encode(coding, X, weight, start).codes
            losses = coding.objective(X, C, weight)
            better = losses < self.losses[rows]
            self.C[rows] = np.where(better[:, None], C, self.C[rows])
            self.losses[rows] = np.where(better, losses, self.losses[rows])

        self.pool.map(work, self.problem.blocks())
        self.cold = False

    def improve_dictionary(self) -> None:
        """Take the learner's step; if the objective rose, a more cautious one, or none."""
        learner, sums = self.problem.method.learner, self._summed()
        D, C, losses, last = self.D, self.C, self.losses, self.objective()
        for _ in range(_TRIALS):
            self._move(learner, sums)
            if self.objective() <= last:
                if self.extrapolation is not None:
                    self.extrapolation.add(D, self.D)
                return
            self.D, self.C, self.losses = D, C, losses
            learner = learner.cautious()

    def change_support(self, seed: int) -> bool:
        """Drop an atom, or restart one that is zero, if the objective falls; whether it did.

        A penalty on the dictionary makes local optima in which an atom does not pay, or where one
        is missing that would. Alternation leaves neither.
        """
        method = self.problem.method
        if not method.selects_atoms or self.cold:
            return False
        free, used = self.problem.free(len(self.D)), self.D.any(axis=1)
        for k in [*np.flatnonzero(free & used), *np.flatnonzero(free & ~used)[:1]]:
            D, C, losses, last = self.D, self.C, self.losses, self.objective()
            self.D, self.C = self._with_other(k, seed), C.copy()
            self.C[:, k] = 0
            self._evaluate()
            self._code()
            for _ in range(_ADAPTS):  # the other atoms take over, or the new one learns
                self.improve_dictionary()
                self._code()
            if self.objective() < last * (1 - _PAYS):
                if self.extrapolation is not None:
                    self.extrapolation.forget()
                return True
            self.D, self.C, self.losses = D, C, losses
        return False

    def _with_other(self, k: int, seed: int) -> Array:
        """The dictionary with atom k at zero or, if it was there, restarted from a sample."""
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
        D, _, gain = learner.learn(nothing, sums, self.D, method.dictionary_regulariser, free)
        if method.selects_atoms:
            D = np.where((free & ~self.C.any(axis=0))[:, None], D.dtype.type(0), D)
        self.D, self.C = D, self.C * gain
        self._evaluate()

    def objective(self) -> float:
        """Weighted mean over samples, plus the penalty of the dictionary."""
        return float("inf") if self.cold else self.problem.mean(self.losses, self.D)

    def certificate(self) -> float:
        """Of the first few codes."""
        return self.problem.certificate(self.D, self.C)

    def _evaluate(self) -> None:
        coding = self.problem.coding(self.D)

        def work(rows: slice) -> Array:
            X, weight = self.problem.load(rows)
            return coding.objective(X, self.C[rows], weight)

        self.losses = np.concatenate(self.pool.map(work, self.problem.blocks()))
