"""Series of sensors: what was read, what was filled, and what was replaced."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from .style import ACCENT, INK, TEXT_SIZE, empty_figure, page_width, plainly

_WRONG = "#c0392b"


@plainly
def series_panels(
    names: Sequence[str],
    before: ArrayLike,
    after: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    places: ArrayLike | None = None,
) -> Figure:
    """Draw a panel for each sensor: readings grey, what was filled or replaced in colour.

    Parameters
    ----------
    names : sequence of str
        Of the sensors.
    before, after, lower, upper : arrays of shape (n_rows, n_sensors)
        Readings (NaN in gaps), the cleaned table, and the ends of the intervals (NaN where a
        reading was kept).
    places : array of shape (n_rows,), optional
        Of the rows, for the axis: times (datetime64), or numbers; else rows are counted.
    """
    read, clean, low, high = (
        np.asarray(a, dtype=np.float64) for a in (before, after, lower, upper)
    )
    n, F = read.shape
    if len(names) != F or not read.shape == clean.shape == low.shape == high.shape:
        raise ValueError(f"{len(names)} names do not suit tables of the shape {read.shape}.")
    height = 1.35 * F + 0.5
    width = min(7.4, page_width())
    figure = empty_figure(width, height)
    rows = np.arange(n) if places is None else np.asarray(places)
    for j, name in enumerate(names):
        bottom = (0.35 + 1.35 * (F - 1 - j)) / height
        axes = figure.add_axes((0.6 / width, bottom, 0.98 - 0.6 / width, 1.0 / height))
        axes.patch.set_alpha(0.0)
        wrong = np.isfinite(read[:, j]) & np.isfinite(low[:, j])
        sound = np.where(wrong, np.nan, read[:, j])
        axes.vlines(rows, low[:, j], high[:, j], color=ACCENT, alpha=0.35, linewidth=1.6)
        axes.plot(rows, sound, color=INK, linewidth=0.9)
        new = np.where(np.isfinite(low[:, j]), clean[:, j], np.nan)
        axes.plot(rows, new, ".-", color=ACCENT, linewidth=1.6, markersize=3)
        shown = np.clip(read[wrong, j], *_edges(clean[:, j]))
        axes.plot(rows[wrong], shown, "x", color=_WRONG, markersize=5, markeredgewidth=1.4)
        axes.set_title(name, loc="left", fontsize=TEXT_SIZE - 2, color=INK, pad=2)
        axes.tick_params(colors=INK, labelsize=TEXT_SIZE - 4, labelbottom=j == F - 1)
        if rows.dtype.kind == "M":
            locator = AutoDateLocator(maxticks=9 if width > 6 else 4)  # type: ignore[no-untyped-call]
            axes.xaxis.set_major_locator(locator)
            dates = ConciseDateFormatter(locator, show_offset=False)  # type: ignore[no-untyped-call]
            axes.xaxis.set_major_formatter(dates)
        else:
            axes.xaxis.set_major_locator(MaxNLocator(9 if width > 6 else 4))
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(INK)
    return figure


def _edges(values: NDArray[np.float64]) -> tuple[float, float]:
    """A quarter of the range of a series below and above it: glitches further out go there."""
    seen = values[np.isfinite(values)]
    if not len(seen):
        return -np.inf, np.inf
    margin = 0.25 * (seen.max() - seen.min())
    return float(seen.min() - margin), float(seen.max() + margin)
