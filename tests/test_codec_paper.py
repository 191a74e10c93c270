"""The scheme of paper D as packets: gaps, precision, restarts, damage, files."""

import copy
import pickle
import struct

import numpy as np
import pytest

from reference.d.compression import fill_missing
from sensors import decoded, made_stream, relative_error, sent
from thresher import SensorCodec
from thresher.tasks.compression import Cloud, PacketError, PaperEdge
from thresher.tasks.compression.files import compress_file, decompress_file
from thresher.tasks.compression.packet import Kind, Packet, packed, unpacked
from thresher.testing import damaged


def codec(**parameters):
    return SensorCodec(**{"error": 0.1, "n_nonzero": 3, "mode": "paper", **parameters})


def test_silent_sensors_come_back_as_the_mean_of_the_others():
    Y = made_stream()[:60]
    packets, edge = sent(codec(n_nonzero=8), Y)
    filled = fill_missing(np.where(np.isnan(Y).all(axis=1, keepdims=True), 0, Y))
    np.testing.assert_allclose(decoded(packets), filled, atol=1e-10)
    assert edge.relative_error_ < 1e-12


@pytest.mark.parametrize("N", [1, 2, 300])
def test_any_number_of_sensors(N):
    Y = np.random.default_rng(0).normal(size=(20, N))
    values, about = SensorCodec.decompress(codec(n_nonzero=N).compress(Y, about={"a": 1})[0])
    np.testing.assert_allclose(values, Y, atol=1e-9)
    assert about == {"a": 1}
    assert codec(n_nonzero=N + 5).compress(Y)[0] == codec(n_nonzero=N).compress(Y)[0]


def test_single_precision_takes_half_the_bytes_of_numbers():
    Y = made_stream(missing=0.02)[:300].astype(np.float32)
    (whole, edge), (half, other) = (sent(codec(number_bytes=b), Y) for b in (8, 4))
    assert isinstance(edge, PaperEdge)
    assert relative_error(decoded(half), decoded(whole)) < 1e-6
    for kind, numbers in (("data", 300 * 3), ("dictionary", 28 * edge.n_packets_["dictionary"])):
        assert edge.n_bytes_[kind] - other.n_bytes_[kind] == 4 * numbers


def test_packets_are_counted_by_their_kind():
    packets, edge = sent(codec(), made_stream()[:300])
    kinds = [unpacked(packet).kind for packet in packets]
    counted = {"keyframe": Kind.KEYFRAME, "codes": Kind.DATA, "dictionary": Kind.DICTIONARY}
    assert edge.n_packets_ == {name: kinds.count(kind) for name, kind in counted.items()}
    assert sum(edge.n_packets_.values()) == len(packets)


def test_a_cloud_that_lost_a_packet_follows_again():
    Y = made_stream()[:144]
    edge, cloud = codec(buffer_size=0).edge(8), Cloud()
    decoded(edge.send(Y[:120]), cloud)
    edge.send(Y[120:126])
    answer = edge.handle(cloud.receive(edge.send(Y[126:132])[-1]).request)
    assert [unpacked(packet).kind for packet in answer] == [Kind.KEYFRAME, Kind.DICTIONARY]
    assert all(cloud.receive(packet).problem is None for packet in answer)
    assert cloud.gaps_ == [(120, 132)]
    assert decoded(edge.send(Y[132:138]), cloud).shape == (6, 8)
    again = pickle.loads(pickle.dumps(edge))  # goes on as a stream of its own
    assert again.stream_ != edge.stream_
    packets = again.send(Y[138:])
    assert unpacked(packets[0]).kind == Kind.KEYFRAME
    np.testing.assert_array_equal(decoded(packets), decoded(edge.send(Y[138:]), cloud))


def test_an_edge_sends_lost_packets_again_while_it_has_them():
    Y = made_stream()[:132]
    edge, cloud = codec().edge(8), Cloud()
    decoded(edge.send(Y[:120]), cloud)
    lost = edge.send(Y[120:126])
    late = edge.send(Y[126:])
    answer = edge.handle(cloud.receive(late[-1]).request)
    assert answer == [*lost, *late[:-1]]  # the last has come, and waits
    assert all(cloud.receive(packet).problem is None for packet in answer)
    assert cloud.gaps_ == []


def test_damage_is_noticed_also_with_a_good_checksum():
    packets, _ = sent(codec(), made_stream(missing=0.02)[:120])
    rng, cloud = np.random.default_rng(0), Cloud()
    for packet in packets:
        found = unpacked(packet)
        mended = found._replace(payload=found.payload[:-1] + bytes([found.payload[-1] ^ 64]))
        trials = [damaged(packet, packets[rng.integers(len(packets))], rng) for _ in range(15)]
        for trial in (*trials, packed(mended)):
            if trial not in packets:
                assert copy.deepcopy(cloud).receive(trial).problem is not None
        assert cloud.receive(packet).problem is None


@pytest.mark.parametrize(
    ("kind", "payload", "match"),
    [
        (Kind.DICTIONARY, b"", "cut"),
        (Kind.DICTIONARY, struct.pack("<bB", 0, 8) + bytes(8 * 28), "no sense"),
        (Kind.DICTIONARY, struct.pack("<bB", 1, 2) + bytes(2 * 28), "no sense"),
        (Kind.DICTIONARY, struct.pack("<bB", 1, 8) + bytes(8 * 27), "length"),
        (Kind.DICTIONARY, struct.pack("<bB28d", 1, 8, *[9.0] * 28), "turn"),
        (Kind.DICTIONARY, struct.pack("<bB28d", 1, 8, *[np.nan] * 28), "turn"),
        (Kind.DATA, struct.pack("<HHB", 1, 1, 8), "cut"),
        (Kind.DATA, struct.pack("<HHBBd", 0, 1, 8, 0, 1.0), "no sense"),
        (Kind.DATA, struct.pack("<HHBBd", 1, 9, 8, 0, 1.0), "no sense"),
        (Kind.DATA, struct.pack("<HHBBd", 1, 1, 8, 8, 1.0), "not numbers"),
        (Kind.DATA, struct.pack("<HHBBd", 1, 1, 8, 0, np.inf), "not numbers"),
        (Kind.DATA, struct.pack("<HHBBd", 2, 1, 8, 0, 1.0), "length"),
        (Kind.DATA, struct.pack("<HHBBd", 60000, 1, 8, 0, 1.0), "claim"),
    ],
)
def test_crafted_packets_are_refused_in_a_sentence(kind, payload, match):
    packets, edge = sent(codec(), made_stream(missing=0.02)[:3])
    cloud = Cloud()
    decoded(packets, cloud)
    crafted = packed(Packet(kind, edge.stream_, len(packets), 0, payload))
    assert match in cloud.receive(crafted).problem


def test_codes_before_any_dictionary_are_refused():
    keyframe, _, data = sent(codec(), made_stream()[:3])[0]
    cloud = Cloud()
    cloud.receive(keyframe)
    early = packed(unpacked(data)._replace(sequence=1))
    assert "no dictionary" in cloud.receive(early).problem


def test_a_table_with_gaps_is_refused_since_they_would_be_filled(tmp_path):
    source, target = tmp_path / "a.csv", tmp_path / "a.thr"
    rows = np.round(np.random.default_rng(0).normal(20, 5, (30, 3)), 1)
    lines = ["a,b,c", *(",".join(map(str, row)) for row in rows)]
    source.write_text("\n".join(lines) + "\n")
    compress_file(source, target, codec())
    assert decompress_file(target, tmp_path / "b.csv") == (30, 3)
    lines[4] = "20.1,,3.0"
    source.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="silent"):
        compress_file(source, target, codec())


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"mode": "printed"}, "'auto' or 'paper'"),
        ({"mode": "paper"}, "needs n_nonzero"),
        ({"mode": "paper", "n_nonzero": 2, "forgetting": 50}, "does not forget"),
        ({"mode": "paper", "n_nonzero": 2, "number_bytes": 2}, "for doubles"),
        ({"as_printed": True}, "for mode='paper'"),
        ({"number_bytes": 4}, "for mode='paper'"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, match):
    with pytest.raises(ValueError, match=match):
        SensorCodec(**parameters)


def test_a_start_is_for_the_paper_and_orthogonal():
    with pytest.raises(ValueError, match="for mode='paper'"):
        SensorCodec().edge(2, start=np.eye(2))
    for start in (np.eye(3), np.zeros((2, 2))):
        with pytest.raises(ValueError, match="orthogonal matrix of shape"):
            codec().edge(2, start=start)
    with pytest.raises(PacketError):
        codec().edge(2).handle(b"nothing")
