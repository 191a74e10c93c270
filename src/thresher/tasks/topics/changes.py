r"""What a step changes: which topics were born, died, merged, split or turned, each by a test.

Every test compares documents of the step with earlier ones, none of which the topics at hand were
learned from. If nothing has changed, it is chance which of them are of the step, so of k documents
with some property, x are of the step with the hypergeometric distribution. Shares of topics sway
without being born or dying; so the odds of the property may differ by a factor up to ω = 2, and x
has Fisher's noncentral distribution,

.. math:: P(x) \propto \binom{n}{x} \binom{m}{k - x} \omega^x,

for n documents of the step and m before. An event has a p-value under the least favourable ω of
these, times the number of things that were looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import nchypergeom_fisher

from thresher.linalg import Array

SWAY = 2.0
"""By how much odds may change in a step without an event; by judgement."""
KINDS = ("born", "died", "merged", "split", "turned")

_PAIR = 0.5  # of a document that two topics take up, if it is about the two; by judgement
_BOTH = 0.25  # of these two, which each of them has at least in a mixed document; by judgement


class TopicEvent(NamedTuple):
    """Something that happened to topics.

    Attributes
    ----------
    step : str
        When: the name of the step.
    kind : {"born", "died", "merged", "split", "turned"}
    topics : tuple of int
        The numbers of the topics, which are never given twice. Of two that merged, the first goes
        on and takes in the second; of one that split, the first goes on and the second is new.
    names : tuple of str
        Their names.
    words : list of str
        The top words of the topic that was born, died, goes on after a merger, or is new after
        a split; of one that turned, those of the documents that are new in it.
    p_value : float
        The chance of this, were nothing to change but shares, by a factor of two at the most.
    """

    step: str
    kind: str
    topics: tuple[int, ...]
    names: tuple[str, ...]
    words: list[str]
    p_value: float


def main_topics(shares: Array) -> NDArray[np.intp]:
    """The topic of the largest share in each document; -1 if it has no known word."""
    return np.where(shares.any(axis=1), shares.argmax(axis=1), -1)


def chance_of_more(now: int, n: int, before: int, m: int) -> float:
    """That ``now`` of n documents or more have something that ``before`` of m had."""
    if now + before == 0:
        return 1.0
    return float(nchypergeom_fisher.sf(now - 1, n + m, now + before, n, SWAY))


def chance_of_fewer(now: int, n: int, before: int, m: int) -> float:
    """That ``now`` of n documents or fewer have something that ``before`` of m had."""
    if now + before == 0:
        return 1.0
    return float(nchypergeom_fisher.cdf(now, n + m, now + before, n, 1 / SWAY))


def deaths(now: Array, before: Array) -> Array:
    """For every topic, the p-value of its death: documents about it have become rare.

    Parameters
    ----------
    now, before : arrays of shape (n, K), (m, K)
        Shares of topics in documents of the step, and before.
    """
    K = now.shape[1]
    counts = [np.bincount(main_topics(S) + 1, minlength=K + 1)[1:] for S in (now, before)]
    chances = [
        chance_of_fewer(int(x), len(now), int(y), len(before)) for x, y in zip(*counts, strict=True)
    ]
    return np.minimum(1.0, K * np.array(chances))


def mergers(now: Array, before: Array) -> tuple[float, tuple[int, int]]:
    """The least p-value of all pairs of topics, and the pair: documents now mix the two.

    Most documents about the two have to be mixed now.
    """
    K = now.shape[1]
    n_pairs = K * (K - 1) // 2
    best = (1.0, (0, 0))
    for first in range(K):
        for second in range(first):
            n, mixed = mixed_documents(now, first, second)
            if 2 * mixed <= n:
                continue
            m, were = mixed_documents(before, first, second)
            best = min(best, (n_pairs * chance_of_more(mixed, n, were, m), (first, second)))
    return best


def split_chance(now: Array, before: Array, first: int, second: int) -> float:
    """The p-value of a split into two topics: documents that used to mix them no longer do.

    Most documents about the two have to be of one of them now.
    """
    n, mixed = mixed_documents(now, first, second)
    m, were = mixed_documents(before, first, second)
    if 2 * mixed >= n:
        return 1.0
    return chance_of_fewer(mixed, n, were, m)


def mixed_documents(shares: Array, first: int, second: int) -> tuple[int, int]:
    """Documents about two topics, and how many of them have a good deal of both."""
    both = shares[:, first] + shares[:, second]
    least = np.minimum(shares[:, first], shares[:, second])
    about = both >= _PAIR
    return int(np.count_nonzero(about)), int(np.count_nonzero(about & (least >= _BOTH * both)))
