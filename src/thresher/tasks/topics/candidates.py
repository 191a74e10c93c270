"""Topics that documents may have begun, or that a topic may fall into: to be tested on others."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from thresher.linalg import Array

_WORST = 4  # a quarter of the documents, the least explained, start a topic; by judgement
_PASSES, _BATCH = 5, 32  # by judgement: few documents, one or two atoms
_TRACE = 1e-3  # of all words, so that none starts at zero where steps multiply


def new_topic(model: Any, X: Any, explained: Array) -> Any:
    """The model with one more topic: what best explains documents beside those that it has.

    Parameters
    ----------
    model : estimator of the library
    X : CSR of shape (n, F)
        Weights.
    explained : array of shape (n,)
        How well each document is explained, the larger the better.
    """
    worst = np.argsort(explained, kind="stable")[: max(2, X.shape[0] // _WORST)]
    start = _start(X, X[worst])
    return _learned(model, np.vstack([model.components_, start]), 1, X)


def halves(model: Any, topic: int, X: Any) -> Any:
    """The model with two topics, which come last, in the place of one that documents are about."""
    rows = normalize(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    groups = KMeans(2, n_init=4, random_state=0).fit(rows).labels_
    starts = [_start(X, X[groups == group]) for group in (0, 1)]
    return _learned(model, np.vstack([np.delete(model.components_, topic, axis=0), *starts]), 2, X)


def _start(X: Any, some: Any) -> Array:
    """Words of some documents, as a distribution."""
    total = np.asarray(some.sum(axis=0)).ravel() + _TRACE * np.asarray(X.sum(axis=0)).ravel()
    total = total + _TRACE * total.mean()
    return np.asarray(total / total.sum(), dtype=np.float64)


def _learned(model: Any, atoms: Array, n_free: int, X: Any) -> Any:
    """A model like this one, of which only the last atoms learn."""
    K = len(atoms)
    trial = clone(model).set_params(
        n_components=K, init=np.asarray(atoms, dtype=np.float64), n_starts=1, verbose=0,
        frozen_atoms=list(range(K - n_free)), n_passes=_PASSES, batch_size=_BATCH, random_state=0,
        callbacks=None, shuffle=True,
    )  # fmt: skip
    return trial.fit(X)
