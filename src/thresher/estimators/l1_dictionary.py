"""Dictionary learning in the ℓ1 distance: paper B."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from thresher.engine import Callback, Position
from thresher.estimators.batch_estimator import BatchEstimator
from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.online_estimator import OnlineEstimator
from thresher.estimators.parameters import NONNEGATIVE
from thresher.estimators.registry import LossTerms, named_divergence
from thresher.linalg import Array
from thresher.losses import L1Distance, Loss
from thresher.solvers import BATCH_L1_SOLVERS, ONLINE_L1_SOLVERS


class L1Model(DictionaryEstimator):
    """``min over D in S, C ≥ 0 of ‖P − C D‖₁ + λ‖C‖₁``."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DictionaryEstimator._parameter_constraints,
        "zero_weight": [NONNEGATIVE],
    }

    zero_weight: float
    code_set = "nonnegative"

    def _loss_terms(self) -> LossTerms:
        return named_divergence(L1Distance(self.zero_weight), None)

    @property
    def loss_(self) -> Loss:
        """The ℓ1 distance, with the weight of zeros."""
        return self.problem().loss

    def _score_samples(self, given: Any, X: Any, entry_weight: Any = None) -> Array:
        """``−(‖p − cD‖₁ + λ‖c‖₁)`` of every document, at its exact codes.

        A document is novel if this falls below −ζ (paper B, Algorithm 4). Zero codes are always
        possible, so that no document of sum one scores below −1.
        """
        return -self._objectives(X, entry_weight)


@dataclass(eq=False, repr=False)
class OnlineL1Dictionary(L1Model, OnlineEstimator):
    r"""Learn a dictionary of documents from a stream, in the ℓ1 distance.

    Minimises, over dictionaries :math:`D` of nonnegative atoms with entries that sum to at most
    one,

    .. math:: E_p\Big[\min_{c \ge 0}\; \|p - cD\|_1 + \lambda \|c\|_1\Big]

    with documents p in rows, such as tf-idf vectors that sum to one. A document whose minimum is
    large is one that the dictionary cannot explain: it is novel (see `score_samples`). Sparse
    documents (CSR) cost what their own words cost, whatever the vocabulary.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms K; by default 10, or the number of features if that is less.
    code_penalty : float or Penalty
        λ, 0.1 as in the paper.
    zero_weight : float
        What a unit of prediction costs where a document has no such word; 1 as published. Below
        one, documents that share few words with the atoms still use them.
    init : {"auto", "medians", "samples", "mean", "random"} or array (K, F)
        Where atoms start. ``auto`` takes medians of groups of similar documents where most entries
        are zero, and thinned samples elsewhere. Means would be useless: with them codes of zero are
        optimal for nearly every document.
    solver : {"auto", "oiadmm"} or thresher.solvers.oiadmm
        ``auto`` codes documents exactly and moves the dictionary by a quadratic with additive
        statistics, for the distance smoothed at the scale of the residuals. ``oiadmm`` is that of
        the paper: it expands the documents of a batch and keeps a dual of the size of the largest
        one; ``thresher.solvers.oiadmm`` has its constants.
    dictionary_set : str or ConvexSet
        Where atoms may lie; ``l1_ball`` as in the paper.
    dictionary_penalty, batch_size, n_passes, shuffle, forgetting, drift, frozen_atoms, tol,
    code_tol, code_max_iter, n_jobs, random_state, callbacks, verbose
        As in `OnlineNMF`.

    Attributes
    ----------
    components_ : array of shape (K, F)
        The dictionary, atoms in rows.
    history_ : History
        One row per batch: samples, seconds, loss (λ‖c‖₁ included), certificate, dictionary change,
        and for ``oiadmm`` the accumulated squared violation of its constraint, and what its regret
        cannot exceed.
    n_samples_seen_, n_iter_ : int
        Samples and batches seen.

    References
    ----------
    S. P. Kasiviswanathan, H. Wang, A. Banerjee, P. Melville, "Online ℓ1-dictionary learning with
    application to novel document detection", NIPS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from thresher import OnlineL1Dictionary
    >>> words = sparse.random_array((500, 300), density=0.05, rng=0, format="csr")
    >>> model = OnlineL1Dictionary(8, random_state=0, verbose=0).partial_fit(words)
    >>> model.score_samples(words).shape
    (500,)
    """

    _solvers = ONLINE_L1_SOLVERS

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **L1Model._parameter_constraints,
        **OnlineEstimator._parameter_constraints,
    }

    n_components: int | None = None
    _: KW_ONLY
    code_penalty: Any = 0.1
    zero_weight: float = 1.0
    init: Any = "auto"
    solver: Any = "auto"
    dictionary_set: Any = "l1_ball"
    dictionary_penalty: Any = None
    batch_size: int = 256
    n_passes: int | None = None
    shuffle: bool = True
    forgetting: Any = "auto"
    drift: Any = None
    frozen_atoms: Any = None
    tol: float = 1e-4
    code_tol: float | None = None
    code_max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = None
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1

    def _begin_with(self, X: Any, atoms: Array) -> Self:
        """Begin with some atoms, before any step: ONLINE of paper B after its step 0."""
        self._check_parameters()
        batch = self._batch(self._checked(X, known=False), None, None)
        fitted = self._begin_from(atoms, len(atoms), batch, self._draw_seed(), in_order=True)
        self._set_features(X)
        self._reset()
        self._adopt(fitted, Position())
        return self


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
