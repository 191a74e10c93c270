"""Batch nonnegative matrix factorisation under the Manhattan distance: paper C."""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from thresher.encoding import AutoEncoder, can_stay_sparse
from thresher.engine import Alternation, BatchProblem, Callback, Candidate, Candidates, Method, Pool
from thresher.estimators.batch_estimator import BatchEstimator
from thresher.estimators.registry import frozen_mask, named_atoms, named_graph, named_regulariser
from thresher.learning import BlockDescent, QuadraticLearner
from thresher.linalg import Array
from thresher.losses import ElasticDistance, L1Distance, Loss
from thresher.manhattan import TwoFactors
from thresher.penalties import Constrained
from thresher.published.method import PublishedMethod
from thresher.sets import NonnegativeOrthant
from thresher.solvers import (
    AS_PUBLISHED,
    MANHATTAN_SOLVERS,
    FactorSolver,
    name_of,
    named_solver,
)
from thresher.streams import Batch

_BURST_TOL = 5.0  # bursts end at so many times the tolerance of sweeps; by judgement
_TOL = 1e-4  # for the switch from bursts to sweeps, where the user's is 0


_FACTORS = (
    "both factors stay in memory; ADMM on both finds the neighbourhood of a good optimum in a few "
    "rounds, sweeps finish (docs/lab/manhattan.md)"
)


class ManhattanNMF(BatchEstimator):
    r"""Factorise a whole nonnegative matrix so that few entries are far off.

    Minimises (1) of paper C, divided by the number of samples,

    .. math:: \tfrac1n \sum_{if} |X - CD|_{if}, \qquad C \ge 0,\; D \ge 0,

    by alternating between codes and dictionary, all data in memory; the objective never rises.
    Half of the entries of a sample may be anything: outliers need no threshold.

    Parameters
    ----------
    n_components : int, optional
        Atoms K; None is 10, at most F.
    init : {"samples", "random", ...} or array of shape (K, F)
        Where atoms start.
    solver : {"auto", "rri", "ogm"}
        ``rri`` and ``ogm`` are those of the paper, with its stops; `thresher.solvers` has them
        with other constants, such as ``ogm(monotone=True)``.
    zero_weight : float
        What a unit of prediction costs where data are exactly zero; 1 as published. In sparse data
        zeros are many, and at full weight they often outvote all the rest.
    square_weight : float
        α of the elastic-net loss (58), ``|e| + α/2 e²``.
    graph : int, sparse matrix or None
        Neighbours that should have like codes (33): how many nearest ones, or their similarities
        S (n, n). It acts in `fit`; `transform` codes each row by itself.
    graph_weight : float
        β of ``β/2 tr(CᵀLC)``, in units of the loss.
    code_set, dictionary_set : str or ConvexSet
        Where codes and atoms lie: ``box`` for entries in [0, 1] (27), `sets.GroupBall` for groups
        (40). While codes are free, a bound on the length of atoms costs nothing: ``auto`` is then
        ``l2_ball``. Where codes are bounded, and for ``rri`` and ``ogm``, it is ``nonnegative``.
    code_penalty, dictionary_penalty : float or Penalty, optional
        A number is the weight of an ℓ1 penalty; `penalties.GroupNorm` is that of (41).
    frozen_atoms : list of int or of bool, optional
        Atoms that never move.
    tol : float
        Relative improvement of the objective in a round at which `fit` ends (0: it never does);
        ``rri`` and ``ogm`` end by their own ξ instead.
    max_iter : int
        Bound on the rounds.
    code_tol, code_max_iter : float, int
        Tolerance of a code, by default ``tol``, and bound on its iterations.
    n_jobs : int, optional
        Threads; None is one for each core. They do not change bits.
    random_state : int, RandomState or None
    callbacks : list of callable, optional
        Called after each round with a `Step`; True ends the fit.
    verbose : int
        0 is silent.

    Attributes
    ----------
    components_ : array of shape (K, F)
    history_ : History
        One row per round; ``loss`` is the objective per sample.
    n_iter_ : int
        Rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import ManhattanNMF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3)) @ rng.random((3, 30))
    >>> X[rng.random(X.shape) < 0.1] = 5.0
    >>> ManhattanNMF(3, random_state=0, verbose=0).fit(X).components_.shape
    (3, 30)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "samples",
        solver: Any = "auto",
        zero_weight: float = 1.0,
        square_weight: float = 0.0,
        graph: Any = None,
        graph_weight: float = 1.0,
        code_set: Any = "nonnegative",
        code_penalty: Any = None,
        dictionary_set: Any = "auto",
        dictionary_penalty: Any = None,
        frozen_atoms: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        code_tol: float | None = None,
        code_max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Iterable[Callback] | None = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.zero_weight = zero_weight
        self.square_weight = square_weight
        self.graph = graph
        self.graph_weight = graph_weight
        self.code_set = code_set
        self.code_penalty = code_penalty
        self.dictionary_set = dictionary_set
        self.dictionary_penalty = dictionary_penalty
        self.frozen_atoms = frozen_atoms
        self.tol = tol
        self.max_iter = max_iter
        self.code_tol = code_tol
        self.code_max_iter = code_max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def _solver(self) -> FactorSolver:
        return named_solver(self.solver, MANHATTAN_SOLVERS)

    # ------------------------------------------------------------------- details

    def _plan(self, n_components: int, in_order: bool = True) -> Candidates[Method]:
        solver = self._solver()
        loss = self._loss()
        codes = named_regulariser("code", self.code_set, self.code_penalty)
        published = NonnegativeOrthant() if solver.published and codes.form.is_unpenalised else None
        atoms = named_atoms(self.dictionary_set, self.dictionary_penalty, codes, published)
        # (33) bounds no dictionary; whoever asks for the paper's solver gets the paper's problem.
        _check_scale(codes, atoms, self.graph is not None and not solver.published)
        kind = PublishedMethod if solver.published else Method
        method = kind(
            encoder=AutoEncoder(*self._code_limits()),
            loss=lambda _: loss,
            learner=QuadraticLearner(BlockDescent()),  # keeps no statistics: all is in memory
            code_regulariser=codes,
            dictionary_regulariser=atoms,
            frozen=frozen_mask(self.frozen_atoms, n_components, atoms.region),
            keep_sparse=can_stay_sparse(loss, codes) and self.square_weight == 0,
        )
        name = name_of(self.solver) if solver.published else "factors"
        return (Candidate(name, method, AS_PUBLISHED if solver.published else _FACTORS),)

    def _loss(self) -> Loss:
        if self.square_weight == 0:
            return L1Distance(self.zero_weight)
        return ElasticDistance(self.square_weight, self.zero_weight)

    def _stream_first(self, method: Method, batch: Batch, pool: Pool) -> None:
        """Nothing: solvers start by themselves."""

    def _alternation(
        self, method: Method, batch: Batch, pool: Pool, codes: Array | None
    ) -> Alternation:
        state = self._state
        problem = BatchProblem(method, batch, method.loss(1.0), state.D.dtype)
        solver = named_solver(self.solver, MANHATTAN_SOLVERS)
        worth = state.code_unit * (state.code_unit / state.loss_unit)  # of squares of codes
        if codes is None:
            # Uniform, as published; the same for every row, so that a sample of weight two is
            # treated exactly like two equal samples.
            one = np.random.default_rng([state.seed, 3]).random(len(state.D))
            codes = np.tile(one.astype(state.D.dtype), (batch.n_samples, 1))
        return TwoFactors(
            problem,
            state.D.copy(),
            codes,
            solver.choose,
            pool,
            self.square_weight * state.unit,
            named_graph(self.graph, self.graph_weight * worth, batch.X),
            _BURST_TOL * (self.tol or _TOL) if solver.quick_start else 0.0,
            solver.rescales,
        )

    def _small_change(self, work: Alternation) -> float | None:
        return self._solver().small_change(cast(TwoFactors, work))


def _check_scale(codes: Constrained, atoms: Constrained, graph: bool) -> None:
    """Refuse a penalty on one factor that vanishes if the other factor grows."""
    penalised = (graph or not codes.form.is_unpenalised, not atoms.form.is_unpenalised)
    for has_penalty, factor, other, name, parts in (
        (penalised[0], "codes", "atoms", "dictionary", atoms),
        (penalised[1], "atoms", "codes", "code", codes),
    ):
        unbounded = parts.form.is_box and parts.form.upper == np.inf
        if has_penalty and unbounded and parts.form.is_unpenalised:
            raise ValueError(
                f"The {factor} have a penalty and the {other} have none, so dividing the {factor} "
                f"and multiplying the {other} by the same number would avoid it; set {name}_set, "
                f"for instance to 'box', or {name}_penalty."
            )
