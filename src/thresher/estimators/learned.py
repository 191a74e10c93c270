"""How any model starts to learn, and what it remembers of it."""

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from thresher.engine import History, Position, StreamState
from thresher.estimators.base import DictionaryModel, computing_dtype
from thresher.estimators.registry import INITS
from thresher.linalg import Array
from thresher.losses import SeparableLoss
from thresher.sets import CoveredBox
from thresher.streams import Batch

_NEW_FEATURE = 1e-3


class LearnedModel(DictionaryModel):
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
    _began_as: str

    def grow(self, n_features: int | None = None, atoms: int | Array = 0) -> Self:
        """Make room for new features, new atoms, or both.

        Parameters
        ----------
        n_features : int, optional
            The new width; new features start at zero in the old atoms.
        atoms : int or array of shape (m, n_features)
            New atoms, or how many: then they start random and the next batches shape them.
        """
        self._check_is_begun()
        F = self._state.D.shape[1] if n_features is None else int(n_features)
        if self._state.D.shape[1] > F:
            raise ValueError(
                f"grow cannot shrink the {self._state.D.shape[1]} features to {F}; leave "
                "n_features out, or give a larger number."
            )
        method = self._method(len(self._state.D))
        method.loss(1.0).check_features(F)
        if isinstance(atoms, Integral):
            if atoms < 0:
                raise ValueError(f"atoms={atoms} must not be negative.")
            rng = np.random.default_rng([self._state.seed, 2, self._state.n_steps])
            new: Array = rng.random((int(atoms), F))
        else:
            new = np.asarray(atoms, dtype=np.float64)
            good = new.ndim == 2 and new.shape[1] == F and np.isfinite(new).all()
            if not good or not (new >= 0).all():
                raise ValueError(
                    f"New atoms must be nonnegative rows of {F} columns, all finite; got the shape "
                    f"{new.shape}."
                )
        region, loss = method.dictionary_regulariser.region, method.loss(1.0)
        positive = isinstance(loss, SeparableLoss) and loss.positive_prediction
        state = self._state.grow(F, np.zeros((0, F)), _NEW_FEATURE if positive else 0.0)
        if isinstance(region, CoveredBox):  # a set of whole dictionaries, not of atoms
            state = state.grow(F, new)
            state = replace(state, D=region.project(state.D), average=region.project(state.average))
        elif len(new):
            state = state.grow(F, region.project(new))
        if self._state.D.shape[1] < F and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = F
        self._adopt(state, self._position)
        return self

    def keep_features(self, columns: Any) -> Self:
        """Forget all features but some; dictionary and statistics follow.

        Parameters
        ----------
        columns : array of int
            The features to keep, in their new order.
        """
        self._check_is_begun()
        places = np.asarray(columns, dtype=np.intp)
        F = self._state.D.shape[1]
        if places.ndim != 1 or not places.size or places.min() < 0 or places.max() >= F:
            raise ValueError(f"columns must name at least one of the features 0 to {F - 1}.")
        if hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = self.feature_names_in_[places]
        self.n_features_in_ = len(places)
        self._adopt(self._state.keep(places), self._position)
        return self

    def _check_is_begun(self) -> None:
        if not hasattr(self, "_state"):
            raise ValueError(
                f"This {type(self).__name__} has not learned anything yet; call fit or "
                "partial_fit first."
            )

    def _check_parameters(self) -> None:
        for name in ("batch_size", "max_iter", "n_starts"):
            value = getattr(self, name, 1)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name}={value!r} must be a positive integer.")
        for name in ("n_components", "n_passes"):
            value = getattr(self, name, None)
            if value is not None and (not isinstance(value, Integral) or value < 1):
                raise ValueError(f"{name}={value!r} must be a positive integer or None.")
        if getattr(self, "n_starts", 1) > 1 and not isinstance(self.init, str):
            raise ValueError("An array as init is the only start; leave n_starts or init out.")
        callbacks = getattr(self, "callbacks", None)
        if callbacks is not None and not isinstance(callbacks, Iterable):
            raise ValueError("callbacks must be a list of functions; put brackets around one.")
        if not self.tol > 0:
            raise ValueError(f"tol={self.tol!r} must be positive.")
        given = self.init if self.n_components is None and not isinstance(self.init, str) else ()
        self._method(self.n_components or len(given) or 10)

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
            init = np.array(init, dtype=np.float64, order="C")
            n_components = self.n_components or len(init)
            if init.shape != (n_components, F) or not np.isfinite(init).all() or (init < 0).any():
                raise ValueError(
                    f"init must be a nonnegative array of shape ({n_components}, {F}), one row "
                    f"for each atom; got the shape {init.shape}."
                )
            if not init.any(axis=1).all():
                raise ValueError(
                    "An atom of init is all zero, and would never learn; give it some positive "
                    "entries, or leave init out."
                )
        return self._method(n_components, in_order).begin(first, init, n_components, dtype, seed)

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _identity(self) -> str:
        """What may not change while a model goes on learning."""
        return ""

    def _check_goes_on(self) -> None:
        if self._identity() != self._began_as:
            raise ValueError(
                f"What was learned so far belongs to {self._began_as}, and the model now has "
                f"{self._identity()}; set it back to go on, or call fit to start anew."
            )

    def _forget_everything(self) -> None:
        self._began_as = self._identity()
        self.history_ = History()
        self._seconds = 0.0
        if hasattr(self, "threshold_"):
            del self.threshold_

    def _adopt(self, state: StreamState, position: Position) -> None:
        """Make a state the model's own; between two steps the model is always whole."""
        self._state = state
        self._position = position
        self.components_ = state.average
        self.n_components_ = len(state.D)
        self.n_samples_seen_ = state.n_samples
        self.n_iter_ = max(1, state.n_steps)
