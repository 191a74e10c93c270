"""The page: one file that needs nothing else, made of its three parts."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files


def _part(name: str) -> str:
    return files("thresher.cli.live").joinpath("page", name).read_text(encoding="utf-8")


def _allowed(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


_STYLE, _SCRIPT = _part("live.css"), _part("live.js")

POLICY = (
    f"default-src 'none'; style-src {_allowed(_STYLE)}; script-src {_allowed(_SCRIPT)}; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""What a browser may load and run: this script and this style, pictures inside of the events."""


@cache
def page() -> str:
    """The whole page."""
    html = _part("live.html")
    return html.replace("/* style */", _STYLE).replace("/* script */", _SCRIPT)
