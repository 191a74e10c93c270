"""What all pictures share: colours, type sizes, and the way to a PNG."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec

from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath

INK = "#737983"
"""Grey of text and axes: as far from white paper as from a dark page, 4.2 times each in light."""
ACCENT = "#c08318"
"""Colour of ripe wheat, for what the library itself found."""
TEXT_SIZE = 12.0

_Given = ParamSpec("_Given")
_PAGE, _PHONE = 8.0, 3.4  # inches: letters have the same size on both
_PHONE_DPI = 200
_LETTER = 0.58  # width of a letter, in units of its size
_width = ContextVar("width", default=_PAGE)


def fitting_size(line: str, inches: float, largest: float = TEXT_SIZE) -> float:
    """Points in which a line of text takes so much room at the most."""
    return min(largest, 72 * inches / (_LETTER * max(len(line), 1)))


def text_width(text: str, size: float) -> float:
    """Inches that a line of text takes."""
    return float(TextPath((0, 0), text, size=size).get_extents().width) / 72 if text else 0.0


def empty_figure(width: float, height: float) -> Figure:
    """Make a transparent figure of a size in inches, outside of pyplot's global state."""
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")  # whatever the user's settings say
    FigureCanvasAgg(figure)
    figure.patch.set_alpha(0.0)
    return figure


def plainly(draw: Callable[_Given, Figure]) -> Callable[_Given, Figure]:
    """What the user has set for pictures of his own does not change ours."""

    @wraps(draw)
    def drawn(*args: _Given.args, **kwargs: _Given.kwargs) -> Figure:
        with style.context("default"):
            return draw(*args, **kwargs)

    return drawn


def page_width() -> float:
    """Inches that a picture may take: those of a page, or `on_phones` fewer."""
    return _width.get()


@contextmanager
def on_phones() -> Iterator[None]:
    """What is drawn meanwhile is as wide as the screen of a phone."""
    token = _width.set(_PHONE)
    try:
        yield
    finally:
        _width.reset(token)


def for_page(draw: Callable[[], Figure]) -> tuple[bytes, bytes]:
    """Draw a picture twice, as wide as a page and as wide as a phone; the bytes of two PNG files.

    Shrunk to a phone, letters could not be read, and wider than it, half of the picture is hidden.
    """
    wide = to_png(draw())
    with on_phones():
        return wide, to_png(draw(), _PHONE_DPI)


def to_png(figure: Figure, dpi: float = 160) -> bytes:
    """Draw a figure on a transparent ground, as the bytes of a PNG file."""
    target = io.BytesIO()
    # Without a "Software" entry the same figure gives the same bytes under any matplotlib.
    figure.savefig(target, format="png", dpi=dpi, transparent=True, metadata={"Software": None})
    return target.getvalue()
