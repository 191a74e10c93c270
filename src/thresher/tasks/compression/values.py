"""The values of a file: in several ways, of which the smallest is taken.

way 1 | batches with heads of version 3, as releases before wrote them
      | rounded, differences, a packer (`plain`)
      | packets by lattice and dictionary
      | as streams have them, keyframes and batches, without frames
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.cloud import Cloud
from thresher.tasks.compression.keyframe import parsed_keyframe
from thresher.tasks.compression.limits import check_memory, packet_bytes, state_bytes
from thresher.tasks.compression.lossless.parts import Reader, part
from thresher.tasks.compression.packet import VERSION, Kind, PacketError
from thresher.tasks.compression.plain import read_plain
from thresher.tasks.compression.row_batch import StreamState, n_rows_in, read_batch

OLD_ROWS, PLAIN, PACKETS, ROWS = range(4)
Progress = Callable[[int, int], None]


def written_payloads(payloads: list[tuple[Kind, bytes]]) -> bytes:
    """Keyframes and batches of rows."""
    return bytes([ROWS]) + b"".join(bytes([kind]) + part(payload) for kind, payload in payloads)


def written_packets(packets: list[bytes]) -> bytes:
    """Packets, frames and all."""
    return bytes([PACKETS]) + b"".join(map(part, packets))


def read_values(data: bytes, n: int, N: int, max_bytes: int, tell: Progress) -> Numbers:
    """So many rows; `PacketError` if the bytes are not theirs."""
    parts = Reader(data)
    (way,) = parts.take(1)
    if way in (ROWS, OLD_ROWS):
        version = VERSION if way == ROWS else 3
        values = _read_rows(parts, version, n, N, max_bytes, tell)
    elif way == PLAIN:
        values = read_plain(parts.rest(), n, N)
        tell(n, n)
    elif way == PACKETS:
        packets = list[bytes]()
        while parts.at < len(data):
            packets.append(parts.part())
        values = read_packets(packets, n, N, max_bytes, tell)
    else:
        raise PacketError("The file has values in a way that is not known here.")
    return values


def _read_rows(
    parts: Reader, version: int, n: int, N: int, max_bytes: int, tell: Progress
) -> Numbers:
    values, done, state = np.empty((n, N)), 0, None
    while done < n:
        (kind,) = parts.take(1)
        payload = parts.part()
        if kind == Kind.KEYFRAME:
            keyframe = parsed_keyframe(payload, version)
            if keyframe.n_sensors != N or not keyframe.by_column:
                raise PacketError("The file has other sensors than its head tells; get it again.")
            check_memory(values.nbytes + state_bytes(N), max_bytes)
            state = keyframe.state()
            continue
        if kind != Kind.DATA or not isinstance(state, StreamState):
            raise PacketError("The file has rows before it tells where they start; get it again.")
        rows = n_rows_in(payload, state, version)
        check_memory(values.nbytes + packet_bytes(rows, N), max_bytes)
        if done + rows > n:
            raise PacketError("The file has other rows than its head tells; get it again.")
        values[done : done + rows], _, state = read_batch(state, payload, version)
        done += rows
        tell(done, n)
    parts.end()
    return values


def read_packets(packets: list[bytes], n: int, N: int, max_bytes: int, tell: Progress) -> Numbers:
    """The rows of packets that belong together, none of them lost."""
    values = np.empty((n, N))
    cloud = Cloud(max_bytes - values.nbytes)
    for packet in packets:
        received = cloud.receive(packet)
        rows, start = received.values, received.start
        problem = received.problem
        if len(cloud.streams_) > 1 or cloud.gaps_:
            problem = "Its packets do not belong together."
        if problem is not None:
            raise PacketError(f"The file is damaged after row {start}: {problem}")
        if rows is not None:
            if rows.shape[1] != N or start + len(rows) > n:
                raise PacketError("The file has other rows than its head tells; get it again.")
            values[start : start + len(rows)] = rows
            tell(cloud.n_rows_, n)
    if cloud.n_rows_ != n:
        raise PacketError(f"The file has {cloud.n_rows_} of its {n} rows; get it again.")
    return values
