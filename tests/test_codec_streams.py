"""Streams that know themselves: restarts, two edges, and bytes that claim too much."""

import json
import pickle
import struct
import tracemalloc
import zlib

import numpy as np
import pytest

from sensors import decoded, made_stream, relative_error, sent
from thresher import SensorCodec
from thresher.tasks.compression import Cloud, PacketError
from thresher.tasks.compression.container import Container, packed_head, written_container
from thresher.tasks.compression.files import decompress_file
from thresher.tasks.compression.keyframe import Keyframe, keyframe_digest
from thresher.tasks.compression.limits import VALUES_PER_BYTE, file_bytes, least_bytes
from thresher.tasks.compression.lossless import packing
from thresher.tasks.compression.lossless.parts import number, part
from thresher.tasks.compression.packet import Kind, Packet, packed, unpacked
from thresher.tasks.compression.values import written_packets

# ----------------------------------------------------------- the plain way in packets


def repeated(n=1024, gaps=False):
    """Words of eight values in a row, which come again: no law of numbers, but lzma knows them."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 1000, (3, 16, 2)) / 10.0
    Y = words[rng.integers(0, 3, n // 16)].reshape(n, 2)
    if gaps:
        Y[rng.random(Y.shape) < 0.05] = np.nan
        Y[:3, 0] = np.nan
    return Y


def is_plain(packet):
    found = unpacked(packet)
    return found.kind == Kind.DATA and bool(found.payload[0] & 32)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("error", [0.0, 0.01])
def test_where_values_come_again_packets_are_plain_and_smaller(monkeypatch, gaps, error):
    Y, codec, cloud = repeated(gaps=gaps), SensorCodec(error=error, batch_size=256), Cloud()
    times = np.arange(len(Y)) * 60
    packets = codec.edge(2).send(Y, times=times)
    assert any(map(is_plain, packets))
    results = [cloud.receive(packet) for packet in packets]
    assert all(result.problem is None for result in results)
    values = np.vstack([r.values for r in results if r.values is not None])
    np.testing.assert_array_equal(np.isnan(values), np.isnan(Y))
    np.testing.assert_array_equal(
        np.concatenate([r.times for r in results if r.times is not None]), times
    )
    assert relative_error(values, Y) <= error
    monkeypatch.setattr("thresher.tasks.compression.edge.plain_batch", lambda *_: None)
    assert sum(map(len, packets)) < 0.8 * sum(map(len, codec.edge(2).send(Y, times=times)))


def test_plain_packets_and_others_follow_each_other():
    smooth = np.cumsum(np.random.default_rng(1).normal(size=(512, 2)), axis=0).round(1)
    Y = np.vstack([repeated(512), smooth, repeated(512), smooth])
    codec, cloud = SensorCodec(error=0.01, batch_size=64), Cloud()
    edge = codec.edge(2)
    packets = edge.send(Y)
    kinds = [is_plain(packet) for packet in packets]
    assert True in kinds
    assert False in kinds[1:]
    assert relative_error(decoded(packets, cloud), Y) <= 0.01
    assert edge.relative_error_ == pytest.approx(relative_error(decoded(packets, Cloud()), Y))


def test_a_forged_plain_packet_is_refused():
    packets = SensorCodec(error=0.0).edge(2).send(repeated(256))
    place = [is_plain(packet) for packet in packets].index(True)
    whole, values = unpacked(packets[place]), decoded(packets[: place + 1], Cloud())[-256:]
    for at in range(len(whole.payload)):
        cloud = Cloud()
        for packet in packets[:place]:
            cloud.receive(packet)
        lie = bytearray(whole.payload)
        lie[at] ^= 0x55
        result = cloud.receive(packed(whole._replace(payload=bytes(lie))))
        if result.problem is None:  # some bytes of lzma say nothing
            np.testing.assert_array_equal(result.values, values)
        else:
            assert result.values is None


# ----------------------------------------------------------- restarts and two edges


def test_an_edge_that_restarts_is_heard_again():
    Y, codec, cloud = made_stream(), SensorCodec(error=0.02), Cloud()
    first = codec.edge(8)
    decoded(first.send(Y[:300]), cloud)
    again = codec.edge(8)  # with nothing kept
    values = decoded(again.send(Y[300:]), cloud)
    assert relative_error(values, Y[300:]) <= 0.02
    assert list(cloud.streams_) == [first.stream_, again.stream_]
    assert cloud.streams_[first.stream_].n_rows_ == cloud.n_rows_ == 300
    assert cloud.gaps_ == []


def test_a_restart_whose_keyframe_is_lost_is_asked_for_and_counted():
    codec = SensorCodec(error=0.02, batch_size=50, buffer_size=0)
    Y, cloud = made_stream(), Cloud()
    decoded(codec.edge(8).send(Y[:300]), cloud)
    again = codec.edge(8)
    _, *rest = again.send(Y[300:450])  # without its keyframe
    results = [cloud.receive(packet) for packet in rest]
    assert all(r.values is None and "not known here" in r.problem for r in results)
    assert all(f"{again.stream_ & 0xFFFF:04x}" in r.problem for r in results)
    values = decoded([*again.handle(results[-1].request), *again.send(Y[450:])], cloud)
    assert cloud.gaps_ == [(0, 150)]
    assert cloud.n_rows_ == 300
    assert relative_error(values, Y[450:]) < 0.03


def test_what_an_old_stream_sent_before_a_restart_stays_its_own():
    Y, codec, cloud = made_stream(), SensorCodec(error=0.02, batch_size=50), Cloud()
    old, new = codec.edge(8), codec.edge(8)
    packets = old.send(Y[:150])
    decoded(packets[:3], cloud)
    late = cloud.receive(new.send(Y[150:200])[0])
    assert late.problem is None
    again = cloud.receive(packets[1])  # a copy: left out, and nothing is asked for
    assert again.values is None
    assert again.request is None
    behind = cloud.receive(packets[3])  # in time after all
    assert (behind.stream, behind.start) == (old.stream_, 100)
    assert relative_error(behind.values, Y[100:150]) < 0.03
    assert cloud.n_rows_ == 0  # of the stream that began last


def test_two_edges_are_kept_apart():
    """Their keyframes too, at whatever place in the other's sequence."""
    codec, cloud = SensorCodec(error=0.02, batch_size=30), Cloud()
    Y = [made_stream(seed=seed)[:300] for seed in (0, 1)]
    edges, rows = [codec.edge(8) for _ in Y], {}
    for i in range(0, 300, 30):
        for edge, truth in zip(edges, Y, strict=True):
            for packet in edge.send(truth[i : i + 30]):
                result = cloud.receive(packet)
                assert result.problem is None
                if result.values is not None:
                    assert i <= result.start < i + 30
                    rows.setdefault(result.stream, []).append(result.values)
        if i == 90:  # a keyframe in the middle of a stream
            decoded_none = [cloud.receive(p) for p in edges[1].handle(_request(edges[1].stream_))]
            assert all(r.problem is None for r in decoded_none)
    for edge, truth in zip(edges, Y, strict=True):
        assert relative_error(np.vstack(rows[edge.stream_]), truth) <= 0.02
        assert cloud.streams_[edge.stream_].gaps_ == []


def _request(stream):
    return packed(Packet(Kind.REQUEST, stream, 0, 0, b""))


def test_an_edge_answers_its_own_requests_and_those_for_anybody():
    Y = made_stream()
    _, edge = sent(SensorCodec(), Y)
    assert edge.handle(_request(edge.stream_ ^ 1)) == []
    assert len(edge.handle(_request(edge.stream_))) == 1
    assert len(edge.handle(Cloud().receive(b"noise").request)) == 1


def test_an_edge_that_was_saved_goes_on_as_another_stream():
    """It counts on, so that what was lost in between is known, and keeps its dictionary."""
    rng = np.random.default_rng(0)
    Y = np.cumsum(rng.normal(size=(400, 1)) * np.ones(10) + 0.01 * rng.normal(size=(400, 10)), 0)
    edge, cloud = SensorCodec(error=0.05, n_nonzero=2).edge(10), Cloud()
    decoded(edge.send(Y[:200]), cloud)
    assert edge.n_packets_["dictionary"] >= 1
    saved = pickle.dumps(edge)
    decoded(edge.send(Y[200:250]), cloud)  # after the save, before the crash
    again = pickle.loads(saved)
    assert again.stream_ != edge.stream_
    packets = again.send(Y[250:])
    assert [unpacked(p).kind for p in packets[:2]] == [Kind.KEYFRAME, Kind.DICTIONARY]
    values = decoded(packets, cloud)
    assert relative_error(values, Y[250:]) < 0.055
    assert cloud.gaps_ == [(0, 200)]
    assert cloud.n_rows_ == 350
    assert cloud.streams_[edge.stream_].n_rows_ == 250


def test_a_cloud_that_restarts_asks_and_knows_what_it_missed():
    Y, codec = made_stream(), SensorCodec(error=0.02, buffer_size=0)
    edge, cloud = codec.edge(8), Cloud()
    edge.send(Y[:200])
    result = cloud.receive(edge.send(Y[200:300])[0])
    decoded([*edge.handle(result.request), *edge.send(Y[300:])], cloud)
    assert cloud.gaps_ == [(0, 300)]


def test_memory_of_a_cloud_is_bounded_and_streams_that_were_forgotten_come_back():
    codec = SensorCodec(error=0.02, buffer_size=0)
    cloud = SensorCodec().cloud(max_bytes=800_000)
    Y = made_stream()[:100]
    edges = [codec.edge(8) for _ in range(30)]
    for edge in edges:
        decoded(edge.send(Y[:50]), cloud)
    assert len(cloud.streams_) < 20
    assert edges[-1].stream_ in cloud.streams_
    result = cloud.receive(edges[0].send(Y[50:60])[0])
    assert result.values is None
    values = decoded([*edges[0].handle(result.request), *edges[0].send(Y[60:])], cloud)
    assert relative_error(values, Y[60:]) < 0.03
    with pytest.raises(AssertionError):
        decoded(codec.edge(60).send(np.zeros((3, 60))), cloud)


# ----------------------------------------------------------------- claims and bombs


def keyframe(N, start=0, sequence=0, stream=7, level=(0.0,)):
    payload = Keyframe(N, start, np.array(level, np.float32)).written()
    return packed(
        Packet(Kind.KEYFRAME, stream, sequence, keyframe_digest(payload, sequence), payload)
    )


def data_packet(n_rows, payload=b"", flags=2):
    head = struct.pack("<HBBI", n_rows, flags, 1, 0x3FF00000)
    return packed(Packet(Kind.DATA, 7, 1, 0, head + payload))


def container(text, packets=()):
    head = zlib.compress(text, 9)
    parts = [b"THR\x02", struct.pack("<I", len(head)), head, struct.pack("<I", zlib.crc32(head))]
    return b"".join([*parts, *(struct.pack("<I", len(p)) + p for p in packets), bytes(4)])


def document(rows=1, sensors=1, **rest):
    return json.dumps({"rows": rows, "sensors": sensors, "about": {}, **rest}).encode()


def new_container(text, *parts, size=None):
    """A file of this version with any head and parts, and a checksum that fits."""
    data = b"THR\x03" + number(len(text) if size is None else size) + part(packed_head(text))
    data += b"".join(map(part, parts))
    return data + zlib.crc32(data).to_bytes(4, "little")


def new_document(rows=1, sensors=1, columns=0, **rest):
    return document(rows, sensors, columns=columns, **rest)


def texts(n, name="a"):
    """What a file tells of a table of one column of text."""
    about = {"table": {"names": [name], "kinds": ["kept"]}}
    return new_document(n, 0, 1, about=about)


def start(N):
    return bytes([0, Kind.KEYFRAME]) + part(Keyframe(N, 0, np.zeros(1, np.float32), True).written())


BOMBS = {
    "rows in the head": lambda: container(document(10**12, 56)),
    "rows in a packet": lambda: container(document(65535, 56), [keyframe(56), data_packet(65535)]),
    "sensors": lambda: container(document(1, 4096), [keyframe(4096), data_packet(1)]),
    "zeros in the head": lambda: container(b" " * 30_000_000),
    "lists in the head": lambda: container(b"[" + b"[]," * 2_000_000 + b"[]]"),
    "rows that start late": lambda: container(document(2**62, 1), [keyframe(1, start=2**62)]),
    "a keyframe of many sensors": lambda: keyframe(4096),
    "rows in a new head": lambda: new_container(new_document(10**12, 56), b"", b""),
    "rows of a new batch": lambda: new_container(
        new_document(65535, 56), start(56) + bytes([Kind.DATA]) + part(b"\xff\xff\0"), b""
    ),
    "sensors of a new file": lambda: new_container(new_document(1, 4096), start(4096), b""),
    "zeros in a new head": lambda: new_container(b" " * 30_000_000),
    "a head of any size": lambda: new_container(b"{}", size=2**40),
    "plain values": lambda: new_container(
        new_document(10**6, 56), b"\1" + bytes(60), bytes(150_000)
    ),
}
COLUMNS = {
    "text": lambda: bytes([0]) + number(2**40) + part(packing.packed(b"")),
    "text that is longer": lambda: bytes([0]) + number(9) + part(packing.packed(b" " * 10**7)),
    "words": lambda: bytes([1]) + number(2**40),
    "exceptions": lambda: bytes([2]) + number(2**40),
    "numbers": lambda: (
        bytes([2, 0, 0, 0, 1, 0]) + part(bytes([0x10, 0, 1]) + packing.packed(bytes(10**7)))
    ),
    "a pattern": lambda: bytes([3, 0, 0]) + part(b"%Y" * 40) + part(b"\0\0\0"),
    "no way": lambda: bytes([9]),
    "nothing": lambda: b"",
}


@pytest.mark.parametrize("column", COLUMNS)
def test_columns_claim_no_more_than_they_have(column, tmp_path):
    (tmp_path / "a.thr").write_bytes(new_container(texts(5), b"", COLUMNS[column](), b""))
    tracemalloc.start()
    try:
        with pytest.raises(PacketError, match=r".{20}"):
            decompress_file(tmp_path / "a.thr", tmp_path / "a.csv")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("bomb", BOMBS)
def test_claims_are_checked_before_memory_is_taken(bomb):
    data = BOMBS[bomb]()
    tracemalloc.start()
    try:
        if data[:3] != b"THR":
            assert "max_bytes" in Cloud().receive(data).problem
        else:
            with pytest.raises(PacketError, match=r".{20}"):
                SensorCodec.decompress(data, max_bytes=100_000_000)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "bomb",
    [
        "rows in the head",
        "rows in a packet",
        "sensors",
        "rows in a new head",
        "rows of a new batch",
        "a head of any size",
    ],
)
def test_small_claims_take_no_memory_at_all(bomb):
    data = BOMBS[bomb]()
    tracemalloc.start()
    try:
        with pytest.raises(PacketError, match=r"claim|takes"):
            SensorCodec.decompress(data)
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b"[]",
        b"7",
        b"null",
        b"{",
        b"\xff",
        b"",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
        document(-1),
        document(None),
        document("3"),
        document(True),
        document(1.0),
        document(1, 0),
        document(1, 5000),
        document(1, 1, about=[]),
        document(1, 1, more=1),
    ],
)
def test_every_malformed_head_is_a_packet_error(text):
    with pytest.raises(PacketError, match=r"head|cannot have"):
        SensorCodec.decompress(container(text))


@pytest.mark.parametrize(
    "text",
    [b"{}", b"7", b"{", b"\xff", b"", b"[" * 100_000, b"9" * 10_000, document(),
     new_document(-1), new_document("3"), new_document(True), new_document(1, 5000),
     new_document(1, 1, -1), new_document(1, 1, 10**9), new_document(about=[]),
     new_document(more=1)],
)  # fmt: skip
def test_every_malformed_new_head_is_a_packet_error(text):
    with pytest.raises(PacketError, match=r"head|cannot have"):
        SensorCodec.decompress(new_container(text, b"", b""))


def test_heads_that_do_not_inflate():
    for head in (b"", b"no deflate", zlib.compress(document()) + b"more", zlib.compress(b"1")[:-3]):
        parts = [b"THR\x02", struct.pack("<I", len(head)), head]
        data = b"".join([*parts, struct.pack("<I", zlib.crc32(head)), bytes(4)])
        with pytest.raises(PacketError, match="does not inflate"):
            SensorCodec.decompress(data)


@pytest.mark.parametrize("codec", [SensorCodec(batch_size=20), SensorCodec(n_nonzero=1, error=0.1)])
def test_damage_at_every_byte_of_a_file(codec):
    rng = np.random.default_rng(0)
    data, _ = codec.compress(made_stream(missing=0.02)[:50, :3], about={"station": "roof"})
    assert SensorCodec.decompress(data)[0].shape == (50, 3)
    for at in range(len(data)):
        hurt = bytearray(data)
        hurt[at] ^= 1 << rng.integers(8)
        with pytest.raises(PacketError, match=r".{20}"):
            SensorCodec.decompress(bytes(hurt))
        with pytest.raises(PacketError, match=r".{20}"):
            SensorCodec.decompress(data[:at])


def test_packets_that_do_not_belong_together():
    Y = made_stream(missing=0.02)[:60]
    codec = SensorCodec(batch_size=20, n_nonzero=8)
    ours, theirs = (codec.edge(8).send(A) for A in (Y, -Y))

    def file(packets, N=8):
        return written_container(Container(60, N, {}, written_packets(packets), []))

    assert SensorCodec.decompress(file(ours))[0].shape == (60, 8)
    for packets in (
        [*ours, theirs[0]],
        [*ours[:2], *ours],
        [ours[0], ours[2], ours[1], ours[3]],
        ours[:-1],
        [ours[0], *theirs[1:]],
    ):
        with pytest.raises(PacketError, match=r"damaged after row|of its 60 rows"):
            SensorCodec.decompress(file(packets))
    with pytest.raises(PacketError, match="than its head tells"):
        SensorCodec.decompress(file(ours, 7))


@pytest.mark.parametrize("value", [0.0, 5.0, np.nan])
def test_a_few_bytes_may_stand_for_many_rows(value):
    """As long as the sender pays the least that a claim costs."""
    Y = np.full((20_000, 8), value)
    data, _ = SensorCodec().compress(Y)
    np.testing.assert_allclose(SensorCodec.decompress(data)[0], Y, rtol=0.02)
    assert Y.size / VALUES_PER_BYTE < len(data) < 1.1 * least_bytes(Y.size, 8) + 150


def test_more_memory_is_allowed_on_demand():
    Y = made_stream()
    data, _ = SensorCodec().compress(Y)
    needed = file_bytes(*Y.shape)
    with pytest.raises(PacketError, match=f"max_bytes={needed}"):
        SensorCodec.decompress(data, max_bytes=needed - 1)
    assert SensorCodec.decompress(data, max_bytes=needed)[0].shape == Y.shape


@pytest.mark.parametrize("level", [np.nan, np.inf])
def test_keyframes_of_no_numbers(level):
    result = Cloud().receive(keyframe(1, level=[level]))
    assert "not numbers" in result.problem


def test_requests_of_streams_at_the_end_of_their_numbers():
    cloud = Cloud()
    assert cloud.receive(keyframe(1, sequence=2**32 - 1)).problem is None
    result = cloud.receive(keyframe(2, sequence=2**32 - 1))
    assert result.values is None
    assert "came again" in result.problem


def test_what_is_no_packet_at_all():
    with pytest.raises(TypeError, match=r"bytes, as Edge\.send"):
        Cloud().receive(10**12)


def test_the_same_rows_give_the_same_file():
    Y = made_stream()
    assert SensorCodec().compress(Y)[0] == SensorCodec().compress(Y)[0]
