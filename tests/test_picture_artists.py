"""Every artist of every picture: where it stands, what it shows, in which ink."""

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter

from artists import SCREENS, boxes, ink, place, style, visible
from thresher.plotting import (
    atom_grid,
    bar_panels,
    choice_curve,
    convergence_curve,
    frame_grid,
    paint_boundaries,
    share_bars,
    share_curve,
)
from thresher.plotting.boundaries import WHEAT
from thresher.plotting.curves import _plain_number
from thresher.plotting.style import (
    ACCENT,
    INK,
    fitting_size,
    on_phones,
    text_width,
)

# ------------------------------------------------------------------------------------ bars


@SCREENS
def test_panels_of_bars_are_laid_out_in_inches(screen, page):
    titles = ["one", "two", "a rather long heading", "four"]
    labels, values = [["a", "bb"], ["c"], [], ["dddd", "e"]], [[2.0, 1.0], [4.0], [], [0.5, 0.0]]
    with screen():
        figure = bar_panels(titles, labels, values)
    n_columns = 3 if page == 8 else 1
    n_rows, bars = -(-4 // n_columns), 2 * 0.24
    row, width = 0.36 + bars + 0.3, (page - (n_columns - 1) * 0.3) / n_columns
    total = n_rows * row - 0.3
    assert figure.get_size_inches() == pytest.approx([page, total])
    room = 0.15 + max(text_width(name, 10.2) for names in labels for name in names)
    found = boxes(figure)
    size = min(max(width * 72 / 0.6 / 21, 9.0), 11.4)
    for number, (axes, text) in enumerate(zip(figure.axes, figure.texts, strict=True)):
        down, along = divmod(number, n_columns)
        left, bottom = along * (width + 0.3), total - down * row - 0.36 - bars
        assert found[number] == pytest.approx([left + room, bottom, width - room, bars])
        assert place(text, figure) == pytest.approx([left, bottom + bars + 0.07])
        assert text.get_text() == titles[number]
        assert text.get_fontsize() == pytest.approx(size)
        assert (text.get_fontweight(), text.get_va()) == ("bold", "bottom")
        assert to_hex(text.get_color()) == INK
        assert axes.get_xlim() == (0, 4)
        assert axes.get_ylim() == (1.5, -0.5)
        assert [bar.get_width() for bar in axes.patches] == values[number]
        for k, bar in enumerate(axes.patches):
            assert (bar.get_y() + bar.get_height() / 2, bar.get_height()) == pytest.approx(
                (k, 0.66)
            )
            assert to_hex(bar.get_facecolor()) == ACCENT
        assert [t.get_text() for t in axes.get_yticklabels()] == labels[number]
        assert list(axes.get_xticks()) == []
        assert visible(axes) == set()
        assert axes.patch.get_alpha() == 0
        assert ink(axes, 10.2) <= {0}


def test_wide_labels_leave_a_third_of_a_panel_and_headings_are_cut():
    figure = bar_panels(["t" * 60], [["w" * 16]], [[0.0]], n_columns=1)
    (box,) = boxes(figure)
    assert box[0] == pytest.approx(0.15 + text_width("w" * 16, 10.2))
    assert figure.axes[0].get_xlim() == (0, 1)  # of nothing but zeros
    with on_phones():
        figure = bar_panels(["t" * 60, "u"], [["w" * 16]] * 2, [[1.0]] * 2, n_columns=2)
    column = 3.4
    assert boxes(figure)[0][0] == pytest.approx(
        min(0.15 + text_width("w" * 16, 10.2), 0.65 * column)
    )
    title = figure.texts[0]
    assert title.get_fontsize() == 9
    assert title.get_text() == "t" * (int(column * 72 / 0.6 / 9) - 1) + "…"
    with on_phones():
        narrow = bar_panels(["t"], [["w" * 16]], [[1.0]])
    assert len(narrow.axes) == 1


@SCREENS
def test_shares_fall_from_the_top_with_their_per_cent(screen, page):
    with screen():
        figure = share_bars(["a", "n" * 50, "c"], [0.25, 0.5, 0.125])
    (axes,) = figure.axes
    letters = min(48, int(0.65 * page * 72 / (0.55 * 10.2)))
    names = ["n" * (letters - 1) + "…", "a", "c"]
    assert [t.get_text() for t in axes.get_yticklabels()] == names
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.25, 0.125]
    room = 0.15 + text_width(names[0], 10.2)
    assert figure.get_size_inches() == pytest.approx([page, 0.72])
    assert boxes(figure)[0] == pytest.approx([room, 0, page - room - 0.6, 0.72])
    assert axes.get_xlim() == (0, 0.5)
    assert axes.get_ylim() == (2.5, -0.5)
    for k, (text, share) in enumerate(zip(axes.texts, (0.5, 0.25, 0.125), strict=True)):
        assert text.get_text() == f"{share:.1%}"
        assert text.get_position() == pytest.approx((share + 0.006, k))
        assert text.get_fontsize() == pytest.approx(10.2)
        assert text.get_va() == "center_baseline"
        assert to_hex(text.get_color()) == INK
    assert share_bars(["a"], [0.0]).axes[0].get_xlim() == (0, 1)


# -------------------------------------------------------------------------------- boundaries


def test_boundaries_lie_between_segments():
    labels = np.zeros((5, 6), dtype=int)
    labels[:, 3:], labels[4] = 1, 2
    image = np.full((5, 6), 0.5)
    thin = paint_boundaries(image, labels, (1, 2, 3), 1)
    edges = np.zeros((5, 6), dtype=bool)
    edges[:4, 2] = edges[3] = True
    assert thin.dtype == np.uint8
    np.testing.assert_array_equal((thin == (1, 2, 3)).all(axis=2), edges)
    assert (thin[~edges] == 128).all()  # the nearest byte
    thick = (paint_boundaries(image, labels) == WHEAT).all(axis=2)
    assert thick[edges].all()
    assert thick.sum() == 4 * 2 + 2 * 6 - 2 * 2
    same = paint_boundaries(np.full((5, 6, 3), 7, dtype=np.uint8), np.zeros((5, 6)))
    assert (same == 7).all()
    bright = paint_boundaries(np.array([[2.0, -1.0]]), np.zeros((1, 2)))
    assert bright.tolist() == [[[255] * 3, [0] * 3]]
    before = np.zeros((1, 2, 3), dtype=np.uint8)
    paint_boundaries(before, [[0, 1]])
    assert (before == 0).all()
    for image, wrong in (((2, 3), (3, 2)), ((2, 3, 4), (2, 3)), ((2, 3, 1), (2, 3, 1))):
        with pytest.raises(ValueError, match=r"one entry for each pixel, .* shapes"):
            paint_boundaries(np.zeros(image), np.zeros(wrong))


# ------------------------------------------------------------------------------------ choices


def bars_of(container):
    """Places, values and the ends of the bars of a curve with errors."""
    line, _, (ends,) = container.lines
    x, y = line.get_data()
    low, high = np.array([segment[:, 1] for segment in ends.get_segments()]).T
    return line, ends, x, y, (high - low) / 2


def test_candidates_are_drawn_by_their_number_of_parts():
    table = {
        "n_components": [4, 2, 3, 2, 3], "divergence": ["kl", "kl", "kl", "l2", "l2"],
        "error": [1.0, 3.0, 2.0, 5.0, 4.0], "standard_error": [0.1, 0.3, 0.2, 0.5, 0.4],
        "behind": [0] * 5, "behind_error": [0] * 5, "stability": [1] * 5, "seconds": [1] * 5,
        "coherence": [1] * 5,
    }  # fmt: skip
    figure = choice_curve(table, 0)
    (axes,) = figure.axes
    curves = [bars_of(container) for container in axes.containers]
    expected = [([2, 3, 4], [3, 2, 1], [0.3, 0.2, 0.1]), ([2, 3], [5, 4], [0.5, 0.4])]
    for (line, ends, *found), values in zip(curves, expected, strict=True):
        for one, other in zip(found, values, strict=True):
            np.testing.assert_allclose(one, other)
        assert to_hex(line.get_color()) == ACCENT
        assert to_hex(ends.get_colors()[0]) == INK
        assert line.get_linewidth() == 1.6
        assert ends.get_linewidths()[0] == 0.9
    assert [curve[0].get_linestyle() for curve in curves] == ["-", "--"]
    assert [curve[0].get_alpha() for curve in curves] == [1, 0.75]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == [
        "divergence=kl",
        "divergence=l2",
    ]
    assert not axes.get_legend().get_frame_on()
    best = axes.lines[-1]
    assert (best.get_xdata()[0], best.get_ydata()[0]) == (4, 1)
    assert (best.get_marker(), best.get_fillstyle(), best.get_markersize()) == ("o", "none", 8)
    assert to_hex(best.get_color()) == INK
    assert axes.get_xlabel() == "number of parts"
    assert axes.get_title(loc="left") == "mean absolute error of hidden entries"
    assert all(float(tick).is_integer() for tick in axes.get_xticks())
    assert visible(axes) == {"bottom"}
    assert to_hex(axes.spines["bottom"].get_edgecolor()) == INK
    assert axes.patch.get_alpha() == 0
    assert figure.get_size_inches() == pytest.approx([6.6, 2.9])
    assert boxes(figure)[0] == pytest.approx([0.73, 0.195 * 2.9, 0.98 * 6.6 - 0.73, 0.69 * 2.9])
    assert ink(axes, 10.8) == {0}


def test_a_single_curve_has_no_legend_and_others_stand_side_by_side():
    table = {"n_components": [2, 3], "error": [1.0, 2.0], "standard_error": [0.1, 0.2]}
    assert choice_curve(table, 0).axes[0].get_legend() is None
    del table["n_components"]
    table["forgetting"] = [None, 9]
    (axes,) = choice_curve(table, 1).axes
    line, ends, x, y, bar = bars_of(axes.containers[0])
    np.testing.assert_allclose([x, y, bar], [[0, 1], [1, 2], [0.1, 0.2]])
    assert (line.get_marker(), line.get_linestyle()) == ("o", "None")
    assert (to_hex(line.get_color()), to_hex(ends.get_colors()[0])) == (ACCENT, INK)
    assert [t.get_text() for t in axes.get_xticklabels()] == ["forgetting=None", "forgetting=9"]
    assert axes.lines[-1].get_xdata()[0] == 1
    assert axes.get_legend() is None
    assert axes.get_xlabel() == ""
    assert axes.get_xlim() == pytest.approx((-0.15, 1.15))


# ------------------------------------------------------------------------------------- curves


@SCREENS
def test_losses_are_pale_their_mean_is_not_and_a_reference_is_dashed(screen, page):
    x, y = np.arange(1, 101), np.geomspace(100, 1, 100)
    with screen():
        figure = convergence_curve(x, y, 0.5, legend=("a", "b", "c"))
    (axes,) = figure.axes
    steps, mean, below = axes.lines
    assert style(steps) == (ACCENT, 0.9, "-", 0.55)
    assert style(mean) == (ACCENT, 2.2, "-", None)
    assert style(below) == (INK, 1.4, "--", None)
    np.testing.assert_array_equal(steps.get_data(), [x, y])
    np.testing.assert_array_equal(below.get_data(), [x, np.full(100, 0.5)])
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["a", "b", "c"]
    assert axes.get_legend()._ncols == (3 if page == 8 else 2)
    assert not axes.get_legend().get_frame_on()
    assert {to_hex(t.get_color()) for t in axes.get_legend().get_texts()} == {INK}
    assert axes.get_xlabel() == "samples seen"
    assert axes.get_title(loc="left") == "mean loss per sample"
    assert isinstance(axes.yaxis.get_major_locator(), LogLocator)
    assert isinstance(axes.yaxis.get_minor_locator(), NullLocator)
    assert figure.get_size_inches() == pytest.approx([min(6.6, page), 2.9])
    assert visible(axes) == {"bottom"}
    assert axes.spines["bottom"].get_linewidth() == 0.8
    assert to_hex(axes.spines["bottom"].get_edgecolor()) == INK
    assert axes.patch.get_alpha() == 0
    assert ink(axes, 10.8) == {0}
    grid = axes.yaxis.get_gridlines()[0]
    assert style(grid)[:2] == (INK, 0.6)
    assert grid.get_alpha() == 0.25
    assert not axes.xaxis.get_gridlines()[0].get_visible()
    assert len(axes.get_xticks()) <= (9 if page == 8 else 6)
    assert axes.get_xlim() == pytest.approx((1 - 0.99, 100 + 0.99))
    named = convergence_curve(x, y, sample_name="s", loss_name="l").axes[0]
    assert (named.get_xlabel(), named.get_title(loc="left")) == ("s", "l")
    assert [t.get_text() for t in named.get_legend().get_texts()] == ["each step", "running mean"]


def test_losses_in_a_narrow_range_have_round_numbers():
    (axes,) = convergence_curve([1, 2], [1.5, 6.0]).axes  # 2 and 5 would be too few
    assert isinstance(axes.yaxis.get_major_locator(), MaxNLocator)
    assert 3 <= len(axes.get_yticks()) <= 6
    (axes,) = convergence_curve([1, 2], [1.5, 12.0]).axes
    assert isinstance(axes.yaxis.get_major_locator(), LogLocator)
    (axes,) = convergence_curve([1, 2], [-1.0, 2.0]).axes
    assert not isinstance(axes.yaxis.get_major_locator(), LogLocator)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (1234, "1\u2009234"), (99999.4, "99\u2009999.4"), (123456.7, "123\u2009457"),
     (-123456.7, "-123\u2009457"), (1e9, "1e+09"), (999999999.0, "999\u2009999\u2009999")],
)  # fmt: skip
def test_numbers_have_thousands_apart(value, text):
    assert _plain_number(value) == text


@SCREENS
def test_a_share_is_an_area_with_upright_marks(screen, page):
    with screen():
        figure = share_curve([0, 5, 10], [0.1, 0.4, 0.2], "frame", "moves", [2, 7])
    (axes,) = figure.axes
    first, second, curve = axes.lines
    for mark, at in ((first, 2), (second, 7)):
        assert list(mark.get_xdata()) == [at, at]
        assert style(mark)[:3] == (INK, 1.4, "--")
    assert style(curve)[:3] == (ACCENT, 1.4, "-")
    np.testing.assert_array_equal(curve.get_data(), [[0, 5, 10], [0.1, 0.4, 0.2]])
    (area,) = axes.collections
    assert area.get_facecolor()[0] == pytest.approx(to_rgba(ACCENT, 0.35))
    assert area.get_linewidths()[0] == 0
    heights = area.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0, 0.4)
    assert axes.get_ylim() == pytest.approx((0, 0.42))
    assert isinstance(axes.yaxis.get_major_formatter(), PercentFormatter)
    axes.figure.canvas.draw()
    assert "15.0%" in [t.get_text() for t in axes.get_yticklabels()]
    assert len(axes.get_yticks()) <= 7
    assert len(axes.get_xticks()) <= (9 if page == 8 else 6)
    assert axes.get_title(loc="left") == "moves"
    assert boxes(figure)[0][3] == pytest.approx((0.69 if page == 8 else 0.52) * 2.9)


# ------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize("n_columns", [1, 4])
@SCREENS
def test_frames_are_laid_out_in_inches(screen, page, n_columns):
    rng = np.random.default_rng(0)
    stacks = [rng.integers(0, 256, (2, 6, 8)) for _ in range(n_columns)]
    titles = [f"c{k}\nx" for k in range(n_columns)]
    with screen():
        figure = frame_grid(stacks, titles, ["r0", "r1"], separators=(2,), limits=(5.0, 200.0))
    assert len(figure.axes) == 2 * n_columns
    gaps = [0.06, 0.18, 0.06][: n_columns - 1]
    width = (page - 0.32 - sum(gaps)) / n_columns
    height, head = width * 6 / 8, 2 * 1.35 * 12 / 72 + 0.08
    total = head + 2 * height + 0.06
    assert figure.get_size_inches() == pytest.approx([page, total])
    found = boxes(figure)
    for number, axes in enumerate(figure.axes):
        row, column = divmod(number, n_columns)
        left = 0.32 + column * width + sum(gaps[:column])
        bottom = total - head - height - row * (height + 0.06)
        assert found[number] == pytest.approx([left, bottom, width, height])
        (image,) = axes.images
        np.testing.assert_array_equal(image.get_array(), stacks[column][row])
        assert image.get_clim() == (5, 200)
        assert image.get_cmap().name == "gray"
        assert axes.get_title() == (titles[column] if row == 0 else "")
        assert not axes.axison
        if row == 0:
            assert axes.title.get_fontsize() == pytest.approx(fitting_size("c0", width))
            assert to_hex(axes.title.get_color()) == INK
    for row, text in enumerate(figure.texts):
        bottom = total - head - height - row * (height + 0.06)
        assert place(text, figure) == pytest.approx([0.45 * 0.32, bottom + height / 2])
        assert text.get_text() == f"r{row}"
        assert (text.get_rotation(), text.get_ha(), text.get_va()) == (90, "center", "center")
        assert text.get_fontsize() == pytest.approx(fitting_size("r0", height, 10.8))


def test_on_a_phone_columns_that_would_be_too_narrow_go_below():
    stacks = [np.full((1, 4, 4), k) for k in range(6)]
    with on_phones():
        figure = frame_grid(stacks, list("abcdef"), ["r"])
    found = boxes(figure)
    assert [axes.get_title() for axes in figure.axes] == list("abcdef")
    assert len(figure.texts) == 2  # the row has its name in each block
    assert found[:3, 1] == pytest.approx(found[0, 1])
    assert found[3:, 1] == pytest.approx(found[3, 1])
    head = 1.35 * 12 / 72 + 0.08
    assert found[0, 1] - found[3, 1] == pytest.approx(head + found[0, 3] + 0.06)
    assert found[:3, 0] == pytest.approx(found[3:, 0])
    assert found[0, 2] == pytest.approx((3.4 - 0.32 - 0.12) / 3)
    assert frame_grid([stacks[3]], ["a"], ["r"]).axes[0].images[0].get_clim() == (0, 255)


@pytest.mark.parametrize("titles", [None, list("abcde")])
@SCREENS
def test_atoms_go_from_zero_to_their_own_brightest(screen, page, titles):
    atoms = np.arange(5.0)[:, None, None] * np.arange(12.0).reshape(3, 4)
    with screen():
        figure = atom_grid(atoms, titles=titles, n_columns=4)
    n_columns = 4 if page == 8 else 3
    width = (page - (n_columns - 1) * 0.12) / n_columns
    height, head = width * 3 / 4, 0.12 if titles is None else 1.35 * 12 / 72 + 0.08
    total = 2 * (height + head)
    assert figure.get_size_inches() == pytest.approx([page, total])
    for number, (axes, box) in enumerate(zip(figure.axes, boxes(figure), strict=True)):
        row, column = divmod(number, n_columns)
        left, bottom = column * (width + 0.12), total - (row + 1) * (height + head)
        assert box == pytest.approx([left, bottom, width, height])
        (image,) = axes.images
        np.testing.assert_array_equal(image.get_array(), atoms[number])
        assert image.get_clim() == (0, 11 * number or 1)
        assert image.get_cmap().name == "gray"
        assert axes.get_title() == ("" if titles is None else titles[number])
        assert axes.title.get_fontsize() == 12
    assert len(boxes(atom_grid(atoms))) == 5
    assert boxes(atom_grid(atoms))[3][0] == pytest.approx(0)  # three in a row
    with pytest.raises(ValueError, match="5 atoms need as many titles, not 1"):
        atom_grid(atoms, titles=["a"])
    with pytest.raises(ValueError, match="shape"):
        atom_grid(np.zeros((2, 3, 4, 3)))
