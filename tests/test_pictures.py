"""What a viewer would notice in any picture: texts apart, inside, in one ink, by their thing."""

from contextlib import nullcontext
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text

from thresher.plotting import (
    atom_grid,
    bar_panels,
    choice_curve,
    convergence_curve,
    frame_grid,
    profile_panels,
    series_panels,
    share_bars,
    share_rows,
    to_png,
)
from thresher.plotting.style import INK, TEXT_SIZE, on_phones


def curve():
    rng = np.random.default_rng(0)
    return convergence_curve(
        np.arange(1, 101) * 32, 1 + rng.random(100), 0.5,
        sample_name="frames seen", loss_name="loss per pixel",
        legend=("each batch", "running mean", "true background"),
    )  # fmt: skip


def frames():
    stack = np.zeros((3, 30, 40))
    titles = ["\nvideo", "background\nfound", "foreground\nfound", "background\nNMF"]
    return frame_grid([stack] * 4, titles, [f"frame {k}00" for k in range(3)], separators=(1, 3))


def atoms():
    return atom_grid(np.ones((5, 30, 40)), titles=[f"atom {k}" for k in range(5)], n_columns=2)


def bars():
    words = ["parliament", "vote", "law", "budget", "tax"]
    heights = [5.0, 4.0, 3.0, 2.0, 1.0]
    return bar_panels([f"Topic {k}" for k in range(5)], [words] * 5, [heights] * 5)


def shares():
    return share_bars(["rain, wind, snow", "goal, match", "vote"], [0.55, 0.3, 0.15])


def profiles():
    titles = [f"part {k}, {k + 3}00 Hz" for k in range(4)]
    return profile_panels(np.ones((4, 30)), titles, along="frequency in Hz", ends=(0, 22050))


def sensors():
    X = np.linspace(900, 1100, 120).reshape(60, 2)
    X[20:30, 1] = np.nan
    filled, gap = np.where(np.isnan(X), 1000.0, X), np.where(np.isnan(X), 990.0, np.nan)
    return series_panels(["pressure", "roof"], X, filled, gap, gap + 20)


def timeline():
    names = ["government, parliament, mammoth, commitment", "goal, match"]
    days = [f"2026-01-{d:02}" for d in range(1, 32)]
    kinds = ("born", "died", "merged", "split", "turned")
    marks = [(k % 2, 3 + 6 * k, kind) for k, kind in enumerate(kinds)]
    return share_rows(names, days, np.full((2, 31), 0.5), marks)


def choices():
    error = [3.0, 2.0, 1.0, 1.2]
    table = {"n_components": [2, 3, 4, 5], "error": error, "standard_error": [0.1] * 4}
    return choice_curve(table, 2)


PICTURES = [curve, frames, atoms, bars, shares, profiles, sensors, timeline, choices]
every_picture = pytest.mark.parametrize("draw", PICTURES, ids=lambda draw: draw.__name__)


def shown_texts(figure):
    """Texts with their places, all that are drawn: no ticks beyond the ends of an axis."""
    figure.canvas.draw()
    beyond = [
        tick.label1
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not (axes.axison and min(axis.get_view_interval()) <= tick.get_loc())
        or tick.get_loc() > max(axis.get_view_interval())
    ]
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    return {text: text.get_window_extent() for text in texts if text not in beyond}


@pytest.mark.parametrize("screen", [nullcontext, on_phones])
@every_picture
def test_texts_are_apart_inside_and_in_one_ink(draw, screen):
    with screen():
        figure = draw()
    found = shown_texts(figure)
    assert len(found) > 2
    for text, box in found.items():
        assert to_hex(text.get_color()) == INK
        assert 0.55 * TEXT_SIZE < text.get_fontsize() <= TEXT_SIZE
        assert min(box.x0, box.y0) >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    for (one, a), (two, b) in combinations(found.items(), 2):
        assert not a.overlaps(b), (one, two)


@every_picture
def test_pictures_do_not_depend_on_settings_of_the_user(draw):
    """What a file of settings says about type and colours is for the user's own pictures."""
    strange = {
        "font.size": 30, "text.color": "red", "axes.titlesize": 5, "axes.titlecolor": "red",
        "axes.labelcolor": "red", "axes.labelsize": 25, "xtick.color": "red", "ytick.color": "red",
        "xtick.labelsize": 25, "ytick.labelsize": 25, "axes.edgecolor": "red",
        "axes.facecolor": "red", "figure.facecolor": "red", "figure.autolayout": True,
        "lines.color": "red", "lines.linewidth": 9, "patch.facecolor": "red", "grid.color": "red",
        "legend.frameon": True, "legend.fontsize": 30, "legend.labelcolor": "red",
        "legend.borderpad": 3, "legend.borderaxespad": 3, "legend.columnspacing": 9,
        "legend.handlelength": 9, "image.cmap": "viridis", "axes.xmargin": 0.3,
    }  # fmt: skip
    plain = to_png(draw(), dpi=60)
    with mpl.rc_context(strange):
        assert to_png(draw(), dpi=60) == plain


def test_the_legend_is_one_line_beside_the_title():
    figure = curve()
    places = shown_texts(figure)
    (axes,) = figure.axes
    title = next(box for text, box in places.items() if text.get_text() == "loss per pixel")
    legend = axes.get_legend()
    names = [text.get_window_extent() for text in legend.get_texts()]
    lines = [line.get_window_extent() for line in legend.get_lines()]
    assert len(names) == len(lines) == 3
    panel = axes.get_window_extent()
    for name, line in zip(names, lines, strict=True):
        assert panel.y1 <= name.y0  # above the curves
        assert abs(name.y0 + name.y1 - title.y0 - title.y1) < title.height  # level with the title
        assert title.x1 < line.x0 < line.x1 < name.x0
        assert line.width > name.height  # long enough to tell dashes from a line
    for name, line, following in zip(names, lines, lines[1:], strict=False):
        own, next_one = name.x0 - line.x1, following.x0 - name.x1
        assert own < next_one < line.width  # a line belongs to the name behind it
    assert names[-1].x1 == pytest.approx(panel.x1, abs=0.05 * panel.width)


def test_labels_of_rows_are_smaller_than_headings_and_beside_their_row():
    figure = frames()
    places = shown_texts(figure)
    first_of_rows = figure.axes[::4]
    labels = figure.texts
    for label, axes in zip(labels, first_of_rows, strict=True):
        box, panel = places[label], axes.get_window_extent()
        assert label.get_fontsize() < figure.axes[0].title.get_fontsize()
        assert box.x1 < panel.x0
        assert box.y0 + box.y1 == pytest.approx(panel.y0 + panel.y1, abs=4)


def test_headings_of_panels_have_room():
    """Between the rows of panels, and above the first one."""
    figure = bar_panels(list("abcdef"), [["x", "y"]] * 6, [[1.0, 0.5]] * 6, n_columns=2)
    figure.canvas.draw()
    headings = [text.get_window_extent() for text in figure.texts]
    panels = [axes.get_window_extent() for axes in figure.axes]
    assert len(headings) == len(panels) == 6
    for number, (heading, panel) in enumerate(zip(headings, panels, strict=True)):
        ceiling = figure.bbox.y1 if number < 2 else panels[number - 2].y0
        assert panel.y1 <= heading.y0
        assert heading.y1 <= ceiling


@pytest.mark.parametrize(("first", "last"), [(111_400, 71_080), (3.0, 2.9), (1e6, 10), (0.5, 0.02)])
def test_losses_in_any_range_have_numbers_to_read_them_by(first, last):
    figure = convergence_curve(np.arange(20), np.geomspace(first, last, 20))
    low, high = sorted(figure.axes[0].get_ylim())
    ticks = figure.axes[0].get_yticks()
    assert np.count_nonzero((ticks >= low) & (ticks <= high)) >= 3
