"""Columns letter by letter, piece by piece: bytes of the format, times, numerals, whole numbers.

What a byte stands for is part of the format: files are put together here by hand, and times are
those of Python's calendar.
"""

import bz2
import lzma
import zlib
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from thresher.tasks.compression.lossless import integers, numerals, packing, texts
from thresher.tasks.compression.lossless.numerals import Form, forms_of, unpacked_numerals
from thresher.tasks.compression.lossless.parts import Reader, number, part, signed
from thresher.tasks.compression.lossless.patterns import (
    from_short,
    patterns_of,
    read_pattern,
    short,
)
from thresher.tasks.compression.lossless.texts import packed_texts, unpacked_texts
from thresher.tasks.compression.lossless.times import (
    Times,
    best_pattern,
    packed_times,
    read_times,
    unpacked_times,
    written_times,
)
from thresher.tasks.compression.packet import PacketError

ROOM = 2**30

# ------------------------------------------------------------------------ parts


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, b"\x00"),
        (127, b"\x7f"),
        (128, b"\x80\x01"),
        (16383, b"\xff\x7f"),
        (16384, b"\x80\x80\x01"),
        (2**64 - 1, b"\xff" * 9 + b"\x01"),
    ],
)
def test_numbers_have_seven_bits_in_a_byte_the_last_first(value, data):
    assert number(value) == data
    assert Reader(data).number() == value


@pytest.mark.parametrize(
    ("value", "coded"), [(0, 0), (-1, 1), (1, 2), (-2, 3), (-(2**63), 2**64 - 1)]
)
def test_signs_take_turns(value, coded):
    assert signed(value) == number(coded)
    assert Reader(signed(value)).signed() == value


@pytest.mark.parametrize("data", [b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00", b"\x80" * 10])
def test_a_number_of_more_than_64_bits_is_refused(data):
    with pytest.raises(PacketError, match="a number that makes no sense"):
        Reader(data).number()


def test_a_reader_gives_parts_in_turn_and_knows_its_end():
    reader = Reader(part(b"abc") + b"de" + number(300) + b"rest")
    assert reader.part() == b"abc"
    assert reader.take(2) == b"de"
    assert reader.number() == 300
    with pytest.raises(PacketError, match="belong to nothing"):
        reader.end()
    with pytest.raises(PacketError, match="cut short"):
        reader.take(5)
    assert reader.rest() == b"rest"
    reader.end()
    assert reader.take(0) == b""
    with pytest.raises(PacketError, match="cut short"):
        Reader(b"\x04abc").part()


# ------------------------------------------------------------------------ packing

CONTENT = b"one line after the other, one line after the other" * 3


def raw_lzma(data, lc, pb):
    how = {"id": lzma.FILTER_LZMA1, "preset": 6, "dict_size": 2**23, "lc": lc, "lp": 0, "pb": pb}
    return lzma.compress(data, lzma.FORMAT_RAW, filters=[how])


def raw_deflate(data, **how):
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15, **how)
    return deflate.compress(data) + deflate.flush()


BEFORE = b"the other, one line after"
WAYS = [
    (0, raw_lzma(CONTENT, 3, 0)),
    (1, raw_lzma(CONTENT, 0, 0)),
    (2, raw_lzma(CONTENT, 0, 2)),
    (3, CONTENT),
    (4, raw_deflate(CONTENT)),
    (5, bz2.compress(CONTENT)),
    (7, raw_deflate(CONTENT, zdict=BEFORE)),
]


@pytest.mark.parametrize(("way", "data"), WAYS)
def test_each_way_of_packing_is_read_by_its_number(way, data):
    packed = bytes([way]) + data
    assert packing.unpacked(packed, len(CONTENT), BEFORE) == CONTENT
    for size in (len(CONTENT) - 1, len(CONTENT) + 1):
        with pytest.raises(PacketError, match="get it again"):
            packing.unpacked(packed, size, BEFORE)


def test_of_all_ways_the_smallest_is_written():
    rng = np.random.default_rng(0)
    for data in (CONTENT, rng.bytes(50), bytes(400), b"ab" * 300, b""):
        packed = packing.packed(data)
        others = [raw_lzma(data, 3, 0), raw_lzma(data, 0, 0), data, raw_deflate(data)]
        assert len(packed) <= 1 + min(map(len, [*others, bz2.compress(data)]))
        assert packing.unpacked(packed, len(data)) == data
    assert packing.packed(rng.bytes(50))[0] == 3  # noise is stored
    known = rng.bytes(200)
    assert len(packing.packed(known[50:150], known)) < 20


@pytest.mark.parametrize("data", [b"", b"\x09", b"\xff123", b"\x07" + WAYS[-1][1]])
def test_ways_that_are_not_known_are_refused(data):
    with pytest.raises(PacketError, match="not known here"):
        packing.unpacked(data, 3)


def test_bytes_far_back_are_out_of_the_window_of_deflate():
    before = b"x" * 40 + np.random.default_rng(0).bytes(2**15)
    packed = packing.deflated(b"y" * 9 + before[-60:], before)
    assert len(packed) < 30
    inflate = zlib.decompressobj(-15, before[-(2**15) :])
    assert inflate.decompress(packed) == b"y" * 9 + before[-60:]
    assert packing.unpacked(b"\x07" + packed, 69, before) == b"y" * 9 + before[-60:]


# ------------------------------------------------------------------------ whole numbers

PLAIN, DIFFERENCES, CURVATURES, LINE = range(4)
CONSTANT, TOGETHER, APART, CODED = range(4)


@pytest.mark.parametrize(
    ("kind", "ends", "left", "numbers"),
    [
        (PLAIN, [7], [0, 3, -2, 9], [7, 10, 5, 16]),
        (DIFFERENCES, [7], [0, 3, -2, 9], [7, 10, 8, 17]),
        (CURVATURES, [7], [0, 3, -2, 9], [7, 10, 11, 21]),
        (LINE, [7, 17], [0, 3, -2, 0], [7, 13, 12, 17]),
        (LINE, [17, 7], [1, 0, 0, 0], [18, 14, 10, 7]),
    ],
)
def test_whole_numbers_are_read_in_each_way(kind, ends, left, numbers):
    """Numbers less the first, steps, changes of steps, distances from a line to the last."""
    head = b"".join(map(signed, ends))
    for dtype in ("<i1", "<i2", "<i4", "<i8"):
        content = np.array(left, dtype)
        size = content.itemsize
        stored = bytes([size, 3]) + content.tobytes()
        planes = bytes([size, 3]) + content.view(np.uint8).reshape(4, size).T.tobytes()
        for how, data in ((TOGETHER, stored), (APART, planes)):
            found = integers.unpacked_integers(bytes([kind | how << 4]) + head + data, 4)
            np.testing.assert_array_equal(found, numbers)
            assert found.dtype == np.int64
    coded = bytes([kind | CODED << 4]) + head + integers._coded(np.array(left))
    np.testing.assert_array_equal(integers.unpacked_integers(coded, 4), numbers)


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [(PLAIN, [3, 3, 3]), (DIFFERENCES, [5, 8, 11]), (CURVATURES, [2, 6, 12]), (LINE, [2, 5, 7])],
)
def test_a_constant_stands_for_all_that_is_left(kind, numbers):
    first, constant = {PLAIN: (1, 2), DIFFERENCES: (2, 3), CURVATURES: (0, 2), LINE: (1, 1)}[kind]
    head = signed(first) + (signed(6) if kind == LINE else b"")
    data = bytes([kind]) + head + signed(constant)
    np.testing.assert_array_equal(integers.unpacked_integers(data, 3), numbers)
    with pytest.raises(PacketError, match="belong to nothing"):
        integers.unpacked_integers(data + b"\0", 3)


def test_a_line_is_the_nearest_whole_numbers():
    for first, last, n in ((0, 10, 4), (-7, 22, 9), (5, -9, 8), (3, 3, 5), (4, 4, 1), (0, 1, 2)):
        line = first + (last - first) * np.arange(n) / max(n - 1, 1)
        found = integers._line(first, last, n)
        assert np.abs(found - line).max() <= 0.5 + 1e-12
        assert (found[0], found[-1]) == (first, last)


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_numbers_take_the_fewest_bytes_that_hold_them(bits):
    most = 2 ** (bits - 1)
    assert integers._smallest(np.array([-most, most - 1])).itemsize == bits // 8
    for too_far in (-most - 1, most):
        numbers = np.array([0, too_far])
        assert integers._smallest(numbers).itemsize == bits // 4
        np.testing.assert_array_equal(integers._smallest(numbers), numbers)


def test_the_kinds_of_least_entropy_are_told_by_counts():
    rare = np.arange(64)
    assert integers._entropy(rare) == pytest.approx(64 * 6 + 8 * 64)
    assert integers._entropy(np.zeros(64)) == pytest.approx(8)
    assert integers._entropy(np.arange(64) % 2) == pytest.approx(64 + 16)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (bytes([4]) + signed(0), "a way that is not known"),
        (bytes([4 << 4]) + signed(0), "a way that is not known"),
        (bytes([TOGETHER << 4]) + signed(0) + b"\x03\x03abcdef", "a size that is not known"),
        (bytes([TOGETHER << 4]) + signed(0), "a size that is not known"),
        (b"", "cut short"),
    ],
)
def test_whole_numbers_that_make_no_sense(data, says):
    with pytest.raises(PacketError, match=says):
        integers.unpacked_integers(data, 2)


def test_no_numbers_take_no_bytes():
    assert integers.packed_integers(np.empty(0)) == b""
    assert integers.unpacked_integers(b"", 0).dtype == np.int64
    with pytest.raises(PacketError, match="belong to nothing"):
        integers.unpacked_integers(b"\0", 0)


def test_numbers_beyond_doubles_are_not_coded_by_the_range_coder():
    for far in (2**50 - 1, 2**50, -(2**50) + 1, -(2**50), 2**62):
        left = np.array([0, far, 3])
        ways = dict(integers._ways(left))
        assert (CODED in ways) == (abs(far) < 2**50)
        assert (APART in ways) == (integers._smallest(left).itemsize > 1)
    assert set(dict(integers._ways(np.array([1, 2, 1])))) == {TOGETHER, CODED}
    assert dict(integers._ways(np.array([-4, -4]))) == {CONSTANT: signed(-4)}


def test_curves_and_lines_take_a_few_bytes():
    t = np.arange(400)
    for numbers in (np.full(400, 9), 5 * t - 3, 3 * t * t + t, np.rint(t * 10 / 3).astype(int)):
        packed = integers.packed_integers(numbers)
        assert len(packed) < 12
        np.testing.assert_array_equal(integers.unpacked_integers(packed, 400), numbers)


# ------------------------------------------------------------------------ numerals


@pytest.mark.parametrize(
    ("form", "ticks", "cells"),
    [
        (Form(0, 1, "."), [0, 7, -12], ["0", "7", "-12"]),
        (Form(0, 3, "."), [0, 7, -12, 1234], ["000", "007", "-012", "1234"]),
        (Form(2, 1, "."), [5, -5, 1234, 0], ["0.05", "-0.05", "12.34", "0.00"]),
        (Form(2, 3, ","), [5, -1234], ["000,05", "-012,34"]),
        (Form(2, 1, ".", shortest=True), [0, 10, -150, 101], ["0", "0.1", "-1.5", "1.01"]),
        (Form(2, 1, ",", shortest=True), [200, 250], ["2", "2,5"]),
        (Form(5, 1, ".", in_days=True), [43200, 86400, 86410], ["0.50000", "1.00000", "1.00012"]),
        (Form(5, 1, ".", True, True), [43200, 86400], ["0.5", "1"]),
        (Form(0, 1, ".", shortest=True), [100, 20], ["100", "20"]),
    ],
)
def test_numbers_are_written_in_their_form(form, ticks, cells):
    assert form.texts(np.array(ticks)) == cells
    found, fits = form.ticks(cells)
    np.testing.assert_array_equal(found, ticks)
    assert fits.all()
    data = numerals.packed_numerals(form, np.array(ticks))
    reader = Reader(data)
    assert unpacked_numerals(reader, len(ticks)) == cells
    reader.end()


def test_cells_that_do_not_come_back_do_not_fit():
    cells = ["1.50", "1.5", "-0.00", "x", "1.505", "1234567890123456.00", "12345678901234567.00"]
    ticks, fits = Form(2, 1, ".").ticks(cells)
    assert fits.tolist() == [True, False, False, False, False, True, False]
    assert (ticks[0], ticks[5]) == (150, 123456789012345600)


def test_forms_are_those_that_cells_may_have():
    assert forms_of(["a", "", "1e5"]) == []
    assert forms_of(["12", "x", "345"]) == [Form(0, 2, ".")]
    assert forms_of(["1,5", "12,25"]) == [Form(2, 1, ","), Form(2, 1, ",", shortest=True)]
    three, four = forms_of(["45000.125"]), forms_of(["45000.1250"])
    assert [form.in_days for form in three] == [False, False]
    assert [(form.shortest, form.in_days) for form in four] == [
        (False, False), (True, False), (False, True), (True, True),
    ]  # fmt: skip


@pytest.mark.parametrize("head", [(16, 1, 0), (0, 19, 0), (0, 1, 8)])
def test_forms_that_make_no_sense(head):
    rest = integers.packed_part(np.array([5]))
    for last in ((15, 1, 0), (0, 18, 0), (0, 1, 7)):
        assert len(unpacked_numerals(Reader(bytes(last) + rest), 1)) == 1
    with pytest.raises(PacketError, match="a form that makes no sense"):
        unpacked_numerals(Reader(bytes(head) + rest), 1)


# ------------------------------------------------------------------------ times

MOMENTS = [
    datetime(1999, 12, 31, 23, 59, 58),
    datetime(2000, 2, 29, 0, 0, 0),
    datetime(2024, 1, 1, 12, 5, 9),
    datetime(1970, 1, 1, 1, 30, 0),
    datetime(2068, 11, 9, 13, 0, 59),
    datetime(1969, 7, 20, 20, 17, 40),
]


def spelled(moment, pattern):
    for letter in "dmHI":
        shown = str(int(moment.strftime(f"%{letter}")))
        pattern = pattern.replace(f"%-{letter}", shown)
    return moment.strftime(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "%Y-%m-%dT%H:%M:%S",
        "%d/%m/%Y %H:%M:%S",
        "%-m/%-d/%Y %-H:%M:%S",
        "%d.%m.%y %H:%M:%S",
        "%Y%m%d%H%M%S",
        "%d-%b-%Y %H:%M:%S",
        "%d%b%y %I:%M:%S %p",
        "%m/%d/%Y %-I:%M:%S%p",
        "on %Y-%m-%d at %H h %M m %S.",
    ],
)
def test_times_are_seconds_of_the_calendar(pattern):
    cells = [spelled(moment, pattern) for moment in MOMENTS]
    times = read_times(cells, read_pattern(pattern))
    truth = [int((moment - datetime(1970, 1, 1)).total_seconds()) for moment in MOMENTS]
    assert times.fits.all()
    assert times.ticks.tolist() == truth
    assert times.zones.tolist() == [0] * len(cells)
    assert written_times(times, read_pattern(pattern)) == cells
    assert read_pattern(pattern).text() == pattern


@pytest.mark.parametrize(
    ("letter", "shape"), [("z", "{}{:02d}:{:02d}"), ("Z", "{}{:02d}{:02d}"), ("X", "{}{:02d}")]
)
def test_times_of_zones_are_those_of_greenwich(letter, shape):
    minutes = [0, 60, -300, 120] if letter == "X" else [0, 330, -210, 60]
    pattern = read_pattern(f"%Y-%m-%d %H:%M%{letter}")
    cells, truth = [], []
    for moment, east in zip(MOMENTS, minutes, strict=False):
        zone = timezone(timedelta(minutes=east))
        here = moment.replace(second=0, tzinfo=zone)
        truth.append(int(here.timestamp()))
        sign = "-" if east < 0 else "+"
        cells.append(here.strftime("%Y-%m-%d %H:%M") + shape.format(sign, *divmod(abs(east), 60)))
    times = read_times(cells, pattern)
    assert times.fits.all()
    assert times.zones.tolist() == minutes
    assert times.ticks.tolist() == truth
    reader = Reader(packed_times(pattern, times))
    assert unpacked_times(reader, len(cells)) == cells
    reader.end()


@pytest.mark.parametrize(("minutes", "refused"), [(6000, False), (6001, True), (-6001, True)])
def test_zones_that_there_are_not(minutes, refused):
    pattern = read_pattern("%H:%M%z")
    data = packed_times(pattern, Times(np.zeros(1, int), np.array([minutes]), np.ones(1, bool)))
    if refused:
        with pytest.raises(PacketError, match="zones that there are not"):
            unpacked_times(Reader(data), 1)
    else:
        assert unpacked_times(Reader(data), 1) == ["04:00+100:00"]


def test_fractions_are_ticks_and_may_be_left_out_where_they_are_zero():
    pattern = read_pattern("%H:%M:%S.%3f")
    times = read_times(["00:00:01.500", "00:01:00.007", "00:00:01.5", "00:00:01"], pattern)
    assert times.fits.tolist() == [True, True, False, False]
    assert times.ticks[:2].tolist() == [1500, 60007]
    optional = read_pattern("%H:%M:%S,%?3f")
    cells = ["00:00:01,500", "00:01:00", "00:00:01,000"]
    times = read_times(cells, optional)
    assert times.fits.tolist() == [True, True, False]  # zeros would be left out
    assert times.ticks[:2].tolist() == [1500, 60000]
    assert (pattern.digits, optional.digits, read_pattern("%H").digits) == (3, 3, 0)


@pytest.mark.parametrize(
    ("cell", "fits"),
    [
        ("2024-00-10", False),
        ("2024-13-10", False),
        ("2024-12-00", False),
        ("2024-12-31", True),
        ("2024-12-32", False),
        ("2023-02-29", False),
        ("2024-02-29", True),
        ("0000-05-05", False),
        ("0001-01-01", True),
        ("9999-12-31", True),
    ],
)
def test_days_that_there_are(cell, fits):
    assert read_times([cell], read_pattern("%Y-%m-%d")).fits.tolist() == [fits]


@pytest.mark.parametrize(("cell", "year"), [("01.01.69", 1969), ("01.01.68", 2068)])
def test_two_digits_of_a_year_are_read_as_posix_does(cell, year):
    days = read_times([cell], read_pattern("%d.%m.%y")).ticks[0] / 86400
    assert days == (datetime(year, 1, 1) - datetime(1970, 1, 1)).days


@pytest.mark.parametrize(
    ("days", "refused"), [(-719162, 0), (-719163, 1), (2932896, 0), (2932897, 1)]
)
def test_years_from_1_to_9999(days, refused):
    one = Times(np.array([days * 86400]), np.zeros(1, int), np.ones(1, bool))
    if refused:
        with pytest.raises(PacketError, match="before the year 1 or after 9999"):
            written_times(one, read_pattern("%Y-%m-%d"))
    else:
        assert written_times(one, read_pattern("%Y-%m-%d"))[0] in ("0001-01-01", "9999-12-31")


def test_a_clock_of_twelve_hours():
    cells = [f"{hour % 12 or 12}:05 {'AM' if hour < 12 else 'PM'}" for hour in range(24)]
    times = read_times(cells, read_pattern("%-I:%M %p"))
    assert times.fits.all()
    assert times.ticks.tolist() == [3600 * hour + 300 for hour in range(24)]


@pytest.mark.parametrize(
    ("cell", "patterns"),
    [
        ("2024-05-06", {"%Y-%m-%d", "%Y-%-m-%-d"}),
        ("20240506", {"%Y%m%d"}),
        ("05/06/2024", {"%d/%m/%Y", "%m/%d/%Y", "%-d/%-m/%Y", "%-m/%-d/%Y"}),
        ("5-Jun-24", {"%d-%b-%y", "%-d-%b-%y"}),
        ("12:30", {"%H:%M", "%-H:%M"}),
        ("12:30:05", {"%H:%M:%S", "%-H:%M:%S.%?6f", "%H:%M:%S.%?3f"}),
        ("12:30:05.25", {"%H:%M:%S.%2f", "%H:%M:%S.%?2f", "%-H:%M:%S.%2f"}),
        ("9:30:05,1 PM", {"%-I:%M:%S,%1f %p", "%I:%M:%S,%?1f %p"}),
        ("2024-05-06T12:30+01:00", {"%Y-%m-%dT%H:%M%z"}),
        ("2024-05-06 12:30 +0100", {"%Y-%m-%d %H:%M %Z"}),
        ("2024-05-06 1230-05", {"%Y-%m-%d %H%M%X"}),
        ("2024-05-06_12:30 UTC", {"%Y-%m-%d_%H:%M UTC"}),
        ("2024-05-06 ", {"%Y-%m-%d "}),
    ],
)
def test_patterns_of_a_cell(cell, patterns):
    found = {pattern.text() for pattern in patterns_of(cell)}
    assert patterns <= found
    assert any(pattern.expression().fullmatch(cell) for pattern in patterns_of(cell))


@pytest.mark.parametrize("cell", ["", "hello", "12.5", "2024-05-06 hello", "5-Jun/24"])
def test_cells_without_a_pattern(cell):
    assert patterns_of(cell) == []


def test_the_order_of_day_and_month_is_the_one_that_runs_evenly():
    start = datetime(2024, 1, 1)
    for pattern in ("%d/%m/%Y", "%m/%d/%Y"):
        cells = [(start + timedelta(days=i)).strftime(pattern) for i in range(11)]
        assert best_pattern(cells).text() == pattern
    assert best_pattern(["x"] * 5 + ["2024-01-01"] * 4) is None
    assert best_pattern(["x"] * 4 + ["2024-01-01"] * 5).text() == "%Y-%m-%d"
    assert best_pattern(["", " "]) is None


@pytest.mark.parametrize(
    "text",
    ["", "abc", "%Y %Y", "%Y%", "%q", "%f", "%3d", "%Y" + "-" * 59, "100 % %Y"],
)
def test_patterns_that_make_no_sense(text):
    with pytest.raises(PacketError, match="a pattern that makes no sense"):
        read_pattern(text)
    assert read_pattern("%Y" + "-" * 58).text() == "%Y" + "-" * 58


def test_usual_patterns_are_a_byte_and_which_is_part_of_the_format():
    numbers = {
        1: "%Y-%m-%dT%H:%M:%S", 2: "%Y-%m-%d %H:%M:%S", 5: "%Y-%m-%d", 9: "%d/%m/%Y %H:%M",
        12: "%-m/%-d/%Y %-H:%M", 17: "%Y%m%d%H%M",
    }  # fmt: skip
    for byte, text in numbers.items():
        assert short(read_pattern(text)) == bytes([byte])
        assert from_short(bytes([byte])).text() == text
    assert short(read_pattern("%Y/%m")) == b"%Y/%m"
    assert from_short(b"%Y/%m").text() == "%Y/%m"
    for data in (b"\x00", bytes([18]), b"\xff\xfe", b""):
        with pytest.raises(PacketError, match="makes no sense"):
            from_short(data)


# ------------------------------------------------------------------------ cells

TEXT, WORDS, NUMERALS, TIMES = range(4)


def packed_lines(*lines):
    data = "\n".join(lines).encode()
    return number(len(data)) + part(b"\x03" + data)


def test_cells_are_read_in_each_way():
    def read(data, n):
        return unpacked_texts(bytes(data), n, ROOM)

    assert read(bytes([TEXT]) + packed_lines("a", "b\\nc", "\\\\n"), 3) == ["a", "b\nc", "\\n"]
    which = integers.packed_part(np.array([1, 0, 1]))
    words = bytes([WORDS]) + number(2) + packed_lines("no", "yes") + which
    assert read(words, 3) == ["yes", "no", "yes"]
    odd = number(2) + integers.packed_part(np.array([1, 2])) + packed_lines("-", "?")
    ticks = bytes([1, 1, 0]) + integers.packed_part(np.array([15, 0, 25, 0]))
    assert read(bytes([NUMERALS]) + odd + ticks, 4) == ["1.5", "-", "2.5", "?"]
    ticks = part(b"%H:%M") + integers.packed_part(np.array([0, 0, 60, 0]))
    assert read(bytes([TIMES]) + odd + ticks, 4) == ["00:00", "-", "00:01", "?"]
    with pytest.raises(PacketError, match="belong to nothing"):
        read(words + b"\0", 3)


def exceptions(steps, *lines):
    return number(len(lines)) + integers.packed_part(np.array(steps)) + packed_lines(*lines)


ONE_FORM = bytes([0, 1, 0])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (bytes([4]), "a way that is not known"),
        (bytes([TEXT]) + packed_lines("a"), "another number of cells"),
        (bytes([TEXT]) + packed_lines("a", "b", "c"), "another number of cells"),
        (bytes([TEXT]) + number(3) + part(b"\x03\xff\na"), "not UTF-8"),
        (
            bytes([WORDS]) + number(1) + packed_lines("a") + integers.packed_part(np.array([0, 1])),
            "words that it does not list",
        ),
        (
            bytes([WORDS])
            + number(1)
            + packed_lines("a")
            + integers.packed_part(np.array([-1, 0])),
            "words that it does not list",
        ),
        (bytes([NUMERALS]) + number(3), "more exceptions than rows"),
        (
            bytes([NUMERALS])
            + exceptions([2], "x")
            + ONE_FORM
            + integers.packed_part(np.arange(2)),
            "exceptions where there are no rows",
        ),
        (
            bytes([NUMERALS])
            + exceptions([-1], "x")
            + ONE_FORM
            + integers.packed_part(np.arange(2)),
            "exceptions where there are no rows",
        ),
    ],
)
def test_cells_that_make_no_sense(data, says):
    with pytest.raises(PacketError, match=says):
        unpacked_texts(data, 2, ROOM)


def test_exceptions_may_stand_in_every_row():
    rows = bytes([NUMERALS]) + exceptions([0, 1], "x", "y") + ONE_FORM
    assert unpacked_texts(rows + integers.packed_part(np.arange(2)), 2, ROOM) == ["x", "y"]


def test_a_few_odd_cells_do_not_spoil_a_way():
    """One in four may not fit; such numbers go on as those before them, and zones stay."""
    fits = np.ones(8, bool)
    fits[[2, 5]] = False
    assert texts._mostly(fits)
    assert not texts._mostly(fits & (np.arange(8) != 6))
    ticks = np.array([10, 20, 0, 0, 50, 0, 70, 80])
    known = np.array([True, True, False, False, True, False, True, True])
    assert texts._filled(ticks, known).tolist() == [10, 20, 30, 40, 50, 60, 70, 80]
    late = np.array([False, False, True, True, False])
    assert texts._filled(np.array([0, 0, 7, 9, 0]), late).tolist() == [7, 7, 7, 9, 11]
    assert texts._filled(ticks, np.ones(8, bool)) is ticks
    zones = np.array([0, 60, 0, 120, 0])
    kept = np.array([False, True, False, True, False])
    assert texts._held(zones, kept).tolist() == [60, 60, 60, 120, 120]


def test_words_are_listed_if_each_comes_twice():
    assert [way[0] for way in texts._ways(["ab", "cd", "ab", "cd"])] == [TEXT, WORDS]
    assert [way[0] for way in texts._ways(["ab", "cd", "ef"])] == [TEXT]
    times = ["10:00", "10:01", "10:02", "x"]
    assert [way[0] for way in texts._ways(times)] == [TEXT, TIMES]
    assert [way[0] for way in texts._ways(["1", "2", "3", "x"])] == [TEXT, NUMERALS]
    assert min(map(len, texts._ways(times))) == len(packed_texts(times))


def test_memory_is_asked_for_cells_and_letters():
    data = bytes([TEXT]) + packed_lines("abc", "de")
    letters, objects = 9 * 6, 2 * 80
    assert unpacked_texts(data, 2, letters + objects) == ["abc", "de"]
    for room in (objects - 1, letters + objects - 1):
        with pytest.raises(PacketError, match="max_bytes"):
            unpacked_texts(data, 2, room)
