"""What scikit-learn's plain factorisation does with the same samples, for the page of a model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import NMF, TruncatedSVD
from sklearn.exceptions import ConvergenceWarning

from thresher.linalg import Array
from thresher.report import Report, tell_beside, timed

_MOST_ENTRIES = 2_000_000  # that it is fitted to: a few seconds; by judgement
_ROUNDS = 100
_SAMPLES_PER_PART = 5  # with fewer, parts are samples


def tell_plain(report: Report, model: Any, rows: Array, predicted: Array) -> None:
    """Compare errors and seconds with NMF, or with an SVD where samples or parts are signed.

    Parameters
    ----------
    report : Report
    model : estimator
        Fitted.
    rows : array of shape (n, F)
        Samples, NaN where they are missing.
    predicted : array of shape (n, F)
        What the model says of them, without the outliers.
    """
    K, F = model.components_.shape
    n = min(len(rows), max(_MOST_ENTRIES // F, 1))
    if n < _SAMPLES_PER_PART * K or F <= K:
        return
    rows, predicted = rows[:n], predicted[:n]
    observed = ~np.isnan(rows)
    signed = (rows[observed] < 0).any() or (model.components_ < 0).any()
    filled = np.where(observed, rows, _means(rows, observed))
    plain: Any = TruncatedSVD(K, random_state=0)
    if not signed:
        plain = NMF(K, init="nndsvda", max_iter=_ROUNDS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rounds are what it is given
        theirs, seconds = timed(lambda: plain.inverse_transform(plain.fit_transform(filled)))
    history = model.history_
    learned_from = history[0].samples if not hasattr(model, "partial_fit") else history[-1].samples
    gaps = "" if observed.all() else ", gaps filled by the means of their columns"
    tell_beside(
        report,
        ["mean absolute error", "root mean square error", "seconds of learning"],
        [
            [type(model).__name__, *_errors(rows, predicted, observed),
             f"{history[-1].seconds:.2g} for {learned_from:,} samples"],
            [f"scikit-learn's {type(plain).__name__}", *_errors(rows, theirs, observed),
             f"{seconds:.2g} for {n:,} samples"],
        ],
        f"Errors of {n:,} samples that were learned from, over the same mean of the data. "
        f"{type(plain).__name__} has as many parts, {K}, and squares{gaps}"
        + ("" if signed else f"; {_ROUNDS} rounds")
        + ". A few large errors rule a mean of squares: a model that sets outliers aside leaves "
        "them as they are, which tells in the second column.",
    )  # fmt: skip


def _means(rows: Array, observed: Any) -> Array:
    """Of each column, as far as it was observed."""
    counts = np.maximum(observed.sum(axis=0), 1)
    return np.asarray(np.where(observed, rows, 0).sum(axis=0) / counts)


def _errors(rows: Array, predicted: Array, observed: Any) -> tuple[str, str]:
    """Mean absolute and root mean square error, each relative to that of the data."""
    x, off = rows[observed], (rows - predicted)[observed]
    tiny = np.finfo(float).tiny
    absolute = np.abs(off).mean() / max(np.abs(x).mean(), tiny)
    square = np.sqrt(np.square(off).mean() / max(np.square(x).mean(), tiny))
    return f"{absolute:.1%}", f"{square:.1%}"
