"""The blocks of a page in their order, as plain values: what a reader is told, and nothing else."""

import re
from html import unescape
from typing import Any

_BLOCK = re.compile(
    r"<h2>(?P<h2>.*?)</h2>|<h3>(?P<h3>.*?)</h3><blockquote>(?P<quote>.*?)</blockquote>"
    r'|<dl class="facts">(?P<facts>.*?)</dl>|<dl class="reasons">(?P<reasons>.*?)</dl>'
    r"|<figure><div[^>]*><table>(?P<table>.*?)</table></div>(?P<below>.*?)</figure>"
    r"|<figure><picture>(?P<picture>.*?)</picture>(?P<under>.*?)</figure>"
    r'|<p class="footnote">(?P<footnote>.*?)</p>|<p>(?P<p>.*?)</p>'
    r"|<pre[^>]*><code>(?P<code>.*?)</code></pre>",
    re.DOTALL,
)


def plain(html: str) -> str:
    """Text without tags."""
    return unescape(re.sub(r"<[^>]+>", "", html))


def head_of(report: Any) -> tuple[str, str, str]:
    """Kicker, title and lead."""
    html = report.html()
    head = html[html.index("<header>") : html.index("</header>")]
    kicker, title, lead = (
        re.search(pattern, head, re.DOTALL)
        for pattern in ('class="kicker">(.*?)</p>', "<h1>(.*?)</h1>", 'class="lead">(.*?)</p>')
    )
    return tuple(plain(found[1]) if found else "" for found in (kicker, title, lead))


def blocks_of(report: Any) -> list[tuple[Any, ...]]:
    """Every block behind the head: its kind, and what it says."""
    html = report.html()
    body = html[html.index("</header>") : html.index("</main>")]
    return [_block(found) for found in _BLOCK.finditer(body)]


def headings(report: Any) -> list[str]:
    """Of the sections."""
    return [block[1] for block in blocks_of(report) if block[0] == "h2"]


def section(report: Any, heading: str) -> list[tuple[Any, ...]]:
    """The blocks below a heading."""
    blocks = blocks_of(report)
    start = blocks.index(("h2", heading)) + 1
    ends = [place for place in range(start, len(blocks)) if blocks[place][0] == "h2"]
    return blocks[start : ends[0] if ends else None]


def facts_of(report: Any) -> list[tuple[str, str]]:
    """The large figures of a page, each with what it means."""
    return [fact for block in blocks_of(report) if block[0] == "facts" for fact in block[1]]


def _block(found: re.Match[str]) -> tuple[Any, ...]:
    kind = found.lastgroup or ""
    if found["h3"] is not None:
        return "passage", plain(found["h3"]), found["quote"]
    if found["facts"] is not None:
        pairs = re.findall("<dd>(.*?)</dd><dt>(.*?)</dt>", found["facts"], re.DOTALL)
        return "facts", [(plain(value), plain(meaning)) for value, meaning in pairs]
    if found["reasons"] is not None:
        pairs = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", found["reasons"], re.DOTALL)
        return "reasons", [(plain(what), plain(why)) for what, why in pairs]
    if found["table"] is not None:
        head, *rows = [
            [plain(cell) for cell in re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
            for row in re.findall("<tr>(.*?)</tr>", found["table"], re.DOTALL)
        ]
        return "table", head, rows, plain(found["below"])
    if found["picture"] is not None:
        alt = re.search('<img alt="(.*?)"', found["picture"], re.DOTALL)
        return "picture", unescape(alt[1]) if alt else "", plain(found["under"])
    return kind, plain(found[kind])
