"""What sets and penalties declare of themselves is true of their members and their values."""

import numpy as np
import pytest

from thresher.penalties import (
    L1,
    Constrained,
    ElasticNet,
    GroupLasso,
    GroupNorm,
    Penalty,
    SparseGroupLasso,
    Tikhonov,
)
from thresher.penalties.form import Form
from thresher.sets import (
    Box,
    Budget,
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
by_set = pytest.mark.parametrize("name", SETS)


def far(seed=0, scale=2.0, shape=(K, F)):
    return scale * np.random.default_rng(seed).standard_normal(shape)


@by_set
def test_members_lie_between_the_bounds(name):
    region = SETS[name]
    lower, upper = region.bounds
    members = np.concatenate([region.project(far(k, 5)).ravel() for k in range(20)])
    assert members.min() >= lower - 1e-12
    assert members.max() <= upper + 1e-12
    assert region.nonnegative == (members.min() >= -1e-12)
    assert region.nonnegative == (lower >= 0)


@by_set
def test_zero_is_a_member_or_not(name):
    region = SETS[name]
    assert region.has_zero == region.contains(np.zeros((K, F)))


@by_set
def test_a_budget_is_what_members_spend(name):
    region = SETS[name]
    P = region.project(far(3, 5))
    if region.budget is None:
        assert name not in {"elastic", "l1", "l2", "simplex"}
        return
    gamma1, gamma2 = region.budget.gamma1, region.budget.gamma2
    spent = gamma1 * np.abs(P).sum(axis=1) + gamma2 / 2 * (P * P).sum(axis=1)
    np.testing.assert_allclose(spent, 1)  # it was far outside
    inside = region.project(np.full((K, F), 1e-3))
    spent = gamma1 * np.abs(inside).sum(axis=1) + gamma2 / 2 * (inside * inside).sum(axis=1)
    assert region.budget.tight == bool(np.allclose(spent, 1))


@by_set
def test_bounds_and_budget_are_all_or_not(name):
    """What keeps within the numbers is a member, where a set says that these are all."""
    region = SETS[name]
    assert region.by_numbers == (
        isinstance(region, Box) or name in {"elastic", "l1", "l2", "simplex"}
    )
    if not region.by_numbers:
        return
    lower, upper = region.bounds
    V = np.clip(far(4), max(lower, -3), min(upper, 3))
    if region.budget is not None:
        sums, squares = np.abs(V).sum(axis=1), (V * V).sum(axis=1)
        V /= region.budget.spent(sums, squares)[:, None]
        assert not region.contains(1.01 * V)
        assert region.contains(0.99 * V) != region.budget.tight
    assert region.contains(V)


@by_set
def test_rows_depend_on_each_other_or_not(name):
    region = SETS[name]
    V = far(5)
    V[:, 1] = -1  # a column that nothing covers
    other = V.copy()
    other[0] *= 3
    other[0, :2] += 5
    moved = not np.allclose(region.project(V)[1:], region.project(other)[1:], atol=1e-12)
    assert region.couples_rows == moved
    assert region.shares == isinstance(region, GroupBall)


@by_set
@pytest.mark.parametrize("unit", [0.5, 4.0])
def test_a_set_in_another_unit_has_its_members_divided(name, unit):
    region = SETS[name]
    there = region.in_unit(unit)
    if there is None:
        assert name in {"signed l1", "signed l2", "spectral", "nuclear"}
        return
    V = far(6)
    np.testing.assert_allclose(there.project(V), region.project(unit * V) / unit, atol=1e-12)
    assert type(there) is type(region)
    assert region.cone == (name in {"reals", "orthant"})


@by_set
def test_filled_atoms_reach_the_edge(name):
    region = SETS[name]
    D = np.abs(far(7))
    sizes = region.filled(D)
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
    assert region.filled(D.astype(np.float32)).dtype == np.float32


@by_set
@pytest.mark.parametrize("seed", range(3))
def test_oracles_find_the_least_of_a_linear_function(name, seed):
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
    # ⟨G, S⟩ = min over members: the projection of a point far down the slope comes near it.
    near = region.project(-1e5 * G)
    assert (G * S).sum() <= (G * near).sum() + 1e-9
    assert (G * S).sum() == pytest.approx((G * near).sum(), rel=1e-3, abs=1e-3)
    assert region.minimise_linear(G.astype(np.float32)).dtype == np.float32
    zero = region.minimise_linear(np.zeros_like(G))
    assert np.isfinite(zero).all()
    assert region.contains(zero, 1e-9)


@pytest.mark.parametrize("name", ["l1", "l2"])
def test_where_no_entry_pays_a_row_stays_zero(name):
    assert not SETS[name].minimise_linear(np.ones((2, F))).any()


@by_set
def test_membership_has_a_tolerance_relative_to_the_largest_entry(name):
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


@pytest.mark.parametrize("p", [2.0, np.inf])
@pytest.mark.parametrize("of_rows", [False, True])
def test_groups_are_tied_on_their_own_side(p, of_rows):
    for part in (GroupBall(1.0, GROUPS, p, of_rows), GroupNorm(1.0, GROUPS, p, of_rows)):
        np.testing.assert_array_equal(part.ties(of_rows, F), GROUPS)
        assert part.ties(not of_rows, F) is None
        assert type(part)(1.0, None, p, of_rows).ties(of_rows, 3).tolist() == [0, 0, 0]
    box, orthant = NonnegativeOrthant(), Constrained(GroupNorm(1.0, GROUPS, p, of_rows))
    assert box.ties(True, F) is None
    np.testing.assert_array_equal(orthant.ties(of_rows, F), GROUPS)
    ball = Constrained(region=GroupBall(1.0, GROUPS, p, of_rows))
    np.testing.assert_array_equal(ball.ties(of_rows, F), GROUPS)
    assert Constrained(region=Simplex()).ties(of_rows, F) is None


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        (lambda: Box(0, 1e-9), lambda: Box(0, 0), "lower < upper"),
        (lambda: Simplex(1e-9), lambda: Simplex(0), "simplex must be positive"),
        (lambda: NonnegativeL2Ball(1e-9), lambda: NonnegativeL2Ball(0), "ℓ2 ball must be positive"),
        (lambda: NonnegativeL1Ball(1e9), lambda: NonnegativeL1Ball(np.inf), "ℓ1 ball must be"),
        (lambda: L2Ball(1e-9), lambda: L2Ball(0), "ℓ2 ball must be positive"),
        (lambda: L1Ball(1e-9), lambda: L1Ball(0), "ℓ1 ball must be positive"),
        (lambda: SpectralBall(1e-9), lambda: SpectralBall(0), "spectral ball must be positive"),
        (lambda: NuclearBall(1e-9), lambda: NuclearBall(0), "nuclear-norm ball must be positive"),
        (lambda: GroupBall(1e-9), lambda: GroupBall(0), "group ball must be positive"),
        (lambda: GroupBall(1, p=2), lambda: GroupBall(1, p=1), "p=2 or p=inf; got p=1"),
        (lambda: NonnegativeElasticNetBall(0, 1e-9), lambda: NonnegativeElasticNetBall(0, 0),
         "not both zero"),
        (lambda: NonnegativeElasticNetBall(1e-9, 0), lambda: NonnegativeElasticNetBall(1, -1e-9),
         "gamma2 ≥ 0"),
        (lambda: NonnegativeElasticNetBall(1, 1), lambda: NonnegativeElasticNetBall(-1e-9, 1),
         "gamma1 ≥ 0"),
        (lambda: CoveredBox(1e-9, 1), lambda: CoveredBox(0, 1), "0 < least < upper"),
        (lambda: CoveredBox(0.9, 1), lambda: CoveredBox(1, 1), "0 < least < upper"),
        (lambda: ElasticNet(0, 0), lambda: ElasticNet(-1e-9), "nonnegative and finite"),
        (lambda: ElasticNet(0, 1e300), lambda: ElasticNet(0, np.inf), "nonnegative and finite"),
        (lambda: ElasticNet(1e300), lambda: ElasticNet(np.inf), "nonnegative and finite"),
        (lambda: ElasticNet(0, 0), lambda: ElasticNet(0, -1e-9), "nonnegative and finite"),
        (lambda: SparseGroupLasso(0), lambda: SparseGroupLasso(-1e-9), "must be nonnegative"),
        (lambda: SparseGroupLasso(1, 0), lambda: SparseGroupLasso(1, -1e-9), "between 0 and 1"),
        (lambda: SparseGroupLasso(1, 1), lambda: SparseGroupLasso(1, 1.1), "between 0 and 1"),
        (lambda: GroupNorm(0), lambda: GroupNorm(-1e-9), "must be nonnegative"),
        (lambda: GroupNorm(1, p=np.inf), lambda: GroupNorm(1, p=3), "p=2 or p=inf"),
        (lambda: Constrained(GroupNorm(1), Box(0, 1)),
         lambda: Constrained(GroupNorm(1), Box(1e-9, 1)), "contains 0"),
        (lambda: Constrained(GroupNorm(1), Box(-1, 0)),
         lambda: Constrained(GroupNorm(1), Box(-1, -1e-9)), "contains 0"),
        (lambda: Constrained(ElasticNet(1), Box(0.5, 1)),
         lambda: Constrained(ElasticNet(1), L2Ball()), "has negative members"),
        (lambda: Constrained(ElasticNet(1), Simplex()),
         lambda: Constrained(GroupNorm(1), Simplex()), "no exact proximal map"),
        (lambda: GroupNorm(1).prox(np.ones((1, 2)), 1.0, Box(0, 1)),
         lambda: GroupNorm(1).prox(np.ones((1, 2)), 1.0, Box(0.1, 1)), "contains 0"),
        (lambda: GroupNorm(1, of_rows=True).prox(np.ones((2, 2)), np.ones(1), Box(0, 1)),
         lambda: GroupNorm(1, of_rows=True).prox(np.ones((2, 2)), np.ones((2, 1)), Box(0, 1)),
         "one step for all"),
        (lambda: GroupBall(1, (0, 1)).project(np.ones((3, 2))),
         lambda: GroupBall(1, (0, 1)).project(np.ones((3, 3))), "2 entries, but there are 3"),
    ],
)  # fmt: skip
def test_refusals_draw_their_line(good, bad, words):
    good()
    with pytest.raises(ValueError, match=words):
        bad()


def test_parts_made_without_numbers():
    """What the formulas of the papers have where they name no number."""
    for kind in (L1Ball, L2Ball, NonnegativeL1Ball, NonnegativeL2Ball, Simplex, SpectralBall):
        assert kind() == kind(1.0)
    assert NuclearBall() == NuclearBall(1.0)
    assert Box() == Box(0.0, 1.0)
    assert CoveredBox() == CoveredBox(1e-8, 1.0, False)
    assert GroupBall() == GroupBall(1.0, None, 2.0, False)
    assert GroupNorm(1.0) == GroupNorm(1.0, None, 2.0, False)
    assert NonnegativeElasticNetBall() == NonnegativeElasticNetBall(1.0, 1.0)
    assert ElasticNet() == ElasticNet(0.0, 0.0)
    assert (L1(0.3), Tikhonov(0.3)) == (ElasticNet(0.3, 0.0), ElasticNet(0.0, 0.3))
    assert SparseGroupLasso(1.0) == SparseGroupLasso(1.0, 0.5, None)
    assert GroupLasso(1.0, np.array([0, 1])).groups == (0, 1)
    assert Constrained() == Constrained(ElasticNet(), NonnegativeOrthant())
    assert Budget(1.0, 0.0).tight is False
    assert all(type(g) is int for g in GroupBall(1, np.array(GROUPS)).groups)


class Plain(ConvexSet):
    """A set that declares nothing but what it must."""

    nonnegative = True

    def project(self, V):
        return np.maximum(V, 0)


class PlainPenalty(Penalty):
    """A penalty that declares nothing but what it must."""

    def value(self, C):
        return np.abs(C).max(axis=1)

    def prox(self, V, step, box):
        return V

    def scaled(self, factor):
        return self


def test_what_sets_and_penalties_do_not_declare_nobody_relies_on():
    plain, penalty = Plain(), PlainPenalty()
    assert (plain.couples_rows, plain.shares, plain.by_numbers) == (False, False, False)
    assert (plain.budget, plain.in_unit(2.0), plain.ties(True, 3)) == (None, None, None)
    assert plain.has_zero
    assert not plain.cone
    assert plain.bounds == (0, np.inf)
    assert plain.filled(np.ones((2, 2))) is None
    assert (penalty.weights, penalty.in_unit(2.0, 1.0), penalty.ties(True, 3)) == (None, None, None)
    assert (penalty.separable, penalty.couples_rows) == (False, False)
    form = Form.of(penalty, plain)
    assert (form.elastic, form.by, form.is_box, form.is_ball) == (False, "row", False, False)
    assert Constrained(ElasticNet(), plain).in_unit(2.0, 1.0) is None


# ------------------------------------------------------------------------------ penalties

PENALTIES = {
    "none": ElasticNet(),
    "l1": L1(0.3),
    "l2": Tikhonov(0.7),
    "both": ElasticNet(0.2, 0.4),
    "groups": GroupLasso(0.2, GROUPS),
    "single groups": GroupLasso(0.2, range(F)),
    "no mix": SparseGroupLasso(0.3, 0.0, GROUPS),
    "sparse groups": SparseGroupLasso(0.3, 0.6, GROUPS),
    "nothing": SparseGroupLasso(0.0, 0.6, GROUPS),
    "norm": GroupNorm(0.3, GROUPS),
    "greatest": GroupNorm(0.3, GROUPS, np.inf),
    "single norms": GroupNorm(0.3, range(F), np.inf),
    "no norm": GroupNorm(0.0, GROUPS),
    "norm of rows": GroupNorm(0.3, (0, 0, 1, 1), of_rows=True),
}
by_penalty = pytest.mark.parametrize("name", PENALTIES)


@by_penalty
def test_a_penalty_times_a_number_and_in_another_unit(name):
    penalty, C = PENALTIES[name], far(9)
    np.testing.assert_allclose(penalty.scaled(3.0).value(C), 3 * penalty.value(C))
    np.testing.assert_allclose(
        penalty.in_unit(2.0, 5.0).value(C), penalty.value(2 * C) / 5, atol=1e-12
    )


@by_penalty
def test_weights_are_those_of_an_elastic_net(name):
    penalty, C = PENALTIES[name], far(10)
    single = {"groups", "sparse groups", "norm", "greatest", "norm of rows"}
    assert (penalty.weights is None) == (name in single)
    assert penalty.separable == (penalty.weights is not None)
    assert penalty.couples_rows == (name == "norm of rows")
    if penalty.weights is not None:
        net = ElasticNet(*penalty.weights)
        np.testing.assert_allclose(penalty.value(C), net.value(C), atol=1e-12)
        for box in (Box(-0.4, 0.8), Box(0, np.inf)):
            found, wanted = penalty.prox(C, 0.7, box), net.prox(C, 0.7, box)
            np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_forms_tell_sets_by_their_numbers():
    def form(penalty=ElasticNet(), region=NonnegativeOrthant()):  # noqa: B008 - frozen parts
        return Form.of(penalty, region)

    told = {  # is_bare, is_box, is_orthant, is_free, is_ball
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
        found = (one.is_bare, one.is_box, one.is_orthant, one.is_free, one.is_ball)
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


def test_forms_say_what_plain_codes_and_kernels_lack():
    def lacks(penalty, region):
        one = Form.of(penalty, region)
        return one.lacks_plain_codes is not None, one.lacks_numbers is not None

    assert lacks(L1(1), NonnegativeOrthant()) == (False, False)
    assert lacks(GroupNorm(1), NonnegativeOrthant()) == (True, True)
    assert lacks(L1(1), Box(0, 1)) == (True, False)
    assert lacks(Tikhonov(1), Box(-1, 1)) == (True, False)
    assert lacks(L1(1), Box(-1, 1)) == (True, True)
    assert lacks(L1(1), Simplex()) == (True, False)
    assert lacks(L1(1), GroupBall()) == (True, True)


@by_set
def test_regularisers_keep_their_form_in_another_unit(name):
    region = SETS[name]
    if region.in_unit(2.0) is None or not (region.nonnegative or isinstance(region, Box)):
        return
    one = Constrained(ElasticNet(0.2, 0.4), region)
    there, V = one.in_unit(2.0, 3.0), far(11)
    # argmin ½‖c − v‖² + 4t·φ(2c)/3·… : measured in units of 2, with prices in units of 3.
    t = 0.6
    np.testing.assert_allclose(there.prox(V, 3 * t / 4), one.prox(2 * V, t) / 2, atol=1e-12)
    np.testing.assert_allclose(there.value(V), one.value(2 * V) / 3)
    assert one.couples_rows == region.couples_rows


def test_the_same_set_in_other_words_is_projected_on_the_same_way():
    assert type(Constrained(region=Box(0, np.inf)).region) is NonnegativeOrthant
    assert type(Constrained(region=Box(-np.inf, np.inf)).region) is Reals
    assert type(Constrained(region=Box(0, 1)).region) is Box
