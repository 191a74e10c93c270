"""Results to files, batch by batch: arrays, tables, video; memory holds a batch or two."""

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy

from thresher.persistence import checked_target


@dataclass(frozen=True)
class About:
    """What rows of results are: names of their columns; if they are pictures, shape and rate."""

    columns: Sequence[str]
    shape: tuple[int, ...] | None = None
    rate: float | None = None


class Writer(ABC):
    """A file that rows are added to; it takes its name when all are written, or never."""

    def __init__(self, path: Path, about: About) -> None:
        checked_target(path)
        self.path, self.about = path, about
        # The suffix stays: it tells some libraries what to write.
        self.part = path.parent / f".thresher-{secrets.token_hex(8)}{path.suffix.lower()}"

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def add(self, rows: Any) -> None:
        """Write some more rows."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left, and close the file."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with suppress(Exception) if kind else nullcontext():  # the first error is the one
                self.close()
            if kind is None and self.part.exists():
                os.replace(self.part, self.path)
        finally:
            self.part.unlink(missing_ok=True)


class NpyWriter(Writer):
    """A ``.npy`` file, which `numpy.load` can map into memory."""

    def __init__(self, path: Path, about: About) -> None:
        super().__init__(path, about)
        self._n, self._first = 0, np.empty(0)
        self._begun = False
        self._file = self.part.open("wb")

    def add(self, rows: Any) -> None:
        """Write the numbers as they are; the head is written again at the end."""
        if not self._begun:
            self._begun, self._first = True, rows[:0]
            self._write_head()
        self._file.write(np.ascontiguousarray(rows, dtype=self._first.dtype).data)
        self._n += len(rows)

    def close(self) -> None:
        """Say in the head how many rows there are; NumPy leaves room for it."""
        if self._begun:
            self._file.seek(0)
            self._write_head()
        self._file.close()

    def _write_head(self) -> None:
        head = npy.header_data_from_array_1_0(self._first)
        npy.write_array_header_1_0(self._file, head | {"shape": (self._n, *self._first.shape[1:])})


class ArrayWriter:
    """An array of the user's, such as a memory map, filled row by row."""

    def __init__(self, target: Any) -> None:
        self._target, self._n = target, 0

    def __enter__(self) -> Self:
        return self

    def add(self, rows: Any) -> None:
        """Fill the next rows."""
        end = self._n + len(rows)
        if self._target.shape[1:] != rows.shape[1:] or len(self._target) < end:
            raise ValueError(
                f"The array to write to has the shape {self._target.shape}; rows of the shape "
                f"{rows.shape[1:]} come, {end} or more."
            )
        self._target[self._n : end] = rows
        self._n = end

    def __exit__(self, *error: object) -> None:
        flush = getattr(self._target, "flush", None)
        if flush is not None:
            flush()


def write_results(
    batches: Iterable[Any], write: Any, about: About | Mapping[str, About], read: Iterable[Path]
) -> Any:
    """Write results as they come; the path, or the paths by name, that were written.

    Parameters
    ----------
    batches : iterable
        Arrays, or named tuples of them.
    write : path, array, or mapping of names to these
        Where to; a mapping for named tuples, of those that are wanted.
    about : About, or mapping of names to it
        What the rows are.
    read : iterable of Path
        The files that are being read, which must not be written to.
    """
    several = not isinstance(about, About)
    kinds = {"": about} if isinstance(about, About) else about
    if not several and isinstance(write, Mapping):
        raise ValueError("This gives one result; write= takes one path, or an array.")
    if several and not isinstance(write, Mapping):
        names = ", ".join(f"{name!r}: ..." for name in kinds)
        raise ValueError(f"This gives several results; say where to, write={{{names}}}.")
    write = write if several else {"": write}
    unknown = set(write) - set(kinds)
    if unknown or not write:
        raise ValueError(f"write= names {sorted(unknown)}; use some of {', '.join(kinds)}.")
    forbidden = {path.resolve() for path in read}
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(_writer(target, kinds[name], forbidden))
            for name, target in write.items()
        }
        for batch in batches:
            for name, writer in writers.items():
                writer.add(np.asarray(getattr(batch, name) if several else batch))
    done = {
        name: target if isinstance(target, np.ndarray) else Path(target)
        for name, target in write.items()
    }
    return done if several else done[""]


def _writer(target: Any, about: About, forbidden: set[Path]) -> Any:
    if isinstance(target, np.ndarray):
        return ArrayWriter(target)
    if not isinstance(target, str | Path):
        raise TypeError(f"write= takes paths and arrays, not {type(target).__name__}.")
    path = Path(target).expanduser()
    if path.resolve() in forbidden:
        raise ValueError(f"{path} is being read; write to another file.")
    kind = path.suffix.lower()
    if kind == ".npy":
        return NpyWriter(path, about)
    if kind in (".parquet", ".feather", ".arrow", ".csv"):
        from thresher.streams.table_writer import TableWriter

        return TableWriter(path, about)
    if kind in (".mp4", ".mkv", ".avi", ".mov"):
        from thresher.streams.video_writer import VideoWriter

        return VideoWriter(path, about)
    if not kind:
        from thresher.streams.image_writer import ImageWriter

        return ImageWriter(path, about)
    raise ValueError(
        f"{path} does not tell what to write; end it in .npy, .parquet, .feather, .csv, .mp4 or "
        ".mkv, or in nothing: a folder of pictures."
    )
