"""What the theme leaves out for keyboards and screen readers, put into the written pages."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

REPAIRS = (
    # Captions of the sidebar are headings, of a level that has to be said.
    ('class="caption" role="heading">', 'class="caption" role="heading" aria-level="2">'),
    # Two landmarks of one kind need names.
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="On this page">'),
    # Whoever has no mouse scrolls wide blocks and tables with the arrow keys.
    ("<pre>", '<pre tabindex="0">'),
    (
        '<table class="docutils align-default">',
        '<table class="docutils align-default" tabindex="0">',
    ),
    # The corner of a table is no head of anything.
    ('<th class="head"><p></p></th>', '<td class="head"></td>'),
)


def repaired(page: str) -> str:
    """A page with all repairs."""
    for before, after in REPAIRS:
        page = page.replace(before, after)
    return page


def repair(app: Sphinx, failure: Exception | None) -> None:
    """Repair all pages that were written."""
    if failure is None and app.builder.name == "html":
        for file in Path(app.outdir).rglob("*.html"):
            page = file.read_text(encoding="utf-8")
            if (better := repaired(page)) != page:
                file.write_text(better, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen to the end of the build."""
    app.connect("build-finished", repair)
    return {"parallel_read_safe": True}
