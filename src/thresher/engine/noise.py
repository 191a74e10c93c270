"""The noise of a stream: residuals of some rows, at exact codes on the dictionary that is shown.

Codes that are good enough to learn from are not good enough to measure by: with gaps, or where
samples are large against their noise, most of such a residual is what the code still lacks.
"""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.encoding import AutoEncoder, CodingProblem, narrowed
from thresher.linalg import Array, StoredBlock

# How well the noise is measured with these: docs/guide/choices.md.
EXACT = AutoEncoder(1e-3, 100)
_ENTRIES = 1024  # of a block, at least if it has so many
_SHARE = 8  # every eighth sample, at least


def residual_sizes(
    problem: CodingProblem,
    X: Any,
    weight: Array | None,
    sample_weight: Array | None,
    codes: Array,
) -> tuple[Array, Array]:
    """``|x − y|`` of some entries of a block, and the weight of each; ``codes`` are the start.

    At least every eighth row is looked at, and as many as make up a thousand entries.
    """
    if isinstance(X, StoredBlock):
        return _stored_sizes(problem, X, sample_weight, codes)
    n, F = X.shape
    step = max(1, min(_SHARE, n * F // _ENTRIES))
    some = slice(0, None, step)
    mask = None if weight is None else weight[some]
    C = EXACT.encode(problem, X[some], mask, np.ascontiguousarray(codes[some])).codes
    C = _without_outliers(problem, X[some], mask, C)
    sizes, rows, weights = problem.fit(X[some], C, mask).residuals(_ENTRIES)
    if sample_weight is not None:
        weights = weights * sample_weight[some][rows]
    return sizes[weights > 0], weights[weights > 0]


def _stored_sizes(
    problem: CodingProblem, X: StoredBlock, sample_weight: Array | None, codes: Array
) -> tuple[Array, Array]:
    """The same, part by part; every eighth row of those that are coded together."""
    sizes: list[Array] = [np.empty(0)]
    weights = list(sizes)
    for rows, narrow, x, w in narrowed(problem, X):
        given = None if sample_weight is None else sample_weight[rows]
        size, weight = residual_sizes(narrow, x, w, given, codes[rows])
        sizes.append(size)
        weights.append(weight)
    return np.concatenate(sizes), np.concatenate(weights)


def _without_outliers(problem: CodingProblem, X: Any, weight: Array | None, C: Array) -> Array:
    """Codes of the entries that are no outliers: an outlier pulls at a code with all of λ.

    Rows in which they are the majority keep their codes.
    """
    if sparse.issparse(X):
        return C
    outlying = problem.loss.outliers(X, C @ problem.D, weight) != 0
    seen: Any = np.ones_like(outlying) if weight is None else weight > 0
    pulled = outlying.any(axis=1) & (2 * outlying.sum(axis=1) <= seen.sum(axis=1))
    if pulled.any():
        rest = (np.ones_like(X) if weight is None else weight)[pulled]
        rest = np.where(outlying[pulled], X.dtype.type(0), rest)
        C[pulled] = EXACT.encode(problem, X[pulled], rest, C[pulled]).codes
    return C
