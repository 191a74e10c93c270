"""What the codec accepts comes back: to the bit without error, with all rows, whoever is silent."""

import io

import numpy as np
import pytest

from thresher import SensorCodec
from thresher.tasks.compression import Cloud
from thresher.tasks.compression.files import compress_file, decompress_file

LOSSLESS = {
    "multiples of .1": np.arange(100)[:, None] * 0.1,
    "sums of .1": np.cumsum(np.full((50, 2), 0.1), axis=0),
    "single precision": np.arange(100, dtype=np.float32)[:, None] * np.float32(0.1),
    "negative zeros": np.array([[0.0, -0.0], [1.5, -1.0], [-0.0, 2.0]] * 9),
    "missing values": np.where(np.arange(90) % 4 == 0, np.nan, np.arange(90) * 0.1).reshape(-1, 3),
    "half precision": np.arange(30, dtype=np.float16)[:, None],
    "whole numbers": np.arange(30).reshape(-1, 2) ** 5,
}


def through_packets(codec, Y):
    edge, cloud = codec.edge(Y.shape[1]), Cloud()
    received = [cloud.receive(packet) for row in Y for packet in edge.send(row[None])]
    assert all(found.problem is None for found in received)
    return np.vstack([found.values for found in received if found.values is not None])


@pytest.mark.parametrize("asked", [{"error": 0}, {"error": 0.1, "max_error": 0}], ids=repr)
@pytest.mark.parametrize("name", LOSSLESS)
def test_no_error_is_lossless_to_the_bit(name, asked):
    Y, codec = LOSSLESS[name], SensorCodec(**asked)
    known = ~np.isnan(Y)
    for found in (SensorCodec.decompress(codec.compress(Y)[0])[0], through_packets(codec, Y)):
        np.testing.assert_array_equal(np.isnan(found), ~known)
        assert found.astype(Y.dtype)[known].tobytes() == Y[known].tobytes()


def test_a_lossless_stream_reports_no_error():
    edge = SensorCodec(error=0).edge(1)
    edge.send(LOSSLESS["multiples of .1"])
    assert edge.relative_error_ == 0


def test_bounds_without_error_are_those_of_the_column():
    Y = np.arange(200).reshape(-1, 2) * 0.1
    found, _ = SensorCodec.decompress(SensorCodec(error={0: 0, 1: 0.5}).compress(Y)[0])
    assert found[:, 0].tobytes() == Y[:, 0].tobytes()
    assert 0 < np.sqrt(np.mean(np.square(found[:, 1] - Y[:, 1]))) <= 0.5


@pytest.mark.parametrize(
    "Y", [np.arange(1, 9)[:, None] / 3, np.arange(9, dtype=np.longdouble)[:, None] / 10]
)
def test_digits_that_no_grid_or_double_holds_are_refused(Y):
    with pytest.raises(ValueError, match="error=0"):
        SensorCodec(error=0).compress(Y)


def test_lossless_codes_are_not_dropped():
    with pytest.raises(ValueError, match="n_nonzero"):
        SensorCodec(error=0, n_nonzero=2)


def test_corrections_of_a_file_are_checked():
    Y = LOSSLESS["multiples of .1"]
    packets = SensorCodec(error=0).edge(1).send(Y)
    for at in range(len(packets[-1])):
        damaged = bytearray(packets[-1])
        damaged[at] ^= 1
        cloud = Cloud()
        for packet in packets[:-1]:
            cloud.receive(packet)
        assert cloud.receive(bytes(damaged)).values is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parquet_without_error_is_lossless_to_the_bit(tmp_path, dtype):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "multiples": np.arange(100, dtype=dtype) * dtype(0.1),
        "zeros": np.where(np.arange(100) % 3, dtype(-0.0), dtype(1.5)),
        "tenths": np.round(np.arange(100) * 0.1, 1).astype(dtype),
    }
    source, target, back = (tmp_path / name for name in ("a.parquet", "a.thr", "b.parquet"))
    parquet.write_table(pyarrow.table(columns), source)
    compress_file(source, target, SensorCodec(error=0))
    decompress_file(target, back)
    found = parquet.read_table(back)
    for name, y in columns.items():
        assert found[name].to_numpy().tobytes() == y.tobytes()


@pytest.mark.parametrize("error", [0, 0.02])
@pytest.mark.parametrize(
    "text",
    ['a\n1.5\n""\n2.5\n', "a\n1.5\n\n2.5\n", "a\nNA\n1.5\nnan\n", 'a\nx\n""\n""\n'],
    ids=repr,
)
def test_one_column_of_csv_comes_back_with_all_rows(tmp_path, text, error):
    pandas = pytest.importorskip("pandas")
    source, target, back = (tmp_path / name for name in ("a.csv", "a.thr", "b.csv"))
    source.write_text(text)
    compress_file(source, target, SensorCodec(error=error))
    n_rows, _ = decompress_file(target, back)
    assert n_rows == text.count("\n") - 1
    assert len(pandas.read_csv(back)) == n_rows


def test_one_column_of_parquet_comes_back_as_csv_with_all_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.5, None, 2.25, None]})
    frame.to_parquet(tmp_path / "a.parquet")
    compress_file(tmp_path / "a.parquet", tmp_path / "a.thr", SensorCodec(error=0))
    decompress_file(tmp_path / "a.thr", tmp_path / "b.csv")
    text = (tmp_path / "b.csv").read_text()
    pandas.testing.assert_frame_equal(pandas.read_csv(io.StringIO(text)), frame)


@pytest.mark.parametrize("seed", range(4))
def test_streams_with_bounds_by_column_and_silent_sensors(seed):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(60, 6)) * 10.0 ** rng.integers(-2, 3, 6)
    Y = np.round(Y, 1) if seed % 2 else Y
    Y[rng.random(Y.shape) < 0.5] = np.nan
    asked = [0.1, "1%", 0.01, 1.0, "2%", 0.5]
    found = through_packets(SensorCodec(error=asked, batch_size=1), Y)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(Y))
    size = np.sqrt(np.nanmean(np.square(Y), axis=0))
    allowed = [
        float(e[:-1]) / 100 * s if isinstance(e, str) else e
        for e, s in zip(asked, size, strict=True)
    ]
    assert (
        np.sqrt(np.nanmean(np.square(found - Y), axis=0)) <= np.array(allowed) * (1 + 1e-9)
    ).all()


def test_a_column_of_tiny_values_is_within_its_bound():
    Y = np.stack([np.arange(20) * 0.5, np.arange(20) * 1e-200], axis=1)
    found = through_packets(SensorCodec(error=[0.1, 0.1], batch_size=3), Y)
    assert np.abs(found - Y).max() < 0.5
