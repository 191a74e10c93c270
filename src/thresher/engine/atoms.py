"""Atoms of a dictionary: where they start, restarts of unused ones, removal of costly ones."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.engine.first_batch import is_mostly_zero, row_weights, sparse_mean, without_gaps
from thresher.engine.state import StreamState
from thresher.learning import (
    initial_atoms,
    mean_sample,
    median_atoms,
    positive_atoms,
    sample_length,
)
from thresher.linalg import Array, load_block
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
# Rows and entries of the first batch to start from.
_ROWS = 256
_FEW_ENTRIES = 1 << 19
_MAX_ENTRIES = 1 << 23
_MAX_SPARSE_ENTRIES = 1 << 20
_DOCUMENTS = 2048


def first_atoms(
    method: Method,
    batch: Batch,
    init: str | None,
    n_components: int,
    dtype: np.dtype[Any],
    rng: np.random.Generator,
) -> Array:
    """Return feasible atoms from the first batch."""
    n_features, loss = batch.X.shape[1], method.loss(1.0)
    region = method.dictionary_set
    positive = loss.needs_positive_prediction
    stays_sparse = method.block_kind(batch) == "sparse"
    if init is None:
        init = method.default_init
    if init is None:
        init = "mean" if positive and stays_sparse else "samples"
        if not loss.smooth and loss.stays_sparse and is_mostly_zero(batch):
            init = "medians"
    # Some rows are enough to start from, and a wide sparse matrix stays sparse.
    limit = _MAX_SPARSE_ENTRIES if stays_sparse else _MAX_ENTRIES
    rows = max(min(_ROWS, limit // n_features), 2 * n_components)
    rows = max(rows, _FEW_ENTRIES // n_features)
    rows = _DOCUMENTS if init == "medians" else rows
    step = -(-batch.n_samples // rows)
    some = batch.every(step)
    given = some.sample_weight
    chosen = np.ones(some.n_samples) if given is None or not given.any() else given
    if init == "medians":
        some = Batch(without_gaps(some) / method.unit, chosen)
        D = region.project(median_atoms(n_components, some.X, chosen, rng))
        return region.project(positive_atoms(D, sparse_mean(some))) if positive else D
    X, weight, _ = method.load_dense(some, slice(0, some.n_samples), dtype)
    mean = None
    if positive or init == "mean":
        mean = sparse_mean(batch) / method.unit if stays_sparse else mean_sample(X, weight, chosen)
    length = sample_length(X, chosen) if method.bounds_codes else None
    D = initial_atoms(init, n_components, X, weight, chosen, region, rng, mean, length)
    return D if mean is None or not positive else region.project(positive_atoms(D, mean))


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


def spread_rows(batch: Batch, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Random rows of a batch, spread out, by weight: two equal samples count as one of weight two.

    Sorted along a random direction, so that neither the order nor the repetition of rows matters.
    """
    direction = rng.standard_normal(batch.X.shape[1])
    if sparse.issparse(batch.X):
        place = without_gaps(batch) @ direction
    else:
        X, weight = load_block(batch.X, slice(None), np.dtype(np.float64), batch.entry_weight)
        place = (X if weight is None else np.where(weight > 0, X, 0)) @ direction
    order = np.argsort(place, kind="stable")
    weights = row_weights(batch)
    cumulated = np.cumsum(weights[order], dtype=np.float64)
    if not cumulated[-1] > 0:
        return np.resize(order, count)
    marks = (np.arange(count) + rng.random(count)) / count * cumulated[-1]
    chosen: NDArray[np.intp] = order[np.searchsorted(cumulated, marks, side="right")]
    return chosen
