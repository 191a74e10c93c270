"""Every promise on every estimator and solver, and what only these estimators do."""

import numpy as np
import pytest

from thresher.datasets import make_outlier_stream
from thresher.estimators import (
    BatchNMF,
    GoDec,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
    load,
    save,
)
from thresher.learning import HalfLife, PowerForgetting
from thresher.metrics import relative_error, support_scores
from thresher.penalties import ElasticNet, GroupLasso, SparseGroupLasso
from thresher.sets import Box, NonnegativeElasticNetBall, Simplex
from thresher.testing import checks_for
from thresher.testing.data import planted

ESTIMATORS = [
    OnlineRobustNMF(),
    OnlineRobustNMF(outlier_weight="mad", n_passes=10),
    RobustNMF(max_iter=30),
    OnlineNMF(),
    OnlineNMF(divergence="kl", n_passes=10),
    OnlineNMF(divergence="is", n_passes=4),
    BatchNMF(divergence="kl", max_iter=40),
    OnlineOrthogonalDictionary(),
    OnlineOrthogonalDictionary(forgetting=300),
    OnlineOrthogonalDictionary(solver="noncvx_sfw"),
    ManhattanNMF(max_iter=40),
    ManhattanNMF(solver="rri"),
    ManhattanNMF(solver="ogm"),
    OnlineL1Dictionary(n_passes=4),
    L1Dictionary(max_iter=4),
    OnlineRobustPCA(),
    RobustPCA(max_iter=30),
    GoDec(),
]


def _cases():
    for estimator in ESTIMATORS:
        for check in checks_for(estimator):
            yield pytest.param(estimator, check, id=f"{estimator}-{check.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(_cases()))
def test_promise(estimator, check):
    check(estimator)


def model(**parameters):
    return OnlineRobustNMF(4, random_state=0, verbose=0, batch_size=64, **parameters)


@pytest.mark.parametrize(
    "estimator",
    [OnlineRobustNMF(5)]
    + [
        OnlineRobustNMF(5, solver=s, batch_size=64) for s in ("opgd", "oadmm")
    ]  # small, as published
    + [RobustNMF(5, solver=s) for s in ("auto", "bpgd", "badmm")],
    ids=str,
)
def test_every_solver_recovers_planted_data(estimator):
    """The clean part is found far below the noise and outliers that cover it."""
    stream = make_outlier_stream(1500, 60, 5, random_state=0)
    estimator.set_params(random_state=0, verbose=0).fit(stream.data)
    low_rank, outliers, _ = estimator.separate(stream.data)
    assert relative_error(stream.clean, low_rank) < 0.65 * relative_error(stream.clean, stream.data)
    scores = support_scores(np.abs(stream.outliers) > 0.4, outliers, 0.1)
    assert scores.recall > 0.75  # data are clipped to [0, 1], which hides some outliers
    assert estimator.solver_


PARTS = [
    {"outlier_penalty": "samples"},
    {"outlier_penalty": SparseGroupLasso(1.0, 0.5)},
    {"outlier_sign": "nonnegative", "outlier_bound": 2.0},
    {"outlier_weight": "mad"},
    {"code_set": "simplex"},
    {"code_set": Box(0, 2)},
    {"code_penalty": 0.01},
    {"code_penalty": GroupLasso(0.01, (0, 0, 1, 1))},
    {"dictionary_set": "nonnegative", "dictionary_penalty": ElasticNet(0.001, 0.01)},
    {"dictionary_set": "simplex"},
    {"dictionary_set": "l1_ball"},
    {"dictionary_set": NonnegativeElasticNetBall(0.5, 1.0)},
    {"dictionary_set": Box(0, 0.5)},
    {"forgetting": None},
    {"forgetting": 500.0},
    {"forgetting": PowerForgetting(5)},
    {"init": "half-normal"},
    {"init": "random"},
    {"scale_samples": "max"},
]


@pytest.mark.parametrize("parameters", PARTS, ids=str)
@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
def test_every_part_learns_and_survives_saving(kind, parameters, tmp_path):
    if kind is RobustNMF and "forgetting" in parameters:
        parameters = {}
    X = planted(300)
    fitted = kind(4, random_state=0, verbose=0, **parameters).fit(X)
    assert fitted.dictionary_set_.contains(fitted.components_)
    assert fitted.problem().regulariser.region.contains(fitted.transform(X))
    if "outlier_weight" not in parameters:  # there λ, and so the loss, changes on the way
        assert fitted.history_[-1].loss < fitted.history_[0].loss
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.get_params().keys() == fitted.get_params().keys()
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))


def test_samples_of_any_maximum_separate_alike_when_scaled():
    """VII-B3: dividing by the maximum makes a sample's brightness irrelevant."""
    X = planted(200)
    fitted = model(scale_samples="max").fit(X)
    bright = X * np.linspace(1, 50, 200)[:, None]
    np.testing.assert_allclose(
        fitted.transform(bright), fitted.transform(X) * np.linspace(1, 50, 200)[:, None], rtol=1e-6
    )
    assert fitted.separate(bright).low_rank.max() > 10


def test_whole_sample_outliers_are_set_aside():
    X = planted(300)
    rng = np.random.default_rng(0)
    strange = rng.choice(300, 15, replace=False)
    X[strange] = rng.random((15, X.shape[1])) * 3
    fitted = model(outlier_penalty="samples", outlier_weight=0.1).fit(X)
    size = np.linalg.norm(fitted.separate(X).outliers, axis=1)
    assert (size[strange] > 0).mean() > 0.9
    assert (np.delete(size, strange) > 0).mean() < 0.1


def test_drift_is_followed_by_a_short_half_life():
    first, second = planted(600), planted(600)[:, ::-1]
    short, none = (
        OnlineRobustNMF(4, forgetting=f, random_state=0, verbose=0) for f in (HalfLife(100), None)
    )
    for X in (first, second):
        for start in range(0, 600, 50):
            short.partial_fit(X[start : start + 50])
            none.partial_fit(X[start : start + 50])
    assert short.score(second) > none.score(second)


def test_frozen_atoms_stay():
    X = planted(200)
    init = np.random.default_rng(0).random((4, X.shape[1]))
    fitted = model(init=init, frozen_atoms=[0, 2]).fit(X)
    np.testing.assert_array_equal(fitted.components_[[0, 2]], init[[0, 2]])
    assert not np.array_equal(fitted.components_[1], init[1])


def test_scores_come_back_in_the_order_of_the_samples():
    X = planted(600)
    fitted = model(n_jobs=2).fit(X)
    scores = fitted.score_samples(X)
    parts = [fitted.score_samples(X[i : i + 50]) for i in range(0, 600, 50)]
    np.testing.assert_allclose(scores, np.concatenate(parts), rtol=1e-6, atol=1e-9)


def test_grow_keeps_what_was_learned():
    fitted = model().fit(planted(200))
    before = fitted.statistics_
    after = fitted.grow(n_features=30, atoms=2).statistics_
    np.testing.assert_array_equal(after.A[:4, :4], before.A)
    np.testing.assert_array_equal(after.B[:4, :24], before.B)
    assert after.weight == before.weight


def test_bad_samples_of_another_width_change_nothing():
    X = planted(100)
    fitted = model().fit(X)
    with pytest.raises(ValueError, match="Negative"):
        fitted.fit(-X[:, :7])
    assert fitted.n_features_in_ == X.shape[1]
    assert fitted.transform(X).shape == (100, 4)


def test_threshold_is_the_order_statistic_that_was_promised():
    fitted = model().fit(planted(200))
    X = planted(39, seed=1)
    losses = np.sort(-fitted.score_samples(X))
    assert fitted.calibrate(X, 0.05).offset_ == -losses[37]  # ⌈40·0.95⌉ = 38th smallest
    assert (fitted.predict(X) == -1).sum() == 1


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"solver": "magic"}, "'auto', 'opgd' or 'oadmm'"),
        ({"n_components": 0}, "positive integer"),
        ({"batch_size": 2.5}, "positive integer"),
        ({"tol": -1e-4}, "0 or more"),
        ({"init": "nndsvd"}, "'samples'"),
        ({"init": np.ones((3, 2))}, "one row"),
        ({"outlier_weight": -1}, "positive number"),
        ({"outlier_weight": "huge"}, "'mad'"),
        ({"outlier_penalty": "l7"}, "'samples'"),
        ({"outlier_sign": "minus"}, "'nonnegative'"),
        ({"outlier_bound": 0}, "positive"),
        ({"code_set": "ball"}, "'simplex'"),
        ({"code_penalty": "l1"}, "a number"),
        ({"code_set": "simplex", "code_penalty": GroupLasso(1.0)}, "Simplex"),
        ({"dictionary_set": Simplex}, "'l2_ball'"),
        ({"forgetting": "slow"}, "half-life"),
        ({"forgetting": -5.0}, "half-life"),
        ({"frozen_atoms": [7]}, "from 0 to 3"),
        ({"frozen_atoms": [-1]}, "from 0 to 3"),
        ({"callbacks": print}, "brackets"),
        ({"frozen_atoms": "all"}, "atom numbers"),
        ({"scale_samples": "mean"}, "'max'"),
        ({"scale_samples": "max", "code_set": "simplex"}, "'simplex'"),
        ({"scale_samples": "max", "code_set": Box(0.0, 3.0)}, "Box"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_with_what_would_work(parameters, says):
    with pytest.raises(ValueError, match=says):
        model().set_params(**parameters).fit(planted(50))


def test_unfitted_and_misused_models_say_what_to_do():
    X = planted(60)
    with pytest.raises(ValueError, match="nothing to save"):
        save(model(), "nowhere")
    with pytest.raises(ValueError, match="call fit or partial_fit"):
        model().resume(X)
    with pytest.raises(ValueError, match="stream is empty"):
        model().fit(iter([]))
    fitted = model().fit(X)
    with pytest.raises(ValueError, match="cannot shrink"):
        fitted.grow(n_features=3)
    with pytest.raises(ValueError, match="columns"):
        fitted.grow(atoms=np.ones((1, 3)))
    with pytest.raises(ValueError, match="one for each atom"):
        fitted.inverse_transform(np.ones((2, 9)))
    with pytest.raises(ValueError, match="too few"):
        fitted.calibrate(X, 0.001)
    with pytest.raises(ValueError, match="shape of the data"):
        fitted.transform(X, entry_weight=np.ones((2, 2)))
    with pytest.raises(ValueError, match="weights of 0"):
        model(outlier_penalty="samples").fit(X, entry_weight=np.full(X.shape, 0.5))
    with pytest.raises(ValueError, match="at least one non-zero"):
        fitted.partial_fit(X, sample_weight=np.zeros(60))
    with pytest.raises(ValueError, match="partial_fit with each batch"):
        model().fit(iter([X]), sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="one by one"):
        fitted.separate(iter([X]), low_rank=np.empty_like(X))
    with pytest.raises(ValueError, match="float array"):
        fitted.separate(X, outliers=np.empty(X.shape, dtype=np.uint8))
    with pytest.raises(ValueError, match="batch size that fit had"):
        fitted.resume(X[:30])
    with pytest.raises(ValueError, match="nonnegative rows"):
        fitted.grow(atoms=np.full((1, X.shape[1]), np.nan))


@pytest.mark.parametrize("solver", ["auto", "opgd", "oadmm"])
@pytest.mark.parametrize("glitch", [1e19, 1e22, 1e25, 1e30, 3e38])
def test_a_glitch_beyond_the_precision_never_breaks_the_model(solver, glitch):
    """Either it is learned from without harm, or it is refused and nothing changes."""
    X = planted(100).astype(np.float32)
    fitted = model(solver=solver).fit(X)
    kept = fitted.components_.copy()
    broken = X[:64].copy()
    broken[3, 4] = glitch
    with np.errstate(all="ignore"):
        try:
            fitted.partial_fit(broken)
        except ValueError as error:
            assert "too large or too small" in str(error)  # noqa: PT017 - it need not be raised
            np.testing.assert_array_equal(fitted.components_, kept)
    assert np.isfinite(fitted.components_).all()
    assert np.isfinite(fitted.partial_fit(X).transform(X)).all()


@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_data_beyond_the_precision_are_learned_or_refused(kind, scale):
    X = (planted(100) * scale).astype(np.float32)
    estimator = kind(4, random_state=0, verbose=0)
    with np.errstate(all="ignore"):
        try:
            estimator.fit(X)
        except ValueError as error:
            assert "Rescale the data" in str(error)  # noqa: PT017 - it need not be raised
        else:
            assert np.isfinite(estimator.components_).all()


def test_a_failed_fit_leaves_the_features_as_they_were():
    X = planted(60)
    fitted = model().fit(X)
    with pytest.raises(ValueError, match=r"sample_weight"):
        fitted.fit(np.ones((5, 9)), sample_weight=[1, 2])
    assert fitted.transform(X).shape == (60, 4)
    fresh = model(outlier_penalty="samples")
    with pytest.raises(ValueError, match="weights of 0"):
        fresh.partial_fit(X, entry_weight=np.full(X.shape, 0.5))
    assert not hasattr(fresh, "components_")


@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
def test_uneven_entry_weights_do_not_hold_the_learner_back(kind):
    """One feature a hundred times as certain, or weights over decades: parts are still found."""
    X = planted(600)
    plain = kind(4, random_state=0, verbose=0).fit(X)
    best = relative_error(X, plain.separate(X).low_rank)
    one_sure = np.ones(X.shape)
    one_sure[:, 0] = 100
    decades = np.exp(np.random.default_rng(0).normal(size=X.shape))
    for weight in (one_sure, decades, np.full(X.shape, 100.0)):
        fitted = kind(4, random_state=0, verbose=0).fit(X, entry_weight=weight)
        assert relative_error(X, fitted.separate(X).low_rank) < 1.5 * best


def test_frozen_atoms_outlive_growth():
    X = planted(100)
    init = np.random.default_rng(0).random((4, X.shape[1]))
    for frozen in ([2], [False, False, True, False]):
        fitted = OnlineRobustNMF(init=init, frozen_atoms=frozen, random_state=0, verbose=0).fit(X)
        fitted.grow(atoms=2).partial_fit(X)
        np.testing.assert_array_equal(fitted.components_[2], init[2])
        assert fitted.transform(X).shape == (100, 6)
    assert model(frozen_atoms=[]).fit(X).components_.shape[0] == 4


def test_a_first_batch_without_weight_is_no_obstacle():
    X = planted(120)
    weight = np.repeat([0.0, 1.0], [64, 56])
    fitted = model(shuffle=False).fit(X, sample_weight=weight)
    assert np.isfinite(fitted.components_).all()


def test_a_new_fit_forgets_the_threshold():
    X = planted(200)
    fitted = model().fit(X)
    before = fitted.offset_
    assert fitted.calibrate(X, 0.5).offset_ != before
    assert fitted.fit(X).offset_ == before


def test_numpy_numbers_are_numbers(tmp_path):
    parameters = {"forgetting": np.int64(500), "code_penalty": ElasticNet(np.float32(0.01))}
    fitted = model(outlier_weight=np.float64(0.1), **parameters).fit(planted(100))
    save(fitted, tmp_path / "model")
    assert load(tmp_path / "model").forgetting == 500
    stopped = model(callbacks=[lambda step: np.bool_(True)]).fit(planted(200))
    assert len(stopped.history_) == 1


def test_batch_method_stops_when_a_callback_says_so():
    for weight in ("auto", "mad"):
        stop = RobustNMF(
            4, outlier_weight=weight, random_state=0, verbose=0, callbacks=[lambda step: True]
        ).fit(planted(200))
        assert len(stop.history_) == 1


@pytest.mark.filterwarnings("ignore:The model predicts next to nothing")  # there is nothing
def test_sparse_matrices_stay_sparse():
    import tracemalloc

    from scipy import sparse

    X = sparse.random(4000, 2000, density=0.001, format="csr", random_state=0)
    dense = X.shape[0] * X.shape[1] * 8
    for estimator in (model(n_passes=1), RobustNMF(2, max_iter=1, random_state=0, verbose=0)):
        tracemalloc.start()
        estimator.set_params(n_jobs=1).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.8 * dense, f"{peak / dense:.2f} of the dense matrix"


def test_whole_samples_are_set_aside_beyond_their_price_of_lambda_root_f():
    X = planted(200)
    X[::10] = X[::10, ::-1] + 1.0
    weight = 0.05
    fitted = model(outlier_penalty="samples", outlier_weight=weight).fit(X)
    low_rank, outliers, _ = fitted.set_params(tol=1e-8).separate(X)
    left = np.linalg.norm(X - low_rank - outliers, axis=1)
    aside = outliers.any(axis=1)
    assert 10 <= aside.sum() < 100
    # Where r is not zero, x − cD − r is the slope of λ√F‖r‖₂, which has that length.
    price = weight * np.sqrt(X.shape[1])
    np.testing.assert_allclose(left[aside], price, rtol=1e-9)
    assert left[~aside].max() <= price
