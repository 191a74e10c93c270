"""Losses of a sample against its prediction, row by row."""

from thresher.losses.base import Loss
from thresher.losses.envelope import Envelope, Huber
from thresher.losses.squared import SquaredL2

__all__ = ["Envelope", "Huber", "Loss", "SquaredL2"]
