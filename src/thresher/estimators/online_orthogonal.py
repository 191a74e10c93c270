"""Online orthogonal dictionary learning: paper D."""

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Options, StrOptions

from thresher.encoding import CodingProblem
from thresher.engine import (
    Callback,
    Candidate,
    Candidates,
    OrthogonalMethod,
    StreamState,
    translate_linalg_errors,
)
from thresher.estimators.fitted_model import FittedModel
from thresher.estimators.online_estimator import OnlineEstimator
from thresher.estimators.parameters import COUNT
from thresher.estimators.registry import HALF_LIFE, named_forgetting
from thresher.estimators.validation import (
    checked_codes,
    checked_rows,
    computing_dtype,
    numbers_in_rows,
)
from thresher.learning import (
    OrthogonalLearner,
    PlainAverage,
)
from thresher.linalg import Array, block_slices
from thresher.sets import ConvexSet, Reals
from thresher.solvers import ORTHOGONAL_SOLVERS, name_of, named_solver
from thresher.streams import Batch


@dataclass(eq=False, repr=False)
class OnlineOrthogonalDictionary(OnlineEstimator):
    r"""Learn an orthogonal dictionary from a stream; its codes are one product.

    Looks for the orthogonal :math:`D` (N × N, atoms in rows) whose codes :math:`c = y D^T` are
    sparsest. Paper D maximises, over the unit spectral ball,

    .. math:: E_y \|y D^T\|_3^3

    by stochastic Frank–Wolfe steps. Samples are real, of any sign, and N is the number of features.

    Parameters
    ----------
    n_nonzero : int, optional
        How many codes of a sample `transform` keeps, the largest; by default all. The loss of a
        sample is what these leave out; if all are kept, what a tenth of the codes would.
    solver : {"auto", "noncvx_sfw", "sfw", "aodl"} or a part such as ``solvers.sfw(...)``
        ``auto`` finds the atoms with the ℓ3 norm and then refines them on the supports, at a
        fraction of the time and of the error; with a half-life, it follows the dictionary whose
        largest codes leave out least. ``noncvx_sfw`` is Algorithm 2 of the paper. The others are
        its baselines, whose atoms are *not* orthogonal: ``sfw`` stays inside the ball, and
        ``aodl`` alternates between codes with an ℓ1 penalty and atoms of length one at most.
    p : {3, 4}
        The norm of the published solvers; 4 is a baseline of the paper.
    init : {"samples", "random", "pca"} or array (N, N)
        Where atoms start: 20 iterations of the batch version on the first batch, a random
        orthogonal matrix, principal directions of the first batch, or the orthogonal matrix
        nearest to an array (for ``aodl`` the array itself, longer atoms cut).
    whiten : bool
        For complete dictionaries that are not orthogonal: learn from ``y M^(−1/2)``, where M are
        the second moments so far. `components_` are then ``D M^(1/2)``.
    forgetting : "auto", None, or a half-life in samples
        A half-life follows data that drift.
    batch_size, n_passes, shuffle, tol, n_jobs, random_state, callbacks, verbose
        As in `OnlineRobustNMF`.

    Attributes
    ----------
    components_ : array of shape (N, N)
        The dictionary, atoms in rows.
    history_ : History
        One row per batch: samples, seconds, loss, certificate (always zero: codes are exact),
        dictionary change; of ``noncvx_sfw`` and ``sfw`` also the Frank–Wolfe gap before the step,
        as the averaged gradient sees it.
    energies_ : array of shape (N,)
        Mean square of the codes on every atom.
    n_samples_seen_, n_iter_ : int
        Samples and batches seen.

    Notes
    -----
    Missing entries (NaN) are filled by their best linear prediction from the observed entries of
    the sample, given the second moments of the stream. (The paper puts the mean of the sample there
    before it begins.)

    References
    ----------
    Y. Xue, V. K. N. Lau, "Online orthogonal dictionary learning based on Frank–Wolfe method", IEEE
    Transactions on Neural Networks and Learning Systems, 2021.

    Examples
    --------
    >>> from thresher import OnlineOrthogonalDictionary
    >>> from thresher.datasets import make_orthogonal_stream
    >>> from thresher.metrics import orthogonal_error
    >>> stream = make_orthogonal_stream(3000, 8, random_state=0)
    >>> model = OnlineOrthogonalDictionary(n_passes=1, batch_size=10, random_state=0, verbose=0)
    >>> orthogonal_error(stream.dictionary, model.fit(stream.data).components_) < 1e-10
    True
    """

    _nonnegative = False
    _can_grow = False
    _weighs_entries = False

    _: KW_ONLY
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineEstimator._parameter_constraints,
        "n_nonzero": [COUNT, None],
        "p": [Options(Integral, {3, 4})],
        "init": [StrOptions({"samples", "random", "pca"}), "array-like"],
        "whiten": ["boolean"],
        "forgetting": HALF_LIFE,
    }

    n_nonzero: int | None = None
    solver: Any = "auto"
    p: int = 3
    init: Any = "samples"
    whiten: bool = False
    batch_size: int = 256
    n_passes: int | None = None
    shuffle: bool = True
    forgetting: Any = "auto"
    tol: float = 1e-4
    n_jobs: int | None = None
    random_state: Any = None
    callbacks: Iterable[Callback] | None = None
    verbose: int = 1

    @property
    def energies_(self) -> Array:
        """Mean square of the codes on every atom, over the stream as far as it is remembered."""
        method = self._model().method
        _, whitener = method.atoms(self._state)
        D = self._state.D if whitener is None else self._state.D @ whitener
        energies: Array = method.learner.energies(self._state.statistics, D)
        return energies

    # --------------------------------------------------------------------- parts

    def _solver(self) -> OrthogonalLearner:
        solver = named_solver(self.solver, ORTHOGONAL_SOLVERS)
        if self.p not in solver.powers:
            raise ValueError("p=4 is for solver='noncvx_sfw' and 'sfw'; leave p out for others.")
        drifts = self.forgetting not in (None, "auto")
        learner: OrthogonalLearner = solver.learner(self.p, drifts)
        if self.whiten and not learner.whitens:
            raise ValueError(
                f"whiten=True makes complete dictionaries of orthogonal ones; {learner.description}"
                " learns any by itself: leave whiten out."
            )
        return learner

    def _plan(self, n_components: int, in_order: bool = True) -> Candidates[OrthogonalMethod]:
        learner = self._solver()
        n_scored = max(1, n_components // 10) if self.n_nonzero is None else self.n_nonzero
        forgetting = named_forgetting(self.forgetting) or PlainAverage()
        method = OrthogonalMethod(learner, n_scored, forgetting, bool(self.whiten))
        name = learner.name if self.solver == "auto" else name_of(self.solver)
        return (Candidate(name, method, learner.why),)

    def _fixed_parameters(self) -> dict[str, Any]:
        # One half-life may replace another, but solvers can have a learner of their own for drift.
        kind = "no half-life" if self.forgetting in (None, "auto") else "a half-life"
        learner = f"{kind}, for {self._solver().description}"
        solver = named_solver(self.solver, ORTHOGONAL_SOLVERS)
        same = solver.learner(self.p, True).description == solver.learner(self.p, False).description
        return {**super()._fixed_parameters(), "forgetting": "any" if same else learner}

    # ---------------------------------------------------------------- validation

    def _check_parameters(self) -> None:
        self._validate_params()
        if not isinstance(self.init, str):
            numbers_in_rows("init", self.init)
        self._plan(1)

    def _warn_of_batch(self, batch: Batch) -> None:
        """Orthogonal dictionaries have neither sets nor penalties to blame."""

    def _check_weights(self, fitted: FittedModel, entry_weight: Array | None) -> None:
        return None

    def _start(self, n_features: int) -> tuple[str | Array | None, int]:
        init, shape = self.init, (n_features, n_features)
        if not isinstance(init, str):
            init = checked_rows("init", init, shape, nonnegative=False)
        return init, n_features

    def _check_learned(self, fitted: FittedModel, state: StreamState) -> None:
        K, F = state.D.shape
        if K != F or not isinstance(state.statistics, self._solver().statistics):
            raise ValueError(f"a dictionary of the shape {(K, F)} with its sums is not orthogonal")

    # -------------------------------------------------------------------- coding

    @property
    def dictionary_set_(self) -> ConvexSet:
        """The spectral ball, which orthogonal matrices span; with ``whiten`` all matrices."""
        self._check_is_fitted()
        return Reals() if self.whiten else self._solver().region

    def problem(self) -> CodingProblem:
        """``½‖y − cD‖²`` over all codes c, which those of `transform` solve before it drops any.

        With ``aodl``, ``+ ½λ‖c‖₁``.
        """
        self._check_is_fitted()
        self._check_unchanged()
        return self._solver().problem(self.components_)

    def _encoder_choice(self) -> tuple[str, str]:
        self._check_is_fitted()
        reasons = {
            "projection": "codes on an orthonormal basis are inner products with its atoms",
            "lasso": "codes of this solver solve a least-squares problem with an l1 penalty",
        }
        name = self._solver().coding
        return name, reasons[name]

    def _coded_blocks(
        self, X: Any, entry_weight: Any = None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Rows, filled samples and all codes, block by block."""
        batch = self._batch(X, None, entry_weight)
        method = self._model().method
        method.check(self._state, batch)
        code = method.coder(self._state, batch)
        for rows in block_slices(X.shape[0], X.shape[1]):
            yield rows, *code(rows)

    @translate_linalg_errors()
    def _codes(self, X: Any, entry_weight: Any = None) -> Array:
        N, method = len(self.components_), self._model().method
        atoms, _ = method.atoms(self._state)
        C = np.empty((X.shape[0], N), dtype=computing_dtype(X))
        for rows, _, codes in self._coded_blocks(X, entry_weight):
            C[rows] = method.kept(codes, atoms, N if self.n_nonzero is None else self.n_nonzero)
        return C

    @translate_linalg_errors()
    def _score_samples(self, given: Any, X: Any, entry_weight: Any = None) -> Array:
        method = self._model().method
        atoms, _ = method.atoms(self._state)
        parts = [-method.losses(Y, C, atoms) for _, Y, C in self._coded_blocks(X, entry_weight)]
        return np.concatenate(parts)

    def objective_samples(self, X: Any, entry_weight: Any = None) -> Array:
        """Half of the squares that the largest codes leave out: codes cost nothing."""
        return -np.asarray(self.score_samples(X, entry_weight))

    def certificates(self, X: Any, C: Any, entry_weight: Any = None) -> Array:
        """How far given codes are from those of `transform`, relative to their length."""
        X = self._checked(X, known=True)
        best = self._codes(X, entry_weight)
        C = checked_codes(C, X, len(self.components_))
        length = np.maximum(np.linalg.norm(best, axis=1), np.finfo(best.dtype).tiny)
        distance: Array = np.linalg.norm(C - best, axis=1) / length
        return distance

    @translate_linalg_errors()
    def _predictions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Samples with their missing entries filled from the observed entries."""
        return ((rows, Y) for rows, Y, _ in self._coded_blocks(X))

    @translate_linalg_errors()
    def _reconstructions(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Predictions of the codes that count in the loss; all codes predict the filled entries."""
        method = self._model().method
        atoms, _ = method.atoms(self._state)
        return (
            (rows, method.kept(C, atoms, method.n_scored) @ atoms)
            for rows, _, C in self._coded_blocks(X)
        )
