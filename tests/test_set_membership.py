"""Atoms lie in their set, whatever the set, the estimator, and what happens to the atoms."""

import numpy as np
import pytest

from thresher.estimators import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineRobustNMF,
    RobustNMF,
)
from thresher.learning import BlockDescent, DictionaryGradient
from thresher.learning.surrogate import DictionaryProblem
from thresher.losses import Mahalanobis
from thresher.penalties import Constrained
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
from thresher.testing.data import planted

X = planted(200)
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
def test_atoms_lie_in_their_set(estimator, region):
    given = {**estimator.get_params(), "n_components": 5, "dictionary_set": region}
    model = type(estimator)(**{**given, "random_state": 0, "verbose": 0})
    if model.solver == "mu" and region.couples_rows:
        with pytest.raises(ValueError, match="multiplicative dictionary step"):
            model.fit(X)
        return
    model.fit(X)
    assert region.contains(model.components_, 1e-9)
    assert model.components_.any(axis=1).all()
    if hasattr(model, "grow"):
        model.grow(atoms=2)
        assert region.contains(model.components_, 1e-9)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X[:64])
        assert region.contains(model.components_, 1e-9)


@pytest.mark.parametrize("p", [2, np.inf])
def test_atoms_that_share_a_budget_move_together(p):
    """The step reaches the optimum of the quadratic over the whole matrix."""
    rng = np.random.default_rng(0)
    C = rng.random((50, 4))
    A, B = C.T @ C / 50, C.T @ rng.random((50, 12)) / 50
    region = GroupBall(0.8, tuple(np.arange(12) // 4), p)
    problem = DictionaryProblem(A, B, Constrained(region=region))
    start = region.project(rng.random((4, 12)))
    D = start
    for _ in range(20):  # as in a stream, from the last dictionary
        D = BlockDescent().minimise(problem, D)
    exact = DictionaryGradient(1.0, 0.0, 20_000, spectral=True).minimise(problem, start)
    assert problem.residual(D) < 1e-3 * problem.residual(start)
    np.testing.assert_allclose(problem.objective(D), problem.objective(exact), rtol=1e-5)


def test_an_open_box_is_the_orthant():
    for name in ("code_set", "dictionary_set"):
        one = OnlineRobustNMF(4, random_state=0, verbose=0, **{name: NonnegativeOrthant()}).fit(X)
        two = OnlineRobustNMF(4, random_state=0, verbose=0, **{name: Box(0, np.inf)}).fit(X)
        np.testing.assert_array_equal(one.components_, two.components_)
        np.testing.assert_array_equal(one.transform(X), two.transform(X))


def test_gaps_are_refused_in_every_call_where_entries_hang_together():
    F = X.shape[1]
    model = OnlineNMF(3, divergence=Mahalanobis(np.eye(F) + 0.1), random_state=0, verbose=0).fit(X)
    gaps = X.copy()
    gaps[3, 4] = np.nan
    calls = [model.fit, model.partial_fit, model.transform, model.score_samples, model.impute]
    for call in (*calls, lambda Y: model.certificates(Y, model.transform(X))):
        with pytest.raises(ValueError, match="missing values"):
            call(gaps)
