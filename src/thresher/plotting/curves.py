"""Curves of what happened while a model learned."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import ArrayLike, NDArray

from .style import ACCENT, INK, TEXT_SIZE, empty_figure, page_width

_WIDTH, _HEIGHT = 6.6, 2.9  # inches; narrower where the page is
_LEGEND_ROOM = 0.24  # inches above a curve where its title leaves none beside it
_FEWEST_TICKS = 3  # of powers of ten, or simple multiples of them; with fewer, any round numbers


def convergence_curve(
    samples: ArrayLike,
    loss: ArrayLike,
    reference: ArrayLike | None = None,
    *,
    sample_name: str = "samples seen",
    loss_name: str = "mean loss per sample",
    legend: tuple[str, str, str] = ("each step", "running mean", "reference"),
) -> Figure:
    """Draw the loss of each step against the samples seen, with a running mean.

    Parameters
    ----------
    samples, loss : arrays of shape (n_steps,)
        Columns of a model's ``history_``.
    reference : array of shape (n_steps,), optional
        A loss to compare with, such as that of the truth.
    sample_name, loss_name : str
        What the axes say.
    legend : tuple of str
        Names of the loss, its running mean, and the reference.

    Returns
    -------
    Figure
        With one axes; its loss is logarithmic if all of it is positive.
    """
    x, y = np.asarray(samples, dtype=np.float64), np.asarray(loss, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape or x.size == 0:
        raise ValueError(
            f"samples and loss need one number per step each, not shapes {x.shape} and {y.shape}."
        )
    figure, axes = _plot()
    axes.plot(x, y, color=ACCENT, linewidth=0.9, alpha=0.55, label=legend[0])
    axes.plot(x, _running_mean(y), color=ACCENT, linewidth=2.2, label=legend[1])
    if reference is not None:
        below = np.broadcast_to(np.asarray(reference, dtype=np.float64), x.shape)
        axes.plot(x, below, color=INK, linewidth=1.4, linestyle=(0, (3, 2)), label=legend[2])
    if (y > 0).all():
        axes.set_yscale("log")
        tens = LogLocator(subs=(1, 2, 5))
        few = (
            np.count_nonzero(_within(np.asarray(tens.tick_values(y.min(), y.max())), y))
            < _FEWEST_TICKS
        )
        axes.yaxis.set_major_locator(MaxNLocator(4) if few else tens)
        axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(MaxNLocator(6 if page_width() > _WIDTH else 3, integer=True))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(_plain_number))
    narrow = page_width() < _WIDTH
    rows = (1 if reference is None else 2) if narrow else 0  # of the legend, below the title
    _dress(axes, sample_name, loss_name, room=rows * _LEGEND_ROOM)
    axes.legend(
        loc="lower left" if narrow else "lower right",  # above the curves
        bbox_to_anchor=(0.0 if narrow else 1.0, 1.0),
        ncols=2 if narrow else 3,
        frameon=False,
        fontsize=(0.75 if narrow else 0.85) * TEXT_SIZE,
        labelcolor=INK,
        handlelength=1.2 if narrow else 1.6,
        columnspacing=1.0 if narrow else 1.4,
        borderpad=0.1,
        borderaxespad=0.2,
    )
    _make_room(figure, axes)
    return figure


def _plot() -> tuple[Figure, Axes]:
    width = min(_WIDTH, page_width())
    figure = empty_figure(width, _HEIGHT)
    left = 0.56 / width
    axes = figure.add_axes((left, 0.195, 0.985 - left, 0.69 if width == _WIDTH else 0.52))
    axes.patch.set_alpha(0.0)
    return figure, axes


def _dress(axes: Axes, name: str, title: str, room: float = 0.0) -> None:
    """Name both axes, and leave out all lines that say nothing."""
    axes.margins(x=0.01)
    axes.set_xlabel(name, color=INK, fontsize=TEXT_SIZE)
    axes.set_title(title, loc="left", color=INK, fontsize=TEXT_SIZE, pad=6 + 72 * room)
    axes.tick_params(which="both", colors=INK, labelsize=0.9 * TEXT_SIZE, length=0)
    axes.grid(axis="y", color=INK, alpha=0.25, linewidth=0.6)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(INK)
    axes.spines["bottom"].set_linewidth(0.8)


def _make_room(figure: Figure, axes: Axes) -> None:
    """Move the sides of the axes inwards until no number is cut off."""
    figure.draw_without_rendering()
    pixels = figure.get_figwidth() * figure.dpi
    beside, below = (
        max((label.get_window_extent().width for label in labels), default=0.0) / pixels
        for labels in (axes.get_yticklabels(), axes.get_xticklabels())
    )
    place = axes.get_position()
    left, right = max(place.x0, beside + 0.02), min(place.x1, 1 - below / 2)
    axes.set_position((left, place.y0, right - left, place.height))


def _within(ticks: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray((ticks >= y.min()) & (ticks <= y.max()))


def _running_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over about a twentieth of the steps around each; fewer at the ends."""
    half = max(1, len(values) // 40)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    centre = np.arange(len(values))
    start, stop = np.maximum(centre - half, 0), np.minimum(centre + half + 1, len(values))
    return np.asarray((sums[stop] - sums[start]) / (stop - start))


def _plain_number(value: float, position: int | None = None) -> str:
    """Thousands set apart by a thin space; no powers of ten."""
    digits = f"{value:,.0f}" if 1e5 <= abs(value) < 1e9 else f"{value:,.6g}"
    return digits.replace(",", "\u2009")
