"""Sources from paths, patterns and plain objects: which reader reads what."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from glob import glob
from pathlib import Path
from typing import Any

from thresher.streams.arrays import ArrayReader
from thresher.streams.chain import ChainReader
from thresher.streams.iterables import IterableReader
from thresher.streams.npy_files import NpyReader, npy_reader, npz_reader
from thresher.streams.reader import Reader
from thresher.streams.source import Source

IMAGES = ("png", "jpg", "jpeg", "bmp", "tif", "tiff", "webp", "pgm", "ppm", "gif")
VIDEOS = ("mp4", "mkv", "avi", "mov", "webm", "mpg", "mpeg", "m4v", "ts")
TABLES = ("parquet", "feather", "arrow", "csv", "tsv")
JSON = ("jsonl", "ndjson", "json")
SOUNDS = ("wav", "flac", "ogg", "aiff", "aif", "mp3")
KINDS = ("npy", "npz", *IMAGES, *VIDEOS, *SOUNDS, *TABLES, *JSON)
_PACKED = (".gz", ".zst")


def open(
    data: Any,
    columns: Any = None,
    *,
    batch_size: int | str | None = None,
    format: str | None = None,
    color: bool = False,
    size: tuple[int, int] | None = None,
    ahead: int = 2,
) -> Source:
    """A source of samples, for `fit`, `resume`, `transform` and all other verbs.

    Parameters
    ----------
    data : path, pattern, list of paths, array, iterable or function
        ``.npy``, ``.npz`` (an array, or CSR from `scipy.sparse.save_npz`), Parquet, Feather, CSV,
        JSON lines (the last two also ``.gz`` and ``.zst``), video, sound; a folder of images, or of
        files of one of these kinds; ``"-"`` for standard input (CSV, JSON lines or ``.npy``);
        ``"camera:0"``; ``"rtsp://..."``. A pattern such as ``"day-*.parquet"`` reads its files in
        the order of their names, numbers in them by their size. An array has a row for each sample;
        an iterable, or a function that makes one, gives such arrays. A line of JSON has at most
        16 MiB.
    columns : str or list of str, optional
        Columns of tables, fields of JSON lines (a single name of a field of texts gives texts), or
        the array of an ``.npz`` with several. By default all.
    batch_size : int, "auto" or None
        Rows of a batch. By default `fit` takes its own ``batch_size`` and the other verbs as many
        as `thresher.streams.rows_per_batch` says, which ``"auto"`` asks for in `fit` too.
    format : str, optional
        The kind of file, such as ``"csv"``, where the name does not tell.
    color : bool
        Whether pictures have three colours, or are gray.
    size : (height, width), optional
        Pictures are scaled to it.
    ahead : int
        Batches that a thread reads ahead.

    Returns
    -------
    Source
        To be read as often as needed; see `Source.shuffled`.

    Examples
    --------
    >>> import numpy as np, tempfile, thresher
    >>> path = tempfile.mkdtemp() + "/samples.npy"
    >>> np.save(path, np.random.default_rng(0).random((1000, 20)))
    >>> source = thresher.open(path).shuffled(500)
    >>> source.n_samples, source.n_features
    (1000, 20)
    >>> model = thresher.OnlineRobustNMF(3, random_state=0, verbose=0).fit(source)
    >>> model.transform(source, write=path + ".codes.npy").name
    'samples.npy.codes.npy'
    """
    if isinstance(data, Source):
        return data if batch_size is None else data.in_batches(batch_size)
    if isinstance(data, str | Path) or _is_list_of_paths(data):
        reader = _from_paths(data, format, _Options(columns, color, size))
        # A thread that waits for standard input would be in the way when the program ends.
        return Source(reader, batch_size, ahead=0 if data == "-" else ahead)
    if columns is not None:
        raise ValueError("columns= chooses columns of files; take those of an array yourself.")
    if hasattr(data, "shape") and hasattr(data, "dtype"):
        return Source(ArrayReader(data), batch_size, ahead=ahead)
    if is_stream(data):
        return Source(IterableReader(data), batch_size, ahead=ahead)
    raise TypeError(
        f"A source is made of a path, an array, an iterable of arrays or a function that makes "
        f"one, not of {type(data).__name__}."
    )


def as_source(X: Any) -> Source:
    """What a verb was given, as a source; a user's own iterable is read in the user's thread."""
    return X if isinstance(X, Source) else open(X, ahead=0)


def is_stream(X: Any) -> bool:
    """Whether X is to be read batch by batch: a source, an iterable of arrays, or what makes one.

    Arrays, lists and data frames are not.
    """
    if hasattr(X, "shape") or hasattr(X, "__array__") or isinstance(X, list | tuple | str | bytes):
        return False
    if callable(X) and not isinstance(X, type):
        return True
    return isinstance(X, Iterable) and not hasattr(X, "__len__")


class _Options:
    """How to read files."""

    def __init__(self, columns: Any, color: bool, size: tuple[int, int] | None) -> None:
        self.columns, self.color, self.size = columns, color, size


def _is_list_of_paths(data: Any) -> bool:
    kinds = isinstance(data, list | tuple) and all(isinstance(part, str | Path) for part in data)
    return kinds and len(data) > 0


def _from_paths(data: Any, format: str | None, options: _Options) -> Reader:
    if data == "-":
        return _from_stdin(format, options)
    if isinstance(data, str) and (data.startswith("camera:") or "://" in data):
        from thresher.streams.video import camera_reader

        return camera_reader(data, options.color, options.size)
    paths = [path for part in _listed(data) for path in _found(part)]
    kinds = {format or _kind(path) for path in paths}
    if len(kinds) > 1:
        raise ValueError(
            f"{paths[0]} and the files beside it are of the kinds {', '.join(sorted(kinds))}; give "
            "a pattern that matches one kind, such as 'folder/*.csv'."
        )
    kind = kinds.pop()
    if kind in IMAGES:
        from thresher.streams.images import ImageReader

        return ImageReader(paths, options.color, options.size)
    if options.columns is not None and (kind == "npy" or kind in (*VIDEOS, *SOUNDS)):
        raise ValueError(f"columns= is for tables, JSON lines and .npz files, not for {paths[0]}.")
    readers = [_file_reader(path, kind, options) for path in paths]
    return readers[0] if len(readers) == 1 else ChainReader(readers)


def _listed(data: Any) -> list[str | Path]:
    return [data] if isinstance(data, str | Path) else list(data)


def _found(data: str | Path) -> list[Path]:
    """The files that a path or a pattern means, in the order of their names."""
    path = Path(data).expanduser()
    if path.is_dir():
        files = [p for p in path.iterdir() if p.is_file() and not p.name.startswith(".")]
        files = [file for file in files if _suffix(file) in KINDS]
        if not files:
            raise FileNotFoundError(f"The folder {path} has no files to read.")
        return sorted(files, key=_in_order)
    if path.exists():
        return [path]
    if any(mark in str(data) for mark in "*?["):
        files = [p for p in map(Path, glob(str(path), recursive=True)) if p.is_file()]
        if not files:
            raise FileNotFoundError(f"No file matches the pattern {str(data)!r}; look for a slip.")
        return sorted(files, key=_in_order)
    raise FileNotFoundError(f"There is no {path}; look for a slip in its name.")


def _in_order(path: Path) -> list[Any]:
    """Names in order, numbers in them by their size."""
    parts = re.split(r"(\d+)", str(path))
    return [(int(part), part) if part.isdigit() else part for part in parts]


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return Path(name).suffix.removeprefix(".")


def _kind(path: Path) -> str:
    kind = _suffix(path)
    if kind not in KINDS:
        raise ValueError(
            f"{path} does not tell by its name what it is; give format=, such as 'csv', 'parquet', "
            "'jsonl', 'npy' or 'mp4'."
        )
    return kind


def _file_reader(path: Path, kind: str, options: _Options) -> Reader:
    if kind in ("npy", "npz"):
        return npy_reader(path) if kind == "npy" else npz_reader(path, options.columns)
    if kind in VIDEOS:
        from thresher.streams.video import VideoReader

        return VideoReader(path, options.color, options.size)
    if kind in SOUNDS:
        from thresher.streams.sound_files import SoundReader

        return SoundReader(path)
    if kind in JSON:
        from thresher.streams.json_lines import JsonLinesReader

        return JsonLinesReader(path, options.columns)
    if kind in ("parquet", "feather", "arrow"):
        from thresher.streams.arrow_files import FeatherReader, ParquetReader

        reader = ParquetReader if kind == "parquet" else FeatherReader
        return reader(path, options.columns)
    if kind in TABLES:
        from thresher.streams.csv_files import CsvReader

        return CsvReader(path, options.columns)
    raise ValueError(
        f"format={kind!r} is not known; use 'csv', 'parquet', 'jsonl', 'npy' or 'mp4'."
    )


def _from_stdin(format: str | None, options: _Options) -> Reader:
    """Standard input, read once; its first bytes tell what it is."""
    file: Any = sys.stdin.buffer
    head = file.peek(8)[:8]
    if format == "npy" or (format is None and head.startswith(b"\x93NUMPY")):
        return NpyReader(lambda: file, "Standard input", once=True)
    if format in JSON or (format is None and head.lstrip()[:1] in (b"{", b"[")):
        from thresher.streams.json_lines import JsonLinesReader

        return JsonLinesReader(file, options.columns)
    if format in (None, "csv", "tsv"):
        from thresher.streams.csv_files import CsvReader

        return CsvReader(file, options.columns)
    raise ValueError(f"Standard input is read as 'csv', 'jsonl' or 'npy', not as {format!r}.")
