"""Atoms that start as medians of similar documents: what the ℓ1 distance asks for.

The mean of some documents has all of their words and is close to none of them: under the ℓ1
distance zero codes are then often optimal, whatever the document. Their median has the words that
more than half of them share, and is the atom with the least distance to them.
"""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.linalg import Array

_ROUNDS = 5


def median_atoms(
    n_components: int, X: Any, sample_weight: Array, rng: np.random.Generator
) -> Array:
    """Find atoms, each the median of a group of similar documents, with entries that sum to one.

    Groups start from documents that are drawn one by one, each the likelier the less it resembles
    those drawn before; a document belongs to the atom with the largest cosine. A group whose
    median is zero is represented by its medoid.

    Parameters
    ----------
    X : CSR of shape (n, F)
        Nonnegative documents; the work grows with their nonzeros. Lengths do not matter.
    sample_weight : array of shape (n,)
        Documents of weight zero count for nothing.
    """
    documents = sparse.csr_array(X, dtype=np.float64)
    sums = np.asarray(documents.sum(axis=1)).ravel()
    kept = np.flatnonzero((sums > 0) & (sample_weight > 0))
    if not kept.size:
        return _sum_to_one(rng.random((n_components, X.shape[1])))
    documents = sparse.csr_array(sparse.diags_array(1 / sums[kept]) @ documents[kept])
    weights = sample_weight[kept].astype(np.float64)
    unit = _unit(documents)
    seeds = _spread(n_components, unit, weights, rng)
    groups = documents[seeds]
    for _ in range(_ROUNDS):
        cosines = (unit @ _unit(groups).T).toarray()
        nearest = np.where(cosines.max(axis=1) > 0, cosines.argmax(axis=1), -1)
        found = [
            _centre(documents[nearest == k], unit[nearest == k], weights[nearest == k])
            for k in range(len(seeds))
        ]
        # A group that lost its members keeps the atom that it had.
        rows = [groups[[k]] if row is None else row for k, row in enumerate(found)]
        groups = sparse.csr_array(sparse.vstack(rows))
    atoms: Array = groups.toarray()
    if len(atoms) < n_components:  # too few documents: thinned out, they make different atoms
        more = atoms[rng.integers(len(atoms), size=n_components - len(atoms))]
        atoms = np.concatenate([atoms, more * rng.random(more.shape)])
    return _sum_to_one(atoms)


def _sum_to_one(rows: Array) -> Array:
    shares: Array = rows / rows.sum(axis=1, keepdims=True)
    return shares


def _unit(rows: Any) -> Any:
    """Rows of Euclidean length one."""
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / lengths) @ rows)


def _spread(count: int, unit: Any, weights: Array, rng: np.random.Generator) -> list[int]:
    """Rows that resemble each other little, at most ``count``.

    Rows are put in an order that depends on their content alone, so that neither their own order
    nor repetition matters: a row of weight two is drawn exactly like two equal rows.
    """
    order = np.argsort(unit @ rng.standard_normal(unit.shape[1]), kind="stable")
    chosen: list[int] = []
    far = np.ones(len(weights))
    for mark in rng.random(count):
        cumulated = np.cumsum((weights * far)[order])
        if not cumulated[-1] > 1e-9 * weights.sum():
            break  # all documents are there
        place = np.searchsorted(cumulated, mark * cumulated[-1], side="right")
        chosen.append(int(order[min(place, len(order) - 1)]))
        cosine = (unit @ unit[[chosen[-1]]].T).toarray().ravel()
        far = np.minimum(far, np.maximum(1 - cosine, 0))
    return chosen


def _centre(documents: Any, unit: Any, weights: Array) -> Any:
    """The median of some documents, or their medoid if that says nothing; None without any."""
    if not len(weights):
        return None
    median = weighted_median(documents, weights)
    if median.nnz:
        return median
    total = unit.T @ weights
    return documents[[int(np.argmax(unit @ total))]]


def weighted_median(rows: Any, weights: Array) -> Any:
    """The median of every column of sparse nonnegative rows, as a sparse row.

    It is the largest value that rows of more than half of the weight reach; so it is zero in
    columns that are zero in half of the rows, and only the others are looked at.
    """
    half = weights.sum() / 2
    seen = (rows != 0).T @ weights
    columns = np.flatnonzero(seen > half)
    values = rows[:, columns].toarray()
    falling = np.argsort(-values, axis=0, kind="stable")
    reached = np.cumsum(weights[falling], axis=0) > half
    place = np.take_along_axis(falling, reached.argmax(axis=0)[None], axis=0)
    median = np.take_along_axis(values, place, axis=0)[0]
    shape = (1, rows.shape[1])
    return sparse.csr_array((median, (np.zeros(len(columns), dtype=int), columns)), shape=shape)
