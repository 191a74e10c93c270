"""What all pictures share: colours, type sizes, and the way to a PNG."""

from __future__ import annotations

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK = "#737983"
"""Grey of text and axes: as far from white paper as from a dark page, 4.2 times each in light."""
ACCENT = "#c08318"
"""Colour of ripe wheat, for what the library itself found."""
TEXT_SIZE = 12.0


def empty_figure(width: float, height: float) -> Figure:
    """Make a transparent figure of a size in inches, outside of pyplot's global state."""
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")  # whatever the user's settings say
    FigureCanvasAgg(figure)
    figure.patch.set_alpha(0.0)
    return figure


def to_png(figure: Figure, dpi: float = 160) -> bytes:
    """Draw a figure on a transparent ground, as the bytes of a PNG file."""
    target = io.BytesIO()
    # Without a "Software" entry the same figure gives the same bytes under any matplotlib.
    figure.savefig(target, format="png", dpi=dpi, transparent=True, metadata={"Software": None})
    return target.getvalue()
