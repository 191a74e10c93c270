"""What all edges share: the frame of packets, their numbers, and those that may be sent again."""

from __future__ import annotations

import secrets
import struct
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from thresher.estimators.inputs import unmasked
from thresher.tasks.compression.arrays import Numbers
from thresher.tasks.compression.keyframe import keyframe_digest
from thresher.tasks.compression.packet import (
    ANY_STREAM,
    LAST_SEQUENCE,
    Kind,
    Packet,
    PacketError,
    mark,
    packed,
    tag,
    unpacked,
)

# Bounds of doubles, with a margin by judgement: 2⁻⁵² of a number is its rounding.
_LARGEST = 1e15
_SMALLEST = 1e-30  # the smallest data that all models promise to work with (docs/guide/choices.md)
_REQUEST = struct.Struct("<HB")
_ANEW, _TAGGED, _RENAMED = 1, 2, 4


class Request(NamedTuple):
    """What a cloud asks for: so many packets from a number on, 0 means all; or to start anew.

    ``is_tagged`` if the cloud knows but the tag of the stream; ``is_renamed`` if the stream has to
    draw another number, because another one has the same tag.
    """

    stream: int
    sequence: int
    n_packets: int = 0
    anew: bool = False
    is_tagged: bool = False
    is_renamed: bool = False

    def written(self) -> bytes:
        """The packet."""
        flags = _ANEW * self.anew | _TAGGED * self.is_tagged | _RENAMED * self.is_renamed
        payload = _REQUEST.pack(min(self.n_packets, 65535), flags)
        sequence = min(self.sequence, LAST_SEQUENCE)
        return packed(Packet(Kind.REQUEST, self.stream, sequence, 0, payload))

    @classmethod
    def read(cls, packet: Packet) -> Request:
        """The request in a packet; those of version 2 always ask to start anew."""
        if len(packet.payload) != _REQUEST.size:
            return cls(packet.stream, packet.sequence, anew=True)
        count, flags = _REQUEST.unpack(packet.payload)
        told = (bool(flags & flag) for flag in (_ANEW, _TAGGED, _RENAMED))
        return cls(packet.stream, packet.sequence, count, *told)

    def is_for(self, stream: int) -> bool:
        """Whether an edge of such a number is meant."""
        if self.is_tagged:
            return self.stream == tag(stream)
        return self.stream in (ANY_STREAM, stream)


class Sender:
    """Frames packets, numbers them, and keeps the last ones, to be sent again.

    An edge draws a number when it starts, which names its stream in every packet. One that was
    pickled or copied goes on as a stream of its own, since nobody knows what the other one has sent
    since: it keeps what it has learned and counts its rows on, and begins with a keyframe.

    Attributes
    ----------
    stream_ : int
        The number of the stream.
    n_bytes_ : dict
        Bytes sent so far, by kind of packet; those that were sent again apart.
    n_packets_ : dict
        Packets sent so far, by what is in them.
    n_rows_ : int
        Rows sent so far.
    """

    n_packets_: dict[str, int]

    def __init__(self, buffer_size: int, stream: int | None) -> None:
        self.stream_ = _drawn() if stream is None else stream
        self._sequence = 0
        self._is_copy = False
        self._room = buffer_size
        self._kept: deque[bytes] = deque()  # the last packets, without a gap
        self.n_rows_ = 0
        kinds = [kind.name.lower() for kind in Kind if kind != Kind.REQUEST]
        self.n_bytes_ = dict.fromkeys([*kinds, "again"], 0)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._rename()
        self._is_copy = True

    def _rename(self) -> None:
        """Go on as a stream of another number."""
        self.stream_, self._sequence = _drawn(), 0
        self._kept = deque()

    def handle(self, request: bytes) -> list[bytes]:
        """Answer a request of the cloud.

        Packets that were lost are sent again, if this edge still has them (``buffer_size``). If
        not, or if the cloud could not use them, a keyframe with the last values starts anew, and
        what was lost before stays lost. Requests for other streams are not answered.
        """
        found = unpacked(request)
        if found.kind != Kind.REQUEST:
            raise PacketError("This is not a request of a cloud; hand its answer on unchanged.")
        asked = Request.read(found)
        if not asked.is_for(self.stream_):
            return []
        if asked.is_renamed:
            self._rename()
        if asked.anew:
            return self._restart_packets()
        first = self._sequence - len(self._kept)
        if not asked.is_tagged and asked.stream == ANY_STREAM:
            again = list(self._kept)[-1:]  # some packet was damaged: most likely the last one
        elif asked.sequence >= self._sequence:
            return []  # there are none after it
        elif asked.sequence < first:
            again = []
        else:
            start = asked.sequence - first
            again = list(self._kept)[start : start + asked.n_packets if asked.n_packets else None]
        self.n_bytes_["again"] += sum(map(len, again))
        return again or self._restart_packets()

    def _restart_packets(self) -> list[bytes]:
        """All that a cloud needs to follow from here."""
        raise NotImplementedError

    def _packet(self, kind: Kind, payload: bytes, digest: int) -> bytes:
        seal = mark(digest, self.stream_)
        data = packed(Packet(kind, self.stream_, self._sequence, seal, payload))
        self._sequence += 1
        self.n_bytes_[kind.name.lower()] += len(data)
        self._kept.append(data)
        while self._kept and sum(map(len, self._kept)) > self._room:
            self._kept.popleft()
        return data

    def _keyframe_packet(self, payload: bytes) -> bytes:
        self.n_packets_["keyframe"] += 1
        return self._packet(Kind.KEYFRAME, payload, keyframe_digest(payload, self._sequence))


def _drawn() -> int:
    """The number of a stream; any but that of no stream."""
    return secrets.randbelow(2**32 - 1) + 1


def checked_rows(Y: Any, n_sensors: int, *, exact: bool = False) -> Numbers:
    """Rows of numbers, or a sentence that says what they should be.

    ``exact`` refuses numbers that doubles do not hold.
    """
    Y = np.asarray(unmasked(Y))
    if Y.dtype.kind not in "fiub":
        raise TypeError("Sensor values must be numbers; put NaN where a sensor is silent.")
    if Y.dtype != np.float32:
        given, Y = Y, Y.astype(np.float64)
        if exact and given.dtype.itemsize > 8 and ((given != Y) & ~np.isnan(Y)).any():
            raise ValueError(
                f"error=0 is for numbers that float64 holds; these are {given.dtype}, with more "
                "digits. Convert them with astype(numpy.float64) first."
            )
    if Y.ndim != 2 or Y.shape[1] != n_sensors:
        raise ValueError(
            f"This edge has {n_sensors} sensors: pass an array of shape (rows, {n_sensors}), not "
            f"{Y.shape}."
        )
    if np.isinf(Y).any():
        raise ValueError("Some values are infinite; put NaN where a sensor failed.")
    if (np.abs(Y) > _LARGEST).any():
        raise ValueError(f"Some values are beyond {_LARGEST:g}; put NaN where a sensor failed.")
    if 0 < np.abs(Y).max(initial=0.0, where=~np.isnan(Y)) < _SMALLEST:
        raise ValueError(f"All values are below {_SMALLEST:g}; give them in a smaller unit.")
    return Y


def checked_times(times: Any, n: int) -> Numbers | None:
    """A whole number for each row, or a sentence that says what they should be."""
    if times is None:
        return None
    T = np.asarray(times)
    if T.dtype.kind in "mM":
        T = T.astype(np.int64)
    if T.dtype.kind not in "iu" or T.shape != (n,):
        raise ValueError(
            f"times must be {n} whole numbers, such as seconds, or dates of NumPy; one for each "
            "row."
        )
    return T.astype(np.int64)
