"""The rows that a choice is made on: all of an array, or some of a source, evenly spread."""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.estimators.results import comes_in_parts, source_of
from thresher.linalg import stored_values

_MOST = 1 << 24
"""Entries of a source that are held at a time; by judgement."""


def held_rows(X: Any, estimator: Any) -> Any:
    """Samples as an array or CSR, in memory."""
    if not comes_in_parts(X):
        return estimator._checked(X, known=False)
    kept: list[Any] = []
    step, seen = 1, 0
    source = source_of(X).sized(10, getattr(estimator, "batch_size", 256))
    for piece in source:
        rows = estimator._checked(piece, known=False)
        kept.append(rows[-seen % step :: step])  # every step-th row of the source
        seen += rows.shape[0]
        while _entries(kept) > _MOST and sum(part.shape[0] for part in kept) > 1:
            kept, step = [_stacked(kept)[::2]], 2 * step
    if not kept:
        raise ValueError("The stream is empty; give it at least one batch.")
    return _stacked(kept)


def _entries(parts: list[Any]) -> int:
    return sum(stored_values(part).size for part in parts)


def _stacked(parts: list[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts)
