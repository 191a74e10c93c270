"""Sound files, piece by piece: a row for each moment, a column for each channel."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from thresher.streams.extras import needed
from thresher.streams.fingerprint import files_fingerprint
from thresher.streams.reader import Reader
from thresher.streams.writing import About, Writer

WHAT = "Reading and writing sound files"


class SoundReader(Reader):
    """Samples between -1 and 1 of a WAV, FLAC, OGG or AIFF file."""

    jumps = True

    def __init__(self, path: Path) -> None:
        self._library = needed("soundfile", "sound", WHAT)
        about = self._checked(self._library.info, path)
        self.paths, self.rate = (path,), about.samplerate
        self._path, self._shape = path, (about.frames, about.channels)

    @property
    def n_rows(self) -> int:
        """Moments."""
        return int(self._shape[0])

    @property
    def n_features(self) -> int:
        """Channels."""
        return int(self._shape[1])

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """Rows as they are asked for."""
        with self._checked(self._library.SoundFile, self._path) as file:
            file.seek(start)
            while len(block := file.read(rows, dtype="float64", always_2d=True)):
                yield block

    def origin(self) -> str:
        """Size and checksum of the file."""
        return files_fingerprint(self.paths)

    def _checked(self, read: Any, path: Path) -> Any:
        try:
            return read(str(path))
        except self._library.LibsndfileError as error:
            raise ValueError(f"{path} cannot be read as sound: {error.error_string}") from None


class SoundWriter(Writer):
    """A sound file of rows; WAV keeps them as floats, so that what is louder than 1 is not cut."""

    def __init__(self, path: Path, about: About) -> None:
        super().__init__(path, about)
        if about.rate is None:
            raise ValueError(f"{path} is sound, and nothing tells how many samples make a second.")
        self._file: Any = None

    def add(self, rows: Any) -> None:
        """Write samples."""
        if self._file is None:
            library, rate = needed("soundfile", "sound", WHAT), self.about.rate
            assert rate is not None
            channels = 1 if rows.ndim == 1 else rows.shape[1]
            exact = {"subtype": "FLOAT"} if self.path.suffix.lower() == ".wav" else {}
            self._file = library.SoundFile(str(self.part), "w", int(rate), channels, **exact)
        self._file.write(np.ascontiguousarray(rows))

    def close(self) -> None:
        """Write what is left."""
        if self._file is not None:
            self._file.close()
