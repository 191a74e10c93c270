"""One file: named arrays (safetensors), a JSON document, a version and a checksum."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

FORMAT_VERSION = 1


def write_file(path: str | Path, arrays: dict[str, NDArray[Any]], document: dict[str, Any]) -> None:
    """Write atomically: a reader sees the old file or the new one, never a part."""
    arrays = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    text = json.dumps(document, sort_keys=True)
    metadata = {
        "format": "thresher",
        "version": str(FORMAT_VERSION),
        "document": text,
        "checksum": _checksum(arrays, text),
    }
    write_atomically(path, save(arrays, metadata))


def write_atomically(path: str | Path, content: bytes) -> None:
    """Replace a file by other bytes: a reader sees the old file or the new one, never a part.

    The bytes go to a temporary file beside the target, reach the disk (fsync), and take its name;
    then the folder is synchronised too, so that the name survives a power cut.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Others may read the file as they may any new file, not as a private temporary one.
        usual = os.umask(0o077)
        os.umask(usual)
        os.chmod(name, 0o666 & ~usual)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_file(path: str | Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read a file back; a ValueError says what is wrong with one that is not whole."""
    path = Path(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(
            f"{path} is not a Thresher file, or it is damaged ({error}); use another copy."
        ) from error
    if metadata.get("format") != "thresher":
        raise ValueError(f"{path} was not written by Thresher.")
    if int(metadata["version"]) > FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {metadata['version']}, this Thresher reads up to "
            f"{FORMAT_VERSION}; install a newer Thresher to read it."
        )
    if _checksum(arrays, metadata["document"]) != metadata["checksum"]:
        raise ValueError(f"{path} is damaged: its checksum does not match; use another copy.")
    document: dict[str, Any] = json.loads(metadata["document"])
    return arrays, document


def _checksum(arrays: dict[str, NDArray[Any]], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        values = arrays[name]
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
