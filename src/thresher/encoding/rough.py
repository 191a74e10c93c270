"""Codes that are good enough to learn from: some rounds, and no look at how far they are."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from thresher.encoding.block_admm import ROUNDS_WITH_GAPS, BlockADMM, Rough
from thresher.encoding.iterate import Encoder, Encoding, Never
from thresher.encoding.multiplicative import MultiplicativeUpdates
from thresher.encoding.problem import DENSE, CodingProblem, Rows
from thresher.encoding.two_stages import neighbouring_codes, prepare_neighbour
from thresher.linalg import Array

_ROUNDS = 4
# Kinks settle slowly: with four rounds dictionaries end 4 % above the planted one, with twelve 1 %
# (docs/lab/manhattan.md).
_ROUNDS_WITH_KINKS = 12
_UPDATES = 20


@dataclass(frozen=True)
class RoughBlocks:
    """Rounds of the block encoder: one for most rows under squares, four or twelve elsewhere."""

    block: BlockADMM = field(default_factory=BlockADMM)

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """A proximal map of the loss, which convex ones have."""
        if rows.sparse:
            return "dense samples"
        return None if problem.loss.convex else "a convex loss"

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what the blocks share."""
        self.block.prepare(problem)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Codes of the rows of a block."""
        if problem.loss.envelope is not None or problem.loss.metric is not None:
            return self._few.encode(problem, X, weight, start)
        rounds = _ROUNDS if problem.loss.smooth else _ROUNDS_WITH_KINKS
        few = Encoder(self.block, Never(), rounds, certify=False)
        return few.encode(problem, X, weight, start)

    @cached_property
    def _few(self) -> Encoder:
        return Encoder(self.block, Rough(rounds=_ROUNDS), ROUNDS_WITH_GAPS, certify=False)


@dataclass(frozen=True)
class RoughUpdates:
    """Twenty multiplicative updates, from the convex neighbour where the loss is not convex."""

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """What the updates require."""
        return MultiplicativeUpdates().requires(problem, rows)

    def prepare(self, problem: CodingProblem, rows: Rows = DENSE) -> None:
        """Compute once what the blocks share."""
        MultiplicativeUpdates().prepare(problem)
        prepare_neighbour(problem)

    def encode(
        self,
        problem: CodingProblem,
        X: Any,
        weight: Array | None = None,
        start: Array | None = None,
    ) -> Encoding:
        """Codes of the rows of a block."""
        start = neighbouring_codes(problem, X, weight) if start is None else start
        updates = Encoder(MultiplicativeUpdates(), Never(), _UPDATES, certify=False)
        return updates.encode(problem, X, weight, start)
