"""Parameters that change after a fit or during a stream: which may, from when on, and which not."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import thresher
from interrupting import Interrupt
from promises.estimators import each_estimator, each_online
from thresher import (
    BatchNMF,
    Checkpoint,
    FaceRecognizer,
    L1Dictionary,
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    TopicModel,
    load,
    save,
)
from thresher.testing.data import planted, ready

OTHERWISE = {
    "n_components": 7,
    "init": "uniform",
    "implicit_zeros": "missing",
    "divergence": "hellinger",
    "divergence_parameter": 0.5,
    "code_set": "simplex",
    "code_penalty": 0.7,
    "dictionary_set": "simplex",
    "dictionary_penalty": 0.3,
    "frozen_atoms": [0],
    "scale_samples": "max",
    "outlier_weight": 0.5,
    "outlier_penalty": "l21",
    "outlier_sign": "nonnegative",
    "outlier_bound": 2.0,
    "zero_weight": 0.5,
    "p": 4,
    "whiten": True,
    "square_weight": 0.5,
    "graph": 2,
    "graph_weight": 2.0,
    "drift": "auto",
    "ridge": 0.5,
    "cardinality": 0.2,
}
MAY_CHANGE = {
    "tol": 1e-2,
    "max_iter": 50,
    "code_tol": 1e-3,
    "code_max_iter": 500,
    "n_jobs": 1,
    "verbose": False,
    "callbacks": [],
    "random_state": 5,
    "batch_size": 7,
    "n_passes": 3,
    "n_starts": 2,
    "shuffle": False,
    "forgetting": 50.0,
    "n_nonzero": 2,
}
OTHER_SOLVER = {
    OnlineRobustNMF: "opgd",
    RobustNMF: "bpgd",
    OnlineNMF: "spsgd",
    BatchNMF: "mu",
    OnlineL1Dictionary: "oiadmm",
    L1Dictionary: "admm",
    ManhattanNMF: "ogm",
    OnlineOrthogonalDictionary: "sfw",
}


# ---------------------------------------------------------------- set_params after a fit


@each_estimator
def test_what_was_learned_keeps_its_parameters(estimator, tmp_path):
    X = planted(80)
    fitted = ready(estimator).fit(X)
    codes, kind = fitted.transform(X), type(estimator)
    verbs = ["transform", "score_samples", "impute"]
    verbs += ["partial_fit", "resume"] if hasattr(fitted, "partial_fit") else []
    for name in fitted.get_params():
        value = OTHER_SOLVER[kind] if name == "solver" else OTHERWISE.get(name)
        if name in MAY_CHANGE and not (name == "forgetting" and kind is OnlineOrthogonalDictionary):
            continue
        if name == "outlier_weight" and hasattr(fitted, "partial_fit"):
            continue  # tested below
        value = MAY_CHANGE["forgetting"] if name == "forgetting" else value
        before = getattr(fitted, name)
        fitted.set_params(**{name: value})
        for verb in verbs:
            with pytest.raises(ValueError, match=rf"\b{name}\b"):
                getattr(fitted, verb)(X)
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            thresher.save(fitted, tmp_path / "model")
        fitted.set_params(**{name: before})
        np.testing.assert_array_equal(fitted.transform(X), codes)
    fitted.set_params(**{name: MAY_CHANGE.get(name, v) for name, v in fitted.get_params().items()})


@each_online
def test_what_may_change_takes_effect_at_once(estimator):
    X = planted(80)
    model = ready(estimator).partial_fit(X)
    drifts = isinstance(estimator, OnlineOrthogonalDictionary)
    for name, value in MAY_CHANGE.items():
        if name in model.get_params() and not (drifts and name == "forgetting"):
            model.set_params(**{name: value}).partial_fit(X).transform(X)
    with pytest.raises(ValueError, match="tol"):
        model.set_params(tol=None).transform(X)
    with pytest.raises(ValueError, match="n_jobs"):
        model.set_params(tol=1e-4, n_jobs="2").partial_fit(X)


def test_a_half_life_that_changes_in_mid_stream_counts_from_then_on():
    X, Y = planted(200), planted(200, seed=1)
    changed = ready(OnlineNMF(), forgetting=None).partial_fit(X)
    changed.set_params(forgetting=50.0).partial_fit(Y)
    always = ready(OnlineNMF(), forgetting=None).partial_fit(X).partial_fit(Y)
    half = ready(OnlineNMF(), forgetting=50.0).partial_fit(X).partial_fit(Y)
    np.testing.assert_array_equal(changed.components_, half.components_)
    assert not np.array_equal(changed.components_, always.components_)


def test_arrays_and_parts_that_are_equal_are_no_change():
    X = planted(60)
    start = np.random.default_rng(0).random((4, X.shape[1]))
    model = ready(OnlineNMF(), init=start).partial_fit(X)
    model.set_params(init=start.copy()).partial_fit(X)
    model.set_params(init=start.tolist()).partial_fit(X)
    with pytest.raises(ValueError, match="init="):
        model.set_params(init=2 * start).partial_fit(X)


@pytest.mark.parametrize(
    "wrong", [lambda b, n: 2.0, lambda b, n: -1.0, lambda b, n: float("nan"), lambda b, n: "half"]
)
def test_factors_of_a_users_own_forgetting_are_validated(wrong):
    X = planted(60)
    model = ready(OnlineNMF()).partial_fit(X)
    atoms = model.components_.copy()
    with pytest.raises(ValueError, match="0 to 1"):
        model.set_params(forgetting=wrong).partial_fit(X)
    np.testing.assert_array_equal(model.components_, atoms)


def test_parameters_are_validated_again_when_they_change():
    model = ready(OnlineRobustNMF()).partial_fit(X)
    first = model.transform(X[:3])
    model.code_penalty = 1.0
    with pytest.raises(ValueError, match="code_penalty"):
        model.transform(X[:3])
    model.set_params(code_penalty=None, tol=-1.0)
    with pytest.raises(ValueError, match="tol"):
        model.partial_fit(X)
    model.set_params(tol=1e-4, callbacks=[])
    model.transform(X[:3])
    model.callbacks.append(3)  # in place
    with pytest.raises(ValueError, match="callbacks"):
        model.transform(X[:3])
    model.callbacks.clear()
    np.testing.assert_array_equal(model.transform(X[:3]), first)


def test_what_was_prepared_for_one_lambda_does_not_outlive_it():
    """λ changes with the data; a copy that prepares everything again has the same bits."""
    together = OnlineRobustNMF(4, random_state=0, verbose=0)
    for scale in (1.0, 3.0, 0.5, 2.0):
        together.partial_fit(scale * X)
        apart = pickle.loads(pickle.dumps(together))  # which has prepared nothing yet
        np.testing.assert_array_equal(together.transform(X[:5]), apart.transform(X[:5]))
        after = apart.partial_fit(X).components_
        np.testing.assert_array_equal(together.partial_fit(X).components_, after)


def test_tasks_keep_their_parameters_too():
    texts = ["rain wind snow", "wind snow hail", "cats dogs mice", "dogs mice birds"] * 10
    topics = TopicModel(2, random_state=0, verbose=0).partial_fit(texts)
    with pytest.raises(ValueError, match="n_components=2"):
        topics.set_params(n_components=3).partial_fit(texts)
    with pytest.raises(ValueError, match="n_components=3"):
        topics.transform(texts)
    outer = TopicModel(model=OnlineNMF(2, random_state=0, verbose=0)).partial_fit(texts)
    with pytest.raises(ValueError, match="model__n_components=2"):
        outer.set_params(model__n_components=5).partial_fit(texts)
    detector = NovelDocumentDetector(3, random_state=0, verbose=0).fit(texts)
    with pytest.raises(ValueError, match="max_words"):
        detector.set_params(max_words=5).step(texts)
    faces = FaceRecognizer(ManhattanNMF(2, max_iter=3, verbose=0)).fit(planted(20), [0, 1] * 10)
    with pytest.raises(ValueError, match="method='codes'"):
        faces.set_params(method="projection").predict(planted(20))


# -------------------------------------------------------------------- tolerances of zero


@each_estimator
def test_a_tolerance_of_zero_never_stops(estimator):
    X = np.repeat(planted(20), 3, axis=0)
    rounds = {"max_iter": 40} if "batch_size" not in estimator.get_params() else {"n_passes": 12}
    model = ready(estimator, tol=0, **rounds).fit(X)
    expected = 12 if "n_passes" in rounds else 40
    more = len(model.history_) - expected
    # Rounds that measure the noise come before, five at a time.
    assert more >= 0 and more % 5 == 0 if isinstance(model, L1Dictionary) else more == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = model.transform(X[:5])
    close = model.set_params(code_tol=1e-9) if "code_tol" in model.get_params() else model
    np.testing.assert_allclose(exact, close.transform(X[:5]), atol=1e-3 * exact.max())


# ---------------------------------------------------------------- change during a stream


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
            step.model.set_params(**self.changes)


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
            parts.set_params(**changes)
        parts.partial_fit(X[start : start + BATCH])
    assert_array_equal(parts.components_, whole.components_)
    assert {event.kind for event in parts.history_.events} == changes.keys()


def test_outliers_obey_the_new_weight():
    """``r = soft(x − cD, λ)``: what is left is λ where an outlier is, and no more elsewhere."""
    model = OnlineRobustNMF(3, **QUIET, outlier_weight=0.5, tol=1e-9).partial_fit(X)
    model.set_params(outlier_weight=0.07)
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
            model.set_params(forgetting=48.0)
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
    model.set_params(outlier_weight=rule)
    assert model.outlier_weight_ == pytest.approx(0.9)
    batch = many[early * BATCH : (early + 1) * BATCH]
    model.partial_fit(batch)
    if rule == "auto":
        fresh = OnlineRobustNMF(3, **QUIET).partial_fit(batch)
        assert model.outlier_weight_ == pytest.approx(fresh.outlier_weight_)
    else:
        assert 0 < model.outlier_weight_ < 0.9


def test_a_change_is_no_shift():
    many = np.concatenate([planted(1600, 12, seed) for seed in (0, 0)])
    model = OnlineRobustNMF(3, **QUIET, n_passes=1, drift="auto", outlier_weight=0.01)
    model.set_params(callbacks=[ChangeAfter(50, outlier_weight=1.0)]).fit(many)
    assert [event.kind for event in model.history_.events] == ["outlier_weight"]
    assert model.history_.events[0] == (50 * BATCH, "outlier_weight", 1.0)


def test_events_record_what_was_asked_for(tmp_path):
    model = OnlineRobustNMF(3, **QUIET).partial_fit(X)
    for changes in (
        {"forgetting": 500},
        {"forgetting": None},
        {"forgetting": lambda b, n: 0.5},
        {"forgetting": "auto", "outlier_weight": "mad"},
    ):
        model.set_params(**changes).partial_fit(X)
    kinds, values = zip(*[(kind, value) for _, kind, value in model.history_.events], strict=True)
    assert kinds == (*["forgetting"] * 3, "outlier_weight", "forgetting")
    assert_array_equal(values, [500, np.inf, np.nan, np.nan, np.nan])
    before = model.history_.events
    model.set_params(outlier_weight="mad", forgetting="auto").partial_fit(X)
    assert model.history_.events == before, "nothing changed"
    save(model.set_params(forgetting=500), tmp_path / "model")
    changed = load(tmp_path / "model").history_.events
    assert str(changed[:-1]) == str(before)
    assert changed[-1] == (6 * len(X), "forgetting", 500)
    assert model.history_.events == before, "saving records nothing in the model"


def test_a_copy_of_a_changed_model_goes_on_like_it():
    model = OnlineRobustNMF(3, **QUIET, outlier_weight=0.9).partial_fit(X)
    model.set_params(outlier_weight="mad")
    again = pickle.loads(pickle.dumps(model))
    assert again.outlier_weight_ == pytest.approx(model.outlier_weight_) == 0.9
    assert_array_equal(again.partial_fit(X).components_, model.partial_fit(X).components_)
    assert str(again.history_.events) == str(model.history_.events)


def test_an_invalid_change_leaves_the_model_unchanged():
    model = OnlineRobustNMF(3, **QUIET).partial_fit(X)
    before, n_rows = model.components_, len(model.history_)
    with pytest.raises(ValueError, match="outlier_weight"):
        model.set_params(outlier_weight=-1).partial_fit(X)
    assert model.components_ is before
    assert (len(model.history_), model.history_.events) == (n_rows, ())
    model.set_params(outlier_weight="auto").partial_fit(X)
    assert model.history_.events == ()
