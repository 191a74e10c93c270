"""Slips that people make: every one that fits a module.

A slip is made on the syntax tree and written back as the smallest change of the text. Each kind is
a function in `operators`, `calls`, `places` or `names`.
"""

from collections.abc import Iterator

from mutation import calls, names, operators, places  # noqa: F401 - they register their slips
from mutation.fair import fair_nodes
from mutation.registry import MAKERS, Slip
from mutation.source import Source


def slips(code: Source) -> Iterator[Slip]:
    """Every slip that can be made in a module."""
    for node in fair_nodes(code.tree):
        for kind, types, maker in MAKERS:
            if isinstance(node, types):
                for start, end, new in maker(code, node):
                    if code.text[start:end] != new:
                        yield Slip(kind, start, end, new)
