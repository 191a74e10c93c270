"""One file: named arrays (safetensors), a JSON document, a version and a checksum.

The checksum is the SHA-256 of the whole file, with zeros in its own place, so that damage
anywhere is noticed.
"""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from thresher.persistence.atomic import write_atomically
from thresher.persistence.contents import FileError

FORMAT_VERSION = 1

STORABLE = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
STORABLE += ("float16", "float32", "float64")
"""Types of numbers that a file holds."""

# Bytes, by judgement: names and parameters; all that grows with a model is in arrays.
_LONGEST_HEADER = 1 << 23
_NO_CHECKSUM = "0" * 64


def write_file(path: str | Path, arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> None:
    """Write atomically: a reader sees the old file or the new one, never a part."""
    write_atomically(path, file_bytes(arrays, document))


def file_bytes(arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> bytes:
    """What a file of these consists of."""
    metadata = {
        "format": "thresher",
        "version": str(FORMAT_VERSION),
        "document": json.dumps(document, sort_keys=True),
        "checksum": _NO_CHECKSUM,
    }
    content = save({name: np.asarray(V, order="C") for name, V in arrays.items()}, metadata)
    start = 8 + int.from_bytes(content[:8], "little")
    # In one order, so that equal models are equal files; arrays stay aligned to eight bytes.
    header = json.dumps(json.loads(content[8:start]), sort_keys=True, separators=(",", ":"))
    header += " " * (-len(header) % 8)
    length = len(header).to_bytes(8, "little")
    content = b"".join((length, header.encode(), memoryview(content)[start:]))
    if len(header) > _LONGEST_HEADER:
        raise ValueError(
            "The parameters of this model are too many for a file; give long lists as arrays."
        )
    return sealed(content)


def sealed(content: bytes) -> bytes:
    """A file with the checksum that belongs to it, in the place that is kept for it."""
    header = 8 + int.from_bytes(content[:8], "little")
    place = _place(content, header, _NO_CHECKSUM)
    digest = hashlib.sha256(content).hexdigest().encode()
    parts = memoryview(content)
    return b"".join((parts[:place], digest, parts[place + len(digest) :]))


def read_file(path: str | Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read a file back; a `FileError` says what is wrong with one that is not whole.

    Nothing larger than the file itself is ever allocated.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe or device might never end
        raise FileError(f"{path} is not a file; give the name of one that save wrote.")
    content = Path(path).read_bytes()
    header, metadata = _header(path, content)
    try:
        arrays = load(content)
    except (SafetensorError, KeyError, ValueError, OverflowError) as error:
        raise _not_ours(path, error) from error
    if _checksum(content, header, metadata["checksum"]) != metadata["checksum"]:
        raise FileError(f"{path} is damaged: its checksum does not match; use another copy.")
    try:
        document = json.loads(metadata["document"])
    except (ValueError, RecursionError) as error:
        raise _not_ours(path, error) from error
    if not isinstance(document, dict):
        raise _not_ours(path, "its document is no object")
    return arrays, document


def _header(path: str | Path, content: bytes) -> tuple[int, dict[str, str]]:
    """Where the arrays begin, and what the file says of itself."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, _LONGEST_HEADER):
        raise _not_ours(path, "its header is cut off or too long")
    try:
        header = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError) as error:
        raise _not_ours(path, error) from error
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or metadata.get("format") != "thresher":
        raise FileError(f"{path} was not written by Thresher.")
    names = ("format", "version", "document", "checksum")
    if sorted(metadata) != sorted(names) or not all(isinstance(metadata[n], str) for n in names):
        raise FileError(f"{path} is damaged: its header is not whole; use another copy.")
    version = metadata["version"]
    if version != str(FORMAT_VERSION):
        raise FileError(
            f"{path} has format version {version[:20]!r}, this Thresher reads version "
            f"{FORMAT_VERSION}; install a newer Thresher to read it."
        )
    return 8 + length, metadata


def _not_ours(path: str | Path, why: object) -> FileError:
    return FileError(
        f"{path} is not a Thresher file, or it is damaged ({str(why)[:200]}); use another copy."
    )


def _place(content: bytes, header: int, checksum: str) -> int:
    """Where the checksum stands: quotes that are not escaped are found nowhere else."""
    key = b'"checksum":"'
    place = content.find(key + checksum.encode() + b'"', 0, header)
    return place if place < 0 else place + len(key)


def _checksum(content: bytes, header: int, written: str) -> str | None:
    """Of the file as it was before the checksum was put in its place; None if it has no place."""
    place = _place(content, header, written)
    if len(written) != len(_NO_CHECKSUM) or place < 0:
        return None
    digest = hashlib.sha256(content[:place])
    digest.update(_NO_CHECKSUM.encode())
    digest.update(memoryview(content)[place + len(_NO_CHECKSUM) :])
    return digest.hexdigest()
