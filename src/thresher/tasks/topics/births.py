r"""Documents like which there were none: what they are about, and whether that is a new topic.

In every week all topics have new words. So the topics at hand first learn from the step; what these
cannot explain is put into groups, each of which begins a topic of its own, and the topic is tested
on other documents. It is *born* if most of its documents are unlike what there was: explained worse
than nine tenths of the earlier ones, by the topics as they were before the step. Otherwise these
are documents of a known topic, which takes a turn.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array
from thresher.tasks.topics.candidates import new_topics
from thresher.tasks.topics.changes import chance_of_more, main_topics
from thresher.tasks.topics.weights import shares_of

Mask = NDArray[np.bool_]

BATCH = 64
"""Documents of a step that are learned from at a time, as in short lists."""

_UNLIKE = 0.1  # of the earlier documents; heuristic


class TopicCandidate(NamedTuple):
    """A topic that some documents have and earlier ones had not.

    Attributes
    ----------
    atom : array of shape (1, F)
    p_value : float
        Of as many documents about it, times the number of topics that were tried.
    here, there : arrays of bool
        The documents about it, of those that it was found in, and of those it was tested on.
    """

    atom: Array
    p_value: float
    here: Mask
    there: Mask


def learn(model: Any, X: Any) -> Any:
    """Let the model learn from the documents of a step."""
    for start in range(0, X.shape[0], BATCH):
        model.partial_fit(X[start : start + BATCH])
    return model


def candidate(model: Any, X: Any, left: Mask, now: Any, told: Mask, before: Any) -> TopicCandidate:
    """The topic of which there are the most documents beyond chance.

    Parameters
    ----------
    model : estimator of the library
        With the topics at hand, as they were before the step.
    X, now : CSR of shapes (n, F), (m, F)
        Weights of documents of the step, to find topics in and to test them on.
    left, told : arrays of bool
        Those of X that may have new topics, those of ``now`` that were told of already.
    before : CSR
        Earlier documents.
    """
    known = learn(copy.deepcopy(model), X)
    K = len(known.components_)
    rows = X[np.flatnonzero(left)]
    joint = new_topics(known, rows, explained(known, rows))
    atoms = np.asarray(joint.components_[K:], dtype=np.float64)

    def p_value(about: Mask, were: Mask) -> float:
        counts = int(np.count_nonzero(about & ~told)), int(np.count_nonzero(were))
        return len(atoms) * chance_of_more(counts[0], len(about), counts[1], len(were))

    of_now, of_before = (main_topics(shares_of(joint, Z)) for Z in (now, before))
    chances = [p_value(of_now == K + g, of_before == K + g) for g in range(len(atoms))]
    best = int(np.argmin(chances))
    atom = atoms[best : best + 1]
    trial = known.grow(atoms=atom)
    about, were, here = (main_topics(shares_of(trial, Z)) == K for Z in (now, before, X))
    return TopicCandidate(atom, p_value(about, were), here, about & ~told)


def unlike(model: Any, now: Any, before: Any) -> Mask:
    """Which documents are explained worse than nine tenths of the earlier ones."""
    return explained(model, now) < np.quantile(explained(model, before), _UNLIKE)


def explained(model: Any, X: Any) -> Array:
    """How well each document is explained, for a unit of its weight; 0 if it has no known word."""
    total = np.asarray(X.sum(axis=1)).ravel()
    scores = np.asarray(model.score_samples(X), dtype=np.float64)
    return np.divide(scores, total, out=np.zeros_like(scores), where=total > 0)
