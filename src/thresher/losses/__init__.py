"""Losses of a sample against its prediction, row by row."""

from thresher.losses.base import Loss, NonsmoothPoints, SeparableLoss
from thresher.losses.distances import ElasticDistance, L1Distance, L2Distance, SmoothedL1
from thresher.losses.envelope import Envelope, Huber
from thresher.losses.generators import Bregman, Csiszar
from thresher.losses.powers import (
    AlphaDivergence,
    BetaDivergence,
    Hellinger,
    ItakuraSaito,
    KullbackLeibler,
)
from thresher.losses.squared import Mahalanobis, SquaredL2

__all__ = [
    "AlphaDivergence",
    "BetaDivergence",
    "Bregman",
    "Csiszar",
    "ElasticDistance",
    "Envelope",
    "Hellinger",
    "Huber",
    "ItakuraSaito",
    "KullbackLeibler",
    "L1Distance",
    "L2Distance",
    "Loss",
    "Mahalanobis",
    "NonsmoothPoints",
    "SeparableLoss",
    "SmoothedL1",
    "SquaredL2",
]
