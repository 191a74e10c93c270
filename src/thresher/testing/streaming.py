"""Promises 3, 4, 6, 7: batches, statistics, memory, and resuming after an interrupt."""

import gc
import tempfile
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from thresher.estimators import load, save
from thresher.persistence import FileError
from thresher.streams import as_source
from thresher.testing.damage import damaged
from thresher.testing.data import planted, ready, start, takes, threads_used


def check_fit_is_partial_fits(estimator: Any) -> None:
    """``fit(shuffle=False)`` gives the bits of the same batches through `partial_fit`."""
    X = planted(300)
    whole = ready(estimator, shuffle=False, n_passes=2).fit(X)
    parts = ready(estimator)
    for _ in range(2):
        for first in range(0, len(X), 64):
            parts.partial_fit(X[first : first + 64])
    np.testing.assert_array_equal(whole.components_, parts.components_)
    assert whole.n_samples_seen_ == parts.n_samples_seen_ == 600


def check_uneven_batches(estimator: Any) -> None:
    """Tiny and uneven batches work, from the very first sample on.

    Where a start has one sample to choose from, it is chance which optimum follows: the median of
    some seeds is compared.
    """
    X, worse = planted(400), []
    for seed in range(5):
        model, first = ready(estimator, random_state=seed), 0
        for size in (1, 2, 50, 1, 7, 60, 40, 39) * 2:
            model.partial_fit(X[first : first + size])
            first += size
        assert model.n_samples_seen_ == first
        even = ready(estimator, random_state=seed, n_passes=1, shuffle=False).fit(X)
        worse.append(model.score(X) / even.score(X))
    usual = float(np.median(worse))
    assert usual < 1.6, f"Uneven batches have {usual:.2f} times the loss of even ones."


def check_stream_is_array(estimator: Any) -> None:
    """A generator of arrays, or a source, teaches what the array would, in one pass."""
    X = planted(300)
    array = ready(estimator, shuffle=False, n_passes=1).fit(X)
    stream = ready(estimator, n_passes=1).fit(X[i : i + 64] for i in range(0, 300, 64))
    np.testing.assert_array_equal(array.components_, stream.components_)
    source = as_source(X).in_batches(64)
    model = ready(estimator, n_passes=1).fit(source)
    np.testing.assert_array_equal(array.components_, model.components_)
    codes = np.concatenate(list(model.transform(source)))
    np.testing.assert_allclose(codes, model.transform(X), rtol=1e-7, atol=1e-9 * codes.max())


def check_order_within_a_batch(estimator: Any) -> None:
    """A batch is a set: what it teaches does not depend on the order of its samples.

    Sums in float64 see to it, also for float32 samples.
    """
    X = planted(40).astype(np.float32)
    other = np.random.default_rng(0).permutation(len(X))
    init = start(estimator, X.shape[1])
    straight, mixed = ready(estimator, init=init), ready(estimator, init=init)
    for _ in range(3):
        straight.partial_fit(X)
        mixed.partial_fit(X[other])
    largest = float(np.abs(straight.components_).max())
    np.testing.assert_allclose(mixed.components_, straight.components_, atol=1e-4 * largest)


def check_threads_do_not_matter(estimator: Any) -> None:
    """Three threads are used if they are asked for, none beside this one if not; bits agree."""
    X = planted(300, 40)
    # Blocks have 128 rows at most, so that a batch of 300 is several of them.
    size = {"batch_size": 300, "n_passes": 3} if takes(estimator, "batch_size") else {}
    one, three = (ready(estimator, n_jobs=n, **size) for n in (1, 3))
    assert threads_used(lambda: one.fit(X)) == 0, "n_jobs=1 started other threads."
    assert threads_used(lambda: three.fit(X)) > 0, "n_jobs=3 learned in one thread."
    np.testing.assert_array_equal(one.components_, three.components_)
    np.testing.assert_array_equal(one.transform(X), three.transform(X))


def check_memory_is_bounded(estimator: Any) -> None:
    """Memory does not grow with the number of samples seen."""
    model = ready(estimator)
    batches = [planted(64, seed=s) for s in range(4)]
    sizes = []
    tracemalloc.start()
    try:
        # What is counted later must have been traced from the start: Python and NumPy keep small
        # blocks for reuse, and those that were there before would be replaced one by one.
        for steps in (80, 40, 40, 40):
            for step in range(steps):
                model.partial_fit(batches[step % 4])
            gc.collect()  # what waits to be collected is not kept
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # Forty rows of history take some 12 kB, codes would take 80 kB and samples 490 kB, each time;
    # lists and tables that grow by doubling grow in one of the two intervals.
    grown = min(sizes[2] - sizes[1], sizes[3] - sizes[2])
    assert grown < 40_000, f"40 batches left {grown} bytes behind."


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
        whole, rng = path.read_bytes(), np.random.default_rng(0)
        flips = [_flipped(whole, place) for place in np.linspace(0, len(whole) - 1, 25).astype(int)]
        for content in [*flips, *(damaged(whole, whole[::-1], rng) for _ in range(25))]:
            path.write_bytes(content)
            try:
                load(path)
            except FileError as error:
                assert len(str(error)) > 20, f"A damaged file gives no sentence: {error}"
            else:
                assert content == whole, "A damaged file was loaded without a word."


def _flipped(data: bytes, place: int) -> bytes:
    """The data with one bit the other way round."""
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


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
    steps: list[Any] = []

    def third(step: Any) -> bool:
        steps.append(step)
        return len(steps) == 3

    stopped = ready(estimator, callbacks=[third]).fit(X)
    np.testing.assert_array_equal(model.components_, stopped.components_)
    np.testing.assert_array_equal(model.transform(X), stopped.transform(X))
    assert len(model.history_) == len(stopped.history_) == 3


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
    little = 0.01 * old.max()  # zero, or enough for steps that multiply
    # What is added at the boundary of the set is taken from the other entries.
    np.testing.assert_allclose(model.components_[: len(old), :18], old, rtol=0, atol=0.1 * little)
    assert model.components_[: len(old), 18:].max() <= little
    for _ in range(5):
        model.partial_fit(X)
    assert model.components_[:, 18:].any(), "New features were not learned."
