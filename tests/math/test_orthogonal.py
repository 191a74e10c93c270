"""Orthogonal dictionaries: power iterations, gradients, refinement, principal directions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from thresher.datasets import make_orthogonal_stream
from thresher.estimators import OnlineOrthogonalDictionary
from thresher.learning import (
    Progress,
    RefinedLearner,
    TrackedLearner,
    principal_directions,
)
from thresher.learning.orthogonal import (
    keep_largest,
    rank_weighted,
    rank_weights,
    tail_energies,
)
from thresher.linalg import polar
from thresher.metrics import frank_wolfe_gap
from thresher.solvers import noncvx_sfw


def model(**parameters):
    quiet = {"batch_size": 10, "n_passes": 1, "shuffle": False, "random_state": 0, "verbose": 0}
    return OnlineOrthogonalDictionary(**{**quiet, **parameters})


def published(p, **constants):
    """The learner of Algorithm 2, with the ℓp norm."""
    return noncvx_sfw(**constants).learner(p, False)


def power_iterations(Y, D, p, n):
    """Algorithm 2 with ρ = γ = 1 on one batch: the generalised power method."""
    ones = {"averaging_scale": 1.0, "averaging_power": 0.0, "step_scale": 1.0, "step_power": 0.0}
    learner, weight = published(p, **ones), np.ones(len(Y))
    state = learner.begin(Y, weight, D)
    for t in range(1, n + 1):
        sums = learner.summarise(state, D, Y, weight)
        D, state = learner.update(state, sums, D, Progress(t, len(Y), t * len(Y), 1.0))
        yield D


def test_ranked_codes_are_compression_averaged_over_k():
    """``Σ_k (w_k − w_{k+1}) ‖k largest‖² = Σ_j w_j c_(j)²``."""
    C = np.random.default_rng(0).normal(size=(4, 9))
    w = rank_weights(9)
    captured = (C * C).sum(axis=1, keepdims=True) - tail_energies(C)
    averaged = captured @ -np.diff(w, append=0)
    np.testing.assert_allclose(averaged, np.sum(rank_weighted(C) * C, axis=1))
    for k in (1, 4, 9):
        kept = keep_largest(C, k)
        assert np.all(np.count_nonzero(kept, axis=1) == k)
        np.testing.assert_allclose(
            ((C - kept) ** 2).sum(axis=1), tail_energies(C)[:, k - 1], atol=1e-12
        )


def test_with_weights_of_one_and_p_4_it_is_msp():
    """``polar((c∘³)ᵀ y)`` of Zhai et al.; it never lowers ‖c‖₄."""
    Y = make_orthogonal_stream(500, 5, random_state=0).data
    D = polar(np.random.default_rng(1).normal(size=(5, 5)))
    values = []
    for found in power_iterations(Y, D, 4, 15):
        D = polar(((Y @ D.T) ** 3).T @ Y)
        np.testing.assert_allclose(found, D, atol=1e-9)
        values.append(np.sum((Y @ D.T) ** 4))
    assert np.all(np.diff(values) >= -1e-9 * values[0])


def test_the_gap_is_zero_exactly_at_stationary_points():
    """Lemma 2: positive at a random point of the ball, zero where power iterations end."""
    Y = make_orthogonal_stream(2000, 5, random_state=0).data
    D = polar(np.random.default_rng(1).normal(size=(5, 5)))
    assert frank_wolfe_gap(Y, D) > 0.01
    assert frank_wolfe_gap(Y, 0.5 * D) > 0
    *_, D = power_iterations(Y, D, 3, 300)
    assert frank_wolfe_gap(Y, D) == pytest.approx(0, abs=1e-9)


def test_erratum_2_the_gradient_has_its_factor():
    """(21) loses the 3² of the gradient's 3: the gap and the learner have it."""
    rng = np.random.default_rng(0)
    Y, D = rng.normal(size=(30, 4)), polar(rng.normal(size=(4, 4)))

    def loss(d):
        return -np.mean(np.sum(np.abs(Y @ d.reshape(4, 4).T) ** 3, axis=1))

    numeric = approx_fprime(D.ravel(), loss, 1e-7).reshape(4, 4)
    learner = published(3)
    sums = learner.summarise(learner.begin(Y, np.ones(30), D), D, Y, np.ones(30))
    np.testing.assert_allclose(sums.G / 30, numeric, atol=1e-4)
    gap = np.linalg.norm(numeric, "nuc") + np.sum(numeric * D)
    assert frank_wolfe_gap(Y, D) == pytest.approx(gap, abs=1e-4)


def test_empty_samples_are_not_counted_as_zeros():
    """At θ = 0.1 a third of the samples is zero, and fits any dictionary."""
    stream = make_orthogonal_stream(6000, 10, 0.1, random_state=4)
    now = model().fit(stream.data).statistics_
    Y = stream.data[:40]
    more = np.vstack([Y, np.zeros((60, 10))])
    alone, among = (
        RefinedLearner().summarise(now, now.shown, Z, np.ones(len(Z))) for Z in (Y, more)
    )
    assert among.n_zero == pytest.approx(alone.n_zero)
    assert among.n_other == pytest.approx(alone.n_other)


def test_a_refined_dictionary_that_got_worse_is_dropped():
    stream = make_orthogonal_stream(4000, 6, random_state=0)
    fitted = model().fit(stream.data)
    learner, now = RefinedLearner(), fitted.statistics_
    assert now.chosen
    bad = learner._chosen(replace(now, lead=-10.0, spread=1.0), now.weight)
    assert not bad.chosen
    np.testing.assert_array_equal(bad.refined, now.first)
    good = learner._chosen(replace(now, lead=-1.0, spread=1.0), now.weight)
    assert good.chosen  # within chance


def test_the_mixed_dictionary_turns_principal_directions_within_their_span():
    """Beyond the strongest quarter it leaves out exactly what principal directions do."""
    rng = np.random.default_rng(0)
    Y = rng.laplace(size=(500, 8)) @ rng.normal(size=(8, 8))
    S, D = Y.T @ Y, polar(rng.normal(size=(8, 8)))
    V, mixed = principal_directions(S), TrackedLearner()._mixed(S, D)
    np.testing.assert_allclose(mixed[:2].T @ mixed[:2], V[:2].T @ V[:2], atol=1e-9)
    np.testing.assert_allclose(mixed[2:], V[2:], atol=1e-9)


def test_principal_directions_where_samples_never_went():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 6))
    V = principal_directions(Y.T @ Y)
    np.testing.assert_allclose(V @ V.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(Y @ V[3:].T, 0, atol=1e-8)
    energies = np.sum((Y @ V.T) ** 2, axis=0)
    assert np.all(np.diff(energies) <= 1e-8)


# ---------------------------------------------------------------- data and measures
