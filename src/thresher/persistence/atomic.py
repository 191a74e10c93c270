"""Files that are replaced whole: a reader sees the old bytes or the new ones, never a part."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path


def write_atomically(path: str | Path, content: bytes) -> None:
    """Replace a file by other bytes, as if they were written into it.

    The bytes go to a temporary file beside the target, reach the disk (fsync), and take its name;
    then the folder is synchronised too, so that the name survives a power cut. As with a plain
    write, links are followed, and the file keeps its mode, and its owner if the system allows it.
    """
    target = Path(os.path.realpath(path))
    old = checked_target(target)
    # A short name of its own: that of the target may be as long as the system allows.
    temporary = target.parent / f".thresher-{secrets.token_hex(8)}.tmp"
    # A new file has the usual permissions; what replaces a private file is private from the start.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            _keep_owner_and_mode(temporary, old)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def checked_target(path: str | Path) -> os.stat_result | None:
    """Refuse what cannot be written to; what is there so far, or None if nothing is."""
    target = Path(os.path.realpath(path))
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "There is no such folder to write to; make it first", str(folder)
        )
    old = target.stat() if target.exists() else None
    if old is not None and not stat.S_ISREG(old.st_mode):
        kind = "folder" if stat.S_ISDIR(old.st_mode) else "device or pipe"
        raise ValueError(f"{path} is a {kind}, and only files are written to; give another name.")
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "This file may not be changed", str(target))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "This folder may not be written to", str(folder))
    return old


def _keep_owner_and_mode(path: Path, old: os.stat_result) -> None:
    if hasattr(os, "chown"):
        for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
            with suppress(OSError):  # only an administrator may give files away
                os.chown(path, owner, group)
    os.chmod(path, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    """Where the system can; Windows opens no folders, and some file systems sync none."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
