"""Pages of the documentation, run as they are printed: block after block, as one program."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<mark>\s*<!-- picture: (?P<picture>.*?) -->\n)?",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """Lines of Python of a page, and what a picture after them would show."""

    code: str
    line: int
    """Where its code begins, the first line of the page being 1."""
    end: int
    """The first character of the page behind the block."""
    after: int
    """The first character behind the mark of its picture, if it has one."""
    picture: str | None
    """The alternative text of the picture of ``figure``, if there is one."""


def blocks_of(page: str) -> list[Block]:
    """Find every block of Python of a page."""
    return [
        Block(
            code=found["code"],
            line=page[: found.start("code")].count("\n") + 1,
            end=found.end() - len(found["mark"] or ""),
            after=found.end(),
            picture=found["picture"],
        )
        for found in _BLOCK.finditer(page)
    ]


def run_blocks(page: str, name: str) -> Iterator[tuple[Block, dict[str, Any]]]:
    """Run the blocks in order; each with the names that it and those before it have made."""
    made: dict[str, Any] = {"__name__": name}
    for block in blocks_of(page):
        lines = "\n" * (block.line - 1) + block.code  # errors then tell the line of the page
        exec(compile(lines, name, "exec"), made)
        yield block, made


def run_page(name: str) -> dict[str, Any]:
    """Run a page of the repository in the present folder; the names that it has made."""
    *_, (_, made) = run_blocks((ROOT / name).read_text(encoding="utf-8"), name)
    return made
