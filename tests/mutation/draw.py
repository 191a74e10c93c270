"""Mutants drawn at random from all lines of the library.

Every line in which a slip can be made has the same chance. A line is drawn by the hash of a seed,
its file and its text, and the smallest hashes win: a change elsewhere leaves the draw as it was,
and the first ten of two hundred are the ten that are drawn alone.
"""

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mutation.slips import Slip, slips
from mutation.source import Source


class Mutant(NamedTuple):
    """A slip in a file; ``old`` and ``new`` are the lines that it touches, before and after."""

    file: str
    line: int
    kind: str
    old: str
    new: str
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What the mutant is, wherever its line has moved."""
        return self.file, self.old, self.new


def _hash(*parts: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8])


def _lines(package: Path, only: str) -> Iterator[tuple[str, Source, int, list[Slip]]]:
    """Every line with the slips that can be made in it."""
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package).as_posix()
        if not fnmatch(file, only):
            continue
        code = Source(path.read_text(encoding="utf-8"))
        found = defaultdict(list)
        for slip in slips(code):
            found[code.line_of(slip.start)].append(slip)
        for line, candidates in found.items():
            yield file, code, line, candidates


def _applied(file: str, code: Source, line: int, slip: Slip) -> Mutant | None:
    """The mutant, unless the change is none or is not Python."""
    text = code.text[: slip.start] + slip.new + code.text[slip.end :]
    try:
        if ast.dump(ast.parse(text)) == code.shape:
            return None
    except SyntaxError:
        return None
    last = code.line_of(slip.end)
    after = text.splitlines()
    n_new = last - line + 1 + len(after) - len(code.lines)

    def trimmed(lines: list[str]) -> str:
        return " ".join(part.strip() for part in lines)

    old, new = code.lines[line - 1 : last], after[line - 1 : line - 1 + n_new]
    return Mutant(file, line, slip.kind, trimmed(old), trimmed(new), text)


def drawn(package: Path, seed: int, only: str = "*") -> Iterator[Mutant]:
    """Mutants of a package in random order, one for each line that is drawn.

    Of the kinds of slips that fit a line each has the same chance, then each place.
    """
    lines = [
        (_hash(seed, file, code.keys[line]), file, code, line, candidates)
        for file, code, line, candidates in _lines(package, only)
    ]
    for number, file, code, line, candidates in sorted(lines, key=lambda entry: entry[0]):
        rng = np.random.default_rng(number)
        kinds = sorted({slip.kind for slip in candidates})
        for kind in rng.permutation(kinds):
            places = [slip for slip in candidates if slip.kind == kind]
            tries = (_applied(file, code, line, places[k]) for k in rng.permutation(len(places)))
            mutant = next((found for found in tries if found), None)
            if mutant:
                yield mutant
                break


def n_lines(package: Path) -> int:
    """How many lines take part in the draw."""
    return sum(1 for _ in _lines(package, "*"))
