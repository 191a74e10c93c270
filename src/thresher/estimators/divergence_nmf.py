"""Nonnegative matrix factorisation with general divergences: paper E."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from thresher.engine import Callback
from thresher.estimators.batch_estimator import BatchEstimator
from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.online_estimator import OnlineEstimator
from thresher.estimators.registry import LossTerms, named_divergence
from thresher.linalg import is_only_stored, stored_values
from thresher.losses import Loss
from thresher.solvers import BATCH_DIVERGENCE_SOLVERS, ONLINE_DIVERGENCE_SOLVERS


class DivergenceModel(DictionaryEstimator):
    """A dictionary model whose loss is a divergence by name, or any `Loss`."""

    divergence: Any
    divergence_parameter: Any

    def _loss_terms(self) -> LossTerms:
        return named_divergence(self.divergence, self.divergence_parameter)

    def _check_missing(self, X: Any) -> None:
        values = stored_values(X)
        if is_only_stored(X) or np.isnan(np.add.reduce(values, None, np.float64)):
            # A missing value is an entry of weight zero.
            self._loss_terms().loss(1.0).check_weight(np.zeros((1, 1)))

    @property
    def loss_(self) -> Loss:
        """The loss in use; a Huber threshold that comes from the data is in it."""
        return self.problem().loss


@dataclass(eq=False, repr=False)
class OnlineNMF(DivergenceModel, OnlineEstimator):
    r"""Learn nonnegative parts from a stream under any divergence.

    Minimises, over dictionaries :math:`D` in a convex set,

    .. math:: E_x\Big[\min_{c \ge 0}\; d(x \,\|\, cD)\Big]

    with samples x in rows (paper E, (4)–(5)), one mini-batch at a time and in memory that does not
    depend on the number of samples. Sparse rows (CSR) are coded on their nonzeros alone for KL,
    Hellinger and other α-divergences with α > 0, ℓ1 and squared ℓ2.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms K; by default 10, or the number of features if that is less.
    divergence : str or Loss
        ``squared_l2``, ``kl``, ``is``, ``hellinger``, ``l1``, ``l2``, ``huber``, ``alpha``,
        ``beta``, ``mahalanobis``, or a part such as ``thresher.losses.BetaDivergence(1.5)``, a
        ``Csiszar`` or ``Bregman`` divergence from a generator, or your own subclass of
        ``SeparableLoss``.
    divergence_parameter : float or array, optional
        α, β, the matrix of ``mahalanobis``, or the threshold of ``huber``, in the units of the
        data; without one, the threshold is 2.5 standard deviations of the noise, measured on the
        residuals of the stream.
    init : {"auto", "samples", "k-means++", "mean", "random", "uniform", "half-normal"} or array
        Where atoms start: thinned samples of the first batch; samples far from each other under
        KL, which ``auto`` takes for KL and other α-divergences; or their mean with some noise. An
        array has shape (K, F). Atoms are projected onto ``dictionary_set``; divergences that need
        positive predictions mix in a tenth of the mean.
    solver : {"auto", "spsgd", "ol_guan", "ol_lef", "ol_wang"} or a part
        ``auto`` is the best method for the divergence, without a step size: a quadratic surrogate
        with the curvature that residuals show; under an α- or β-divergence, for streams that begin
        sparse or span decades, majorisation with additive statistics. For ℓ1
        there is no small sufficient statistic; its subgradients are rounded off at the scale of
        the noise. ``spsgd`` is that of the paper, with steps ``a/(τt + b)`` divided by the
        curvature they see (errata E.3; ``thresher.solvers.spsgd(as_printed=True)`` is the letter);
        the others are the paper's peers, each for its one loss: ``ol_guan`` squared ℓ2, ``ol_lef``
        Itakura–Saito, ``ol_wang`` Huber. Their constants are those of their classes in
        `thresher.solvers`.
    code_set, code_penalty : str or ConvexSet; float or Penalty
        Where codes may lie, and what they cost, relative to the loss of one sample.
    dictionary_set : str or ConvexSet
        Where atoms may lie; ``auto`` is ``l2_ball`` (``nonnegative`` where codes are bounded, so
        that atoms have the size of the data), for ``spsgd`` and ``ol_wang`` that of the paper,
        entries in [0, 1] and no feature without an atom, and for ``ol_lef`` the simplex.
    dictionary_penalty : float or ElasticNet, optional
    n_starts : int
        Try so many starts for three passes each, and learn from the best; for arrays only. It helps
        where samples are few: there, two components often end in one atom by chance.
    batch_size, n_passes, shuffle, forgetting, drift, frozen_atoms, implicit_zeros, tol,
    code_tol, code_max_iter, n_jobs, random_state, callbacks, verbose
        As in `OnlineRobustNMF`.

    Attributes
    ----------
    components_ : array of shape (K, F)
        The dictionary, atoms in rows.
    history_ : History
        One row per batch: samples, seconds, loss, certificate, dictionary change.
    loss_ : Loss
        The loss in use.
    n_samples_seen_, n_iter_ : int
        Samples and batches seen.

    Notes
    -----
    Divergences that are not convex in the prediction (β outside [1, 2], so Itakura–Saito) have
    codes that are critical points, and the certificate measures how critical.

    References
    ----------
    R. Zhao, V. Y. F. Tan, H. Xu, "Online nonnegative matrix factorization with general
    divergences", AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import OnlineNMF
    >>> counts = np.random.default_rng(0).poisson(2.0, (500, 30))
    >>> model = OnlineNMF(3, divergence="kl", random_state=0).fit(counts)
    >>> model.transform(counts).shape
    (500, 3)
    """

    _solvers = ONLINE_DIVERGENCE_SOLVERS

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = OnlineEstimator._parameter_constraints

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
    batch_size: int = 256
    n_passes: int | None = None
    n_starts: int = 1
    shuffle: bool = True
    forgetting: Any = "auto"
    drift: Any = None
    frozen_atoms: Any = None
    implicit_zeros: str = "observed"
    tol: float = 1e-4
    code_tol: float | None = None
    code_max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = None
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1


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
