"""Files as bytes, unpacked if their names end in .gz or .zst."""

import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa


def open_bytes(path: Path) -> Any:
    """A file to read from its first byte on."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".zst":
        packed = pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")
        return io.BufferedReader(packed)
    return path.open("rb")
