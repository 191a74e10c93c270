"""Files: how they are written, and that damage anywhere in them is noticed."""

import errno
import json
import os
import stat
import threading

import numpy as np
import pytest

from promises.fitted_models import MAKERS
from thresher import Checkpoint, OnlineNMF, load, save
from thresher.persistence import FileError, file_bytes, read_file, sealed, write_atomically

# ----------------------------------------------------------------------------- writing


@pytest.fixture(scope="module")
def model():
    return MAKERS["OnlineNMF"]()


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_links_are_written_through(tmp_path):
    target, link, second = (tmp_path / name for name in ("target", "link", "second"))
    target.write_bytes(b"old")
    link.symlink_to("target")
    second.symlink_to(link)
    write_atomically(second, b"new")
    assert second.is_symlink()
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "later")
    write_atomically(dangling, b"made")
    assert dangling.is_symlink()
    assert (tmp_path / "later").read_bytes() == b"made"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_of_a_file_stays(mode, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", mode)


def test_a_new_file_is_as_open_as_any(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "ours", b"")
        (tmp_path / "any").write_bytes(b"")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "ours") == mode_of(tmp_path / "any") == 0o640


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives away")
def test_the_owner_of_a_file_stays(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    path.chmod(0o600)
    write_atomically(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (1234, 4321, 0o600)


def test_an_owner_that_cannot_be_kept_is_no_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "not yours")

    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    monkeypatch.setattr("os.chown", refuse)
    write_atomically(path, b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o600)


def test_only_files_are_written_to(model, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "to_null").symlink_to(os.devnull)
    for name, says in (("pipe", "pipe"), ("folder", "folder"), ("to_null", "device")):
        with pytest.raises(ValueError, match=f"is a .*{says}.*give another name"):
            save(model, tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "pipe", "to_null"]


def test_files_that_may_not_be_changed_stay(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr("os.access", lambda *_: False)  # root may do anything
    with pytest.raises(PermissionError, match="may not be changed"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["n" * 250, "ü" * 127])
def test_names_as_long_as_the_system_allows(name, model, tmp_path):
    save(model, tmp_path / name)
    np.testing.assert_array_equal(load(tmp_path / name).components_, model.components_)


def test_a_missing_folder_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such folder.*nowhere'$"):
        save(model, tmp_path / "nowhere" / "model")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["open", "fsync"])
def test_folders_that_cannot_be_synced_do_not_matter(call, tmp_path, monkeypatch):
    """Windows opens no folders; some file systems open them and sync none."""
    real = getattr(os, call)

    def refuse_folders(target, *rest):
        is_folder = (
            os.path.isdir(target) if call == "open" else stat.S_ISDIR(os.fstat(target).st_mode)
        )
        if is_folder:
            raise PermissionError(errno.EACCES, "a folder")
        return real(target, *rest)

    monkeypatch.setattr(os, call, refuse_folders)
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("call", ["os.fsync", "os.replace", "os.chmod"])
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_an_interrupted_write_leaves_the_old_file(call, kind, model, tmp_path, monkeypatch):
    path = tmp_path / "model"
    save(model, path)
    before = path.read_bytes()

    def fail(*_):
        raise kind("disk full, or Ctrl-C")

    monkeypatch.setattr(call, fail)
    with pytest.raises(kind):
        save(model, path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([n]) * 200_000 for n in range(2)]
    write_atomically(path, contents[0])
    seen, done = set(), threading.Event()

    def read():
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(50):
        write_atomically(path, contents[n % 2])
    done.set()
    reader.join()
    assert seen <= set(contents)


# ---------------------------------------------------------------------------- damage


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "file"
    arrays = {"a": np.arange(4.0), "b": np.arange(3, dtype=np.uint8)}
    path.write_bytes(file_bytes(arrays, {"n": 1}))
    return path


def test_damage_to_any_byte_is_noticed(small):
    """Header, document, checksum, padding and arrays: every byte in turn."""
    content = small.read_bytes()
    for place in range(len(content)):
        for other in (content[place] ^ 1, content[place] ^ 0x80, 0x20):
            if other != content[place]:
                small.write_bytes(content[:place] + bytes([other]) + content[place + 1 :])
                with pytest.raises(FileError, match=r".{20}"):
                    read_file(small)


def test_cut_and_longer_files_are_noticed(small):
    content = small.read_bytes()
    for length in range(len(content)):
        small.write_bytes(content[:length])
        with pytest.raises(FileError, match="damaged"):
            read_file(small)
    small.write_bytes(content + b"\0")
    with pytest.raises(FileError, match="damaged"):
        read_file(small)


def with_metadata(content, **changes):
    """A file whose header says other things of itself, with a checksum that fits."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] |= {"checksum": "0" * 64, **changes}
    header["__metadata__"] = {k: v for k, v in header["__metadata__"].items() if v is not None}
    text = json.dumps(header, separators=(",", ":")).encode()
    whole = len(text).to_bytes(8, "little") + text + content[8 + length :]
    return whole if "checksum" in changes else sealed(whole)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"checksum": None}, "damaged: its header is not whole"),
        ({"checksum": ""}, "checksum does not match"),
        ({"checksum": "none"}, "checksum does not match"),
        ({"version": None}, "damaged: its header is not whole"),
        ({"version": "9"}, "format version '9'.*install a newer"),
        ({"version": "zwei"}, "format version"),
        ({"version": "-1"}, "format version"),
        ({"version": "1"}, "checksum does not match"),
        ({"document": None}, "damaged: its header is not whole"),
        ({"document": "{"}, "not a Thresher file, or it is damaged"),
        ({"document": "[]"}, "not a Thresher file, or it is damaged"),
        ({"document": "[" * 100_000}, "not a Thresher file, or it is damaged"),
        ({"document": '{"n": ' + "9" * 5000 + "}"}, "not a Thresher file, or it is damaged"),
        ({"format": "other"}, "not written by Thresher"),
        ({"format": None}, "not written by Thresher"),
        ({"more": "x"}, "damaged: its header is not whole"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_headers_with_a_fitting_checksum_are_still_checked(changes, says, small):
    small.write_bytes(with_metadata(small.read_bytes(), **changes))
    with pytest.raises(FileError, match=says):
        load(small)


@pytest.mark.parametrize(
    "header",
    [
        b"", b"[]", b"null", b"\xff\xfe", b'{"__metadata__": 3}', b"[" * 50_000,
        b'{"a": {"dtype": "F64", "shape": [9], "data_offsets": [0, 72]}}',
    ],
    ids=lambda header: str(header[:20]),
)  # fmt: skip
def test_headers_that_are_none(header, small):
    small.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(FileError, match=r"not a Thresher file|not written by Thresher"):
        load(small)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]},
        {"dtype": "F64", "shape": [2**32, 2**32], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [2**62, 2**62, 0], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [4], "data_offsets": [0, 16]},
        {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
        {"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]},
        {"dtype": "pickle", "shape": [1], "data_offsets": [0, 8]},
    ],
    ids=str,
)
def test_declared_sizes_are_compared_with_the_file(entry, small):
    """Nothing is allocated for an array that is not there."""
    end = entry["data_offsets"][1]
    metadata = {"format": "thresher", "version": "2", "document": "{}", "checksum": "0" * 64}
    header = {"__metadata__": metadata, "a": entry}
    text = json.dumps(header, separators=(",", ":")).encode()
    small.write_bytes(sealed(len(text).to_bytes(8, "little") + text + bytes(min(end, 16))))
    with pytest.raises(FileError, match=r"damaged|not whole|is missing"):
        load(small)


def test_a_document_may_look_like_a_checksum(tmp_path):
    path = tmp_path / "file"
    for text in ("0" * 64, f'"checksum":"{"0" * 64}"', "checksum"):
        path.write_bytes(file_bytes({text: np.arange(2.0)}, {text: text}))
        arrays, document = read_file(path)
        assert (list(arrays), document) == ([text], {text: text})


def test_a_header_longer_than_the_file_is_not_believed(small):
    for length in (2**63, 2**40, 10**9, small.stat().st_size):
        small.write_bytes(length.to_bytes(8, "little") + small.read_bytes()[8:])
        with pytest.raises(FileError, match="cut off or too long"):
            load(small)


def test_what_is_no_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(FileError, match="is not a file"):
            load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


def test_parameters_too_long_for_a_header_are_refused(tmp_path):
    many = {f"word{n:09d}": n for n in range(10)}
    with pytest.raises(ValueError, match="too many for a file"):
        write_atomically(tmp_path / "file", file_bytes({}, {"text": "x" * (1 << 23), **many}))


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    X = np.random.default_rng(0).random((40, 6))
    for path, kind in ((tmp_path / "no" / "model", FileNotFoundError), (tmp_path, ValueError)):
        fresh = OnlineNMF(2, callbacks=[Checkpoint(path)], verbose=0)
        with pytest.raises(kind, match=r"folder"):
            fresh.fit(X)
        assert not hasattr(fresh, "components_")
    with pytest.raises(ValueError, match="never saves"):
        Checkpoint(tmp_path / "model", seconds=None)
