"""Proximal maps: against CVXPY, by the three-point inequality, in every allowed combination."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import GROUPS, MATRIX_PENALTIES, PENALTIES, SETS, WIDTH, solve
from thresher.penalties import Constrained, ElasticNet, GroupLasso, GroupNorm, SparseGroupLasso
from thresher.sets import Box, GroupBall, Simplex


def _allowed():
    for penalty_name, (penalty, _) in PENALTIES.items():
        for set_name, (region, _) in SETS.items():
            try:
                Constrained(penalty, region)
            except ValueError:
                continue
            yield penalty_name, set_name


ALLOWED = list(_allowed())
combined = pytest.mark.parametrize(("penalty_name", "set_name"), ALLOWED)


def test_enough_combinations_are_allowed():
    nonnegative = [name for name, (region, _) in SETS.items() if region.nonnegative]
    for elastic in ["none", "l1", "tikhonov", "elastic net"]:
        assert all((elastic, name) in ALLOWED for name in nonnegative)
    for group in ["group", "one group", "sparse group", "group norm", "group maximum"]:
        assert all((group, name) in ALLOWED for name in ["reals", "orthant", "box", "unit box"])


@combined
@pytest.mark.parametrize("step", [0.4, 2.5])
def test_prox_against_cvxpy(penalty_name, set_name, step):
    (penalty, phi), (region, constraints) = PENALTIES[penalty_name], SETS[set_name]
    V = 1.5 * np.random.default_rng(3).normal(size=(4, WIDTH))
    P = Constrained(penalty, region).prox(V, step)
    for v, p in zip(V, P, strict=True):
        c = cp.Variable(WIDTH)
        solve(cp.sum_squares(c - v) / 2 + step * phi(c), constraints(c))
        np.testing.assert_allclose(p, c.value, atol=1e-4)


@pytest.mark.parametrize("name", MATRIX_PENALTIES)
def test_prox_of_a_matrix_against_cvxpy(name):
    penalty, phi = MATRIX_PENALTIES[name]
    V = 1.5 * np.random.default_rng(3).normal(size=(WIDTH, 3))
    for box in (Box(0, np.inf), Box(0, 0.8)):
        P = Constrained(penalty, box).prox(V, 0.7)
        M = cp.Variable(V.shape)
        solve(cp.sum_squares(M - V) / 2 + 0.7 * phi(M), [box.lower <= M, min(box.upper, 99) >= M])
        np.testing.assert_allclose(P, M.value, atol=1e-4)
        assert penalty.value(P).sum() == pytest.approx(float(phi(cp.Constant(P)).value))
    with pytest.raises(ValueError, match="one step"):
        penalty.prox(V, np.ones((WIDTH, 1)), Box(0, 1))


@combined
@given(seed=st.integers(0, 2**32 - 1))
def test_three_point_inequality(penalty_name, set_name, seed):
    """``φ(p) + ½‖p − v‖² + ½‖y − p‖² ≤ φ(y) + ½‖y − v‖²`` for every member y."""
    penalty, region = PENALTIES[penalty_name][0], SETS[set_name][0]
    rng = np.random.default_rng(seed)
    V, step = 2 * rng.normal(size=(6, WIDTH)), rng.uniform(0.1, 3, size=(6, 1))
    P = Constrained(penalty, region).prox(V, step)
    Y = region.project(rng.normal(size=(6, WIDTH)))

    def half_square(Z):
        return (Z * Z).sum(axis=1) / 2

    t = step[:, 0]
    left = t * penalty.value(P) + half_square(P - V) + half_square(Y - P)
    assert np.all(left <= t * penalty.value(Y) + half_square(Y - V) + 1e-9)


@pytest.mark.parametrize("name", PENALTIES)
def test_value_against_cvxpy(name):
    penalty, phi = PENALTIES[name]
    C = np.random.default_rng(4).normal(size=(3, WIDTH))
    expected = [float(getattr(phi(cp.Constant(c)), "value", 0.0)) for c in C]
    np.testing.assert_allclose(penalty.value(C), expected, rtol=1e-12)


@pytest.mark.parametrize("name", PENALTIES)
def test_float32_stays(name):
    penalty = PENALTIES[name][0]
    V = np.random.default_rng(5).normal(size=(3, WIDTH)).astype(np.float32)
    step = np.full((3, 1), 0.5, dtype=np.float32)
    for box in [Box(-0.1, 0.1), Box(0, np.inf)]:
        assert penalty.prox(V, step, box).dtype == np.float32
    assert penalty.value(V).dtype == np.float32


def test_bounded_group_is_not_shrink_then_clip():
    """errata A.9: after clipping, the free entries shrink less than the unbounded map says."""
    v = np.array([[3.0, 0.5]])
    exact = GroupLasso(1.0).prox(v, 1.0, Box(-1, 1))
    naive = np.clip(v * (1 - np.sqrt(2) / np.linalg.norm(v)), -1, 1)
    assert abs(exact - naive).max() > 0.05


def test_impossible_combinations_are_refused_with_both_names():
    with pytest.raises(ValueError, match=r"SparseGroupLasso.*Simplex"):
        Constrained(GroupLasso(1.0), Simplex())
    with pytest.raises(ValueError, match="contains 0"):
        Constrained(GroupLasso(1.0), Box(0.5, 1))
    with pytest.raises(ValueError, match="nonnegative"):
        ElasticNet(-1)
    with pytest.raises(ValueError, match="mix"):
        SparseGroupLasso(1.0, mix=2.0)
    with pytest.raises(ValueError, match="one group number for every entry"):
        GroupLasso(1.0, GROUPS).value(np.ones((1, WIDTH + 1)))


@pytest.mark.parametrize(
    "make",
    [
        lambda groups: SparseGroupLasso(1.0, 0.5, groups),
        lambda groups: GroupLasso(1.0, groups),
        lambda groups: GroupNorm(1.0, groups),
        lambda groups: GroupBall(1.0, groups),
    ],
)
@pytest.mark.parametrize(
    "groups", [[[0, 1], [2]], [[0, 1], [2, 3]], ["a", "b"], [0.5, 1], [np.nan], 3, [None]]
)
def test_groups_that_are_no_numbers_are_refused(make, groups):
    with pytest.raises(ValueError, match="groups"):
        make(groups)
