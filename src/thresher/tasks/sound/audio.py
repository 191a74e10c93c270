"""Recordings as blocks: from files and streams, whole numbers or floats, one channel or several."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thresher.estimators.parameters import is_number
from thresher.linalg import Array
from thresher.streams import Source, as_source, is_stream
from thresher.streams.sound_files import SoundReader

_BLOCK = 1 << 16  # samples that are read from a file at a time; by judgement


class Audio(NamedTuple):
    """Samples between -1 and 1, a column for each channel."""

    samples: Array
    mono: bool
    """Whether they came without channels."""


@dataclass(frozen=True)
class Recording:
    """A recording, block by block, as often as it can be read."""

    source: Audio | Source
    """In memory, or in blocks."""
    rate: int
    """Samples in a second."""
    whole: bool
    """Whether it is, or may be, in memory."""

    @property
    def n_samples(self) -> int | None:
        """How long it is, if that is known."""
        if isinstance(self.source, Source):
            return self.source.n_samples
        return len(self.source.samples)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read."""
        return self.source.reader.paths if isinstance(self.source, Source) else ()

    def __iter__(self) -> Iterator[Audio]:
        if not isinstance(self.source, Source):
            yield self.source
            return
        known, reader = None, self.source.reader
        # Files of one channel have a column; who reads one by name expects none.
        single = reader.rate is not None and reader.n_features == 1
        for block in self.source:
            audio = audio_of(block[:, 0] if single else block)
            shape = audio.mono, audio.samples.shape[1]
            if known not in (None, shape):
                raise ValueError("The blocks of a recording must have the same channels.")
            known = shape
            yield audio


def recording_of(given: Any, rate: int | None) -> Recording:
    """A recording from a path, from an array and its rate, or from a source of blocks."""
    named = isinstance(given, str | Path)
    if not named and not is_stream(given):
        return Recording(audio_of(given), _known(rate), True)
    source = sound_source(Path(given)) if named else as_source(given)
    if source.batch_size is None:  # blocks of one's own stay as they are
        source = source.in_batches(1 << 62 if source.reader.uneven else _BLOCK)
    own = source.reader.rate
    return Recording(source, _known(rate if own is None else round(own)), named)


def sound_source(path: Path) -> Source:
    """A file of sound, whatever its name ends in."""
    if not path.expanduser().exists():
        raise FileNotFoundError(f"There is no {path}; look for a slip in its name.")
    return Source(SoundReader(path.expanduser()))


def audio_of(given: Any) -> Audio:
    """Samples of an array."""
    values = np.asarray(given)
    if values.ndim not in (1, 2) or not values.size or values.dtype.kind not in "iuf":
        raise ValueError(
            "Sound is an array of numbers of the shape (n,) or (n, channels); got "
            f"{values.dtype} of the shape {values.shape}."
        )
    if values.dtype.kind in "iu":
        # Unsigned samples, as in WAV files of 8 bits, are silent at the middle of their range.
        bits = 8 * values.dtype.itemsize - 1
        values = (values - (2.0**bits if values.dtype.kind == "u" else 0.0)) / 2.0**bits
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values).all():
        raise ValueError("Sound has samples that are no finite numbers; cut them out first.")
    return Audio(values.reshape(len(values), -1), values.ndim == 1)


def _known(rate: Any) -> int:
    if rate is None:
        raise ValueError("How many samples are there in a second? Give rate=, such as rate=44100.")
    if not is_number(rate) or not rate >= 1:
        raise ValueError(f"rate={rate!r} must be a positive number of samples in a second.")
    return int(rate)
