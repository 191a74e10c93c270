"""How any model starts to learn, and what it remembers of it."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from thresher.engine import Energies, History, Position, StreamState, choose
from thresher.estimators.base import DictionaryModel
from thresher.estimators.inputs import computing_dtype, refuse_mask
from thresher.estimators.parameters import check_parameters
from thresher.estimators.registry import INITS
from thresher.estimators.reporting import WritesReport
from thresher.estimators.usual import RecentSamples
from thresher.learning import Statistics
from thresher.linalg import Array
from thresher.sets import ConvexSet
from thresher.streams import Batch

_log = logging.getLogger(__name__)


class LearnedModel(WritesReport, DictionaryModel):
    """Parameters are checked, a seed is drawn, atoms start, and a state becomes the model's own."""

    n_components: int | None
    init: Any
    random_state: Any

    history_: History
    n_samples_seen_: int
    n_iter_: int
    feature_names_in_: Any
    _position: Position
    _seconds: float
    _recent: RecentSamples | None = None
    _flags_anomalies = False

    @property
    def statistics_(self) -> Statistics:
        """What the samples left behind, discounted: all that is known of them beside the atoms.

        Sums such as ``A = Σ cᵀc`` and ``B = Σ cᵀx``, in the unit in which the model computes.
        """
        check_is_fitted(self, "components_")
        return self._state.statistics

    @property
    def dictionary_set_(self) -> ConvexSet:
        """The set that the atoms lie in, in the unit of the data: what ``"auto"`` came to."""
        check_is_fitted(self, "components_")
        self._check_goes_on()
        return self._chosen(self._state).method.dictionary_regulariser.region

    def _check_is_begun(self) -> None:
        if not hasattr(self, "_state"):
            raise NotFittedError(
                f"This {type(self).__name__} has not learned anything yet; call fit or "
                "partial_fit first."
            )

    def _check_parameters(self) -> None:
        check_parameters(self)
        if not isinstance(self.init, str) and getattr(self, "n_starts", 1) > 1:
            raise ValueError("An array as init is the only start; leave n_starts or init out.")
        given = () if isinstance(self.init, str) else self._given_init()
        self._plan(self.n_components or len(given) or 10)

    def _given_init(self) -> Array:
        """``init`` as an array of numbers with a row for each atom."""
        refuse_mask("init", self.init)
        try:
            init = np.array(self.init, dtype=np.float64, order="C")
        except (TypeError, ValueError, OverflowError):
            init = np.zeros(0)
        if init.ndim != 2:
            raise ValueError(
                f"init={self.init!r} is neither a name such as 'samples' nor an array of numbers "
                "with a row for each atom."
            )
        return init

    def _begin(self, first: Batch, seed: int, in_order: bool = True) -> StreamState:
        F = first.X.shape[1]
        dtype = computing_dtype(first.X)
        init = self.init
        if isinstance(init, str):
            n_components = min(10, F) if self.n_components is None else self.n_components
            if init not in INITS:
                names = ", ".join(map(repr, INITS))
                raise ValueError(f"init={init!r} is not known; use one of {names}, or an array.")
            init = INITS[init]
        else:
            init = self._given_init()
            n_components = self.n_components or len(init)
            signed = self._nonnegative and bool((init < 0).any())
            if init.shape != (n_components, F) or not np.isfinite(init).all() or signed:
                kind = "nonnegative, finite" if self._nonnegative else "finite"
                raise ValueError(
                    f"init must be a {kind} array of shape ({n_components}, {F}), one row for each "
                    f"atom; got the shape {init.shape}."
                )
            if not init.any(axis=1).all():
                raise ValueError(
                    "An atom of init is all zero, and would never learn; give it some other "
                    "entries, or leave init out."
                )
        flags = np.asarray(getattr(self, "frozen_atoms", None))
        if flags.dtype == bool and flags.size not in (0, n_components):
            raise ValueError(
                f"frozen_atoms has {flags.size} flags for {n_components} atoms; give one for each, "
                "or the numbers of the atoms."
            )
        chosen = choose(self._planned(n_components, in_order), first)
        method = chosen.warm_start or chosen.method
        state = method.begin(first, init, n_components, dtype, seed)
        self._tell_start(state, f"{chosen.name}, as {chosen.reason}")
        return replace(state, method=chosen.name)

    def _tell_start(self, state: StreamState, parts: str) -> None:
        K, F = state.D.shape
        name = type(self).__name__
        _log.info(
            "%s: starts with %d atoms of %d features (%s): %s", name, K, F, state.D.dtype, parts
        )

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _check_learned(self, state: StreamState) -> None:
        """Refuse a state that these parameters cannot have come to, such as a forged one."""
        method = self._chosen(state).method
        method.loss(1.0).check_features(state.D.shape[1])
        signed = min(float(state.D.min()), float(state.average.min())) < 0
        if signed and method.dictionary_set.nonnegative:
            raise ValueError("the dictionary has negative entries, which its set does not allow")

    def _forget_everything(self) -> None:
        self._began_as = self._identity()
        self.history_ = History()
        self._seconds = 0.0
        self._recent = RecentSamples() if self._flags_anomalies else None
        for name in ("_calibrated_threshold", "_reading_scale"):
            if hasattr(self, name):
                delattr(self, name)

    def _remember(self, batch: Batch) -> None:
        """Keep a few samples, for models that say what is usual."""
        if self._recent is not None:
            self._recent = self._recent.after(batch)

    def _warn_of_size(self, energies: Energies) -> None:
        """Warn if the sets of codes and atoms leave no room for data of this size."""
        if energies.data > 0:
            method = self._chosen(self._state).method
            parts = (method.code_regulariser, method.dictionary_regulariser)
            energies.warn_of_size(not any(part.region.is_cone for part in parts))

    def _adopt(self, state: StreamState, position: Position) -> None:
        """Make a state the model's own; between two steps the model is always whole."""
        if state.n_steps == 1 and hasattr(self, "outlier_weight"):
            weight = self._chosen(state).method.threshold(state)
            given = self.outlier_weight
            _log.info("%s: outlier_weight=%r is %g at first", type(self).__name__, given, weight)
        self._state = state
        self._position = position
        self.components_ = state.atoms
        self.n_components_ = len(state.D)
        self.n_samples_seen_ = state.n_samples
        self.n_iter_ = max(1, state.n_steps)
