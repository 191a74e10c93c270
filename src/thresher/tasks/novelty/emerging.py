"""Emerging topics: documents of a step that are new together, with a representative of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import hypergeom
from sklearn.cluster import AgglomerativeClustering

from thresher.linalg import Array
from thresher.tasks.novelty.directions import unit_rows
from thresher.tasks.text.records import Record

_APART = 0.9  # one minus the mean cosine of two groups; by judgement, groups as large as subjects
_LARGEST = 2000  # documents: all pairs are compared; by judgement
_LOOKED_AT = 0.25  # of the documents, those least explained, are grouped; by judgement
_SMALLEST = 2  # documents: less have no support (appendix D)
_CHANCE = 0.05  # of a group of this kind in a step that brings nothing new
_WORDS = 8


class EmergingTopic(NamedTuple):
    """Some documents that are alike, and new together.

    Attributes
    ----------
    documents : list of int
        Their places in the step, the most typical first: it represents the others.
    words : list of str
        What they have in common, the heaviest words first.
    p_value : float
        The chance that a step without anything new has such a group. NaN for detectors that
        only group what they have marked (all modes but ``auto``).
    records : list of Record
        The documents, in the same order.
    """

    documents: list[int]
    words: list[str]
    p_value: float = float("nan")
    records: list[Record] = []  # noqa: RUF012 (a default of a tuple, which nobody changes)

    @property
    def representative(self) -> Record:
        """The document that is most like the others."""
        return self.records[0] if self.records else Record(self.documents[0], "")


def emerging_topics(
    X: Any, places: Any, words: list[str], scores: Array, smallest: int = _SMALLEST
) -> list[EmergingTopic]:
    """Group novel documents by cosine, average linkage; the largest groups first.

    Groups with less than ``smallest`` documents are left out. Of very many documents only the most
    novel are looked at.

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
    cosines, labels = _grouped(rows)
    found = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if len(members) >= smallest:
            found.append(_topic(rows, cosines, members, places[chosen], words))
    return sorted(found, key=lambda topic: -len(topic.documents))


def topics_beside(
    step: Any, step_scores: Array, recent: Any, recent_scores: Array, words: list[str]
) -> tuple[list[EmergingTopic], NDArray[np.bool_]]:
    r"""Groups that are of the step alone, or nearly so; and which documents belong to none.

    The least explained documents of the step and of the last documents are grouped together,
    without regard to where they come from. If a step brings nothing new, its a documents are
    scattered among the n at random, and a group of m has k or more of them with the chance

    .. math:: \sum_{i \ge k} \binom{m}{i} \binom{n - m}{a - i} / \binom{n}{a},

    times the number of groups. Many documents that are alike, and like nothing before, are so found
    also where each by itself could be chance.

    Parameters
    ----------
    step, recent : CSR of unit rows
    step_scores, recent_scores : array
        The larger, the less explained; those of ``recent`` as if they were new.
    words : list of str
        The word of every column.
    """
    alone = np.ones(len(step_scores), dtype=bool)
    pooled = np.concatenate([step_scores, recent_scores])
    has_words = np.concatenate([np.diff(step.indptr), np.diff(recent.indptr)]) > 0
    room = min(_LARGEST, int(np.ceil(_LOOKED_AT * len(pooled))))
    order = np.argsort(-np.where(has_words, pooled, -np.inf), kind="stable")[:room]
    chosen = np.sort(order[has_words[order]])
    of_step = int(np.count_nonzero(chosen < len(alone)))
    if of_step < _SMALLEST:
        return [], alone
    places = chosen[:of_step]
    rows = sparse.vstack([step[places], recent[chosen[of_step:] - len(alone)]], format="csr")
    cosines, labels = _grouped(rows)
    sizes = np.bincount(labels)
    ours = np.bincount(labels[:of_step], minlength=len(sizes))
    n_groups = max(1, int(np.count_nonzero(sizes >= _SMALLEST)))
    chances = np.minimum(1.0, n_groups * hypergeom.sf(ours - 1, len(chosen), of_step, sizes))
    found = []
    for label in np.flatnonzero((chances <= _CHANCE) & (ours >= _SMALLEST)):
        members = np.flatnonzero(labels[:of_step] == label)
        alone[places[members]] = False
        topic = _topic(rows, cosines, members, places, words)
        found.append(topic._replace(p_value=float(chances[label])))
    return sorted(found, key=lambda topic: (topic.p_value, -len(topic.documents))), alone


def _grouped(rows: Any) -> tuple[Array, Any]:
    """Cosines of all pairs, and the group of every row."""
    cosines = np.clip((rows @ rows.T).toarray().astype(np.float64), 0, 1)
    if len(cosines) == 1:
        return cosines, np.zeros(1, dtype=np.intp)
    grouping = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=_APART
    )
    return cosines, grouping.fit_predict(1 - cosines)


def _topic(rows: Any, cosines: Array, members: Any, places: Any, words: list[str]) -> EmergingTopic:
    """The most typical documents first, and the words of all."""
    typical = members[np.argsort(-cosines[np.ix_(members, members)].sum(axis=1), kind="stable")]
    weight = np.asarray(rows[members].sum(axis=0)).ravel()
    top = [int(f) for f in np.argsort(-weight, kind="stable")[:_WORDS] if weight[f] > 0]
    return EmergingTopic(places[typical].tolist(), [words[f] for f in top])
