"""Several files of one kind, one after the other."""

from collections.abc import Iterator, Sequence
from typing import Any

from thresher.streams.fingerprint import files_fingerprint
from thresher.streams.pieces import length
from thresher.streams.reader import Reader


class ChainReader(Reader):
    """The rows of one reader after those of another; all have the same features."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = readers
        self.paths = tuple(path for reader in readers for path in reader.paths)
        first = readers[0]
        self.names, self.shape, self.rate = first.names, first.shape, first.rate
        self.jumps = all(reader.jumps for reader in readers)
        for reader in readers[1:]:
            same = reader.names == first.names and reader.shape == first.shape
            if not same or reader.n_features != first.n_features:
                raise ValueError(
                    f"{reader.paths[0]} has other features ({_told(reader)}) than "
                    f"{first.paths[0]} ({_told(first)}); choose the same columns= of all, or give "
                    "files that agree."
                )
            if first.shape is None and reader.rate != first.rate:  # sound, not video
                raise ValueError(
                    f"{reader.paths[0]} has {reader.rate} samples in a second, and "
                    f"{first.paths[0]} has {first.rate}; resample one of them."
                )

    @property
    def n_rows(self) -> int | None:
        """Rows of all, if all know theirs."""
        counts = [reader.n_rows for reader in self._readers]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def n_features(self) -> int | None:
        """That of each."""
        return self._readers[0].n_features

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """One reader after the other; those that are not needed are not opened."""
        for reader in self._readers:
            n = reader.n_rows
            if n is not None and n <= start:
                start -= n
                continue
            if n is not None or not start:
                yield from reader.read(start, rows)
                start = 0
                continue
            for piece in reader.read(0, rows):
                if start < length(piece):
                    yield piece[start:]
                start = max(start - length(piece), 0)

    def origin(self) -> str:
        """Names, sizes and checksums of the files."""
        return files_fingerprint(self.paths, self.names or self.shape or ())


def _told(reader: Reader) -> str:
    if reader.names is not None and len(reader.names) <= 8:
        return ", ".join(reader.names)
    return str(reader.shape or reader.n_features)
