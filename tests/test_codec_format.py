"""What bytes of the codec say, and where each setting has its limit.

Heads and frames are part of the format: they are put together here by hand.
"""

import binascii
import struct
import zlib

import numpy as np
import pytest

from thresher import SensorCodec
from thresher.tasks.compression import bounds as bounds_module
from thresher.tasks.compression.bounds import Bound, Bounds, bounds_of, checked_bound, scaled
from thresher.tasks.compression.clock import Clock, read_times, regular_times, written_times
from thresher.tasks.compression.grid import GRIDS, WHOLE, finest_common, grid_of
from thresher.tasks.compression.keyframe import MOST_SENSORS, Keyframe, parsed_keyframe
from thresher.tasks.compression.labels import unpacked_labels
from thresher.tasks.compression.limits import (
    check_claim,
    check_memory,
    file_bytes,
    least_bytes,
    most_rows,
    packet_bytes,
    padded,
    state_bytes,
)
from thresher.tasks.compression.lossless.parts import number, part, signed
from thresher.tasks.compression.packet import (
    Kind,
    Packet,
    PacketError,
    VersionError,
    mark,
    packed,
    tag,
    unpacked,
)
from thresher.tasks.compression.row_head import RowHead, Times, read_head
from thresher.tasks.compression.steps import ALL_ALIKE, EACH, SAME, Steps, read_steps

# ------------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("name", "good", "bad", "says"),
    [
        ("n_nonzero", [1, 2**31], [0, 2**31 + 1, 1.5, True], "whole number from 1 to 2147483648"),
        ("batch_size", [1, 65535], [0, 65536, "3"], "whole number from 1 to 65535"),
        ("angle_bits", [2, 12], [1, 13, 7.0], "from 2 to 12"),
        ("buffer_size", [0, 1, 10**9], [-1, 0.5, None], "number of bytes"),
        ("forgetting", ["auto", None, 1e-3, 7], [0, -1, np.nan, "never", True], "half-life"),
        ("as_printed", [False], [0, 1, "no", None], "True or False"),
        ("number_bytes", [8], [2, 16, 8.0, None], "8, for doubles, or 4"),
        ("mode", ["auto"], ["paper A", 1, None], "'auto' or 'paper'"),
    ],
)
def test_each_setting_of_the_codec_has_its_limits(name, good, bad, says):
    for value in good:
        assert getattr(SensorCodec(**{name: value}), name) == value
    for value in bad:
        with pytest.raises(ValueError, match=says) as caught:
            SensorCodec(**{name: value})
        assert f"{name}={value!r}" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"mode": "paper"}, "needs n_nonzero"),
        ({"mode": "paper", "n_nonzero": 1, "forgetting": 5}, "does not forget"),
        ({"as_printed": True}, "are for mode='paper'"),
        ({"number_bytes": 4}, "are for mode='paper'"),
        ({"n_nonzero": 1, "max_error": 0.1}, "without max_error"),
        ({"n_nonzero": 1, "error": "1%"}, "one error for all"),
        ({"n_nonzero": 1, "error": [0.1]}, "one error for all"),
    ],
)
def test_settings_that_do_not_go_together(settings, says):
    with pytest.raises(ValueError, match=says):
        SensorCodec(**settings)


def test_what_goes_together():
    paper = SensorCodec(mode="paper", n_nonzero=1, forgetting=None, as_printed=True, number_bytes=4)
    assert paper.rows_per_packet == 6  # Table I of the paper
    assert SensorCodec().rows_per_packet == 256
    assert SensorCodec(batch_size=9).rows_per_packet == 9
    assert SensorCodec(forgetting=None).half_lives() == (None,)
    assert SensorCodec(forgetting=30).half_lives() == (30.0,)
    assert len(SensorCodec().half_lives()) > 1


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"patience": -1}, "from 0 to 65535"),
        ({"patience": 65536}, "from 0 to 65535"),
        ({"patience": 1.0}, "from 0 to 65535"),
        ({"reference": 0}, "positive number"),
        ({"reference": -1.0}, "positive number"),
        ({"reference": np.nan}, "positive number"),
        ({"expected_rows": -1}, "whole number, or None"),
        ({"expected_rows": 1.5}, "whole number, or None"),
        ({"start": np.eye(3)}, "for mode='paper'"),
    ],
)
def test_an_edge_refuses_what_it_cannot_be(how, says):
    with pytest.raises(ValueError, match=says):
        SensorCodec().edge(3, **how)
    SensorCodec().edge(3, patience=65535, reference=1e-9, expected_rows=0)


def test_how_many_sensors_there_may_be():
    for n in (0, MOST_SENSORS + 1, 2.0, "3"):
        with pytest.raises(ValueError, match="whole number from 1 to 4096"):
            SensorCodec().edge(n)
    SensorCodec().edge(1)
    for codec in (SensorCodec(n_nonzero=1), SensorCodec(mode="paper", n_nonzero=1)):
        with pytest.raises(ValueError, match="leave n_nonzero out"):
            codec.edge(3, patience=1)
        codec.edge(3, patience=0)


@pytest.mark.parametrize("start", [np.eye(2), np.zeros((3, 3)), np.full((3, 3), np.nan)])
def test_a_start_must_be_a_dictionary(start):
    with pytest.raises(ValueError, match=r"orthogonal matrix of shape \(3, 3\)"):
        SensorCodec(mode="paper", n_nonzero=1).edge(3, start=start)


@pytest.mark.parametrize("Y", [np.zeros(4), np.zeros((2, 2, 2)), np.zeros((3, 0))])
def test_only_tables_are_compressed(Y):
    with pytest.raises(ValueError, match="shape"):
        SensorCodec().compress(Y)


# ------------------------------------------------------------------------ bounds


@pytest.mark.parametrize(
    ("value", "whole", "bound"),
    [
        (0.02, True, Bound(0.02, True)),
        (0.02, False, Bound(0.02, False)),
        ("2%", False, Bound(0.02, True)),
        (" 2 % ", True, Bound(0.02, True)),
        ("0.5", False, Bound(0.5, False)),
        (0, True, Bound(0.0, True)),
        (1e-9, True, Bound(1e-9, True)),
        (1e-12, False, Bound(1e-12, False)),
        (7, False, Bound(7.0, False)),
    ],
)
def test_a_bound_is_a_share_or_in_the_unit_of_its_column(value, whole, bound):
    found = checked_bound(value, "error", whole=whole)
    assert found == bound
    assert found.is_exact == (bound.size == 0)


@pytest.mark.parametrize(
    ("value", "whole"),
    [(1, True), (0.9e-9, True), ("100%", False), ("0.00000009%", False), (-1, False),
     (np.inf, False), (np.nan, True), ("x%", False), ("", False), (True, True), (None, False)],
)  # fmt: skip
def test_bounds_that_cannot_be_meant(value, whole):
    with pytest.raises(ValueError, match="and 1e-09 at least; or 0") as caught:
        checked_bound(value, "max_error", whole=whole)
    assert f"max_error={value!r}" in str(caught.value)
    assert ("in the unit of the column" in str(caught.value)) == (not whole)


NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("error", "groups", "errors"),
    [
        (0.1, [0, 0, 0], [Bound(0.1, True)]),
        ("1%", [0, 1, 2], [Bound(0.01, True)] * 3),
        ([1, 0, "5%"], [0, 1, 2], [Bound(1.0, False), Bound(0.0, False), Bound(0.05, True)]),
        ({"b": 1}, [0, 1, 0], [Bound(0.02, True), Bound(1.0, False)]),
        ({"b": 1, "*": 0.3}, [0, 1, 0], [Bound(0.3, True), Bound(1.0, False)]),
        ({0: 1, "*": "3%"}, [0, 1, 2], [Bound(1.0, False), *[Bound(0.03, True)] * 2]),
    ],
)
def test_columns_that_share_a_bound_are_a_group(error, groups, errors):
    found = bounds_of(error, None, 3, NAMES)
    assert found.groups.tolist() == groups
    assert found.errors == errors
    assert found.limits == [None] * 3


def test_largest_errors_are_of_columns():
    assert bounds_of(0.1, 2, 3, None).limits == [Bound(2.0, False)] * 3
    assert bounds_of(0.1, {"c": "5%"}, 3, NAMES).limits == [None, None, Bound(0.05, True)]
    assert bounds_of(0.1, {"c": 1, "*": 3}, 3, NAMES).limits[0] == Bound(3.0, False)
    limits = bounds_of(0.1, [1, None, "50%"], 3, None).largest(
        np.array([4, 4, 4]), np.array([1.0, 1.0, 36.0])
    )
    np.testing.assert_allclose(limits, [1, np.inf, 1.5])
    silent = bounds_of(0.1, "10%", 1, None).largest(np.zeros(1), np.zeros(1))
    np.testing.assert_array_equal(silent, [0.0])


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ({"d": 1}, "'d', which is no column of measurements; there are 'a', 'b', 'c'"),
        ({3: 1}, "3, which is no column"),
        ({-1: 1}, "-1, which is no column"),
        ([1, 2], "has 2 entries for 3 columns"),
    ],
)
def test_columns_that_are_not_there(error, says):
    with pytest.raises(ValueError, match=says):
        bounds_of(error, None, 3, NAMES)
    with pytest.raises(ValueError, match="there are 0 to 2"):
        bounds_of({"a": 1}, None, 3, None)


def test_what_groups_may_err_and_by_how_much_they_do():
    two = Bounds(np.array([0, 1, 0]), [Bound(0.1, True), Bound(2.0, False)], [None, None, None])
    counts, squares = np.array([3, 4, 3]), np.array([10.0, 20.0, 30.0])
    np.testing.assert_allclose(two.allowed(counts, squares), [0.01 * 40, 4 * 4])
    assert two.exact.tolist() == [False, False]
    Y = np.array([[1.0, 5.0, 2.0], [1.0, np.nan, 2.0]])
    assert two.excess(Y, Y) == 0
    E = np.array([[0.0, 3.0, 0.0], [0.0, np.nan, 0.0]])
    assert two.excess(Y + E, Y) == pytest.approx(3 / 2)
    E = np.array([[0.3, 0.0, 0.0], [0.0, np.nan, -0.4]])
    assert two.excess(Y + E, Y) == pytest.approx(0.5 / (0.1 * np.sqrt(10)))
    limited = Bounds(np.zeros(3, int), [Bound(0.9, True)], [Bound(0.1, False), None, None])
    assert limited.excess(Y + E, Y) == pytest.approx(3.0)
    exact = Bounds(np.zeros(3, int), [Bound(0.0, True)], [None] * 3)
    assert exact.excess(Y + E, Y) == np.inf
    assert exact.excess(Y, Y) == 0


def test_bounds_times_a_number():
    assert scaled(0.5, 0.5) == 0.25
    assert scaled("4%", 0.5) == "2.0%"
    assert scaled("4", 0.5) == 2.0
    assert scaled(None, 0.5) is None
    assert scaled([1, "10 %", None], 3) == [3, "30.0%", None]
    assert scaled({"a": 1, "*": "1%"}, 2) == {"a": 2, "*": "2.0%"}


def test_names_that_are_asked_for():
    assert bounds_module.asked_by_name({"a": 1, "*": 2}) == {"a"}
    assert bounds_module.asked_by_name("1%") == set()


# ------------------------------------------------------------------------ limits


def test_claims_meet_their_bytes_exactly():
    """512 values a byte; a value of N sensors counts 1 + N / 256."""
    assert least_bytes(512 * 256, 256) == 512
    assert least_bytes(0, 5) == 0
    for n_values, N in ((1000, 1), (12345, 56), (1, 4096)):
        least = int(np.ceil(n_values * (1 + N / 256) / 512))
        assert least_bytes(n_values, N) == least
        check_claim(n_values, N, least)
        with pytest.raises(PacketError, match=f"claim to hold {n_values} values.*{least} at least"):
            check_claim(n_values, N, least - 1)
        assert len(padded(b"ab", n_values, N)) == max(2, least)
        assert padded(b"ab", n_values, N).rstrip(b"\0") == b"ab"


@pytest.mark.parametrize(("n_bytes", "N"), [(1, 1), (7, 3), (10, 300), (10**6, 2)])
def test_the_most_rows_of_some_bytes(n_bytes, N):
    rows = most_rows(n_bytes, N)
    assert least_bytes(rows * N, N) <= n_bytes
    assert rows == 65535 or least_bytes((rows + 1) * N, N) > n_bytes


def test_memory_is_allowed_up_to_a_byte():
    check_memory(10, 10)
    with pytest.raises(PacketError, match="max_bytes=11"):
        check_memory(11, 10)
    assert file_bytes(7, 3) == 8 * 21 + state_bytes(3) + packet_bytes(7, 3)
    assert packet_bytes(7, 3) - packet_bytes(0, 3) == 9 * 21
    assert packet_bytes(0, 3) == 2 * state_bytes(3)


# ------------------------------------------------------------------------ grids


def test_grids_are_named_by_number_from_millionths_to_fifty_thousands():
    assert GRIDS[0].spacing == 0
    assert [GRIDS[k].spacing for k in (1, 2, 3, 4)] == [1e-6, 2e-6, 5e-6, 1e-5]
    assert (len(GRIDS), GRIDS[-1].spacing, GRIDS[WHOLE].spacing) == (34, 50000.0, 1.0)
    assert GRIDS[WHOLE - 3].spacing == 0.1
    assert all(g.numerator % 1 == g.denominator % 1 == 0 for g in GRIDS)


@pytest.mark.parametrize(
    ("a", "b", "common"), [(1.0, 1.0, 1.0), (2.0, 5.0, 1.0), (0.5, 0.2, 0.1), (10.0, 0.5, 0.5)]
)
def test_the_coarsest_grid_that_has_both(a, b, common):
    numbers = {grid.spacing: k for k, grid in enumerate(GRIDS)}
    assert finest_common(numbers[a], numbers[b]) == numbers[common]
    assert finest_common(0, numbers[a]) == 0


def test_the_grid_of_zeros_and_of_nothing():
    assert grid_of(np.zeros(3)) == WHOLE
    assert grid_of(np.empty(0)) == 0
    assert GRIDS[grid_of(np.array([0.1, -0.3], np.float32))].spacing == 0.1
    assert GRIDS[grid_of(np.array([-50.0, 100.0]))].spacing == 50
    assert grid_of(np.array([1 / 3])) == 0


# ------------------------------------------------------------------------ heads and frames


@pytest.mark.parametrize("kind", [Kind.KEYFRAME, Kind.REQUEST])
def test_long_frames(kind):
    packet = Packet(kind, 0x12345678, 0xABCDEF01, 0x1BEEF, b"payload")
    content = struct.pack("<BIIH", 0x40 | kind, 0x12345678, 0xABCDEF01, 0xBEEF) + b"payload"
    data = content + struct.pack("<I", zlib.crc32(content))
    assert packed(packet) == data
    assert unpacked(data) == packet._replace(digest=0xBEEF)
    assert unpacked(memoryview(data)) == unpacked(bytearray(data))
    assert not unpacked(data).is_short


@pytest.mark.parametrize("kind", [Kind.DATA, Kind.DICTIONARY])
def test_short_frames(kind):
    packet = Packet(kind, 0x12345678, 0x1F3, 0x1BEEF, b"payload")
    content = struct.pack("<BHB", 0x40 | kind, 0x5678, 0xF3) + b"payload"
    content += struct.pack("<H", 0xBEEF)
    data = content + struct.pack("<H", binascii.crc_hqx(content, 0xFFFF))
    assert packed(packet) == data
    found = unpacked(data)
    assert found == Packet(kind, 0x5678, 0xF3, 0xBEEF, b"payload")
    assert found.is_short
    assert len(packed(packet._replace(payload=b""))) == 8


def test_a_packet_that_is_too_short_says_how_short():
    with pytest.raises(PacketError, match="8 bytes at least; these are 7"):
        unpacked(b"\x42" * 7)


@pytest.mark.parametrize("version", [1, 3, 6])
def test_frames_of_other_versions(version):
    content = struct.pack("<BIIH", version << 4 | Kind.REQUEST, 1, 2, 3)
    with pytest.raises(VersionError, match=f"version {version} of the format.*versions 2 to 4"):
        unpacked(content + struct.pack("<I", zlib.crc32(content)))


def test_frames_of_versions_2_and_3():
    second = struct.pack("<2sBBIII", b"Ts", 2, Kind.DATA, 5, 6, 0x12345678) + b"abc"
    found = unpacked(second + struct.pack("<I", zlib.crc32(second)))
    assert found == Packet(Kind.DATA, 5, 6, 0x12345678, b"abc", 2)
    assert found.leads_to(0x12345678)
    assert not found.leads_to(0x5678)
    third = struct.pack("<BBIIH", ord("T"), 0x30 | Kind.DATA, 5, 6, 0x5678) + b"abc"
    found = unpacked(third + struct.pack("<I", zlib.crc32(third)))
    assert found == Packet(Kind.DATA, 5, 6, 0x5678, b"abc", 3)
    assert found.leads_to(0x12345678)
    assert not found.is_short
    wrong = b"Ts\x03" + second[3:]
    with pytest.raises(VersionError, match="version 3"):
        unpacked(wrong + struct.pack("<I", zlib.crc32(wrong)))
    wrong = second[:3] + b"\x09" + second[4:]
    with pytest.raises(PacketError, match="unknown kind, 9"):
        unpacked(wrong + struct.pack("<I", zlib.crc32(wrong)))
    with pytest.raises(PacketError, match="checksum does not fit"):
        unpacked(second + b"\0\0\0\0")
    tiny = b"T\x32ab"
    with pytest.raises(PacketError, match="not a packet"):
        unpacked(tiny + struct.pack("<I", zlib.crc32(tiny)))


def test_marks_join_a_digest_with_the_rest_of_the_stream():
    assert tag(0x12345678) == 0x5678
    assert mark(0xAAAA1111, 0x12345678) == 0x1111 ^ 0x1234
    packet = Packet(Kind.DATA, 0x12345678, 3, 0x1111 ^ 0x1234, b"")
    assert packet.leads_to(0xAAAA1111)
    assert not packet._replace(stream=0x12355678).leads_to(0xAAAA1111)


@pytest.mark.parametrize(
    ("told", "expected", "whole"),
    [(5, 5, 5), (5, 261, 261), (4, 261, 260), (255, 256, 255), (191, 0, 191), (192, 0, 0),
     (196, 260, 196), (195, 260, 451)],
)  # fmt: skip
def test_the_number_of_a_short_packet_is_the_nearest_to_what_is_expected(told, expected, whole):
    """64 before it may be late, 191 after it were lost."""
    found = Packet(Kind.DATA, 7, told, 0, b"").of_stream(0x70007, expected)
    assert (found.stream, found.sequence) == (0x70007, whole)


@pytest.mark.parametrize(
    "head",
    [
        RowHead(1, True, SAME, Times.NONE),
        RowHead(65535, False, EACH, Times.REGULAR, True, True),
        RowHead(300, True, ALL_ALIKE, Times.TOLD, False, True),
        RowHead(300, False, SAME, Times.TOLD, True, False),
    ],
)
def test_heads_of_rows_are_flags_and_a_count(head):
    flags = head.is_whole | head.steps << 1 | head.times << 3 | head.is_plain << 5
    flags |= head.same_layout << 7
    data = bytes([flags]) + number(head.n)
    assert head.written(head.n + 1) == data
    assert read_head(data + b"rest", 9) == (head, len(data))
    assert head.written(head.n) == bytes([flags | 64])
    assert read_head(bytes([flags | 64]) + b"rest", head.n) == (head, 1)


@pytest.mark.parametrize(
    "data", [b"\0\0", b"\0" + number(65536), b"\x06\x01", b"\x18\x01", b"\x40"]
)
def test_heads_of_rows_that_make_no_sense(data):
    with pytest.raises(PacketError, match="header makes no sense"):
        read_head(data, 0)


def test_heads_of_rows_before_version_4():
    data = struct.pack("<HB", 300, 1 | 2 << 1 | 8)
    assert read_head(data, 0, 3) == (RowHead(300, True, 2, Times.TOLD), 3)
    plain = struct.pack("<HB", 1, 16)
    assert read_head(plain, 0, 3) == (RowHead(1, False, 0, Times.NONE, True), 3)
    for n, flags in ((0, 1), (1, 32), (1, 16 | 2), (1, 6)):
        with pytest.raises(PacketError, match="header makes no sense"):
            read_head(struct.pack("<HB", n, flags), 0, 3)
    with pytest.raises(PacketError, match="header is cut"):
        read_head(data[:2], 0, 3)


@pytest.mark.parametrize(
    ("by_column", "gives_up", "level"),
    [(False, False, [1.5]), (True, False, [1.0, 2.0, 3.0]), (False, True, []), (True, True, [0.0])],
)
def test_keyframes_tell_sensors_row_and_values(by_column, gives_up, level):
    level = np.array(level, np.float32)
    told = 3 | by_column * 0x4000 | gives_up * 0x8000
    data = struct.pack("<H", told) + number(1000) + level.tobytes()
    assert Keyframe(3, 1000, level, by_column, gives_up).written() == data
    found = parsed_keyframe(data)
    assert found[:2] + found[3:] == (3, 1000, by_column, gives_up)
    np.testing.assert_array_equal(found.level, level)
    old = struct.pack("<HQ", told, 1000) + level.tobytes()
    assert parsed_keyframe(old, 3)[:2] == (3, 1000)
    assert found.is_paper == (len(level) == 0)
    if len(level):
        expected = np.broadcast_to(level, 3)
        np.testing.assert_array_equal(found.state().level, expected)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<H", 0) + number(0) + bytes(4),
        struct.pack("<H", 4097) + number(0) + bytes(4),
        struct.pack("<H", 3) + number(0) + bytes(8),
        struct.pack("<H", 3 | 0x4000) + number(0),
        struct.pack("<H", 3) + number(2**63) + bytes(4),
    ],
)
def test_keyframes_that_make_no_sense(data):
    with pytest.raises(PacketError, match="header makes no sense"):
        parsed_keyframe(data)
    parsed_keyframe(struct.pack("<H", 4096) + number(2**63 - 1) + bytes(4))
    with pytest.raises(PacketError, match="header is cut"):
        parsed_keyframe(b"\x03")
    with pytest.raises(PacketError, match="header is cut"):
        parsed_keyframe(struct.pack("<HQ", 3, 0)[:-1], 2)


# ------------------------------------------------------------------------ steps


def test_steps_are_told_once_for_all_or_each_and_not_again():
    grids, inf = np.array([WHOLE, WHOLE, 0]), np.full(3, np.inf)
    some = Steps.at(np.array([6.0, 6 / 9, 6 / 4]), grids, inf)
    np.testing.assert_allclose(some.steps, [1, 3, 2])
    np.testing.assert_allclose(some.weights, [6, 6, 6])
    kind, data = some.written(np.zeros((2, 3)))
    assert kind == EACH
    found, size = read_steps(kind, data + b"rest", np.zeros((2, 3), int))
    np.testing.assert_array_equal(found.told(), some.told())
    assert size == len(data)
    assert some.written(some.told()) == (SAME, b"")
    again, size = read_steps(SAME, b"rest", some.told())
    assert size == 0
    np.testing.assert_array_equal(again.told(), some.told())
    alike = Steps.at(np.full(3, 6 / 4), np.full(3, WHOLE), inf)
    kind, data = alike.written(some.told())
    assert (kind, len(data)) == (ALL_ALIKE, 5)
    found, size = read_steps(kind, data, some.told())
    np.testing.assert_allclose(found.steps, [2, 2, 2])
    assert size == 5


def test_a_step_keeps_the_largest_error():
    """On a grid, an odd number of spacings rounds by half of the rest at most."""
    grids, slopes = np.array([WHOLE, WHOLE, 0]), np.full(3, 1e-6)
    steps = Steps.at(slopes, grids, np.array([1.0, 0.9, 0.25])).steps
    np.testing.assert_allclose(steps, [3, 1, 0.5], rtol=1e-2)
    assert steps[2] <= 0.5
    wide = Steps.at(np.array([6e-8]), np.array([WHOLE]), np.array([np.inf]))
    np.testing.assert_array_equal(wide.steps, [1e4])  # whole spacings, as many as the slope says
    exact = Steps.at(np.full(3, np.inf), np.full(3, WHOLE), np.full(3, np.inf))
    np.testing.assert_array_equal(exact.steps, 1)
    assert np.isinf(exact.weights).all()


def test_steps_that_make_no_sense():
    with pytest.raises(PacketError, match="grids make no sense"):
        read_steps(ALL_ALIKE, struct.pack("<BI", len(GRIDS), 0x3FF00000), np.zeros((2, 2), int))
    for head in (0, 0x7FF00000, 0xBFF00000):
        with pytest.raises(PacketError, match="steps make no sense"):
            read_steps(ALL_ALIKE, struct.pack("<BI", 1, head), np.zeros((2, 2), int))
    for data in (b"no deflate", zlib.compress(bytes(9), 9, wbits=-15)):
        with pytest.raises(PacketError, match="steps are cut"):
            read_steps(EACH, part(data), np.zeros((2, 2), int))


# ------------------------------------------------------------------------ times and labels


def test_times_of_rows_are_changes_of_their_steps():
    clock = Clock(100, 10)
    assert written_times(np.array([110, 120, 130]), clock) == b""
    assert regular_times(3, clock).tolist() == [110, 120, 130]
    data = number(1) + number(1) + signed(5)  # the second step is 15
    assert written_times(np.array([110, 125, 140]), clock) == data
    found, size = read_times(data + b"rest", 3, clock, 4)
    assert found.tolist() == [110, 125, 140]
    assert size == len(data)
    assert clock.after(np.array([110, 125])) == Clock(125, 15)
    first = written_times(np.array([1000, 1007, 1014]), Clock())
    assert read_times(first, 3, Clock(), 4)[0].tolist() == [1000, 1007, 1014]
    assert first == number(2) + number(0) + signed(1000) + number(0) + signed(7)
    with pytest.raises(PacketError, match="more times than rows"):
        read_times(number(1) + number(3) + signed(5), 3, clock, 4)


def test_labels_of_version_2():
    assert unpacked_labels({"labels": "a\nb\\nc\n\\\\"}, 3) == ["a", "b\nc", "\\"]
    assert unpacked_labels({"number": -1, "step": 2}, 3) == ["-1", "1", "3"]
    time = {"time": "2024-02-28T23:00", "step": 3_600_000_000, "sep": "T", "spec": "minutes"}
    assert unpacked_labels(time, 2) == ["2024-02-28T23:00", "2024-02-29T00:00"]
    spaced = {**time, "sep": " ", "spec": "seconds"}
    assert unpacked_labels(spaced, 1) == ["2024-02-28 23:00:00"]
    for wrong in (10**18, -(10**18)):
        assert len(unpacked_labels({"number": wrong - np.sign(wrong).item(), "step": 1}, 1)) == 1
        for bad in ({"number": wrong, "step": 1}, {"number": 1, "step": wrong}):
            with pytest.raises(PacketError, match="labels that make no sense"):
                unpacked_labels(bad, 1)
