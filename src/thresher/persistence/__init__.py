"""Files of arrays and JSON: versioned, checked, written atomically, without pickle."""

from thresher.persistence.files import FORMAT_VERSION, read_file, write_atomically, write_file

__all__ = ["FORMAT_VERSION", "read_file", "write_atomically", "write_file"]
