"""Files of arrays and JSON: versioned, checked, written atomically, without pickle."""

from thresher.persistence.atomic import checked_target, write_atomically
from thresher.persistence.contents import Contents, FileError, put_strings
from thresher.persistence.files import (
    FORMAT_VERSION,
    STORABLE,
    file_bytes,
    read_file,
    sealed,
    write_file,
)
from thresher.persistence.serialiser import NotSavableError, Serialiser, build

__all__ = [
    "FORMAT_VERSION",
    "STORABLE",
    "Contents",
    "FileError",
    "NotSavableError",
    "Serialiser",
    "build",
    "checked_target",
    "file_bytes",
    "put_strings",
    "read_file",
    "sealed",
    "write_atomically",
    "write_file",
]
