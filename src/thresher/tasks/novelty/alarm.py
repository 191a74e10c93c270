"""From scores and p-values to marks: which documents of a step are called novel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from thresher.linalg import Array

MEASURABLE = 20  # documents: a smaller step may well be all new; by judgement
_SURE = 0.99  # so likely does chance mark no more documents of a step


@dataclass(frozen=True)
class AlertRule:
    """One of four rules.

    Parameters
    ----------
    threshold : float, optional
        ζ: a document is novel if its score is larger (Algorithm 4).
    top_share : float, optional
        This share of every step is novel, those of the largest scores (appendix D).
    fdr : float, optional
        Of the documents marked in a step at most this share is expected not to be novel
        (Benjamini and Hochberg on the p-values).
    false_alarm_rate : float
        α. Without the other three: novel is what has at most this p-value. What is not novel is
        then marked with at most this probability. Of the documents of a step chance marks a
        binomial number: no more are marked than its 99 % bound, the most novel, but for documents
        that belong to a new group, and those so novel that at most one in a hundred is expected to
        be false (the rule of ``fdr`` at .01, which marks nothing in 99 of 100 steps without
        anything new). All of a step of less than 20 documents may well be new.
    """

    threshold: float | None = None
    top_share: float | None = None
    false_alarm_rate: float = 0.05
    fdr: float | None = None

    def __post_init__(self) -> None:
        rules = ("threshold", "top_share", "fdr")
        given = [name for name in rules if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"Give {' or '.join(given)}, not both: each marks by itself.")
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise ValueError(f"threshold={self.threshold!r} must be a number.")
        for name in ("top_share", "false_alarm_rate", "fdr"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise ValueError(f"{name}={value!r} must lie between 0 and 1.")

    def marks(
        self, scores: Array, p_values: Array, together: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]:
        """Which of these documents are novel.

        Parameters
        ----------
        scores, p_values : array of shape (n,)
        together : array of bool of shape (n,), optional
            Which belong to groups like none before; without it there is no bound.
        """
        if self.top_share is not None:
            count = int(np.ceil(self.top_share * len(scores)))
            marked = np.zeros(len(scores), dtype=bool)
            marked[np.argsort(-scores, kind="stable")[:count]] = True
            return marked
        if self.threshold is not None:
            return np.asarray(scores > self.threshold)
        if self.fdr is not None:
            return p_values <= _largest_discovery(p_values, self.fdr)
        marked = np.asarray(p_values <= self.false_alarm_rate)
        if together is not None and len(scores) >= MEASURABLE:
            bounded = ~together & (p_values > _largest_discovery(p_values, 1 - _SURE))
            by_chance = binom.ppf(_SURE, np.count_nonzero(bounded), self.false_alarm_rate)
            places = np.flatnonzero(marked & bounded)
            order = np.lexsort((-scores[places], p_values[places]))
            marked[places[order[int(by_chance) :]]] = False
        return marked

    def excess(self, p_values: Array, marked: NDArray[np.bool_]) -> float:
        """By how many standard deviations p-values were too small, if too many were at most α.

        If that is taken from all normal scores, those that were not marked are above α.
        """
        by_rate = self.threshold is None and self.top_share is None and self.fdr is None
        left_out = p_values[~marked & (p_values <= self.false_alarm_rate)]
        if not by_rate or not len(left_out):
            return 0.0
        return float(norm.isf(left_out.min()) - norm.isf(self.false_alarm_rate))


def share_as_high(before: Array, scores: Array) -> Array:
    """The p-value of every score: share of those before that are as high, itself among them.

    If a document is exchangeable with those before, it is at most p with at most the chance p.
    """
    ranked = np.sort(before)
    as_high = len(ranked) - np.searchsorted(ranked, scores, side="left")
    return np.asarray((as_high + 1) / (len(ranked) + 1))


def _largest_discovery(p_values: Array, rate: float) -> float:
    """The largest ``p_(i) ≤ rate · i/n``; minus one if there is none."""
    ranked = np.sort(p_values)
    good = np.flatnonzero(ranked <= rate * np.arange(1, len(ranked) + 1) / max(len(ranked), 1))
    return float(ranked[good[-1]]) if len(good) else -1.0
