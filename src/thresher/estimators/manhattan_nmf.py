"""Batch nonnegative matrix factorisation under the Manhattan distance: paper C."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from thresher.encoding import AutoEncoder, BlockEncoder
from thresher.engine import (
    Alternation,
    BatchProblem,
    Callback,
    OnlineMethod,
    Pool,
    TwoFactors,
)
from thresher.estimators.batch import BatchModel
from thresher.estimators.registry import (
    MANHATTAN_SOLVERS,
    frozen_mask,
    named_regulariser,
    named_solver,
)
from thresher.learning import BlockDescent, QuadraticLearner
from thresher.linalg import Array
from thresher.losses import L1Distance
from thresher.streams import Batch


class ManhattanNMF(BatchModel):
    r"""Factorise a whole nonnegative matrix so that few entries are far off.

    Minimises (1) of paper C, divided by the number of samples,

    .. math:: \tfrac1n \sum_{if} |X - CD|_{if}, \qquad C \ge 0,\; D \ge 0,

    by alternating between codes and dictionary, all data in memory; the objective never rises.
    Half of the entries of a sample may be anything: outliers need no threshold.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "samples",
        solver: Any = "auto",
        zero_weight: float = 1.0,
        code_set: Any = "nonnegative",
        code_penalty: Any = None,
        dictionary_set: Any = "l2_ball",
        dictionary_penalty: Any = None,
        frozen_atoms: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Iterable[Callback] | None = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.zero_weight = zero_weight
        self.code_set = code_set
        self.code_penalty = code_penalty
        self.dictionary_set = dictionary_set
        self.dictionary_penalty = dictionary_penalty
        self.frozen_atoms = frozen_atoms
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    @property
    def solver_(self) -> str:
        """What the solver consists of."""
        return named_solver(self.solver, MANHATTAN_SOLVERS).description

    # ------------------------------------------------------------------- details

    def _method(self, n_components: int, in_order: bool = True) -> OnlineMethod:
        named_solver(self.solver, MANHATTAN_SOLVERS)
        loss = L1Distance(self.zero_weight)
        codes = named_regulariser("code", self.code_set, self.code_penalty)
        return OnlineMethod(
            encoder=self._exact_encoder(),
            loss=lambda _: loss,
            learner=QuadraticLearner(BlockDescent()),  # keeps no statistics: all is in memory
            code_regulariser=codes,
            dictionary_regulariser=named_regulariser(
                "dictionary", self.dictionary_set, self.dictionary_penalty
            ),
            frozen=frozen_mask(self.frozen_atoms, n_components),
            keep_sparse=True,
        )

    def _exact_encoder(self) -> BlockEncoder:
        return AutoEncoder(self.tol, self.max_iter)

    def _stream_first(self, method: OnlineMethod, batch: Batch, pool: Pool) -> None:
        """Nothing: solvers start by themselves."""

    def _alternation(
        self, method: OnlineMethod, batch: Batch, pool: Pool, codes: Array | None
    ) -> Alternation:
        state = self._state
        problem = BatchProblem(method, batch, method.loss(1.0), state.D.dtype)
        solver = named_solver(self.solver, MANHATTAN_SOLVERS)
        if codes is None:
            # Uniform, as published; the same for every row, so that a sample of weight two is
            # treated exactly like two equal samples.
            one = np.random.default_rng([state.seed, 3]).random(len(state.D))
            codes = np.tile(one.astype(state.D.dtype), (batch.n_samples, 1))
        return TwoFactors(problem, state.D.copy(), codes, solver.choose, pool)
