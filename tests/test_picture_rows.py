"""Profiles, series, shares over time and the style of all: every artist, where it stands."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.image import imread

from artists import SCREENS, boxes, ink, style, visible
from thresher.plotting import (
    for_page,
    profile_panels,
    series_panels,
    share_rows,
    to_png,
)
from thresher.plotting.style import (
    ACCENT,
    INK,
    empty_figure,
    fitting_size,
    on_phones,
    page_width,
    text_width,
)

RED = "#c0392b"


# ------------------------------------------------------------------------------------ profiles


@SCREENS
def test_profiles_are_laid_out_in_inches(screen, page):
    atoms = np.random.default_rng(0).normal(size=(4, 5))
    with screen():
        figure = profile_panels(atoms, list("abcd"), along="Hz", ends=(10.0, 20.0))
    n_columns = 3 if page == 8 else 2
    width = (page - (n_columns - 1) * 0.22) / n_columns
    total = 2 * (0.28 + 1.0 + 0.22) - 0.22 + 0.5
    assert figure.get_size_inches() == pytest.approx([page, total])
    for number, (axes, box) in enumerate(zip(figure.axes, boxes(figure), strict=True)):
        row, column = divmod(number, n_columns)
        bottom = total - (row + 1) * 1.28 - row * 0.22
        left = column * (width + 0.22) + 0.2
        assert box == pytest.approx([left, bottom, width - 0.4, 1.0])
        (stairs,) = axes.patches
        np.testing.assert_array_equal(stairs.get_data().values, atoms[number])
        np.testing.assert_allclose(stairs.get_data().edges, np.linspace(10, 20, 6))
        assert stairs.get_fill()
        assert to_hex(stairs.get_facecolor()) == ACCENT
        assert axes.get_xlim() == (10, 20)
        lowest = number + n_columns >= 4
        assert axes.get_xlabel() == ("Hz" if lowest else "")
        figure.canvas.draw()
        assert axes.xaxis.get_tick_params()["labelbottom"] is lowest
        assert axes.get_title(loc="left") == "abcd"[number]
        title = axes._left_title
        assert (title.get_fontsize(), title.get_fontweight()) == (pytest.approx(9.6), "bold")
        assert list(axes.get_yticks()) == []
        assert len(axes.get_xticks()) <= 8
        assert visible(axes) == {"bottom"}
        assert to_hex(axes.spines["bottom"].get_edgecolor()) == INK
        assert axes.patch.get_alpha() == 0
    assert ink(figure.axes[-1], 9.6) == {2}
    for wrong in (np.ones((2, 3)), np.ones(4), np.ones((0, 3))):
        with pytest.raises(ValueError, match="need as many titles, and one at least"):
            profile_panels(wrong, list("abcd")[: len(wrong) if wrong.ndim == 1 else 1])


# -------------------------------------------------------------------------------------- series


def test_series_show_readings_fillings_intervals_and_glitches():
    before = np.array([[1.0], [np.nan], [99.0], [4.0], [np.nan]])
    after = np.array([[1.0], [2.0], [3.0], [4.0], [np.nan]])
    lower = np.array([[np.nan], [1.5], [2.5], [np.nan], [np.nan]])
    upper = lower + 1
    figure = series_panels(["name"], before, after, lower, upper)
    (axes,) = figure.axes
    sound, new, wrong = axes.lines
    np.testing.assert_array_equal(sound.get_ydata(), [1, np.nan, np.nan, 4, np.nan])
    np.testing.assert_array_equal(new.get_data(), [range(5), [np.nan, 2, 3, np.nan, np.nan]])
    np.testing.assert_array_equal(wrong.get_xdata(), [2])
    assert wrong.get_ydata() == pytest.approx([4 + 0.25 * 3])  # at the edge, as it is far out
    assert style(sound)[:3] == (INK, 0.9, "-")
    assert style(new)[:3] == (ACCENT, 1.6, "-")
    assert (new.get_marker(), new.get_markersize()) == (".", 3)
    assert to_hex(wrong.get_color()) == RED
    assert (wrong.get_marker(), wrong.get_markersize(), wrong.get_markeredgewidth()) == (
        "x",
        5,
        1.4,
    )
    (lines,) = axes.collections
    ends = np.array([line[:, 1] for line in lines.get_segments() if len(line) == 2])
    np.testing.assert_array_equal(ends, [[1.5, 2.5], [2.5, 3.5]])
    assert lines.get_colors()[0] == pytest.approx(to_rgba(ACCENT, 0.35))
    assert lines.get_linewidths()[0] == 1.6
    assert axes.get_title(loc="left") == "name"
    assert visible(axes) == {"left", "bottom"}
    assert {to_hex(axes.spines[s].get_edgecolor()) for s in ("left", "bottom")} == {INK}
    assert axes.patch.get_alpha() == 0
    assert axes._left_title.get_fontsize() == 10


@SCREENS
def test_series_stand_one_below_the_other(screen, page):
    X = np.arange(60.0).reshape(20, 3)
    with screen():
        figure = series_panels(list("abc"), X, X, X * np.nan, X * np.nan, places=np.arange(20) * 2)
    width, height = min(7.4, page), 1.35 * 3 + 0.5
    assert figure.get_size_inches() == pytest.approx([width, height])
    for number, box in enumerate(boxes(figure)):
        bottom = 0.35 + 1.35 * (2 - number)
        assert box == pytest.approx([0.6, bottom, 0.98 * width - 0.6, 1.0])
    figure.canvas.draw()
    shown = [axes.xaxis.get_tick_params()["labelbottom"] for axes in figure.axes]
    assert shown == [False, False, True]
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), np.arange(20) * 2)
    assert len(figure.axes[0].get_xticks()) <= (12 if page == 8 else 7)
    ink(figure.axes[2], 8)


def test_times_are_told_as_dates():
    times = np.datetime64("2026-03-01") + np.arange(48) * np.timedelta64(1, "h")
    X = np.ones((48, 1))
    (axes,) = series_panels(["a"], X, X, X * np.nan, X * np.nan, places=times).axes
    assert isinstance(axes.xaxis.get_major_locator(), AutoDateLocator)
    assert axes.xaxis.get_major_locator().maxticks[3] == 9
    assert isinstance(axes.xaxis.get_major_formatter(), ConciseDateFormatter)
    axes.figure.canvas.draw()
    assert axes.xaxis.get_offset_text().get_text() == ""
    with on_phones():
        (axes,) = series_panels(["a"], X, X, X * np.nan, X * np.nan, places=times).axes
    assert axes.xaxis.get_major_locator().maxticks[3] == 4
    for names, other in ((["a", "b"], X), (["a"], X[1:])):
        with pytest.raises(ValueError, match="names do not suit tables of the shape"):
            series_panels(names, X, other, X, X)
    nothing = np.full((48, 1), np.nan)
    assert series_panels(["a"], nothing, nothing, nothing, nothing).axes


# ---------------------------------------------------------------------------------- share rows


@SCREENS
def test_rows_of_shares_are_areas_on_one_scale(screen, page):
    shares = np.array([[0.1, 0.5, 0.2], [0.25, 0.0, 0.25]])
    marks = [(0, 1, "born"), (1, 2, "died"), (1, 0, "merged"), (0, 2, "split"), (1, 1, "born")]
    with screen():
        figure = share_rows(["up", "down"], ["s0", "s1", "s2"], shares, marks)
    (axes,) = figure.axes
    foot = 0.62 if page == 8 else 0.82
    room = min(2.6, 0.42 * page)
    assert figure.get_size_inches() == pytest.approx([page, 0.84 + foot])
    assert boxes(figure)[0] == pytest.approx([room, foot, 0.98 * page - room, 0.84])
    for row, floor in ((0, 1), (1, 0)):
        curve, ground = axes.lines[2 * row : 2 * row + 2]
        np.testing.assert_allclose(curve.get_data(), [range(3), floor + 0.85 * shares[row] / 0.5])
        assert style(curve)[:2] == (ACCENT, 1.1)
        assert set(ground.get_ydata()) == {floor}
        assert style(ground)[:2] == (INK, 0.4)
        assert ground.get_alpha() == 0.6
        area = axes.collections[row]
        assert area.get_facecolor()[0] == pytest.approx(to_rgba(ACCENT, 0.45))
        assert area.get_paths()[0].vertices[:, 1].min() == floor
    expected = {
        "born": ("^", ACCENT, [(1, 1.12), (1, 0.12)]), "died": ("v", INK, [(2, 0.12)]),
        "merged": ("D", INK, [(0, 0.12)]), "split": ("s", ACCENT, [(2, 1.12)]),
    }  # fmt: skip
    for line, (kind, (symbol, colour, places)) in zip(
        axes.lines[4:], expected.items(), strict=True
    ):
        assert (line.get_label(), line.get_marker(), to_hex(line.get_color())) == (
            kind, symbol, colour,
        )  # fmt: skip
        np.testing.assert_allclose(np.transpose(line.get_data()), places)
        assert (line.get_markersize(), line.get_linestyle()) == (7, "None")
    assert [t.get_text() for t in axes.get_legend().get_texts()] == list(expected)
    assert axes.get_legend()._ncols == (5 if page == 8 else 2)
    assert axes.get_xlim() == pytest.approx((-0.4, 2.4))
    assert axes.get_ylim() == pytest.approx((-0.08, 2))
    assert list(axes.get_yticks()) == pytest.approx([1.3, 0.3])
    assert [t.get_text() for t in axes.get_yticklabels()] == ["up", "down"]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["s0", "s1", "s2"]
    assert visible(axes) == set()
    assert ink(axes, 9.6) == {0}


def test_names_of_steps_are_thinned_evenly_and_names_of_rows_are_cut():
    days = [f"2026-01-{d:02}" for d in range(1, 32)]
    (axes,) = share_rows(["n" * 40], days, np.full((1, 31), 0.5)).axes
    shown = [t.get_text() for t in axes.get_xticklabels()]
    room = int(0.95 * 13 * (8 - 2.6)) // 12
    every = -(-31 // room)
    assert shown == days[::every]
    assert axes.get_legend() is None
    (name,) = (t.get_text() for t in axes.get_yticklabels())
    assert name.endswith("…")
    assert text_width(name, 9.6) <= 2.5 < text_width("n" + name, 9.6)
    assert share_rows(["a"], ["s"], [[0.0]]).axes[0].get_xlim() == pytest.approx((-0.4, 0.6))
    for wrong in ([[0.5, 0.5]], [0.5], np.zeros((1, 0))):
        with pytest.raises(ValueError, match="Give a share for each of 1 parts at each of"):
            share_rows(["a"], ["s"] if np.size(wrong) else [], wrong)


# --------------------------------------------------------------------------------------- style


def test_pictures_are_drawn_for_pages_and_for_phones():
    widths = []

    def draw():
        widths.append(page_width())
        return empty_figure(page_width(), 1.0)

    page, phone = for_page(draw)
    assert widths == [8.0, 3.4]
    assert imread(io.BytesIO(page)).shape[:2] == (160, 1280)
    assert imread(io.BytesIO(phone)).shape[:2] == (200, 680)
    assert imread(io.BytesIO(page))[..., 3].max() == 0  # the ground is that of the page
    assert b"Software" not in page
    with pytest.raises(RuntimeError), on_phones():
        raise RuntimeError
    assert page_width() == 8.0
    figure = empty_figure(2.0, 1.0)
    assert figure.patch.get_alpha() == 0
    assert figure.get_layout_engine() is None
    assert imread(io.BytesIO(to_png(figure, 50))).shape[:2] == (50, 100)


def test_text_fits():
    assert fitting_size("a", 100.0) == 12
    assert fitting_size("a" * 10, 0.5) == pytest.approx(36 / (0.58 * 10))
    assert fitting_size("a" * 10, 0.5, 5.0) == 5
    assert fitting_size("", 0.05) == pytest.approx(72 * 0.05 / 0.58)
    assert text_width("", 10) == 0
    assert text_width("mm", 20) == pytest.approx(2 * text_width("mm", 10), rel=0.01)
    assert 0.1 < text_width("mm", 12) < 0.4
