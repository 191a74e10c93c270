"""GoDec: low rank, a number of outliers, and noise."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.engine import Callback, Candidates, Method
from thresher.estimators.whole_matrix_estimator import (
    FINER,
    Basis,
    WholeMatrixEstimator,
    typical,
)
from thresher.linalg import Array
from thresher.solvers import godec
from thresher.solvers.auto import whole_matrix

_REASON = (
    "rank and cardinality in turns, bilateral random projections: both parts have their best value "
    "in closed form, given the other"
)
_NOISE = 1e-3  # of a typical entry: what a direction may add where nothing speaks for it
_BEYOND = 1e3  # times the largest entry: no residual is an outlier there


class GoDec(WholeMatrixEstimator):
    r"""Take a matrix apart into rank K, k outliers, and noise.

    Minimises

    .. math:: \|X - L - S\|_F^2, \qquad \mathrm{rank}\,L \le K,\; \mathrm{card}\,S \le k

    by turns (Zhou and Tao): given S, a projection on a basis of K directions, given L the k
    largest residuals. Faster than `RobustPCA`, and it knows noise; but rank and number of outliers
    must be known, and it may end in a local optimum. The error never rises. Entries that are
    missing (NaN) are left out.

    Parameters
    ----------
    n_components : int, optional
        The rank K; by default 10, at most the number of features.
    cardinality : int or float
        How many entries of the matrix are outliers, or which share of those that were observed.
    tol : float
        `fit` ends where a round takes less than ``tol/100`` of the squares of the data from the
        error.
    max_iter : int
        Bound on the rounds of `fit`.
    code_tol, code_max_iter : float, int
        Tolerance of a code, by default ``tol``, and bound on its iterations.
    random_state, callbacks, verbose
        As in `OnlineRobustNMF`.

    Attributes
    ----------
    components_ : array of shape (K, F)
        The right singular vectors of the low-rank part, as long as samples spread in their
        direction, over a thousandth of a typical entry: so codes, at ``½‖c‖²``, are those of least
        squares but where entries are missing and directions are many.
    outlier_weight_ : float
        The least outlier of the matrix. New samples have no count of outliers: in their codes
        residuals beyond this are taken as outliers, in the Huber loss.
    history_ : History
        One row for each round; ``loss`` is the error per sample, ``certificate`` what the round
        has taken from it, over what may be left.
    n_iter_ : int
        Rounds.

    References
    ----------
    T. Zhou, D. Tao, "GoDec: randomized low-rank & sparse matrix decomposition in noisy case",
    ICML 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import GoDec
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 60))
    >>> X = clean + 0.01 * rng.standard_normal(clean.shape)
    >>> X[rng.random(X.shape) < 0.05] = 9
    >>> model = GoDec(3, cardinality=0.06, random_state=0, verbose=0).fit(X)
    >>> bool(np.abs(model.separate(X).low_rank - clean).max() < 0.1)
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        cardinality: float = 0.05,
        tol: float = 1e-4,
        max_iter: int = 1000,
        code_tol: float | None = None,
        code_max_iter: int = 1000,
        random_state: Any = None,
        callbacks: Iterable[Callback] | None = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.cardinality = cardinality
        self.tol = tol
        self.max_iter = max_iter
        self.code_tol = code_tol
        self.code_max_iter = code_max_iter
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def _plan(self, n_components: int, in_order: bool = True) -> Candidates[Method]:
        return whole_matrix(self._specification(n_components), "godec", _REASON)

    def _rounds(self, X: Array, observed: NDArray[np.bool_] | None, seed: int) -> Iterator[Basis]:
        n_observed = X.size if observed is None else int(np.count_nonzero(observed))
        given = self.cardinality
        count = round(given * n_observed) if isinstance(given, float) else int(given)
        count, tol = min(count, n_observed), FINER * self.tol
        least = _NOISE * typical(X, observed)
        most = _BEYOND * float(np.abs(X).max())
        rank, rng = self.n_components or 10, np.random.default_rng([seed, 0])
        last, allowed = np.inf, tol * float(np.vdot(X, X)) or 1.0
        for step in godec(X, observed, rank, count, tol, rng):
            # The basis of a round, turned to its singular vectors; the largest comes first.
            _, values, turn = np.linalg.svd(step.codes, full_matrices=False)
            spread = values / X.dtype.type(least * np.sqrt(len(X)))
            threshold = min(max(step.cutoff, least), most) or 1.0
            missed = (last - step.error) / allowed
            yield Basis(spread[:, None] * (turn @ step.basis), threshold, step.error, missed)
            last = step.error
