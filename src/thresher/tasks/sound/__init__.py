"""Recordings and their parts."""

from thresher.tasks.sound.onsets import Onset
from thresher.tasks.sound.separator import SoundSeparation, SoundSeparator

__all__ = ["Onset", "SoundSeparation", "SoundSeparator"]
