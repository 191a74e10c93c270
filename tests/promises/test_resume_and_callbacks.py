"""Promise 7: resume, callbacks, checkpoints and limits; an interrupted fit goes on to the bit."""

import time

import numpy as np
import pytest
from scipy import sparse

from interrupting import Interrupt
from promises.fitted_models import BATCH, QUIET, STREAM, samples
from thresher import (
    BatchNMF,
    Checkpoint,
    GoDec,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
    StopAfter,
    SymmetricManhattanNMF,
    load,
    save,
)

X = samples(64)
WEIGHT = np.random.default_rng(1).integers(1, 5, 64).astype(float)
ENTRY = np.random.default_rng(2).random(X.shape)


def interrupted(model, X=X, after=5, **weights):
    model.set_params(callbacks=[Interrupt(after)])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, **weights)
    return model.set_params(callbacks=None)


def online(**parameters):
    return OnlineRobustNMF(3, **{**STREAM, "n_passes": 3, **parameters})


# ----------------------------------------------------------------------------- resume

WEIGHTS = [{}, {"sample_weight": WEIGHT}, {"entry_weight": ENTRY}]


@pytest.mark.parametrize("weights", [*WEIGHTS, WEIGHTS[1] | WEIGHTS[2]], ids=str)
@pytest.mark.parametrize("X", [X, sparse.csr_array(X), np.asfortranarray(X)], ids=type)
def test_resume_uses_the_weights_of_the_fit(X, weights, tmp_path):
    whole = online().fit(X, **weights)
    model = interrupted(online(), X, **weights)
    save(model, tmp_path / "model")
    for again in (model, load(tmp_path / "model")):
        again.resume(X, **weights)
        np.testing.assert_array_equal(again.components_, whole.components_)
        np.testing.assert_array_equal(again.statistics_.B, whole.statistics_.B)
    if weights:
        other = online().fit(X)
        assert not np.allclose(other.components_, whole.components_, rtol=1e-6)


def changed(X, row, column):
    other = X.copy()
    other[row, column] = np.nextafter(other[row, column], 2)
    return other


OTHERS = [
    ("the array", {"X": samples(64, seed=1)}),
    ("the array", {"X": X[::-1]}),
    ("the array", {"X": changed(X, 63, 5)}),
    ("the array", {"X": changed(X, 17, 2)}),
    ("the array", {"X": X.astype(np.float32)}),
    ("the array", {"X": sparse.csr_array(X)}),
    ("sample_weight", {"sample_weight": None}),
    ("sample_weight", {"sample_weight": WEIGHT[::-1]}),
    ("sample_weight", {"sample_weight": np.ones(64)}),
    ("entry_weight", {"entry_weight": None}),
    ("entry_weight", {"entry_weight": changed(ENTRY, 3, 3)}),
    ("sample_weight and entry_weight", {"sample_weight": None, "entry_weight": None}),
]


@pytest.mark.parametrize(("what", "other"), OTHERS, ids=[f"{n}" for n in range(len(OTHERS))])
def test_resume_refuses_other_data_than_the_fit_had(what, other, tmp_path):
    given = {"X": X, "sample_weight": WEIGHT, "entry_weight": ENTRY}
    model = interrupted(online(), **given)
    save(model, tmp_path / "model")
    for again in (model, load(tmp_path / "model")):
        before = again.components_
        with pytest.raises(ValueError, match=what):
            again.resume(**{**given, **other})
        assert again.components_ is before
        again.resume(**given)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_data_are_known_to_checkpoints_and_without_callbacks(n_jobs, tmp_path):
    """Their checksum is computed while the model learns."""
    callbacks = [Checkpoint(tmp_path / "model", samples=1), Interrupt(1)]
    with pytest.raises(KeyboardInterrupt):
        online(n_jobs=n_jobs).set_params(callbacks=callbacks).fit(X)
    for model in (load(tmp_path / "model"), online(n_jobs=n_jobs).fit(X)):
        with pytest.raises(ValueError, match="array"):
            model.resume(X[::-1])


@pytest.mark.parametrize("shuffle", [False, True])
def test_resume_refuses_another_order(shuffle):
    model = interrupted(online(shuffle=shuffle))
    with pytest.raises(ValueError, match="shuffle"):
        model.set_params(shuffle=not shuffle).resume(X)
    model.set_params(shuffle=shuffle).resume(X)


def test_equal_data_from_elsewhere_are_the_same_data(tmp_path):
    """Lists, maps of files, other memory: what counts is what is in them."""
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for same in (X.tolist(), mapped, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        whole = online().fit(X)
        model = interrupted(online()).resume(same)
        np.testing.assert_array_equal(model.components_, whole.components_)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    interrupted(online(), sparse.csr_array(X)).resume(wide)


# --------------------------------------------------------------------------- callbacks


def models():
    return [
        (OnlineRobustNMF(3, **STREAM), X),
        (OnlineNMF(3, **STREAM), X),
        (OnlineNMF(3, **STREAM), "stream"),
        (OnlineL1Dictionary(3, **STREAM), X),
        (OnlineOrthogonalDictionary(**STREAM), X),
        (RobustNMF(3, **BATCH), X),
        (BatchNMF(3, **BATCH), X),
        (ManhattanNMF(3, **BATCH), X),
        (SymmetricManhattanNMF(3, **BATCH), X @ X.T),
        (OnlineRobustPCA(3, **STREAM), X),
        (RobustPCA(verbose=0, tol=1e-2), X),
        (GoDec(3, **BATCH), X),
    ]


@pytest.mark.parametrize(("model", "data"), models(), ids=lambda value: str(value)[:20])
def test_callbacks_from_a_generator_are_called_after_every_step(model, data):
    def array():
        return (X[i : i + 16] for i in range(0, 64, 16)) if isinstance(data, str) else data

    calls = []
    model.set_params(callbacks=(step for step in [lambda step: calls.append(step.row.samples)]))
    model.fit(array())
    first = len(model.history_)
    assert first > 1
    assert calls == [row.samples for row in model.history_]
    model.fit(array())
    assert len(calls) == first + len(model.history_)


def test_resume_calls_callbacks_from_a_generator():
    calls = []
    model = online(callbacks=iter([calls.append, Interrupt(5)]))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert len(calls) == 5
    model.resume(X)
    assert len(calls) == 12 == len(model.history_)


def test_callbacks_with_begin_are_called_when_a_fit_begins():
    begun = []

    class Watch:
        def begin(self, model, n_seen):
            begun.append((type(model).__name__, n_seen))

        def __call__(self, step):
            return step.row.samples == 80  # the end of this fit

    model = online(callbacks=[Watch(), lambda step: None]).fit(X)
    model.resume(X)
    model.fit(X)
    assert begun == [("OnlineRobustNMF", 0), ("OnlineRobustNMF", 80), ("OnlineRobustNMF", 0)]


# -------------------------------------------------------------------------- checkpoints


@pytest.mark.parametrize(("size", "expected"), [(16, 64), (20, 40)])
def test_checkpoints_by_samples_are_so_far_apart(size, expected, tmp_path):
    """Every 32 samples at least, counted from the start of every fit."""
    checkpoint = Checkpoint(tmp_path / "model", seconds=None, samples=32)
    model = online(callbacks=[checkpoint], batch_size=size, n_passes=1)
    for _ in range(3):
        model.fit(X)
        assert load(tmp_path / "model").n_samples_seen_ == expected
        (tmp_path / "model").unlink()


def test_checkpoints_by_seconds_are_counted_from_the_start_of_each_fit(tmp_path):
    def wait(step):
        time.sleep(0.02)

    checkpoint = Checkpoint(tmp_path / "model", seconds=0.03)
    time.sleep(0.05)  # long after it was made
    for _ in range(2):
        online(callbacks=[checkpoint, wait], n_passes=1).fit(X)
        assert load(tmp_path / "model").n_samples_seen_ > 16
        (tmp_path / "model").unlink()


def test_a_checkpoint_goes_on_counting_when_a_fit_resumes(tmp_path):
    model = interrupted(online(), after=5)  # 80 samples
    checkpoint = Checkpoint(tmp_path / "model", seconds=None, samples=32)
    model.set_params(callbacks=[checkpoint]).resume(X)
    assert load(tmp_path / "model").n_samples_seen_ == 176


@pytest.mark.parametrize(("model", "data"), models(), ids=lambda value: str(value)[:20])
def test_every_estimator_can_be_checkpointed(model, data, tmp_path):
    if isinstance(data, str):
        data = iter([X])
    checkpoint = Checkpoint(tmp_path / "model", seconds=0.0)
    model.set_params(callbacks=[checkpoint]).fit(data)
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.components_, model.components_)
    np.testing.assert_array_equal(again.history_.to_array(), model.history_.to_array())


# ----------------------------------------------------------------------------- stopping


@pytest.mark.parametrize(("limit", "seen"), [(64, 64), (65, 80), (1, 16), (0, 16)])
def test_a_fit_stops_in_the_step_that_reaches_the_limit_of_samples(limit, seen):
    assert online(callbacks=[StopAfter(samples=limit)]).fit(X).n_samples_seen_ == seen


def test_a_fit_stops_in_the_step_that_reaches_the_limit_of_change():
    whole = online().fit(X)
    reached = int(np.flatnonzero(whole.history_.column("change") <= 0.05)[0])
    exact = float(whole.history_.column("change")[reached])
    for limit in ({"change": exact}, {"change": exact, "samples": 10**6, "seconds": 1e6}):
        assert len(online(callbacks=[StopAfter(**limit)]).fit(X).history_) == reached + 1
    assert len(online(callbacks=[StopAfter()]).fit(X).history_) == len(whole.history_)


def test_a_fit_stops_in_the_step_that_reaches_the_limit_of_time():
    model = OnlineNMF(3, n_passes=10**6, callbacks=[StopAfter(seconds=0.2)], tol=1e-300, **QUIET)
    model.fit(X)
    assert model.history_[-1].seconds >= 0.2
    assert all(row.seconds < 0.2 for row in list(model.history_)[:-1])


@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF, ManhattanNMF])
def test_an_error_in_a_callback_reaches_the_user_and_leaves_a_usable_model(kind):
    def full_disk(step):
        if len(step.model.history_) == 2:
            raise OSError("No space left on device")

    model = kind(3, callbacks=[full_disk], tol=1e-12, **QUIET)
    with pytest.raises(OSError, match="space"):
        model.fit(X)
    assert len(model.history_) == 2
    assert np.isfinite(model.set_params(callbacks=None).transform(X)).all()


@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF, OnlineNMF])
def test_a_callback_that_returns_true_ends_the_fit(kind):
    model = kind(3, callbacks=[lambda step: np.bool_(True)], **QUIET).fit(X)
    assert len(model.history_) == 1
