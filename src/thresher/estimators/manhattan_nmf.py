"""Nonnegative matrix factorisation in the Manhattan distance: paper C."""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import validate_data

from thresher.encoding import AutoEncoder
from thresher.engine import (
    Callback,
    History,
    HistoryRow,
    ProgressBar,
    Step,
    begin_callbacks,
    list_callbacks,
)
from thresher.estimators.batch_estimator import BatchEstimator
from thresher.estimators.fitting import Attempt, unchanged_if_refused, warn_unconverged
from thresher.estimators.parameters import CALLBACKS, COUNT, NONNEGATIVE, SEED
from thresher.estimators.registry import (
    frozen_mask,
    named_dictionary_set,
    named_graph,
    named_penalty,
    named_set,
)
from thresher.estimators.reports import model_report, write_report
from thresher.estimators.saving import (
    pack_features,
    packed_parameters,
    unpack_features,
    unpacked_history,
    unpacked_model,
)
from thresher.estimators.validation import as_matrix, checked_rows, computing_dtype
from thresher.linalg import Array, stored_values
from thresher.losses import ElasticDistance, L1Distance, Loss
from thresher.manhattan import FactorSpecification, Graph
from thresher.manhattan.symmetric import (
    as_csr,
    asymmetry,
    manhattan_loss,
    random_embedding,
    squared_steps,
)
from thresher.penalties import Regulariser
from thresher.persistence import Contents
from thresher.solvers import MANHATTAN_SOLVERS, SYMMETRIC_SOLVERS, named_solver

if TYPE_CHECKING:
    from thresher.report import Report


@dataclass(eq=False, repr=False)
class ManhattanNMF(BatchEstimator):
    r"""Factorise a whole nonnegative matrix so that few entries are far off.

    Minimises (1) of paper C, divided by the number of samples,

    .. math:: \tfrac1n \sum_{if} |X - CD|_{if}, \qquad C \ge 0,\; D \ge 0,

    by alternating between codes and dictionary, all data in memory; the objective never rises.
    Half of the entries of a sample may be anything: outliers need no threshold.

    Parameters
    ----------
    n_components : int, optional
        Atoms K; None is 10, at most F.
    init : {"samples", "random", ...} or array of shape (K, F)
        Where atoms start.
    solver : {"auto", "rri", "ogm"}
        ``rri`` and ``ogm`` are those of the paper, with its stops; `thresher.solvers` has them
        with other constants, such as ``ogm(monotone=True)``.
    zero_weight : float
        What a unit of prediction costs where data are exactly zero; 1 as published. In sparse data
        zeros are many, and at full weight they often outvote all the rest.
    square_weight : float
        α of the elastic-net loss (58), ``|e| + α/2 e²``.
    graph : int, sparse matrix or None
        Neighbours that should have like codes (33): how many nearest ones, or their similarities
        S (n, n). It acts in `fit`; `transform` codes each row by itself.
    graph_weight : float
        β of ``β/2 tr(CᵀLC)``, in units of the loss.
    code_set, dictionary_set : str or ConvexSet
        Where codes and atoms lie: ``box`` for entries in [0, 1] (27), `sets.GroupBall` for groups
        (40). While codes are free, a bound on the length of atoms costs nothing: ``auto`` is then
        ``l2_ball``. Where codes are bounded, and for ``rri`` and ``ogm``, it is ``nonnegative``.
    code_penalty, dictionary_penalty : float or Penalty, optional
        A number is the weight of an ℓ1 penalty; `penalties.GroupNorm` is that of (41).
    frozen_atoms : list of int or of bool, optional
        Atoms that never move.
    tol : float
        Relative improvement of the objective in a round at which `fit` ends (0: it never does);
        ``rri`` and ``ogm`` end by their own ξ instead.
    max_iter : int
        Bound on the rounds.
    code_tol, code_max_iter : float, int
        Tolerance of a code, by default ``tol``, and bound on its iterations.
    n_jobs : int, optional
        Threads; None is one for each core. They do not change bits.
    random_state : int, RandomState or None
    callbacks : list of callable, optional
        Called after each round with a `Step`; True ends the fit.
    verbose : int
        0 is silent.

    Attributes
    ----------
    components_ : array of shape (K, F)
    history_ : History
        One row per round; ``loss`` is the objective per sample.
    n_iter_ : int
        Rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import ManhattanNMF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3)) @ rng.random((3, 30))
    >>> X[rng.random(X.shape) < 0.1] = 5.0
    >>> ManhattanNMF(3, random_state=0, verbose=0).fit(X).components_.shape
    (3, 30)
    """

    _solvers = MANHATTAN_SOLVERS

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BatchEstimator._parameter_constraints,
        "zero_weight": [NONNEGATIVE],
        "square_weight": [NONNEGATIVE],
        "graph_weight": [NONNEGATIVE],
    }

    n_components: int | None = None
    _: KW_ONLY
    init: Any = "samples"
    solver: Any = "auto"
    zero_weight: float = 1.0
    square_weight: float = 0.0
    graph: Any = None
    graph_weight: float = 1.0
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

    # ------------------------------------------------------------------- details

    def _specification(self, n_components: int, in_order: bool = True) -> FactorSpecification:
        loss = self._loss()
        codes = Regulariser(named_penalty(self.code_penalty), named_set(self.code_set))
        return FactorSpecification(
            loss=lambda _: loss,
            code_regulariser=codes,
            dictionary_set=named_dictionary_set(self.dictionary_set),
            dictionary_penalty=named_penalty(self.dictionary_penalty),
            frozen=frozen_mask(self.frozen_atoms, n_components),
            encoder=AutoEncoder(*self._code_limits()),
            square_weight=self.square_weight,
            graph=None if self.graph is None else self._graph,
            tol=self.tol,
        )

    def _graph(self, X: Any, worth: float) -> Graph | None:
        return named_graph(self.graph, self.graph_weight * worth, X)

    def _loss(self) -> Loss:
        if self.square_weight == 0:
            return L1Distance(self.zero_weight)
        return ElasticDistance(self.square_weight, self.zero_weight)


_log = logging.getLogger(__name__)

_SQUARED_STEPS = 100  # for squares, to start from; heuristic
_ASYMMETRY = 1e-6  # of the largest entry: float32 products are no more symmetric than that


@dataclass(eq=False, repr=False)
class SymmetricManhattanNMF(BaseEstimator):
    r"""Factorise a matrix of similarities into a nonnegative embedding and its transpose.

    Minimises, over :math:`H \ge 0` with n rows and K columns,

    .. math:: \|X - H H^T\|_1 = \sum_{ij} |X_{ij} - (H H^T)_{ij}|,

    (59) of the paper. Every entry of H in turn takes the value that is best given all others,
    exactly (errata C.6), so the objective never rises. Rows of H place the samples: cluster them.

    Parameters
    ----------
    n_components : int, optional
        Columns K of the embedding; by default 10, or n if that is less.
    init : "squared_l2", "random" or array of shape (n, K)
        Where to start: a hundred multiplicative steps on the squared loss from uniform numbers
        (entry by entry, ℓ1 stops at nonsmooth points, which the squared loss does not have); the
        uniform numbers themselves; or an embedding.
    solver : {"auto", "symmetric_rri"} or thresher.solvers.symmetric_rri
        ``auto`` sweeps row by row. ``symmetric_rri`` goes column by column, as in the paper, which
        takes uniform numbers for a start (``init="random"``).
    tol : float
        Relative decrease of the objective in a sweep at which `fit` ends; 0 never ends it.
        ``symmetric_rri`` ends by its own ε instead.
    max_iter : int
        Bound on the sweeps.
    random_state : int, RandomState or None
    callbacks : list of functions, optional
        Called with a `Step` after each sweep; one that returns True ends the fit.
    verbose : int
        1 shows a progress bar on a terminal for anything that takes over two seconds.

    Attributes
    ----------
    embedding_ : array of shape (n, K)
        H.
    components_ : array of shape (K, n)
        Its transpose, the atoms.
    history_ : History
        One row per sweep: ``loss`` is the objective per sample, ``certificate`` its decrease in
        the sweep, relative to what it was.
    n_iter_ : int
        Sweeps.

    Notes
    -----
    A similarity that is zero nearly everywhere is best explained, in this distance, by H = 0: the
    median of mostly zeros. Make neighbourhoods large enough (docs/lab/segmentation.md).

    Time and memory for a sweep go with K times the number of nonzero similarities.

    N. Guan, D. Tao, Z. Luo and J. Shawe-Taylor, "MahNMF: Manhattan non-negative matrix
    factorization", arXiv 1207.3438.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import SymmetricManhattanNMF
    >>> blocks = np.kron(np.eye(2), np.ones((4, 4)))
    >>> blocks[0, 7] = blocks[7, 0] = 1.0  # one wrong similarity
    >>> H = SymmetricManhattanNMF(2, random_state=0).fit_transform(blocks)
    >>> bool(np.allclose(H @ H.T, np.kron(np.eye(2), np.ones((4, 4)))))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [COUNT, None],
        "init": [StrOptions({"squared_l2", "random"}), "array-like"],
        "tol": [NONNEGATIVE],
        "max_iter": [COUNT],
        "random_state": SEED,
        "callbacks": CALLBACKS,
        "verbose": ["verbose"],
    }

    n_components: int | None = None
    _: KW_ONLY
    init: Any = "squared_l2"
    solver: Any = "auto"
    tol: float = 1e-4
    max_iter: int = 200
    random_state: Any = None
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorise similarities.

        Parameters
        ----------
        X : array-like or CSR of shape (n, n)
            Symmetric and nonnegative; NaN marks missing similarities. A missing entry is
            taken from its mirror image if that is known.
        y : ignored
        """
        list_callbacks(self)
        self._check_parameters()
        named_solver(self.solver, SYMMETRIC_SOLVERS)
        begin_callbacks(self)
        similarity, dtype = self._checked(X)
        H = self._start(similarity)
        with unchanged_if_refused(self) as attempt:
            validate_data(self, X, reset=True, skip_check_array=True)
            missed = self._learn(similarity, H, dtype, attempt)
        warn_unconverged(self, missed, unit="sweeps")
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Factorise similarities, and return the embedding."""
        return self.fit(X).embedding_.copy()

    def report(
        self, path: str | Path, X: Any = None, *, shape: Sequence[int] | None = None
    ) -> Path:
        """Write a report on this model, and return its path; see `OnlineNMF.report`."""
        return write_report(self, self._page(X, shape), path)

    def _page(self, X: Any = None, shape: Sequence[int] | None = None) -> "Report":
        return model_report(self, X, shape)

    # ------------------------------------------------------------------- details

    def _learn(self, similarity: Any, H: Array, dtype: np.dtype[Any], attempt: Attempt) -> float:
        """Sweep until the objective converges; return how far the last sweep was from that."""
        n, callbacks = len(H), list(self.callbacks or ())
        solver = named_solver(self.solver, SYMMETRIC_SOLVERS)
        small = solver.absolute_tol(similarity)
        self.history_ = History()
        self._adopt(H, dtype)
        last, started = manhattan_loss(similarity, H), time.perf_counter()
        reason, missed = "no more sweeps are allowed", 0.0
        with ProgressBar(f"{type(self).__name__}: sweeps", self.max_iter, self.verbose > 0) as bar:
            for number in range(1, self.max_iter + 1):
                before = H.copy()
                solver.sweep(similarity, H)
                now = manhattan_loss(similarity, H)
                size = float(np.linalg.norm(before)) or 1.0
                change = float(np.linalg.norm(H - before)) / size
                seconds = time.perf_counter() - started
                decrease = (last - now) / last if last > 0 else 0.0
                row = HistoryRow(number * n, seconds, now / n, decrease, change)
                self.history_.append(row)
                self._adopt(H, dtype)
                bar.update(number, f"objective {now / n:.4g}")
                if attempt.stops(callbacks, Step(row, self.components_, self)):
                    reason, missed = "a callback said stop", 0.0
                    break
                gained = last - now if small is None else abs(last - now)
                allowed = self.tol * last if small is None else small
                if self.tol > 0 and gained <= allowed:
                    reason, missed = "the objective has converged", 0.0
                    break
                missed = gained / allowed if allowed > 0 else float("inf")
                last = now
        _log.info("%s: ends after %d sweeps: %s", type(self).__name__, self.n_iter_, reason)
        return missed

    def _adopt(self, H: Array, dtype: np.dtype[Any]) -> None:
        """Make an embedding the model's own; between two sweeps the model is always whole."""
        self.embedding_: Array = H.astype(dtype)
        self.components_: Array = np.ascontiguousarray(self.embedding_.T)
        self.n_components_ = H.shape[1]
        self.n_iter_ = max(1, len(self.history_))

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What `thresher.save` writes; to go on from there, give ``embedding_`` as ``init``."""
        if not hasattr(self, "embedding_"):
            raise NotFittedError("This model has not been fitted; there is nothing to save.")
        arrays = {"embedding": self.embedding_, "history": self.history_.to_array()}
        pack_features(self, arrays)
        return arrays, {"parameters": packed_parameters(self, arrays)}

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        model: Self = unpacked_model(contents)
        H = contents.array("embedding", (None, None), ("float32", "float64"))
        if not H.size or H.min() < 0 or (model.n_components or H.shape[1]) != H.shape[1]:
            raise contents.error(f"an embedding of the shape {H.shape} is not what it learns")
        model.history_ = unpacked_history(contents)
        unpack_features(model, contents, len(H))
        model._adopt(H, H.dtype)
        return model

    def _check_parameters(self) -> None:
        self._validate_params()

    def _checked(self, X: Any) -> tuple[Any, np.dtype[Any]]:
        """Return similarities as CSR, and their dtype; refuse others."""
        checked: Any = as_matrix(X, self, accept_sparse="csr", ensure_all_finite="allow-nan")
        if checked.shape[0] != checked.shape[1]:
            raise ValueError(
                f"Similarities form a square matrix, but this has the shape {checked.shape}: give "
                "one row and one column for each sample, such as X @ X.T, or use ManhattanNMF."
            )
        values = stored_values(checked)
        if (values < 0).any():
            raise ValueError(
                "Negative values in data passed to SymmetricManhattanNMF: H Hᵀ cannot be negative. "
                "Clip the similarities at zero, or shift them."
            )
        rows = as_csr(checked)
        if asymmetry(rows) > _ASYMMETRY:
            raise ValueError("The similarities are not symmetric: give (X + X.T) / 2.")
        return rows, computing_dtype(checked)

    def _start(self, X: Any) -> Array:
        n = X.shape[0]
        if not isinstance(self.init, str):
            return checked_rows("init", self.init, (n, self.n_components), nonnegative=True)
        K = self.n_components or min(10, n)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        H = random_embedding(X, K, np.random.default_rng(seed))
        return squared_steps(X, H, _SQUARED_STEPS) if self.init == "squared_l2" else H
