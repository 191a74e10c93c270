"""Files as bytes, unpacked if their names end in .gz or .zst."""

import gzip
import io
from pathlib import Path
from typing import Any

from thresher.streams.extras import needed


def open_bytes(path: Path) -> Any:
    """A file to read from its first byte on."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".zst":
        unpacker = needed("zstandard", "files", "A .zst file").ZstdDecompressor()
        packed = unpacker.stream_reader(path.open("rb"), read_across_frames=True)
        return io.BufferedReader(packed)
    return path.open("rb")
