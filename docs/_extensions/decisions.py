"""Draw the questions of a page as a picture, from the list that stands below it.

``<!-- decisions -->`` is replaced by a drawing of the list items that follow it, each of the form
``- Question? **`Name`** and more``. Names that the library does not have are an error.
"""

import html
import re
import textwrap
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import thresher

_MARK = "<!-- decisions -->"
_ITEM = re.compile(r"^- (?P<question>[^*]+?)\s+\*\*`(?P<name>\w+)`\*\*", re.MULTILINE)
_WIDTH, _LINE, _ROW, _PADDING = 470, 19, 26, 9
_QUESTION_WIDTH, _ANSWER_LEFT, _ANSWER_WIDTH = 218, 256, 212


def draw(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace the mark of a page by its picture."""
    if _MARK not in source[0]:
        return
    before, after = source[0].split(_MARK)
    steps = [(found["question"], found["name"]) for found in _ITEM.finditer(after)]
    for _, estimator in steps:
        if estimator not in thresher.__all__:
            raise ExtensionError(f"docs/{name}.md: thresher has no {estimator}")
    source[0] = f"{before}\n```{{raw}} html\n{_picture(steps)}\n```\n{after}"


def _picture(steps: list[tuple[str, str]]) -> str:
    """Questions down the left side, the answer to yes on the right, no going down."""
    parts, top = [], 8
    for number, (question, estimator) in enumerate(steps):
        lines = textwrap.wrap(question, 27)
        height = len(lines) * _LINE + 2 * _PADDING
        middle = top + height / 2
        parts.append(_box(0, top, _QUESTION_WIDTH, height))
        parts += [
            f'<text x="12" y="{top + _PADDING + 14 + row * _LINE}">{html.escape(line)}</text>'
            for row, line in enumerate(lines)
        ]
        parts.append(_arrow(_QUESTION_WIDTH, middle, _ANSWER_LEFT - 3, middle))
        parts.append(f'<text class="way" x="{_QUESTION_WIDTH + 6}" y="{middle - 5}">yes</text>')
        parts.append(
            f'<a href="api/thresher.{estimator}.html">'
            f"{_box(_ANSWER_LEFT, middle - 17, _ANSWER_WIDTH, 34, 'answer')}"
            f'<text class="answer" x="{_ANSWER_LEFT + _ANSWER_WIDTH / 2}" y="{middle + 5}">'
            f"{estimator}</text></a>"
        )
        top += height
        if number + 1 < len(steps):
            parts.append(_arrow(24, top, 24, top + _ROW - 3))
            parts.append(f'<text class="way" x="32" y="{top + 18}">no</text>')
            top += _ROW
    return (
        f'<svg class="decisions" role="group" aria-label="The questions of the list below, in '
        f'order; the first yes names the estimator" viewBox="-2 0 {_WIDTH + 4} {top + 8}" '
        f'xmlns="http://www.w3.org/2000/svg">{_STYLE}{"".join(parts)}</svg>'
    )


_STYLE = """<style>
.decisions text { font-size: 14.5px; fill: currentColor; }
.decisions .answer { text-anchor: middle; font-weight: 600; font-size: 13.5px; }
.decisions .way { font-size: 12px; font-style: italic; }
.decisions rect { fill: none; stroke: currentColor; stroke-opacity: .45; }
.decisions rect.answer { stroke: #c08318; stroke-opacity: 1; stroke-width: 2; }
.decisions path { stroke: currentColor; fill: currentColor; stroke-width: 1.2; }
</style>"""


def _box(x: float, y: float, width: float, height: float, kind: str = "question") -> str:
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="7"/>'


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    """A line with a head, to the right or down."""
    head = "l-7,-4 v8 z" if y == to_y else "l-4,-7 h8 z"
    return f'<path d="M{x},{y} L{to_x},{to_y} M{to_x},{to_y} {head}"/>'


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen to pages that are read."""
    app.connect("source-read", draw)
    return {"parallel_read_safe": True}
