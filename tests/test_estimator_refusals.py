"""What estimators refuse before anything is learned, and small promises of learning."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from thresher import (
    BatchNMF,
    GoDec,
    ManhattanNMF,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
    solvers,
)
from thresher.engine.drift import Watch, events_of, relative_loss
from thresher.engine.history import Event
from thresher.learning import BlockDescent, OnlineInexactADMM
from thresher.learning.surrogate import DictionaryProblem
from thresher.losses import Bregman, Huber, KullbackLeibler
from thresher.penalties import Constrained
from thresher.sets import Box, NonnegativeElasticNetBall

X = np.random.default_rng(0).random((40, 6))
SIGNED = X - 0.5


def made(kind, **given):
    return kind(**{"verbose": 0, "random_state": 0} | given)


@pytest.mark.parametrize("kind", [OnlineRobustNMF, OnlineNMF, RobustNMF, BatchNMF])
def test_starts_that_suit_no_model_are_refused(kind):
    for init, words in (
        (
            np.ones((3, 5)),
            r"array of shape \(3, 6\), one row for each atom; got the shape \(3, 5\)",
        ),
        (np.ones((2, 6)), r"array of shape \(3, 6\)"),
        (-np.ones((3, 6)), "init must be a nonnegative, finite array"),
        (np.full((3, 6), np.inf), "init must be a nonnegative, finite array"),
        (np.vstack([np.ones((2, 6)), np.zeros((1, 6))]), "An atom of init is all zero"),
        ("nothing", "init='nothing' is not known; use one of"),
    ):
        with pytest.raises(ValueError, match=words):
            made(kind, n_components=3, init=init).fit(X)


def test_signed_models_take_signed_starts_and_samples():
    init = np.random.default_rng(1).standard_normal((2, 6))
    model = made(OnlineRobustPCA, n_components=2, init=init).partial_fit(SIGNED)
    assert model.components_.min() < 0
    with pytest.raises(ValueError, match="init must be a finite array"):
        made(OnlineRobustPCA, n_components=2, init=init * np.inf).partial_fit(SIGNED)
    assert not model.__sklearn_tags__().input_tags.positive_only
    assert made(OnlineRobustNMF).__sklearn_tags__().input_tags.positive_only
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        made(OnlineRobustNMF).partial_fit(SIGNED)


def test_orthogonal_dictionaries_say_what_they_take():
    for given, words in (
        ({"p": 5}, "p=5 is not known; use 3, or 4 for the baseline"),
        ({"p": 4}, "p=4 is for solver='noncvx_sfw' and 'sfw'"),
        ({"p": 4, "solver": "aodl"}, "p=4 is for solver='noncvx_sfw' and 'sfw'"),
        ({"solver": "aodl", "whiten": True}, "learns any by itself: leave whiten out"),
        ({"init": "mean"}, "init='mean' is not known; use one of 'samples', 'random', 'pca'"),
        ({"n_nonzero": 0}, "n_nonzero=0 must be a positive integer or None"),
        ({"batch_size": 0}, "batch_size=0 must be a positive integer"),
        ({"forgetting": -1}, "forgetting=-1 is not known"),
    ):
        with pytest.raises(ValueError, match=words):
            made(OnlineOrthogonalDictionary, **given).partial_fit(SIGNED)
    made(OnlineOrthogonalDictionary, p=4, solver="sfw").partial_fit(SIGNED)
    weight = np.ones_like(X)
    weight[0, 0] = 0.5
    with pytest.raises(ValueError, match="fills entries or takes them as they are"):
        made(OnlineOrthogonalDictionary).partial_fit(SIGNED, entry_weight=weight)


def test_changes_that_mean_nothing_are_refused():
    model = made(OnlineNMF, n_components=2).partial_fit(X)
    with pytest.raises(ValueError, match="Nothing is to be changed"):
        model.change()
    with pytest.raises(ValueError, match="OnlineNMF sets no outliers aside"):
        model.change(outlier_weight=0.5)
    before = model._state
    assert model.change(forgetting="auto") is model  # the same as it was
    assert model._state is before
    model.change(forgetting=50)
    assert model._state is not before  # so that a fit in progress notices
    assert model.history_.events[-1] == Event(len(X), "forgetting", 50.0)


def test_features_and_atoms_come_and_go_within_their_bounds():
    model = made(OnlineNMF, n_components=3).partial_fit(X)
    for call, words in (
        (lambda: model.grow(5), "cannot shrink the 6 features to 5"),
        (lambda: model.grow(0), "n_features=0 must be a positive integer"),
        (lambda: model.keep_features([6]), "at least one of 0 to 5"),
        (lambda: model.keep_features([-1]), "at least one of 0 to 5"),
        (lambda: model.keep_features([]), "at least one of 0 to 5"),
        (lambda: model.keep_features([0.0]), "at least one of 0 to 5"),
        (lambda: model._join_atoms([[0], [3]]), "each of 0 to 2"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    model.grow(6)
    assert model.usage_.sum() == pytest.approx(1)
    assert (model.usage_ > 0).all()
    model.keep_features([5, 0])
    assert model.n_features_in_ == 2
    frozen = made(OnlineNMF, n_components=3, frozen_atoms=[0]).partial_fit(X)
    with pytest.raises(ValueError, match="frozen_atoms= names atoms by their numbers"):
        frozen._join_atoms([[0, 1], [2]])


def test_names_of_features_follow_those_that_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = made(OnlineNMF, n_components=2).partial_fit(frame)
    model.keep_features([4, 1])
    assert list(model.feature_names_in_) == ["e", "b"]
    model.grow(3)
    assert not hasattr(model, "feature_names_in_")


def test_paths_and_other_shapes_are_told_what_to_do():
    weight = np.full_like(X, 0.5)
    for call, error, words in (
        (lambda: made(RobustNMF, solver="badmm").fit(X, entry_weight=weight), ValueError,
         "badmm knows missing entries but no other weights"),
        (lambda: made(OnlineRobustNMF).fit("data.csv"), TypeError, "thresher.open"),
        (lambda: made(ManhattanNMF).fit(X[0]), ValueError, "Expected 2D array"),
        (lambda: made(ManhattanNMF, code_penalty=0.1, dictionary_set="nonnegative").fit(X),
         ValueError, "set dictionary_set"),
        (lambda: made(ManhattanNMF, code_set="nonnegative", dictionary_set="box",
                      dictionary_penalty=0.1).fit(X), ValueError, "set code_set"),
        (lambda: RobustPCA().fit(sparse.csr_array(X)), TypeError, "takes no sparse matrix"),
        (lambda: RobustPCA().fit(X, entry_weight=weight), ValueError, r"0 \(missing\) or 1"),
        (lambda: GoDec().fit(X, entry_weight=weight), ValueError, r"0 \(missing\) or 1"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()


# ------------------------------------------------------------------------------ small promises


def test_the_number_that_is_watched_is_the_loss_over_the_size_to_its_degree():
    def number(loss, total, mass=6.0, entries=3.0):
        method = SimpleNamespace(loss=lambda _: loss)
        return relative_loss(method, SimpleNamespace(loss=total, mass=mass, entries=entries))

    assert number(Huber(1.0), 12.0) == pytest.approx(np.log(12 / 3 / 2**2))
    assert number(KullbackLeibler(), 12.0) == pytest.approx(np.log(12 / 3 / 2))
    own = Bregman(lambda u: u**3 / 6, lambda u: u * u / 2)
    assert number(own, 12.0) == pytest.approx(np.log(12 / 3))
    assert number(Huber(1.0), 0.0) == pytest.approx(np.log(np.finfo(float).eps))
    assert number(Huber(1.0), 1.0, mass=0.0) is None
    watch = Watch.begun([1])
    assert watch.detector == [1]
    assert watch.detector is not watch.start
    assert watch.anew() == watch
    assert events_of(SimpleNamespace(watch=None)) == ()


def test_a_sweep_tells_how_far_atoms_moved():
    rng = np.random.default_rng(2)
    C = rng.random((20, 3))
    problem = DictionaryProblem(
        C.T @ C / 20, C.T @ X[:20] / 20, Constrained(region=NonnegativeElasticNetBall(0.3, 0.4))
    )
    D = rng.random((3, 6)) / 4
    before = D.copy()
    moved = BlockDescent()._sweep(problem, problem.A, problem.B, D)
    assert moved == pytest.approx(np.linalg.norm(D - before))
    once = BlockDescent(max_sweeps=1).minimise(problem, before)
    np.testing.assert_allclose(once, D)
    # A tolerance that one sweep meets ends it, and one below does not.
    share = moved / np.linalg.norm(before)
    stopped = BlockDescent(5, 1.001 * share).minimise(problem, before)
    np.testing.assert_allclose(stopped, D)
    further = BlockDescent(5, 0.999 * share).minimise(problem, before)
    assert not np.allclose(further, D)
    A = problem.A.copy()
    A[1] = A[:, 1] = 0  # nobody uses the second
    kept = BlockDescent().minimise(DictionaryProblem(A, problem.B, problem.regulariser), before)
    np.testing.assert_array_equal(kept[1], before[1])


def test_duals_begin_with_no_sample():
    empty = OnlineInexactADMM().empty(3, 6)
    assert {name: part.shape for name, part in empty.arrays().items()} == dict.fromkeys(
        empty.arrays(), (0, 6)
    )


def test_rounds_of_published_solvers_are_those_that_are_left():
    own = made(RobustNMF, n_components=2, max_iter=7)
    own._state = SimpleNamespace(n_steps=3)
    assert own._rounds_left() == 7
    own.solver = "bpgd"
    assert own._rounds_left() == 4


def test_published_solvers_may_be_given_by_part():
    model = made(OnlineRobustNMF, n_components=2, solver=solvers.opgd(code_max_iter=3))
    assert "OPGD" in model.partial_fit(X).solver_
    with pytest.raises(ValueError, match="is not known; use 'auto', 'opgd' or 'oadmm'"):
        made(OnlineRobustNMF, solver=solvers.sfw()).partial_fit(X)
    with pytest.raises(ValueError, match="needs predictions that are not negative"):
        made(OnlineNMF, divergence="kl", code_set=Box(-1, 1)).partial_fit(X)
