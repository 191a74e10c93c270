"""Mathematics of compression: arithmetic coding, regressions, grids, Givens angles, integers."""

import numpy as np
import pytest

from thresher.linalg import from_givens, givens_angles, n_givens_angles
from thresher.published.orthogonal import DictionaryAngles
from thresher.streams.times import FORMATS, format_times, parse_times
from thresher.tasks.compression.columns import (
    pack_bytes,
    pack_integers,
    pack_texts,
    unpack_bytes,
    unpack_integers,
    unpack_texts,
)
from thresher.tasks.compression.kernels.arithmetic import (
    code_digits,
    code_integer,
    reader,
    writer,
    written,
)
from thresher.tasks.compression.kernels.rows import code_rows, fit_regressions, new_row_state
from thresher.tasks.compression.quantise import SPACINGS, grid_of, on_grid
from thresher.tasks.compression.wire import PacketError, Reader, number, signed

INTEGERS = {
    "constant": np.full(50, 7),
    "line": np.arange(50) * 3600,
    "parabola": np.arange(50) ** 2,
    "one": np.array([-3]),
    "none": np.array([], int),
    "noise": np.random.default_rng(0).integers(-9, 9, 500),
    "walk": np.cumsum(np.random.default_rng(1).integers(-9, 9, 500)),
    "extreme": np.array([2**63 - 1, -(2**63), 0, 2**63 - 1]),
    "large": np.random.default_rng(2).integers(-(2**60), 2**60, 40),
}


@pytest.mark.parametrize("values", INTEGERS.values(), ids=INTEGERS)
def test_integers_come_back(values):
    np.testing.assert_array_equal(unpack_integers(pack_integers(values), len(values))[0], values)


@pytest.mark.parametrize("data", [b"", b"abc" * 500, bytes(range(256)), bytes(3000)])
@pytest.mark.parametrize("effort", [1, 2])
def test_bytes_come_back_and_no_more_than_expected(data, effort):
    packed = pack_bytes(data, effort)
    assert unpack_bytes(packed, len(data)) == data
    for size in (len(data) + 1, max(len(data) - 1, 0)):
        if size != len(data):
            with pytest.raises(PacketError):
                unpack_bytes(packed, size)


CELLS = [
    ["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 03:00"],
    ["2024-03-31T01:30:00+01:00", "2024-03-31T03:00:00+02:00"],
    ["31.12.1999", "01.01.2000"],
    ["12/31/2026 11:59 PM", "01/01/2027 12:00 AM"],
    ["01 Feb 2026 10:00", "02 Feb 2026 10:00"],
    ["2024-02-30 00:00", "2024-02-28 00:00"],
    ["20:00:00.250", "20:00:00.500"],
    ["1", "2", "-3"],
    ["01", "2"],
    ["a\nb", "\\n", "", "é", "\ud800"],
    [""] * 4,
    [],
]


@pytest.mark.parametrize("cells", CELLS, ids=repr)
def test_cells_come_back_letter_by_letter(cells):
    assert unpack_texts(pack_texts(cells), len(cells), 2**26) == cells


@pytest.mark.parametrize("n", [1, 40])
def test_every_time_format_reads_what_it_writes(n):
    ticks = 1_700_000_000 + 86_400 * 7 * np.arange(n)
    for which in range(0, len(FORMATS), 1 if n == 1 else 37):
        from thresher.streams.times import Times, _layout

        scale = 10 ** _layout(FORMATS[which])[2]
        cells = format_times(Times(which, ticks * scale, np.zeros(n, int)))
        found = parse_times(cells)
        assert found is not None
        assert format_times(found) == cells


def test_integers_of_an_arithmetic_coder_come_back():
    rng = np.random.default_rng(0)
    values = [int(v) for v in rng.integers(1, 2**40, 50)] + [1, 2, 3]
    coder = writer(100)
    for value in values:
        code_integer(coder, np.int64(value))
        code_digits(coder, np.int64(value % 32), np.int64(5))
    coder = reader(written(coder))
    for value in values:
        assert code_integer(coder, np.int64(0)) == value
        assert code_digits(coder, np.int64(0), np.int64(5)) == value % 32


@pytest.mark.parametrize("steps", [1.0, 0.25])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_rows_decode_to_the_same_bits_and_states(steps, missing):
    rng = np.random.default_rng(0)
    Y = np.cumsum(rng.normal(size=(300, 5)), axis=0)
    present = rng.random(Y.shape) >= missing
    unbounded = np.full(5, np.inf)
    options = np.array([[0.0, 1.0]] * 5), np.full(5, steps), unbounded, unbounded, False
    coder, values, sender = writer(Y.size), Y.copy(), new_row_state(np.zeros(5))
    code_rows(sender, coder, values, present.copy(), not missing, *options)
    assert np.abs(values - Y)[present].max() <= steps / 2 + 1e-12
    again, there = np.zeros(Y.shape), np.ones(Y.shape, bool)
    receiver = new_row_state(np.zeros(5))
    code_rows(receiver, reader(written(coder)), again, there, not missing, *options)
    np.testing.assert_array_equal(there, present)
    assert again[present].tobytes() == values[present].tobytes()
    for a, b in zip(sender[:-2], receiver[:-2], strict=True):
        np.testing.assert_array_equal(a, b)


def test_unlikely_values_cost_and_likely_ones_do_not():
    sizes = []
    for Y in (np.zeros((2000, 1)), np.random.default_rng(0).normal(size=(2000, 1))):
        coder = writer(Y.size)
        unbounded = np.full(1, np.inf)
        unit = np.array([[0.0, 1.0]]), np.full(1, 0.1), unbounded, unbounded, False
        code_rows(new_row_state(np.zeros(1)), coder, Y.copy(), np.ones(Y.shape, bool), True, *unit)
        sizes.append(8 * len(written(coder)) / len(Y))
    entropy = 0.5 * np.log2(2 * np.pi * np.e) - np.log2(0.1)
    assert sizes[0] < 0.05
    assert entropy < sizes[1] < 1.1 * entropy


def test_regressions_are_least_squares():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 6)) @ rng.normal(size=(6, 6))
    M, weights = Z.T @ Z, np.zeros((3, 6))
    fit_regressions(M, 0.0, np.zeros((6, 6)), weights)
    for j in range(3):
        n = 3 + j
        expected = np.linalg.lstsq(Z[:, :n], Z[:, n], rcond=None)[0]
        np.testing.assert_allclose(weights[j, :n], expected, rtol=1e-6)


@pytest.mark.parametrize("grid", range(1, len(SPACINGS)))
def test_the_coarsest_grid_is_found(grid):
    values = on_grid(np.array([1.0, 7.0, 22.0]) * SPACINGS[grid], grid)
    assert grid_of(values) == grid
    assert grid_of(values[:2], grid) == grid


def test_a_known_grid_is_kept_while_values_lie_on_it():
    tenths, fifths = (int(np.flatnonzero(s == SPACINGS)[0]) for s in (0.1, 0.2))
    assert grid_of(np.array([0.2, 1.4]), tenths) == tenths
    assert grid_of(np.array([0.1, 1.4]), fifths) == tenths
    assert grid_of(np.array([np.pi, np.e])) == 0


@pytest.mark.parametrize("value", [0, 1, 127, 128, 2**32, 2**64 - 1])
def test_numbers_come_back(value):
    assert Reader(number(value)).number() == value
    assert Reader(signed(value // 2)).signed() == value // 2
    assert Reader(signed(-(value // 2))).signed() == -(value // 2)


@pytest.mark.parametrize("N", [1, 2, 3, 9])
@pytest.mark.parametrize("sign", [1, -1])
def test_givens_angles(N, sign):
    rng = np.random.default_rng(N)
    Q = np.linalg.qr(rng.normal(size=(N, N)))[0]
    Q[0] *= sign * np.sign(np.linalg.det(Q))
    angles, found = givens_angles(Q)
    assert found == sign
    assert len(angles) == N * (N - 1) // 2 == n_givens_angles(N)
    np.testing.assert_allclose(from_givens(angles, found, N), Q, atol=1e-14)


@pytest.mark.parametrize("bits", [8, 16, None])
def test_rounded_angles_make_a_dictionary_nearby(bits):
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    found = DictionaryAngles.of(Q, bits, with_sign=True).matrix(6)
    np.testing.assert_allclose(found @ found.T, np.eye(6), atol=1e-12)
    assert np.abs(found - Q).max() < (1e-12 if bits is None else 30 / 2**bits)
