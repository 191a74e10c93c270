"""Parts of a recording to files, while it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from thresher.streams.sound_files import SoundWriter
from thresher.streams.writing import About
from thresher.tasks.sound.audio import Recording


def part_files(folder: Path, n_parts: int) -> list[Path]:
    """The files of a folder that parts are written to."""
    return [folder / f"part{number}.wav" for number in range(n_parts)]


def written(pieces: Iterable[Any], targets: list[Path], given: Recording) -> Iterator[Any]:
    """Pieces as they come, after their parts were written; files get their names at the end."""
    read = {path.resolve() for path in given.paths}
    for target in targets:
        if target.resolve() in read:
            raise ValueError(f"{target} is being read; write to another folder.")
    targets[0].parent.mkdir(exist_ok=True)
    about = About([], rate=given.rate)
    with ExitStack() as stack:
        writers = [stack.enter_context(SoundWriter(target, about)) for target in targets]
        for piece in pieces:
            for writer, samples in zip(writers, piece.parts, strict=True):
                writer.add(samples)
            yield piece
