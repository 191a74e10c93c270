"""Rows as the values of a file, in each way that may be smallest; and files read again."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from thresher.estimators.parameters import is_number
from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.bounds import Bounds, bounds_of
from thresher.tasks.compression.container import read_container
from thresher.tasks.compression.dictionary_edge import DictionaryEdge
from thresher.tasks.compression.edge import Edge
from thresher.tasks.compression.limits import LARGEST_BATCH, check_memory, file_bytes
from thresher.tasks.compression.old_container import OLD_MAGIC, read_old_container
from thresher.tasks.compression.packet import Kind
from thresher.tasks.compression.paper_edge import PaperEdge
from thresher.tasks.compression.plain import plain_values
from thresher.tasks.compression.row_batch import Batch
from thresher.tasks.compression.sender import Sender
from thresher.tasks.compression.values import (
    PLAIN,
    Progress,
    read_packets,
    read_values,
    written_packets,
    written_payloads,
)

if TYPE_CHECKING:
    from thresher.tasks.compression.codec import SensorCodec

_LARGEST_FILE_BATCH = 2**21  # values: by judgement, what they take in the making is 200 MB
_LEAST_BATCH = 256
_FEW_BITS = 1.0  # for each value: only below, a dictionary has ever paid; by trial


class FileContent(NamedTuple):
    """Values, what was kept about them, and the other columns, packed."""

    values: Numbers
    about: dict[str, Any]
    columns: list[bytes]


def smallest_values(
    codec: SensorCodec, Y: Numbers, names: Sequence[str] | None, tell: Progress
) -> tuple[bytes, Sender]:
    """The values of a file in the smallest of all ways, and the edge that coded them."""
    # The same rows give the same file, so the stream is named by what is in it.
    name = zlib.crc32(Y.tobytes()) or 1
    if codec.mode == "paper":
        return _by_packets(codec, Y, PaperEdge(codec, Y.shape[1], None, name), tell)
    size = codec.batch_size or max(
        _LEAST_BATCH, min(LARGEST_BATCH, _LARGEST_FILE_BATCH // Y.shape[1])
    )
    whole = replace(codec, batch_size=size)
    if codec.n_nonzero is not None:
        return _by_packets(whole, Y, _dictionary_edge(whole, Y, name), tell)
    bounds = bounds_of(codec.error, codec.max_error, Y.shape[1], names)
    found, edge = _by_rows(whole, Y, bounds, tell)
    plain = _plainly(Y, bounds)
    if plain is not None and len(plain) < len(found):
        found = plain
    if _may_have_dictionaries(codec, Y, found):
        other, sender = _by_packets(whole, Y, _dictionary_edge(whole, Y, name), _silent)
        if len(other) < len(found):
            return other, sender
    return found, edge


def read_file(data: bytes, max_bytes: int, tell: Progress) -> FileContent:
    """What is in the bytes of a file of any version."""
    if data[:4] == OLD_MAGIC:
        old = read_old_container(data, max_bytes)
        check_memory(file_bytes(old.n_rows, old.n_sensors), max_bytes)
        values = read_packets(old.packets, old.n_rows, old.n_sensors, max_bytes, tell)
        return FileContent(values, old.about, [])
    file = read_container(data, max_bytes)
    n, N = file.n_rows, file.n_sensors
    check_memory(file_bytes(n, N), max_bytes)
    values = read_values(file.values, n, N, max_bytes, tell) if N else np.empty((n, 0))
    return FileContent(values, file.about, file.columns)


def _by_rows(codec: SensorCodec, Y: Numbers, bounds: Bounds, tell: Progress) -> tuple[bytes, Edge]:
    counts, squares = _sums(Y)
    own = np.sqrt(squares / np.maximum(counts, 1))
    shared = np.sqrt(bounds.summed(squares) / np.maximum(bounds.summed(counts), 1))
    # Of a file in one batch, all rows are tried in the plain way anyway, and once is enough.
    many = len(Y) > codec.rows_per_packet
    sizes = shared[bounds.groups], own
    edge = Edge(codec, Y.shape[1], bounds, sizes, tries_plain=many)
    payloads = list[tuple[Kind, bytes]]()
    for start in range(0, len(Y), codec.rows_per_packet):
        payloads += edge.coded(
            Y[start : start + codec.rows_per_packet], None, codec.rows_per_packet
        )
        tell(edge.n_rows_, len(Y))
    return written_payloads(payloads), edge


def _plainly(Y: Numbers, bounds: Bounds) -> bytes | None:
    if not len(Y):
        return None
    batch, (counts, squares) = Batch.of(Y), _sums(Y)
    if (bounds.exact[bounds.groups] & (batch.grids == 0)).any():
        return None
    found = plain_values(
        batch, bounds, bounds.allowed(counts, squares), bounds.largest(counts, squares)
    )
    return None if found is None else bytes([PLAIN]) + found


def _may_have_dictionaries(codec: SensorCodec, Y: Numbers, found: bytes) -> bool:
    """Whether a lattice and dictionaries are worth a try: at few bits, with one error for all."""
    alone = is_number(codec.error) and codec.error > 0 and codec.max_error is None
    few = 8 * len(found) < _FEW_BITS * max(int(np.count_nonzero(~np.isnan(Y))), 1)
    return bool(alone and few and Y.shape[1] > 1 and len(Y))


def _dictionary_edge(codec: SensorCodec, Y: Numbers, name: int) -> DictionaryEdge:
    known = np.isfinite(Y).any()
    size = float(np.sqrt(np.nanmean(np.square(Y, dtype=np.float64)))) if known else 0.0
    return DictionaryEdge(codec, Y.shape[1], size or None, len(Y), name)


def _by_packets(
    codec: SensorCodec, Y: Numbers, edge: DictionaryEdge, tell: Progress
) -> tuple[bytes, Sender]:
    packets = list[bytes]()
    for start in range(0, len(Y), codec.rows_per_packet):
        packets += edge.send(Y[start : start + codec.rows_per_packet])
        tell(edge.n_rows_, len(Y))
    return written_packets(packets), edge


def _sums(Y: Numbers) -> tuple[Numbers, Numbers]:
    known = np.nan_to_num(Y.astype(np.float64))
    return np.count_nonzero(~np.isnan(Y), axis=0), np.square(known).sum(axis=0)


def _silent(done: int, total: int) -> None:
    """Tell nobody."""
