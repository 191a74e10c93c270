"""Images side by side: the frames of a video and what became of them, and learned atoms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from .style import INK, TEXT_SIZE, empty_figure, fitting_size, page_width

_NARROWEST, _NARROWEST_COLUMN = 1.0, 0.7  # inches of an atom, and of a frame
_GAP = 0.06
_LABEL_ROOM = 0.32  # left of the rows, for labels that run upwards


def frame_grid(
    columns: Sequence[ArrayLike],
    titles: Sequence[str],
    labels: Sequence[str],
    *,
    limits: tuple[float, float] = (0.0, 255.0),
    separators: Sequence[int] = (),
) -> Figure:
    """Show videos in columns and moments in rows.

    Parameters
    ----------
    columns : sequence of arrays of shape (n_rows, height, width) or (n_rows, height, width, 3)
        One stack of images per column, grey or (as bytes) in colour.
    titles : sequence of str
        Heading of each column; may have several lines.
    labels : sequence of str
        Label of each row.
    limits : tuple of float
        Values shown as black and as white, the same in all panels.
    separators : sequence of int
        Columns before which a wider gap sets groups of columns apart.

    Returns
    -------
    Figure
        With ``n_rows * len(columns)`` axes, row by row; where the page is narrow, some columns
        stand below the others.
    """
    stacks = [_images(column, colour=True) for column in columns]
    shape = stacks[0].shape[:3] if stacks else ()
    if not stacks or any(stack.shape[:3] != shape for stack in stacks):
        raise ValueError("Give at least one column, and images of one shape in all of them.")
    if len(titles) != len(stacks) or len(labels) != shape[0]:
        raise ValueError(
            f"{len(stacks)} columns of {shape[0]} images need as many titles and labels, "
            f"not {len(titles)} and {len(labels)}."
        )
    n_rows, height, width = shape
    page = page_width()
    # On a phone, columns that would be too narrow go below the others.
    n_blocks = -(-len(stacks) // max(1, int((page - _LABEL_ROOM) / _NARROWEST_COLUMN)))
    blocks = [list(block) for block in np.array_split(np.arange(len(stacks)), n_blocks)]
    gaps = [0.0] + [3 * _GAP if k in separators else _GAP for k in range(1, len(stacks))]
    between = [sum(gaps[k] for k in block[1:]) for block in blocks]
    panel_width = min(
        (page - _LABEL_ROOM - gap) / len(block) for gap, block in zip(between, blocks, strict=True)
    )
    panel_height = panel_width * height / width
    head = _line_height() * (1 + max(title.count("\n") for title in titles)) + 0.08
    block_height = head + n_rows * panel_height + (n_rows - 1) * _GAP
    total = n_blocks * (block_height + _GAP) - _GAP
    figure = empty_figure(page, total)
    longest = max((line for title in titles for line in title.split("\n")), key=len)
    size = fitting_size(longest, panel_width)
    for number, block in enumerate(blocks):
        top = total - number * (block_height + _GAP) - head
        for row in range(n_rows):
            bottom = top - panel_height - row * (panel_height + _GAP)
            left = _LABEL_ROOM
            for k in block:
                left += gaps[k] if k != block[0] else 0.0
                axes = _panel(figure, left, bottom, panel_width, panel_height)
                axes.imshow(stacks[k][row], cmap="gray", vmin=limits[0], vmax=limits[1])
                if row == 0:
                    axes.set_title(titles[k], color=INK, fontsize=size, pad=5)
                left += panel_width
            figure.text(
                0.45 * _LABEL_ROOM / page,
                (bottom + panel_height / 2) / total,
                labels[row],
                rotation=90,
                ha="center",
                va="center",
                color=INK,
                fontsize=fitting_size(labels[row], panel_height, 0.9 * TEXT_SIZE),
            )
    return figure


def atom_grid(
    atoms: ArrayLike, *, titles: Sequence[str] | None = None, n_columns: int = 3
) -> Figure:
    """Show atoms as images, each from zero (black) to its own brightest value (white).

    Parameters
    ----------
    atoms : array of shape (n_components, height, width)
        Nonnegative atoms.
    titles : sequence of str, optional
        One per atom; by default none.
    n_columns : int
        Atoms next to each other; fewer where the page is narrow.

    Returns
    -------
    Figure
        With one axes per atom.
    """
    images = _images(atoms)
    if titles is not None and len(titles) != len(images):
        raise ValueError(f"{len(images)} atoms need as many titles, not {len(titles)}.")
    _, height, width = images.shape
    page = page_width()
    n_columns = min(n_columns, len(images), max(1, int(page / _NARROWEST)))
    n_rows = -(-len(images) // n_columns)
    panel_width = (page - (n_columns - 1) * 2 * _GAP) / n_columns
    panel_height = panel_width * height / width
    head = _line_height() + 0.08 if titles is not None else 2 * _GAP
    total = n_rows * (panel_height + head)
    figure = empty_figure(page, total)
    for number, image in enumerate(images):
        row, column = divmod(number, n_columns)
        left = column * (panel_width + 2 * _GAP)
        bottom = total - (row + 1) * (panel_height + head)
        axes = _panel(figure, left, bottom, panel_width, panel_height)
        # An atom of zeros is black, not a division by zero.
        axes.imshow(image, cmap="gray", vmin=0.0, vmax=float(image.max()) or 1.0)
        if titles is not None:
            axes.set_title(titles[number], color=INK, fontsize=TEXT_SIZE, pad=5)
    return figure


def _panel(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes without ticks or frame; all lengths in inches."""
    total_width, total_height = figure.get_size_inches()
    axes = figure.add_axes(
        (left / total_width, bottom / total_height, width / total_width, height / total_height)
    )
    axes.set_axis_off()
    return axes


def _line_height() -> float:
    """Height of a line of text, in inches."""
    return 1.35 * TEXT_SIZE / 72


def _images(stack: ArrayLike, colour: bool = False) -> NDArray[np.generic]:
    images = np.asarray(stack)
    if colour and images.ndim == 4 and images.shape[-1] == 3 and images.size:
        return images
    if images.ndim != 3 or images.size == 0:
        raise ValueError(f"Images have the shape (n, height, width), not {images.shape}.")
    return images
