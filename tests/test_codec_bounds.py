"""Each column its own unit and error; columns that come back as they were; Parquet; old files."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sensors import decoded, made_stream, relative_error
from thresher import SensorCodec
from thresher.cli import app
from thresher.tasks.compression import PacketError
from thresher.tasks.compression.files import compress_file, decompress_file
from thresher.tasks.compression.lossless import (
    packed_integers,
    packed_texts,
    unpacked_integers,
    unpacked_texts,
)
from thresher.tasks.compression.plain import plain_values, read_plain
from thresher.tasks.compression.row_batch import Batch

OLD = Path(__file__).parent / "data" / "codec_version_2"
THIRD = OLD.parent / "codec_version_3"


def units(decimals=2):
    """Degrees, pascals and shares, side by side."""
    Y = made_stream(N=3, decimals=12)[:300]
    return np.round((Y - 20) * [1, 300, 0.01] + [15, 101_300, 0.4], decimals)


def rms(decoded, Y):
    return np.sqrt(np.nanmean((decoded - Y) ** 2, axis=0))


# ------------------------------------------------------------------------ errors


@pytest.mark.parametrize("decimals", [2, 12])
@pytest.mark.parametrize("way", ["file", "stream"])
def test_each_column_keeps_its_own_bound(decimals, way):
    Y = units(decimals)
    size = np.sqrt(np.nanmean(Y**2, axis=0))
    for error, most in (
        ([0.1, 20.0, "1%"], [0.1, 20.0, 0.01 * size[2]]),
        ("1%", 0.01 * size),
        ({"temp": 0.3, "*": "0.1%"}, [0.3, 0.001 * size[1], 0.001 * size[2]]),
    ):
        codec = SensorCodec(error=error, batch_size=100)
        names = ["temp", "pressure", "share"]
        if way == "file":
            values, _ = SensorCodec.decompress(codec.compress(Y, names=names)[0])
        else:
            values = decoded(codec.edge(3, names=names).send(Y))
        found = rms(values, Y)
        assert (found <= np.array(most) * (1 + 1e-12)).all()
        if way == "file" and decimals == 12:
            assert (found > 0.5 * np.array(most)).all()  # and it is spent


@pytest.mark.parametrize("decimals", [1, 12])
@pytest.mark.parametrize("limit", [0.3, "2%", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]])
def test_no_value_passes_the_largest_error(decimals, limit):
    Y = made_stream(decimals=decimals)[:300]
    most = 0.02 * np.sqrt(np.nanmean(Y**2, axis=0)) if limit == "2%" else np.array(limit)
    codec = SensorCodec(error=0.1, max_error=limit)
    values, _ = SensorCodec.decompress(codec.compress(Y)[0])
    worst = np.nanmax(np.abs(values - Y), axis=0)
    assert (worst <= most * (1 + 1e-9)).all()
    assert (worst > 0).all()
    if limit != "2%":
        assert (np.nanmax(np.abs(decoded(codec.edge(8).send(Y)) - Y), axis=0) <= most + 1e-9).all()


def test_a_column_without_error_beside_others():
    Y = np.round(made_stream()[:200], 0)
    values, _ = SensorCodec.decompress(SensorCodec(error={0: 0, "*": 0.1}).compress(Y)[0])
    np.testing.assert_array_equal(values[:, 0], Y[:, 0])
    assert 0 < relative_error(values[:, 1:], Y[:, 1:]) <= 0.1


@pytest.mark.parametrize(
    "asked",
    [{"error": "x"}, {"error": -1}, {"error": {"a": "200%"}}, {"error": [0.1, None]},
     {"max_error": "much"}, {"max_error": -0.1}, {"error": 1.5},
     {"error": {"a": 1}, "n_nonzero": 2},
     {"buffer_size": -1}],
)  # fmt: skip
def test_bounds_that_make_no_sense(asked):
    with pytest.raises(ValueError, match=r".{20}"):
        SensorCodec(**asked)


@pytest.mark.parametrize("error", [{"b": 0.1}, [0.1, 0.2], {7: 1}])
def test_bounds_of_columns_that_are_not_there(error):
    with pytest.raises(ValueError, match=r"column"):
        SensorCodec(error=error).compress(np.ones((5, 3)), names=["x", "y", "z"])


def test_plain_values_keep_the_bounds_and_repeats_are_found():
    """What comes again exactly is a case for lzma, and that way is taken."""
    rng = np.random.default_rng(0)
    week = rng.normal(size=(300, 4)).round(3)
    Y = np.tile(week, (8, 1))
    data, _ = SensorCodec(error=0.001).compress(Y)
    assert relative_error(SensorCodec.decompress(data)[0], Y) <= 0.001
    once, _ = SensorCodec(error=0.001).compress(week)
    assert len(data) < 2 * len(once)
    Y[rng.random(Y.shape) < 0.1] = np.nan
    codec = SensorCodec(error=0.05)
    bounds = codec.edge(4)._bounds
    allowed = np.array([0.05**2 * np.nansum(Y**2)])
    plain = plain_values(Batch.of(Y), bounds, allowed, np.full(4, np.inf))
    values = read_plain(plain, *Y.shape)
    np.testing.assert_array_equal(np.isnan(values), np.isnan(Y))
    assert 0.03 < relative_error(values, Y) <= 0.05


# ------------------------------------------------------------------------ columns


def hours(pattern, n=500, step=3600):
    from datetime import UTC, datetime, timedelta

    start = datetime(2023, 12, 29, 5, tzinfo=UTC)
    return [(start + timedelta(seconds=step * i)).strftime(pattern) for i in range(n)]


PATTERNS = ["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%d/%m/%Y %H:%M", "%m/%d/%Y %I:%M:%S %p",
            "%d.%m.%Y %H:%M:%S", "%Y%m%d%H%M", "%d-%b-%Y %H:%M", "%Y-%m-%d %H:%M:%S.000",
            "%Y-%m-%dT%H:%M:%S+00:00", "%Y-%m-%dT%H:%M:%S+0100", "%s", "%s000", "%s.5",
            "%d/%m/%y %H:%M"]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regular_times_cost_next_to_nothing(pattern):
    cells = hours(pattern)
    for taken, most in ((cells, 60), (cells[:200] + cells[230:], 80)):
        packed = packed_texts(taken)
        assert unpacked_texts(packed, len(taken), 2**30) == taken
        assert len(packed) < most


@pytest.mark.parametrize(
    "cells",
    [
        ["2016-12-31 23:59:59", "2016-12-31 23:59:60", "2017-01-01 00:00:00"] * 5,
        ["2023-02-28", "2023-02-29", "2023-03-01"] * 5,
        ["0000-01-01", "0001-01-01", "9999-12-31"] * 5,
        ["1/2/2020", "01/02/2020", "13/1/2020"] * 5,
        [*hours("%Y-%m-%d %H:%M", 40), "n/a", "", "2024-01-01"],
        [f"{45000 + i / 24:.6f}" for i in range(300)],
        ["-0", "0", "-1", "+1", "00", "1.", ".5", "1e5"] * 4,
        ["99999999999999999999", "9223372036854775807", "-9223372036854775808"] * 4,
        ["ok", "fail", "ok\nfail", "\\n", "\ud800"] * 9,
        ["²", "１２", "2023-０1-01"] * 4,
    ],
)
def test_odd_cells_come_back_letter_by_letter(cells):
    assert unpacked_texts(packed_texts(cells), len(cells), 2**30) == cells


@pytest.mark.parametrize("kind", ["walk", "random", "extreme", "line", "none", "one"])
def test_whole_numbers_come_back(kind):
    rng = np.random.default_rng(0)
    numbers = {
        "walk": np.cumsum(rng.integers(-3, 4, 700)),
        "random": rng.integers(-(2**63), 2**63 - 1, 60),
        "extreme": np.array([2**63 - 1, -(2**63), 0, 2**63 - 1]),
        "line": np.rint(np.arange(505) * 1000 / 7).astype(np.int64),
        "none": np.empty(0, np.int64),
        "one": np.array([-5]),
    }[kind]
    packed = packed_integers(numbers)
    np.testing.assert_array_equal(unpacked_integers(packed, len(numbers)), numbers)
    if kind == "line":
        assert len(packed) < 30


# ------------------------------------------------------------------------ tables


def test_states_words_and_times_come_back_and_named_errors_hold(tmp_path):
    Y = made_stream(N=2)[:200]
    times = hours("%Y-%m-%dT%H:%MZ", 200)
    rows = [
        f"{times[i]},{i % 3},{a:.1f},{b * 100:.1f},{'ab'[i % 2]}"
        for i, (a, b) in enumerate(np.nan_to_num(Y, nan=20.0))
    ]
    source, target, back = (tmp_path / name for name in ("a.csv", "a.thr", "b.csv"))
    source.write_text("\n".join(["time,state,temp,other,who", *rows]) + "\n")
    run = CliRunner().invoke
    options = ["--error", "temp=0.2", "--error", "other=1%", "--max-error", "temp=0.7"]
    result = run(app, ["compress", str(source), str(target), *options])
    assert result.exit_code == 0, result.output
    assert run(app, ["decompress", str(target), str(back)]).exit_code == 0
    before, after = (
        [line.split(",") for line in p.read_text().splitlines()] for p in (source, back)
    )
    for kept in (0, 1, 4):
        assert [row[kept] for row in after] == [row[kept] for row in before]
    A, B = (np.array([row[2:4] for row in table[1:]], float) for table in (before, after))
    assert rms(B, A)[0] <= 0.2
    assert np.abs(B - A)[:, 0].max() <= 0.7 + 1e-9
    assert rms(B, A)[1] <= 0.01 * np.sqrt((A[:, 1] ** 2).mean())
    result = run(app, ["compress", str(source), str(target), "--error", "who=0.2"])
    assert "'who'" in result.output


def test_parquet_comes_back_with_its_types(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    Y, n = made_stream()[:120], 120
    some = [None if i % 7 == 0 else i for i in range(n)]
    table = arrow.table(
        {
            "time": arrow.array(np.arange(n) * 10**9, arrow.timestamp("ns", "Europe/Warsaw")),
            "day": arrow.array(np.arange(n).astype(np.int32), arrow.date32()),
            "count": arrow.array(some, arrow.int32()),
            "large": arrow.array([2**63 + i for i in range(n)], arrow.uint64()),
            "flag": arrow.array([i % 2 == 0 if i % 5 else None for i in range(n)]),
            "who": arrow.array(["a", "b,\n", None] * 40).dictionary_encode(),
            "note": arrow.array([f"x{i}" for i in range(n)], arrow.large_string()),
            "price": arrow.array([None, "1.50", "2.25"] * 40).cast(arrow.decimal128(9, 2)),
            "temp": arrow.array(np.float32(Y[:, 0])),
            "gaps": arrow.array(Y[:, 1], mask=np.isnan(Y[:, 1])),
            "inf": arrow.array([np.inf, 1.5, -0.0] * 40),
        }
    ).replace_schema_metadata({"pandas": '{"index": []}'})
    source, target, back = (tmp_path / name for name in ("a.parquet", "a.thr", "b.parquet"))
    parquet.write_table(table, source)
    report = compress_file(source, target, SensorCodec(error=0.02))
    assert report.names == ["temp", "gaps"]
    decompress_file(target, back)
    again = parquet.read_table(back)
    assert again.schema.remove_metadata() == table.schema.remove_metadata()
    assert again.schema.metadata[b"pandas"] == b'{"index": []}'
    for name in set(table.column_names) - {"temp", "gaps"}:
        assert again[name].to_pylist() == table[name].to_pylist(), name
    assert again["gaps"].null_count == table["gaps"].null_count
    found = np.column_stack([again[name].to_numpy() for name in report.names])
    assert relative_error(found, Y[:, :2]) <= 0.02
    compress_file(source, target, SensorCodec(error=0))
    decompress_file(target, back)
    for name in ("temp", "gaps"):
        same = parquet.read_table(back)[name].to_numpy(), table[name].to_numpy()
        np.testing.assert_array_equal(*same)
    decompress_file(target, tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text().startswith('"time","day","count"')


def test_files_and_streams_of_version_3_still_open(tmp_path):
    decompress_file(THIRD / "table.thr", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == (THIRD / "table.csv").read_bytes()
    data, cloud, found = (THIRD / "stream.bin").read_bytes(), SensorCodec().cloud(), []
    while data:  # rows with gaps and times, among them plain ones
        size = 2 + int.from_bytes(data[:2], "little")
        found.append(cloud.receive(data[2:size]))
        data = data[size:]
    assert all(received.problem is None for received in found)
    with np.load(THIRD / "stream.npz") as truth:
        for name in ("values", "times"):
            parts = [getattr(received, name) for received in found[1:]]
            np.testing.assert_array_equal(np.concatenate(parts), truth[name])


def test_files_of_version_2_still_open(tmp_path):
    decompress_file(OLD / "table.thr", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == (OLD / "table.csv").read_bytes()
    for name in ("dictionary", "paper"):
        values, about = SensorCodec.decompress((OLD / f"{name}.thr").read_bytes())
        # Values on a dictionary are products, which another processor may round differently.
        np.testing.assert_allclose(values, np.load(OLD / f"{name}.npy"), rtol=1e-13, atol=1e-13)
        assert about == {"station": "roof"}
    data = bytearray((OLD / "table.thr").read_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(PacketError, match=r".{20}"):
        SensorCodec.decompress(bytes(data))


# ------------------------------------------------------------------- next to a grid


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numbers_next_to_a_grid_come_back_to_their_last_bit(ending, tmp_path):
    """Miles from knots: not the doubles nearest to decimal fractions, though next to some."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    speed = np.tile([10.357019999999999, 8.05546, 11.50779, 12.658569999999999, 0.1 + 0.2], 30)
    warm = np.round(20 + np.sin(np.arange(150) / 9), 1)
    source, target, back = (tmp_path / name for name in (f"a.{ending}", "a.thr", f"b.{ending}"))
    if ending == "csv":
        lines = [f"{w!r},{s!r}" for w, s in zip(warm.tolist(), speed.tolist(), strict=True)]
        source.write_text("\n".join(["warm,speed", *lines, ""]))
    else:
        parquet.write_table(arrow.table({"warm": warm, "speed": speed}), source)
    report = compress_file(source, target, SensorCodec(error=0))
    assert report.names == ["warm"]  # the other is kept as it is written
    decompress_file(target, back)
    if ending == "csv":
        assert back.read_bytes() == source.read_bytes()
    else:
        np.testing.assert_array_equal(parquet.read_table(back)["speed"].to_numpy(), speed)


def test_an_error_finer_than_the_last_bit_is_refused_in_words(tmp_path):
    speed = np.tile([10.357019999999999, 8.05546, 12.658569999999999], 30).tolist()
    source = tmp_path / "a.csv"
    source.write_text("\n".join(["speed", *map(repr, speed), ""]))
    with pytest.raises(ValueError, match=r"finer than the last digit.* set 0"):
        compress_file(source, tmp_path / "a.thr", SensorCodec(max_error={"*": 1e-18}))
    assert not (tmp_path / "a.thr").exists()


def test_a_file_in_one_batch_is_tried_in_the_plain_way_once(tmp_path, monkeypatch):
    """And is no larger for it than the plain way, or the packets, would be."""
    from thresher.tasks.compression import edge

    seen = []
    plain_batch = edge.plain_batch
    monkeypatch.setattr(edge, "plain_batch", lambda *a: (seen.append(1), plain_batch(*a))[1])
    Y = np.round(made_stream(N=2, decimals=1)[:300], 1)
    small, _ = SensorCodec(error=0.01).compress(Y)
    assert not seen
    SensorCodec(error=0.01, batch_size=100).compress(Y)
    assert seen  # in several batches each is tried, or rests where it was hopeless
    edge_alone = SensorCodec(error=0.01, batch_size=len(Y)).edge(2)
    assert len(small) < sum(map(len, edge_alone.send(Y))) + 200


def test_files_and_streams_of_version_4_give_the_same_numbers_for_ever():
    """Values on no grid: a step, a unit or a model that changes would tell other numbers."""
    folder = OLD.parent / "codec_version_4"
    values, _ = SensorCodec.decompress((folder / "walk.thr").read_bytes())
    with np.load(folder / "walk.npz") as truth:
        np.testing.assert_allclose(values, truth["values"], rtol=1e-13)
    data, cloud, found = (folder / "walk.bin").read_bytes(), SensorCodec().cloud(), []
    while data:
        size = 2 + int.from_bytes(data[:2], "little")
        found.append(cloud.receive(data[2:size]))
        data = data[size:]
    assert all(received.problem is None for received in found)
    rows = np.vstack([each.values for each in found if each.values is not None])
    with np.load(folder / "stream.npz") as truth:
        np.testing.assert_allclose(rows, truth["values"], rtol=1e-13)
