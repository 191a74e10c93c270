"""Restarts of unused atoms, and the removal of atoms that cost more than they explain."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thresher.engine.first_batch import row_weights, spread_rows
from thresher.engine.state import StreamState
from thresher.linalg import Array
from thresher.streams import Batch

if TYPE_CHECKING:
    from thresher.engine.method import Method

_log = logging.getLogger(__name__)

_UNUSED = 1e-6  # of the mean usage
# Heuristic: before so many samples an unused atom under a penalty may only have been unlucky.
_MIN_SAMPLES_PER_ATOM = 10
_MIN_LENGTH = 0.1  # of a restarted atom; heuristic, matters only where codes cost next to nothing
_MIN_TRIAL_ROWS, _MAX_TRIAL_ROWS = 32, 256  # decide whether an atom pays; heuristic
_STANDARD_ERRORS = 2.0
_JITTER = 0.1  # relative, of the sample that an atom restarts from; heuristic


def replace_unused(method: Method, state: StreamState, batch: Batch) -> StreamState:
    """Restart atoms that no code uses.

    An atom is unused if its share of the predictions, as the learner measures it, is at most a
    millionth of the mean. It becomes a random sample of the batch without its outliers, at unit
    length (where codes are bounded, at its own), and its statistics are reset.
    """
    usage = method.learner.usage(state.statistics, state.D)
    limit = _UNUSED * (np.add.reduce(usage) / len(usage))
    if np.minimum.reduce(usage) > limit:
        return state
    unused = np.flatnonzero(method.free_atoms(len(state.D)) & (usage <= limit))
    if not unused.size:
        return state
    if not method.dictionary_regulariser.form.is_unpenalised:
        return _restart_if_worth(method, state, batch, unused)
    if not usage.any():
        return state
    _log.debug("Unused atoms %s restart from samples", unused)
    return restarted(method, state, batch.glance(len(unused)), unused, 1.0)


def _restart_if_worth(
    method: Method, state: StreamState, batch: Batch, unused: NDArray[np.intp]
) -> StreamState:
    """Set unused atoms to zero under a penalty, and restart the first one if that pays.

    It pays if the batch gains more than the penalty of the new atom for all samples that the
    statistics remember, none of which used it. The quadratic weighs both alike, so that it would
    undo any other restart.
    """
    regulariser = method.dictionary_regulariser
    enough = state.weight_seen >= _MIN_SAMPLES_PER_ATOM * len(state.D)
    if enough and regulariser.form.prefers_zero:
        state = _without(state, unused)
    share = batch.weight / max(getattr(state.statistics, "weight", 0.0), batch.weight)
    batch = _trial_rows(batch)
    used = np.delete(np.linalg.norm(state.D, axis=1), unused)
    length = float(used.mean()) if used.any() else None
    trial = restarted(method, state, batch, unused[:1], length)
    cost = float(regulariser.value(trial.D).sum() - regulariser.value(state.D).sum())
    gains = method.objectives(state, batch) - method.objectives(trial, batch)
    weights = row_weights(batch)
    pays = share * float(weights @ gains) > cost * float(weights.sum())
    return trial if pays else state


def drop_if_costly(method: Method, state: StreamState, batch: Batch) -> StreamState:
    """Set one atom, each in its turn, to zero if the batch loses less than its penalty.

    The quadratic keeps the codes, so it does not account for how other atoms would replace this
    one. The mean loss of samples has to be smaller by two standard errors. Batches of fewer than
    32 samples drop none.
    """
    used = np.flatnonzero(method.free_atoms(len(state.D)) & state.D.any(axis=1))
    if batch.n_samples < _MIN_TRIAL_ROWS or not used.size:
        return state
    trial = _without(state, used[state.n_steps % len(used)][None])
    batch = _trial_rows(batch)
    value, weights = method.dictionary_regulariser.value, row_weights(batch)
    losses = method.objectives(trial, batch) - method.objectives(state, batch)
    total = float(weights.sum())
    mean = float(weights @ losses) / total if total > 0 else np.inf
    variance = float(weights**2 @ (losses - mean) ** 2) / total**2 if total > 0 else 0.0
    saved = float(value(state.D).sum() - value(trial.D).sum())
    return trial if mean + _STANDARD_ERRORS * np.sqrt(variance) < saved else state


def restarted(
    method: Method,
    state: StreamState,
    batch: Batch,
    atoms: NDArray[np.intp],
    length: float | None,
) -> StreamState:
    """Replace atoms by random samples without their outliers.

    ``length`` is that of the new atoms; None minimises the penalties of atom and codes.
    """
    rng = np.random.default_rng([state.seed, 1, state.n_steps])
    rows = spread_rows(batch, len(atoms), rng)
    D, average = state.D.copy(), state.average.copy()
    problem = method.problem(state)
    for atom, i in zip(atoms, rows, strict=True):
        place = slice(int(i), int(i) + 1)
        X, weight, _ = method.load_dense(batch, place, D.dtype)
        # Sparse rows are coded on their nonzeros, here as elsewhere.
        row = method.load(batch, place, D.dtype)[0]
        prediction = method.encoder.encode(problem, row, weight).codes @ D
        clean = X - problem.loss.outliers(X, prediction, weight)
        clean = clean if weight is None else np.where(weight > 0, clean, prediction)
        jitter = 1 + _JITTER * rng.standard_normal(clean.shape)
        clean = np.abs(clean * jitter).astype(D.dtype)
        size = float(np.linalg.norm(clean))
        if size > 0:
            unit = clean / size
            if method.bounds_codes:
                D[atom] = clean[0]
            else:
                best = _cheapest_length(method, unit, size) if length is None else length
                D[atom] = (unit * D.dtype.type(best))[0]
            average[atom] = D[atom]
    region, statistics = method.dictionary_regulariser.region, state.statistics.without(atoms)
    changed = slice(None) if region.couples_rows else atoms
    D[changed], average[changed] = region.project(D[changed]), region.project(average[changed])
    return state.changed(D=D, average=average, statistics=statistics)


def _cheapest_length(method: Method, unit: Array, size: float) -> float:
    """Return the ℓ ≤ 1 that minimises the penalties of an atom ℓu and of codes ``size/ℓ``."""
    codes = method.code_regulariser.form.l1 * size
    atom = float(method.dictionary_regulariser.value(unit).sum())
    return float(np.clip(np.sqrt(codes / atom), _MIN_LENGTH, 1.0)) if atom > 0 else 1.0


def _without(state: StreamState, atoms: NDArray[np.intp]) -> StreamState:
    """Set atoms to zero and reset their statistics."""
    D, average = state.D.copy(), state.average.copy()
    D[atoms] = average[atoms] = 0
    return state.changed(D=D, average=average, statistics=state.statistics.without(atoms))


def _trial_rows(batch: Batch) -> Batch:
    """Rows of a batch that decide whether an atom pays."""
    some = batch.glance()
    return some.every(-(-some.n_samples // _MAX_TRIAL_ROWS))
