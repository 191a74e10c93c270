"""Batch ℓ1 dictionary learning: paper B, what its Algorithm 4 repeats at every time step."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from thresher.engine import Callback
from thresher.estimators.batch_estimator import BatchEstimator
from thresher.estimators.divergence import L1Model
from thresher.solvers import BATCH_L1_SOLVERS


@dataclass(eq=False, repr=False)
class L1Dictionary(L1Model, BatchEstimator):
    r"""Factorise a whole matrix of documents in the ℓ1 distance.

    Minimises, over codes :math:`C \ge 0` and dictionaries :math:`D` of nonnegative atoms with
    entries that sum to at most one,

    .. math:: \tfrac1n \big(\|P - C D\|_1 + \lambda \|C\|_1\big)

    by alternating between them, all data in memory. For documents that do not fit, or that
    arrive, use `OnlineL1Dictionary`.

    Parameters
    ----------
    solver : {"auto", "admm"} or thresher.solvers.admm
        ``auto`` starts with a few passes of the online method, then alternates exact codes (of
        sparse documents on their own words) and its dictionary step; the objective never rises.
        ``admm`` is the loop of the paper's Algorithm 4: after codes for the start, Algorithm 3,
        started at the last dictionary, and Algorithm 2, started from zero, in turns; the objective
        may rise. It expands all documents; ``thresher.solvers.admm`` has its constants.
    max_iter : int
        Bound on the rounds of the alternation.
    tol : float
        Relative improvement of the objective in a round at which `fit` ends (0: it never does).

    All other parameters are those of `OnlineL1Dictionary`.

    Attributes
    ----------
    components_ : array of shape (K, F)
    history_ : History
        One row per round; ``loss`` is the objective per sample.
    n_iter_ : int
        Rounds.

    Examples
    --------
    >>> from scipy import sparse
    >>> from thresher import L1Dictionary
    >>> words = sparse.random_array((200, 100), density=0.05, rng=0, format="csr")
    >>> L1Dictionary(5, random_state=0, verbose=0).fit(words).components_.shape
    (5, 100)
    """

    _solvers = BATCH_L1_SOLVERS

    # The alternation on a smoothed loss gains little from a bad start, and the stream finds a good
    # one (measured: docs/lab/l1_dictionary.md).
    _stream_batch = 128
    _stream_passes = 10

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **L1Model._parameter_constraints,
        **BatchEstimator._parameter_constraints,
    }

    n_components: int | None = None
    _: KW_ONLY
    code_penalty: Any = 0.1
    zero_weight: float = 1.0
    init: Any = "auto"
    solver: Any = "auto"
    dictionary_set: Any = "l1_ball"
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
