"""The lines of a file to which others go on to write."""

import time
from collections.abc import Iterator
from pathlib import Path

from thresher.streams.lines import LONGEST_LINE, check_length

_PAUSE = 0.2  # seconds between two looks at the end of the file


def growing_lines(path: Path, pause: float = _PAUSE) -> Iterator[bytes]:
    """Whole lines as they come; at the end of the file it waits for more, until interrupted.

    A line counts when its end is there, so that none is read while it is written. A file that
    becomes shorter was begun anew, and is read from its beginning.
    """
    if path.suffix in (".gz", ".zst"):
        raise ValueError(f"{path} is compressed, and cannot be followed; write plain lines.")
    with path.open("rb") as file:
        begun, number = b"", 1
        while True:
            line = file.readline(LONGEST_LINE + 1)
            check_length(len(begun) + len(line), number, str(path))
            if line.endswith(b"\n"):
                yield begun + line
                begun, number = b"", number + 1
                continue
            begun += line
            if path.stat().st_size < file.tell():
                file.seek(0)
                begun, number = b"", 1
            else:
                time.sleep(pause)
