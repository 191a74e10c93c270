"""Errors of what there was to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .style import ACCENT, INK, TEXT_SIZE, empty_figure, fitting_size, page_width, plainly

_LINES = ("-", "--", ":", "-.")
_MEASURES = frozenset(
    ("error", "standard_error", "behind", "behind_error", "stability", "seconds", "coherence")
)


@plainly
def choice_curve(table: Mapping[str, Any], best: int) -> Figure:
    """Draw the error of each candidate, with a bar of a standard error to both sides.

    Parameters
    ----------
    table : mapping
        Columns ``error`` and ``standard_error``, settings, and perhaps measures, as in
        `thresher.Choice.table_`. Errors are drawn over ``n_components``, a curve for each of the
        other settings; without it, candidates stand side by side.
    best : int
        The candidate to mark.

    Returns
    -------
    Figure
        With one axes.
    """
    error, bar = (np.asarray(table[name], dtype=float) for name in ("error", "standard_error"))
    names = [name for name in table if name not in _MEASURES and name != "n_components"]
    labels = [", ".join(f"{name}={table[name][i]}" for name in names) for i in range(len(error))]
    width = min(6.6, page_width())
    figure = empty_figure(width, 2.9)
    left = 0.73 / width
    axes = figure.add_axes((left, 0.195, 0.98 - left, 0.69))
    axes.patch.set_alpha(0.0)
    if "n_components" in table:
        x = np.asarray(table["n_components"], dtype=float)
        for number, label in enumerate(dict.fromkeys(labels)):
            here = np.array([one == label for one in labels])
            order = np.argsort(x[here])
            axes.errorbar(
                x[here][order],
                error[here][order],
                bar[here][order],
                color=ACCENT,
                ecolor=INK,
                alpha=1 if number == 0 else 0.75,
                elinewidth=0.9,
                linewidth=1.6,
                linestyle=_LINES[number % len(_LINES)],
                label=label or None,
            )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("number of parts", color=INK, fontsize=TEXT_SIZE)
    else:
        x = np.arange(len(error), dtype=float)
        axes.errorbar(x, error, bar, color=ACCENT, ecolor=INK, fmt="o", elinewidth=0.9)
        axes.set_xticks(x, labels)
        axes.margins(x=0.15)
    axes.plot(x[best], error[best], "o", color=INK, markersize=8, fillstyle="none")
    title = "mean absolute error of hidden entries"
    size = fitting_size(title, 0.98 * width - 0.73)
    axes.set_title(title, loc="left", color=INK, fontsize=size)
    axes.tick_params(which="both", colors=INK, labelsize=0.9 * TEXT_SIZE, length=0)
    axes.grid(axis="y", color=INK, alpha=0.25, linewidth=0.6)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(INK)
    if "n_components" in table and len(set(labels)) > 1:
        axes.legend(frameon=False, fontsize=0.85 * TEXT_SIZE, labelcolor=INK)
    return figure
