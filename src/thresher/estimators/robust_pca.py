"""Robust PCA of a whole matrix: principal component pursuit."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from thresher.engine import Callback, Candidates, Method
from thresher.estimators.registry import named_positive
from thresher.estimators.whole_matrix_estimator import (
    FINER,
    Basis,
    WholeMatrixEstimator,
    typical,
)
from thresher.linalg import Array
from thresher.solvers import DUAL_PER_PRIMAL, default_weight, pursue
from thresher.solvers.auto import whole_matrix

_SMOOTHING = 0.4  # the width is ε^0.4 of a typical entry: 5e-7, 2e-3 in float32; heuristic
_LEAST_TOL = 100  # roundings: in single precision the subgradients come no nearer, as measured
_REASON = (
    "principal component pursuit, inexact augmented Lagrangian, partial decompositions: the "
    "problem is convex, and this its standard method"
)


class RobustPCA(WholeMatrixEstimator):
    r"""Take a matrix apart into low rank and sparse outliers of any size: the convex problem.

    Principal component pursuit,

    .. math:: \min_{L, S} \|L\|_* + \lambda \|S\|_1, \qquad X = L + S,

    finds both exactly where the rank is small, its directions are spread over many entries, and
    outliers lie anywhere (Candès et al., Theorem 1.1). Entries that are missing (NaN) are left out:
    matrix completion with outliers. The rank is found, not given. All data are in memory, three
    times; for streams there is `OnlineRobustPCA`.

    Parameters
    ----------
    outlier_weight : "auto" or float
        λ, a number without a unit; ``auto`` is ``1/√max(n, F)``, and where a share p of the entries
        was observed ``1/√(p max(n, F))``.
    tol : float
        `fit` ends where ``‖X − L − S‖ ≤ tol/100 ‖X‖`` and the subgradients of both norms agree to
        ``tol``.
    max_iter : int
        Bound on the decompositions of `fit`.
    code_tol, code_max_iter : float, int
        Tolerance of a code, by default ``tol``, and bound on its iterations.
    callbacks, verbose
        As in `OnlineRobustNMF`.

    Attributes
    ----------
    components_ : array of shape (K, F)
        The right singular vectors of the low-rank part, as long as the root of their singular
        values, up to one factor. Codes of a sample x minimise ``½‖c‖² + h(x − cD)``, where h is the
        ℓ1 norm, smoothed at 5e-7 of a typical entry (2e-3 in float32): so codes of the
        samples of `fit` give its low-rank part again, to about that.
    outlier_weight_ : float
        λ in use.
    history_ : History
        One row for each decomposition; ``loss`` is the objective per sample, in the scale of
        `score`, ``certificate`` the larger of both residuals, over what they may be.
    n_iter_ : int
        Decompositions.

    References
    ----------
    E. J. Candès, X. Li, Y. Ma, J. Wright, "Robust principal component analysis?", Journal of the
    ACM 58(3), 2011.

    Z. Lin, M. Chen, Y. Ma, "The augmented Lagrange multiplier method for exact recovery of
    corrupted low-rank matrices", arXiv:1009.5055, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 60))
    >>> hit = rng.random(clean.shape) < 0.05
    >>> X = np.where(hit, 100.0, clean)
    >>> model = RobustPCA(verbose=0).fit(X)
    >>> model.components_.shape
    (3, 60)
    >>> low_rank, outliers, codes = model.separate(X)
    >>> bool(np.abs(low_rank - clean).max() < 0.05)
    True
    """

    def __init__(
        self,
        *,
        outlier_weight: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        code_tol: float | None = None,
        code_max_iter: int = 1000,
        callbacks: Iterable[Callback] | None = None,
        verbose: int = 1,
    ) -> None:
        self.outlier_weight = outlier_weight
        self.tol = tol
        self.max_iter = max_iter
        self.code_tol = code_tol
        self.code_max_iter = code_max_iter
        self.callbacks = callbacks
        self.verbose = verbose

    @property
    def outlier_weight_(self) -> float:
        """λ in use."""
        check_is_fitted(self, "components_")
        return self._state.scale_weight

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._weight((1, 1), None)

    def _weight(self, shape: tuple[int, ...], observed: NDArray[np.bool_] | None) -> float:
        share = 1.0 if observed is None else max(float(observed.mean()), 1 / observed.size)
        usual = default_weight(shape, share)
        return named_positive("outlier_weight", self.outlier_weight, usual) or usual

    def _plan(self, n_components: int, in_order: bool = True) -> Candidates[Method]:
        return whole_matrix(self._specification(n_components), "pursuit", _REASON)

    def _rounds(self, X: Array, observed: NDArray[np.bool_] | None, seed: int) -> Iterator[Basis]:
        weight = self._weight(X.shape, observed)
        least = float(np.finfo(X.dtype).eps) ** _SMOOTHING * typical(X, observed)
        tol = max(FINER * self.tol, _LEAST_TOL * float(np.finfo(X.dtype).eps))
        for step in pursue(X, observed, weight, tol):
            _, values, right = step.low_rank
            # With ‖L‖_* as half of the squares of two factors, the cost of a sample on the right
            # one is ½‖c‖² + λ‖x − cD‖₁; it is smoothed, and all is multiplied by least/λ.
            atoms = np.sqrt(values * X.dtype.type(weight / least))[:, None] * right
            atoms = atoms if len(atoms) else np.zeros_like(X[:1])  # of no use, but a dictionary
            missed = max(step.primal_residual, step.dual_residual / DUAL_PER_PRIMAL) / tol
            yield Basis(atoms, least, step.objective * least / weight, missed, weight)
