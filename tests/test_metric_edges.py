"""Measures at their edges: known angles, usual exponents, and what a refusal says."""

import numpy as np
import pytest

from thresher import metrics


def test_angles_are_between_true_spectra_and_their_partners():
    true, found = [[1.0, 0.0], [0.0, 2.0]], [[1.0, 3**0.5], [1.0, 1.0], [3.0, 0.0]]
    np.testing.assert_allclose(metrics.spectral_angles(true, found), [0, np.pi / 6], atol=1e-7)
    for wrong in ([[1.0, 0.0, 0.0]] * 2, [[1.0, 0.0]]):
        with pytest.raises(ValueError, match="as many bands as true, and at least as many spectra"):
            metrics.spectral_angles(true, wrong)


def test_the_usual_exponent_of_the_gap_is_three():
    rng = np.random.default_rng(0)
    X, D = rng.normal(size=(20, 4)), np.linalg.qr(rng.normal(size=(4, 4)))[0]
    usual = metrics.frank_wolfe_gap(X, D)
    assert usual == metrics.frank_wolfe_gap(X, D, 3)
    assert usual != pytest.approx(metrics.frank_wolfe_gap(X, D, 4))


def test_what_cannot_be_compared_is_refused():
    mask = np.array([True, False])
    with pytest.raises(ValueError, match="estimate must be a dense array of real numbers"):
        metrics.support_scores(mask, np.array([1j, 0]))
    with pytest.raises(ValueError, match=r"same shape, but these are \(2,\) and \(3,\)"):
        metrics.support_scores(mask, np.zeros(3))
    for wrong in ([1.0, np.nan], [1.0, np.inf]):
        with pytest.raises(ValueError, match="must be finite: leave out missing entries first"):
            metrics.relative_error([1.0, 2.0], wrong)
    with pytest.raises(ValueError, match=r"same shape, but these are \(2,\) and \(1,\)"):
        metrics.relative_error([1.0, 2.0], [1.0])
