"""Emerging topics: the novel documents of a step in groups, with a representative of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import AgglomerativeClustering

from thresher.linalg import Array
from thresher.tasks.novelty.directions import unit_rows

_APART = 0.9  # one minus the mean cosine of two groups; by judgement, groups as large as subjects
_LARGEST = 2000  # documents: all pairs are compared; by judgement


class EmergingTopic(NamedTuple):
    """Some novel documents that are alike.

    Attributes
    ----------
    documents : list of int
        Their places in the step, the most typical first: it represents the others.
    words : list of str
        What they have in common, the heaviest words first.
    """

    documents: list[int]
    words: list[str]

    @property
    def representative(self) -> int:
        """The place of the document that is most like the others."""
        return self.documents[0]


def emerging_topics(
    X: Any, places: Any, words: list[str], scores: Array, smallest: int = 2, n_words: int = 8
) -> list[EmergingTopic]:
    """Group novel documents by cosine, average linkage; the largest groups first.

    Groups with less than ``smallest`` documents are left out: they have no support (appendix D). Of
    very many documents only the most novel are looked at.

    Parameters
    ----------
    X : CSR of shape (n, F)
        Weights of the novel documents.
    places : array of int
        Where each stands in its step.
    words : list of str
        The word of every column.
    scores : array of shape (n,)
    """
    places = np.asarray(places)
    chosen = np.flatnonzero(np.diff(X.indptr) > 0)
    if len(chosen) > _LARGEST:
        chosen = chosen[np.argsort(-scores[chosen], kind="stable")[:_LARGEST]]
    if len(chosen) < smallest:
        return []
    rows = unit_rows(X[chosen])
    cosines = np.clip((rows @ rows.T).toarray().astype(np.float64), 0, 1)
    if len(chosen) == 1:
        labels = np.zeros(1, dtype=np.intp)
    else:
        grouping = AgglomerativeClustering(
            n_clusters=None, metric="precomputed", linkage="average", distance_threshold=_APART
        )
        labels = grouping.fit_predict(1 - cosines)
    found = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if len(members) < smallest:
            continue
        typical = members[np.argsort(-cosines[np.ix_(members, members)].sum(axis=1), kind="stable")]
        weight = np.asarray(rows[members].sum(axis=0)).ravel()
        top = [int(f) for f in np.argsort(-weight, kind="stable")[:n_words] if weight[f] > 0]
        found.append(EmergingTopic(places[chosen[typical]].tolist(), [words[f] for f in top]))
    return sorted(found, key=lambda topic: -len(topic.documents))
