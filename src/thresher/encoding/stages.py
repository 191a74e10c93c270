"""Combinations of encoders: several in a row, each from the codes of the one before."""

from dataclasses import dataclass, replace
from typing import Any

from thresher.encoding.block_admm import BlockADMM
from thresher.encoding.loop import Encoder, Encoding, IterativeEncoder, Never, Status
from thresher.encoding.problem import CodingProblem, Rows
from thresher.linalg import Array

# Up to here a Newton step, of K(K + 1)/2 products an entry, costs less than two rounds of ADMM, of
# 2K products each: given codes are then finished at once. Heuristic, for speed alone.
_FEW_ATOMS = 8


@dataclass(frozen=True)
class Stages(Encoder):
    """Encoders in a row; each goes on where rows of the one before have not converged.

    An encoder that the problem does not suit is left out, except the first. Two that then follow
    each other and differ in their bounds alone become one.

    Parameters
    ----------
    encoders : tuple of Encoder
        Each has a ``max_iter`` of its own. On few atoms, the first one takes one iteration only
        where codes are given.
    start : Encoder or None
        Gives codes to start from where there are none. It is left out where it does not suit.
    max_iter : int
        Bound on the iterations of all encoders together.
    """

    encoders: tuple[Any, ...]
    start: Encoder | None = None
    max_iter: int = 1000

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """What the first encoder requires."""
        reason: str | None = self.encoders[0].requires(problem, rows)
        return reason

    def precompute(self, problem: CodingProblem, rows: Rows) -> Any:
        """Prepare the start, and every encoder that suits."""
        begin = self.start
        if begin is not None and begin.requires(problem, rows) is not None:
            begin = None
        kept = [self.encoders[0]]
        for encoder in self.encoders[1:]:
            if sum(one.max_iter for one in kept[1:]) >= self.max_iter:
                break
            if encoder.requires(problem, rows) is not None:
                continue
            if encoder == replace(kept[-1], max_iter=encoder.max_iter):
                kept[-1] = replace(encoder, max_iter=encoder.max_iter + kept[-1].max_iter)
            else:
                kept.append(encoder)
        stages = [(encoder, encoder.precompute(problem, rows)) for encoder in kept]
        return None if begin is None else begin.prepare(problem, rows), stages

    def run(
        self, problem: CodingProblem, shared: Any, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Code all rows by the first encoder, and those that need more by the next ones."""
        begin, stages = shared
        if start is None and begin is not None:
            start = begin(X, weight).codes
        (first, own), *others = stages
        one_step = bool(others) and start is not None and len(problem.D) <= _FEW_ATOMS
        steps = min(1 if one_step else first.max_iter, self.max_iter)
        found: Encoding = replace(first, max_iter=steps).run(problem, own, X, weight, start)
        for encoder, own in others:
            late = found.status != Status.CONVERGED
            bound = min(encoder.max_iter, self.max_iter - steps)
            if bound <= 0 or not late.any():
                break
            mask = None if weight is None else weight[late]
            bounded = replace(encoder, max_iter=bound)
            rest = bounded.run(problem, own, X[late], mask, found.codes[late])
            found.codes[late], found.certificate[late] = rest.codes, rest.certificate
            found.status[late], found.n_iter[late] = rest.status, steps + rest.n_iter
            steps += bound
        return found


@dataclass(frozen=True)
class ConvexStart(Encoder):
    """Codes under the convex surrogate of a loss that is not convex: a reproducible start."""

    max_iter: int = 5

    def requires(self, problem: CodingProblem, rows: Rows) -> str | None:
        """A loss that is not convex."""
        return "a loss that is not convex" if problem.loss.convex else None

    def precompute(self, problem: CodingProblem, rows: Rows) -> Any:
        """Prepare a few rounds of ADMM under the surrogate."""
        surrogate = replace(problem, loss=problem.loss.convex_surrogate)
        return IterativeEncoder(BlockADMM(), Never(), self.max_iter).prepare(surrogate, rows)

    def run(
        self, problem: CodingProblem, shared: Any, X: Any, weight: Array | None, start: Array | None
    ) -> Encoding:
        """Codes that are feasible, and optimal for neither loss."""
        encoding: Encoding = shared(X, weight)
        return encoding
