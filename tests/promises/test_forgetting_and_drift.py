"""Forgetting and drift: how the past is discounted, detected changes, replaced dictionaries."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

import thresher
from thresher import MannWhitneyDrift, OnlineL1Dictionary, OnlineNMF, OnlineRobustNMF
from thresher.metrics import relative_error
from thresher.testing.data import planted, ready

F, K, BATCH = 30, 5, 64
CHANGE = 45


# ---------------------------------------------------------------------------- forgetting


def test_a_schedule_gets_the_weight_of_the_batch_and_of_all():
    """Not the number of samples: a weight of three is three copies."""
    calls = []

    def schedule(n_batch, n_seen):
        calls.append((n_batch, n_seen))
        return 0.5

    X = planted(90)
    model = ready(OnlineRobustNMF(), outlier_weight=0.1, forgetting=schedule)
    for part, weight in ((X[:30], 2.0), (X[30:50], 1.0), (X[50:], 0.25)):
        model.partial_fit(part, sample_weight=np.full(len(part), weight))
    assert sorted(set(calls)) == [(10, 90), (20, 80), (60, 60)]


@pytest.mark.parametrize("weight", [None, 3.0])
def test_the_outlier_weight_forgets_like_everything_else(weight):
    """λ after two batches is their mean, the first discounted by what the second weighs."""
    first, second = planted(64), 8 * planted(32, seed=1)

    def given(X):
        return None if weight is None else np.full(len(X), weight)

    def fitted(*batches):
        model = ready(OnlineRobustNMF(), forgetting=40.0)
        for X in batches:
            model.partial_fit(X, sample_weight=given(X))
        return model.outlier_weight_

    unit = weight or 1.0
    past, new = 64 * unit * 2 ** (-32 * unit / 40), 32 * unit
    expected = (past * fitted(first) + new * fitted(second)) / (past + new)
    assert fitted(first, second) == pytest.approx(expected, rel=1e-6)
    assert fitted(second) > 4 * fitted(first)


def test_a_half_life_halves():
    """After one half-life the past and the present weigh the same: the mean of two levels."""
    low, high = np.full((50, 6), 1.0), np.full((50, 6), 3.0)
    model = OnlineRobustNMF(1, forgetting=50.0, init=np.ones((1, 6)), verbose=0)
    alone = [clone(model).partial_fit(X).outlier_weight_ for X in (low, high)]
    both = clone(model).partial_fit(low).partial_fit(high).outlier_weight_
    assert both == pytest.approx((alone[0] / 2 + alone[1]) / 1.5, rel=1e-6)


def test_a_short_half_life_follows_drift():
    first, second = planted(600), planted(600)[:, ::-1]
    short, none = (OnlineRobustNMF(4, forgetting=f, random_state=0, verbose=0) for f in (100, None))
    for X in (first, second):
        for start in range(0, 600, 50):
            short.partial_fit(X[start : start + 50])
            none.partial_fit(X[start : start + 50])
    assert short.score(second) > none.score(second)


# -------------------------------------------------------------------------- the detector


def atoms(rng):
    return np.abs(rng.standard_normal((K, F))) * (rng.random((K, F)) < 0.4)


def samples(D, rng, n=BATCH, noise=0.02):
    codes = np.abs(rng.standard_normal((n, K))) * (rng.random((n, K)) < 0.6)
    return codes @ D, np.abs(codes @ D + noise * rng.standard_normal((n, F)))


@pytest.fixture(scope="module")
def batches():
    """A stream whose atoms all change after 45 batches, and clean samples of the second half."""
    rng = np.random.default_rng(0)
    before, after = atoms(rng), atoms(rng)
    stream = [samples(before if t < CHANGE else after, rng)[1] for t in range(CHANGE + 40)]
    return stream, samples(after, rng, 300)


def learned(model, stream):
    for X in stream:
        model.partial_fit(X)
    return model


def test_alarms_are_rare_without_a_change():
    """At most n·rate are expected; the bound is three standard deviations above."""
    for distribution in ("standard_normal", "standard_cauchy", "standard_exponential"):
        rng = np.random.default_rng(11)
        detector, n, rate = MannWhitneyDrift(0.02), 10_000, 0.02
        found = sum(detector.update(x).drift_detected for x in getattr(rng, distribution)(n))
        assert 0 < found <= n * rate + 3 * np.sqrt(n * rate)


def test_alarms_become_more_frequent_with_the_rate():
    series = np.random.default_rng(2).standard_normal(5000)
    counts = []
    for rate in (0.001, 0.01, 0.1):
        detector = MannWhitneyDrift(rate)
        counts.append(sum(detector.update(x).drift_detected for x in series))
    assert counts == sorted(counts)
    assert counts[0] < counts[2]


def test_equal_numbers_and_falling_ones_give_no_alarm():
    for series in (np.ones(500), np.linspace(2, 1, 500)):
        detector = MannWhitneyDrift(0.5)
        assert not any(detector.update(x).drift_detected for x in series)


# ------------------------------------------------------------------------------ a change


def test_a_change_is_noticed_and_the_model_comes_near_a_fresh_one(batches):
    stream, (clean, noisy) = batches
    follows = learned(OnlineRobustNMF(K, random_state=0, verbose=0), stream)
    watches = learned(OnlineRobustNMF(K, drift="auto", random_state=0, verbose=0), stream)
    fresh = learned(OnlineRobustNMF(K, random_state=0, verbose=0), stream[CHANGE:])
    first, second = watches.history_.events[:2]
    assert (first.kind, second.kind) == ("shift", "replaced")
    assert CHANGE * BATCH < first.samples <= (CHANGE + 8) * BATCH
    assert first.statistic <= MannWhitneyDrift().false_alarm_rate
    error = {
        name: relative_error(clean, model.separate(noisy).low_rank)
        for name, model in (("follows", follows), ("watches", watches), ("fresh", fresh))
    }
    assert error["watches"] < 1.3 * error["fresh"]
    assert error["watches"] < 0.7 * error["follows"]
    assert watches.n_samples_seen_ == BATCH * len(stream)


def test_without_a_change_the_bits_are_those_of_a_model_that_does_not_watch(batches):
    stream = batches[0][:CHANGE]
    plain = learned(OnlineRobustNMF(K, random_state=0, verbose=0), stream)
    watches = learned(OnlineRobustNMF(K, drift="auto", random_state=0, verbose=0), stream)
    assert watches.history_.events == ()
    assert_array_equal(watches.components_, plain.components_)


def test_noise_shifts_losses_but_a_good_dictionary_stays():
    rng = np.random.default_rng(5)
    D = atoms(rng)
    stream = [samples(D, rng)[1] for _ in range(60)]
    stream += [samples(D, rng, noise=0.1)[1] for _ in range(45)]
    watches = learned(OnlineRobustNMF(K, drift="auto", random_state=0, verbose=0), stream)
    follows = learned(OnlineRobustNMF(K, random_state=0, verbose=0), stream)
    assert watches.history_.events[0].kind == "shift"
    clean, noisy = samples(D, rng, 300, noise=0.1)
    error, other = (relative_error(clean, m.separate(noisy).low_rank) for m in (watches, follows))
    assert error < 1.05 * other


@pytest.mark.parametrize(
    ("make", "convert"),
    [
        (lambda: OnlineNMF(K, divergence="kl", drift="auto", random_state=0, verbose=0), "float32"),
        (lambda: OnlineNMF(K, drift="auto", random_state=0, verbose=0), "missing"),
        (lambda: OnlineL1Dictionary(K, drift="auto", random_state=0, verbose=0), "csr"),
    ],
    ids=["kl float32", "squared with missing", "l1 csr"],
)
def test_other_models_and_kinds_of_data(batches, make, convert):
    rng = np.random.default_rng(1)
    stream = batches[0][:-10]
    if convert == "missing":
        stream = [np.where(rng.random(X.shape) < 0.2, np.nan, X) for X in stream]
    elif convert == "csr":
        stream = [sparse.csr_array(np.where(X > 0.1, X, 0)) for X in stream]
    else:
        stream = [X.astype(convert) for X in stream]
    model = learned(make(), stream)
    assert [event.kind for event in model.history_.events[:2]] == ["shift", "replaced"]
    assert model.components_.dtype == (np.float32 if convert == "float32" else np.float64)


@pytest.mark.parametrize("unit", [1024.0, 2.0**-30])
def test_changes_are_found_in_any_unit(batches, unit):
    first, second = (
        learned(
            OnlineRobustNMF(K, drift="auto", random_state=0, verbose=0),
            [scale * X for X in batches[0][: CHANGE + 10]],
        ).history_.events
        for scale in (1.0, unit)
    )
    assert [event[:2] for event in first] == [event[:2] for event in second] != []


def test_a_frozen_atom_stays_through_a_change(batches):
    stream = batches[0]
    start = np.random.default_rng(2).random((K, F))
    model = OnlineNMF(K, init=start, frozen_atoms=[1], drift="auto", random_state=0, verbose=0)
    model.partial_fit(stream[0])
    frozen = model.components_[1].copy()
    learned(model, stream[1:])
    assert "replaced" in [event.kind for event in model.history_.events]
    assert_array_equal(model.components_[1], frozen)


@pytest.mark.parametrize("batches_before", [CHANGE - 5, CHANGE + 8], ids=["before", "in a trial"])
def test_a_loaded_model_goes_on_with_the_same_bits(batches, tmp_path, batches_before):
    stream = batches[0]
    model = OnlineRobustNMF(K, drift=MannWhitneyDrift(1e-3), random_state=0, verbose=0)
    learned(model, stream[:batches_before])
    thresher.save(model, tmp_path / "model.thresher")
    again = thresher.load(tmp_path / "model.thresher")
    rest = stream[batches_before:]
    assert_array_equal(learned(again, rest).components_, learned(model, rest).components_)
    assert again.history_.events == model.history_.events
    assert len(model.history_.events) >= 2


def test_callbacks_get_events_and_an_interrupted_fit_resumes(batches, tmp_path):
    X = np.concatenate(batches[0])
    events = []

    def listen(step):
        events.extend(step.events)

    settings = {"drift": "auto", "batch_size": BATCH, "shuffle": False, "n_passes": 1}
    whole = OnlineRobustNMF(K, random_state=0, verbose=0, callbacks=[listen], **settings).fit(X)
    assert tuple(events) == whole.history_.events != ()
    path, stop = tmp_path / "model.thresher", thresher.StopAfter(samples=(CHANGE + 7) * BATCH)
    part = OnlineRobustNMF(K, random_state=0, verbose=0, callbacks=[stop], **settings).fit(X)
    thresher.save(part, path)
    again = thresher.load(path).resume(X)
    assert_array_equal(again.components_, whole.components_)
    assert again.history_.events == whole.history_.events


def test_a_detector_of_river(batches, tmp_path):
    drift = pytest.importorskip("river.drift")
    given = drift.PageHinkley(min_instances=10, delta=0.0, threshold=0.01)
    before = repr(given.__dict__)
    model = OnlineRobustNMF(K, drift=given, random_state=0, verbose=0)
    learned(model, batches[0])
    shifts = [event for event in model.history_.events if event.kind == "shift"]
    assert any(CHANGE * BATCH < event.samples <= (CHANGE + 8) * BATCH for event in shifts)
    assert np.isnan(shifts[0].statistic)
    assert repr(given.__dict__) == before
    with pytest.raises(ValueError, match="joblib"):
        thresher.save(model, tmp_path / "model.thresher")


def test_a_refused_batch_leaves_detector_and_trial_as_they_were(batches):
    stream = batches[0]
    model, other = (
        learned(OnlineRobustNMF(K, drift="auto", random_state=0, verbose=0), stream[: CHANGE + 6])
        for _ in range(2)
    )
    with pytest.raises(ValueError, match="Negative"):
        model.partial_fit(-stream[-1])
    rest = stream[CHANGE + 6 :]
    assert_array_equal(learned(model, rest).components_, learned(other, rest).components_)


def test_a_model_may_grow_after_a_change(batches):
    stream = batches[0]
    model = OnlineRobustNMF(K, drift="auto", random_state=0, verbose=0)
    learned(model, stream[: CHANGE + 6])
    learned(model.grow(atoms=1), stream[CHANGE + 6 :][:3])
    assert model.components_.shape == (K + 1, F)


class AlarmAtThree:
    """Gives an alarm after its third number."""

    def __init__(self):
        self.count, self.drift_detected = 0, False

    def update(self, x):
        self.count += 1
        self.drift_detected = self.count == 3


@pytest.mark.parametrize(
    "make",
    [
        *(partial(OnlineRobustNMF, solver=name) for name in ("auto", "opgd", "oadmm")),
        partial(OnlineRobustNMF, code_set="simplex"),
        partial(OnlineRobustNMF, scale_samples="max", outlier_weight="mad"),
        partial(OnlineNMF, solver="spsgd"),
        partial(OnlineNMF, solver="ol_lef", divergence="is"),
        partial(OnlineNMF, divergence="l1", dictionary_set="box"),
    ],
    ids=str,
)
def test_dictionaries_of_any_solver_and_set_are_replaced(batches, make):
    stream = [X + 0.01 for X in batches[0][CHANGE - 3 :]]
    model = make(K, drift=AlarmAtThree(), random_state=0, verbose=0)
    learned(model, stream[:3])
    assert [event.kind for event in model.history_.events] == ["shift"]
    learned(model, stream[3:36])
    assert len(model.history_.events) > 1
    assert np.isfinite(model.transform(stream[-1])).all()
    assert model.n_samples_seen_ == 36 * BATCH
