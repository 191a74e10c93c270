"""Small pieces of HTML for notebooks, in the colours that the notebook has, light or dark."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from html import escape

# No colour is named but by the text around it, so that no scheme can make it illegible.
_STYLE = """\
<style>
.thresher-card { margin: 8px 0; max-width: 720px; overflow-x: auto; color: inherit; }
.thresher-card table { border-collapse: collapse; margin: 0; background: transparent; }
.thresher-card caption { padding: 4px 0; text-align: left; font-weight: 600; color: inherit; }
.thresher-card th, .thresher-card td {
  padding: 2px 16px 2px 0; background: transparent; text-align: left; vertical-align: top;
  color: inherit;
}
.thresher-card th { font-weight: 400; opacity: 0.85; white-space: nowrap; }
.thresher-card svg, .thresher-card img { display: block; margin: 6px 0; max-width: 100%; }
</style>"""
_WIDTH, _HEIGHT = 240, 48  # pixels of a curve
_MOST_POINTS = 240


def card(
    title: str,
    facts: Sequence[tuple[str, str]],
    *,
    curve: Sequence[float] = (),
    curve_name: str = "loss",
    picture: bytes = b"",
    alt: str = "",
) -> str:
    """A few facts, and perhaps a curve or a picture.

    Parameters
    ----------
    title : str
    facts : sequence of (str, str)
        What is told, and what it is; escaped here.
    curve : sequence of float
        Numbers that followed each other.
    curve_name : str
        What they are.
    picture : bytes
        Of a PNG file.
    alt : str
        What it shows.
    """
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in facts
    )
    data = base64.b64encode(picture).decode("ascii")
    shown = f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}">' if picture else ""
    return (
        f'{_STYLE}<div class="thresher-card"><table><caption>{escape(title)}</caption>'
        f"<tbody>{rows}</tbody></table>{curve_svg(curve, curve_name)}{shown}</div>"
    )


def curve_svg(values: Sequence[float], name: str) -> str:
    """A curve as small as a line of text; logarithmic if all values are positive."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return ""
    every = -(-len(finite) // _MOST_POINTS)
    heights = [math.log(v) if min(finite) > 0 else v for v in finite[::every]]
    low, high = min(heights), max(heights)
    span = (high - low) or 1.0
    points = " ".join(
        f"{2 + (_WIDTH - 4) * i / max(len(heights) - 1, 1):.1f},"
        f"{2 + (_HEIGHT - 4) * (high - height) / span:.1f}"
        for i, height in enumerate(heights)
    )
    told = f"{name}: from {finite[0]:.4g} to {finite[-1]:.4g} in {len(finite):,} steps"
    return (
        f'<svg role="img" aria-label="{escape(told)}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}"><title>{escape(told)}</title><polyline fill="none" '
        f'stroke="currentColor" stroke-width="1.5" points="{points}"/></svg>'
    )
