"""Promises 3, 4, 6, 7: batches, statistics, memory, and going on after an end."""

import dataclasses
import tempfile
import tracemalloc
from contextlib import suppress
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from thresher.estimators import load, save
from thresher.linalg import Array
from thresher.persistence import FileError
from thresher.streams import Batch
from thresher.testing.data import planted, ready, verbs


def check_fit_is_partial_fits(estimator: Any) -> None:
    """``fit(shuffle=False)`` gives the bits of the same batches through `partial_fit`."""
    X = planted(300)
    whole = ready(estimator, shuffle=False, n_passes=2).fit(X)
    parts = ready(estimator)
    for _ in range(2):
        for start in range(0, len(X), 64):
            parts.partial_fit(X[start : start + 64])
    np.testing.assert_array_equal(whole.components_, parts.components_)
    assert whole.n_samples_seen_ == parts.n_samples_seen_ == 600


def check_uneven_batches(estimator: Any) -> None:
    """Tiny and uneven batches work, from the very first sample on."""
    X = planted(200)
    model = ready(estimator)
    start = 0
    for size in (1, 2, 50, 1, 7, 100, 39):
        model.partial_fit(X[start : start + size])
        start += size
    assert model.n_samples_seen_ == start
    assert np.isfinite(model.components_).all()
    reference = ready(estimator, n_passes=1).fit(X)
    assert model.score(X) > 3 * reference.score(X), "Tiny batches ruined the model."


def check_stream_is_array(estimator: Any) -> None:
    """A generator of arrays teaches what the array would, in one pass."""
    X = planted(300)
    array = ready(estimator, shuffle=False, n_passes=1).fit(X)
    stream = ready(estimator).fit(X[i : i + 64] for i in range(0, 300, 64))
    np.testing.assert_array_equal(array.components_, stream.components_)


def check_statistics_add_up(estimator: Any) -> None:
    """Statistics of a batch are the sum over its parts, and are kept in float64."""
    X = planted(200).astype(np.float32)
    model = ready(estimator).fit(X)
    method = verbs(model).going_on(model._state)

    def sums(samples: Array) -> Any:
        read = method.reader(model._state, Batch(samples))
        return reduce(add, map(read, method.blocks(Batch(samples)))).sums

    whole, total = sums(X), sums(X[::2]) + sums(X[1::2])
    for part in dataclasses.fields(whole):
        value = np.asarray(getattr(whole, part.name))
        assert value.dtype == np.float64, f"{part.name} is not kept in float64."
        largest = float(np.max(np.abs(value)))
        np.testing.assert_allclose(getattr(total, part.name), value, rtol=1e-4, atol=1e-4 * largest)


def sized(estimator: Any, size: int) -> dict[str, int]:
    """The batch size as a parameter, for estimators that have one."""
    return {"batch_size": size} if "batch_size" in estimator.get_params() else {}


def check_threads_do_not_matter(estimator: Any) -> None:
    """One thread and three give the same bits."""
    square = "n_components" not in estimator.get_params()
    X = planted(400, 40 if square else 600)  # of either, a batch is several blocks
    size = 400 if square else 64
    one, three = (ready(estimator, n_jobs=n, **sized(estimator, size)).fit(X) for n in (1, 3))
    np.testing.assert_array_equal(one.components_, three.components_)
    np.testing.assert_array_equal(one.transform(X), three.transform(X))


def check_memory_is_bounded(estimator: Any) -> None:
    """Memory does not grow with the number of samples seen."""
    model = ready(estimator)
    batches = [planted(64, seed=s) for s in range(4)]
    for step in range(40):
        model.partial_fit(batches[step % 4])
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(2):
            for step in range(100):
                model.partial_fit(batches[step % 4])
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # A hundred rows of history take some 30 kB; samples would take 1.2 MB.
    assert sizes[1] - sizes[0] < 100_000, f"100 batches left {sizes[1] - sizes[0]} bytes behind."


def check_save_and_load(estimator: Any) -> None:
    """A saved model comes back whole; a damaged file is refused with a sentence."""
    X = planted(200)
    model = ready(estimator).fit(X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.thresher"
        save(model, path)
        again = load(path)
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        assert len(again.history_) == len(model.history_)
        if hasattr(model, "partial_fit"):
            model.partial_fit(X), again.partial_fit(X)
            np.testing.assert_array_equal(again.components_, model.components_)
        content = path.read_bytes()
        header = 8 + int.from_bytes(content[:8], "little")
        for place in (3, 9, header // 2, header - 9, header, (header + len(content)) // 2, -1):
            damaged = bytearray(content)
            damaged[place] ^= 1
            _check_refused(path, bytes(damaged))
        _check_refused(path, content[:-1])


def _check_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        load(path)
    except FileError as error:
        assert len(str(error)) > 20, f"A damaged file gives no sentence: {error}"
    else:
        raise AssertionError("A damaged file was loaded without a word.")


class _Interrupt:
    """A callback that presses Ctrl-C after some steps."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, step: Any) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def check_interrupt_leaves_a_model(estimator: Any) -> None:
    """After Ctrl-C in the middle of a fit the model can be used."""
    X = planted(300)
    model = ready(estimator, callbacks=[_Interrupt(3)])
    try:
        model.fit(X)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("The interrupt got lost.")
    assert np.isfinite(model.transform(X)).all()
    assert len(model.history_) == 3


def check_resume_gives_the_same_bits(estimator: Any) -> None:
    """Interrupted, saved, loaded and resumed: the same bits as without any of it."""
    X = planted(300)
    whole = ready(estimator, n_passes=3).fit(X)
    model = ready(estimator, n_passes=3, callbacks=[_Interrupt(7)])
    with suppress(KeyboardInterrupt):
        model.fit(X)
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.thresher")
        again = load(Path(folder) / "model.thresher")
    again.resume(X)
    np.testing.assert_array_equal(again.components_, whole.components_)
    assert again.n_samples_seen_ == whole.n_samples_seen_


def check_grow(estimator: Any) -> None:
    """New features and atoms find their place: old parts stay, new ones learn."""
    X = planted(300)
    model = ready(estimator).fit(X[:, :18])
    old = model.components_.copy()
    model.grow(n_features=24, atoms=2)
    assert model.components_.shape == (len(old) + 2, 24)
    np.testing.assert_array_equal(model.components_[: len(old), :18], old)
    little = 0.01 * old.max()  # zero, or enough for steps that multiply
    assert model.components_[: len(old), 18:].max() <= little
    for _ in range(5):
        model.partial_fit(X)
    assert model.components_[:, 18:].any(), "New features were not learned."
