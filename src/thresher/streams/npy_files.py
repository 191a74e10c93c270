"""NumPy's files, read piece by piece: ``.npy``, and ``.npz`` with an array or a CSR matrix."""

import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from thresher.streams.arrays import ArrayReader
from thresher.streams.fingerprint import files_fingerprint
from thresher.streams.reader import Reader

CUT = "{} ends too early: it was cut off, or is still being written."
_CSR = ("data", "indices", "indptr", "shape")


class Head(NamedTuple):
    """What stands before the numbers of an array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


class NpyReader(Reader):
    """Rows of one array, from anything that can be opened as bytes.

    Parameters
    ----------
    opened : callable
        Opens the array at its first byte.
    name : str
        For messages.
    paths : tuple of Path
        The file, if there is one.
    n_bytes : int, optional
        How many bytes there are; an array that says it has more is refused.
    jumps, once : bool
        Whether it can be read from the middle at once, and whether only one time.
    """

    def __init__(
        self,
        opened: Callable[[], Any],
        name: str,
        paths: tuple[Path, ...] = (),
        n_bytes: int | None = None,
        jumps: bool = False,
        once: bool = False,
    ) -> None:
        self._opened, self._name, self.paths = opened, name, paths
        self.jumps, self.once = jumps, once
        file = opened()
        self._head = _head(file, name)
        self._file = file if once else None
        entries = math.prod(self._head.shape)
        if n_bytes is not None and entries * self._head.dtype.itemsize > n_bytes:
            raise ValueError(CUT.format(name))
        if not once:
            file.close()
        if self._head.fortran and len(self._head.shape) > 1:
            raise ValueError(
                f"{name} is stored by columns; save numpy.ascontiguousarray(X), which is by rows."
            )
        if len(self._head.shape) < 2:
            raise ValueError(
                f"{name} has the shape {self._head.shape}; a source has a row for each sample: "
                "save X.reshape(-1, 1) if it is one feature."
            )
        if len(self._head.shape) > 2:
            self.shape = self._head.shape[1:]

    @property
    def n_rows(self) -> int:
        """Length of the array."""
        return self._head.shape[0]

    @property
    def n_features(self) -> int:
        """Numbers in a row."""
        return int(np.prod(self._head.shape[1:]))

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """Rows as they stand in the file."""
        self.take()
        file: Any = self._file
        if file is None:
            file = self._opened()
            _head(file, self._name)
        with file:
            width = self.n_features
            _skip(file, start * width * self._head.dtype.itemsize, self.jumps)
            for at in range(start, self.n_rows, rows):
                n = min(rows, self.n_rows - at)
                yield _numbers(file, n * width, self._head.dtype, self._name).reshape(n, width)

    def origin(self) -> str:
        """Size and checksum of the file."""
        return files_fingerprint(self.paths) if self.paths else ""


class CsrReader(Reader):
    """Rows of a matrix that `scipy.sparse.save_npz` wrote."""

    def __init__(self, path: Path) -> None:
        self.paths = (path,)
        with zipfile.ZipFile(path) as archive:
            told = "format.npy" in archive.namelist()
            kind = _array(archive, "format", path)[0] if told else b"csr"
            shape = _array(archive, "shape", path)
        if kind not in (b"csr", "csr"):
            raise ValueError(f"{path} has a sparse matrix that is not CSR; save X.tocsr().")
        self._shape = (int(shape[0]), int(shape[1]))

    @property
    def n_rows(self) -> int:
        """Rows of the matrix."""
        return self._shape[0]

    @property
    def n_features(self) -> int:
        """Columns of the matrix."""
        return self._shape[1]

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """CSR matrices of some rows; no more than these are read."""
        path = self.paths[0]
        if start >= self.n_rows:
            return
        with ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(path))
            files = {name: stack.enter_context(archive.open(f"{name}.npy")) for name in _CSR[:3]}
            heads = {name: _head(file, str(path)) for name, file in files.items()}

            def take(name: str, count: int) -> Any:
                return _numbers(files[name], count, heads[name].dtype, str(path))

            entries = min(math.prod(heads[name].shape) for name in ("data", "indices"))
            _skip(files["indptr"], start * heads["indptr"].dtype.itemsize, jumps=False)
            end = int(take("indptr", 1)[0])
            for name in ("data", "indices"):
                _skip(files[name], end * heads[name].dtype.itemsize, jumps=False)
            for at in range(start, self.n_rows, rows):
                n = min(rows, self.n_rows - at)
                begins, ends = end, take("indptr", n).astype(np.int64)
                end = int(ends[-1])
                indptr = np.concatenate([[0], ends - begins])
                if np.diff(indptr).min() < 0 or end > entries:
                    raise ValueError(f"{path} is damaged: its rows do not end where they could.")
                parts = take("data", end - begins), take("indices", end - begins), indptr
                if parts[1].size and not 0 <= parts[1].min() <= parts[1].max() < self.n_features:
                    raise ValueError(f"{path} is damaged: it has entries in columns that are not.")
                block: Any = sparse.csr_array(parts, shape=(n, self.n_features))
                yield block

    def origin(self) -> str:
        """Size and checksum of the file."""
        return files_fingerprint(self.paths)


def npy_reader(path: Path) -> Reader:
    """Rows of a ``.npy`` file; one that is stored by columns is mapped into memory."""
    with path.open("rb") as file:
        head = _head(file, str(path))
    if head.fortran and len(head.shape) > 1:
        return _Mapped(path)
    n_bytes = path.stat().st_size
    return NpyReader(partial(path.open, "rb"), str(path), (path,), n_bytes, jumps=True)


def npz_reader(path: Path, columns: Any = None) -> Reader:
    """Rows of an ``.npz`` file: its only array, the one that ``columns`` names, or its CSR."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {i.filename.removesuffix(".npy"): i.file_size for i in archive.infolist()}
    except zipfile.BadZipFile:
        raise ValueError(f"{path} is no .npz file, or it is damaged.") from None
    if columns is None and set(_CSR) <= set(sizes):
        return CsrReader(path)
    name = next(iter(sizes)) if columns is None and len(sizes) == 1 else columns
    if not isinstance(name, str) or name not in sizes:
        raise ValueError(
            f"{path} has the arrays {', '.join(map(repr, sizes))}; choose one with columns=."
        )
    opened = partial(_member, path, name)
    return NpyReader(opened, f"{name!r} of {path}", (path,), sizes[name])


def _member(path: Path, name: str) -> Any:
    with zipfile.ZipFile(path) as archive:  # a member of a closed archive stays readable
        return archive.open(f"{name}.npy")


class _Mapped(ArrayReader):
    def __init__(self, path: Path) -> None:
        super().__init__(np.load(path, mmap_mode="r"))
        self.paths = (path,)

    def origin(self) -> str:
        return files_fingerprint(self.paths)


def _head(file: Any, name: str) -> Head:
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        head = Head(*read(file))
    except (ValueError, EOFError) as error:
        raise ValueError(f"{name} is no array of NumPy, or it is damaged.") from error
    if head.dtype.kind not in "buif" and head.dtype.kind not in "SU":
        raise ValueError(f"{name} has {head.dtype} entries; a source takes numbers.")
    return head


def _numbers(file: Any, count: int, dtype: np.dtype[Any], name: str) -> Any:
    values = np.empty(count, dtype=dtype)
    as_bytes: Any = values.view(np.uint8)
    room, done = memoryview(as_bytes), 0
    while done < len(room):
        got = file.readinto(room[done:])
        if not got:
            raise ValueError(CUT.format(name))
        done += got
    return values if dtype.isnative else values.astype(dtype.newbyteorder("="))


def _skip(file: Any, n_bytes: int, jumps: bool) -> None:
    if jumps:
        file.seek(n_bytes, 1)
        return
    while n_bytes > 0:
        got = len(file.read(min(n_bytes, 1 << 20)))
        if not got:
            return
        n_bytes -= got


def _array(archive: zipfile.ZipFile, name: str, path: Path) -> Any:
    with archive.open(f"{name}.npy") as file:
        head = _head(file, str(path))
        return _numbers(file, int(np.prod(head.shape)), head.dtype, str(path))
