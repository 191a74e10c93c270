"""Nonnegative matrix factorisation with outliers: paper A."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from thresher.engine import Callback
from thresher.estimators.batch_estimator import BatchEstimator
from thresher.estimators.online_estimator import OnlineEstimator
from thresher.estimators.outlier_mixin import OutlierMixin
from thresher.solvers import BATCH_ROBUST_SOLVERS, ONLINE_ROBUST_SOLVERS


@dataclass(eq=False, repr=False)
class OnlineRobustNMF(OutlierMixin, OnlineEstimator):
    r"""Learn nonnegative parts from a stream and set the outliers aside.

    Minimises, over dictionaries :math:`D` in a convex set,

    .. math:: E_x\Big[\min_{c \ge 0,\; |r| \le M}
              \tfrac12 \|x - cD - r\|_2^2 + \lambda \|r\|_1\Big]

    with samples x in rows, codes c and outliers r (paper A, (5)–(8)), one mini-batch at a time and
    in memory that does not depend on the number of samples.

    Parameters
    ----------
    n_components : int, optional
        Number of atoms K; by default 10, or the number of features if that is less.
    init : {"auto", "samples", "random", "uniform", "half-normal"} or array of shape (K, F)
        Where atoms start: thinned samples of the first batch, random entries, or given. They are
        projected onto ``dictionary_set``. ``auto`` is ``samples``, and for the solvers of the
        paper ``uniform``, as it has it.
    solver : {"auto", "opgd", "oadmm"}
        ``auto`` is the fastest exact method that the library has; the others are those of the
        paper with its constants and its stops, or with others, as in
        ``thresher.solvers.opgd(kappa=0.5)``. They compute in the unit of the data; the problem of
        the paper has ``outlier_weight=F**-0.5``, ``outlier_bound=1`` and ``scale_samples="max"``.
    outlier_weight : "auto", "mad" or float
        λ, in the units of the data. ``auto`` is the paper's ``1/√F`` times the range of the data;
        ``mad`` is 2.5 standard deviations of the noise, measured on the residuals of the stream.
    outlier_penalty : {"l1", "l21"} or Penalty
        ``l1`` makes single entries outliers, at the cost ``λ‖r‖₁``; ``l21`` whole samples, at
        ``λ√F‖r‖₂``. For the same λ an outlier that is spread evenly costs the same. A part such
        as ``SparseGroupLasso(1.0, 0.5, groups)`` is multiplied by λ.
    outlier_sign : {"free", "nonnegative"}
        Whether outliers may be negative.
    outlier_bound : float, optional
        M, the largest outlier, in the units of the data.
    code_set : {"nonnegative", "simplex", "l1_ball", "l2_ball", "box"} or ConvexSet
        Where codes may lie; ``simplex`` makes them shares that sum to one.
    code_penalty : float or Penalty, optional
        A number is the weight of an ℓ1 penalty, relative to the loss of one sample.
    dictionary_set : {"auto", "l2_ball", "nonnegative", "simplex", "l1_ball", "elastic_net_ball",
        "box"} or ConvexSet. Where atoms may lie. ``auto`` is ``l2_ball`` where codes may have any
        size, and ``nonnegative`` where they are bounded: then atoms have the size of the data.
    dictionary_penalty : float or ElasticNet, optional
        A number is the weight of an ℓ1 penalty, relative to the mean loss per sample.
    batch_size : int
        Samples in a mini-batch.
    n_passes : int, optional
        Passes over an array; by default until the mean loss falls by less than ``tol``, over a pass
        or, on small data, over 500 samples or 50 steps. After ten times that, only until it falls
        by less than 1 %. A stream is read once.
    shuffle : bool
        Whether `fit` visits the rows of an array in random order.
    forgetting : "auto", None, float or callable
        How the past counts: ``auto`` lets early samples, coded with poor dictionaries, fade:
        fast when `fit` shuffles (and the dictionary is then averaged over the last steps), slowly
        when samples come in their own order (``shuffle=False``, streams, `partial_fit`); the
        solvers of the paper do not forget. None is the plain average; a number is a half-life in
        samples, for data that drift; a function of (samples in the batch, samples seen) is a
        schedule of its own.
    drift : None, "auto" or a detector
        Watch the losses of the batches, and when they rise let rivals without the past compete
        with the dictionary (docs/guide/drift.md). ``auto`` is ``thresher.MannWhitneyDrift()``;
        anything with ``update(x)`` and ``drift_detected``, such as river's detectors, will do.
    frozen_atoms : array-like, optional
        Numbers or flags of atoms that keep their initial value.
    implicit_zeros : {"observed", "missing"}
        Whether entries that CSR samples do not store are zeros or missing values, such as ratings
        that were not given. With ``missing``, stored zeros are observed, zeros of dense samples
        are missing, and the work grows with the number of stored entries.
    scale_samples : {None, "max"}
        Divide each sample by its largest entry while learning and coding (paper A, VII-B3). Codes
        and separations are in the original units; λ, penalties and losses refer to the divided
        samples. A bounded ``code_set`` is refused: codes in original units would leave it.
    tol : float
        `fit` ends when the mean loss of a pass improves by less than this, relatively. 0 never
        ends it: all passes are made.
    code_tol : float, optional
        Codes of `transform` have a certificate (relative proximal gradient residual) of at most
        this; by default ``tol``. 0 makes all iterations.
    code_max_iter : int
        Bound on the iterations of a code.
    n_jobs : int, optional
        Threads; by default all cores. The result does not depend on it.
    random_state : int, RandomState or None
    callbacks : iterable of callables, optional
        Called with a `thresher.engine.Step` after each batch; returning True ends the fit.
    verbose : int
        1 shows a progress bar on a terminal for anything that takes over two seconds; 0 does not.

    Attributes
    ----------
    components_ : array of shape (K, F)
        Atoms in rows.
    history_ : History
        Samples, seconds, loss, certificate and dictionary change of each step; for the solvers of
        the paper also the surrogate (11). ``history_.events`` has what ``drift`` noticed.
    n_samples_seen_ : int
    outlier_weight_ : float
        λ in use.
    solver_, encoder_ : str
        Names of the methods that learned the dictionary and find the codes; `explain` has reasons.

    References
    ----------
    R. Zhao and V. Y. F. Tan, "Online nonnegative matrix factorization with outliers", IEEE
    Transactions on Signal Processing 65(3), 2017.

    Examples
    --------
    >>> from thresher import OnlineRobustNMF
    >>> from thresher.datasets import make_outlier_stream
    >>> data = make_outlier_stream(500, 40, 3, random_state=0).data
    >>> model = OnlineRobustNMF(3, random_state=0).fit(data)
    >>> low_rank, outliers, codes = model.separate(data)
    >>> codes.shape
    (500, 3)
    """

    _solvers = ONLINE_ROBUST_SOLVERS

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OutlierMixin._parameter_constraints,
        **OnlineEstimator._parameter_constraints,
    }

    n_components: int | None = None
    _: KW_ONLY
    init: Any = "auto"
    solver: Any = "auto"
    outlier_weight: Any = "auto"
    outlier_penalty: Any = "l1"
    outlier_sign: str = "free"
    outlier_bound: float | None = None
    code_set: Any = "nonnegative"
    code_penalty: Any = None
    dictionary_set: Any = "auto"
    dictionary_penalty: Any = None
    batch_size: int = 256
    n_passes: int | None = None
    shuffle: bool = True
    forgetting: Any = "auto"
    drift: Any = None
    frozen_atoms: Any = None
    implicit_zeros: str = "observed"
    scale_samples: str | None = None
    tol: float = 1e-4
    code_tol: float | None = None
    code_max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = None
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1


@dataclass(eq=False, repr=False)
class RobustNMF(OutlierMixin, BatchEstimator):
    r"""Factorise a whole matrix into nonnegative parts and set the outliers aside.

    Minimises (S-7) of paper A, divided by the number of samples,

    .. math:: \tfrac1n \sum_i \min_{c \ge 0,\; |r| \le M}
              \tfrac12 \|x_i - cD - r\|_2^2 + \lambda \|r\|_1

    by alternating between codes and dictionary, all data in memory. For data that do not fit, or
    that arrive, use `OnlineRobustNMF`.

    Parameters
    ----------
    solver : {"auto", "bpgd", "badmm"}
        ``auto`` starts with a few passes of the online method, then alternates near-exact codes
        and block coordinate descent, and its objective never rises; ``bpgd`` and ``badmm`` are
        those of the paper, whose constants `thresher.solvers` can change.
    max_iter : int
        Bound on the rounds of the alternation.
    tol : float
        Relative improvement of the objective in a round at which `fit` ends (0: it never does).
        Where entries are missing, `fit` also ends when further rounds would fit the noise of
        single entries (docs/guide/choices.md).

    All other parameters are those of `OnlineRobustNMF`.

    Attributes
    ----------
    components_ : array of shape (K, F)
    history_ : History
        One row per round; ``loss`` is the objective per sample.
    n_iter_ : int
        Rounds.
    outlier_weight_ : float
        λ in use.

    Examples
    --------
    >>> from thresher import RobustNMF
    >>> from thresher.datasets import make_outlier_stream
    >>> data = make_outlier_stream(300, 40, 3, random_state=0).data
    >>> RobustNMF(3, random_state=0).fit(data).components_.shape
    (3, 40)
    """

    _solvers = BATCH_ROBUST_SOLVERS

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OutlierMixin._parameter_constraints,
        **BatchEstimator._parameter_constraints,
    }

    n_components: int | None = None
    _: KW_ONLY
    init: Any = "auto"
    solver: Any = "auto"
    outlier_weight: Any = "auto"
    outlier_penalty: Any = "l1"
    outlier_sign: str = "free"
    outlier_bound: float | None = None
    code_set: Any = "nonnegative"
    code_penalty: Any = None
    dictionary_set: Any = "auto"
    dictionary_penalty: Any = None
    frozen_atoms: Any = None
    scale_samples: str | None = None
    tol: float = 1e-4
    max_iter: int = 1000
    code_tol: float | None = None
    code_max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = None
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1
