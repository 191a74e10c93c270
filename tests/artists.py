"""Artists of a picture: where they stand, in inches, and in which ink."""

from contextlib import nullcontext

import numpy as np
import pytest
from matplotlib.colors import to_hex

from thresher.plotting.style import INK, on_phones

SCREENS = pytest.mark.parametrize(("screen", "page"), [(nullcontext, 8.0), (on_phones, 3.4)])
SIDES = ("left", "right", "bottom", "top")


def boxes(figure):
    """Left, bottom, width and height of every axes, in inches."""
    width, height = figure.get_size_inches()
    places = [axes.get_position() for axes in figure.axes]
    return np.array(
        [[p.x0 * width, p.y0 * height, p.width * width, p.height * height] for p in places]
    )


def place(text, figure):
    """Of a text, in inches."""
    return np.array(text.get_position()) * figure.get_size_inches()


def style(line):
    return to_hex(line.get_color()), line.get_linewidth(), line.get_linestyle(), line.get_alpha()


def visible(axes):
    return {side for side in SIDES if axes.spines[side].get_visible()}


def ink(axes, label):
    """That of numbers, and their size."""
    axes.figure.canvas.draw()
    labels = [t for t in axes.get_xticklabels() + axes.get_yticklabels() if t.get_text()]
    assert {to_hex(t.get_color()) for t in labels} <= {INK}
    assert {round(t.get_fontsize(), 6) for t in labels} <= {round(label, 6)}
    return {tick.tick1line.get_markersize() for tick in axes.xaxis.get_major_ticks()}
