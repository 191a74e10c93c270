"""Growth of a fitted model: states with more features or atoms, and groups of atoms."""

from dataclasses import replace
from typing import Any

import numpy as np

from thresher.engine import StreamState
from thresher.estimators.fitted_model import FittedModel
from thresher.estimators.parameters import COUNT, check_argument, is_whole
from thresher.estimators.validation import checked_rows
from thresher.linalg import Array

# Of an atom's mean entry, in new features where predictions must be positive; heuristic.
_NEW_FEATURE = 1e-3


def grown_state(
    fitted: FittedModel, n_features: int | None, atoms: int | Array, nonnegative: bool
) -> StreamState:
    """Return the state with more features and atoms, as `DictionaryEstimator.grow` describes."""
    before, method = fitted.state, fitted.method
    if n_features is not None:
        check_argument("grow", [COUNT], n_features=n_features)
    F = before.D.shape[1] if n_features is None else int(n_features)
    if before.D.shape[1] > F:
        raise ValueError(
            f"grow cannot shrink the {before.D.shape[1]} features to {F}; leave n_features out, or "
            "give a larger number."
        )
    loss, region = method.loss(1.0), method.dictionary_regulariser.region
    loss.check_features(F)
    if is_whole(atoms, 0):
        rng = np.random.default_rng([before.seed, 2, before.n_steps])
        new: Array = rng.random((int(atoms), F))
    else:
        new = checked_rows("atoms", atoms, (None, F), nonnegative) / before.atom_unit
    state = before.grow(
        F, np.zeros((0, F)), _NEW_FEATURE if loss.needs_positive_prediction else 0.0
    )
    if len(new):
        state = state.grow(F, new if region.couples_rows else region.project(new))
    return feasible(method, state)


def feasible(method: Any, state: StreamState) -> StreamState:
    """Project atoms onto their set: with more or fewer features they may lie outside of it.

    Where the sum or length of an atom is fixed, the atom is rescaled: a projection would add to all
    of its entries.
    """
    region, frozen = method.dictionary_set, method.frozen
    constraint = region.row_constraint

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


def reduced_state(fitted: FittedModel, columns: Any) -> StreamState:
    """Return the state with some features, in the order of ``columns``."""
    places, F = np.asarray(columns), fitted.state.D.shape[1]
    whole = places.ndim == 1 and places.size > 0 and places.dtype.kind in "iu"
    if not whole or places.min() < 0 or places.max() >= F:
        raise ValueError(
            f"columns must be the numbers of features to keep, at least one of 0 to {F - 1}."
        )
    return feasible(fitted.method, fitted.state.keep(places))


def joined_state(fitted: FittedModel, groups: Any) -> StreamState:
    """Return the state with the mean of each group of atoms, weighted by usage."""
    method, state = fitted.method, fitted.state
    members = _grouped_atoms(groups, len(state.D))
    if method.dictionary_regulariser.region.couples_rows:
        raise ValueError(
            "The set of this dictionary couples its atoms, so none can be taken out; use a set of "
            "single atoms, such as 'simplex'."
        )
    return state.joined(members, method.learner.usage(state.statistics, state.D))


def _grouped_atoms(groups: Any, n_atoms: int) -> Array:
    """Return a row for each group, with ones at its atoms."""
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
