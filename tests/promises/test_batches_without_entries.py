"""A batch of which nothing was observed changes the counters, and nothing else."""

import numpy as np
import pytest
from scipy import sparse

from thresher import (
    BatchNMF,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N, F = 60, 9
rng = np.random.default_rng(0)
RATINGS = rng.integers(1, 6, (N, F)) * (rng.random((N, F)) < 0.15).astype(float)
GAPS = np.where(RATINGS > 0, RATINGS, np.nan)
STORED = sparse.csr_array(RATINGS)
ALL_NAN, NOTHING_STORED = np.full((3, F), np.nan), sparse.csr_array((3, F))

HOW = {"random_state": 0}
SMALL = {"n_components": 2, **HOW}
ONLINE = [
    (OnlineRobustNMF, SMALL),
    (OnlineRobustNMF, {"outlier_weight": "mad", **SMALL}),
    (OnlineRobustNMF, {"drift": "auto", **SMALL}),
    (OnlineRobustNMF, {"solver": "opgd", **SMALL}),
    (OnlineNMF, SMALL),
    (OnlineNMF, {"divergence": "squared_l2", **SMALL}),
    (OnlineNMF, {"divergence": "l1", **SMALL}),
    (OnlineNMF, {"solver": "spsgd", **SMALL}),
    (OnlineL1Dictionary, SMALL),
    (OnlineRobustPCA, SMALL),
    (OnlineOrthogonalDictionary, HOW),
]
OTHERS = [(kind, SMALL) for kind in (RobustNMF, BatchNMF, ManhattanNMF, L1Dictionary)]
OTHERS += [(RobustPCA, {})]


def cases(models):
    """Each model with NaN and, where it has the parameter, with CSR of which zeros are missing."""
    found = []
    for kind, parameters in models:
        options = {name: value for name, value in parameters.items() if name not in SMALL}
        name = f"{kind.__name__}{options or ''}"
        found.append(pytest.param(kind, parameters, GAPS, ALL_NAN, id=f"{name} NaN"))
        if "missing" in kind().get_params():
            stored = {"missing": "zeros", **parameters}
            found.append(pytest.param(kind, stored, STORED, NOTHING_STORED, id=f"{name} CSR"))
    return found


@pytest.mark.parametrize(("kind", "parameters", "samples", "nothing"), cases(ONLINE))
def test_it_leaves_the_model_as_it_is_whenever_it_comes(kind, parameters, samples, nothing):
    plain = kind(**parameters).partial_fit(samples[:30]).partial_fit(samples[30:])
    model = kind(**parameters)
    for batch in (nothing, samples[:30], nothing, samples[30:], nothing):
        model.partial_fit(batch)
    np.testing.assert_array_equal(model.components_, plain.components_)
    np.testing.assert_array_equal(model.transform(samples), plain.transform(samples))
    assert (model.n_samples_seen_, model.n_iter_) == (plain.n_samples_seen_ + 9, plain.n_iter_)
    assert np.isfinite(model.history_.column("loss")).all()


@pytest.mark.parametrize(("kind", "parameters", "samples", "nothing"), cases(ONLINE))
def test_a_fit_passes_over_it(kind, parameters, samples, nothing):
    stack = sparse.vstack if sparse.issparse(samples) else np.vstack
    more = stack([nothing, samples])
    how = {"shuffle": False, "n_passes": 1, **parameters}
    model = kind(batch_size=3, **how).fit(more)
    plain = kind(batch_size=3, **how).fit(samples)
    np.testing.assert_array_equal(model.components_, plain.components_)
    streamed = kind(batch_size=3, **how).fit(iter([nothing, samples[:3]]))
    np.testing.assert_array_equal(
        streamed.components_, kind(**parameters).partial_fit(samples[:3]).components_
    )


@pytest.mark.parametrize(("kind", "parameters", "samples", "nothing"), cases(ONLINE + OTHERS))
def test_its_rows_have_codes_and_scores(kind, parameters, samples, nothing):
    model = kind(**parameters).fit(samples)
    assert np.isfinite(model.transform(nothing)).all()
    assert np.isfinite(model.score(nothing))
    assert np.isfinite(model.score_samples(nothing)).all()
    if hasattr(model, "separate"):
        assert all(np.isfinite(part).all() for part in model.separate(nothing))


@pytest.mark.parametrize("kind", [OnlineRobustNMF, OnlineNMF])
@pytest.mark.parametrize("seed", range(5))
def test_sparse_ratings_are_learned_one_by_one(kind, seed):
    rng = np.random.default_rng(seed)
    ratings = rng.integers(1, 6, (50, 12)) * (rng.random((50, 12)) < 0.15)
    X = sparse.csr_array(ratings.astype(float))
    model = kind(3, missing="zeros", batch_size=1, random_state=seed).fit(X)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.score(X))
