"""Batch nonnegative matrix factorisation with outliers: paper A, supplement S-2."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from thresher.engine import Callback
from thresher.estimators.batch_estimator import BatchEstimator
from thresher.estimators.outlier_mixin import OutlierMixin
from thresher.solvers import BATCH_ROBUST_SOLVERS


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
