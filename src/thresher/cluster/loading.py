"""How rows come to the workers: as chunks of a Dask collection, or from files that they read."""

from typing import Any, Protocol

from thresher.cluster.collections import CollectionReader, as_rows
from thresher.cluster.tasks import Cut, as_it_is, read_rows
from thresher.streams import Source


class Loader(Protocol):
    """Where workers have their rows from."""

    @property
    def longest(self) -> int:
        """Rows that come in one piece, at most: more would have to travel between workers."""

    def parts(self, pass_index: int, start: int, stop: int) -> tuple[list[Any], list[Cut]]:
        """Futures of what has some rows of a pass, and which of their rows these are."""

    def need(self, start: int, stop: int) -> None:
        """Rows of a pass that will be asked for; those before them are not any more."""


class ChunkLoader:
    """Chunks of a Dask array or data frame, which are computed by workers and stay with them."""

    def __init__(self, client: Any, reader: CollectionReader) -> None:
        self._client, self._reader = client, reader
        self._chunks: dict[int, Any] = {}

    @property
    def longest(self) -> int:
        """The rows of the longest chunk."""
        return max(self._reader.lengths)

    def need(self, start: int, stop: int) -> None:
        """Have the chunks computed; a lost one is computed again by the scheduler itself."""
        numbers = [number for number, _, _ in self._reader.overlapping(start, stop)]
        missing = [number for number in numbers if number not in self._chunks]
        futures = self._client.compute([self._reader.chunks[number] for number in missing])
        kept = {number: self._chunks[number] for number in numbers if number in self._chunks}
        self._chunks = kept | dict(zip(missing, futures, strict=True))

    def parts(self, pass_index: int, start: int, stop: int) -> tuple[list[Any], list[Cut]]:
        """One chunk as it is; of several, the rows that are needed, so that no others travel."""
        places = list(self._reader.overlapping(start, stop))
        if len(places) == 1:
            number, begin, end = places[0]
            return [self._chunks[number]], [(begin, end)]
        submit = self._client.submit
        parts = [
            submit(as_rows, self._chunks[number], begin, end, pure=False)
            for number, begin, end in places
        ]
        return parts, [(0, end - begin) for _, begin, end in places]


class FileLoader:
    """Files that every worker reads for itself, from any row on."""

    longest = 1 << 62

    def __init__(self, client: Any, source: Source) -> None:
        self._client = client
        self._source = client.submit(as_it_is, source, pure=False)

    def need(self, start: int, stop: int) -> None:
        """Nothing: whoever needs rows reads them."""

    def parts(self, pass_index: int, start: int, stop: int) -> tuple[list[Any], list[Cut]]:
        """Some rows, read by a worker."""
        rows = self._client.submit(read_rows, self._source, pass_index, start, stop, pure=False)
        return [rows], [(0, stop - start)]


def loader_of(client: Any, source: Source) -> Loader:
    """What loads the rows of a source."""
    if isinstance(source.reader, CollectionReader):
        return ChunkLoader(client, source.reader)
    return FileLoader(client, source)
