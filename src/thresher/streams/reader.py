"""What each kind of data has to answer: how to read its rows, in their order, from any row on."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TWICE = (
    "This stream can be read only once, and more was asked for; give a function that makes it "
    "anew, such as lambda: read(...), or a file through thresher.open."
)


class Reader(ABC):
    """Rows of one kind of data. What is not known is None."""

    names: list[str] | None = None
    """Names of the features."""
    shape: tuple[int, ...] | None = None
    """Shape of a sample that is a picture; rows have it flattened."""
    rate: float | None = None
    """Samples in a second."""
    paths: tuple[Path, ...] = ()
    """The files that are read."""
    jumps: bool = False
    """Whether reading from the middle costs no more than from the start."""
    once: bool = False
    """Whether it can be read a single time."""
    live: bool = False
    """Whether what has passed is gone, as with a camera."""
    uneven: bool = False
    """Whether its pieces are batches as the user made them."""
    _taken: bool = False

    @property
    def n_rows(self) -> int | None:
        """Rows in all."""
        return None

    @property
    def n_features(self) -> int | None:
        """Numbers in a row."""
        return None

    @abstractmethod
    def read(self, start: int, rows: int) -> Iterator[Any]:
        """Yield pieces from the row ``start`` on, of ``rows`` rows or whatever is quick."""

    def take(self) -> None:
        """Reading begins; a second time is refused where there is none."""
        if self.once and self._taken:
            raise ValueError(TWICE)
        self._taken = True

    def origin(self) -> str:
        """A short text that tells these data from others; empty if nothing does."""
        return ""
