"""Batch nonnegative matrix factorisation with general divergences: paper E, VIII-A."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from thresher.engine import Callback
from thresher.estimators.batch_estimator import BatchEstimator
from thresher.estimators.divergence import (
    DivergenceModel,
)
from thresher.solvers import BATCH_DIVERGENCE_SOLVERS


@dataclass(eq=False, repr=False)
class BatchNMF(DivergenceModel, BatchEstimator):
    r"""Factorise a whole nonnegative matrix under any divergence.

    Minimises, over codes :math:`C \ge 0` and dictionaries :math:`D` in a convex set,

    .. math:: \tfrac1n \sum_i d(x_i \,\|\, c_i D)

    by alternating between them, all data in memory; the objective never rises. For data that do
    not fit, or that arrive, use `OnlineNMF`.

    Parameters
    ----------
    solver : {"auto", "mu", "sparse_coding"} or a part
        ``auto`` starts with a few passes of the online method, then alternates near-exact codes
        and the dictionary step of `OnlineNMF`; ``mu`` makes one multiplicative update of each, for
        every divergence; ``sparse_coding``, for squares, makes block coordinate descent on the
        atoms and exact codes in turns, as L2-BATCH of paper B may.
    dictionary_set : str or ConvexSet
        Where atoms may lie; ``auto`` is ``l2_ball`` (``nonnegative`` where codes are bounded, so
        that atoms have the size of the data).
    max_iter : int
        Bound on the rounds of the alternation;
        ``auto`` measures the noise in some rounds before, where the loss needs it.
    tol : float
        Relative improvement of the objective in a round at which `fit` ends (0: it never does).

    All other parameters are those of `OnlineNMF`.

    Attributes
    ----------
    components_ : array of shape (K, F)
    history_ : History
        One row per round; ``loss`` is the objective per sample.
    loss_ : Loss
        The loss in use.
    n_iter_ : int
        Rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import BatchNMF
    >>> spectra = np.random.default_rng(0).gamma(2.0, 1.0, (300, 30))
    >>> BatchNMF(3, divergence="is", random_state=0).fit(spectra).components_.shape
    (3, 30)
    """

    _solvers = BATCH_DIVERGENCE_SOLVERS

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BatchEstimator._parameter_constraints

    n_components: int | None = None
    _: KW_ONLY
    divergence: Any = "squared_l2"
    divergence_parameter: Any = None
    init: Any = "auto"
    solver: Any = "auto"
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
