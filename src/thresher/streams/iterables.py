"""Anything that gives one array after another."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from thresher.streams.pieces import from_row
from thresher.streams.reader import Reader


class IterableReader(Reader):
    """Arrays as they come, from an iterable or from a function that makes one.

    What has no beginning to go back to, such as a generator, is read once.
    """

    uneven = True

    def __init__(self, arrays: Iterable[Any] | Callable[[], Iterable[Any]]) -> None:
        self._arrays = arrays
        self.once = isinstance(arrays, Iterator)

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """Each array as it is; from the middle, without the rows before."""
        self.take()
        made = self._arrays() if callable(self._arrays) else self._arrays
        if not isinstance(made, Iterable):
            raise TypeError(
                f"The function gave {type(made).__name__}, not an iterable of arrays with a row "
                "for each sample."
            )
        return from_row(made, start) if start else iter(made)
