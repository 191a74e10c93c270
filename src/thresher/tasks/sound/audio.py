"""Recordings as arrays: from files, whole numbers or floats, one channel or several."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thresher.linalg import Array
from thresher.streams.extras import needed

_FILES = "Reading and writing sound files"


class Audio(NamedTuple):
    """Samples between -1 and 1, a column for each channel, and how many there are in a second."""

    samples: Array
    rate: int
    mono: bool
    """Whether it came without channels."""


def audio_of(given: Any, rate: int | None) -> Audio:
    """A recording from a path, or from an array and its rate."""
    if isinstance(given, str | Path):
        values, rate = needed("soundfile", "sound", _FILES).read(given, dtype="float64")
    else:
        values = np.asarray(given)
    if rate is None:
        raise ValueError("How many samples are there in a second? Give rate=, such as rate=44100.")
    if values.ndim not in (1, 2) or not values.size or values.dtype.kind not in "iuf":
        raise ValueError(
            "Sound is an array of numbers of the shape (n,) or (n, channels); got "
            f"{values.dtype} of the shape {values.shape}."
        )
    if values.dtype.kind in "iu":
        values = values / -float(np.iinfo(values.dtype).min or -1)
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        raise ValueError("Sound has samples that are no finite numbers; cut them out first.")
    return Audio(values.reshape(len(values), -1), int(rate), values.ndim == 1)


def write_audio(path: Path, samples: Array, rate: int) -> None:
    """A WAV or FLAC file."""
    needed("soundfile", "sound", _FILES).write(path, samples, rate)
