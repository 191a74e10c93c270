"""Streams of any size: one row, many sensors, tiny and huge values, steps and grids."""

import numpy as np
import pytest

from sensors import decoded, made_stream, relative_error, sent
from thresher import SensorCodec
from thresher.tasks.compression import Cloud
from thresher.tasks.compression.batch import Mode, Quantiser, coded, read, written
from thresher.tasks.compression.grid import GRIDS, grid_of
from thresher.tasks.compression.state import CodecState


@pytest.mark.parametrize("n_nonzero", [None, 2])
@pytest.mark.parametrize("size", [1, 7, 33])
def test_a_last_block_of_one_row(n_nonzero, size):
    Y = made_stream(missing=0.02)[100 : 101 + 2 * size]
    codec = SensorCodec(error=0.02, n_nonzero=n_nonzero, batch_size=size)
    values, edge = decoded(codec.edge(8).send(Y)), codec.edge(8)
    blocks = [p for i in range(0, len(Y), size) for p in edge.send(Y[i : i + size])]
    np.testing.assert_array_equal(values, decoded(blocks))
    assert len(values) == len(Y)
    np.testing.assert_array_equal(np.isnan(values[-1]), np.isnan(Y[-1]))
    if n_nonzero is None:
        assert relative_error(values, Y) <= 0.02
    assert relative_error(values[-1:], Y[-1:]) < 0.2


def test_silence_costs_no_more_than_telling_of_it():
    """After a jump nobody expects another for as long as the sensor is silent."""
    size, spent, told = (lambda Y: len(SensorCodec(error=0.002).compress(Y[:, None])[0])), 0, 0
    for seed in (0, 2):
        rng = np.random.default_rng(seed)
        jumps = rng.random(800) < 0.15
        readings = np.cumsum(rng.normal(size=800) * np.where(jumps, 50, 1))
        rows = np.repeat(np.arange(800), 1 + jumps * rng.integers(3, 10, 800))
        silent = np.append(False, np.diff(rows) == 0)
        spent += size(np.where(silent, np.nan, readings[rows]))
        told += size(readings) + size(np.where(silent, np.nan, 1.0))
    assert spent < 1.05 * told


def test_wide_streams():
    Y = made_stream(n=100, N=140, missing=0.02)
    values = decoded(sent(SensorCodec(error=0.02), Y, size=50)[0])
    assert relative_error(values, Y) <= 0.02


@pytest.mark.parametrize("grid", [0, 20])
@pytest.mark.parametrize("step", [1e-9, 0.3, np.pi, 1e6])
def test_the_cloud_decodes_with_the_step_that_it_is_told(grid, step):
    Y = made_stream(missing=0.02)[:40]
    present, start = ~np.isnan(Y), CodecState.starting_at(np.full(8, 20.0))
    for mode in Mode:
        batch = coded(start, np.nan_to_num(Y), present, Quantiser(mode, grid, step, 6.0))
        np.testing.assert_allclose(batch.quantiser.step, step, rtol=2**-20)
        state = start.copy()
        values = read(state, written(batch, present))
        np.testing.assert_array_equal(values[present], batch.values[present])


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12])
@pytest.mark.parametrize("error", [1e-9, 0.02])
def test_any_unit_and_any_error(scale, error):
    Y = scale * made_stream(decimals=12)[:150]
    values, _ = SensorCodec.decompress(SensorCodec(error=error, batch_size=40).compress(Y)[0])
    assert relative_error(values / scale, Y / scale) <= error * (1 + 1e-12)


@pytest.mark.parametrize(
    "codec", [SensorCodec(error=0.02), SensorCodec(error=0.02, n_nonzero=2), SensorCodec(error=0)]
)
@pytest.mark.parametrize("sizes", [(1e9, 1e-20), (1e-20, 1e9), (1e15, 1e-5), (1e3, 1, 1e-3)])
def test_a_stream_may_change_its_size(codec, sizes):
    """From one batch to the next, by more than the digits of a double."""
    edge, cloud = codec.edge(3), Cloud()
    for i, size in enumerate(sizes):
        Y = size * np.rint(100 * made_stream(N=3, missing=0.02)[100 + 40 * i : 140 + 40 * i])
        if codec.error == 0 and size < 1e-5:
            continue
        Y = np.round(Y / 100, 5) if size >= 1e-5 else Y / 100
        Y = np.clip(Y, -1e15, 1e15)
        values = decoded(edge.send(Y), cloud)
        if codec.error == 0:
            np.testing.assert_array_equal(values, Y)
        elif size == max(sizes):
            assert relative_error(values, Y) < 0.05


def test_columns_of_next_to_nothing_are_no_hindrance():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(90, 6)) * [1, 1e-120, 1e-120, 1e-120, 1e-300, 0]
    Y[:30, 0] = 1  # so that only the small ones move at first
    edge = SensorCodec(error=0.02, batch_size=30).edge(6)
    assert relative_error(decoded(edge.send(Y)), Y) <= 0.02


def test_what_is_too_small_or_too_exact_is_refused():
    Y = made_stream(decimals=12)[:50]
    with pytest.raises(ValueError, match="smaller unit"):
        SensorCodec().compress(1e-40 * Y)
    with pytest.raises(ValueError, match="1e-09 at least"):
        SensorCodec(error=1e-12)


@pytest.mark.parametrize(
    ("values", "spacing"),
    [([1, 2, 3], 1), ([0.1, 0.25], 0.05), ([20, 40], 20), ([0.1, np.pi], 0), ([0, 0], 1)],
)
def test_grids(values, spacing):
    assert GRIDS[grid_of(np.array(values, float))].spacing == spacing
