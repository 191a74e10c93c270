"""Rounds of batch methods: few where they would creep, and no more than gaps are filled by."""

import numpy as np
import pytest

import thresher.estimators.batch as batch
from thresher import OnlineRobustNMF, RobustNMF
from thresher.engine import Extrapolation


def test_a_linear_map_that_creeps_is_at_its_end_after_a_few_rounds():
    """Three directions, each with a rate of its own: five differences know them all."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    rates = np.r_[0.99, 0.9, 0.5, np.zeros(27)]
    end, D = rng.standard_normal((5, 6)), rng.standard_normal((5, 6))
    extrapolation = Extrapolation()
    assert extrapolation.ahead() is None
    for _ in range(6):
        after = end + (basis * rates @ basis.T @ (D - end).ravel()).reshape(5, 6)
        extrapolation.add(D, after)
        D = after
    assert np.linalg.norm(D - end) > 0.5
    np.testing.assert_allclose(extrapolation.ahead(), end, atol=1e-8)


def mixtures(seed):
    """Spectra that overlap, shares of them that never are pure, and light that varies."""
    rng = np.random.default_rng(seed)
    bands = np.linspace(0, 1, 40)
    D = np.exp(-0.5 * ((bands - np.array([[0.3], [0.5], [0.7]])) / 0.25) ** 2)
    C = rng.dirichlet(np.full(3, 2.0), 600) * rng.uniform(0.8, 1.1, (600, 1))
    return np.maximum(C @ D + 0.01 * rng.standard_normal((600, 40)), 0)


def test_shares_converge_in_few_rounds_and_never_rise(monkeypatch):
    X = mixtures(1)
    fits = []
    for how in (Extrapolation, lambda: None):
        monkeypatch.setattr(batch, "Extrapolation", how)
        model = RobustNMF(3, code_set="simplex", random_state=0, verbose=0).fit(X)
        losses = model.history_.column("loss")
        assert np.all(np.diff(losses) <= 1e-12 * losses[0])
        fits.append((len(losses), losses[-1]))
    (few, low), (many, high) = fits
    assert few <= many / 3
    assert low <= high * (1 + 1e-3)


@pytest.mark.parametrize("seed", [0, 1])
def test_rounds_end_where_they_fit_the_noise_of_entries(seed):
    """Three times as many atoms as there are: gaps are filled as well as from the stream."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, size=(1500, 6)) @ rng.gamma(0.5, size=(6, 36))
    X = np.maximum(X + 0.3 * rng.standard_normal(X.shape), 0)
    gaps = rng.random(X.shape) < 0.1
    told = {}
    for kind in (OnlineRobustNMF, RobustNMF):
        model = kind(18, outlier_weight=0.75, random_state=0, verbose=0)
        filled = model.fit(np.where(gaps, np.nan, X)).impute(np.where(gaps, np.nan, X))
        told[kind] = np.sqrt(np.mean((filled - X)[gaps] ** 2))
    assert told[RobustNMF] <= 1.02 * told[OnlineRobustNMF]
