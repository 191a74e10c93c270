"""Compression: round trips within bounds, lost packets, files, refusals, through public names."""

import copy
import io
import json
import os
import pickle
import zlib

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from sensors import decoded, made_stream, relative_error, sent, write_csv
from thresher import SensorCodec
from thresher.cli import app
from thresher.tasks.compression import PacketError
from thresher.testing import damaged

RUN = CliRunner().invoke


def whole_stream(**options):
    Y = made_stream(**options)
    return np.where(np.isnan(Y), 20.0, Y)


def through_file(codec, Y):
    return SensorCodec.decompress(codec.compress(Y))[0]


def through_packets(codec, Y, size=100):
    return decoded(sent(codec, Y, size)[0])


WAYS = {"file": through_file, "packets": through_packets}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


# ------------------------------------------------------------------------------ errors


@ways
@pytest.mark.parametrize("error", [0.001, 0.02, 0.1, 0.5])
@pytest.mark.parametrize("decimals", [0, 2, 12])
def test_the_relative_error_is_within_the_bound(way, error, decimals):
    Y = made_stream(decimals=decimals)
    found = way(SensorCodec(error=error), Y)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(Y))
    assert relative_error(found, Y) <= error * (1 + 1e-9)


def test_the_error_holds_after_every_packet():
    Y = made_stream() * np.linspace(0.1, 3, 600)[:, None]
    packets, encoder = sent(SensorCodec(error=0.05), Y, 20)
    decoder, done = SensorCodec().decoder(), []
    for packet in packets:
        rows = decoder.decode(packet).rows
        done += [] if rows is None else [rows]
        found = np.vstack(done) if done else Y[:0]
        assert not len(found) or relative_error(found, Y[: len(found)]) <= 0.05
    assert encoder.relative_error_ == pytest.approx(relative_error(found, Y))
    expected = np.sqrt(np.nanmean(np.square(found - Y), axis=0))
    np.testing.assert_allclose(encoder.column_errors_, expected)
    assert encoder.n_rows_ == len(Y)


LOSSLESS = {
    "multiples of .1": np.arange(100)[:, None] * 0.1,
    "sums of .1": np.cumsum(np.full((50, 2), 0.1), axis=0),
    "single precision": np.arange(100, dtype=np.float32)[:, None] * np.float32(0.1),
    "negative zeros": np.array([[0.0, -0.0], [1.5, -1.0], [-0.0, 2.0]] * 9),
    "missing values": np.where(np.arange(90) % 4 == 0, np.nan, np.arange(90) * 0.1).reshape(-1, 3),
    "half precision": np.arange(30, dtype=np.float16)[:, None],
    "integers": np.arange(30).reshape(-1, 2) ** 5,
    "tenths": made_stream(),
    "one row": np.array([[1.0, np.nan, 3.0]]),
    "all missing": np.full((20, 2), np.nan),
    "constant": np.full((2000, 3), 7.0),
    "thirds": np.stack([np.arange(200) / 3, np.round(np.arange(200) / 3, 1)], axis=1),
    "any bits": np.random.default_rng(0).normal(size=(90, 2)) * [1e-9, 1e9],
}


@ways
@pytest.mark.parametrize("asked", [{"error": 0}, {"error": 0.1, "max_error": 0}], ids=repr)
@pytest.mark.parametrize("name", LOSSLESS)
def test_no_error_is_lossless_to_the_bit(way, name, asked):
    Y = LOSSLESS[name]
    known, found = ~np.isnan(Y), way(SensorCodec(**asked), Y)
    np.testing.assert_array_equal(np.isnan(found), ~known)
    assert found.astype(Y.dtype)[known].tobytes() == Y[known].tobytes()


@ways
@pytest.mark.parametrize("seed", range(3))
def test_each_column_keeps_its_own_bound(way, seed):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(60, 6)) * 10.0 ** rng.integers(-2, 3, 6)
    Y = np.round(Y, 1) if seed % 2 else Y
    Y[rng.random(Y.shape) < 0.5] = np.nan
    asked = [0.1, "1%", 0.01, 1.0, "2%", 0.5]
    found = way(SensorCodec(error=asked, batch_size=7), Y)
    size = np.sqrt(np.nanmean(np.square(Y), axis=0))
    allowed = [float(e[:-1]) / 100 * s if isinstance(e, str) else e
               for e, s in zip(asked, size, strict=True)]  # fmt: skip
    errors = np.sqrt(np.nanmean(np.square(found - Y), axis=0))
    assert (errors <= np.array(allowed) * (1 + 1e-9)).all()


@ways
def test_bounds_by_name_and_number_and_for_the_rest(way):
    Y = whole_stream()
    found = way(SensorCodec(error={0: 0, 1: 0.5, "*": "1%"}), Y)
    errors = np.sqrt(np.mean(np.square(found - Y), axis=0))
    assert errors[0] == 0
    assert 0 < errors[1] <= 0.5
    assert (errors[2:] <= 0.01 * np.sqrt(np.mean(Y**2, axis=0))[2:]).all()
    names = [f"s{j}" for j in range(8)]
    codec = SensorCodec(error={"s7": 0, "*": 0.1})
    again, _ = SensorCodec.decompress(codec.compress(Y, names=names))
    assert again[:, 7].tobytes() == Y[:, 7].tobytes()
    with pytest.raises(ValueError, match="s9"):
        SensorCodec(error={"s9": 0}).compress(Y, names=names)


@ways
@pytest.mark.parametrize("max_error", [0.2, "3%", {2: 0.05}])
def test_no_value_exceeds_the_largest_error(way, max_error):
    Y = made_stream()
    E = np.abs(np.nan_to_num(way(SensorCodec(error=0.2, max_error=max_error), Y) - Y))
    if max_error == 0.2:
        assert E.max() <= 0.2 * (1 + 1e-9)
    elif isinstance(max_error, dict):
        assert E[:, 2].max() <= 0.05 * (1 + 1e-9)
    else:
        assert (E.max(axis=0) <= 0.03 * np.abs(np.nan_to_num(Y)).max(axis=0)).all()


@pytest.mark.parametrize("scale", [1e-25, 1e-3, 1e10])
def test_the_unit_of_the_data_does_not_matter(scale):
    Y = made_stream(decimals=12)
    sizes = [len(SensorCodec().compress(Y * s)) for s in (1.0, scale)]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)


def test_a_column_of_tiny_values_is_within_its_bound():
    Y = np.stack([np.arange(20) * 0.5, np.arange(20) * 1e-200], axis=1)
    assert np.abs(through_packets(SensorCodec(error=[0.1, 0.1]), Y, 3) - Y).max() < 0.5


def test_sensors_that_were_missing_for_long_come_back_cheaply():
    """A missing sensor follows its prediction, which must not run away."""
    rng = np.random.default_rng(0)
    Y = np.round(50 + np.cumsum(rng.normal(size=(3000, 6)), axis=0))
    gappy = Y.copy()
    gappy[
        rng.integers(0, 3000, 12)[:, None] + np.arange(-200, 0), rng.integers(0, 6, 12)[:, None]
    ] = np.nan
    sizes = [len(SensorCodec(error=0.05).compress(A)) for A in (Y, gappy)]
    assert sizes[1] < 1.1 * sizes[0] + 300


@pytest.mark.parametrize("error", [0, 0.02])
def test_more_effort_takes_fewer_bytes_in_the_same_format(error):
    Y = made_stream(n=1500)
    sizes = []
    for effort in (1, 2, 3):
        data = SensorCodec(error=error, effort=effort).compress(Y)
        assert relative_error(SensorCodec.decompress(data)[0], Y) <= error
        sizes.append(len(data))
    assert sizes[2] <= 1.01 * sizes[1] <= 1.03 * sizes[0] <= 1.3 * sizes[2]


def test_files_are_smaller_than_packed_differences():
    Y = whole_stream(n=2000)
    packed = zlib.compress(np.diff(np.rint(10 * Y).astype("i2"), axis=0, prepend=0).T.tobytes(), 9)
    assert len(SensorCodec(error=0).compress(Y)) < 0.75 * len(packed)
    few = np.tile(np.random.default_rng(0).integers(0, 9, 50), 60)[:, None]
    assert len(SensorCodec(error=0).compress(few)) < 150  # repeats, which the row models miss


def test_the_same_rows_give_the_same_file_whatever_their_memory_layout():
    Y = made_stream()
    files = [SensorCodec().compress(A) for A in (Y, np.asfortranarray(Y), Y[::-1].copy()[::-1])]
    assert files[0] == files[1] == files[2]
    assert Y.tobytes() == made_stream().tobytes()


# ---------------------------------------------------------------------------- streams


@pytest.mark.parametrize("step", [3600, 0, "irregular"])
def test_times_come_back(step):
    Y = made_stream()[:90]
    rng = np.random.default_rng(0)
    T = 1_700_000_000 + (
        np.cumsum(rng.integers(0, 50, 90)) if step == "irregular" else step * np.arange(90)
    )
    for times in (T, T.astype("M8[s]")):
        encoder, decoder, found = SensorCodec().encoder(8), SensorCodec().decoder(), []
        for start in range(0, 90, 30):
            part = slice(start, start + 30)
            results = [decoder.decode(p) for p in encoder.encode(Y[part], times=times[part])]
            found += [result.times for result in results if result.times is not None]
        np.testing.assert_array_equal(np.concatenate(found), T)


def test_packets_can_be_filled():
    codec, Y = SensorCodec(batch_size=64), made_stream()
    encoder = codec.encoder(8, fill_packets=True)
    packets = [packet for row in Y for packet in encoder.encode(row[None])]
    assert encoder.n_packets_["rows"] == len(Y) // 64
    rest = encoder.flush()
    assert len(decoded(packets + rest)) == len(Y)
    assert sum(map(len, packets + rest)) < 0.7 * sum(map(len, sent(SensorCodec(), Y, 1)[0]))
    assert encoder.flush() == []


def test_a_known_size_is_used():
    Y = made_stream()
    encoder = SensorCodec(error=0.01).encoder(8, reference=100.0)
    found = decoded(encoder.encode(Y))
    assert np.sqrt(np.nanmean(np.square(found - Y))) <= 1.0
    assert np.sqrt(np.nanmean(np.square(found - Y))) > 0.02 * np.sqrt(np.nanmean(Y**2))


def deliver(decoder, encoder, packets):
    """Decode packets, and answer requests at once."""
    found = []
    queue = list(packets)
    while queue:
        result = decoder.decode(queue.pop(0))
        found += [] if result.rows is None else [(result.start, result.rows)]
        if result.request is not None:
            queue = encoder.handle(result.request) + queue
    return found


@pytest.mark.parametrize("trouble", ["lost", "damaged", "late", "twice"])
def test_lost_packets_are_sent_again(trouble):
    Y, rng = made_stream(), np.random.default_rng(0)
    packets, encoder = sent(SensorCodec(), Y, 20)
    truth = decoded(packets)
    arrived = list(packets)
    for at in (0, 5, 6, 20):
        if trouble == "lost":
            arrived[at] = None
        elif trouble == "damaged":
            arrived[at] = damaged(packets[at], packets[at], rng)
        elif trouble == "twice":
            arrived.insert(at, packets[at])
    if trouble == "late":
        arrived[3], arrived[8] = arrived[8], arrived[3]
    decoder = SensorCodec().decoder()
    found = deliver(decoder, encoder, [packet for packet in arrived if packet is not None])
    np.testing.assert_array_equal(np.vstack([rows for _, rows in found]), truth)
    assert [start for start, _ in found] == sorted({start for start, _ in found})
    assert decoder.gaps_ == []
    assert decoder.n_rows_ == len(Y)


def test_rows_that_nobody_has_any_more_are_gaps():
    Y = made_stream()
    codec = SensorCodec(buffer_size=0)
    encoder, decoder = codec.encoder(8), codec.decoder()
    kept = [encoder.encode(Y[i : i + 50]) for i in range(0, 600, 50)]
    found = []
    for i, packets in enumerate(kept[:6]):
        found += deliver(decoder, encoder, packets if i != 3 else [])
    more = encoder.encode(Y[:50])
    found += deliver(decoder, encoder, more)
    assert decoder.gaps_
    assert all(start < stop for start, stop in decoder.gaps_)
    lost = {t for start, stop in decoder.gaps_ for t in range(start, stop)}
    got = {start + i for start, rows in found for i in range(len(rows))}
    assert not lost & got
    assert lost | got == set(range(decoder.n_rows_))


@pytest.mark.parametrize("how", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_a_restored_encoder_is_a_stream_of_its_own(how):
    Y = made_stream()
    encoder, decoder = SensorCodec().encoder(8), SensorCodec().decoder()
    first = decoded(encoder.encode(Y[:300]), decoder)
    again = how(encoder)
    assert again.stream_ != encoder.stream_
    results = [decoder.decode(packet) for packet in again.encode(Y[300:])]
    assert {result.stream for result in results} == {again.stream_}
    assert results[1].start == 300
    assert decoder.n_rows_ == 600
    rest = np.vstack([result.rows for result in results if result.rows is not None])
    assert relative_error(np.vstack([first, rest]), Y) <= 0.02


def test_streams_are_never_mixed():
    Y = made_stream()
    codec, rows = SensorCodec(), {}
    encoders = [codec.encoder(8) for _ in range(3)]
    decoder = codec.decoder()
    for start in range(0, 300, 60):
        for k, encoder in enumerate(encoders):
            for packet in encoder.encode(Y[start : start + 60] + 10 * k):
                result = decoder.decode(packet)
                if result.rows is not None:
                    rows.setdefault(result.stream, []).append(result.rows)
    assert set(rows) == {encoder.stream_ for encoder in encoders} == set(decoder.streams_)
    for k, encoder in enumerate(encoders):
        assert relative_error(np.vstack(rows[encoder.stream_]), Y[:300] + 10 * k) <= 0.02
    assert decoder.decode(b"x" * 20).problem is not None


def test_a_decoder_that_starts_late_asks_for_a_keyframe():
    Y = made_stream()
    encoder, decoder = SensorCodec().encoder(8), SensorCodec().decoder()
    encoder.encode(Y[:200])
    found = deliver(decoder, encoder, encoder.encode(Y[200:300]))
    assert sum(len(rows) for _, rows in found) + sum(b - a for a, b in decoder.gaps_) == 300


def test_silent_streams_are_forgotten_when_memory_is_short():
    Y = made_stream(N=4)
    decoder = SensorCodec().decoder(max_bytes=500_000)
    encoders = [SensorCodec().encoder(4) for _ in range(20)]
    for encoder in encoders:
        for packet in encoder.encode(Y[:20]):
            decoder.decode(packet)
    assert encoders[-1].stream_ in decoder.streams_
    assert encoders[0].stream_ not in decoder.streams_


# ----------------------------------------------------------------------------- damage


@pytest.mark.parametrize("mode", ["auto", "paper"])
def test_damaged_packets_bring_nothing(mode):
    rng = np.random.default_rng(0)
    codec = SensorCodec(mode=mode, n_nonzero=2 if mode == "paper" else None)
    Y = whole_stream(N=5)[:60]
    packets, _ = sent(codec, Y, 20)
    truth = SensorCodec().decoder()
    for at, packet in enumerate(packets):
        right = truth.decode(packet).rows
        for _ in range(40):
            data = damaged(packet, packets[rng.integers(len(packets))], rng)
            if data in packets:
                continue
            decoder = SensorCodec().decoder()
            decoded_before = [decoder.decode(p) for p in packets[:at]]
            assert all(r.problem is None for r in decoded_before)
            try:
                result = decoder.decode(data)
            except PacketError:
                continue
            assert result.rows is None or np.array_equal(result.rows, right, equal_nan=True)
            assert result.problem is not None or result.rows is not None


def test_damaged_files_are_refused():
    rng = np.random.default_rng(0)
    whole = SensorCodec().compress(made_stream()[:100], about={"x": 1})
    for _ in range(200):
        data = damaged(whole, whole, rng)
        if data != whole:
            with pytest.raises(PacketError):
                SensorCodec.decompress(data)
    for n in (0, 3, 4, 11, len(whole) - 1):
        with pytest.raises(PacketError):
            SensorCodec.decompress(whole[:n])


def forged(data, at, value):
    """The same file with some bytes changed, and a checksum that fits."""
    changed = bytearray(data[:-4])
    changed[at : at + len(value)] = value
    return bytes(changed) + zlib.crc32(changed).to_bytes(4, "little")


def test_forged_files_are_refused_before_memory_is_taken():
    whole = SensorCodec().compress(made_stream()[:100])
    for at in range(4, len(whole) - 4, 3):
        for value in (b"\xff", b"\x00", b"\xff\xff\xff\xff\x7f"):
            try:
                found, _ = SensorCodec.decompress(forged(whole, at, value), max_bytes=2**26)
            except PacketError:
                continue
            assert found.nbytes < 2**26
    for bound in (1000, 100_000):
        with pytest.raises(PacketError, match="max_bytes"):
            SensorCodec.decompress(whole, max_bytes=bound)
    other = forged(whole, 3, b"\x09")
    with pytest.raises(PacketError, match="version"):
        SensorCodec.decompress(other)


def test_few_bytes_cannot_stand_for_many_values():
    data = SensorCodec(error=0).compress(np.zeros((30_000, 3)))
    assert 8 * 30_000 * 3 / len(data) < 8 * 512


@pytest.mark.parametrize("packet", [None, "text", 5])
def test_packets_are_bytes(packet):
    with pytest.raises(TypeError):
        SensorCodec().decoder().decode(packet)


def test_requests_and_packets_are_told_apart():
    packets, encoder = sent(SensorCodec(), made_stream()[:100])
    decoder = SensorCodec().decoder()
    request = decoder.decode(packets[1]).request
    assert decoder.decode(request).problem is not None
    with pytest.raises(PacketError):
        encoder.handle(packets[0])
    assert SensorCodec().encoder(8).handle(request) == []


# -------------------------------------------------------------------------- refusals


REFUSED = {
    "error": [-1, 1.0, np.nan, "x", "200%", None, 1e-12, [], {"a": -1}],
    "max_error": [-1, "x", np.inf],
    "effort": [0, 4, 1.5, True],
    "batch_size": [0, 10**6, 2.0],
    "buffer_size": [-1, "x"],
    "mode": ["lattice", None],
    "n_nonzero": [2, 0],
    "forgetting": [-1, 100.0],
    "angle_bits": [1, 8],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in REFUSED.items() for v in vs])
def test_invalid_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        SensorCodec(**{name: value}).compress(made_stream()[:10])


@pytest.mark.parametrize(
    ("Y", "kind"),
    [
        ([["a"]], TypeError),
        ([1.0, 2.0], ValueError),
        ([[np.inf]], ValueError),
        ([[1e16]], ValueError),
        ([[1e-40]], ValueError),
        (np.ones((3, 0)), ValueError),
    ],
)
def test_invalid_rows_are_refused(Y, kind):
    with pytest.raises(kind):
        SensorCodec().compress(Y)


def test_digits_that_no_double_holds_are_refused():
    with pytest.raises(ValueError, match="error=0"):
        SensorCodec(error=0).compress(np.arange(9, dtype=np.longdouble)[:, None] / 10)


def test_invalid_encoders_are_refused():
    for options in ({"n_sensors": 0}, {"n_sensors": 5000}, {"n_sensors": 2, "reference": -1.0},
                    {"n_sensors": 2, "start": np.eye(2)}):  # fmt: skip
        with pytest.raises(ValueError):
            SensorCodec().encoder(**options)
    encoder = SensorCodec().encoder(2)
    before = encoder.n_rows_
    for rows, times in (([[1.0]], None), ([[1.0, 2.0]], [1.5]), ([[1.0, 2.0]], [1, 2])):
        with pytest.raises(ValueError):
            encoder.encode(rows, times=times)
    assert encoder.n_rows_ == before


# ------------------------------------------------------------------------- paper mode


def three_sparse(n=240, N=8):
    rng = np.random.default_rng(0)
    C = rng.normal(size=(n, N)) * (rng.random((n, N)).argsort(axis=1) < 3)
    return C @ np.linalg.qr(rng.normal(size=(N, N)))[0]


@pytest.mark.parametrize("options", [{}, {"angle_bits": 12}, {"forgetting": 500.0}])
@ways
def test_the_scheme_of_paper_d(way, options):
    Y = three_sparse(720)
    codec = SensorCodec(error=0.1, mode="paper", n_nonzero=3, **options)
    found = way(codec, Y)
    assert relative_error(found, Y) < 0.25
    assert relative_error(found[-100:], Y[-100:]) < 0.2


def test_a_dictionary_is_sent_when_the_error_passes_the_threshold():
    Y = three_sparse()
    counts = []
    for error in (0.05, 0.5):
        codec = SensorCodec(error=error, mode="paper", n_nonzero=3)
        packets, encoder = sent(codec, Y, 6)
        decoder = codec.decoder()
        decoded(packets, decoder)
        assert encoder.components_.shape == decoder.components_.shape == (8, 8)
        counts.append(encoder.n_packets_["dictionary"])
    assert counts[0] > counts[1] > 0


def test_paper_streams_survive_a_lost_packet():
    Y = three_sparse()
    codec = SensorCodec(error=0.1, mode="paper", n_nonzero=3)
    encoder, decoder = codec.encoder(8), codec.decoder()
    packets = encoder.encode(Y)
    truth = decoded(packets)
    found = deliver(decoder, encoder, packets[:4] + packets[5:])
    np.testing.assert_array_equal(np.vstack([rows for _, rows in found]), truth)


@pytest.mark.parametrize(
    "options",
    [{}, {"n_nonzero": 2, "max_error": 0.1}, {"n_nonzero": 2, "error": "1%"},
     {"n_nonzero": 2, "angle_bits": 99}],
)  # fmt: skip
def test_paper_mode_checks_its_parameters(options):
    with pytest.raises(ValueError):
        SensorCodec(mode="paper", **options)


# ------------------------------------------------------------------------------ files


def round_trip(tmp_path, data, *options, back=".csv", source=".csv"):
    """Compress and decompress a file by the commands; the bytes that come back."""
    a, b, c = tmp_path / f"a{source}", tmp_path / "a.thr", tmp_path / f"b{back}"
    a.write_bytes(data)
    result = RUN(app, ["compress", str(a), str(b), *options])
    assert result.exit_code == 0, result.output
    result = RUN(app, ["decompress", str(b), str(c)])
    assert result.exit_code == 0, result.output
    return c.read_bytes()


CSV = {
    "times": "time,a,b\n2024-01-01 00:00,1.5,2\n2024-01-01 01:00,1.6,\n",
    "summer time": "t;a\r\n2024-03-31T01:00:00+01:00;1,5\r\n2024-03-31T03:00:00+02:00;1,2\r\n",
    "ids": 'id,name,a\n007,"x, y",1.50\n008,é,2.25\n',
    "blank lines": "\n\ntime,a\n1,2.5\n\n2,3.5\n",
    "no end": "time,a\n1,2.5\n2,3.5",
    "byte order mark": "\ufefftime,a\n1,2.5\n2,3.5\n",
    "old line ends": "time\ta\r1\t2.5\r2\t3.5\r",
    "text only": "t,who\n1700000000,a\n1700000060,b\n",
    "one column": "a\n1.5\n2.5\n",
    "many digits": "time,a\n1,0.1234567890123456789\n2,0.5\n",
    "exponents": "time,a\n1,1e-3\n2,2e5\n",
    "states": "time,state,a\n" + "".join(f"{i},{i % 2},{i / 10}\n" for i in range(40)),
    "quoted lines": 'time,note,a\n1,"two\nlines",2.5\n2,"""q""",3.5\n',
}


@pytest.mark.parametrize("name", CSV)
def test_csv_comes_back_byte_by_byte_without_error(tmp_path, name):
    data = CSV[name].encode()
    back = round_trip(tmp_path, data, "--error", "0")
    if name == "exponents":
        back = back.replace(b"0.001", b"1e-3").replace(b"200000.0", b"2e5")
    assert back == data


@pytest.mark.parametrize("error", ["0.003", "0.02", "1%"])
def test_csv_keeps_labels_and_the_error(tmp_path, error):
    pandas = pytest.importorskip("pandas")
    write_csv(tmp_path / "s.csv", made_stream())
    data = (tmp_path / "s.csv").read_bytes()
    again = [
        pandas.read_csv(io.BytesIO(d)) for d in (data, round_trip(tmp_path, data, "--error", error))
    ]
    assert list(again[0]["time"]) == list(again[1]["time"])
    Y, found = (frame.drop(columns="time").to_numpy() for frame in again)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(Y))
    bound = 0.01 if error == "1%" else float(error)
    assert relative_error(found, Y) <= bound


def test_bounds_of_the_command_line_name_columns(tmp_path):
    write_csv(tmp_path / "s.csv", made_stream())
    data = (tmp_path / "s.csv").read_bytes()
    back = round_trip(tmp_path, data, "--error", "5%", "--error", "s3=0", "--max-error", "s1=0.3")
    columns = [
        np.genfromtxt(io.BytesIO(d), delimiter=",", skip_header=1)[:, 1:] for d in (data, back)
    ]
    np.testing.assert_array_equal(columns[0][:, 3], columns[1][:, 3])
    assert np.nanmax(np.abs(columns[0][:, 1] - columns[1][:, 1])) <= 0.3 + 1e-9


@pytest.mark.parametrize("text", ['a\n1.5\n""\n2.5\n', "a\n1.5\n\n2.5\n", "a\nNA\n1.5\nnan\n"])
@pytest.mark.parametrize("error", ["0", "0.02"])
def test_one_column_comes_back_with_all_rows(tmp_path, text, error):
    pandas = pytest.importorskip("pandas")
    back = round_trip(tmp_path, text.encode(), "--error", error)
    assert len(pandas.read_csv(io.BytesIO(back))) == text.count("\n") - 1


def arrow_table():
    """One column of each type, with nulls."""
    n = 60
    rng = np.random.default_rng(0)
    hours = np.arange(n).astype("M8[h]").astype("M8[us]")
    some = np.arange(n) % 7 == 3
    columns = {
        "time": pa.array(hours, pa.timestamp("us", tz="Europe/Warsaw")),
        "day": pa.array(hours.astype("M8[D]")),
        "word": pa.array(rng.choice(["a", "b", "é\n"], n)).dictionary_encode(),
        "text": pa.array([None if m else f"x{i}" for i, m in enumerate(some)]),
        "flag": pa.array(some, mask=some[::-1]),
        "count": pa.array(rng.integers(0, 2**60, n).astype(np.uint64)),
        "price": pa.array(np.arange(n)).cast(pa.decimal128(24, 2)),
        "length": pa.array(np.arange(n, dtype="m8[s]")),
        "nothing": pa.nulls(n),
        "float": pa.array(np.round(np.cumsum(rng.normal(size=n)), 1), mask=some),
        "single": pa.array(np.round(rng.normal(size=n), 2).astype(np.float32)),
        "thirds": pa.array(np.arange(n) / 3),
        "infinite": pa.array(np.where(some, np.inf, 1.5)),
    }
    return pa.table(columns).replace_schema_metadata({"kept": "yes"})


def test_parquet_comes_back_with_types_and_nulls(tmp_path):
    table, buffer = arrow_table(), io.BytesIO()
    parquet.write_table(table, buffer)
    table = parquet.read_table(io.BytesIO(buffer.getvalue()))
    data = round_trip(
        tmp_path, buffer.getvalue(), "--error", "0", back=".parquet", source=".parquet"
    )
    back = parquet.read_table(io.BytesIO(data))
    assert back.schema.equals(table.schema, check_metadata=True)
    assert back.equals(table)
    lossy = round_trip(
        tmp_path, buffer.getvalue(), "--error", "5%", back=".parquet", source=".parquet"
    )
    found = parquet.read_table(io.BytesIO(lossy))
    changed = {name for name in table.column_names if not found[name].equals(table[name])}
    assert changed <= {"float", "single", "thirds"}
    assert (
        round_trip(tmp_path, buffer.getvalue(), "--error", "0", source=".parquet").count(b"\n") > 60
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_of_parquet_are_lossless_to_the_bit(tmp_path, dtype):
    columns = {
        "multiples": np.arange(100, dtype=dtype) * dtype(0.1),
        "zeros": np.where(np.arange(100) % 3, dtype(-0.0), dtype(1.5)),
        "tenths": np.round(np.arange(100) * 0.1, 1).astype(dtype),
    }
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer)
    data = round_trip(
        tmp_path, buffer.getvalue(), "--error", "0", back=".parquet", source=".parquet"
    )
    found = parquet.read_table(io.BytesIO(data))
    for name, y in columns.items():
        assert found[name].to_numpy().tobytes() == y.tobytes()


def test_unsupported_types_are_named(tmp_path):
    parquet.write_table(pa.table({"a": [[1], [2]], "b": [1.5, 2.5]}), tmp_path / "a.parquet")
    result = RUN(app, ["compress", str(tmp_path / "a.parquet"), str(tmp_path / "a.thr")])
    assert result.exit_code == 1
    assert "'a'" in result.output


def test_csv_to_parquet(tmp_path):
    back = round_trip(tmp_path, CSV["times"].encode(), "--error", "0", back=".parquet")
    table = parquet.read_table(io.BytesIO(back))
    assert table["a"].to_pylist() == [1.5, 1.6]
    assert table["time"].to_pylist()[0] == "2024-01-01 00:00"


def test_arrays_come_back_as_csv_and_keep_what_is_said_about_them(tmp_path):
    Y = made_stream()[:20]
    data = SensorCodec().compress(Y, about={"place": "here"})
    assert SensorCodec.decompress(data)[1] == {"place": "here"}
    (tmp_path / "a.thr").write_bytes(data)
    assert RUN(app, ["decompress", str(tmp_path / "a.thr"), str(tmp_path / "a.csv")]).exit_code == 0
    assert (tmp_path / "a.csv").read_text().startswith("sensor 1,")


def test_a_lost_column_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{1e6 + rng.normal():.3f},{rng.random():.3f}" for _ in range(50)]
    (tmp_path / "a.csv").write_text("big,small\n" + "\n".join(lines) + "\n")
    result = RUN(app, ["compress", str(tmp_path / "a.csv"), str(tmp_path / "a.thr")])
    assert result.exit_code == 1
    assert "small" in result.output


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("time,a\n", "rows"),
        ("", "empty"),
        ("1,2\n3,4\n", "name"),
        ("time,a\n1,2,3\n", "Line 2"),
        ('time,a\n1,"2\n2,3\n', "quotes"),
        ("time\0,a\n1,2\n", "UTF-8"),
        ("a,b\n1,1e20\n2,3\n", "1e+15"),
        ("time,a\n1,inf\n2,5.5\n", "infinite"),
    ],
)
def test_unreadable_tables_are_refused(tmp_path, text, word):
    (tmp_path / "a.csv").write_text(text)
    result = RUN(app, ["compress", str(tmp_path / "a.csv"), str(tmp_path / "a.thr")])
    assert result.exit_code == 1
    assert word in result.output
    assert list(tmp_path.iterdir()) == [tmp_path / "a.csv"]


@pytest.mark.parametrize("link", ["same", "symbolic", "hard"])
def test_a_source_is_not_overwritten(tmp_path, link):
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    write_csv(source, made_stream()[:50])
    if link == "same":
        target = source
    else:
        target.symlink_to(source) if link == "symbolic" else os.link(source, target)
    before = source.read_bytes()
    for command in ("compress", "decompress"):
        assert RUN(app, [command, str(source), str(target)]).exit_code == 1
        assert source.read_bytes() == before


def test_commands_report_sizes_and_obey_limits(tmp_path):
    source, target = tmp_path / "a.csv", tmp_path / "a.thr"
    write_csv(source, made_stream())
    result = RUN(app, ["compress", str(source), str(target), "--json", "--effort", "1",
                       "--report", str(tmp_path / "a.html")])  # fmt: skip
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["bytes"] == target.stat().st_size
    assert told["relative_error"] <= 0.02
    assert list(told["kept"]) == ["time"]
    assert (tmp_path / "a.html").stat().st_size > 1000
    command = ["decompress", str(target), str(tmp_path / "b.csv"), "--max-bytes", "1000"]
    assert RUN(app, command).exit_code == 1
    assert not (tmp_path / "b.csv").exists()
    missing = tmp_path / "no" / "a.thr"
    assert RUN(app, ["compress", str(source), str(missing)]).exit_code == 1


def test_the_report_of_an_array(tmp_path):
    path = SensorCodec().report(
        tmp_path / "a.html", made_stream(), names=[f"<{j}>" for j in range(8)]
    )
    page = path.read_text()
    assert "&lt;3&gt;" in page
    assert "<3>" not in page
