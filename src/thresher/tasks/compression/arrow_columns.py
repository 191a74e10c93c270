"""Columns of Parquet files that come back as they were, bit by bit, and nulls where they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.streams.extras import needed
from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.arrow_types import FLOATS, bits_of, is_whole, type_of
from thresher.tasks.compression.limits import check_memory
from thresher.tasks.compression.lossless import packed_texts, packing, unpacked_texts
from thresher.tasks.compression.lossless.integers import packed_part, unpacked_integers
from thresher.tasks.compression.lossless.parts import Reader, part
from thresher.tasks.compression.packet import PacketError

_BYTES = 96  # of memory that a cell takes at most in the reading; by judgement


def packed_column(column: Any) -> bytes:
    """A column, without its type and its length."""
    compute = needed("pyarrow.compute", "files", "Parquet")
    array = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    name = str(array.type)
    nulls = np.asarray(compute.is_null(array))
    head = packed_part(nulls.astype(np.int64))
    if name == "null":
        return head
    if name == "bool":
        return head + packed_part(np.asarray(compute.fill_null(array, False)).astype(np.int64))
    if is_whole(name):
        whole = array.view(f"{_sign(name)}int{bits_of(name)}")
        return head + packed_part(np.asarray(compute.fill_null(whole, 0)).astype(np.int64))
    if name in FLOATS:
        return head + part(_packed_floats(np.asarray(compute.fill_null(array, 0.0))))
    return head + part(
        packed_texts(["" if v is None else str(v) for v in _plain(array).to_pylist()])
    )


def unpacked_column(data: bytes, name: str, n: int, max_bytes: int) -> Any:
    """So many cells of a type again; `PacketError` if the bytes are not theirs."""
    arrow = needed("pyarrow", "files", "Parquet")
    check_memory(n * _BYTES, max_bytes)
    kind, parts = type_of(name), Reader(data)
    nulls = unpacked_integers(parts.part(), n).astype(bool)
    try:
        if name == "null":
            found = arrow.nulls(n)
        elif name == "bool":
            found = arrow.array(unpacked_integers(parts.part(), n).astype(bool), mask=nulls)
        elif is_whole(name):
            dtype = f"{_sign(name)}int{bits_of(name)}"
            whole = unpacked_integers(parts.part(), n).astype(dtype)
            found = arrow.array(whole, mask=nulls).view(kind)
        elif name in FLOATS:
            found = arrow.array(_unpacked_floats(parts.part(), kind, n), mask=nulls)
        else:
            texts = unpacked_texts(parts.part(), n, max_bytes)
            cells = arrow.array([None if no else t for t, no in zip(texts, nulls, strict=True)],
                                arrow.large_string())  # fmt: skip
            found = cells.cast(kind)
        found.validate(full=True)
    except (arrow.ArrowException, UnicodeError, ValueError) as error:
        if isinstance(error, PacketError):
            raise
        raise PacketError(f"The file has a column that is not of type {name!r}.") from None
    parts.end()
    return found


def _sign(name: str) -> str:
    return "u" if name.startswith("uint") else ""


def _plain(array: Any) -> Any:
    """Words instead of their numbers."""
    return array.dictionary_decode() if str(array.type).startswith("dictionary") else array


def _packed_floats(values: Numbers) -> bytes:
    """Bits of numbers, those of a place together."""
    planes = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1).T
    return packing.packed(planes.tobytes())


def _unpacked_floats(data: bytes, kind: Any, n: int) -> Numbers:
    size = kind.bit_width // 8
    content = np.frombuffer(packing.unpacked(data, n * size), np.uint8)
    return np.ascontiguousarray(content.reshape(size, n).T).reshape(-1).view(f"<f{size}")
