"""Methods of published solvers, and the base class of the solvers that build them."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from thresher.encoding import Encoder
from thresher.engine import (
    Alternation,
    BatchProblem,
    Candidate,
    Candidates,
    ExactAlternation,
    Method,
    Pool,
    Rounds,
    Specification,
    StreamState,
)
from thresher.learning import FixedWeight, Learner
from thresher.linalg import Array
from thresher.published.base import Published
from thresher.sets import ConvexSet, Reals
from thresher.streams import Batch

Given = TypeVar("Given", bound=Specification)


class PlainUpdates(ExactAlternation):
    """Alternate between codes and dictionary until the objective converges."""

    early_stopping: ClassVar[bool] = False


def plain_updates(
    problem: BatchProblem, state: StreamState, codes: Array | None, pool: Pool
) -> Alternation:
    """Begin an alternation of the encoder and the learner of a method."""
    start = uniform_codes(problem, state, codes)
    return PlainUpdates(problem, state.D.copy(), start, problem.method.encoder, pool)


def uniform_codes(problem: BatchProblem, state: StreamState, codes: Array | None) -> Array:
    """Return initial codes: given ones, or uniform ones on [0, 1], projected onto their set."""
    if codes is not None:
        return codes
    shape = (problem.batch.n_samples, len(state.D))
    uniform = np.random.default_rng([state.seed, 3]).random(shape).astype(state.D.dtype)
    return problem.method.code_regulariser.region.project(uniform)


@dataclass(frozen=True)
class PublishedMethod(Method):
    """A method that computes in the unit of the data and never drops or restarts atoms.

    Parameters
    ----------
    feasible : bool
        Whether the dictionary always lies in its set. As printed, the initial dictionaries and
        copies of some solvers do not.
    """

    feasible: bool = True

    min_residual_scale: ClassVar[float] = 0.0

    @property
    def dictionary_set(self) -> ConvexSet:
        """The set of the atoms; the whole space if they may be infeasible."""
        return super().dictionary_set if self.feasible else Reals()

    @property
    def selects_atoms(self) -> bool:
        """Never: no published solver drops atoms."""
        return False

    def in_unit(self, unit: float) -> Self | None:
        """None: constants of published solvers have the unit of the data."""
        return None

    def maintain_atoms(self, state: StreamState, batch: Batch) -> StreamState:
        """Leave unused atoms as they are."""
        return state

    def rounds_left(self, max_iter: int, state: StreamState) -> int:
        """The number of iterations that remain, including those that measured the noise."""
        return max_iter - state.n_steps


class PublishedSolver(Published, Generic[Given]):
    """A solver of online or batch factorisations: it builds a method from a specification."""

    description: ClassVar[str]
    """Encoder, learner and source."""

    def __call__(self, given: Given) -> Candidates[Method]:
        """Return the method as the only candidate."""
        return (Candidate(self.name, self.method(given), f"{self.description}, chosen by name"),)

    @abstractmethod
    def method(self, given: Given) -> Method:
        """Build the method."""

    def build(
        self,
        given: Specification,
        encoder: Encoder,
        learner: Learner,
        default_set: ConvexSet | None = None,
        rounds: Rounds = plain_updates,
        **options: Any,
    ) -> PublishedMethod:
        """Build a method with the loss itself, without smoothing, and the plain average."""
        if given.dictionary_loss is not None:
            given = replace(given, dictionary_loss=None, outlier_weight=FixedWeight(1.0))
        parts = given.parts(default_set) | options
        method = PublishedMethod(encoder=encoder, learner=learner, rounds=rounds, **parts)
        self.check(learner.requires(method.loss(1.0), method.dictionary_regulariser.form))
        return method

    def check(self, reason: str | None) -> None:
        """Raise a ValueError if there is a reason to refuse a specification."""
        if reason is not None:
            raise ValueError(f"solver={self.name!r} needs {reason}.")
