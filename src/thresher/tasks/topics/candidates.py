"""Topics that documents may have begun, or that a topic may fall into: to be tested on others."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize

from thresher.linalg import Array
from thresher.tasks.topics.weights import explained_weights

_WORST = 4  # a quarter of the documents, the least explained, may be about new topics; by judgement
_GROUP = 16  # of them, on average, in a group that starts a topic; by judgement
_PASSES, _BATCH = 5, 32  # by judgement: few documents, one or two atoms
_ROUNDS = 3  # by judgement
_TRACE = 1e-3  # of all words, so that none starts at zero where steps multiply


def new_topics(model: Any, X: Any, explained: Array) -> Any:
    """The model with more topics: what explains documents beside those that it has.

    The least explained quarter is put into groups by cosines, each of which starts a topic.

    Parameters
    ----------
    model : estimator of the library
    X : CSR of shape (n, F)
        Weights.
    explained : array of shape (n,)
        How well each document is explained, the larger the better.
    """
    worst = np.argsort(explained, kind="stable")[: max(2, X.shape[0] // _WORST)]
    n_groups = max(1, len(worst) // _GROUP)
    groups = _grouped(X[worst], n_groups, 1) if n_groups > 1 else np.zeros(len(worst))
    starts = [_start(X, X[worst[groups == g]]) for g in np.unique(groups)]
    return _learned(model, np.vstack([model.components_, *starts]), len(starts), X)


def halves(model: Any, topic: int, X: Any) -> Any:
    r"""The model with two topics, which come last, in the place of one that documents are about.

    The documents are put into two groups, first by their cosines and then by the two topics
    themselves, and each word of the topic is divided by the weight :math:`x_{gf}` that it has in
    either,

    .. math:: d_{gf} \propto d_f \frac{x_{gf} + \kappa/2}{x_{1f} + x_{2f} + \kappa},

    with κ the mean weight of a word in a document. So the two explain together whatever the topic
    explained, and a word that these documents do not have says nothing about them.
    """
    groups = _grouped(X, 2, 4)
    belongs = np.array([groups == 0, groups == 1], dtype=np.float64)
    for _ in range(_ROUNDS):
        divided = _divided(model, topic, X, belongs)
        both = explained_weights(divided, X)[:, -2:].T
        total = both.sum(axis=0)
        belongs = np.divide(both, total, out=np.full_like(both, 0.5), where=total > 0)
    return divided


def _grouped(X: Any, n_groups: int, n_starts: int) -> NDArray[np.int32]:
    """The group of each document, by cosines."""
    rows = normalize(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    found: NDArray[np.int32] = KMeans(n_groups, n_init=n_starts, random_state=0).fit(rows).labels_
    return found


def _divided(model: Any, topic: int, X: Any, belongs: Array) -> Any:
    """With a topic divided by how much documents belong to two groups, shape (2, n)."""
    weight, kappa = belongs @ X, float(X.data.mean())
    atoms = model.components_[topic] * (weight + kappa / 2) / (weight.sum(axis=0) + kappa)
    divided = copy.deepcopy(model).grow(atoms=atoms.astype(np.float64))
    return divided._join_atoms([[k] for k in range(len(model.components_) + 2) if k != topic])


def _start(X: Any, some: Any) -> Array:
    """Words of some documents, as a distribution."""
    total = np.asarray(some.sum(axis=0)).ravel() + _TRACE * np.asarray(X.sum(axis=0)).ravel()
    total = total + _TRACE * total.mean()
    return np.asarray(total / total.sum(), dtype=np.float64)


def learned_from(model: Any, atoms: Array, X: Any, **options: Any) -> Any:
    """A model like this one that begins with these atoms, and learns from the documents."""
    begun = clone(model).set_params(
        n_components=len(atoms), init=np.asarray(atoms, dtype=np.float64), n_starts=1, verbose=0,
        **options,
    )  # fmt: skip
    return begun.fit(X)


def _learned(model: Any, atoms: Array, n_free: int, X: Any) -> Any:
    """A model like this one, of which only the last atoms learn."""
    return learned_from(
        model, atoms, X, frozen_atoms=list(range(len(atoms) - n_free)), n_passes=_PASSES,
        batch_size=_BATCH, random_state=0, callbacks=None, shuffle=True,
    )  # fmt: skip
