"""Means of users and items, beside what a model of ratings tells: for its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from thresher.linalg import Array
from thresher.report import Report, tell_beside, timed

if TYPE_CHECKING:
    from thresher.tasks.ratings.model import RatingModel

_MOST_RATINGS = 100_000  # that both learn from; by judgement
_HIDDEN = 20  # one rating in so many is told by both
_FEWEST = 400  # ratings, or next to nothing would be hidden


def tell_means(report: Report, model: RatingModel, X: Any) -> None:
    """Hide one rating in twenty, and compare how well a model like this one and means tell it.

    Parameters
    ----------
    report : Report
    model : RatingModel
    X : CSR array of shape (n_users, n_items)
        All ratings, zeros stored.
    """
    if X.nnz < _FEWEST:
        return
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    triples = np.column_stack([rows, X.indices, X.data])
    triples = triples[rng.permutation(len(triples))[:_MOST_RATINGS]]
    told, known = np.split(triples, [len(triples) // _HIDDEN])
    # Of users and items that are not known nobody tells anything but the mean.
    for column in (0, 1):
        told = told[np.isin(told[:, column], known[:, column])]
    if not len(told):
        return
    users, items = (known[:, column].astype(int) for column in (0, 1))
    pairs = tuple(told[:, column].astype(int) for column in (0, 1))
    again = clone(model).set_params(verbose=0)
    own, own_seconds = timed(lambda: again.fit((users, items, known[:, 2])).predict(pairs))
    table = sparse.csr_array((known[:, 2], (users, items)), shape=X.shape)
    means, seconds = timed(lambda: by_means(table, *pairs))
    errors = [np.sqrt(np.mean((told[:, 2] - each) ** 2)) for each in (own, means)]
    tell_beside(
        report,
        ["error", "seconds of learning"],
        [
            ["RatingModel", f"{errors[0]:.3f}", f"{own_seconds:.2g}"],
            ["means", f"{errors[1]:.3f}", f"{seconds:.2g}"],
        ],
        f"Both learned anew from {len(known):,} ratings and told {len(told):,} that they had not "
        "seen. The error is the root of the mean square, in ratings. The simple way adds up the "
        "mean of all, how much more than that the item gets, and how much more than both the user "
        "gives.",
    )


def by_means(X: Any, users: Any, items: Any) -> Array:
    """μ + bᵢ + bᵤ with plain means: bᵢ of r − μ, then bᵤ of r − μ − bᵢ."""
    mean = X.data.mean()
    table = X.tocoo()
    left = table.data - mean

    def means_of(numbers: Any, size: int) -> Any:
        counts = np.maximum(np.bincount(numbers, minlength=size), 1)
        return np.bincount(numbers, left, minlength=size) / counts

    of_items = means_of(table.col, X.shape[1])
    left = left - of_items[table.col]
    of_users = means_of(table.row, X.shape[0])
    return np.asarray(mean + of_items[items] + of_users[users])
