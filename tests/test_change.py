"""λ and half-life that change while a model learns: from when on, and what is kept of it."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from interrupting import Interrupt
from thresher import (
    Checkpoint,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    load,
    save,
)
from thresher.testing.data import planted

X = planted(320, 12, 0)
BATCH = 32
QUIET = {"batch_size": BATCH, "shuffle": False, "random_state": 0, "verbose": 0, "n_jobs": 1}


class ChangeAfter:
    """A callback that changes the model after some steps."""

    def __init__(self, steps, **changes):
        self.left, self.changes = steps, changes

    def __call__(self, step):
        self.left -= 1
        if self.left == 0:
            step.model.change(**self.changes)


CASES = {
    "number": (partial(OnlineRobustNMF, 3, outlier_weight=1.0), {"outlier_weight": 0.05}),
    "to a rule": (partial(OnlineRobustNMF, 3, outlier_weight=1.0), {"outlier_weight": "auto"}),
    "to noise": (partial(OnlineRobustNMF, 3), {"outlier_weight": "mad", "forgetting": 100}),
    "watched": (partial(OnlineRobustNMF, 3, drift="auto"), {"outlier_weight": 0.1}),
    "published": (
        partial(OnlineRobustNMF, 3, solver="oadmm", outlier_weight=0.3),
        {"outlier_weight": 0.1, "forgetting": 64},
    ),
    "signed": (partial(OnlineRobustPCA, 3), {"outlier_weight": 0.2, "forgetting": None}),
    "kl": (partial(OnlineNMF, 3, divergence="kl"), {"forgetting": 50}),
    "l1": (partial(OnlineL1Dictionary, 3), {"forgetting": 50.0}),
    "orthogonal": (partial(OnlineOrthogonalDictionary, forgetting=400), {"forgetting": 60}),
}


@pytest.mark.parametrize("case", CASES)
def test_save_load_resume_after_a_change_has_the_bits_of_the_run(case, tmp_path):
    """The change happens in the middle of a pass, after it the run is killed; also in order."""
    make, changes = CASES[case]
    for shuffle in (False, True):
        given = {**QUIET, "shuffle": shuffle, "n_passes": 2}
        whole = make(**given, callbacks=[ChangeAfter(4, **changes)]).fit(X)
        plain = make(**given).fit(X)
        assert not np.array_equal(whole.components_, plain.components_)
        path = tmp_path / f"{shuffle}.thr"
        killed = [ChangeAfter(4, **changes), Checkpoint(path, samples=1), Interrupt(6)]
        with pytest.raises(KeyboardInterrupt):
            make(**given, callbacks=killed).fit(X)
        again = load(path).resume(X)
        assert_array_equal(again.components_, whole.components_)
        assert str(again.history_.events) == str(whole.history_.events)  # which may have NaN
        for name, value in changes.items():
            assert getattr(again, name) == value


@pytest.mark.parametrize("case", CASES)
def test_a_change_in_a_fit_is_one_between_batches(case):
    make, changes = CASES[case]
    whole = make(**QUIET, n_passes=1, callbacks=[ChangeAfter(4, **changes)]).fit(X)
    parts = make(**QUIET)
    for start in range(0, len(X), BATCH):
        if start == 4 * BATCH:
            parts.change(**changes)
        parts.partial_fit(X[start : start + BATCH])
    assert_array_equal(parts.components_, whole.components_)
    assert {event.kind for event in parts.history_.events} == changes.keys()


def test_outliers_obey_the_new_weight():
    """``r = soft(x − cD, λ)``: what is left is λ where an outlier is, and no more elsewhere."""
    model = OnlineRobustNMF(3, **QUIET, outlier_weight=0.5, tol=1e-9).partial_fit(X)
    model.change(outlier_weight=0.07)
    low_rank, outliers, codes = model.separate(X)
    left = np.abs(X - low_rank - outliers)
    assert_allclose(left[outliers != 0], 0.07, rtol=1e-6)
    assert (left[outliers == 0] <= 0.07 * (1 + 1e-6)).all()
    assert model.outlier_weight_ == pytest.approx(0.07)
    assert (model.certificates(X, codes) <= 1e-9).all()


def test_the_past_counts_by_the_new_half_life():
    model = OnlineRobustNMF(3, **QUIET, forgetting=None)
    weight = 0.0
    for step, start in enumerate(range(0, len(X), BATCH)):
        half_life = np.inf if step < 5 else 48.0
        if step == 5:
            model.change(forgetting=48.0)
        model.partial_fit(X[start : start + BATCH])
        weight = weight * 2 ** (-BATCH / half_life) + BATCH
    assert model.statistics_.weight == pytest.approx(weight)


@pytest.mark.parametrize(("rule", "early"), [("auto", 4), ("auto", 13), ("mad", 13)])
def test_a_rule_measures_from_the_next_batch_on(rule, early):
    """Also after the first eight, of which all are measured; until then the old λ counts."""
    many = np.concatenate([X, X, X])
    model = OnlineRobustNMF(3, **QUIET, outlier_weight=0.9)
    for start in range(0, early * BATCH, BATCH):
        model.partial_fit(many[start : start + BATCH])
    model.change(outlier_weight=rule)
    assert model.outlier_weight_ == pytest.approx(0.9)
    batch = many[early * BATCH : (early + 1) * BATCH]
    model.partial_fit(batch)
    if rule == "auto":
        fresh = OnlineRobustNMF(3, **QUIET).partial_fit(batch)
        assert model.outlier_weight_ == pytest.approx(fresh.outlier_weight_)
    else:
        assert 0 < model.outlier_weight_ < 0.9


def test_losses_before_and_after_are_not_compared():
    """A larger λ makes larger losses, which would end the fit at the end of the pass."""
    given = {**QUIET, "n_passes": 8, "tol": 1e-12, "outlier_weight": 0.01}
    change = ChangeAfter(15, outlier_weight=1.0)
    model = OnlineRobustNMF(3, **given, callbacks=[change]).fit(X)
    loss = model.history_.column("loss")
    assert loss[15:20].mean() > loss[5:10].mean()
    assert model.n_iter_ >= 40


def test_a_change_is_no_shift():
    many = np.concatenate([planted(1600, 12, seed) for seed in (0, 0)])
    model = OnlineRobustNMF(3, **QUIET, n_passes=1, drift="auto", outlier_weight=0.01)
    model.set_params(callbacks=[ChangeAfter(50, outlier_weight=1.0)]).fit(many)
    assert [event.kind for event in model.history_.events] == ["outlier_weight"]
    assert model.history_.events[0] == (50 * BATCH, "outlier_weight", 1.0)


def test_events_tell_what_was_asked_for(tmp_path):
    model = OnlineRobustNMF(3, **QUIET).partial_fit(X)
    model.calibrate(planted(200, 12, 1))
    model.change(forgetting=500).change(forgetting=None).change(forgetting=lambda b, n: 0.5)
    calibrated = model.offset_
    model.change(forgetting="auto", outlier_weight="mad")
    assert model.offset_ != calibrated, "losses are others now"
    kinds, values = zip(*[(kind, value) for _, kind, value in model.history_.events], strict=True)
    assert kinds == (*["forgetting"] * 3, "outlier_weight", "forgetting")
    assert_array_equal(values, [500, np.inf, np.nan, np.nan, np.nan])
    before = model.history_.events
    model.change(outlier_weight="mad", forgetting="auto")
    assert model.history_.events == before, "nothing changed"
    save(model, tmp_path / "model")
    assert str(load(tmp_path / "model").history_.events) == str(before)


REFUSED = {
    "nothing": (partial(OnlineRobustNMF, 3), {}, "Nothing is to be changed"),
    "value": (partial(OnlineRobustNMF, 3), {"outlier_weight": -1}, "outlier_weight=-1 is not"),
    "one of two": (
        partial(OnlineRobustNMF, 3),
        {"outlier_weight": 0.5, "forgetting": "soon"},
        "forgetting='soon' is not known",
    ),
    "no outliers": (partial(OnlineNMF, 3), {"outlier_weight": 1.0}, "sets no outliers aside"),
    "other learner": (OnlineOrthogonalDictionary, {"forgetting": 100}, "call fit to start anew"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused_and_changes_nothing(case, tmp_path):
    make, changes, words = REFUSED[case]
    model = make(**QUIET).partial_fit(X[:64])
    before, state = model.get_params(), model._state
    with pytest.raises(ValueError, match=words):
        model.change(**changes)
    assert model.get_params() == before
    assert model._state is state
    assert not model.history_.events
    assert_array_equal(
        model.partial_fit(X[64:]).components_,
        make(**QUIET).partial_fit(X[:64]).partial_fit(X[64:]).components_,
    )


def test_only_what_has_begun_can_change():
    with pytest.raises(ValueError, match="has not learned anything yet"):
        OnlineRobustNMF(3).change(outlier_weight=1.0)
    assert not hasattr(RobustNMF, "change"), "there is no next batch"
