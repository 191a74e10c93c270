"""Rows of which only the stored entries were seen, each on its own features.

A part of few rows (`linalg.StoredBlock.parts`) is coded on the atoms at its features, with K more
features that nobody saw: with ``E Eᵀ = D Dᵀ − D_S D_Sᵀ`` they stand for all the others. What a
solver does at gaps is linear, so it sees them through their products alone: it takes the same steps
on ``(D_S, E)`` as on D, with gaps in all other features. That is F features in the work of those
that are stored.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from thresher.encoding.iterate import BlockEncoder, Encoding
from thresher.encoding.problem import CodingProblem
from thresher.linalg import Array, StoredBlock


class Narrow(NamedTuple):
    """Some rows, and the problem on the features that they have."""

    rows: slice
    problem: CodingProblem
    X: Array
    weight: Array


def narrowed(problem: CodingProblem, X: StoredBlock) -> Iterator[Narrow]:
    """A block, part by part."""
    K, F = problem.D.shape
    for part in X.parts:
        if len(part.features) + K >= F:
            yield Narrow(part.rows, problem, *X[part.rows].dense())
            continue
        nothing = np.zeros((len(part.X), K), dtype=X.dtype)
        x, weight = np.hstack([part.X, nothing]), np.hstack([part.weight, nothing])
        yield Narrow(part.rows, _on_features(problem, part.features), x, weight)


def _on_features(problem: CodingProblem, features: Any) -> CodingProblem:
    whole: Array = problem.remember("gram in double", lambda: _gram(problem.D))
    some = np.ascontiguousarray(problem.transposed[features].T)
    values, vectors = np.linalg.eigh(whole - _gram(some))
    rest = vectors * np.sqrt(np.maximum(values, 0))
    D = np.hstack([some, rest.astype(some.dtype)])
    lasting = problem.remember_always("narrowed", dict)
    narrow = CodingProblem(D, problem.loss, problem.regulariser, problem.D.shape[1])
    # What solvers know of the whole dictionary, they know of this one too.
    for known in ("gram", "dictionary_norm", "dictionary_bound", "row_sums"):
        vars(narrow)[known] = getattr(problem, known)
    return narrow.sharing(lasting)


def _gram(D: Array) -> Array:
    exact = D.astype(np.float64)
    return exact @ exact.T


def encode_rows(
    encoder: BlockEncoder,
    problem: CodingProblem,
    X: Any,
    weight: Array | None = None,
    start: Array | None = None,
) -> Encoding:
    """Codes of the rows of any block, by any encoder."""
    if not isinstance(X, StoredBlock):
        return encoder.encode(problem, X, weight, start)
    n, dtype = X.shape[0], X.dtype
    found = Encoding(
        np.zeros((n, len(problem.D)), dtype=dtype),
        np.zeros(n, dtype=np.int8),
        np.zeros(n, dtype=np.int32),
        np.zeros(n, dtype=dtype),
    )
    for rows, narrow, x, w in narrowed(problem, X):
        given = None if start is None else np.ascontiguousarray(start[rows])
        part = encoder.encode(narrow, x, w, given)
        found.codes[rows], found.status[rows] = part.codes, part.status
        found.n_iter[rows], found.certificate[rows] = part.n_iter, part.certificate
    return found


def stored_certificate(problem: CodingProblem, X: StoredBlock, C: Array) -> Array:
    """`CodingProblem.certificate` of every row."""
    certificate: Array = np.zeros(len(C), dtype=C.dtype)
    for rows, narrow, x, w in narrowed(problem, X):
        certificate[rows] = narrow.certificate(x, C[rows], w)
    return certificate
