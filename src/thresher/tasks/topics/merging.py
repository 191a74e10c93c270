r"""Topics put together, the most alike first.

Two topics with shares :math:`p_a, p_b` and words :math:`d_a, d_b` become
:math:`d = (p_a d_a + p_b d_b)/(p_a + p_b)`, at the price

.. math:: p_a \operatorname{KL}(d_a \| d) + p_b \operatorname{KL}(d_b \| d),

the information that the topic tells about the word and that is lost: the agglomerative information
bottleneck of N. Slonim and N. Tishby, NIPS 1999. Small topics are cheap, and so are like ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import rel_entr

from thresher.linalg import Array


class TopicMerge(NamedTuple):
    """Two groups of topics that become one.

    Attributes
    ----------
    topics : tuple of (list of int, list of int)
        The topics of either, by their places in ``topics_``; the group of the larger share first.
    names : tuple of (str, str)
        Each by the largest of its topics.
    lost : float
        The information that is lost, in nats a word.
    """

    topics: tuple[list[int], list[int]]
    names: tuple[str, str]
    lost: float


def merges(atoms: Array, shares: Array, names: list[str]) -> list[TopicMerge]:
    """All mergers until one topic is left.

    Parameters
    ----------
    atoms : array of shape (K, F)
        Distributions over words.
    shares : array of shape (K,)
    names : list of str
    """
    groups = [[k] for k in range(len(atoms))]
    words, mass = list(np.asarray(atoms, dtype=np.float64)), list(map(float, shares))
    lost = np.full((len(groups), len(groups)), np.inf)
    for a in range(len(groups)):
        for b in range(a):
            lost[a, b] = _lost(words[a], mass[a], words[b], mass[b])
    told = []
    alive = list(range(len(groups)))
    while len(alive) > 1:
        a, b = divmod(int(lost.argmin()), len(groups))
        first, second = (a, b) if mass[a] >= mass[b] else (b, a)
        pair = groups[first], groups[second]
        told.append(TopicMerge(pair, (names[pair[0][0]], names[pair[1][0]]), float(lost[a, b])))
        words[first] = _mean(words[first], mass[first], words[second], mass[second])
        mass[first] += mass[second]
        groups[first] = [*pair[0], *pair[1]]
        alive.remove(second)
        lost[second, :] = lost[:, second] = np.inf
        for other in alive:
            if other != first:
                price = _lost(words[first], mass[first], words[other], mass[other])
                lost[max(first, other), min(first, other)] = price
    return told


def groups_of(told: list[TopicMerge], n_topics: int, n_left: int) -> list[list[int]]:
    """The groups that are left after the first mergers, in the order of their first topics."""
    groups = {k: [k] for k in range(n_topics)}
    for merge in told[: n_topics - n_left]:
        first, second = merge.topics
        groups[first[0]] = [*first, *groups.pop(second[0])]
    return list(groups.values())


def _mean(first: Array, p: float, second: Array, q: float) -> Array:
    if p + q == 0:
        return (first + second) / 2
    return (p * first + q * second) / (p + q)


def _lost(first: Array, p: float, second: Array, q: float) -> float:
    both = _mean(first, p, second, q)
    return float(p * rel_entr(first, both).sum() + q * rel_entr(second, both).sum())
