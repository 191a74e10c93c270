r"""Topics of a young stream, learned again from all its documents when these are twice as many.

Few documents do not tell topics apart well, and a model that goes on from what the first of them
told stays near it: a topic that mixes two subjects goes on to mix them. So while a stream is young
its documents are kept, and whenever they are twice as many as were learned from, the model starts
anew beside the one that it has; the one of the smaller loss stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from thresher.linalg import Array
from thresher.tasks.topics.candidates import learned_from
from thresher.tasks.topics.changes import main_topics

Fresh = Callable[[int], Any]
"""A model without topics yet, for a number of documents."""


def relearned(model: Any, fresh: Fresh, X: Any) -> Any:
    """The better of two models of some documents: from new starts, and from the topics at hand.

    Parameters
    ----------
    model : estimator of the library
    fresh : callable
    X : CSR of shape (n, F)
        Weights.
    """
    atoms = np.asarray(model.components_, dtype=np.float64)
    new = fresh(X.shape[0]).fit(X)
    old = learned_from(new, atoms, X)
    return new if new.score(X) > old.score(X) else old


def successors(before: Array, after: Array) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Which new topic goes on as which old one, and whether it is the same.

    They are matched so that as many documents as possible keep their topic. A topic is the same if
    most documents about it were about that one before.

    Parameters
    ----------
    before, after : arrays of shape (n, K)
        Shares of the topics in the same documents.

    Returns
    -------
    origin : array of shape (K,)
        For each new topic, the old one.
    same : array of shape (K,)
    """
    K = before.shape[1]
    first, second = main_topics(before), main_topics(after)
    known = (first >= 0) & (second >= 0)
    both = np.zeros((K, K), dtype=np.intp)
    np.add.at(both, (second[known], first[known]), 1)
    _, origin = linear_sum_assignment(-both)
    same = 2 * both[np.arange(K), origin] > both.sum(axis=1)
    return origin, same
