"""Batch nonnegative matrix factorisation under the Manhattan distance: paper C."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from thresher.encoding import AutoEncoder
from thresher.engine import Callback
from thresher.estimators.batch_estimator import BatchEstimator
from thresher.estimators.parameters import NONNEGATIVE
from thresher.estimators.registry import (
    frozen_mask,
    named_dictionary_set,
    named_graph,
    named_penalty,
    named_set,
)
from thresher.losses import ElasticDistance, L1Distance, Loss
from thresher.manhattan import FactorSpecification, Graph
from thresher.penalties import Regulariser
from thresher.solvers import MANHATTAN_SOLVERS


@dataclass(eq=False, repr=False)
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

    _solvers = MANHATTAN_SOLVERS

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BatchEstimator._parameter_constraints,
        "zero_weight": [NONNEGATIVE],
        "square_weight": [NONNEGATIVE],
        "graph_weight": [NONNEGATIVE],
    }

    n_components: int | None = None
    _: KW_ONLY
    init: Any = "samples"
    solver: Any = "auto"
    zero_weight: float = 1.0
    square_weight: float = 0.0
    graph: Any = None
    graph_weight: float = 1.0
    code_set: Any = "nonnegative"
    code_penalty: Any = None
    dictionary_set: Any = "auto"
    dictionary_penalty: Any = None
    frozen_atoms: Any = None
    tol: float = 1e-4
    max_iter: int = 1000
    code_tol: float | None = None
    code_max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = None
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1

    # ------------------------------------------------------------------- details

    def _specification(self, n_components: int, in_order: bool = True) -> FactorSpecification:
        loss = self._loss()
        codes = Regulariser(named_penalty(self.code_penalty), named_set(self.code_set))
        return FactorSpecification(
            loss=lambda _: loss,
            code_regulariser=codes,
            dictionary_set=named_dictionary_set(self.dictionary_set),
            dictionary_penalty=named_penalty(self.dictionary_penalty),
            frozen=frozen_mask(self.frozen_atoms, n_components),
            encoder=AutoEncoder(*self._code_limits()),
            square_weight=self.square_weight,
            graph=None if self.graph is None else self._graph,
            tol=self.tol,
        )

    def _graph(self, X: Any, worth: float) -> Graph | None:
        return named_graph(self.graph, self.graph_weight * worth, X)

    def _loss(self) -> Loss:
        if self.square_weight == 0:
            return L1Distance(self.zero_weight)
        return ElasticDistance(self.square_weight, self.zero_weight)
