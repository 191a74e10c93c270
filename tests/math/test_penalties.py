"""Proximal maps: against CVXPY, by the three-point inequality, in every allowed combination."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import GROUPS, MATRIX_PENALTIES, PENALTIES, SETS, WIDTH, solve
from thresher.penalties import (
    L1,
    ElasticNet,
    GroupLasso,
    GroupNorm,
    Penalty,
    Regulariser,
    SparseGroupLasso,
    Tikhonov,
)
from thresher.penalties.regulariser import Form
from thresher.sets import (
    Box,
    CoveredBox,
    GroupBall,
    L1Ball,
    L2Ball,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    NonnegativeOrthant,
    NuclearBall,
    Reals,
    Simplex,
)


def _allowed():
    for penalty_name, (penalty, _) in PENALTIES.items():
        for set_name, (region, _) in SETS.items():
            try:
                Regulariser(penalty, region)
            except ValueError:
                continue
            yield penalty_name, set_name


ALLOWED = list(_allowed())
combined = pytest.mark.parametrize(("penalty_name", "set_name"), ALLOWED)


@combined
@pytest.mark.parametrize("step", [0.4, 2.5])
def test_prox_against_cvxpy(penalty_name, set_name, step):
    (penalty, phi), (region, constraints) = PENALTIES[penalty_name], SETS[set_name]
    V = 1.5 * np.random.default_rng(3).normal(size=(4, WIDTH))
    P = Regulariser(penalty, region).prox(V, step)
    for v, p in zip(V, P, strict=True):
        c = cp.Variable(WIDTH)
        solve(cp.sum_squares(c - v) / 2 + step * phi(c), constraints(c))
        np.testing.assert_allclose(p, c.value, atol=1e-4)


@pytest.mark.parametrize("name", MATRIX_PENALTIES)
def test_prox_of_a_matrix_against_cvxpy(name):
    penalty, phi = MATRIX_PENALTIES[name]
    V = 1.5 * np.random.default_rng(3).normal(size=(WIDTH, 3))
    for box in (Box(0, np.inf), Box(0, 0.8)):
        P = Regulariser(penalty, box).prox(V, 0.7)
        M = cp.Variable(V.shape)
        solve(cp.sum_squares(M - V) / 2 + 0.7 * phi(M), [box.lower <= M, min(box.upper, 99) >= M])
        np.testing.assert_allclose(P, M.value, atol=1e-4)
        assert penalty.value(P).sum() == pytest.approx(float(phi(cp.Constant(P)).value))
    with pytest.raises(ValueError, match="step"):
        penalty.prox(V, np.ones((WIDTH, 1)), Box(0, 1))


@combined
@given(seed=st.integers(0, 2**32 - 1))
def test_three_point_inequality(penalty_name, set_name, seed):
    """``φ(p) + ½‖p − v‖² + ½‖y − p‖² ≤ φ(y) + ½‖y − v‖²`` for every member y."""
    penalty, region = PENALTIES[penalty_name][0], SETS[set_name][0]
    rng = np.random.default_rng(seed)
    V, step = 2 * rng.normal(size=(6, WIDTH)), rng.uniform(0.1, 3, size=(6, 1))
    P = Regulariser(penalty, region).prox(V, step)
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


@pytest.mark.parametrize(
    ("make", "valid", "invalid"),
    [
        (ElasticNet, (0, 0), (-1e-9,)),
        (ElasticNet, (1e300,), (np.inf,)),
        (ElasticNet, (0, 1e300), (0, np.inf)),
        (ElasticNet, (0, 0), (0, -1e-9)),
        (SparseGroupLasso, (0,), (-1e-9,)),
        (SparseGroupLasso, (1, 0), (1, -1e-9)),
        (SparseGroupLasso, (1, 1), (1, 1.1)),
        (GroupNorm, (0,), (-1e-9,)),
        (GroupNorm, (1, None, np.inf), (1, None, 3)),
        (Regulariser, (GroupNorm(1), Box(0, 1)), (GroupNorm(1), Box(1e-9, 1))),
        (Regulariser, (GroupNorm(1), Box(-1, 0)), (GroupNorm(1), Box(-1, -1e-9))),
        (Regulariser, (ElasticNet(1), Box(0.5, 1)), (ElasticNet(1), L2Ball())),
        (Regulariser, (ElasticNet(1), Simplex()), (GroupNorm(1), Simplex())),
        (GroupNorm(1).prox, (np.ones((1, 2)), 1.0, Box()), (np.ones((1, 2)), 1.0, Box(0.1, 1))),
        (
            GroupNorm(1, of_rows=True).prox,
            (np.ones((2, 2)), np.ones(1), Box()),
            (np.ones((2, 2)), np.ones((2, 1)), Box()),
        ),
        (GroupLasso(1.0, GROUPS).value, (np.ones((1, WIDTH)),), (np.ones((1, WIDTH + 1)),)),
    ],
)
def test_invalid_parameters_are_refused(make, valid, invalid):
    make(*valid)
    with pytest.raises(ValueError):
        make(*invalid)


@pytest.mark.parametrize("region", [L1Ball(), L2Ball(), NuclearBall()])
def test_penalties_over_signed_balls_are_refused_by_name(region):
    with pytest.raises(ValueError, match=type(region).__name__):
        Regulariser(region=region)


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
def test_groups_must_be_integers(make, groups):
    with pytest.raises(ValueError, match="groups"):
        make(groups)


DECLARED = {
    "none": ElasticNet(),
    "l1": L1(0.3),
    "l2": Tikhonov(0.7),
    "both": ElasticNet(0.2, 0.4),
    "groups": GroupLasso(0.2, GROUPS),
    "single groups": GroupLasso(0.2, range(WIDTH)),
    "no mix": SparseGroupLasso(0.3, 0.0, GROUPS),
    "sparse groups": SparseGroupLasso(0.3, 0.6, GROUPS),
    "nothing": SparseGroupLasso(0.0, 0.6, GROUPS),
    "norm": GroupNorm(0.3, GROUPS),
    "greatest": GroupNorm(0.3, GROUPS, np.inf),
    "single norms": GroupNorm(0.3, range(WIDTH), np.inf),
    "no norm": GroupNorm(0.0, GROUPS),
    "norm of rows": GroupNorm(0.3, (0, 0, 1, 1), of_rows=True),
}


by_penalty = pytest.mark.parametrize("name", DECLARED)


def samples(seed):
    return 2 * np.random.default_rng(seed).standard_normal((4, WIDTH))


@by_penalty
def test_scaling_and_change_of_unit(name):
    penalty, C = DECLARED[name], samples(9)
    np.testing.assert_allclose(penalty.scaled(3.0).value(C), 3 * penalty.value(C))
    np.testing.assert_allclose(
        penalty.in_unit(2.0, 5.0).value(C), penalty.value(2 * C) / 5, atol=1e-12
    )


@by_penalty
def test_separable_penalties_equal_an_elastic_net(name):
    penalty, C = DECLARED[name], samples(10)
    single = {"groups", "sparse groups", "norm", "greatest", "norm of rows"}
    assert (penalty.weights is None) == (name in single)
    assert penalty.couples_rows == (name == "norm of rows")
    if penalty.weights is not None:
        net = ElasticNet(*penalty.weights)
        np.testing.assert_allclose(penalty.value(C), net.value(C), atol=1e-12)
        for box in (Box(-0.4, 0.8), Box(0, np.inf)):
            found, wanted = penalty.prox(C, 0.7, box), net.prox(C, 0.7, box)
            np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_forms_of_regularisers():
    def form(penalty=ElasticNet(), region=NonnegativeOrthant()):  # noqa: B008 - frozen parts
        return Form(penalty, region)

    told = {  # is_unpenalised, is_box, is_orthant, is_scale_invariant, is_ball
        "orthant": (form(), (True, True, True, True, False)),
        "priced": (form(L1(1.0)), (False, True, True, False, False)),
        "squares": (form(Tikhonov(1.0)), (False, True, True, False, False)),
        "groups": (form(GroupNorm(1.0)), (False, True, True, False, False)),
        "reals": (form(region=Reals()), (True, True, False, False, False)),
        "box": (form(region=Box(0, 1)), (True, True, False, False, False)),
        "from above zero": (form(region=Box(1, np.inf)), (True, True, False, False, False)),
        "ball": (form(region=NonnegativeL2Ball()), (True, False, False, False, True)),
        "covered": (form(region=CoveredBox()), (True, False, False, False, False)),
    }
    for name, (one, wanted) in told.items():
        found = (
            one.is_unpenalised,
            one.is_box,
            one.is_orthant,
            one.is_scale_invariant,
            one.is_ball,
        )
        assert found == wanted, name
    radii = {
        NonnegativeL1Ball(3): (3, np.inf), NonnegativeL2Ball(3): (np.inf, 3),
        Simplex(3): (np.inf, np.inf), NonnegativeElasticNetBall(1, 1): (np.inf, np.inf),
        NonnegativeElasticNetBall(0.5, 0): (2, np.inf), NonnegativeOrthant(): (np.inf, np.inf),
    }  # fmt: skip
    for region, wanted in radii.items():
        one = form(region=region)
        assert (one.sum_radius, one.length_radius) == pytest.approx(wanted), region
    assert [form(region=r).by for r in (Box(), Simplex(), CoveredBox(), GroupBall())] == [
        "entry", "row", "rows", "rows",
    ]  # fmt: skip
    assert form(GroupNorm(1, of_rows=True)).by == "rows"
    assert form(GroupNorm(1)).by == "row"


def test_equivalent_sets_have_one_representation():
    assert type(Regulariser(region=Box(0, np.inf)).region) is NonnegativeOrthant
    assert type(Regulariser(region=Box(-np.inf, np.inf)).region) is Reals
    assert type(Regulariser(region=Box(0, 1)).region) is Box


def test_defaults_of_a_penalty_that_declares_nothing():
    class Minimal(Penalty):
        def value(self, C):
            return np.abs(C).max(axis=1)

        def prox(self, V, step, box):
            return V

        def scaled(self, factor):
            return self

    penalty = Minimal()
    assert (penalty.weights, penalty.in_unit(2.0, 1.0), penalty.coupling_groups(True, 3)) == (
        None,
        None,
        None,
    )
    assert not penalty.couples_rows


@pytest.mark.parametrize(
    "region",
    [NonnegativeOrthant(), Box(0, 0.4), NonnegativeElasticNetBall(0.7, 1.5), Simplex(1.7), Reals()],
    ids=str,
)
def test_regularisers_in_another_unit(region):
    one = Regulariser(ElasticNet(0.2, 0.4), region)
    other, V, t = one.in_unit(2.0, 3.0), samples(11), 0.6
    np.testing.assert_allclose(other.prox(V, 3 * t / 4), one.prox(2 * V, t) / 2, atol=1e-12)
    np.testing.assert_allclose(other.value(V), one.value(2 * V) / 3)


def test_default_parameters():
    assert ElasticNet() == ElasticNet(0.0, 0.0)
    assert (L1(0.3), Tikhonov(0.3)) == (ElasticNet(0.3, 0.0), ElasticNet(0.0, 0.3))
    assert SparseGroupLasso(1.0) == SparseGroupLasso(1.0, 0.5, None)
    assert GroupNorm(1.0) == GroupNorm(1.0, None, 2.0, False)
    assert GroupLasso(1.0, np.array([0, 1])).groups == (0, 1)
    assert Regulariser() == Regulariser(ElasticNet(), NonnegativeOrthant())


@pytest.mark.parametrize("p", [2.0, np.inf])
@pytest.mark.parametrize("of_rows", [False, True])
def test_groups_couple_rows_or_columns(p, of_rows):
    for part in (GroupBall(1.0, GROUPS, p, of_rows), GroupNorm(1.0, GROUPS, p, of_rows)):
        np.testing.assert_array_equal(part.coupling_groups(of_rows, WIDTH), GROUPS)
        assert part.coupling_groups(not of_rows, WIDTH) is None
        assert type(part)(1.0, None, p, of_rows).coupling_groups(of_rows, 3).tolist() == [0, 0, 0]
    box, orthant = NonnegativeOrthant(), Regulariser(GroupNorm(1.0, GROUPS, p, of_rows))
    assert box.coupling_groups(True, WIDTH) is None
    np.testing.assert_array_equal(orthant.coupling_groups(of_rows, WIDTH), GROUPS)
    ball = Regulariser(region=GroupBall(1.0, GROUPS, p, of_rows))
    np.testing.assert_array_equal(ball.coupling_groups(of_rows, WIDTH), GROUPS)
    assert Regulariser(region=Simplex()).coupling_groups(of_rows, WIDTH) is None
