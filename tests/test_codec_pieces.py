"""Pieces of the codec by themselves: rotations, claims, numbers as bits, searches, accounts."""

import itertools
import struct
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ortho_group

from thresher.linalg import n_givens_angles
from thresher.tasks.compression import limits, paper
from thresher.tasks.compression.dictionary import (
    MOST_ANGLE_BITS,
    Rotation,
    matched,
    read_dictionary,
    rotation_towards,
)
from thresher.tasks.compression.entropy import BitReader, BitWriter
from thresher.tasks.compression.grid import GRIDS, grid_of
from thresher.tasks.compression.kernels.adaptive_bits import ESCAPE
from thresher.tasks.compression.learners import Learners
from thresher.tasks.compression.lossless import packing
from thresher.tasks.compression.packet import PacketError
from thresher.tasks.compression.search import bits_at_error, least_slope, rows_over
from thresher.tasks.compression.state import CodecState


def orthogonal(N, seed, sign=1):
    D = ortho_group.rvs(N, random_state=seed)
    D[-1] *= sign * np.sign(np.linalg.det(D))
    return D


# ------------------------------------------------------------------------------ rotations


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("n_rows", [5, 2, 1])
def test_a_rotation_in_a_packet_turns_the_dictionary_of_the_reader(sign, n_rows):
    N, bits = 6, MOST_ANGLE_BITS
    cloud, D = orthogonal(N, 0), orthogonal(N, 1, sign)
    rotation = rotation_towards(D, cloud, bits)
    assert rotation.sign == sign
    assert rotation.n_rows == N - 1
    led = rotation.leading(n_rows, N)
    assert len(led.numbers) == n_givens_angles(N, n_rows)
    state = CodecState.starting_at(np.zeros(N))
    state.transform.D[:] = cloud
    state.transform.codes[:] = 1
    state.transform.moments[:] = 1
    read_dictionary(state, led.written())
    np.testing.assert_array_equal(state.D, led.applied(cloud))
    np.testing.assert_allclose(state.D @ state.D.T, np.eye(N), atol=1e-9)
    assert np.abs(state.D[:n_rows] - D[:n_rows]).max() < 4 * 2 * np.pi / 2**bits
    assert not state.transform.codes.any()  # of the old atoms
    assert not state.transform.moments.any()


def test_rotations_that_make_no_sense_are_refused():
    N = 4
    rotation = rotation_towards(orthogonal(N, 1), orthogonal(N, 0), 7)
    whole = rotation.written()

    def read(payload):
        read_dictionary(CodecState.starting_at(np.zeros(N)), payload)

    read(whole)
    read(struct.pack("<HbB", N - 1, -1, MOST_ANGLE_BITS) + whole[4:])
    for head in ((0, 1, 7), (N, 1, 7), (3, 0, 7), (3, 2, 7), (3, 1, 1), (3, 1, 13)):
        with pytest.raises(PacketError, match="header makes no sense"):
            read(struct.pack("<HbB", *head) + whole[4:])
    with pytest.raises(PacketError, match="header is cut"):
        read(whole[:3])
    with pytest.raises(PacketError, match="header makes no sense"):
        read(whole[:6])
    wide = Rotation(np.array([200, 0, 0, 0, 0, 0]), 1, 3, 7).written()
    with pytest.raises(PacketError, match="more than a turn"):
        read(wide)


def test_atoms_are_matched_by_likeness_and_sign():
    cloud = orthogonal(6, 3)
    order, signs = np.array([3, 1, 5, 0, 2, 4]), np.array([1, -1, 1, -1, -1, 1])
    D = (signs[:, None] * cloud)[order]
    np.testing.assert_allclose(matched(D, cloud), cloud, atol=1e-12)


def test_a_copy_of_a_state_shares_nothing_and_a_digest_sees_all_of_it():
    state = CodecState.starting_at(np.arange(3.0))
    copy = state.copy()
    assert copy.digest(5, 7) == state.digest(5, 7)
    assert (
        len({state.digest(5, 7), state.digest(6, 7), state.digest(5, 8), state.digest(7, 5)}) == 4
    )
    before = state.digest(5, 7)
    for part in copy._parts():
        for array in part:
            assert array.size
            kept = array.flat[0]
            array.flat[0] = not kept if array.dtype == bool else kept + 1
            assert copy.digest(5, 7) != before
            array.flat[0] = kept
    level = np.arange(3.0)
    began = CodecState.starting_at(level)
    began.lattice.level[0] = 9
    assert level[0] == 0  # it is the sender's
    assert state.digest(5, 7) == before


# ------------------------------------------------------------------------------ claims


@pytest.mark.parametrize(("n_values", "n_sensors"), [(1, 1), (512, 1), (511, 1), (100_000, 300)])
def test_bytes_stand_for_so_many_values(n_values, n_sensors):
    """``n (1 + N/256) / 512``, rounded up."""
    exact = n_values * (1 + n_sensors / 256) / limits.VALUES_PER_BYTE
    least = limits.least_bytes(n_values, n_sensors)
    assert exact <= least < exact + 1
    limits.check_claim(n_values, n_sensors, least)
    with pytest.raises(PacketError, match=f"which take {least} at least"):
        limits.check_claim(n_values, n_sensors, least - 1)
    assert len(limits.padded(b"", n_values, n_sensors)) == least
    assert limits.padded(b"x" * (least + 3), n_values, n_sensors) == b"x" * (least + 3)


def test_memory_grows_with_rows_and_with_squares_of_sensors():
    n, N = 1000, 40
    values = 8 * n * N
    state = limits.state_bytes(N)
    assert state >= 8 * (2 * N) ** 2  # second moments of 2N variables
    assert limits.packet_bytes(n, N) >= 2 * state + values
    assert limits.file_bytes(n, N) == values + state + limits.packet_bytes(n, N)
    grown = limits.file_bytes(2 * n, N) - limits.file_bytes(n, N)
    assert values < grown < 3 * values


# ------------------------------------------------------------------------------ bits


def test_numbers_come_back_from_bits_whatever_their_size():
    numbers = np.array([0, 1, -1, 2, -2, 3, 17, 18, 19, 20, 21, -300, 2**40, -(2**40), 0])
    chances = np.tile([2048, 1000, 3000, 500, 100], (len(numbers), 1))
    writer = BitWriter()
    writer.numbers(numbers, chances)
    reader = BitReader(writer.getvalue())
    assert [reader.number(row) for row in chances.tolist()] == numbers.tolist()


def test_decisions_come_back_and_likely_ones_cost_little():
    rng = np.random.default_rng(0)
    chances = rng.integers(1, 4096, 2000)
    bits = (rng.random(2000) < chances / 4096).astype(int)
    writer = BitWriter()
    writer.bits(bits, chances)
    data = writer.getvalue()
    np.testing.assert_array_equal(BitReader(data).bits(chances), bits)
    p = chances / 4096
    information = -np.log2(np.where(bits == 1, p, 1 - p)).sum() / 8
    assert information - 8 <= len(data) <= information + 8


@pytest.mark.parametrize(("length", "ends"), [(52, True), (60, True), (61, False)])
def test_a_number_without_end_is_refused(length, ends):
    """Not zero, positive, beyond all sizes that have chances; then how many bits it has."""
    ones = [1] * (ESCAPE - 1)
    bits = [0, 0, *ones, *[1] * length, 0, *[0] * length]
    writer = BitWriter()
    writer.bits(np.array(bits), np.full(len(bits), 2048))
    reader = BitReader(writer.getvalue())
    if ends:
        assert reader.number([2048] * 5) == ESCAPE + 2**length - 1
    else:
        with pytest.raises(PacketError, match="a number without end"):
            reader.number([2048] * 5)


@pytest.mark.parametrize("index", range(1, len(GRIDS)))
def test_a_grid_is_the_coarsest_that_holds_all_values(index):
    grid = GRIDS[index]
    k = np.array([0, 1, 3, 7, -11, 4])
    assert grid_of(k * grid.numerator / grid.denominator) == index


def test_values_without_a_grid():
    assert grid_of(np.zeros(0)) == 0
    assert GRIDS[grid_of(np.zeros(4))].spacing == 1
    assert grid_of(np.array([np.pi, np.e])) == 0
    # Beyond its digits a number lies on every grid, which tells nothing.
    assert grid_of(np.array([1e20, 3.0])) == 0
    assert grid_of(np.array([2.0**40 + 0.1, 0.3], np.float32)) == 0


# ------------------------------------------------------------------------------ searches


def _batch(error, bits=1.0, values=None):
    return SimpleNamespace(error=error, bits=bits, values=values)


@pytest.mark.parametrize("factor", [1.0, 300.0, 2.0**20])
def test_the_least_slope_that_keeps_the_error_is_found(factor):
    """Errors fall as 1/slope: the slope at the bound is known, up to a sixteenth of an octave."""
    allowed, n_values = 0.5, 40
    truth = 0.5 * n_values / allowed * factor
    fit = least_slope(lambda slope: _batch(allowed * truth / slope), allowed, n_values)
    assert fit.batch.error <= allowed
    coarse = 1 / 16 if factor < 2**16 else 4
    assert truth <= fit.slope <= truth * 2 ** (coarse + 1e-9)
    if factor < 2**16:
        assert fit.too_low < truth
        assert fit.over.error > allowed
        assert fit.slope / fit.too_low == pytest.approx(2 ** (1 / 16))
    assert least_slope(lambda slope: _batch(1.0), 0.0, n_values) is None
    assert least_slope(lambda slope: _batch(1.0), allowed, n_values) is None


def test_bits_follow_the_root_of_the_error():
    assert bits_at_error(_batch(0.4, 100.0), 0.1) == pytest.approx(200)
    assert bits_at_error(_batch(0.4, 100.0), 0.0) == 100


def test_the_first_rows_take_the_cheaper_side_of_a_jump():
    Y = np.zeros((5, 2))
    over = _batch(10.0, values=np.full((5, 2), 1.0))  # an error of 2 a row
    keeps = _batch(1.0, values=np.full((5, 2), 0.1))  # of 0.02
    fit = SimpleNamespace(over=over, batch=keeps)
    for allowed in (3.0, 5.0, 9.0):
        totals = [2 * k + 0.02 * (5 - k) for k in range(6)]
        most = max(k for k in range(6) if totals[k] <= 0.99 * allowed)
        assert rows_over(fit, Y, allowed) == most
    assert rows_over(SimpleNamespace(over=None, batch=keeps), Y, 3.0) == 0
    assert rows_over(SimpleNamespace(over=_batch(np.inf), batch=keeps), Y, 3.0) == 0
    assert rows_over(fit, Y, 1.1) == 0  # the bound is spent already


def test_accounts_never_fall_below_zero_and_begin_anew():
    learners = Learners([100.0], None)
    sums = [learners.account((100.0, 2), saved) for saved in (3.0, 2.0, -9.0, 4.0)]
    assert sums == [3, 5, 0, 4]
    assert learners.account((100.0, 1), 1.0) == 1
    learners.settle()
    assert learners.account((100.0, 2), 1.0) == 1


def test_candidates_are_the_leading_atoms_of_each_half_life():
    rng = np.random.default_rng(0)
    N = 9
    learners = Learners([50.0, None], None)
    learners.learn(np.full((3, N), np.nan))
    learners.learn(np.zeros((3, N)))
    assert learners.dictionaries() == {}
    sizes = np.linspace(4, 0.5, N)
    steps = rng.laplace(size=(200, N)) * sizes @ orthogonal(N, 2)
    learners.learn(steps)
    found = learners.candidates(np.eye(N), 7)
    rows = [1, 3, 8]
    assert [c.account for c in found] == list(itertools.product([50.0, None], rows))
    assert all(c.cost == len(c.rotation.written()) for c in found)
    assert [c.rotation.n_rows for c in found] == rows * 2
    for D in learners.dictionaries().values():
        energy = np.square(steps @ D.T).sum(axis=0)
        assert (np.diff(energy) <= 0).all()  # in falling order


# ------------------------------------------------------------------------------ the paper's packets


def test_a_dictionary_of_the_paper_comes_back_from_its_angles():
    N = 5
    for sign, number_bytes in itertools.product((-1, 1), paper.NUMBER_BYTES):
        D = orthogonal(N, 4, sign)
        state = paper.PaperState.starting(N)
        paper.read_dictionary(state, paper.written_dictionary(D, number_bytes, True))
        np.testing.assert_allclose(state.D, D, atol=10 * 2.0 ** (-4 * number_bytes))


def test_rows_of_the_paper_need_a_dictionary_and_their_length():
    N, D = 5, orthogonal(5, 4)
    writes, reads = paper.PaperState.starting(N), paper.PaperState.starting(N)
    rows = [paper.Codes(np.array([0, 3]), np.array([1.5, -2.0]))] * 3
    payload = paper.written(writes, rows, 8)
    with pytest.raises(PacketError, match="no dictionary came before"):
        paper.read(reads, payload)
    angles = paper.written_dictionary(D, 8, True)
    paper.read_dictionary(reads, angles)
    with pytest.raises(PacketError, match="another length"):
        paper.read(reads, payload[:-1])
    with pytest.raises(PacketError, match="another length"):
        paper.read(reads, payload + b"x")
    with pytest.raises(PacketError, match="header is cut"):
        paper.read_dictionary(reads, b"")
    far = angles[:2] + np.full(n_givens_angles(N), 7.0).tobytes()
    with pytest.raises(PacketError, match="more than a turn"):
        paper.read_dictionary(reads, far)
    assert reads.digest(1, 2) != reads.digest(2, 1)
    sent = reads.sent
    np.testing.assert_allclose(paper.read(reads, payload), [1.5 * D[0] - 2 * D[3]] * 3, atol=1e-9)
    assert reads.sent != sent


def test_bytes_packed_with_zstd_come_back_or_are_refused_without_it(monkeypatch):
    # Small numbers in no order: zstd codes them by their shares.
    rng = np.random.default_rng(0)
    data = np.clip(np.rint(rng.laplace(0, 0.4, 5000)), -9, 9).astype(np.int8).tobytes()
    packed = packing.packed(data)
    assert packed[0] == packing._ZSTD
    assert packing.unpacked(packed, len(data)) == data
    for size in (len(data) - 1, len(data) + 1):
        with pytest.raises(PacketError, match="another size"):
            packing.unpacked(packed, size)
    with pytest.raises(PacketError, match="does not unpack"):
        packing.unpacked(packed[:1] + bytes(b ^ 0x55 for b in packed[1:]), len(data))
    monkeypatch.setattr(packing, "_zstandard", lambda: None)
    with pytest.raises(PacketError, match=r"thresher\[codec\]"):
        packing.unpacked(packed, len(data))
    other = packing.packed(data)
    assert other[0] != packing._ZSTD
    assert packing.unpacked(other, len(data)) == data
