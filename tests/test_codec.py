"""Sensor streams: error bounds, bit-identical sides, damage, files."""

import copy
import zlib
from contextlib import nullcontext

import numpy as np
import pytest

from sensors import decoded, made_stream, relative_error, sent
from thresher import SensorCodec
from thresher.linalg import n_givens_angles
from thresher.tasks.compression import Cloud, PacketError, VersionError, writing
from thresher.tasks.compression.batch import Mode, Quantiser, coded, written
from thresher.tasks.compression.dictionary import read_dictionary, rotation_towards
from thresher.tasks.compression.entropy import BitReader, BitWriter
from thresher.tasks.compression.grid import GRIDS, Grid
from thresher.tasks.compression.kernels.transform import _fill
from thresher.tasks.compression.packet import Kind, packed, unpacked
from thresher.tasks.compression.state import CodecState
from thresher.testing import damaged

# ------------------------------------------------------------------- round trips


@pytest.mark.parametrize("error", [0.002, 0.02, 0.1, 0.3])
@pytest.mark.parametrize("decimals", [1, 12])
def test_error_bound_holds_after_every_packet(error, decimals):
    Y = made_stream(decimals=decimals)
    edge, cloud = SensorCodec(error=error).edge(8), Cloud()
    rows = []
    for i in range(0, len(Y), 100):
        rows.append(decoded(edge.send(Y[i : i + 100]), cloud))
        so_far = np.vstack(rows)
        assert relative_error(so_far, Y[: len(so_far)]) <= error * (1 + 1e-12)
    np.testing.assert_array_equal(np.isnan(so_far), np.isnan(Y))
    np.testing.assert_allclose(edge.relative_error_, relative_error(so_far, Y))


def test_missing_sensors_are_given_what_the_large_codes_say():
    rng = np.random.default_rng(0)
    D, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    c, least = np.array([2.0, -1.5, 0.4, 1.0, -0.3, 3.0]), 0.5
    said = np.where(np.abs(c) > least, c, 0) @ D
    for present in (np.arange(6) % 2 == 0, np.arange(6) % 2 == 1, np.zeros(6, bool)):
        innovation = rng.standard_normal(6)
        expected = np.where(present, innovation, said)
        _fill(D, c, least, present, innovation)
        np.testing.assert_allclose(innovation, expected)


def test_bound_is_spent():
    Y = made_stream(decimals=12)
    data, _ = SensorCodec(error=0.05).compress(Y)
    assert relative_error(SensorCodec.decompress(data)[0], Y) > 0.04


def test_coarse_grid_spends_the_bound_on_both_sides_of_a_jump():
    Y = made_stream(n=800, decimals=0, missing=0.02)
    data, edge = SensorCodec(error=0.03).compress(Y)
    assert relative_error(SensorCodec.decompress(data)[0], Y) > 0.025
    assert edge.n_packets_["rows"] <= 2


@pytest.mark.parametrize("scale", [1, 10, 0.1])
def test_lossless_on_a_grid(scale):
    Y = made_stream(decimals=0) * (1 if scale == 1 else 10)
    Y = Y / 10 / (1 / scale) if scale == 0.1 else Y
    data, _ = SensorCodec(error=0).compress(Y)
    values, _ = SensorCodec.decompress(data)
    np.testing.assert_allclose(values, Y, rtol=1e-15)
    assert len(data) < Y.size  # less than a byte for each value


def test_tenths_come_back_as_the_same_doubles():
    Y = made_stream(decimals=1)
    values, _ = SensorCodec.decompress(SensorCodec(error=0).compress(Y)[0])
    np.testing.assert_array_equal(values, Y)


def test_float32_and_integers_are_taken():
    Y = made_stream(missing=0.02)[:100]
    assert relative_error(decoded(sent(SensorCodec(error=0.01), Y.astype(np.float32))[0]), Y) < 0.01
    whole = np.nan_to_num(Y).astype(np.int16)
    np.testing.assert_array_equal(decoded(sent(SensorCodec(error=0), whole)[0]), whole)


@pytest.mark.parametrize("case", ["silent", "one sensor", "zeros", "one row", "jumps", "no rows"])
def test_odd_streams(case):
    Y = made_stream()[:120].copy()
    if case == "silent":
        Y[:50] = np.nan
        Y[:, 3] = np.nan
    elif case == "one sensor":
        Y = Y[:, :1]
    elif case == "zeros":
        Y[:60] = 0
    elif case == "one row":
        Y = Y[:1]
    elif case == "jumps":
        Y[::7] *= 1e10
    else:
        Y = Y[:0]
    codec = SensorCodec(error=0.02, batch_size=40)
    values, _ = SensorCodec.decompress(codec.compress(Y)[0])
    np.testing.assert_array_equal(np.isnan(values), np.isnan(Y))
    if len(Y):
        assert np.nansum((values - Y) ** 2) <= 0.02**2 * np.nansum(Y**2) * (1 + 1e-12)


# ---------------------------------------------------------------- few codes in a row


def test_largest_codes_and_a_dictionary_when_the_error_passes_the_bound():
    rng = np.random.default_rng(0)
    atoms = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    codes = rng.normal(size=(600, 12)) * (rng.random((600, 12)) < 0.1)
    Y = np.cumsum(codes @ atoms, axis=0)
    packets, edge = sent(SensorCodec(error=0.05, n_nonzero=3), Y)
    kinds = [unpacked(packet).kind for packet in packets]
    assert kinds[0] == Kind.KEYFRAME
    assert edge.n_packets_["dictionary"] >= 1
    assert edge.n_packets_["lattice"] == 0
    cloud = Cloud()
    assert relative_error(decoded(packets, cloud), Y) < 0.055  # a threshold, not a promise
    np.testing.assert_allclose(cloud.components_ @ cloud.components_.T, np.eye(12), atol=1e-7)


def test_at_most_n_nonzero_numbers_in_a_row():
    Y = made_stream(missing=0.02)
    present = ~np.isnan(Y)
    state = CodecState.starting_at(np.full(8, 20.0))
    batch = coded(state, np.nan_to_num(Y), present, Quantiser(Mode.TRANSFORM, 0, 0.01, np.inf, 3))
    assert np.count_nonzero(batch.numbers, axis=1).max() == 3


def test_lattice_and_dictionary_are_taken_where_they_are_smaller(monkeypatch):
    """Of all ways to write a file the smallest is kept, and it keeps the bound."""
    rng = np.random.default_rng(1)
    Y = 5 + rng.normal(size=(600, 2)) @ rng.normal(size=(2, 12)) + 0.2 * rng.normal(size=(600, 12))
    sizes = {}
    for tried in (False, True):
        monkeypatch.setattr(writing, "_may_have_dictionaries", lambda *given, now=tried: now)
        data, edge = SensorCodec(error=0.15).compress(Y)
        assert relative_error(SensorCodec.decompress(data)[0], Y) <= 0.15
        sizes[tried] = len(data)
    codec = SensorCodec(error=0.15, batch_size=600)
    packets = writing._dictionary_edge(codec, Y, 1).send(Y)
    assert (sizes[True] < sizes[False]) == isinstance(edge, writing.DictionaryEdge)
    assert sizes[True] <= min(sizes[False], sum(map(len, packets)) + 100)


@pytest.mark.parametrize("n_rows", [1, 4, 9])
def test_dictionary_packets(n_rows):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    state = CodecState.starting_at(np.zeros(10))
    turn = rotation_towards(Q, state.D, 10).leading(n_rows, 10)
    assert len(turn.numbers) == n_givens_angles(10, n_rows)
    read_dictionary(state, turn.written())
    np.testing.assert_array_equal(state.D, turn.applied(np.eye(10)))
    np.testing.assert_allclose(state.D[:n_rows], Q[:n_rows], atol=0.05)
    np.testing.assert_allclose(state.D @ state.D.T, np.eye(10), atol=1e-7)


@pytest.mark.parametrize(("angle", "allowed"), [(1024, True), (1025, False), (-1025, False)])
def test_angles_of_more_than_a_turn_are_no_packet(angle, allowed):
    state = CodecState.starting_at(np.zeros(4))
    turn = rotation_towards(np.eye(4), state.D, 10).leading(2, 4)
    numbers = turn.numbers.copy()
    numbers[1] = angle
    with nullcontext() if allowed else pytest.raises(PacketError, match="more than a turn"):
        read_dictionary(state, turn._replace(numbers=numbers).written())


# ---------------------------------------------------------------- both sides alike


@pytest.mark.parametrize("error", [0.01, 0.2])
def test_sides_stay_bit_identical_over_long_streams(error):
    Y = made_stream(n=5000, N=5)
    packets, edge = sent(SensorCodec(error=error), Y, size=250)
    cloud = Cloud()
    decoded(packets, cloud)
    ours, theirs = edge._state, cloud.streams_[edge.stream_]._state
    for a, b in zip((*ours.rows, ours.told), (*theirs.rows, theirs.told), strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
    assert ours.clock == theirs.clock


@pytest.mark.parametrize("mode", list(Mode))
def test_coded_length_is_near_the_ideal(mode):
    Y = made_stream(n=2000, missing=0.02)
    present = ~np.isnan(Y)
    batch = coded(
        CodecState.starting_at(np.full(8, 20.0)),
        np.nan_to_num(Y),
        present,
        Quantiser(mode, 0, 0.3, 6.0),
    )
    whole = np.ones_like(present)
    if mode == Mode.LATTICE:
        batch = coded(
            CodecState.starting_at(np.full(8, 20.0)),
            np.nan_to_num(Y),
            whole,
            Quantiser(mode, 0, 0.3, 6.0),
        )
    n_bytes = len(written(batch, whole))
    assert batch.bits / 8 < n_bytes < 1.01 * batch.bits / 8 + 32


def test_numbers_of_any_size():
    numbers = np.array([0, 1, -1, 2, -3, 16, -17, 18, 1000, -(2**40)])
    chances = np.tile([2000, 2048, 1000, 900, 800], (len(numbers), 1)).astype(np.int32)
    writer = BitWriter()
    writer.numbers(numbers, chances)
    reader = BitReader(writer.getvalue())
    assert [reader.number(row.tolist()) for row in chances] == numbers.tolist()


def test_adaptive_chances_beat_fixed_laplace_on_other_laws():
    """Numbers that are never odd: the shape is learned."""
    rng = np.random.default_rng(0)
    Y = np.cumsum(2 * np.round(rng.normal(size=(3000, 1))), axis=0)
    batch = coded(
        CodecState.starting_at(np.zeros(1)),
        Y,
        np.ones(Y.shape, bool),
        Quantiser(Mode.LATTICE, GRIDS.index(Grid(1.0, 1.0)), 1.0),
    )
    _, counts = np.unique(np.diff(Y[:, 0]), return_counts=True)
    share = counts / counts.sum()
    entropy = -(share * np.log2(share)).sum()
    assert batch.bits / len(Y) < 1.25 * entropy


# -------------------------------------------------------------------------- damage


def test_a_lost_packet_is_noticed_and_a_keyframe_heals_it():
    Y = made_stream()
    edge, cloud = SensorCodec(error=0.02, buffer_size=0).edge(8), Cloud()
    decoded(edge.send(Y[:100]), cloud)
    edge.send(Y[100:200])  # lost
    for packet in edge.send(Y[200:300]):
        result = cloud.receive(packet)
        assert result.values is None
        assert "lost" in result.problem
    for packet in edge.handle(result.request):
        assert cloud.receive(packet).problem is None
    assert cloud.gaps_ == [(100, 300)]
    (last,) = edge.send(Y[300:400])
    result = cloud.receive(last)
    assert result.start == 300
    assert relative_error(result.values, Y[300:400]) < 0.03


@pytest.mark.parametrize("buffer_size", [0, 2**20])
def test_a_poor_line(buffer_size):
    """Packets are lost, damaged and doubled, requests are lost: what arrives is right."""
    rng = np.random.default_rng(0)
    Y = made_stream(n=1500)
    edge, cloud = SensorCodec(error=0.02, buffer_size=buffer_size).edge(8), Cloud()
    values, known = np.full(Y.shape, np.nan), np.zeros(len(Y), bool)
    for i in range(0, len(Y), 30):
        line = edge.send(Y[i : i + 30])
        while line:
            packet, luck = line.pop(0), rng.random()
            if luck < 0.05:
                continue
            if luck < 0.1:
                at = rng.integers(len(packet))
                packet = packet[:at] + bytes([packet[at] ^ 1]) + packet[at + 1 :]
            elif luck > 0.95:
                line.insert(0, packet)
            result = cloud.receive(packet)
            if result.values is not None:
                rows = slice(result.start, result.start + len(result.values))
                values[rows], known[rows] = result.values, True
            if result.request is not None and rng.random() < 0.9:
                line = edge.handle(result.request)
    assert known.all() if buffer_size else 0.5 < known.mean() < 1
    lost = [t for start, stop in cloud.gaps_ for t in range(start, stop)]
    assert set(lost) == set(np.flatnonzero(~known[: cloud.n_rows_]))
    np.testing.assert_array_equal(np.isnan(values[known]), np.isnan(Y[known]))
    assert relative_error(values[known], Y[known]) < 0.025


def test_the_dictionary_comes_again_after_a_loss():
    rng = np.random.default_rng(0)
    Y = np.cumsum(rng.normal(size=(400, 1)) * np.ones(10) + 0.01 * rng.normal(size=(400, 10)), 0)
    edge, cloud = SensorCodec(error=0.05, n_nonzero=2, buffer_size=0).edge(10), Cloud()
    decoded(edge.send(Y[:200]), cloud)
    assert edge.n_packets_["dictionary"] >= 1
    edge.send(Y[200:250])
    result = cloud.receive(edge.send(Y[250:300])[-1])
    answer = edge.handle(result.request)
    assert [unpacked(packet).kind for packet in answer] == [Kind.KEYFRAME, Kind.DICTIONARY]
    values = decoded([*answer, *edge.send(Y[300:])], cloud)
    assert relative_error(values, Y[300:]) < 0.055


def test_duplicates_and_late_packets_are_left_out():
    Y = made_stream()
    packets, _ = sent(SensorCodec(error=0.02), Y)
    cloud = Cloud()
    decoded(packets[:3], cloud)
    again = cloud.receive(packets[1])
    assert again.values is None
    assert again.request is None
    assert "again" in again.problem
    early = cloud.receive(packets[5])
    assert early.values is None
    assert early.request is not None
    decoded(packets[3:5], cloud)  # and the one that waited
    assert "again" in cloud.receive(packets[5]).problem
    decoded(packets[6:], cloud)
    assert cloud.n_rows_ == len(Y)


def test_a_packet_of_another_stream_is_refused():
    packets, _ = sent(SensorCodec(error=0.02), made_stream())
    others, _ = sent(SensorCodec(error=0.02), made_stream(seed=1))
    cloud = Cloud()
    decoded(packets[:3], cloud)
    result = cloud.receive(others[3])
    assert result.values is None
    assert "not known here" in result.problem
    renamed = packed(unpacked(others[3])._replace(stream=unpacked(packets[0]).stream))
    result = cloud.receive(renamed)
    assert result.values is None
    assert "another state" in result.problem


def test_a_stream_must_begin_with_a_keyframe():
    packets, _ = sent(SensorCodec(error=0.02), made_stream())
    result = Cloud().receive(packets[1])
    assert "keyframe" in result.problem
    assert result.request is not None


@pytest.mark.parametrize("codec", [SensorCodec(error=0.02), SensorCodec(error=0.05, n_nonzero=2)])
def test_damage_never_passes_silently(codec):
    """Also with a checksum that fits: then the states differ, or the values are the same."""
    rng = np.random.default_rng(0)
    packets, _ = sent(codec, made_stream()[:160], size=40)
    cloud, truth = Cloud(), Cloud()
    for packet in packets:
        right = truth.receive(packet).values
        for i in range(60):
            data = damaged(packet, packets[rng.integers(len(packets))], rng)
            if i % 2 and len(data) >= 16:
                data = data[:-4] + zlib.crc32(data[:-4]).to_bytes(4, "little")
            trial = copy.deepcopy(cloud)
            try:
                result = trial.receive(data)
            except VersionError:
                continue
            if result.problem is None:
                np.testing.assert_array_equal(result.values, right)
            else:
                assert result.values is None
                assert trial.n_rows_ == cloud.n_rows_
        cloud.receive(packet)


def test_other_versions_are_refused_with_a_sentence():
    packet = unpacked(sent(SensorCodec(), made_stream())[0][0])
    content = bytearray(packed(packet)[:-4])
    content[0] = 9 << 4 | 1
    data = bytes(content) + zlib.crc32(content).to_bytes(4, "little")
    with pytest.raises(VersionError, match=r"version 9.*same release"):
        Cloud().receive(data)


def test_edge_and_cloud_tell_what_was_mixed_up():
    packets, edge = sent(SensorCodec(), made_stream())
    with pytest.raises(PacketError, match="not a request"):
        edge.handle(packets[0])
    request = Cloud().receive(b"").request
    assert "for the edge" in Cloud().receive(request).problem
    assert SensorCodec().edge(3).handle(request) == []


# ---------------------------------------------------------------------------- use


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"error": -0.1}, "0.02 for"),
        ({"error": 1}, "0.02 for"),
        ({"n_nonzero": 0}, "n_nonzero"),
        ({"batch_size": 10**6}, "batch_size"),
        ({"forgetting": "fast"}, "half-life"),
        ({"angle_bits": 1}, "angle_bits"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        SensorCodec(**settings)


def test_bad_rows():
    edge = SensorCodec().edge(3)
    with pytest.raises(ValueError, match="3 sensors"):
        edge.send(np.zeros((5, 4)))
    with pytest.raises(ValueError, match="infinite"):
        edge.send(np.full((5, 3), np.inf))
    with pytest.raises(TypeError, match="numbers"):
        edge.send([["a", "b", "c"]])
    for wrong, says in ((np.inf, "infinite"), (1e300, "beyond")):
        with pytest.raises(ValueError, match=says):
            SensorCodec().compress(np.full((3, 2), wrong))
    with pytest.raises(TypeError, match="numbers"):
        SensorCodec().compress(np.array([["a", "b"]]))
    with pytest.raises(ValueError, match="beyond"):
        edge.send(np.full((5, 3), 1e20))
    with pytest.raises(ValueError, match="positive"):
        SensorCodec().edge(3, reference=0)
    lossless = SensorCodec(error=0).edge(1)
    with pytest.raises(ValueError, match="more digits"):
        lossless.send([[np.pi], [np.e]])
    # An edge that refused rows goes on as if it had not been asked.
    np.testing.assert_array_equal(decoded(lossless.send([[1.0], [2.0]])), [[1.0], [2.0]])
    with pytest.raises(ValueError, match="groups"):
        SensorCodec().edge(10**6)
