"""Promise 7 on one machine: disks fill up, folders are closed, runs are killed."""

import logging
import os
import resource
import subprocess
import warnings
from contextlib import contextmanager, suppress

import numpy as np
import pytest

import thresher
from killed_run import opened, run, run_killed
from thresher import Checkpoint, OnlineRobustNMF
from thresher.testing.data import planted

X = planted(600)


# ------------------------------------------------------------------- disks and folders


@contextmanager
def full_disk(folder):
    """A real disk, small and full: memory, which the system lets an administrator mount."""
    ballast = folder / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1024))
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def file_limit(folder):
    """No file may be longer than 100 bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@contextmanager
def closed_folder(folder):
    """The folder may be read and not written to; an administrator steps down for that."""
    folder.chmod(0o555)
    administrator = os.geteuid() == 0
    try:
        if administrator:
            os.seteuid(65534)
        yield
    finally:
        if administrator:
            os.seteuid(0)
        folder.chmod(0o755)


@contextmanager
def gone_folder(folder):
    away = folder.with_name("away")
    folder.rename(away)
    try:
        yield
    finally:
        away.rename(folder)


@pytest.fixture
def place(tmp_path, request):
    """A folder; for a full disk one on a disk of its own."""
    folder = tmp_path / "place"
    folder.mkdir()
    mounted = request.node.callspec.params["failure"] is full_disk
    if mounted:
        mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("only an administrator may mount a small disk")
    yield folder
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("failure", [full_disk, file_limit, closed_folder, gone_folder])
def test_a_checkpoint_that_fails_warns_once_and_learning_goes_on(failure, place, caplog):
    path = place / "model.thresher"
    saving, good = Checkpoint(path, seconds=None, samples=64), []

    def save(step):
        """The disk fails from 200 to 400 samples, and again for the last one."""
        if 200 <= step.row.samples < 400 or step.row.samples > 560:
            with failure(place):
                saving(step)
            good.append((path.read_bytes(), step.row.samples))
            return
        saving(step)

    save.begin = saving.begin
    model = OnlineRobustNMF(4, n_passes=1, batch_size=64, random_state=0, verbose=0)
    model.set_params(callbacks=[save])
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.WARNING):
        warnings.simplefilter("always")
        model.fit(X)
    plain = OnlineRobustNMF(4, n_passes=1, batch_size=64, random_state=0, verbose=0).fit(X)
    np.testing.assert_array_equal(model.components_, plain.components_)
    messages = [str(each.message) for each in warned]
    assert messages == [record.getMessage() for record in caplog.records]
    for message, samples in zip(messages, (256, 448, 576), strict=True):
        assert f"after {samples} samples" in message
    # Where it fails, the last good one stays, whole, and no half-written file remains.
    assert {content for content, samples in good if samples < 400} == {good[0][0]}
    assert [each.name for each in place.iterdir()] == ["model.thresher"]
    kept = thresher.load(path)
    assert kept.n_samples_seen_ == 512
    np.testing.assert_array_equal(kept.resume(X).components_, plain.components_)


def test_a_closed_folder_is_refused_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)  # root may do anything
    model = OnlineRobustNMF(4, callbacks=[Checkpoint(tmp_path / "model")], verbose=0)
    with pytest.raises(PermissionError, match="folder"):
        model.fit(X)
    assert not hasattr(model, "components_")


# ------------------------------------------------------------------------------- kills


def test_kills_at_any_time_leave_the_bits_of_a_run_without_any(tmp_path):
    """Two of them here; `benchmarks/kills.py` has fifty."""
    samples = tmp_path / "samples.npy"
    np.save(samples, X)
    begun = run_killed(
        samples, tmp_path / "killed", 2048, n_passes=60, n_kills=2, seconds=0.1, seed=1
    )
    assert begun[0] == 0 < begun[1] < begun[2]
    run(opened(samples), tmp_path / "whole", samples=1 << 60, n_passes=60)
    killed, whole = (thresher.load(tmp_path / name) for name in ("killed", "whole"))
    assert killed.n_samples_seen_ == whole.n_samples_seen_ == 60 * len(X)
    np.testing.assert_array_equal(killed.components_, whole.components_)
    for name, values in whole.statistics_.arrays().items():
        np.testing.assert_array_equal(killed.statistics_.arrays()[name], values)
    assert sorted(p.name for p in tmp_path.iterdir() if "tmp" not in p.suffix) == [
        "killed",
        "samples.npy",
        "whole",
    ]
