"""Where the atoms of a stream start: from its first batch, whatever its kind."""

from typing import Any

import numpy as np

from thresher.engine.first_batch import (
    ROWS_TO_START_FROM,
    every,
    is_mostly_zero,
    sparse_mean,
    without_gaps,
)
from thresher.engine.method_parts import MethodParts
from thresher.learning import (
    initial_atoms,
    mean_sample,
    median_atoms,
    positive_atoms,
    sample_length,
)
from thresher.linalg import Array
from thresher.sets import Reals
from thresher.streams import Batch

_FEW_ENTRIES = 1 << 19
_ENTRIES_TO_START_FROM = 1 << 23
_SPARSE_ENTRIES_TO_START_FROM = 1 << 20
_DOCUMENTS_TO_START_FROM = 2048


def first_atoms(
    parts: MethodParts,
    batch: Batch,
    init: str | None,
    n_components: int,
    dtype: np.dtype[Any],
    rng: np.random.Generator,
) -> Array:
    """Feasible atoms from the first batch."""
    n_features, loss = batch.X.shape[1], parts.loss(1.0)
    region = Reals() if parts.strays else parts.dictionary_regulariser.region
    positive = loss.needs_positive_prediction
    stays_sparse = parts.stays_sparse(batch)
    if init is None:
        init = parts.own_start
    if init is None:
        init = "mean" if positive and stays_sparse else "samples"
        if not loss.smooth and loss.stays_sparse and is_mostly_zero(batch):
            init = "medians"
    # Some rows are enough to start from, and a wide sparse matrix stays sparse.
    room = _SPARSE_ENTRIES_TO_START_FROM if stays_sparse else _ENTRIES_TO_START_FROM
    rows = max(min(ROWS_TO_START_FROM, room // n_features), 2 * n_components)
    rows = max(rows, _FEW_ENTRIES // n_features)
    rows = _DOCUMENTS_TO_START_FROM if init == "medians" else rows
    step = -(-batch.n_samples // rows)
    some = Batch(batch.X[::step], entry_weight=every(batch.entry_weight, step))
    given = every(batch.sample_weight, step)
    chosen = np.ones(some.n_samples) if given is None or not given.any() else given
    if init == "medians":
        some = Batch(without_gaps(some) / parts.unit, chosen)
        D = region.project(median_atoms(n_components, some.X, chosen, rng))
        return region.project(positive_atoms(D, sparse_mean(some))) if positive else D
    X, weight, _ = parts.load_dense(some, slice(0, some.n_samples), dtype)
    mean = sparse_mean(batch) / parts.unit if stays_sparse else mean_sample(X, weight, chosen)
    length = None if parts.codes_take_the_size else sample_length(X, chosen)
    D = initial_atoms(init, n_components, X, weight, chosen, region, rng, mean, length)
    return region.project(positive_atoms(D, mean)) if positive else D
