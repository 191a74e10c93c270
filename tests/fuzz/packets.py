"""Packets and their files: damaged, crafted with valid checksums, lost, doubled, out of order."""

import copy
import json
import pickle
import struct
import zlib
from binascii import crc_hqx
from functools import cache

import numpy as np

from thresher import SensorCodec
from thresher.tasks.compression import Decoder, PacketError
from thresher.tasks.compression.columns import pack_texts, unpack_texts
from thresher.tasks.compression.container import MAGIC, packed_head, read_container, write_container
from thresher.tasks.compression.packet import Kind, Packet
from thresher.tasks.compression.wire import number, part
from thresher.testing import damaged


def rows(rng: np.random.Generator, n: int, N: int) -> np.ndarray:
    """Sensors that drift, on a grid or not, silent now and then."""
    Y = 20 + np.cumsum(rng.normal(size=(n, N)), axis=0)
    if rng.random() < 0.7:
        Y = np.round(Y, int(rng.integers(0, 3)))
    if rng.random() < 0.5:
        Y[rng.random(Y.shape) < 0.1] = np.nan
    return Y * 10.0 ** rng.integers(-25, 10) if rng.random() < 0.1 else Y


def some_codec(rng: np.random.Generator) -> SensorCodec:
    """With few rows in a packet, of any effort, or as in paper D."""
    error = float(rng.choice([0.005, 0.02, 0.1, 0.3]))
    rows, effort = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    if rng.random() < 0.8:
        return SensorCodec(error=error, batch_size=rows, effort=effort)
    bits = None if rng.random() < 0.5 else int(rng.integers(4, 20))
    return SensorCodec(error=error, n_nonzero=2, batch_size=rows, mode="paper", angle_bits=bits)


def refused(error: Exception) -> str:
    """The outcome of a refusal, which has to be a sentence."""
    assert len(str(error)) > 20, repr(error)
    return "refused"


def mended(data: bytes) -> bytes:
    """The same bytes with a checksum that fits."""
    return data[:-4] + zlib.crc32(data[:-4]).to_bytes(4, "little")


def mended_packet(data: bytes) -> bytes:
    """The same packet with a checksum that fits."""
    return data[:-2] + struct.pack("<H", crc_hqx(data[:-2], 0xFFFF))


@cache
def sent(seed: int) -> tuple[list[bytes], bytes]:
    """The packets of a stream, and the same rows as a file."""
    rng = np.random.default_rng(seed)
    codec, Y = some_codec(rng), rows(rng, int(rng.integers(1, 120)), int(rng.integers(1, 9)))
    return codec.encoder(Y.shape[1]).encode(Y), codec.compress(Y, about={"seed": seed})


def damaged_packet(rng: np.random.Generator) -> str:
    """Damage is noticed, or does not matter."""
    packets, _ = sent(int(rng.integers(40)))
    at = int(rng.integers(len(packets)))
    decoder = Decoder()
    for packet in packets[:at]:
        decoder.decode(packet)
    data = packets[at]
    if rng.random() < 0.8:
        data = damaged(data, packets[rng.integers(len(packets))], rng)
    if rng.random() < 0.5 and len(data) > 4:
        data = mended_packet(data)
    right, before = copy.deepcopy(decoder).decode(packets[at]), decoder.n_rows_
    try:
        found = decoder.decode(data)
    except PacketError as error:
        return refused(error)
    if found.problem is not None:
        assert found.rows is None
        assert decoder.n_rows_ == before
        return refused(ValueError(found.problem))
    if found.stream == right.stream:
        np.testing.assert_array_equal(found.rows, right.rows)
    return "right"


def claim(rng: np.random.Generator) -> int:
    """A number as an attacker writes it: small, at an edge, or huge."""
    edges = [0, 1, 2, 255, 256, 4095, 4096, 65535, 2**31, 2**32 - 1, 2**63, 2**64 - 1]
    return int(
        rng.choice(np.array(edges, dtype=np.uint64))
        if rng.random() < 0.5
        else rng.integers(0, 2000)
    )


def crafted_payload(rng: np.random.Generator, kind: int) -> bytes:
    """A head that claims anything, and some bytes."""
    rest = rng.bytes(int(rng.integers(0, 60))) if rng.random() < 0.7 else bytes(rng.integers(60))
    if kind == Kind.KEYFRAME:
        N, start = min(claim(rng), 65535), claim(rng)
        n_level = N if rng.random() < 0.2 else 1
        level = rng.normal(size=n_level).astype(np.float32)
        if n_level and rng.random() < 0.1:
            level[0] = rng.choice([np.nan, np.inf, 3e38])
        head = struct.pack("<H", N)
        return head + number(start) + level.tobytes()
    if kind == Kind.ROWS:
        step = struct.pack("<BI", int(rng.integers(0, 40)), int(rng.integers(2**32)))
        steps = [b"", b"\0\6\0" + step, rest]  # of one column for all, stored
        head = bytes([int(rng.integers(0, 256))]) + number(claim(rng))
        return head + steps[rng.integers(3)] + rest
    head = struct.pack("<bB", int(rng.choice([-1, 0, 1])), int(rng.integers(0, 30)))
    return head + rng.bytes(int(rng.integers(0, 300))) + rest


def crafted_packets_do_no_harm(rng: np.random.Generator) -> str:
    """Valid checksums, valid digests of keyframes, false everything else."""
    decoder, stream = Decoder(), int(rng.integers(1, 4))
    if rng.random() < 0.5:
        packets, _ = sent(int(rng.integers(40)))
        for packet in packets:
            stream = decoder.decode(packet).stream
    used = 0
    for _ in range(int(rng.integers(1, 6))):
        kind = int(rng.integers(1, 5))
        known = decoder._streams.get(stream)
        sequence = known.sequence if known and rng.random() < 0.8 else min(claim(rng), 2**32 - 1)
        to = int(rng.choice([stream, stream, stream, 0, 9]))
        sequence = min(sequence, 2**32 - 1)
        payload = crafted_payload(rng, kind)
        digest = zlib.crc32(payload) if rng.random() < 0.9 else 7
        found = decoder.decode(Packet(Kind(kind), to, sequence, digest, payload).packed())
        if found.problem is None:
            used += 1
            assert found.rows is None  # the digest of the state is not so easily met
        else:
            refused(ValueError(found.problem))
    return "right" if used else "refused"


def accomplice(rng: np.random.Generator) -> str:
    """Packets that make no sense, with the digest of the state that they lead to."""
    N, decoder = int(rng.integers(1, 6)), Decoder()
    decoder.decode(SensorCodec().encoder(N).encode(rows(rng, 3, N))[0])
    ((_, follower),) = decoder._streams.items()
    stream, state, kind = follower.number, follower.state, Kind.ROWS
    payload = crafted_payload(rng, kind)
    if rng.random() < 0.5:  # a step and a grid that make sense, at least; numbers, no times
        head = bytes([payload[0] & 1 | 2, 1 + payload[1] % 9])
        payload = head + b"\0\6\0" + struct.pack("<BI", 16, 0x3FF00000) + payload
    try:
        values, _, state = state.read(payload)
        n_rows = len(values)
    except PacketError as error:
        return refused(error)
    digest = state.digest(n_rows, follower.sequence)
    found = decoder.decode(Packet(kind, stream, follower.sequence, digest, payload).packed())
    assert found.problem is None
    if found.rows is not None:
        assert found.rows.shape == (n_rows, N)
        assert not np.isinf(found.rows).any()
    return "right"


def damaged_file(rng: np.random.Generator) -> str:
    """No damage to a file is overlooked."""
    _, whole = sent(int(rng.integers(40)))
    data = damaged(whole, whole, rng)
    if data == whole:
        assert "seed" in SensorCodec.decompress(data)[1]
        return "right"
    try:
        SensorCodec.decompress(data)
    except PacketError as error:
        return refused(error)
    raise AssertionError("damage was overlooked")


def odd(rng: np.random.Generator, depth: int = 3) -> object:
    """A value of any JSON type."""
    kind = rng.integers(9 if depth else 7)
    if 0 < kind < 4:
        return [None, True, float("nan"), "x" * int(rng.integers(5))][kind]
    if kind < 6:
        return claim(rng) - int(rng.integers(10))
    if kind == 6:
        return float(rng.normal() * 10.0 ** rng.integers(-300, 300))
    if kind == 7:
        return [odd(rng, depth - 1) for _ in range(rng.integers(4))]
    keys = ["rows", "sensors", "about", "table", "names", "kinds", "blank", "step", "number"]
    return {str(rng.choice(keys)): odd(rng, depth - 1) for _ in range(rng.integers(4))}


def container(numbers: list[int], text: bytes, parts: list[bytes]) -> bytes:
    """A file with any numbers, head and parts, and a checksum that fits."""
    data = MAGIC + b"".join(map(number, numbers)) + packed_head(text)
    return mended(data + b"".join(map(part, parts)) + bytes(4))


def crafted_file(rng: np.random.Generator) -> str:
    """Valid checksums, false heads: refused, or the very rows that were written."""
    seed = int(rng.integers(40))
    _, whole = sent(seed)
    file, (truth, _) = read_container(whole, 2**30), SensorCodec.decompress(whole)
    numbers, about = [file.n_rows, file.n_sensors, 0], file.about
    values, kind = file.values, rng.integers(6)
    text = None
    if kind == 0:
        numbers[rng.integers(3)] = claim(rng)
    elif kind == 1:
        text = json.dumps(odd(rng)).encode()
    elif kind == 2:  # deep, or long, or much of nothing
        n = int(rng.integers(3 * 10**4))
        text = [b"[" * n, b'{"a":' * n, b"[" + b"[]," * n + b"1]", b" " * 200 * n, b"9" * n][
            rng.integers(5)
        ]
    elif kind == 3:
        about = {"anything": odd(rng)}  # for the user to judge
    elif kind == 4:
        values = bytes([rng.integers(4)]) + values[1:]
    else:
        values = damaged(values, values, rng)
    text = json.dumps(about).encode() if text is None else text
    data = container(numbers, text, [values])
    try:
        found, _ = SensorCodec.decompress(data, max_bytes=2**28)
    except PacketError as error:
        if kind == 3:
            raise AssertionError("A file was refused for what a user keeps in it.") from error
        return refused(error)
    if 0 < kind < 4:
        np.testing.assert_array_equal(found, truth)
    return "right"


def crafted_column(rng: np.random.Generator) -> str:
    """Columns of text, times and numbers with bytes changed: refused, or so many cells."""
    n = int(rng.integers(1, 60))
    steps = np.cumsum(rng.integers(0, 3, n))
    cells = [
        [f"2024-0{1 + i % 9}-11T0{i % 10}:00:00+0{i % 3}:00" for i in steps],
        [f"{i}.{i % 10}" for i in steps],
        [str(rng.choice(["a", "b", ""])) for _ in steps],
        [f"x{i}\n" for i in rng.integers(0, 10**6, n)],
    ][rng.integers(4)]
    packed_cells = pack_texts(cells)
    assert unpack_texts(packed_cells, n, 2**26) == cells
    data = damaged(packed_cells, packed_cells, rng)
    claimed = n if rng.random() < 0.8 else claim(rng) % 10**6
    try:
        found = unpack_texts(data, claimed, 2**26)
    except PacketError as error:
        return refused(error)
    assert len(found) == claimed
    return "right"


def constant_rows(rng: np.random.Generator) -> str:
    """A few bytes may stand for many rows, if the sender says so honestly."""
    n, N = int(rng.integers(1, 3000)), int(rng.integers(1, 20))
    Y = np.full((n, N), float(rng.choice([0.0, 5.0, np.nan, 0.1])))
    data = SensorCodec(error=float(rng.choice([0.0, 0.02]))).compress(Y)
    values, _ = SensorCodec.decompress(data)
    np.testing.assert_allclose(values, Y, rtol=0.02)
    file = read_container(data, 2**30)
    more = file._replace(n_rows=file.n_rows * 1000)
    try:
        SensorCodec.decompress(write_container(more))
    except PacketError as error:
        refused(error)
        return "right"
    raise AssertionError("rows that are not there")


class Line:
    """Encoders and a decoder, and all that may happen between them; a twin hears everything."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.N = int(rng.integers(1, 7))
        self.codec = some_codec(rng)
        self.encoders = [self.codec.encoder(self.N) for _ in range(rng.integers(1, 3))]
        self.decoder, self.twin = Decoder(), Decoder()
        self.truth: dict[tuple[int, int], np.ndarray] = {}
        self.got: dict[int, set[int]] = {}
        self.late: list[bytes] = []

    def emit(self, packets: list[bytes]) -> list[bytes]:
        """What an encoder sends, as the twin has it."""
        for packet in packets:
            found = self.twin.decode(packet)
            assert found.problem is None or "before" in found.problem, found.problem
            for i, row in enumerate(found.rows if found.rows is not None else []):
                self.truth[found.stream, found.start + i] = row
        return packets

    def deliver(self, packet: bytes) -> list[bytes]:
        """One packet at the decoder; what the encoders answer."""
        found = self.decoder.decode(packet)
        if found.rows is not None:
            for i, row in enumerate(found.rows):
                np.testing.assert_array_equal(row, self.truth[found.stream, found.start + i])
                seen = self.got.setdefault(found.stream, set())
                assert found.start + i not in seen, "a row came twice"
                seen.add(found.start + i)
        if found.problem is not None:
            assert found.rows is None
        answers = []
        if found.request is not None:
            for encoder in self.encoders:
                answers += self.emit(encoder.handle(found.request))
        return answers

    def trouble(self, packets: list[bytes]) -> None:
        """Deliver with losses, copies, damage, delays."""
        queue = list(packets)
        for _ in range(200):
            if not queue:
                return
            packet, luck = queue.pop(0), self.rng.random()
            if luck < 0.05:
                continue
            if luck < 0.1:
                packet = damaged(packet, packet, self.rng)
            elif luck < 0.15:
                queue.append(packet)
            elif luck < 0.2:
                self.late.append(packet)
                continue
            elif luck < 0.25 and self.late:
                queue.append(self.late.pop())
            try:
                answers = self.deliver(packet)
            except PacketError:
                continue
            queue += answers if self.rng.random() < 0.8 else []

    def restart(self) -> None:
        """An encoder or the decoder stops, and comes back with nothing, or with what it saved."""
        luck, i = self.rng.random(), int(self.rng.integers(len(self.encoders)))
        if luck < 0.1:
            self.encoders[i] = self.codec.encoder(self.N)
        elif luck < 0.2:
            saved = pickle.dumps(self.encoders[i])
            self.emit(self.encoders[i].encode(rows(self.rng, 3, self.N)))  # after the save, lost
            self.encoders[i] = pickle.loads(saved)
        elif luck < 0.25:
            self.decoder, self.got = Decoder(), {}
        elif luck < 0.3:
            self.decoder = pickle.loads(pickle.dumps(self.decoder))

    def check(self) -> None:
        """When the line is good again every encoder is heard, and all that was lost is known."""
        for encoder in self.encoders:
            for _ in range(3):
                queue = self.emit(encoder.encode(rows(self.rng, 5, self.N)))
                while queue:
                    queue = queue[1:] + self.deliver(queue[0])
            assert encoder.n_rows_ - 1 in self.got[encoder.stream_], "an encoder is not heard"
        for follower in self.decoder._streams.values():
            lost = {t for start, stop in follower.gaps for t in range(start, stop)}
            got = self.got.get(follower.number, set())
            assert lost == set(range(follower.n_rows)) - got, "gaps are not what was lost"


def poor_line(rng: np.random.Generator) -> str:
    """One or two encoders, restarts of both sides, and a channel that does what it likes."""
    line = Line(rng)
    for _ in range(int(rng.integers(2, 12))):
        for encoder in line.encoders:
            line.trouble(line.emit(encoder.encode(rows(rng, int(rng.integers(1, 30)), line.N))))
        line.restart()
    line.check()
    return "right"


FAMILIES = [
    damaged_packet,
    crafted_packets_do_no_harm,
    accomplice,
    damaged_file,
    crafted_file,
    crafted_column,
    constant_rows,
    poor_line,
]
