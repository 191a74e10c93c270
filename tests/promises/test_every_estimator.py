"""The public checks on every estimator and solver, and promises of all that are no check."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import thresher
from thresher import (
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
    SymmetricManhattanNMF,
    load,
    save,
)
from thresher.testing import SCALE_DEPENDENT_SOLVERS, checks_for
from thresher.testing.data import given_start, planted, ready, start

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
SIMILARITIES = planted(40) @ planted(40).T


def _cases():
    for estimator in ESTIMATORS:
        for check in checks_for(estimator):
            yield pytest.param(estimator, check, id=f"{estimator}-{check.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(_cases()))
def test_public_check(estimator, check):
    check(estimator)


def test_every_estimator_is_checked():
    public = (getattr(thresher, name) for name in thresher.__all__)
    matrix_models = {
        kind
        for kind in public
        if isinstance(kind, type) and hasattr(kind, "fit") and hasattr(kind, "certificates")
    }
    assert matrix_models - {SymmetricManhattanNMF} <= {type(model) for model in ESTIMATORS}


def test_exceptions_from_the_check_of_units_are_published_solvers():
    assert set(thresher.solvers.PUBLISHED) >= SCALE_DEPENDENT_SOLVERS
    for solver in ("auto", "spsgd", "opgd"):
        names = {check.__name__ for check in checks_for(OnlineRobustNMF(solver=solver))}
        applies = "check_scale_of_data_does_not_matter" in names
        assert applies == (solver not in SCALE_DEPENDENT_SOLVERS)


# ------------------------------------------------------------------- promise 4: statistics

STATISTICS = [
    OnlineRobustNMF(outlier_weight=0.1, forgetting=None),
    OnlineNMF(forgetting=None),
    OnlineNMF(divergence="kl", forgetting=None),
    OnlineL1Dictionary(forgetting=None),
    OnlineRobustPCA(outlier_weight=0.1, forgetting=None),
    OnlineOrthogonalDictionary(),
]


@pytest.mark.parametrize("estimator", STATISTICS, ids=str)
def test_statistics_of_a_batch_are_the_sum_over_its_parts_in_float64(estimator):
    init = start(estimator, 24)

    def statistics(X):
        return ready(estimator, init=init).partial_fit(X).statistics_

    X = planted(120)
    whole, first, second = (statistics(part) for part in (X, X[:50], X[50:]))
    assert whole.weight == first.weight + second.weight
    # Majorisers of other losses than the squared one have a curvature of their batch in B.
    additive = {"A", "G", "S"} | (
        {"B"} if str(estimator) == "OnlineNMF(forgetting=None)" else set()
    )
    compared = additive & whole.arrays().keys()
    assert compared
    for name in compared:
        parts = first.arrays()[name] + second.arrays()[name]
        np.testing.assert_allclose(whole.arrays()[name], parts, rtol=1e-10, atol=1e-12)
    single = statistics(X.astype(np.float32)).arrays()
    assert {values.dtype for values in single.values()} == {np.dtype(np.float64)}


# ------------------------------------------------- promise 5: user arrays and fitted attributes


def arrays_of(model):
    """The fitted attributes that are arrays, by name."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    values = {name: getattr(model, name) for name in names if hasattr(model, name)}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_fitted_attributes_never_alias_the_input(estimator):
    X = planted(80)
    kept, init = X.copy(), given_start(estimator, X.shape[1])
    model = ready(estimator, **init).fit(X)
    attributes = arrays_of(model)
    assert "components_" in attributes
    for name, value in attributes.items():
        for given in (X, *init.values()):
            assert not np.shares_memory(value, given), name
    before = model.transform(kept)
    X[:] = 0  # a buffer that is used again
    np.testing.assert_array_equal(model.transform(kept), before)
    try:
        model.components_[:] = 0
    except ValueError:  # read-only
        return
    assert model.components_.any()


# ---------------------------------------------------------------- promise 8: CSR stays sparse

SPARSE = [
    OnlineRobustNMF(n_passes=1),
    OnlineNMF(n_passes=1, implicit_zeros="missing"),
    RobustNMF(max_iter=1),
    OnlineNMF(n_passes=1),
    OnlineNMF(n_passes=1, divergence="kl"),
    BatchNMF(max_iter=1),
    BatchNMF(max_iter=1, divergence="kl"),
    OnlineL1Dictionary(n_passes=1),
    L1Dictionary(max_iter=1),
    ManhattanNMF(max_iter=1),
]


@pytest.mark.filterwarnings("ignore::UserWarning")  # there is next to nothing to explain
@pytest.mark.parametrize("estimator", SPARSE, ids=str)
def test_sparse_matrices_are_never_densified_as_a_whole(estimator):
    X = sparse.random(4000, 1200, density=0.002, format="csr", random_state=0)
    dense = X.shape[0] * X.shape[1] * 8
    model = ready(estimator, n_components=2, n_jobs=1)
    for call in (model.fit, model.score_samples):
        tracemalloc.start()
        call(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.6 * dense, f"{call.__name__} takes {peak / dense:.2f} of the dense matrix"


# ------------------------------------------------ the symmetric model, whose input is square


def test_symmetric_factors_keep_the_promises_that_apply(tmp_path):
    """The same seed gives the same bits, the input stays, a file changes nothing."""
    X = SIMILARITIES.copy()
    X.flags.writeable = False
    model, again = (SymmetricManhattanNMF(4, random_state=0, verbose=0).fit(X) for _ in range(2))
    np.testing.assert_array_equal(model.embedding_, again.embedding_)
    np.testing.assert_array_equal(X, SIMILARITIES)
    assert not np.shares_memory(model.embedding_, X)
    rows = SymmetricManhattanNMF(4, random_state=0, verbose=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(rows.embedding_, model.embedding_, rtol=1e-6, atol=1e-8)
    single = SymmetricManhattanNMF(4, random_state=0, verbose=0).fit(X.astype(np.float32))
    assert single.embedding_.dtype == np.float32
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").embedding_, model.embedding_)


@pytest.mark.parametrize(
    "samples",
    [-SIMILARITIES, SIMILARITIES[:-1], SIMILARITIES * np.inf, SIMILARITIES[0], SIMILARITIES * 1j],
    ids=["negative", "rectangular", "infinite", "one-dimensional", "complex"],
)
def test_symmetric_factors_refuse_bad_input_and_stay(samples):
    model = SymmetricManhattanNMF(3, random_state=0, verbose=0).fit(SIMILARITIES)
    before = model.embedding_.copy()
    with pytest.raises((ValueError, TypeError)), np.errstate(invalid="ignore"):
        model.fit(samples)
    np.testing.assert_array_equal(model.embedding_, before)
