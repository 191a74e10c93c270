"""A source: data from anywhere, as batches, as often as they are asked for."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from thresher.streams.background import read_ahead
from thresher.streams.batches import Batch
from thresher.streams.pieces import cut, length
from thresher.streams.reader import TWICE, Reader
from thresher.streams.windows import shuffled

MEMORY = 64 << 20  # bytes that a batch and what is made of it may take; by judgement
_LARGEST, _SMALLEST = 4096, 16
_ARRAYS = 4  # of the size of a batch: samples, a copy in floats, predictions, residuals


def rows_per_batch(n_features: int | None, n_components: int = 0, memory: int = MEMORY) -> int:
    """How many rows to take at a time: a power of two, from 16 to 4096.

    The most for which ``4 · 8 · (F + K)`` bytes a row, samples and what is made of them in double
    precision, stay within ``memory``. It asks nothing of the machine, so that batches are the same
    everywhere.
    """
    if n_features is None:
        return 256
    most = memory // (_ARRAYS * 8 * max(n_features + n_components, 1))
    return max(_SMALLEST, min(_LARGEST, 1 << max(most, 1).bit_length() - 1))


@dataclass(frozen=True, eq=False)
class Source:
    """Samples from a file, a folder, a camera, an array or an iterable, batch by batch.

    Iterating over it gives batches, arrays or CSR (of JSON lines also lists of texts), and starts
    from the beginning each time. All verbs of the estimators take it.

    Parameters
    ----------
    reader : Reader
        The data.
    batch_size : int, "auto" or None
        Rows of a batch; ``"auto"`` follows `rows_per_batch`. None leaves it to whoever reads: `fit`
        has a ``batch_size``, everything else takes ``"auto"``.
    window : int
        Rows within which samples are shuffled; 0 keeps their order.
    seed : int
        What the order is drawn from.
    ahead : int
        Batches that are read ahead in a thread; 0 reads when asked.
    """

    reader: Reader
    batch_size: int | str | None = None
    window: int = 0
    seed: int = 0
    ahead: int = 2

    def __post_init__(self) -> None:
        if isinstance(self.batch_size, np.integer):
            object.__setattr__(self, "batch_size", int(self.batch_size))
        for name, least in (("batch_size", 1), ("window", 0), ("seed", 0), ("ahead", 0)):
            value = getattr(self, name)
            usual = name == "batch_size" and (value is None or value == "auto")
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
            if not usual and not whole:
                raise ValueError(f"{name}={value!r} is no whole number of {least} or more.")
        if self.window and self.reader.live:
            raise ValueError("What is live cannot be shuffled; leave shuffled() out.")

    @property
    def n_samples(self) -> int | None:
        """Samples in a pass, or None if nobody knows."""
        return self.reader.n_rows

    @property
    def n_features(self) -> int | None:
        """Features of a sample, or None if they are not known before they are read."""
        return self.reader.n_features

    @property
    def names(self) -> list[str] | None:
        """Names of the features, if they have any."""
        return self.reader.names

    @property
    def sample_shape(self) -> tuple[int, ...] | None:
        """Height and width (and 3 for colours) of samples that are pictures, else None."""
        return self.reader.shape

    def shuffled(self, window: int = 16384, seed: int = 0) -> "Source":
        """The same samples in random order within windows of so many, another order each pass.

        What can be read from anywhere (arrays, Parquet, Feather, images) has its windows in random
        order too.
        """
        return replace(self, window=window, seed=seed)

    def in_batches(self, batch_size: int | str | None) -> "Source":
        """The same samples in batches of so many."""
        return replace(self, batch_size=batch_size)

    def sized(self, n_components: int = 0, usual: int | None = None) -> "Source":
        """With a number as batch size: the one that was given, ``usual``, or what the rule says."""
        size = self.batch_size
        if size is None:
            size = usual
        if not isinstance(size, int):
            size = rows_per_batch(self.n_features, n_components)
        return replace(self, batch_size=size)

    def __iter__(self) -> Iterator[Any]:
        return self.pieces()

    def pieces(self, pass_index: int = 0, skip: int = 0) -> Generator[Any]:
        """The batches of a pass after the first ``skip``, as they are in the data."""
        if pass_index > 0 and self.reader.once:
            raise ValueError(TWICE)
        made = self.sized()._made(pass_index, skip)
        yield from read_ahead(made, self.ahead) if self.ahead else made

    def batches(self, pass_index: int, skip: int) -> Generator[Batch]:
        """The same for the engine."""
        for piece in self.pieces(pass_index, skip):
            yield Batch(piece)

    def rows(self, pass_index: int, start: int, stop: int) -> Any:
        """Some rows of a pass, in its order, without those before them."""
        count = stop - start
        if self.window:
            made = shuffled(self.reader, self.window, self.seed, pass_index, start)
        else:
            made = self.reader.read(start, count)
        return next(cut(made, count))

    def load(self) -> Any:
        """All samples, for methods that need them in memory."""
        whole = next(cut(self, 1 << 62), None)
        if whole is None:
            raise ValueError("The source is empty; there is nothing to load.")
        return whole

    def origin(self) -> dict[str, str]:
        """What the batches depend on besides their size, each as a short text."""
        order = f"window {self.window}, seed {self.seed}" if self.window else "as it is"
        return {"the source": self.reader.origin(), "its order": order}

    def _made(self, pass_index: int, skip: int) -> Iterator[Any]:
        size, reader = self.batch_size, self.reader
        assert isinstance(size, int)
        if self.window:
            rows = shuffled(reader, self.window, self.seed, pass_index, skip * size)
            yield from cut(rows, size)
        elif reader.uneven:
            yield from islice(_each_cut(reader.read(0, size), size), skip, None)
        else:
            yield from cut(reader.read(skip * size, size), size)


def _each_cut(pieces: Iterator[Any], size: int) -> Iterator[Any]:
    for piece in pieces:
        if length(piece) <= size:
            yield piece
            continue
        for start in range(0, length(piece), size):
            yield piece[start : start + size]
