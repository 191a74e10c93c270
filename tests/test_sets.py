"""Projections: feasible, idempotent, nearest; against CVXPY and the variational inequality."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import MATRIX_SETS, SETS, WIDTH, solve
from thresher.sets import Box, GroupBall, NonnegativeElasticNetBall, NonnegativeL2Ball, Simplex

by_set = pytest.mark.parametrize("name", SETS)


@by_set
def test_projection_is_the_nearest_member(name):
    region, constraints = SETS[name]
    V = np.random.default_rng(0).normal(size=(12, WIDTH))
    P = region.project(V)
    for v, p in zip(V, P, strict=True):
        c = cp.Variable(WIDTH)
        solve(cp.sum_squares(c - v), constraints(c))
        np.testing.assert_allclose(p, c.value, atol=1e-5)


@by_set
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-3, 1.0, 50.0]))
def test_variational_inequality(name, seed, scale):
    """``⟨v − Πv, y − Πv⟩ ≤ 0`` for every member y characterises the projection."""
    region, _ = SETS[name]
    rng = np.random.default_rng(seed)
    V = scale * rng.normal(size=(5, WIDTH))
    P = region.project(V)
    Y = region.project(rng.normal(size=(5, WIDTH)))
    assert region.contains(P)
    np.testing.assert_allclose(region.project(P), P, atol=1e-10 * max(1.0, scale))
    assert np.all(np.sum((V - P) * (Y - P), axis=1) <= 1e-9 * max(1.0, scale) ** 2)


@by_set
def test_members_stay_and_rows_are_independent(name):
    region, _ = SETS[name]
    V = np.random.default_rng(1).normal(size=(20, WIDTH))
    P = region.project(V)
    rows = np.vstack([region.project(v[None]) for v in V])
    np.testing.assert_array_equal(P, rows)
    assert not region.contains(P + 10) or name in {"reals", "orthant"}


@by_set
def test_dtype_stays_and_input_is_not_written(name):
    region, _ = SETS[name]
    V = np.random.default_rng(2).normal(size=(4, WIDTH)).astype(np.float32)
    kept = V.copy()
    assert region.project(V).dtype == np.float32
    np.testing.assert_array_equal(V, kept)
    assert not np.shares_memory(region.project(V), V)


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8, 1e17])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*SETS, *MATRIX_SETS])
def test_what_is_far_away_is_projected_into_the_set(name, dtype, scale):
    """Sums of entries far larger than the radius must not lose it."""
    region, constraints = (SETS | MATRIX_SETS)[name]
    V = (scale * np.random.default_rng(0).normal(size=(WIDTH, WIDTH))).astype(dtype)
    P = region.project(V).astype(np.float64)
    rounding = (1e-6 if dtype is np.float32 else 1e-14) * max(1.0, np.abs(P).max())
    far = [float(np.max(each.violation())) for each in constraints(cp.Constant(P))]
    assert max(far, default=0.0) <= rounding


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_what_is_far_away_is_projected_to_the_nearest_member(scale):
    """Shares depend on differences alone, however large the entries are."""
    V = np.array([[0.25, -0.5, 0.125, 0.0]], dtype=np.float32)
    far = V + np.float32(scale)  # the sums are exact
    for region in (Simplex(), NonnegativeElasticNetBall(1.0, 0.0)):
        np.testing.assert_allclose(region.project(far), Simplex().project(V), atol=1e-6)


@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("name", MATRIX_SETS)
def test_projection_of_a_matrix_is_the_nearest_member(name, scale):
    region, constraints = MATRIX_SETS[name]
    V = scale * np.random.default_rng(0).normal(size=(WIDTH, WIDTH))
    V[2] = 0
    P = region.project(V)
    M = cp.Variable(V.shape)
    nearest = solve(cp.sum_squares(M - V), constraints(M))
    assert np.sum((P - V) ** 2) <= nearest * (1 + 1e-7) + 1e-8
    assert all(constraint.value(1e-9) for constraint in constraints(cp.Constant(P)))
    np.testing.assert_allclose(P, M.value, atol=1e-3 * max(scale, 1))
    np.testing.assert_allclose(region.project(P), P, atol=1e-12)
    assert region.project(V.astype(np.float32)).dtype == np.float32
    assert region.couples_rows


@pytest.mark.parametrize("name", MATRIX_SETS)
@given(seed=st.integers(0, 2**32 - 1))
def test_variational_inequality_of_matrices(name, seed):
    region, _ = MATRIX_SETS[name]
    rng = np.random.default_rng(seed)
    V = 3 * rng.normal(size=(WIDTH, WIDTH))
    P, Y = region.project(V), region.project(rng.normal(size=V.shape))
    assert np.sum((V - P) * (Y - P)) <= 1e-9


def test_ball_is_not_a_sphere():
    """A short atom stays as it is; pushing it to the sphere is the classic mistake."""
    inside = np.array([[0.1, 0.2, 0.0]])
    np.testing.assert_array_equal(NonnegativeL2Ball().project(inside), inside)


def test_zero_rows():
    zero = np.zeros((2, 4))
    np.testing.assert_allclose(Simplex().project(zero), 0.25)
    np.testing.assert_array_equal(NonnegativeL2Ball().project(zero), zero)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Box(1, 0),
        lambda: Simplex(0),
        lambda: NonnegativeL2Ball(-1),
        lambda: NonnegativeElasticNetBall(0, 0),
        lambda: GroupBall(0),
        lambda: GroupBall(1, p=3),
    ],
)
def test_impossible_sets_are_refused(make):
    with pytest.raises(ValueError):
        make()
