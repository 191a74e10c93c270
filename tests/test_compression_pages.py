"""The page of a compressed file: sizes and errors as they were measured, and what stands beside."""

from types import SimpleNamespace

import numpy as np
import pytest

from blocks import facts_of, head_of, headings, section
from thresher import __version__
from thresher.report import Report
from thresher.tasks.compression import beside as beside_codec
from thresher.tasks.compression import codec_page, page
from thresher.tasks.compression.report import CompressionReport, Errors

BESIDE = "Beside a simple alternative"


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Figures that the page draws; how they look is tested elsewhere."""
    figures = []
    monkeypatch.setattr(page, "for_page", lambda draw: figures.append(draw()) or b"png")
    return figures


def compressed(own=(0.01, 0.03, 0.0), error=0.02, labels=("time",), kind="CSV"):
    own = np.array(own)
    errors = Errors(error, own, 10 * own, 100 * own)
    return CompressionReport(
        n_bytes=1000, source_bytes=12340, raw_bytes=4560, memory=1, paper_ratio=None, errors=errors,
        names=[f"<s{j}>" for j in range(len(own))], labels=list(labels),
        missing=np.arange(len(own)) / 8, packets={}, label_bytes=[150] * len(labels),
        value_bytes=800, kind=kind, values=np.ones((4, len(own))),
    )  # fmt: skip


def test_sizes_and_errors_of_a_file_are_those_measured(drawn):
    report = page.compression_page(compressed(), "t.csv")
    assert head_of(report) == (
        f"Thresher {__version__} · compression",
        "t.csv, 12.3 times smaller",
        "1,000 bytes instead of 12,340. The file was decoded again to measure its error: 2.000% of "
        "the size of all values.",
    )
    assert facts_of(report) == [
        ("1,000", "bytes"), ("12.3 ×", "smaller than the CSV file"),
        ("4.6 ×", "smaller than 32-bit numbers"), ("2.00%", "relative error of all values"),
    ]  # fmt: skip
    assert headings(report) == ["What each sensor lost", "What takes the bytes"]
    picture, table = section(report, "What each sensor lost")
    assert picture[1] == "<s0>: 0.1; <s1>: 0.3; <s2>: 0"
    assert picture[2].endswith("the numbers are below.")
    assert table[1:3] == (
        ["Sensor", "missing", "of its own size", "root mean square", "largest"],
        [["<s0>", "0.0%", "1.000%", "0.1", "1"], ["<s1>", "12.5%", "3.000%", "0.3", "3"],
         ["<s2>", "25.0%", "0.000%", "0", "0"]],
    )  # fmt: skip
    assert section(report, "What takes the bytes")[0][1:3] == (
        ["Column", "bytes", "share"],
        [["3 columns of measurements", "800", "80.0%"], ["time", "150", "15.0%"],
         ["names, and what holds it together", "50", "5.0%"]],
    )  # fmt: skip
    for axes in drawn[0].axes:
        np.testing.assert_allclose([bar.get_width() for bar in axes.patches], [1 / 3, 1, 0])


def test_an_exact_file_has_no_picture_and_one_of_text_no_sensors(drawn, monkeypatch):
    calls = []
    monkeypatch.setattr(page, "tell_rounding", lambda *given: calls.append(given[1:]))
    exact = compressed((0.0, 0.0), 0.0)
    report = page.compression_page(exact, "t", exact.values, 1.5)
    assert head_of(report)[2].endswith("every value comes back as it was.")
    assert [block[0] for block in section(report, "What each sensor lost")] == ["table"]
    assert calls == [(exact.values, 1000, 1.5, 0.0)]
    text = page.compression_page(compressed((), 0.0), "t", np.ones((4, 0)), 1.5)
    assert headings(text) == ["What takes the bytes"]
    page.compression_page(exact, "t")
    assert len(calls) == 1
    assert not drawn


def test_of_very_many_sensors_those_of_largest_error_are_shown(drawn):
    own = np.linspace(0.001, 0.1, 201)
    picture, table = section(page.compression_page(compressed(own), "t"), "What each sensor lost")
    assert picture[2].endswith("The 30 of largest error.")
    assert drawn[0].axes[0].get_yticklabels()[0].get_text() == "<s171>"
    assert len(table[2]) == 200
    assert table[2][0][0] == "<s1>"
    assert table[3].endswith("The 200 of largest error.")
    picture, table = section(
        page.compression_page(compressed(own[:30]), "t"), "What each sensor lost"
    )
    assert "of largest error" not in picture[2] + table[3]


def test_rounding_stands_beside_with_its_bits_and_speed(monkeypatch):
    monkeypatch.setattr(beside_codec, "timed", lambda work: (work(), 0.25))
    Y = np.round(np.cumsum(np.random.default_rng(0).normal(size=(40, 5)), axis=0), 2)
    packed, off = beside_codec.rounded_and_packed(Y, 0.01)
    beside_codec.tell_rounding(report := Report("t"), Y, 300, 0.5, 0.01)
    ((_, head, rows, how),) = section(report, BESIDE)
    assert head[1:] == ["bits a value", "relative error", "values a second"]
    assert rows == [
        ["SensorCodec", "12.00", "1.00%", "400"],
        ["rounding and lzma", f"{8 * packed / 200:.2f}", f"{off:.2%}", "800"],
    ]  # fmt: skip
    assert "without an error" not in how
    assert how.endswith("reads and checks nothing.")
    beside_codec.tell_rounding(report := Report("t"), Y, 300, float("nan"), 0.0)
    ours, theirs = section(report, BESIDE)[0][2]
    assert (ours[3], theirs[2]) == ("–", "0.00%")
    assert "(without an error: the numbers as they are)" in section(report, BESIDE)[0][3]
    for most, part in ((200, ""), (199, " It saw the first 39 rows."), (3, " It saw the first 1 ")):
        monkeypatch.setattr(beside_codec, "_MOST_VALUES", most)
        beside_codec.tell_rounding(report := Report("t"), Y, 300, 1.0, 0.01)
        assert part in section(report, BESIDE)[0][3]
        assert ("It saw" in section(report, BESIDE)[0][3]) == bool(part)


def test_errors_are_of_all_values_and_of_each_column():
    Y = np.array([[3.0, 0.0, np.nan], [4.0, 0.0, 1.0]])
    written = np.array([[3.3, 0.0, 5.0], [4.0, 0.5, 1.0]])
    errors = Errors.of(written, Y)
    assert errors.relative == pytest.approx(np.sqrt((0.09 + 0.25) / 26))
    np.testing.assert_allclose(errors.own, [0.06, np.inf, 0])
    np.testing.assert_allclose(errors.rms, [np.sqrt(0.045), np.sqrt(0.125), 0])
    np.testing.assert_allclose(errors.largest, [0.3, 0.5, 0])
    assert Errors.of(np.zeros((2, 0)), np.zeros((2, 0))).relative == 0


@pytest.mark.parametrize(
    ("own", "asked", "relative", "refused"),
    [(0.2, 0.02, 0.0, False), (0.201, 0.02, 0.0, True), (0.3, 0.02, 0.03, False),
     (1.0, 0.5, 0.0, False), (1.01, 0.5, 0.0, True)],
)  # fmt: skip
def test_a_column_that_would_be_lost_is_refused(own, asked, relative, refused):
    errors = Errors(relative, np.array([0.0, own]), np.array([0.0, 7.0]), np.zeros(2))
    if not refused:
        errors.check_columns(["a", "b"], asked)
        return
    with pytest.raises(ValueError, match=f"Column 'b' would .* of 7, which is {own:.1%} of its"):
        errors.check_columns(["a", "b"], asked)
    Errors(0.0, np.zeros(0), np.zeros(0), np.zeros(0)).check_columns([], 0.1)


def test_the_page_of_a_codec_counts_its_bytes(monkeypatch):
    monkeypatch.setattr(codec_page, "timed", lambda work: (work(), 0.25))
    monkeypatch.setattr(codec_page, "tell_rounding", lambda *given: told.append(given[1:]))
    told = []
    Y = np.outer(np.arange(1.0, 5), np.ones(61))
    decoded = Y + np.arange(61) / 100
    codec = SimpleNamespace(
        error="1%", compress=lambda Y, names: (b"x" * 122, None),
        decompress=lambda data: (decoded, None),
    )  # fmt: skip
    report = codec_page.codec_page(codec, Y, None)
    assert head_of(report)[1] == "61 sensors in 122 bytes"
    assert head_of(report)[2].startswith("4 rows were compressed")
    assert head_of(report)[2].endswith("where 1% was asked.")
    assert facts_of(report) == [
        ("122", "bytes"), ("8.0 ×", "smaller than 32-bit numbers"), ("4.00", "bits a value"),
        ("0.25 s", "to compress, and 0.25 s to decode"),
    ]  # fmt: skip
    (table,) = section(report, "What each sensor lost")
    assert [row[0] for row in table[2]] == [f"sensor {j}" for j in range(1, 61)]
    assert table[2][-1][3] == "0.6"
    assert table[3] == "Errors in the unit of each sensor. The 60 of largest error."
    relative = np.sqrt(np.square(decoded - Y).sum() / np.square(Y).sum())
    assert told[0][1:3] == (122, 0.25)
    assert told[0][3] == pytest.approx(relative)
    few = codec_page.codec_page(codec, Y, list(range(61)))
    assert section(few, "What each sensor lost")[0][2][0][0] == "1"
