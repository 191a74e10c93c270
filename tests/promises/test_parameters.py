"""Each parameter does what it says: sets, penalties, outliers, frozen atoms, growth, solvers."""

import numpy as np
import pytest

from thresher import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    solvers,
)
from thresher.datasets import make_outlier_stream
from thresher.metrics import relative_error, support_scores
from thresher.penalties import ElasticNet, GroupLasso, SparseGroupLasso
from thresher.sets import (
    Box,
    CoveredBox,
    GroupBall,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NonnegativeOrthant,
    Simplex,
)
from thresher.testing.data import planted, ready

X = planted(200)


def model(**parameters):
    return ready(OnlineRobustNMF(), **parameters)


@pytest.mark.parametrize(
    "estimator",
    [
        OnlineRobustNMF(5),
        OnlineRobustNMF(5, solver="opgd", batch_size=64),
        OnlineRobustNMF(5, solver="oadmm", batch_size=64),
        RobustNMF(5),
        RobustNMF(5, solver="bpgd"),
        RobustNMF(5, solver="badmm"),
    ],
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
    {"outlier_penalty": "l21"},
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
    {"forgetting": lambda n_batch, n_seen: 0.9},
    {"init": "half-normal"},
    {"init": "random"},
    {"scale_samples": "max"},
]


@pytest.mark.parametrize("parameters", PARTS, ids=lambda given: "-".join(given))
@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
def test_every_option_learns_within_its_sets(kind, parameters):
    if kind is RobustNMF and "forgetting" in parameters:
        parameters = {}
    X = planted(300)
    fitted = kind(4, random_state=0, verbose=0, **parameters).fit(X)
    assert fitted.dictionary_set_.contains(fitted.components_)
    assert fitted.problem().regulariser.region.contains(fitted.transform(X))
    if "outlier_weight" not in parameters:  # there λ, and so the loss, changes on the way
        assert fitted.history_[-1].loss < fitted.history_[0].loss


def test_whole_sample_outliers_are_separated():
    X = planted(300)
    rng = np.random.default_rng(0)
    strange = rng.choice(300, 15, replace=False)
    X[strange] = rng.random((15, X.shape[1])) * 3
    fitted = model(outlier_penalty="l21", outlier_weight=0.1).fit(X)
    size = np.linalg.norm(fitted.separate(X).outliers, axis=1)
    assert (size[strange] > 0).mean() > 0.9
    assert (np.delete(size, strange) > 0).mean() < 0.1


def test_whole_samples_are_separated_beyond_lambda_root_f():
    X = planted(200)
    X[::10] = X[::10, ::-1] + 1.0
    weight = 0.05
    fitted = model(outlier_penalty="l21", outlier_weight=weight).fit(X)
    low_rank, outliers, _ = fitted.set_params(tol=1e-8).separate(X)
    left = np.linalg.norm(X - low_rank - outliers, axis=1)
    flagged = outliers.any(axis=1)
    assert 10 <= flagged.sum() < 100
    # Where r is not zero, x − cD − r is the slope of λ√F‖r‖₂, which has that length.
    penalty = weight * np.sqrt(X.shape[1])
    np.testing.assert_allclose(left[flagged], penalty, rtol=1e-9)
    assert left[~flagged].max() <= penalty


def test_frozen_atoms_stay():
    X = planted(200)
    init = np.random.default_rng(0).random((4, X.shape[1]))
    fitted = model(init=init, frozen_atoms=[0, 2]).fit(X)
    np.testing.assert_array_equal(fitted.components_[[0, 2]], init[[0, 2]])
    assert not np.array_equal(fitted.components_[1], init[1])


def test_frozen_atoms_outlive_growth():
    X = planted(100)
    init = np.random.default_rng(0).random((4, X.shape[1]))
    for frozen in ([2], [False, False, True, False]):
        fitted = OnlineRobustNMF(init=init, frozen_atoms=frozen, random_state=0, verbose=0).fit(X)
        fitted.grow(atoms=2).partial_fit(X)
        np.testing.assert_array_equal(fitted.components_[2], init[2])
        assert fitted.transform(X).shape == (100, 6)
    assert model(frozen_atoms=[]).fit(X).components_.shape[0] == 4


def test_growing_keeps_the_statistics():
    fitted = model().fit(planted(200))
    before = fitted.statistics_
    after = fitted.grow(n_features=30, atoms=2).statistics_
    np.testing.assert_array_equal(after.A[:4, :4], before.A)
    np.testing.assert_array_equal(after.B[:4, :24], before.B)
    assert after.weight == before.weight


def test_features_and_atoms_come_and_go():
    nmf = ready(OnlineNMF()).partial_fit(X)
    assert nmf.grow(n_features=X.shape[1]).usage_.sum() == pytest.approx(1)
    atoms = nmf.components_.copy()
    nmf.keep_features([5, 0])
    assert nmf.n_features_in_ == 2
    np.testing.assert_allclose(
        nmf.components_ / nmf.components_.max(), atoms[:, [5, 0]] / atoms[:, [5, 0]].max()
    )


def test_names_of_features_follow_those_that_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :6], columns=list("abcdef"))
    nmf = ready(OnlineNMF()).partial_fit(frame)
    nmf.keep_features([4, 1])
    assert list(nmf.feature_names_in_) == ["e", "b"]
    nmf.grow(3)
    assert not hasattr(nmf, "feature_names_in_")


def test_signed_models_take_signed_starts_and_samples():
    init = np.random.default_rng(1).standard_normal((4, X.shape[1]))
    assert ready(OnlineRobustPCA(), init=init).partial_fit(X - 0.5).components_.min() < 0


def test_published_solvers_may_be_given_with_other_constants():
    fitted = model(solver=solvers.opgd(code_max_iter=3)).partial_fit(X)
    assert "opgd" in fitted.solver_.lower()
    plain = model(solver="opgd").partial_fit(X)
    assert not np.array_equal(fitted.components_, plain.components_)


def test_a_fit_without_loss_ends():
    """Two windows of 500 samples, the least after which convergence is tested."""
    fitted = OnlineRobustNMF(2, batch_size=25, random_state=0, verbose=0).fit(np.zeros((50, 6)))
    assert fitted.n_samples_seen_ <= 2 * 500
    assert (fitted.history_.column("loss") == 0).all()


# ---------------------------------------------------------------- atoms lie in their set


GROUPS = tuple(np.arange(X.shape[1]) // 6)
SETS = [
    NonnegativeL2Ball(0.7),
    NonnegativeL1Ball(1.3),
    NonnegativeElasticNetBall(0.5, 2.0),
    Simplex(2.0),
    Box(0.0, 0.3),
    CoveredBox(0.05, 0.4),
    GroupBall(0.9, GROUPS),
    GroupBall(0.9, GROUPS, np.inf),
]
MODELS = [
    OnlineRobustNMF(batch_size=64, n_passes=4),
    OnlineRobustNMF(solver="opgd", batch_size=64, n_passes=2),
    RobustNMF(max_iter=5),
    OnlineNMF(batch_size=64, n_passes=4),
    OnlineNMF(divergence="huber", batch_size=64, n_passes=4),
    OnlineNMF(divergence="kl", batch_size=64, n_passes=4),
    OnlineNMF(divergence="l2", batch_size=64, n_passes=2),
    OnlineNMF(solver="ol_guan", batch_size=64, n_passes=1),
    BatchNMF(max_iter=5),
    BatchNMF(divergence="kl", max_iter=5),
    BatchNMF(divergence="kl", solver="mu", max_iter=5),
    RobustNMF(solver="badmm", max_iter=5),
    OnlineL1Dictionary(solver="oiadmm", batch_size=64, n_passes=1, code_penalty=0.01),
    OnlineL1Dictionary(batch_size=64, n_passes=3, code_penalty=0.01),
    L1Dictionary(max_iter=3, code_penalty=0.01),
    ManhattanNMF(max_iter=10),
]


@pytest.mark.parametrize("region", SETS, ids=str)
@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_atoms_lie_in_their_set_also_after_growth(estimator, region):
    given = {**estimator.get_params(), "n_components": 5, "dictionary_set": region}
    nmf = type(estimator)(**{**given, "random_state": 0, "verbose": 0})
    if nmf.solver == "mu" and region.couples_rows:
        with pytest.raises(ValueError, match="solver"):
            nmf.fit(X)
        return
    nmf.fit(X)
    assert region.contains(nmf.components_, 1e-9)
    assert nmf.components_.any(axis=1).all()
    if hasattr(nmf, "grow"):
        nmf.grow(atoms=2)
        assert region.contains(nmf.components_, 1e-9)
    if hasattr(nmf, "partial_fit"):
        nmf.partial_fit(X[:64])
        assert region.contains(nmf.components_, 1e-9)


def test_an_open_box_is_the_orthant():
    for name in ("code_set", "dictionary_set"):
        one = OnlineRobustNMF(4, random_state=0, verbose=0, **{name: NonnegativeOrthant()}).fit(X)
        two = OnlineRobustNMF(4, random_state=0, verbose=0, **{name: Box(0, np.inf)}).fit(X)
        np.testing.assert_array_equal(one.components_, two.components_)
        np.testing.assert_array_equal(one.transform(X), two.transform(X))


@pytest.mark.filterwarnings("ignore:The model explains only")  # codes and atoms are both bounded
def test_atoms_with_an_unbounded_optimum_stay_in_their_set():
    """At β > 2 a feature without codes wants an infinite entry; the ℓ1 ball bounds it."""
    X = np.zeros((22, 4))
    X[:, 0] = 1.0
    X[3:, 1] = 5.0
    nmf = OnlineNMF(
        1,
        divergence="beta",
        divergence_parameter=2.5,
        code_set="l1_ball",
        dictionary_set="l1_ball",
        shuffle=False,
        random_state=0,
        verbose=0,
    ).fit(X)
    assert nmf.components_.sum() == pytest.approx(1)
