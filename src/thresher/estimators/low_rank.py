"""Low rank and outliers: robust PCA of a stream, principal component pursuit, and GoDec."""

import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from thresher.engine import (
    Callback,
    Candidates,
    HistoryRow,
    Method,
    Pool,
    Position,
    ProgressBar,
    Step,
    StreamState,
    begin_callbacks,
    list_callbacks,
    translate_linalg_errors,
)
from thresher.estimators.fitting import Attempt, unchanged_if_refused, warn_unconverged
from thresher.estimators.online_estimator import OnlineEstimator
from thresher.estimators.outlier_mixin import OutlierMixin
from thresher.estimators.parameters import COUNT, POSITIVE, WHOLE, Number
from thresher.estimators.registry import named_outlier_weight
from thresher.estimators.validation import computing_dtype
from thresher.learning import NoiseWeight, OutlierWeight, RangeWeight
from thresher.linalg import Array, length
from thresher.penalties import Tikhonov
from thresher.sets import Reals
from thresher.solvers import DUAL_PER_PRIMAL, default_weight, godec, pursue
from thresher.solvers.auto import online_pca, whole_matrix

FINER = 1e-2
"""`fit` ends at this share of ``tol``: its residuals are relative to all data."""


def typical(X: Array, observed: NDArray[np.bool_] | None) -> float:
    """The size of a typical entry of a matrix, whatever its gross errors; one for zeros."""
    sizes = np.abs(X if observed is None else X[observed]).ravel()
    return RangeWeight(0.5).measure(sizes, np.ones_like(sizes)) or 1.0


class Basis(NamedTuple):
    """What a round of such a method comes to, in the unit of the computation."""

    atoms: Array
    threshold: float
    """From which size on a residual of a sample is an outlier."""
    objective: float
    certificate: float
    """How far the method is from its end: one is there."""
    weight: float = 0.0
    """λ of the method, if it has one beside the threshold."""


class WholeMatrixEstimator(OutlierMixin):
    """`fit` on a matrix as a whole; all other methods code one sample at a time on the basis.

    Samples, atoms and codes have either sign. Codes cost ``½‖c‖²``. That is no loss of generality:
    a product ``cD`` is the same if codes are divided and atoms multiplied by the same number, so
    the size of an atom says how much its direction may be used.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OutlierMixin._parameter_constraints,
        "max_iter": [COUNT],
    }

    max_iter: int

    init = "auto"
    n_jobs = None
    random_state: Any = None
    code_set: Any = Reals()
    code_penalty: Any = Tikhonov(1.0)
    dictionary_set: Any = Reals()

    _nonnegative = False
    _can_grow = False
    _weighs_entries = False

    @abstractmethod
    def _rounds(self, X: Array, observed: NDArray[np.bool_] | None, seed: int) -> Iterator[Basis]:
        """The rounds of the method."""

    def _coding_dtype(self, X: Any) -> np.dtype[Any]:
        """Double: with atoms of either sign codes are sums of entries that cancel.

        In single precision some had four digits, and others alone than among other samples.
        """
        return np.dtype(np.float64)

    def _weight_rule(self) -> OutlierWeight:
        return NoiseWeight(1.0)  # the threshold of a round, as it is

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    @translate_linalg_errors()
    def fit(self, X: Any, y: Any = None, entry_weight: Any = None) -> Self:
        """Take a matrix apart, and keep the basis of its low-rank part.

        Parameters
        ----------
        X : array-like of shape (n, F)
            Samples; NaN marks missing entries.
        y : ignored
        entry_weight : array-like of shape (n, F), optional
            Zero marks missing entries too, one the others.
        """
        list_callbacks(self)
        self._check_parameters()
        begin_callbacks(self)
        if sparse.issparse(X):
            raise TypeError(
                f"{type(self).__name__} takes no sparse matrix: its low-rank part would be dense. "
                "Pass X.toarray(), or use OnlineRobustPCA, which expands a batch at a time."
            )
        batch = self._batch(self._checked(X, known=False), None, entry_weight)
        seed, dtype = self._draw_seed(), computing_dtype(batch.X)
        chosen = self._plan(1)[0]
        units = chosen.method.units_for(batch, batch.X.shape[1], dtype)
        nothing = np.zeros((1, batch.X.shape[1]), dtype=dtype)
        empty = chosen.method.learner.empty(1, batch.X.shape[1])
        state = StreamState(nothing, nothing, empty, seed, method=chosen.name, **units)
        fitted = self._make(chosen, state.with_range(batch), in_order=True)
        samples, weight, _ = fitted.method.load_dense(batch, slice(0, batch.n_samples), dtype)
        observed = None if weight is None else weight > 0
        # One BLAS thread: with more, sums of products have other bits.
        with unchanged_if_refused(self) as attempt, Pool(1):
            self._set_features(X)
            self._reset()
            self._adopt(fitted, Position())
            missed = self._run(self._rounds(samples, observed, seed), len(samples), attempt)
            self._remember(batch)
            self._adopt_state(self._state)
        warn_unconverged(self, missed, stacklevel=4)
        return self

    def _run(self, rounds: Iterator[Basis], n_samples: int, attempt: Attempt) -> float:
        """Round by round, the model whole after each; how far the last one was from the end."""
        started, callbacks, missed = time.perf_counter(), list(self.callbacks or ()), 0.0
        label = f"{type(self).__name__}: rounds"
        with ProgressBar(label, self.max_iter, self.verbose > 0) as bar:
            for number, found in enumerate(islice(rounds, self.max_iter), 1):
                self._seconds = time.perf_counter() - started
                row = self._record(found, n_samples)
                bar.update(number, f"objective {row.loss:.4g}")
                missed = row.certificate
                if attempt.stops(callbacks, Step(row, self.components_, self)):
                    return 0.0
        return missed

    def _record(self, found: Basis, n_samples: int) -> HistoryRow:
        before = self._state
        atoms = np.ascontiguousarray(found.atoms, dtype=before.D.dtype)
        same = atoms.shape == before.D.shape and length(atoms) > 0
        change = length(atoms - before.D) / length(atoms) if same else 1.0
        assert self._fitted is not None
        learner = self._fitted.method.learner
        state = replace(
            before,
            D=atoms,
            average=atoms,
            statistics=learner.empty(*atoms.shape),
            scale=found.threshold,
            scale_weight=found.weight,
            n_samples=before.n_samples + n_samples,
            n_steps=before.n_steps + 1,
        )
        loss = found.objective / n_samples * state.loss_unit
        row = HistoryRow(state.n_samples, self._seconds, loss, found.certificate, change)
        self.history_.append(row)
        self._adopt_state(state)
        return row


@dataclass(eq=False, repr=False)
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
    code_set = Reals()
    code_penalty = Tikhonov(1.0)
    dictionary_set = Reals()

    _nonnegative = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OutlierMixin._parameter_constraints,
        **OnlineEstimator._parameter_constraints,
        "ridge": [StrOptions({"auto"}), POSITIVE],
    }

    n_components: int | None = None
    _: KW_ONLY
    outlier_weight: Any = "auto"
    ridge: Any = "auto"
    init: Any = "auto"
    batch_size: int = 256
    n_passes: int | None = None
    shuffle: bool = True
    forgetting: Any = "auto"
    drift: Any = None
    tol: float = 1e-4
    code_tol: float | None = None
    code_max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = None
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1

    def _plan(self, n_components: int, in_order: bool = True) -> Candidates[Method]:
        given = self._specification(n_components, in_order)
        return online_pca(given, None if self.ridge == "auto" else float(self.ridge))

    def _weight_rule(self) -> OutlierWeight:
        # Of signed data, many entries may be gross errors, which the median ignores.
        automatic = isinstance(self.outlier_weight, str) and self.outlier_weight == "auto"
        return RangeWeight(0.5) if automatic else named_outlier_weight(self.outlier_weight)


_SMOOTHING = 0.4  # the width is ε^0.4 of a typical entry: 5e-7, 2e-3 in float32; heuristic
_LEAST_TOL = 100  # roundings: in single precision the subgradients come no nearer, as measured
_REASON = (
    "principal component pursuit, inexact augmented Lagrangian, partial decompositions: the "
    "problem is convex, and this its standard method"
)


@dataclass(eq=False, repr=False)
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WholeMatrixEstimator._parameter_constraints,
        "outlier_weight": [StrOptions({"auto"}), POSITIVE],
    }

    _: KW_ONLY
    outlier_weight: Any = "auto"
    tol: float = 1e-4
    max_iter: int = 1000
    code_tol: float | None = None
    code_max_iter: int = 1000
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1

    @property
    def outlier_weight_(self) -> float:
        """λ in use."""
        check_is_fitted(self, "components_")
        return self._state.scale_weight

    def _weight(self, shape: tuple[int, ...], observed: NDArray[np.bool_] | None) -> float:
        if self.outlier_weight != "auto":
            return float(self.outlier_weight)
        share = 1.0 if observed is None else max(float(observed.mean()), 1 / observed.size)
        return default_weight(shape, share)

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


_REASON = (
    "rank and cardinality in turns, bilateral random projections: both parts have their best value "
    "in closed form, given the other"
)
_NOISE = 1e-3  # of a typical entry: what a direction may add where nothing speaks for it
_BEYOND = 1e3  # times the largest entry: no residual is an outlier there


@dataclass(eq=False, repr=False)
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WholeMatrixEstimator._parameter_constraints,
        "cardinality": [WHOLE, Number(RealNotInt, 0, 1, closed="left")],
    }

    n_components: int | None = None
    _: KW_ONLY
    cardinality: float = 0.05
    tol: float = 1e-4
    max_iter: int = 1000
    code_tol: float | None = None
    code_max_iter: int = 1000
    random_state: Any = None
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1

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
