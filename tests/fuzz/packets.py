"""Packets and their files: damaged, crafted with valid checksums, lost, doubled, out of order."""

import copy
import json
import pickle
import struct
import zlib
from functools import cache

import numpy as np

from thresher import SensorCodec
from thresher.tasks.compression import Cloud, PacketError, VersionError
from thresher.tasks.compression.container import packed_head, read_container, written_container
from thresher.tasks.compression.keyframe import keyframe_digest
from thresher.tasks.compression.lossless import packed_texts, unpacked_texts
from thresher.tasks.compression.lossless.parts import number, part
from thresher.tasks.compression.packet import ANY_STREAM, Kind, Packet, mark, packed, unpacked
from thresher.tasks.compression.row_batch import read_batch
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
    """With few rows in a packet, by lattice, by dictionary, or as in paper D."""
    error = float(rng.choice([0.005, 0.02, 0.1, 0.3]))
    n_nonzero = None if rng.random() < 0.7 else 2
    mode = "paper" if n_nonzero and rng.random() < 0.5 else "auto"
    rows = int(rng.integers(1, 40))
    return SensorCodec(error=error, n_nonzero=n_nonzero, batch_size=rows, mode=mode)


def refused(error: Exception) -> str:
    """The outcome of a refusal, which has to be a sentence."""
    assert len(str(error)) > 20, repr(error)
    return "refused"


def mended(data: bytes) -> bytes:
    """The same bytes with a checksum that fits."""
    return data[:-4] + zlib.crc32(data[:-4]).to_bytes(4, "little")


@cache
def sent(seed: int) -> tuple[list[bytes], bytes]:
    """The packets of a stream, and the same rows as a file."""
    rng = np.random.default_rng(seed)
    codec, Y = some_codec(rng), rows(rng, int(rng.integers(1, 120)), int(rng.integers(1, 9)))
    return codec.edge(Y.shape[1]).send(Y), codec.compress(Y, about={"seed": seed})[0]


def damaged_packet(rng: np.random.Generator) -> str:
    """Damage is noticed, or does not matter."""
    packets, _ = sent(int(rng.integers(40)))
    at = int(rng.integers(len(packets)))
    cloud = Cloud()
    for packet in packets[:at]:
        cloud.receive(packet)
    data = packets[at]
    if rng.random() < 0.8:
        data = damaged(data, packets[rng.integers(len(packets))], rng)
    if rng.random() < 0.5 and len(data) > 4:
        data = mended(data)
    right, before = copy.deepcopy(cloud).receive(packets[at]), cloud.n_rows_
    try:
        found = cloud.receive(data)
    except VersionError as error:
        return refused(error)
    if found.problem is not None:
        assert found.values is None
        assert cloud.n_rows_ == before
        return refused(ValueError(found.problem))
    if found.stream == right.stream:
        np.testing.assert_array_equal(found.values, right.values)
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
        return struct.pack("<H", N) + number(start) + level.tobytes()
    if kind == Kind.DATA and rng.random() < 0.6:
        told = [b"", struct.pack("<BI", int(rng.integers(0, 40)), int(rng.integers(2**32))), rest]
        head = bytes([int(rng.integers(0, 256))]) + number(claim(rng))
        return head + told[rng.integers(3)] + rest
    if kind == Kind.DATA:
        head = (min(claim(rng), 65535), int(rng.integers(0, 6)), int(rng.integers(0, 40)))
        return struct.pack("<HBBI", *head, int(rng.integers(2**32))) + rest
    head = struct.pack(
        "<HbB", min(claim(rng), 65535), int(rng.choice([-1, 0, 1])), int(rng.integers(0, 14))
    )
    return head + rng.bytes(int(rng.integers(0, 300))) + rest


def crafted_packets(rng: np.random.Generator) -> str:
    """Valid checksums, valid digests of keyframes, false everything else."""
    cloud, stream = Cloud(), int(rng.integers(1, 4))
    if rng.random() < 0.5:
        packets, _ = sent(int(rng.integers(40)))
        stream = unpacked(packets[0]).stream
        for packet in packets:
            cloud.receive(packet)
    used = 0
    for _ in range(int(rng.integers(1, 6))):
        kind = int(rng.integers(1, 5))
        payload = crafted_payload(rng, kind)
        known = cloud.streams_.get(stream)
        sequence = known.sequence if known and rng.random() < 0.8 else min(claim(rng), 2**32 - 1)
        sequence = min(sequence, 2**32 - 1)
        to = int(rng.choice([stream, stream, stream, ANY_STREAM, 9]))
        digest = mark(keyframe_digest(payload, sequence), to) if rng.random() < 0.9 else 7
        found = cloud.receive(packed(Packet(Kind(kind), to, sequence, digest, payload)))
        if found.problem is None:
            used += 1
            assert found.values is None  # the digest of the state is not so easily met
        else:
            refused(ValueError(found.problem))
    return "right" if used else "refused"


def accomplice(rng: np.random.Generator) -> str:
    """Packets that make no sense, with the digest of the state that they lead to."""
    N, cloud = int(rng.integers(1, 6)), Cloud()
    cloud.receive(SensorCodec().edge(N).send(rows(rng, 3, N))[0])
    ((stream, follower),) = cloud.streams_.items()
    state, kind = follower._state.copy(), Kind.DATA
    payload = crafted_payload(rng, kind)
    if rng.random() < 0.5:  # a step and a grid that make sense, at least; numbers, no times
        head = bytes([payload[0] & ~0b1111110 | 2, 1 + payload[1] % 9])
        payload = head + struct.pack("<BI", 16, 0x3FF00000) + payload
    try:
        values, _, state = read_batch(state, payload)
        n_rows = len(values)
    except PacketError as error:
        return refused(error)
    digest = mark(state.digest(n_rows, follower.sequence), stream)
    found = cloud.receive(packed(Packet(kind, stream, follower.sequence, digest, payload)))
    assert found.problem is None
    if found.values is not None:
        assert found.values.shape == (n_rows, N)
        assert not np.isinf(found.values).any()
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
    if kind < 4:
        return [None, True, float("nan"), "x" * int(rng.integers(5))][kind]
    if kind < 6:
        return claim(rng) - int(rng.integers(10))
    if kind == 6:
        return float(rng.normal() * 10.0 ** rng.integers(-300, 300))
    if kind == 7:
        return [odd(rng, depth - 1) for _ in range(rng.integers(4))]
    keys = ["rows", "sensors", "about", "table", "names", "kinds", "blank", "step", "number"]
    return {str(rng.choice(keys)): odd(rng, depth - 1) for _ in range(rng.integers(4))}


def old_container(text: bytes, packets: list[bytes]) -> bytes:
    """A file of version 2 with any head, and a checksum that fits."""
    head = zlib.compress(text, 9)
    parts = [b"THR\x02", struct.pack("<I", len(head)), head, struct.pack("<I", zlib.crc32(head))]
    return b"".join([*parts, *(struct.pack("<I", len(p)) + p for p in packets), bytes(4)])


def container(text: bytes, parts: list[bytes]) -> bytes:
    """A file with any head and parts, and a checksum that fits."""
    data = b"THR\x03" + number(len(text)) + part(packed_head(text))
    return mended(data + b"".join(map(part, parts)) + bytes(4))


def crafted_file(rng: np.random.Generator) -> str:
    """Valid checksums, false heads: refused, or the very rows that were written."""
    seed = int(rng.integers(40))
    _, whole = sent(seed)
    file, (truth, _) = read_container(whole, 2**30), SensorCodec.decompress(whole)
    document = {"rows": file.n_rows, "sensors": file.n_sensors, "columns": 0, "about": file.about}
    values, kind = file.values, rng.integers(6)
    text = None
    if kind == 0:
        document[str(rng.choice(list(document)))] = odd(rng)
    elif kind == 1:
        text = json.dumps(odd(rng)).encode()
    elif kind == 2:  # deep, or long, or much of nothing
        n = int(rng.integers(3 * 10**4))
        text = [b"[" * n, b'{"a":' * n, b"[" + b"[]," * n + b"1]", b" " * 200 * n, b"9" * n][
            rng.integers(5)
        ]
    elif kind == 3:
        document["about"] = {"anything": odd(rng)}  # for the user to judge
    elif kind == 4:
        values = bytes([rng.integers(4)]) + values[1:]
    else:
        values = damaged(values, values, rng)
    text = json.dumps(document).encode() if text is None else text
    write = container if rng.random() < 0.8 else old_container
    data = write(text, [values, bytes(int(rng.integers(3)))])
    try:
        found, _ = SensorCodec.decompress(data, max_bytes=2**28)
    except PacketError as error:
        if kind == 3 and write is container:
            raise AssertionError("A file was refused for what a user keeps in it.") from error
        return refused(error)
    if kind < 4:
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
    packed_cells = packed_texts(cells)
    assert unpacked_texts(packed_cells, n, 2**26) == cells
    data = damaged(packed_cells, packed_cells, rng)
    claimed = n if rng.random() < 0.8 else claim(rng) % 10**6
    try:
        found = unpacked_texts(data, claimed, 2**26)
    except PacketError as error:
        return refused(error)
    assert len(found) == claimed
    return "right"


def constant_rows(rng: np.random.Generator) -> str:
    """A few bytes may stand for many rows, if the sender says so honestly."""
    n, N = int(rng.integers(1, 3000)), int(rng.integers(1, 20))
    Y = np.full((n, N), float(rng.choice([0.0, 5.0, np.nan, 0.1])))
    data, _ = SensorCodec(error=float(rng.choice([0.0, 0.02]))).compress(Y)
    values, _ = SensorCodec.decompress(data)
    np.testing.assert_allclose(values, Y, rtol=0.02)
    file = read_container(data, 2**30)
    more = file._replace(n_rows=file.n_rows * 1000)
    try:
        SensorCodec.decompress(written_container(more))
    except PacketError as error:
        refused(error)
        return "right"
    raise AssertionError("rows that are not there")


class Line:
    """Edges and a cloud, and all that may happen between them; a twin hears everything."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.N = int(rng.integers(1, 7))
        self.codec = some_codec(rng)
        self.edges = [self.codec.edge(self.N) for _ in range(rng.integers(1, 3))]
        self.cloud, self.twin = Cloud(), Cloud()
        self.truth: dict[tuple[int, int], np.ndarray] = {}
        self.got: dict[int, set[int]] = {}
        self.late: list[bytes] = []

    def emit(self, packets: list[bytes]) -> list[bytes]:
        """What an edge sends, as the twin has it."""
        for packet in packets:
            found = self.twin.receive(packet)
            assert found.problem is None or "came again" in found.problem, found.problem
            for i, row in enumerate(found.values if found.values is not None else []):
                self.truth[found.stream, found.start + i] = row
        return packets

    def deliver(self, packet: bytes) -> list[bytes]:
        """One packet at the cloud; what the edges answer."""
        found = self.cloud.receive(packet)
        if found.values is not None:
            for i, row in enumerate(found.values):
                np.testing.assert_array_equal(row, self.truth[found.stream, found.start + i])
                seen = self.got.setdefault(found.stream, set())
                assert found.start + i not in seen, "a row came twice"
                seen.add(found.start + i)
        if found.problem is not None:
            assert found.values is None
        answers = []
        if found.request is not None:
            for edge in self.edges:
                answers += self.emit(edge.handle(found.request))
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
            except VersionError:
                continue
            queue += answers if self.rng.random() < 0.8 else []

    def restart(self) -> None:
        """An edge or the cloud stops, and comes back with nothing, or with what it saved."""
        luck, i = self.rng.random(), int(self.rng.integers(len(self.edges)))
        if luck < 0.1:
            self.edges[i] = self.codec.edge(self.N)
        elif luck < 0.2:
            saved = pickle.dumps(self.edges[i])
            self.emit(self.edges[i].send(rows(self.rng, 3, self.N)))  # after the save, lost
            self.edges[i] = pickle.loads(saved)
        elif luck < 0.25:
            self.cloud, self.got = Cloud(), {}
        elif luck < 0.3:
            self.cloud = pickle.loads(pickle.dumps(self.cloud))

    def check(self) -> None:
        """When the line is good again every edge is heard, and all that was lost is known."""
        for edge in self.edges:
            for _ in range(3):
                queue = self.emit(edge.send(rows(self.rng, 5, self.N)))
                while queue:
                    queue = queue[1:] + self.deliver(queue[0])
            assert edge.n_rows_ - 1 in self.got[edge.stream_], "an edge is not heard"
        for stream, follower in self.cloud.streams_.items():
            lost = {t for start, stop in follower.gaps_ for t in range(start, stop)}
            got = self.got.get(stream, set())
            assert lost == set(range(follower.n_rows_)) - got, "gaps are not what was lost"


def poor_line(rng: np.random.Generator) -> str:
    """One or two edges, restarts of edges and cloud, and a channel that does what it likes."""
    line = Line(rng)
    for _ in range(int(rng.integers(2, 12))):
        for edge in line.edges:
            line.trouble(line.emit(edge.send(rows(rng, int(rng.integers(1, 30)), line.N))))
        line.restart()
    line.check()
    return "right"


FAMILIES = [
    damaged_packet,
    crafted_packets,
    accomplice,
    damaged_file,
    crafted_file,
    crafted_column,
    constant_rows,
    poor_line,
]
