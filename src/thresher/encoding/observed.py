"""Rows of which only the stored entries are observed, as dense rows on their own features.

A part of few rows (`linalg.ObservedBlock.parts`) is coded on the atoms at its features, with K more
features that are missing: with ``E Eᵀ = D Dᵀ − D_S D_Sᵀ`` they stand for all the others. What a
solver does at missing entries is linear, so it sees them through their products alone: it takes the
same steps on ``(D_S, E)`` as on D with all other features missing. That is F features in the work
of those that are stored.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from thresher.encoding.problem import CodingProblem, exact_gram
from thresher.linalg import Array


class Narrow(NamedTuple):
    """Some rows, and the problem on the features that they have."""

    rows: slice
    problem: CodingProblem
    X: Array
    weight: Array


def narrowed(problem: CodingProblem, X: Any) -> Iterator[Narrow]:
    """Rows of which only stored entries are observed, part by part."""
    K, F = problem.D.shape
    for part in X.parts:
        if len(part.features) + K >= F:
            yield Narrow(part.rows, problem, *X[part.rows].dense())
            continue
        nothing = np.zeros((len(part.X), K), dtype=X.dtype)
        x, weight = np.hstack([part.X, nothing]), np.hstack([part.weight, nothing])
        yield Narrow(part.rows, _on_features(problem, part.features), x, weight)


def _on_features(problem: CodingProblem, features: Any) -> CodingProblem:
    some = np.ascontiguousarray(problem.transposed[features].T)
    values, vectors = np.linalg.eigh(problem.exact_gram - exact_gram(some))
    rest = vectors * np.sqrt(np.maximum(values, 0))
    D = np.hstack([some, rest.astype(some.dtype)])
    narrow = CodingProblem(D, problem.loss, problem.regulariser, problem.D.shape[1])
    # What solvers know of the whole dictionary, they know of this one too.
    for known in ("gram", "dictionary_norm", "dictionary_bound", "row_sums"):
        vars(narrow)[known] = getattr(problem, known)
    return narrow
