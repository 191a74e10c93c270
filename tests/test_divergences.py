"""Divergences: slopes, proximal maps, limits, domains, and how the families meet."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import solve
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    Bregman,
    Csiszar,
    ElasticDistance,
    Hellinger,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    L2Distance,
    Mahalanobis,
    SquaredL2,
)

WIDTH = 5
_M = (
    np.eye(WIDTH)
    + 0.3 * np.ones((WIDTH, WIDTH))
    - 0.5 * np.eye(WIDTH, k=1)
    - 0.5 * np.eye(WIDTH, k=-1)
)

DIVERGENCES = {
    "kl": KullbackLeibler(),
    "hellinger": Hellinger(),
    "itakura-saito": ItakuraSaito(),
    "alpha -1.5": AlphaDivergence(-1.5),
    "alpha 0": AlphaDivergence(0.0),
    "alpha 0.3": AlphaDivergence(0.3),
    "alpha 2.2": AlphaDivergence(2.2),
    "beta -0.7": BetaDivergence(-0.7),
    "beta 0.5": BetaDivergence(0.5),
    "beta 1": BetaDivergence(1.0),
    "beta 1.4": BetaDivergence(1.4),
    "beta 2": BetaDivergence(2.0),
    "beta 3.1": BetaDivergence(3.1),
    "l1": L1Distance(),
    "elastic": ElasticDistance(0.7),
    "l2": L2Distance(),
    "mahalanobis": Mahalanobis(_M),
    "csiszar": Csiszar(lambda u: (u - 1) ** 2 / (u + 1), lambda u: 1 - 4 / (u + 1) ** 2),
    "bregman": Bregman(np.cosh, np.sinh, np.cosh),
    "bregman by differences": Bregman(lambda u: u**1.5, lambda u: 1.5 * u**0.5, is_convex=True),
}
by_divergence = pytest.mark.parametrize("name", DIVERGENCES)
CONVEX = [name for name, loss in DIVERGENCES.items() if loss.convex]


def _block(seed, rows=4):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 3, (rows, WIDTH)), rng.uniform(0.1, 3, (rows, WIDTH))


def _weights(name, seed=8):
    yield None
    if name != "mahalanobis":
        rng = np.random.default_rng(seed)
        yield (rng.random((4, WIDTH)) > 0.3).astype(float)
        yield rng.uniform(0, 2, (4, WIDTH)) * (rng.random((4, WIDTH)) > 0.2)


@by_divergence
@given(seed=st.integers(0, 2**32 - 1))
def test_slope_by_fourth_order_differences(name, seed):
    loss = DIVERGENCES[name]
    X, Y = _block(seed)
    direction = np.random.default_rng(seed + 1).uniform(-1, 1, Y.shape)
    h = 1e-4
    for weight in _weights(name):
        values = [loss.value(X, Y + j * h * direction, weight) for j in (-2, -1, 1, 2)]
        slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        exact = (loss.gradient(X, Y, weight) * direction).sum(axis=1)
        near_kink = name in ("l1", "elastic") and (np.abs(X - Y) < 3 * h).any()
        if not near_kink:
            np.testing.assert_allclose(slope, exact, rtol=1e-5, atol=1e-6)


@by_divergence
@given(seed=st.integers(0, 2**32 - 1))
def test_parts_of_the_slope_are_nonnegative_and_differ_by_it(name, seed):
    loss = DIVERGENCES[name]
    X, Y = _block(seed)
    for weight in _weights(name):
        positive, negative = loss.split(X, Y, weight)
        assert positive.min() >= 0
        assert negative.min() >= 0
        np.testing.assert_allclose(
            positive - negative, loss.gradient(X, Y, weight), rtol=1e-6, atol=1e-9
        )


@by_divergence
def test_zero_exactly_where_data_are_met(name):
    loss = DIVERGENCES[name]
    X, Y = _block(1)
    np.testing.assert_allclose(loss.value(X, X), 0, atol=1e-12)
    assert (loss.value(X, Y) > 1e-3).all()
    assert (loss.value(X, Y * 1e-6) > loss.value(X, X)).all()


@pytest.mark.parametrize("name", CONVEX)
@given(seed=st.integers(0, 2**32 - 1))
def test_convex_where_it_says_so(name, seed):
    loss = DIVERGENCES[name]
    X, Y = _block(seed)
    Z = _block(seed + 1)[1]
    excess = loss.value(X, Z) - loss.value(X, Y) - (loss.gradient(X, Y) * (Z - Y)).sum(axis=1)
    assert np.all(excess >= -1e-9)


@pytest.mark.parametrize("beta", [-0.5, 0.0, 0.6, 2.5, 4.0])
def test_not_convex_where_it_says_so(beta):
    """Somewhere a chord lies below the divergence."""
    loss = BetaDivergence(beta)
    assert not loss.convex
    x = np.full((400, 1), 1.0)
    y = np.geomspace(1e-3, 1e3, 400)[:, None]
    slope = loss.gradient(x, y)[:, 0]
    assert (np.diff(slope) < 0).any()


@pytest.mark.parametrize("name", CONVEX)
@given(seed=st.integers(0, 2**32 - 1))
def test_prox_minimises_its_objective(name, seed):
    """No point nearby is better, with one step per row; missing entries stay."""
    loss = DIVERGENCES[name]
    rng = np.random.default_rng(seed)
    X, _ = _block(seed)
    V = rng.uniform(-1, 4, X.shape)
    if not getattr(loss, "positive_prediction", False):
        V = rng.normal(size=X.shape)
    step = rng.uniform(0.02, 5, (len(X), 1))
    for weight in _weights(name):
        Y = loss.prox(V, X, step, weight)

        def objective(Z, weight=weight):
            return loss.value(X, Z, weight) + ((Z - V) ** 2).sum(axis=1) / (2 * step[:, 0])

        best = objective(Y)
        for size in (1e-3, 1e-2, 0.1):
            near = Y + size * rng.normal(size=Y.shape)
            near = np.maximum(near, 1e-9) if getattr(loss, "positive_prediction", False) else near
            assert np.all(objective(near) >= best - 1e-9 * (1 + np.abs(best)))
        if weight is not None:
            np.testing.assert_array_equal(Y[weight == 0], V[weight == 0])


def _statements(x, y):
    """Independent statements of convex divergences, in y."""
    return {
        "kl": cp.sum(cp.kl_div(x, y)),
        "hellinger": 2 * (x.sum() + cp.sum(y) - 2 * np.sqrt(x) @ cp.sqrt(y)),
        "l1": cp.norm1(x - y),
        "elastic": cp.norm1(x - y) + 0.35 * cp.sum_squares(x - y),
        "l2": cp.norm2(x - y),
        "mahalanobis": cp.quad_form(x - y, cp.psd_wrap(_M)) / 2,
    }


@pytest.mark.parametrize("name", ["kl", "hellinger", "l1", "elastic", "l2", "mahalanobis"])
def test_prox_against_cvxpy(name):
    loss = DIVERGENCES[name]
    X, V = _block(5)
    Y = loss.prox(V - 0.5, X, 0.7)
    for x, v, y in zip(X, V - 0.5, Y, strict=True):
        free = cp.Variable(WIDTH)
        solve(_statements(x, free)[name] + cp.sum_squares(free - v) / 1.4, [])
        np.testing.assert_allclose(y, free.value, atol=2e-4)


@pytest.mark.parametrize("name", ["kl", "hellinger", "l1", "elastic", "l2", "mahalanobis"])
def test_value_against_an_independent_statement(name):
    X, Y = _block(6)
    values = DIVERGENCES[name].value(X, Y)
    for x, y, value in zip(X, Y, values, strict=True):
        assert value == pytest.approx(_statements(x, cp.Constant(y))[name].value, abs=1e-6)


# ------------------------------------------------------------- how the families meet


def test_families_meet():
    X, Y = _block(7)
    pairs = [
        (AlphaDivergence(1.0), BetaDivergence(1.0)),
        (BetaDivergence(2.0), SquaredL2()),
        (AlphaDivergence(0.5), Hellinger()),
        (BetaDivergence(0.0), ItakuraSaito()),
    ]
    for one, other in pairs:
        np.testing.assert_allclose(one.value(X, Y), other.value(X, Y), rtol=1e-6)
        np.testing.assert_allclose(one.gradient(X, Y), other.gradient(X, Y), rtol=1e-6)
    np.testing.assert_allclose(
        Hellinger().value(X, Y), 2 * ((np.sqrt(X) - np.sqrt(Y)) ** 2).sum(axis=1), rtol=1e-6
    )
    kl = (X * np.log(X / Y) - X + Y).sum(axis=1)
    np.testing.assert_allclose(KullbackLeibler().value(X, Y), kl, rtol=1e-6)
    is_ = (X / Y - np.log(X / Y) - 1).sum(axis=1)
    np.testing.assert_allclose(ItakuraSaito().value(X, Y), is_, rtol=1e-6)


@pytest.mark.parametrize("family", [AlphaDivergence, BetaDivergence])
@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_limits_are_reached_without_cancellation(family, limit):
    """Near a limit the difference to it is proportional to the distance, down to rounding."""
    X, Y = _block(8)
    at_limit = family(limit).value(X, Y)
    for distance in (1e-3, 1e-6, 1e-9, 1e-12, 1e-15):
        for sign in (-1, 1):
            near = family(limit + sign * distance).value(X, Y)
            assert np.all(np.abs(near - at_limit) <= 50 * distance + 1e-12)
            slopes = family(limit + sign * distance).gradient(X, Y)
            expected = family(limit).gradient(X, Y)
            assert np.all(
                np.abs(slopes - expected) <= (10 * distance + 1e-12) * (1 + abs(expected))
            )


def test_a_generator_gives_the_divergence_that_it_names():
    X, Y = _block(9)
    kl = KullbackLeibler()
    csiszar = Csiszar(lambda u: u * np.log(u) - u + 1, np.log)
    bregman = Bregman(lambda u: u * np.log(u) - u, np.log, is_convex=True)
    for loss in (csiszar, bregman):
        np.testing.assert_allclose(loss.value(X, Y), kl.value(X, Y), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(loss.gradient(X, Y), kl.gradient(X, Y), rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------- domains and scale


@pytest.mark.parametrize("name", [n for n in DIVERGENCES if n not in ("csiszar", "bregman")])
def test_finite_at_the_edge_of_the_domain(name):
    """Zeros in data and predictions give finite numbers."""
    loss = DIVERGENCES[name]
    X = np.array([[0.0, 1.0, 0.0, 2.0, 0.0], [0, 0, 0, 0, 0]])
    Y = np.array([[0.0, 0.0, 1.0, 2.0, 0.5], [0, 0, 1, 0, 0]])
    for dtype in (np.float64, np.float32):
        x, y = X.astype(dtype), Y.astype(dtype)
        for result in (loss.value(x, y), loss.gradient(x, y), *loss.split(x, y)):
            assert result.dtype == dtype
            assert np.isfinite(result).all()


@pytest.mark.parametrize("name", ["kl", "hellinger", "l1", "alpha 0.3", "beta 1"])
def test_where_data_are_zero_the_cost_is_a_multiple_of_the_prediction(name):
    """What lets a sparse row be coded on its own words (errata E.4)."""
    loss = DIVERGENCES[name]
    X, Y = np.zeros((1, 3)), np.array([[0.0, 0.5, 7.0]])
    assert loss.value(X, Y)[0] == pytest.approx(loss.zero_slope * Y.sum())
    positive, negative = loss.split(X, Y)
    np.testing.assert_allclose(positive, loss.zero_slope)
    np.testing.assert_allclose(negative, 0)


@pytest.mark.parametrize(
    ("name", "degree"),
    [
        ("kl", 1), ("hellinger", 1), ("alpha -1.5", 1), ("alpha 2.2", 1), ("itakura-saito", 0),
        ("beta 1.4", 1.4), ("beta 3.1", 3.1), ("l1", 1), ("l2", 1), ("mahalanobis", 2),
    ],
)  # fmt: skip
def test_homogeneous(name, degree):
    """Data and prediction times s cost ``s^degree`` as much, floors included."""
    loss = DIVERGENCES[name]
    X, Y = _block(10)
    X[0, 0] = Y[1, 1] = 0
    np.testing.assert_allclose(
        loss.value(X * 1024, Y * 1024), loss.value(X, Y) * 1024**degree, rtol=1e-9
    )


@by_divergence
def test_missing_entries_do_not_matter(name):
    if name == "mahalanobis":
        pytest.skip("refuses gaps")
    loss = DIVERGENCES[name]
    X, Y = _block(4)
    mask = (np.random.default_rng(9).random(X.shape) > 0.3).astype(float)
    changed = np.where(mask == 0, 50.0, X)
    np.testing.assert_array_equal(loss.value(X, Y, mask), loss.value(changed, Y, mask))
    np.testing.assert_array_equal(loss.gradient(X, Y, mask), loss.gradient(changed, Y, mask))
    for one, other in zip(loss.split(X, Y, mask), loss.split(changed, Y, mask), strict=True):
        np.testing.assert_array_equal(one, other)


# ----------------------------------------------------------------------- refusals


def test_wrong_pairs_are_refused():
    with pytest.raises(ValueError, match="does not belong"):
        Csiszar(lambda u: (u - 1) ** 2, lambda u: u - 1)
    with pytest.raises(ValueError, match="not convex"):
        Bregman(np.sin, np.cos)
    with pytest.raises(ValueError, match="φ\\(1\\) = 0"):
        Csiszar(lambda u: u**2, lambda u: 2 * u)
    with pytest.raises(ValueError, match="same shape"):
        Csiszar(lambda u: 1.0, lambda u: 0.0)
    with pytest.raises(ValueError, match="does not belong"):
        Bregman(lambda u: u**2, lambda u: 2 * u, lambda u: u)


def test_bad_matrices_are_refused():
    with pytest.raises(ValueError, match="square"):
        Mahalanobis(np.ones((2, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        Mahalanobis(np.array([[1.0, 0.5], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="positive definite"):
        Mahalanobis(np.ones((2, 2)))
    with pytest.raises(ValueError, match="missing values"):
        Mahalanobis(np.eye(2)).check_weight(np.ones((1, 2)))


def test_non_convex_divergences_have_no_proximal_map():
    with pytest.raises(ValueError, match="majorisation"):
        ItakuraSaito().prox(np.ones((1, 2)), np.ones((1, 2)), 1.0)


def test_huber_is_between_the_square_and_the_distance():
    X, Y = _block(11)
    np.testing.assert_allclose(Huber(1e6).value(X, Y), SquaredL2().value(X, Y))
    small = 1e-6
    np.testing.assert_allclose(
        Huber(small).value(X, Y) / small, L1Distance().value(X, Y), rtol=1e-4
    )
