"""Emerging topics: documents of a step that are new together, with a representative of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import hypergeom
from sklearn.cluster import AgglomerativeClustering

from thresher.linalg import Array
from thresher.tasks.novelty.alarm import share_as_high
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
    n_before : int
        How many of the last documents belong to the group: it is wholly new if there are none,
        and a story that grows, or takes a turn, if there are some.
    """

    documents: list[int]
    words: list[str]
    p_value: float = float("nan")
    records: list[Record] = []  # noqa: RUF012 (a default of a tuple, which nobody changes)
    n_before: int = 0

    @property
    def representative(self) -> Record:
        """The document that is most like the others."""
        return self.records[0] if self.records else Record(self.documents[0], "")


class Beside(NamedTuple):
    """The documents of a step in groups with the last ones.

    Attributes
    ----------
    topics : list of EmergingTopic
        Groups that are of the step alone, or nearly so.
    alone : array of bool of shape (n,)
        Which documents belong to none of them.
    new : array of bool of shape (n,)
        Which belong to one that has none of the last documents.
    among : array of shape (n,)
        P-values among the last documents of the same group, if these are two at least; else 0.
    """

    topics: list[EmergingTopic]
    alone: NDArray[np.bool_]
    new: NDArray[np.bool_]
    among: Array


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
) -> Beside:
    r"""Groups that are of the step alone, or nearly so.

    The least explained documents of the step and of the last documents are grouped together,
    without regard to where they come from. If a step brings nothing new, its a documents are
    scattered among the n at random, and a group of m has k or more of them with the chance

    .. math:: \sum_{i \ge k} \binom{m}{i} \binom{n - m}{a - i} / \binom{n}{a},

    times the number of groups. Many documents that are alike, and like nothing before, are so found
    also where each by itself could be chance.

    A group that has last documents too is a story that was known and now grows. All documents of
    its kind were few, and would be so unlike the others that each is taken for new; so they are
    compared with their own kind, the last documents of the group.

    Parameters
    ----------
    step, recent : CSR of unit rows
    step_scores, recent_scores : array
        The larger, the less explained; those of ``recent`` as if they were new.
    words : list of str
        The word of every column.
    """
    n = len(step_scores)
    found = Beside([], np.ones(n, dtype=bool), np.zeros(n, dtype=bool), np.zeros(n))
    pooled = np.concatenate([step_scores, recent_scores])
    has_words = np.concatenate([np.diff(step.indptr), np.diff(recent.indptr)]) > 0
    room = min(_LARGEST, int(np.ceil(_LOOKED_AT * len(pooled))))
    order = np.argsort(-np.where(has_words, pooled, -np.inf), kind="stable")[:room]
    chosen = np.sort(order[has_words[order]])
    of_step = int(np.count_nonzero(chosen < n))
    if of_step < _SMALLEST:
        return found
    places, earlier = chosen[:of_step], chosen[of_step:] - n
    rows = sparse.vstack([step[places], recent[earlier]], format="csr")
    cosines, labels = _grouped(rows)
    chances = _chances(labels, of_step)
    ours = np.bincount(labels[:of_step], minlength=len(chances))
    for label in np.flatnonzero((chances <= _CHANCE) & (ours >= _SMALLEST)):
        members = np.flatnonzero(labels[:of_step] == label)
        kind = earlier[labels[of_step:] == label]
        mine = places[members]
        found.alone[mine], found.new[mine] = False, len(kind) == 0
        if len(kind) >= _SMALLEST:
            found.among[mine] = share_as_high(recent_scores[kind], step_scores[mine])
        topic = _topic(rows, cosines, members, places, words)
        found.topics.append(topic._replace(p_value=float(chances[label]), n_before=len(kind)))
    found.topics.sort(key=lambda topic: (topic.p_value, -len(topic.documents)))
    return found


def _chances(labels: Any, of_step: int) -> Array:
    """Of every group to have as many of the step, which come first, times their number."""
    sizes = np.bincount(labels)
    ours = np.bincount(labels[:of_step], minlength=len(sizes))
    n_groups = max(1, int(np.count_nonzero(sizes >= _SMALLEST)))
    return np.minimum(1.0, n_groups * hypergeom.sf(ours - 1, len(labels), of_step, sizes))


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
