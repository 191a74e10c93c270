"""How far raters can be relied on: the noise of each, and whether the items tell their ratings.

Every rater has a noise of his own, with a gamma prior on one over it that is fitted to all raters.
A rater is suspicious if his ratings are told better by their own mean than by the items, each
left out in its turn: random ratings, constant ones and contrary ones are, whatever their noise.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, polygamma

from thresher.linalg import Array

_FEW_RATERS = 10  # do not tell how their noises differ; by judgement
_SHAPES = (0.5, 1e3)
_SHARES = (1e-4, 0.5)  # of suspicious raters, at least and at most
_ROUNDS = 20


class Noise(NamedTuple):
    """One over the noise is ``Gamma(shape, shape · variance)`` over raters."""

    shape: float
    variance: float

    def of_raters(self, counts: Array, errors: Array) -> Array:
        """T of every rater: the mean, given how many ratings have which sum of squared errors."""
        t: Array = (self.shape + counts / 2) / (self.shape * self.variance + errors / 2)
        return t

    def refitted(
        self, counts: Array, errors: Array, weights: Array, alike: bool = False
    ) -> "Noise":
        """The likeliest prior: ``ln shape − ψ(shape)`` is ``ln E[t] − E[ln t]`` of the raters.

        Or the same noise for all, if they are to be ``alike``.
        """
        total = weights.sum()
        if not total > 0:
            return self
        if alike or np.count_nonzero(weights > 0.5) < _FEW_RATERS:
            ratings = weights @ counts
            return Noise(_SHAPES[1], float(weights @ errors / ratings) if ratings > 0 else 1.0)
        a, b = self.shape + counts / 2, self.shape * self.variance + errors / 2
        mean = float(weights @ (a / b) / total)
        wanted = np.log(mean) - float(weights @ (digamma(a) - np.log(b)) / total)
        shape = self.shape
        for _ in range(_ROUNDS):  # Newton, on a curve that falls and is convex
            slope = 1 / shape - polygamma(1, shape)
            shape = max(shape - (np.log(shape) - digamma(shape) - wanted) / slope, shape / 3)
            shape = min(max(shape, _SHAPES[0]), _SHAPES[1])
        return Noise(float(shape), 1 / mean)


def evidence(rows: Any, n: int, y: Array, residuals: Array, least: float, noise: float) -> Array:
    """``ln p(ratings | items tell them) − ln p(ratings | they do not)`` of every rater.

    Both are normal with a mean and a variance of the rater's own. ``residuals`` are those of
    ratings that were left out. No variance is below ``least``, that of rounding; one more rating
    with the usual ``noise`` keeps few of them from telling much.
    """
    counts = np.bincount(rows, minlength=n)
    mean = np.bincount(rows, y, n) / np.maximum(counts, 1)
    apart = (y - mean[rows]) * (counts / np.maximum(counts - 1, 1))[rows]
    alone = np.bincount(rows, apart**2, n)
    told = np.bincount(rows, residuals**2, n)
    more = counts * least + noise
    ratio: Array = counts / 2 * np.log((alone + more) / (told + more))
    return ratio


def suspicion(evidences: Array, seen: Any, share: float) -> tuple[Array, float]:
    """How likely every rater is a spammer, and the share of spammers that makes this likeliest."""
    odds = np.exp(np.clip(evidences, -500, 500))
    likely: Array = np.zeros(len(odds))
    for _ in range(_ROUNDS):
        likely = 1 / (1 + (1 - share) / share * odds)
        found = (likely[seen].sum() + 0.5) / (np.count_nonzero(seen) + 1)
        share = float(min(max(found, _SHARES[0]), _SHARES[1]))
    return likely, share
