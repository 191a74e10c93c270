"""Sets: projections and linear oracles against CVXPY, and every property they declare."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statements
from thresher.sets import (
    Box,
    ConvexSet,
    CoveredBox,
    GroupBall,
    L1Ball,
    L2Ball,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NonnegativeOrthant,
    NuclearBall,
    OracleSet,
    Reals,
    Simplex,
    SpectralBall,
)

K, F = 4, 6
GROUPS = (0, 0, 1, 1, 1, 2)
SETS = {
    "reals": Reals(),
    "orthant": NonnegativeOrthant(),
    "box": Box(-0.3, 0.5),
    "unit box": Box(0, 0.4),
    "away from zero": Box(0.2, 0.9),
    "above": Box(0.1, np.inf),
    "covered": CoveredBox(0.3, 0.8),
    "groups": GroupBall(1.5, GROUPS),
    "greatest of groups": GroupBall(1.5, GROUPS, np.inf),
    "groups of rows": GroupBall(1.5, (0, 0, 1, 1), of_rows=True),
    "one group": GroupBall(2.0),
    "signed l1": L1Ball(1.3),
    "signed l2": L2Ball(0.8),
    "elastic": NonnegativeElasticNetBall(0.7, 1.5),
    "l1": NonnegativeL1Ball(1.3),
    "l2": NonnegativeL2Ball(0.8),
    "simplex": Simplex(1.7),
    "spectral": SpectralBall(0.9),
    "nuclear": NuclearBall(1.4),
}
RADII = (Simplex, NonnegativeL1Ball, NonnegativeL2Ball, L1Ball, L2Ball, SpectralBall, NuclearBall)
by_set = pytest.mark.parametrize("name", SETS)


def far(seed=0, scale=2.0, shape=(K, F)):
    return scale * np.random.default_rng(seed).standard_normal(shape)


@by_set
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
def test_projections_are_the_nearest_members(name, scale):
    region, V = SETS[name], far(0, scale)
    V[2] = 0
    kept, P = V.copy(), region.project(V)
    np.testing.assert_array_equal(V, kept)
    assert not np.shares_memory(P, V)
    M = cp.Variable(V.shape)
    nearest = statements.solve(cp.sum_squares(M - V), statements.constraints(region, M))
    assert np.sum((P - V) ** 2) <= nearest * (1 + 1e-7) + 1e-8
    np.testing.assert_allclose(P, M.value, atol=1e-3 * max(scale, 1))
    assert statements.outside(region, P) <= 1e-9
    assert region.contains(P)
    np.testing.assert_allclose(region.project(P), P, atol=1e-12)
    assert region.project(V.astype(np.float32)).dtype == np.float32


@by_set
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-3, 1.0, 50.0]))
def test_variational_inequality(name, seed, scale):
    """``⟨v − Πv, y − Πv⟩ ≤ 0`` for every member y characterises the projection."""
    region, rng = SETS[name], np.random.default_rng(seed)
    V = scale * rng.standard_normal((K, F))
    P, Y = region.project(V), region.project(rng.standard_normal((K, F)))
    assert np.sum((V - P) * (Y - P)) <= 1e-8 * max(1.0, scale) ** 2


@by_set
@pytest.mark.parametrize("scale", [1e4, 1e8, 1e17])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remote_points_are_projected_into_the_set(name, dtype, scale):
    """Sums of entries far larger than the radius must not lose it."""
    P = SETS[name].project(far(0, scale).astype(dtype)).astype(np.float64)
    rounding = (1e-6 if dtype is np.float32 else 1e-14) * max(1.0, np.abs(P).max())
    assert statements.outside(SETS[name], P) <= rounding


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_projections_on_the_simplex_depend_on_differences_alone(scale):
    V = np.array([[0.25, -0.5, 0.125, 0.0]], dtype=np.float32)
    remote = V + np.float32(scale)  # the sums are exact
    for region in (Simplex(), NonnegativeElasticNetBall(1.0, 0.0)):
        np.testing.assert_allclose(region.project(remote), Simplex().project(V), atol=1e-6)


@by_set
def test_bounds_of_members(name):
    region = SETS[name]
    lower, upper = region.bounds
    members = np.concatenate([region.project(far(k, 5)).ravel() for k in range(20)])
    assert members.min() >= lower - 1e-12
    assert members.max() <= upper + 1e-12
    assert region.nonnegative == (members.min() >= -1e-12)
    assert region.nonnegative == (lower >= 0)


@by_set
def test_membership_of_zero(name):
    region = SETS[name]
    assert region.contains_zero == region.contains(np.zeros((K, F)))


@by_set
def test_row_constraints_of_members(name):
    region = SETS[name]
    P = region.project(far(3, 5))
    if region.row_constraint is None:
        assert name not in {"elastic", "l1", "l2", "simplex"}
        return
    gamma1, gamma2 = region.row_constraint.gamma1, region.row_constraint.gamma2
    spent = gamma1 * np.abs(P).sum(axis=1) + gamma2 / 2 * (P * P).sum(axis=1)
    np.testing.assert_allclose(spent, 1)  # it was far outside
    inside = region.project(np.full((K, F), 1e-3))
    spent = gamma1 * np.abs(inside).sum(axis=1) + gamma2 / 2 * (inside * inside).sum(axis=1)
    assert region.row_constraint.equality == bool(np.allclose(spent, 1))


@by_set
def test_sets_described_by_bounds_and_row_constraint(name):
    """Bounds and row constraint decide membership of fully declared sets."""
    region = SETS[name]
    assert region.fully_declared == (
        isinstance(region, Box) or name in {"elastic", "l1", "l2", "simplex"}
    )
    if not region.fully_declared:
        return
    lower, upper = region.bounds
    V = np.clip(far(4), max(lower, -3), min(upper, 3))
    if region.row_constraint is not None:
        sums, squares = np.abs(V).sum(axis=1), (V * V).sum(axis=1)
        V /= region.row_constraint.gauge(sums, squares)[:, None]
        assert not region.contains(1.01 * V)
        assert region.contains(0.99 * V) != region.row_constraint.equality
    assert region.contains(V)


@by_set
def test_coupling_of_rows(name):
    region = SETS[name]
    V = far(5)
    V[:, 1] = -1  # a column that nothing covers
    other = V.copy()
    other[0] *= 3
    other[0, :2] += 5
    moved = not np.allclose(region.project(V)[1:], region.project(other)[1:], atol=1e-12)
    assert region.couples_rows == moved
    assert region.rows_share_bound == isinstance(region, GroupBall)


@by_set
@pytest.mark.parametrize("unit", [0.5, 4.0])
def test_change_of_unit(name, unit):
    region = SETS[name]
    there = region.in_unit(unit)
    if there is None:
        assert name in {"signed l1", "signed l2", "spectral", "nuclear"}
        return
    V = far(6)
    np.testing.assert_allclose(there.project(V), region.project(unit * V) / unit, atol=1e-12)
    assert type(there) is type(region)
    assert region.is_cone == (name in {"reals", "orthant"})


@by_set
def test_scaled_atoms_reach_the_boundary(name):
    region = SETS[name]
    D = np.abs(far(7))
    sizes = region.gauge(D)
    if sizes is None:
        wanted = {"orthant", "elastic", "l1", "l2", "simplex", "one group"}
        assert name not in wanted | {"groups", "greatest of groups"}
        return
    assert sizes.shape == (K,)
    edge = D / sizes[:, None]
    if name == "orthant":
        np.testing.assert_allclose(np.linalg.norm(edge, axis=1), 1)
    else:
        assert region.contains(edge)
        assert not region.contains(1.01 * edge)
    assert region.gauge(D.astype(np.float32)).dtype == np.float32


@by_set
@pytest.mark.parametrize("seed", range(3))
def test_linear_oracles_against_cvxpy(name, seed):
    region = SETS[name]
    if not isinstance(region, OracleSet):
        return
    G = far(seed)
    if not np.isfinite(sum(region.bounds)) and isinstance(region, Box):
        with pytest.raises(ValueError, match="has no minimum"):
            region.minimise_linear(G)
        return
    S = region.minimise_linear(G)
    assert region.contains(S, 1e-9)
    M = cp.Variable(G.shape)
    best = statements.solve(cp.sum(cp.multiply(G, M)), statements.constraints(region, M))
    assert (G * S).sum() == pytest.approx(best, abs=1e-6)
    assert region.minimise_linear(G.astype(np.float32)).dtype == np.float32
    zero = region.minimise_linear(np.zeros_like(G))
    assert np.isfinite(zero).all()
    assert region.contains(zero, 1e-9)


@pytest.mark.parametrize("name", ["l1", "l2"])
def test_linear_oracles_return_zero_for_positive_gradients(name):
    assert not SETS[name].minimise_linear(np.ones((2, F))).any()


@by_set
def test_membership_has_a_relative_tolerance(name):
    region = SETS[name]
    member = region.project(far(8, 5))
    assert region.contains(member)
    if name in {"reals", "orthant", "above"}:
        return
    scale = max(1.0, np.abs(member).max())
    assert region.contains(member + 5e-7 * scale)
    assert not region.contains(member + 1e-3 * scale)
    assert region.contains(member + 1e-3 * scale, tol=1e-2)
    assert region.project(member) is not member


TINY = 1e-9


@pytest.mark.parametrize(
    ("kind", "valid", "invalid"),
    [
        (Box, (0, TINY), (0, 0)),
        (Box, (0, 1), (1, 0)),
        (GroupBall, (TINY,), (0,)),
        (GroupBall, (1, None, 2), (1, None, 1)),
        (GroupBall, (1, None, np.inf), (1, None, 3)),
        (NonnegativeElasticNetBall, (0, TINY), (0, 0)),
        (NonnegativeElasticNetBall, (TINY, 0), (1, -TINY)),
        (NonnegativeElasticNetBall, (1, 1), (-TINY, 1)),
        (CoveredBox, (TINY, 1), (0, 1)),
        (CoveredBox, (0.9, 1), (1, 1)),
        *((kind, (TINY,), (0,)) for kind in RADII),
        *((kind, (1e9,), (np.inf,)) for kind in RADII),
        *((kind, (1.0,), (-1.0,)) for kind in RADII),
    ],
)
def test_invalid_parameters_are_refused(kind, valid, invalid):
    kind(*valid)
    with pytest.raises(ValueError):
        kind(*invalid)


def test_groups_name_every_entry():
    GroupBall(1, (0, 1)).project(np.ones((3, 2)))
    with pytest.raises(ValueError, match="entries"):
        GroupBall(1, (0, 1)).project(np.ones((3, 3)))


def test_default_parameters():
    """What the formulas of the papers mean where they name no number."""
    for kind in RADII:
        assert kind() == kind(1.0)
    assert Box() == Box(0.0, 1.0)
    assert CoveredBox() == CoveredBox(1e-8, 1.0)
    assert GroupBall() == GroupBall(1.0, None, 2.0, False)
    assert NonnegativeElasticNetBall() == NonnegativeElasticNetBall(1.0, 1.0)
    assert all(type(g) is int for g in GroupBall(1, np.array(GROUPS)).groups)


def test_defaults_of_a_set_that_declares_nothing():
    class Minimal(ConvexSet):
        nonnegative = True

        def project(self, V):
            return np.maximum(V, 0)

    region = Minimal()
    assert (region.couples_rows, region.rows_share_bound, region.fully_declared) == (
        False,
        False,
        False,
    )
    assert (region.row_constraint, region.in_unit(2.0), region.coupling_groups(True, 3)) == (
        None,
        None,
        None,
    )
    assert (region.contains_zero, region.is_cone, region.bounds) == (True, False, (0, np.inf))
    assert region.gauge(np.ones((2, 2))) is None
