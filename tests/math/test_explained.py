"""Default sets fit the scale of the data; fits that explain nothing because of sets warn."""

import warnings

import numpy as np
import pytest

from thresher import BatchNMF, ManhattanNMF, OnlineNMF, OnlineRobustNMF, RobustNMF
from thresher.encoding import DenseFit
from thresher.engine import Energies, UnexplainedWarning
from thresher.losses import SquaredL2
from thresher.sets import Box, CoveredBox, NonnegativeL2Ball

MODELS = {
    "OnlineRobustNMF": lambda **p: OnlineRobustNMF(3, **p),
    "RobustNMF": lambda **p: RobustNMF(3, max_iter=30, **p),
    "OnlineNMF": lambda **p: OnlineNMF(3, **p),
    "OnlineNMF, kl": lambda **p: OnlineNMF(3, divergence="kl", **p),
    "BatchNMF": lambda **p: BatchNMF(3, max_iter=30, **p),
    "ManhattanNMF": lambda **p: ManhattanNMF(3, max_iter=30, **p),
}


def spectra(scale, n=160, seed=0):
    """Mixtures of three spectra, with shares that sum to one."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(3, 0.5), n)
    return scale * (shares @ rng.gamma(2.0, 1.0, (3, 30)) + 0.01 * rng.random((n, 30)))


def relative_error(model, X):
    codes = model.set_params(code_max_iter=10_000, code_tol=1e-3).transform(X)
    return np.linalg.norm(X - codes @ model.components_) / np.linalg.norm(X)


@pytest.mark.parametrize("scale", [1e-3, 1e4])
@pytest.mark.parametrize("name", MODELS)
def test_shares_explain_spectra_of_any_size(name, scale):
    X = spectra(scale)
    model = MODELS[name](code_set="simplex", random_state=0, verbose=0).fit(X)
    assert relative_error(model, X[:50]) < 0.12
    np.testing.assert_allclose(model.transform(X[:50]).sum(axis=1), 1, rtol=1e-5)


def dictionary_set(**parameters):
    return (
        OnlineRobustNMF(3, verbose=0, **parameters).partial_fit(spectra(1.0)[:20]).dictionary_set_
    )


def test_atoms_lie_in_a_ball_unless_codes_are_bounded():
    assert dictionary_set() == NonnegativeL2Ball()
    assert dictionary_set(code_set=Box(0, np.inf)) == NonnegativeL2Ball()
    assert dictionary_set(code_penalty=0.1) == NonnegativeL2Ball()
    # A price on codes that may vanish would be avoided by longer atoms.
    assert dictionary_set(code_set="box", code_penalty=0.1) == NonnegativeL2Ball()
    for region in ("simplex", "box", "l1_ball", "l2_ball"):
        assert dictionary_set(code_set=region).is_cone
    assert dictionary_set(code_set="simplex", code_penalty=0.1).is_cone
    assert dictionary_set(code_set="simplex", dictionary_set="box") == Box()
    published = OnlineNMF(3, solver="spsgd", code_set=Box(1e-8, 1e8), verbose=0)
    assert published.partial_fit(spectra(1.0)[:20]).dictionary_set_ == CoveredBox()


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("name", MODELS)
def test_sets_that_are_too_tight_cause_a_warning(name, scale):
    model = MODELS[name](code_set="simplex", dictionary_set="l2_ball", random_state=0, verbose=0)
    with pytest.warns(UnexplainedWarning, match="tight"):
        model.fit(spectra(scale))


def test_streams_warn_at_their_end_and_steps_do_not():
    model = OnlineRobustNMF(3, code_set="simplex", dictionary_set="simplex", verbose=0)
    X = spectra(10.0)
    with pytest.warns(UnexplainedWarning):
        model.fit(X[i : i + 20] for i in range(0, 160, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X)


def test_predictions_that_are_too_large_cause_a_warning():
    model = OnlineNMF(3, code_set=Box(0.5, 1.0), dictionary_set=Box(0.5, 1.0), verbose=0)
    with pytest.warns(UnexplainedWarning, match="tight"):
        model.fit(spectra(1e-3))


@pytest.mark.parametrize("name", MODELS)
def test_models_that_predict_nothing_cause_a_warning(name):
    with pytest.warns(UnexplainedWarning, match="code_penalty"):
        MODELS[name](code_penalty=1e4, random_state=0, verbose=0).fit(spectra(1.0))


def test_poorly_explained_data_cause_no_warning():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.03, (500, 80)).astype(float)
    for name in ("OnlineNMF", "OnlineNMF, kl", "BatchNMF"):
        MODELS[name](random_state=0, verbose=0).fit(X)  # warnings are errors here


def test_energies_with_missing_values_and_weights():
    rng = np.random.default_rng(0)
    X, C, D = rng.random((5, 7)), rng.random((5, 2)), rng.random((2, 7))
    weight, sample_weight = rng.random((5, 7)), rng.random(5)
    weight[rng.random((5, 7)) < 0.3] = 0
    wild = np.where(weight > 0, X, 1e9)
    found = Energies.of(DenseFit(SquaredL2(), wild, C, D, weight), sample_weight)
    w, Y = weight * sample_weight[:, None], C @ D
    assert found.data == pytest.approx((w * X * X).sum())
    assert found.explained == pytest.approx(1 - (w * (X - Y) ** 2).sum() / (w * X * X).sum())
    best = min((w * (X - s * Y) ** 2).sum() for s in np.linspace(0, 3, 3001))
    assert found.explained_at_best_size == pytest.approx(1 - best / (w * X * X).sum(), abs=1e-5)
