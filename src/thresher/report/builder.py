"""A small builder: headings, text, tables, pictures and code in, one HTML file out."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from typing import Self

from .page import ON_PHONES, PAGE, STYLE

_LONG = 16  # letters in a cell that may take two lines


class Report:
    """A self-contained HTML page, put together block by block.

    All text is escaped; pictures are embedded. Each method adds a block and returns the report.

    Parameters
    ----------
    title : str
        The heading of the page, and the name of its window.
    lead : str
        A sentence that says what the reader will find, set larger.
    kicker : str
        A few words above the title.

    Examples
    --------
    >>> report = Report("Results", "All is well.").paragraph("a < b")
    >>> "<p>a &lt; b</p>" in report.html()
    True
    """

    def __init__(self, title: str, lead: str = "", kicker: str = "") -> None:
        self.title = title
        self._blocks = ["<header>"]
        if kicker:
            self._blocks.append(f'<p class="kicker">{escape(kicker)}</p>')
        self._blocks.append(f"<h1>{escape(title)}</h1>")
        if lead:
            self._blocks.append(f'<p class="lead">{escape(lead)}</p>')
        self._blocks.append("</header>")

    def heading(self, text: str) -> Self:
        """Begin a section."""
        return self._add(f"<h2>{escape(text)}</h2>")

    def paragraph(self, text: str) -> Self:
        """Add a paragraph."""
        return self._add(f"<p>{escape(text)}</p>")

    def facts(self, facts: Sequence[tuple[str, str]]) -> Self:
        """Add a row of large figures, each with what it means."""
        items = "".join(
            f"<div><dd>{escape(value)}</dd><dt>{escape(meaning)}</dt></div>"
            for value, meaning in facts
        )
        return self._add(f'<dl class="facts">{items}</dl>')

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        caption: str = "",
        emphasis: int | None = None,
    ) -> Self:
        """Add a table; its first column names the rows.

        Parameters
        ----------
        columns : sequence of str
            Heads of the columns.
        rows : sequence of sequences of str
            As many cells each as there are columns.
        caption : str
            Shown below.
        emphasis : int, optional
            Number of a column to set in bold.
        """
        if any(len(row) != len(columns) for row in rows):
            raise ValueError(f"Each row of this table needs {len(columns)} cells.")
        # A cell without a word is no head of anything.
        head = "".join(f'<th scope="col">{escape(n)}</th>' if n else "<td></td>" for n in columns)
        body = "".join(f"<tr>{_cells(row, emphasis)}</tr>" for row in rows)
        return self._add(
            f'<figure><div class="scroll"{_keys("Table")}><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>{_caption(caption)}</figure>"
        )

    def picture(self, png: bytes | tuple[bytes, bytes], alt: str, caption: str = "") -> Self:
        """Add a picture.

        Parameters
        ----------
        png : bytes or pair of bytes
            A PNG file, shrunk to the width of the screen; or one for a page and one for a phone,
            as `thresher.plotting.for_page` draws them.
        alt : str
            What it shows, for those who cannot see it.
        caption : str
            Shown below.
        """
        page, phone = png if isinstance(png, tuple) else (png, None)
        source = f'<source media="{ON_PHONES}" srcset="{_data(phone)}">' if phone else ""
        return self._add(
            f'<figure><picture>{source}<img alt="{escape(alt)}" src="{_data(page)}"></picture>'
            f"{_caption(caption)}</figure>"
        )

    def reasons(self, reasons: Sequence[tuple[str, str]]) -> Self:
        """Add a list of things, each with the reason for it."""
        items = "".join(f"<dt>{escape(what)}</dt><dd>{escape(why)}</dd>" for what, why in reasons)
        return self._add(f'<dl class="reasons">{items}</dl>')

    def passage(self, title: str, text: str, words: Sequence[str] = ()) -> Self:
        """Add a piece of a text under a title of its own, with some of its words marked."""
        marked = "".join(
            f"<mark>{escape(piece)}</mark>" if number % 2 else escape(piece)
            for number, piece in enumerate(_around(text, words))
        )
        return self._add(f"<h3>{escape(title)}</h3><blockquote>{marked}</blockquote>")

    def code(self, text: str, *, wrap: bool = False) -> Self:
        """Add a listing; long lines go on below if ``wrap`` is set, and else scroll sideways."""
        kind = ' class="wrap"' if wrap else ""
        keys = "" if wrap else _keys("Listing")
        return self._add(f"<pre{kind}{keys}><code>{escape(text.strip())}</code></pre>")

    def footnote(self, text: str) -> Self:
        """Add small print."""
        return self._add(f'<p class="footnote">{escape(text)}</p>')

    def html(self) -> str:
        """The whole page."""
        return PAGE.substitute(title=escape(self.title), style=STYLE, body="\n".join(self._blocks))

    def _add(self, block: str) -> Self:
        self._blocks.append(block)
        return self


def _cells(row: Sequence[str], emphasis: int | None) -> str:
    first, *others = row
    cells = [f'<th scope="row">{escape(first)}</th>']
    for number, cell in enumerate(others, start=1):
        text = f"<strong>{escape(cell)}</strong>" if number == emphasis else escape(cell)
        long = ' class="long"' if len(cell) > _LONG else ""
        cells.append(f"<td{long}>{text}</td>")
    return "".join(cells)


def _around(text: str, words: Sequence[str]) -> list[str]:
    """A text cut at some words, which have the odd places; in any case, and whole words only."""
    if not words:
        return [text]
    choice = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.split(rf"(?<!\w)({choice})(?!\w)", text, flags=re.IGNORECASE)


def _keys(what: str) -> str:
    """For what may scroll sideways: keys can reach it, and readers of the screen are told."""
    return f' tabindex="0" role="group" aria-label="{what}, which may scroll sideways"'


def _data(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def _caption(text: str) -> str:
    return f"<figcaption>{escape(text)}</figcaption>" if text else ""
