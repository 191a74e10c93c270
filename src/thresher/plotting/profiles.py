"""Atoms whose features have no names: each as a profile along its features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from .style import ACCENT, INK, TEXT_SIZE, empty_figure, page_width

_NARROWEST = 1.6  # inches of a panel
_PANEL, _TITLE, _FOOT, _GAP = 1.0, 0.28, 0.5, 0.22
_EDGE = 0.2  # inches beside a panel, for half of a number under its end
_SMALL = 0.8 * TEXT_SIZE


def profile_panels(
    atoms: ArrayLike,
    titles: Sequence[str],
    *,
    n_columns: int = 3,
    along: str = "feature",
    ends: tuple[float, float] | None = None,
) -> Figure:
    """Show a panel for each atom, each on its own scale, with a bar for each feature.

    Parameters
    ----------
    atoms : array of shape (K, F)
        Of either sign.
    titles : sequence of str
        One for each atom.
    n_columns : int
        Panels next to each other; fewer where the page is narrow.
    along : str
        What the features are, with their unit: "band", "frequency in Hz".
    ends : pair of floats, optional
        Where the first feature begins and the last one ends, in that unit; else they are counted.

    Returns
    -------
    Figure
        With one axes per atom, row by row.
    """
    rows = np.asarray(atoms, dtype=np.float64)
    if rows.ndim != 2 or not rows.size or len(titles) != len(rows):
        raise ValueError(f"Atoms of the shape {rows.shape} need as many titles, and one at least.")
    page = page_width()
    n_columns = min(n_columns, len(rows), int(page / _NARROWEST))
    n_rows = -(-len(rows) // n_columns)
    total = n_rows * (_TITLE + _PANEL + _GAP) - _GAP + _FOOT
    width = (page - (n_columns - 1) * _GAP) / n_columns
    figure = empty_figure(page, total)
    first, last = (-0.5, rows.shape[1] - 0.5) if ends is None else ends
    places = np.linspace(first, last, rows.shape[1] + 1)
    for number, (atom, title) in enumerate(zip(rows, titles, strict=True)):
        row, column = divmod(number, n_columns)
        bottom = total - (row + 1) * (_TITLE + _PANEL) - row * _GAP
        left = column * (width + _GAP) + _EDGE
        inner = (width - 2 * _EDGE) / page
        axes = figure.add_axes((left / page, bottom / total, inner, _PANEL / total))
        axes.patch.set_alpha(0.0)
        axes.stairs(atom, places, fill=True, color=ACCENT)
        axes.set_xlim(places[0], places[-1])
        axes.set_title(title, loc="left", color=INK, fontsize=_SMALL, fontweight="bold", pad=3)
        axes.set_yticks([])
        axes.xaxis.set_major_locator(MaxNLocator(4 if width > 2 else 3, integer=ends is None))
        axes.tick_params(colors=INK, labelsize=_SMALL, length=2)
        lowest = number + n_columns >= len(rows)
        axes.tick_params(labelbottom=lowest)
        if lowest:
            axes.set_xlabel(along, color=INK, fontsize=_SMALL)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color(INK)
    return figure
