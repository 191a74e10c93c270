"""What a notebook shows of stacks of pictures: a few of them, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.report.notebook import card

_SHOWN = 3  # pictures of each stack; by judgement
_LONGEST = 240  # pixels of a picture on its longer side
_DPI = 80


def stack_card(title: str, stacks: Any, facts: Mapping[str, str]) -> str:
    """Some pictures of each of a few stacks.

    Parameters
    ----------
    title : str
    stacks : named tuple of arrays (n, height, width) or (n, height, width, 3)
        Shown by their size, each on a scale of its own.
    facts : mapping
        What else to tell.
    """
    # Pictures are drawn with matplotlib, which nothing else here needs.
    from thresher.plotting import frame_grid, to_png

    n, height, width = np.shape(stacks[-1])
    told = [("pictures", f"{n:,} of {width} × {height} pixels"), *facts.items()]
    if n == 0:
        return card(title, told)
    places = np.unique(np.linspace(0, n - 1, min(_SHOWN, n)).round().astype(int))
    step = -(-max(height, width) // _LONGEST)
    columns = [_bytes(np.asarray(stack)[places, ::step, ::step]) for stack in stacks]
    figure = frame_grid(columns, list(stacks._fields), [f"{place:,}" for place in places])
    names = ", ".join(stacks._fields)
    return card(title, told, picture=to_png(figure, _DPI), alt=f"{len(places)} pictures: {names}")


def _bytes(pictures: NDArray[Any]) -> NDArray[np.uint8]:
    sizes = np.abs(np.nan_to_num(pictures.astype(np.float64)))
    white = 255.0 if pictures.dtype == np.uint8 else float(sizes.max()) or 1.0
    levels = np.rint(255 * np.clip(sizes / white, 0, 1)).astype(np.uint8)
    return levels if levels.ndim == 4 else np.repeat(levels[..., np.newaxis], 3, axis=3)
