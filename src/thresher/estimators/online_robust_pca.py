"""Online robust PCA: a low-rank stream with sparse outliers."""

from collections.abc import Iterable
from typing import Any

from thresher.engine import Callback, Candidates, Method
from thresher.estimators.online_estimator import OnlineEstimator
from thresher.estimators.outlier_mixin import OutlierMixin
from thresher.estimators.registry import named_positive, named_signed_weight
from thresher.learning import OutlierWeight
from thresher.penalties import Tikhonov
from thresher.sets import Reals
from thresher.solvers.auto import online_pca


class OnlineRobustPCA(OutlierMixin, OnlineEstimator):
    r"""Learn a low-rank basis from a stream, of samples of either sign, and set outliers aside.

    Minimises, over bases :math:`D` of K rows,

    .. math:: E_x\Big[\min_{c,\, r} \tfrac12 \|x - cD - r\|_2^2 + \tfrac{\lambda_1}{2} \|c\|_2^2
              + \lambda_2 \|r\|_1\Big] + \tfrac{\lambda_1}{2n} \|D\|_F^2,

    which is principal component pursuit with noise, since half of both squares is the nuclear norm
    of the product (Feng, Xu and Yan, (4)–(6)). One mini-batch at a time, in memory that does not
    depend on the number n of samples. In low dimension K the mean of the samples is one of the
    directions; nothing is centred.

    Parameters
    ----------
    n_components : int, optional
        Rows of the basis, an upper bound of the rank; by default 10, or the number of features if
        that is less.
    outlier_weight : "auto", "mad" or float
        λ₂, in the units of the data. ``auto`` is the paper's ``1/√F`` times the size of a typical
        entry, the median of those that are not zero, which gross errors hardly change; ``mad`` is
        2.5 standard deviations of the noise, measured on the residuals of the stream: slower, and
        nearer to the truth where there is little noise.
    ridge : "auto" or float
        λ₁, in the units of the data: by how much the singular values of all samples are lowered.
        ``auto`` is λ₂, as in the paper.
    init : {"auto", "samples", "random", ...} or array of shape (K, F)
        Where the basis starts.
    batch_size, n_passes, shuffle, forgetting, drift, tol, code_tol, code_max_iter, n_jobs,
    random_state, callbacks, verbose
        As in `OnlineRobustNMF`.

    Attributes
    ----------
    components_ : array of shape (K, F)
        The basis D, in the scale in which codes cost ``½‖c‖²``, so that the size of a row grows
        with the number of samples. Rows need not be orthogonal.
    history_, n_samples_seen_, outlier_weight_, solver_
        As in `OnlineRobustNMF`.

    References
    ----------
    J. Feng, H. Xu, S. Yan, "Online robust PCA via stochastic optimization", NIPS 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import OnlineRobustPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 3)) @ rng.standard_normal((3, 50))
    >>> X[rng.random(X.shape) < 0.05] = 20
    >>> low_rank, outliers, codes = OnlineRobustPCA(3, random_state=0).fit(X).separate(X)
    >>> codes.shape
    (1000, 3)
    """

    # Codes cost ½‖c‖², which is no loss of generality: the size of a row of the basis says how much
    # it may be used.
    code_set: Any = Reals()
    code_penalty: Any = Tikhonov(1.0)
    dictionary_set: Any = Reals()

    _nonnegative = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        outlier_weight: Any = "auto",
        ridge: Any = "auto",
        init: Any = "auto",
        batch_size: int = 256,
        n_passes: int | None = None,
        shuffle: bool = True,
        forgetting: Any = "auto",
        drift: Any = None,
        tol: float = 1e-4,
        code_tol: float | None = None,
        code_max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Iterable[Callback] | None = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.outlier_weight = outlier_weight
        self.ridge = ridge
        self.init = init
        self.batch_size = batch_size
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.forgetting = forgetting
        self.drift = drift
        self.tol = tol
        self.code_tol = code_tol
        self.code_max_iter = code_max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def _plan(self, n_components: int, in_order: bool = True) -> Candidates[Method]:
        given = self._specification(n_components, in_order)
        return online_pca(given, named_positive("ridge", self.ridge, None))

    def _weight_rule(self) -> OutlierWeight:
        return named_signed_weight(self.outlier_weight)
