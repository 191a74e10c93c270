"""Models that make room for new features and atoms, forget features, and join atoms."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from thresher.engine import Method, StreamState
from thresher.estimators.inputs import refuse_mask
from thresher.estimators.learned import LearnedModel
from thresher.estimators.parameters import is_whole, require_positive
from thresher.estimators.usual import RecentSamples
from thresher.linalg import Array
from thresher.penalties import Form

_NEW_FEATURE = 1e-3  # of an atom's mean entry, where predictions must be positive; by judgement


class GrowingModel(LearnedModel):
    """A model with `grow` and `keep_features`."""

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
        self._check_goes_on()
        if n_features is not None:
            require_positive("n_features", n_features)
        F = self._state.D.shape[1] if n_features is None else int(n_features)
        if self._state.D.shape[1] > F:
            raise ValueError(
                f"grow cannot shrink the {self._state.D.shape[1]} features to {F}; leave "
                "n_features out, or give a larger number."
            )
        method = self._fitted_method()
        method.loss(1.0).check_features(F)
        if is_whole(atoms, 0):
            rng = np.random.default_rng([self._state.seed, 2, self._state.n_steps])
            new: Array = rng.random((int(atoms), F))
        else:
            new = _rows(atoms, F, self._nonnegative) / self._state.atom_unit
        region, loss = method.dictionary_regulariser.region, method.loss(1.0)
        state = self._state.grow(
            F, np.zeros((0, F)), _NEW_FEATURE if loss.needs_positive_prediction else 0.0
        )
        if len(new):
            state = state.grow(F, new if region.couples_rows else region.project(new))
        if self._state.D.shape[1] < F and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if self._state.D.shape[1] < F:
            self._forget_samples()
        self.n_features_in_ = F
        self._adopt(_feasible(method, state), self._position)
        return self

    def keep_features(self, columns: Any) -> Self:
        """Forget all features but some; dictionary and statistics follow.

        Parameters
        ----------
        columns : array of int
            The features to keep, in their new order.
        """
        self._check_is_begun()
        self._check_goes_on()
        F = self._state.D.shape[1]
        places = np.asarray(columns)
        whole = places.ndim == 1 and places.size > 0 and places.dtype.kind in "iu"
        if not whole or places.min() < 0 or places.max() >= F:
            raise ValueError(
                f"columns must be the numbers of features to keep, at least one of 0 to {F - 1}."
            )
        if hasattr(self, "feature_names_in_"):
            self.feature_names_in_ = self.feature_names_in_[places]
        self._forget_samples()
        self.n_features_in_ = len(places)
        state = _feasible(self._fitted_method(), self._state.keep(places))
        self._adopt(state, self._position)
        return self

    @property
    def usage_(self) -> Array:
        """How much every atom was used, discounted, as shares that sum to one."""
        self._check_is_begun()
        method = self._fitted_method()
        usage = method.learner.usage(self._state.statistics, self._state.D)
        total = float(usage.sum())
        K = len(usage)
        return usage / total if total > 0 else np.full(K, 1 / K)

    def _join_atoms(self, groups: Any) -> Self:
        """Let atoms be one from now on, or forget them; dictionary and statistics follow.

        A group becomes the mean of its atoms, weighted by how much they were used, and its
        statistics are those of codes that add up.

        Parameters
        ----------
        groups : list of lists of int
            The atoms of each new atom. An atom that stands in no group is forgotten.
        """
        self._check_is_begun()
        self._check_goes_on()
        if getattr(self, "frozen_atoms", None) is not None:
            raise ValueError(
                "frozen_atoms= names atoms by their numbers, which would change; join atoms of a "
                "model without it."
            )
        members = _members(groups, len(self._state.D))
        method = self._fitted_method()
        if method.dictionary_regulariser.region.couples_rows:
            raise ValueError(
                "The set of this dictionary ties its atoms together, so none can be taken out; use "
                "a set of single atoms, such as 'simplex'."
            )
        usage = method.learner.usage(self._state.statistics, self._state.D)
        self._adopt(self._state.joined(members, usage), self._position)
        return self

    def _forget_samples(self) -> None:
        """Samples of another width say nothing of what is usual."""
        if self._recent is not None:
            self._recent = RecentSamples()
        if hasattr(self, "_reading_scale"):
            del self._reading_scale


def _feasible(method: Method, state: StreamState) -> StreamState:
    """Bring atoms into their set: with more or fewer features they may lie outside of it.

    Where the sum or length of an atom is fixed, the atom is rescaled: a projection would add to all
    of its entries.
    """
    region, frozen = method.dictionary_set, method.frozen
    constraint = Form.of(method.dictionary_regulariser.penalty, region).row_constraint

    def projected(D: Array) -> Array:
        atoms = D
        if constraint is not None and constraint.equality:
            sizes = constraint.gauge(np.abs(D).sum(axis=1), np.square(D).sum(axis=1))
            atoms = D / np.where(sizes > 0, sizes, 1).astype(D.dtype)[:, None]
        atoms = region.project(atoms)
        if frozen is not None:
            stay = np.flatnonzero(frozen)  # atoms that were added after them are free
            atoms[stay] = D[stay]
        return atoms

    D = projected(state.D)
    average = D if state.average is state.D else projected(state.average)
    return replace(state, D=D, average=average)


def _members(groups: Any, n_atoms: int) -> Array:
    """A row for each group, with ones at its atoms; refuses what is no grouping."""
    try:
        lists = [np.atleast_1d(np.asarray(group)) for group in groups]
    except (TypeError, ValueError):
        lists = []
    whole = all(one.ndim == 1 and one.size and one.dtype.kind in "iu" for one in lists)
    atoms = np.concatenate(lists) if lists and whole else np.zeros(0, dtype=int)
    if not len(atoms) or atoms.min() < 0 or atoms.max() >= n_atoms or len(set(atoms)) < len(atoms):
        raise ValueError(
            f"groups must be lists of atoms, such as [[0, 2], [1]], each of 0 to {n_atoms - 1} in "
            "one of them at the most."
        )
    members = np.zeros((len(lists), n_atoms))
    for row, group in zip(members, lists, strict=True):
        row[group] = 1.0
    return members


def _rows(atoms: Any, n_features: int, nonnegative: bool) -> Array:
    """New atoms as an array; refuses what cannot be one."""
    refuse_mask("atoms", atoms)
    try:
        new: Array = np.asarray(atoms, dtype=np.float64)
    except (TypeError, ValueError):
        new = np.zeros(0)
    good = new.ndim == 2 and new.shape[1] == n_features and np.isfinite(new).all()
    if not good or (nonnegative and not (new >= 0).all()):
        kind = "nonnegative rows" if nonnegative else "rows"
        raise ValueError(
            f"New atoms must be a number of them, or {kind} of {n_features} columns, all finite; "
            f"got the shape {new.shape}."
        )
    return new
