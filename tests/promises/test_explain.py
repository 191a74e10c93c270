"""What ``solver="auto"`` chose is named by short labels and explained by `explain`."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import thresher

X = np.random.default_rng(0).random((60, 12))

CHOSEN = [
    (thresher.OnlineRobustNMF(3), "quadratic", "newton"),
    (thresher.OnlineRobustNMF(3, solver="opgd"), "opgd", "newton"),
    (thresher.OnlineRobustNMF(3, solver=thresher.solvers.opgd(kappa=0.5)), "opgd", "newton"),
    (thresher.RobustNMF(3), "quadratic", "newton"),
    (thresher.OnlineNMF(3), "quadratic", "gram"),
    (thresher.OnlineNMF(3, divergence="kl"), "quadratic", "admm_newton"),
    (thresher.BatchNMF(3, divergence="kl", solver="mu"), "mu", "admm_newton"),
    (thresher.OnlineL1Dictionary(3), "quadratic", "simplex_method"),
    (thresher.ManhattanNMF(3), "factors", "simplex_method"),
    (thresher.OnlineOrthogonalDictionary(), "refined", "projection"),
    (thresher.OnlineOrthogonalDictionary(forgetting=30), "tracked", "projection"),
    (thresher.OnlineOrthogonalDictionary(solver="sfw"), "sfw", "projection"),
]


@pytest.mark.parametrize(("model", "solver", "encoder"), CHOSEN, ids=str)
def test_the_choice_is_named_and_explained(model, solver, encoder, tmp_path):
    model = model.set_params(random_state=0, verbose=0)
    for name in ("solver_", "encoder_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.explain()
    model.fit(X)
    assert (model.solver_, model.encoder_) == (solver, encoder)
    assert solver in model.explain()
    assert encoder in model.explain()
    thresher.save(model, tmp_path / "model")
    again = thresher.load(tmp_path / "model")
    assert (again.solver_, again.encoder_) == (solver, encoder)
    assert again.explain() == model.explain()


def test_data_with_features_that_are_often_zero_take_ratios():
    counts = np.random.default_rng(0).poisson(0.2, (200, 30)).astype(float)
    model = thresher.OnlineNMF(3, divergence="kl", random_state=0, verbose=0).fit(counts)
    assert model.solver_ == "ratios"
