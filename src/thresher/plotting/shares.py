"""Shares of a whole over time, with marks where something happened."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from .style import ACCENT, INK, TEXT_SIZE, empty_figure, page_width, plainly, text_width

_ROW, _AXIS, _LABELS = 0.42, 0.62, 2.6  # inches
_MOST_FOR_LABELS = 0.42  # of the width
_SMALL = 0.8 * TEXT_SIZE
_PER_INCH = 13  # letters
_MARKS = {
    "born": ("^", ACCENT), "died": ("v", INK), "merged": ("D", INK), "split": ("s", ACCENT),
    "turned": (">", ACCENT),
}  # fmt: skip


@plainly
def share_rows(
    names: Sequence[str],
    steps: Sequence[str],
    shares: ArrayLike,
    marks: Sequence[tuple[int, int, str]] = (),
) -> Figure:
    """Draw a row for each part of a whole, as an area over time, all on one scale.

    Parameters
    ----------
    names : sequence of str
        Of the parts.
    steps : sequence of str
        Names of the times, in order.
    shares : array of shape (n_parts, n_steps)
        Between 0 and 1.
    marks : sequence of (row, step, kind)
        Where to mark something: "born", "died", "merged", "split" or "turned".
    """
    values = np.asarray(shares, dtype=np.float64)
    if values.shape != (len(names), len(steps)) or not values.size:
        raise ValueError(
            f"Give a share for each of {len(names)} parts at each of {len(steps)} steps, at least "
            f"one of each; got the shape {values.shape}."
        )
    width = page_width()
    n_columns = len(_MARKS) if width > 6 else 2
    n_lines = -(-len({kind for _, _, kind in marks}) // n_columns)
    foot = _AXIS + 0.2 * max(n_lines - 1, 0)  # room for the legend
    height = _ROW * len(names) + foot
    room = min(_LABELS, _MOST_FOR_LABELS * width)
    figure = empty_figure(width, height)
    box = (room / width, foot / height, 0.98 - room / width, 1 - foot / height)
    axes = figure.add_axes(box)
    axes.patch.set_alpha(0.0)
    x, tallest = np.arange(len(steps)), max(float(values.max()), 1e-9)
    for row, part in enumerate(values):
        floor = len(names) - 1 - row
        area = floor + 0.85 * part / tallest
        axes.fill_between(x, floor, area, color=ACCENT, alpha=0.45, linewidth=0)
        axes.plot(x, area, color=ACCENT, linewidth=1.1)
        axes.axhline(floor, color=INK, linewidth=0.4, alpha=0.6)
    _draw_marks(axes, len(names), marks, n_columns)
    axes.set_xlim(-0.4, max(len(steps) - 0.6, 0.6))
    axes.set_ylim(-0.08, len(names))
    labels = [_shortened(name, room - 0.1) for name in names]
    axes.set_yticks(len(names) - 1 - np.arange(len(names)) + 0.3, labels)
    letters = max(len(step) for step in steps) + 2
    every = -(
        -len(steps) // max(int(0.95 * _PER_INCH * (width - room)) // letters, 1)
    )  # evenly, as far apart as they are long
    ticks = range(0, len(steps), every)
    axes.set_xticks(ticks, [steps[t] for t in ticks])
    axes.tick_params(colors=INK, labelsize=_SMALL, length=0)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    return figure


def _shortened(name: str, room: float) -> str:
    """A name in so many inches."""
    if text_width(name, _SMALL) <= room:
        return name
    while text_width(name + "…", _SMALL) > room:
        name = name[:-1]
    return name + "…"


def _draw_marks(
    axes: object, n_rows: int, marks: Sequence[tuple[int, int, str]], n_columns: int
) -> None:
    for kind, (symbol, colour) in _MARKS.items():
        found = [(step, n_rows - 1 - row + 0.12) for row, step, which in marks if which == kind]
        if found:
            places, heights = zip(*found, strict=True)
            axes.plot(places, heights, symbol, color=colour, markersize=7, label=kind)  # type: ignore[attr-defined]
    if marks:
        axes.legend(  # type: ignore[attr-defined]
            loc="upper center", bbox_to_anchor=(0.4, -0.3 / (0.42 * n_rows)), ncols=n_columns,
            frameon=False, labelcolor=INK, fontsize=_SMALL, handletextpad=0.1,
        )  # fmt: skip
