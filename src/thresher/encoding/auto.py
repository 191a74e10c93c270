"""The encoders that `auto` stands for: the fastest for the problem at hand, exact or rough."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from thresher.encoding.block_admm import ROUNDS_WITH_GAPS, BlockADMM, Rough
from thresher.encoding.block_newton import BlockNewton
from thresher.encoding.compressed import Compressed
from thresher.encoding.iterate import Certified, Encoder, Encoding, Never, SmallChange, Status
from thresher.encoding.least_absolute import LeastAbsolute
from thresher.encoding.multiplicative import MultiplicativeUpdates
from thresher.encoding.newton import Newton
from thresher.encoding.problem import CodingProblem
from thresher.encoding.sparse_power import SparsePower
from thresher.linalg import Array
from thresher.losses import Envelope, KullbackLeibler, SquaredL2

# Where there are this many features for each atom, codes of a subsample of the features are an
# excellent start, and cost nearly nothing (measured: docs/encoders.md).
_FEATURES_PER_ATOM = 512
_KEPT_FEATURES_PER_ATOM = 64
_START_ROUNDS = 5
_STEPS_BEFORE_NEWTON = 8
_STEPS_PER_ITERATION = 20  # a simplex step is that much cheaper than a round
_SETTLED = 1e-3  # of the tolerance, in one round


@dataclass(frozen=True)
class AutoEncoder:
    """Exact codes: each row meets ``tol``, or its status says that it does not.

    - Outlier envelopes and squares: a few rounds of the block encoder, then Newton steps. For very
      wide samples (F ≥ 512 K) the start comes from a subsample of the features instead; squares
      without weights are coded in K dimensions.
    - Sparse rows under KL and its kin: on their own nonzeros.
    - The ℓ1 distance: a simplex method from a start by ADMM, or on the nonzeros of sparse rows.
    - Other losses with kinks, and the ℓ1 distance under other penalties and sets: the block
      encoder, until the objective has settled; nothing in closed form tells how far it is.
    - Other separable losses: some rounds of the block encoder (multiplicative updates if the loss
      is not convex), then Newton steps for the rows that need them.
    - Anything else: the block encoder, until its certificate holds.
    """

    tol: float = 1e-4
    max_iter: int = 1000
    rounds: int = 5
    block: BlockADMM = field(default_factory=BlockADMM)

    def prepare(self, problem: CodingProblem) -> None:
        """Compute once what the blocks share."""
        problem = problem.simplified()
        problem.dictionary_bound, problem.transposed, problem.row_sums  # noqa: B018 - kept
        if LeastAbsolute.applies(problem):
            LeastAbsolute().prepare(problem)
            return
        if Compressed.applies(problem, None, None):
            self.block.prepare(Compressed.of(problem).problem)
        self.block.prepare(problem)
        if not Newton.applies(problem) and BlockNewton.applies(problem, None):
            BlockNewton().prepare(problem)
        if self._is_wide(problem):
            self.block.prepare(self._coarse(problem))

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Find the codes of the rows of a block; ``weight`` 0 marks missing entries."""
        problem = problem.simplified()
        if Compressed.applies(problem, X, weight):
            small = Compressed.of(problem)
            return self.encode(small.problem, small.samples(X), None, start)
        if SparsePower.applies(problem, X):
            return SparsePower(self.tol, self.max_iter).encode(problem, X, start)
        if LeastAbsolute.applies(problem):
            steps = _STEPS_PER_ITERATION * self.max_iter
            return LeastAbsolute(self.tol, steps).encode(problem, X, weight, start)
        if not problem.loss.smooth:
            settled = SmallChange(_SETTLED * self.tol)
            few = Encoder(self.block, settled, self.max_iter, certify=False)
            return few.encode(problem, X, weight, start)
        if Newton.applies(problem):
            if start is None and self._is_wide(problem):
                start = self._coarse_codes(problem, X, weight)
            elif start is None:
                few = Encoder(self.block, Never(), self.rounds, certify=False)
                start = few.encode(problem, X, weight).codes
            return Newton(self.tol, self.max_iter).finish(problem, X, weight, start)
        return self._general(problem, X, weight, start)

    def _general(
        self, problem: CodingProblem, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """A few cheap steps that get most rows there, and Newton steps for the others."""
        newton = BlockNewton.applies(problem, X)
        first: BlockADMM | MultiplicativeUpdates = self.block
        if not problem.loss.convex or sparse.issparse(X):
            first = MultiplicativeUpdates()
            if start is None and not problem.loss.convex:
                start = _convex_start(problem, X, weight, self.block)
        steps = _STEPS_BEFORE_NEWTON if newton else self.max_iter
        encoding = Encoder(first, Certified(self.tol), min(steps, self.max_iter)).encode(
            problem, X, weight, start
        )
        late = encoding.status != Status.CONVERGED
        if not newton or not late.any() or self.max_iter <= steps:
            return encoding
        finish = Encoder(BlockNewton(), Certified(self.tol, 1), self.max_iter - steps)
        w = None if weight is None else weight[late]
        rest = finish.encode(problem, X[late], w, encoding.codes[late])
        encoding.codes[late], encoding.certificate[late] = rest.codes, rest.certificate
        encoding.status[late], encoding.n_iter[late] = rest.status, steps + rest.n_iter
        return encoding

    # ------------------------------------------------------------------- details

    @staticmethod
    def _is_wide(problem: CodingProblem) -> bool:
        K, F = problem.D.shape
        return bool(F >= _FEATURES_PER_ATOM * K)

    @staticmethod
    def _stride(problem: CodingProblem) -> int:
        K, F = problem.D.shape
        return int(F // (_KEPT_FEATURES_PER_ATOM * K))

    def _coarse(self, problem: CodingProblem) -> CodingProblem:
        """The problem on features at even distances."""

        def make() -> CodingProblem:
            D = np.ascontiguousarray(problem.D[:, :: self._stride(problem)])
            return replace(problem, D=D)

        coarse: CodingProblem = problem.remember("coarse", make)
        return coarse

    def _coarse_codes(self, problem: CodingProblem, X: Array, weight: Array | None) -> Array:
        stride = self._stride(problem)
        x = np.ascontiguousarray(X[:, ::stride])
        w = None if weight is None else np.ascontiguousarray(weight[:, ::stride])
        coarse = self._coarse(problem)
        few = Encoder(self.block, Never(), self.rounds, certify=False)
        return Newton(1e-3, 20).finish(coarse, x, w, few.encode(coarse, x, w).codes).codes


@dataclass(frozen=True)
class RoughEncoder:
    """Codes that are good enough to learn from: the same methods, stopped early.

    Sparse rows under the ℓ1 distance are coded exactly: that costs a few readings of their words.
    """

    rounds: int = 4
    updates: int = 20
    block: BlockADMM = field(default_factory=BlockADMM)

    def prepare(self, problem: CodingProblem) -> None:
        """Compute once what the blocks share."""
        problem = problem.simplified()
        problem.transposed, problem.row_sums  # noqa: B018 - kept by the problem
        if LeastAbsolute.applies(problem):
            LeastAbsolute().prepare(problem)
        if Compressed.applies(problem, None, None):
            self.block.prepare(Compressed.of(problem).problem)
        elif not SparsePower.suits(problem):  # sparse rows need no more; dense ones ask for it
            self.block.prepare(problem)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Rough codes of the rows of a block."""
        problem = problem.simplified()
        if Compressed.applies(problem, X, weight):
            small = Compressed.of(problem)
            return self.encode(small.problem, small.samples(X), None, start)
        if SparsePower.applies(problem, X):
            return SparsePower().encode_roughly(problem, X)
        if sparse.issparse(X) and LeastAbsolute.applies(problem):
            return LeastAbsolute().encode(problem, X, None, start)
        if sparse.issparse(X) or not problem.loss.convex:
            if start is None and not problem.loss.convex:
                start = _convex_start(problem, X, weight, self.block)
            updates = Encoder(MultiplicativeUpdates(), Never(), self.updates, certify=False)
            return updates.encode(problem, X, weight, start)
        if isinstance(problem.loss, SquaredL2 | Envelope):
            few = Encoder(self.block, Rough(rounds=self.rounds), ROUNDS_WITH_GAPS, certify=False)
            return few.encode(problem, X, weight, start)
        # Kinks settle slowly: with four rounds dictionaries end 4 % above the planted one, with
        # twelve 1 % (docs/manhattan.md).
        rounds = self.rounds if problem.loss.smooth else 3 * self.rounds
        return Encoder(self.block, Never(), rounds, certify=False).encode(problem, X, weight, start)


def _convex_start(
    problem: CodingProblem, X: Array, weight: Array | None, block: BlockADMM
) -> Array:
    """KL codes: a convex neighbour of divergences that are not, and so a start without chance."""

    def make() -> CodingProblem:
        return replace(problem, loss=KullbackLeibler())

    neighbour: CodingProblem = problem.remember("convex start", make)
    few = Encoder(block, Never(), _START_ROUNDS, certify=False)
    return few.encode(neighbour, X, weight).codes
