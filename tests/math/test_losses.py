"""Losses: values against CVXPY, gradients, proximal maps, and every property they declare."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statements
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    Bregman,
    Csiszar,
    ElasticDistance,
    Envelope,
    Hellinger,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    L2Distance,
    Loss,
    Mahalanobis,
    NonsmoothPoints,
    SmoothedL1,
    SquaredL2,
)
from thresher.penalties import ElasticNet, GroupLasso, SparseGroupLasso
from thresher.sets import (
    Box,
)

N, F = 5, 4
MATRIX = np.diag([1.0, 2, 3, 4]) + 0.5
LOSSES = {
    "squares": SquaredL2(),
    "huber": Huber(0.3),
    "bounded huber": Huber(0.3, 0.4),
    "only above": Huber(0.3, 0.4, nonnegative=True),
    "elastic outliers": Envelope(ElasticNet(0.2, 0.7), Box(-0.5, 0.6)),
    "whole samples": Envelope(GroupLasso(0.4)),
    "whole samples, bounded": Envelope(GroupLasso(0.4), Box(-0.6, 0.6)),
    "groups": Envelope(GroupLasso(0.4, (0, 0, 1, 1))),
    "sparse groups, bounded": Envelope(SparseGroupLasso(0.4, 0.5, (0, 0, 1, 1)), Box(0, 0.6)),
    "l1": L1Distance(),
    "l1, light zeros": L1Distance(0.4),
    "elastic": ElasticDistance(0.8),
    "elastic, light zeros": ElasticDistance(0.8, 0.4),
    "smoothed": SmoothedL1(0.3),
    "smoothed, light zeros, squares": SmoothedL1(0.3, 0.4, 0.7),
    "l2": L2Distance(),
    "mahalanobis": Mahalanobis(MATRIX),
    "kl": KullbackLeibler(),
    "hellinger": Hellinger(),
    "alpha 2": AlphaDivergence(2.0),
    "alpha 0": AlphaDivergence(0.0),
    "alpha -1": AlphaDivergence(-1.0),
    "alpha 0.3": AlphaDivergence(0.3),
    "is": ItakuraSaito(),
    "beta -1": BetaDivergence(-1.0),
    "beta 0.5": BetaDivergence(0.5),
    "beta 1": BetaDivergence(1.0),
    "beta 1.5": BetaDivergence(1.5),
    "beta 2": BetaDivergence(2.0),
    "beta 3": BetaDivergence(3.0),
    "csiszar": Csiszar(lambda u: u * np.log(u), lambda u: np.log(u) + 1),
    "bregman": Bregman(lambda u: u**3 / 6, lambda u: u * u / 2),
    "bregman, told": Bregman(
        lambda u: u * np.log(u), lambda u: np.log(u) + 1, lambda u: 1 / u, is_convex=True
    ),
}
by_loss = pytest.mark.parametrize("name", LOSSES)
GENERATED = {name for name in LOSSES if name.startswith(("csiszar", "bregman"))}
GROUPED = {"whole samples", "whole samples, bounded", "groups", "sparse groups, bounded"}
WEIGHTED = {name for name in LOSSES if name not in {"mahalanobis", "l2", *GROUPED}}
NONSMOOTH = {name for name, loss in LOSSES.items() if not loss.smooth} | {
    "smoothed, light zeros, squares"
}


def block(seed=0, dtype=np.float64):
    """Positive samples and predictions, so that every loss has a meaning."""
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(0.2, 2, (N, F)).astype(dtype) for _ in range(2))


def slope_along(f, t, h=1e-4):
    """Derivative of a function of one number by fourth-order differences."""
    return (f(t - 2 * h) - 8 * f(t - h) + 8 * f(t + h) - f(t + 2 * h)) / (12 * h)


def weights(name, seed=9):
    """None, a mask and, where the loss allows it, general weights."""
    rng = np.random.default_rng(seed)
    yield None
    if name != "mahalanobis":
        yield (rng.random((N, F)) < 0.7).astype(float)
    if name in WEIGHTED:
        yield rng.uniform(0.1, 2, (N, F)) * (rng.random((N, F)) < 0.8)


@pytest.mark.parametrize("name", sorted(set(LOSSES) - GENERATED - {"alpha 0"}))
def test_values_against_cvxpy(name):
    """Outliers are the minimisers over r; everything else is a formula."""
    loss, (X, Y) = LOSSES[name], block(3)
    X[0, 0] = 0
    for weight in weights(name):
        W = np.ones_like(X) if weight is None else weight
        wanted = statements.value(*statements.losses(loss, X, cp.Constant(Y), W))
        np.testing.assert_allclose(loss.value(X, Y, weight), wanted, rtol=1e-6, atol=2e-6)
    if loss.envelope is loss:
        R = loss.outliers(X, Y)
        cost = ((X - Y - R) ** 2).sum(axis=1) / 2 + loss.penalty.value(R)
        np.testing.assert_allclose(cost, loss.value(X, Y), rtol=1e-9)
        assert loss.region.contains(R)
        assert np.abs(R).max() > 0


@by_loss
@given(seed=st.integers(0, 2**32 - 1))
def test_gradients_are_those_of_the_values(name, seed):
    loss = LOSSES[name]
    X, Y = block(seed)
    if name in NONSMOOTH:
        Y = np.where(np.abs(X - Y) < 1e-2, Y + 0.1, Y)
    direction = np.random.default_rng(seed + 1).standard_normal(Y.shape)
    for weight in weights(name, seed):
        found = (loss.gradient(X, Y, weight) * direction).sum(axis=1)
        wanted = slope_along(lambda t, w=weight: loss.value(X, Y + t * direction, w), 0.0)
        # Where the second derivative jumps, differences are accurate to first order only.
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-4)
        value, gradient = loss.value_and_gradient(X, Y, weight)
        np.testing.assert_allclose(value, loss.value(X, Y, weight), rtol=1e-12)
        np.testing.assert_allclose(gradient, loss.gradient(X, Y, weight), rtol=1e-12)


@by_loss
def test_gradients_split_into_nonnegative_parts(name):
    loss = LOSSES[name]
    X, Y = block()
    X[0, 0] = 0
    for up, down in (loss.split(X, Y), getattr(loss, "entry_split", loss.split)(X + 1e-3, Y)):
        assert min(up.min(), down.min()) >= 0
    up, down = loss.split(X, Y)
    np.testing.assert_allclose(up - down, loss.gradient(X, Y), rtol=1e-6, atol=1e-6)


@by_loss
def test_convexity(name):
    loss, rng = LOSSES[name], np.random.default_rng(2)
    X, A, B = rng.uniform(0.05, 3, (3, 4000, F))
    rise = (loss.value(X, A) + loss.value(X, B)) / 2 - loss.value(X, (A + B) / 2)
    assert (rise.min() >= -1e-9) == loss.convex
    assert loss.convex_surrogate.convex
    assert (loss.convex_surrogate is loss) == loss.convex


@by_loss
def test_the_curvature_is_the_smallest_lipschitz_constant(name):
    """``‖∇(y) − ∇(y′)‖ ≤ L‖y − y′‖``, reached; where it is infinite slopes have no such bound."""
    loss, rng = LOSSES[name], np.random.default_rng(3)
    X, A = rng.uniform(0.5, 2, (2, 4000, F))
    if not np.isfinite(loss.curvature):
        return
    B = A + 1e-3 * rng.standard_normal(A.shape)
    steep = np.linalg.norm(loss.gradient(X, A) - loss.gradient(X, B), axis=1)
    most = (steep / np.linalg.norm(A - B, axis=1)).max()
    assert 0.97 * loss.curvature <= most <= loss.curvature * (1 + 1e-6)


BOUNDED = {"squares", "huber", "bounded huber", "only above", "elastic outliers", "beta 2"}


def test_which_losses_have_a_bounded_curvature():
    found = {name for name, loss in LOSSES.items() if np.isfinite(loss.curvature)}
    assert found == BOUNDED | GROUPED | {"mahalanobis"}


@by_loss
@pytest.mark.parametrize("unit", [0.25, 3.0])
def test_homogeneity_and_change_of_unit(name, unit):
    loss = LOSSES[name]
    X, Y = block()
    if loss.degree is None:
        assert name.startswith("bregman")
        return
    there = loss.in_unit(unit)
    np.testing.assert_allclose(
        loss.value(unit * X, unit * Y), unit**loss.degree * there.value(X, Y), rtol=1e-6
    )
    assert there.degree == loss.degree
    assert there.convex == loss.convex


@by_loss
def test_zero_entries_cost_a_multiple_of_the_prediction(name):
    loss = LOSSES[name]
    y = np.linspace(0.5, 3, 6)[:, None] * np.ones(F)
    zero = np.zeros_like(y)
    with np.errstate(all="ignore"):
        cost = loss.value(zero, y) / y.sum(axis=1)
    linear = bool(np.isfinite(cost).all() and np.ptp(cost) < 1e-6 * cost.max())
    if loss.zero_slope is not None:
        assert linear
        assert cost[0] == pytest.approx(loss.zero_slope, rel=1e-6)
    else:  # a norm, or linear but for a floor, may be so too
        assert not linear or name in {"l2", "csiszar", "alpha 0", "alpha -1", "bregman, told"}
    assert loss.stays_sparse == (loss.zero_slope is not None or name == "squares")


@by_loss
def test_metrics_are_quadratic_forms(name):
    loss = LOSSES[name]
    X, Y = block()
    E = X - Y
    if loss.metric is None:
        assert name not in {"squares", "mahalanobis"}
        return
    M = loss.metric * np.eye(F) if np.ndim(loss.metric) == 0 else loss.metric
    np.testing.assert_allclose(loss.value(X, Y), np.einsum("nf,fg,ng->n", E, M, E) / 2)
    np.testing.assert_allclose(loss.gradient(X, Y), -E @ M)


@by_loss
def test_entry_constants_are_those_of_the_outliers(name):
    loss = LOSSES[name]
    X, Y = 3 * block()[0] - 2, block()[1]
    if loss.entry_constants is None:
        assert name not in {"squares", *BOUNDED - {"beta 2"}}
        return
    l1, l2, lower, upper = loss.entry_constants
    e = (X - Y)[..., None]
    r = np.linspace(max(lower, -6), min(upper, 6), 2401)
    cost = ((e - r) ** 2 / 2 + l1 * np.abs(r) + l2 / 2 * r * r).min(axis=-1)
    if l1 > 10:  # no outlier pays
        cost = e[..., 0] ** 2 / 2
    np.testing.assert_allclose(loss.value(X, Y), cost.sum(axis=1), atol=2e-5)


@by_loss
def test_the_powers_make_a_majoriser(name):
    """``d(x, tỹ) − d(x, ỹ) ≤ ∫ ỹ(∇⁺ s^b − ∇⁻ s^−a) ds`` for every t, with equality at one."""
    loss = LOSSES[name]
    if loss.powers is None:
        assert name in {"alpha 0"} or name.split()[0] not in {"alpha", "beta", "kl", "is"}
        return
    a, b = loss.powers
    X, Y = block()
    up, down = loss.entry_split(X, Y)

    def integral(t, p):
        return np.log(t) if p == -1 else (t ** (p + 1) - 1) / (p + 1)

    for t in (0.3, 0.9, 1.1, 4.0):
        rise = loss.entry_value(X, t * Y) - loss.entry_value(X, Y)
        bound = Y * (up * integral(t, b) - down * integral(t, -a))
        assert (rise <= bound + 1e-9).all()
    # The least of such functions: the exponents are those of its convex parts.
    tight = loss.entry_value(X, 1.3 * Y) - loss.entry_value(X, Y)
    bound = Y * (up * integral(1.3, b) - down * integral(1.3, -a))
    if loss.convex and loss.zero_slope is not None:
        np.testing.assert_allclose(tight, bound, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.convex])
@given(seed=st.integers(0, 2**32 - 1))
def test_proximal_maps_minimise(name, seed):
    """``loss(y) + ‖y − v‖²/2t`` is convex: its minimum has no better point nearby."""
    loss, rng = LOSSES[name], np.random.default_rng(seed)
    X, V = block(seed)
    X[0, 0] = X[1, 1] = 0
    V[2] *= 3
    step = rng.uniform(0.05, 3, (N, 1))
    least = 1e-9 if loss.needs_nonnegative_prediction or loss.zero_slope is not None else -np.inf
    for weight in weights(name, seed):
        P = loss.prox(V, X, step, weight)

        def costs(Y, weight=weight):
            return loss.value(X, Y, weight) + ((Y - V) ** 2).sum(axis=1) / (2 * step[:, 0])

        best = costs(P)
        for size in (1e-3, 1e-2, 0.1, 1.0):
            near = P + size * rng.standard_normal(P.shape) * (rng.random(P.shape) < 0.5)
            assert (best <= costs(np.maximum(near, least)) + 1e-7 * (1 + np.abs(best))).all()
        if weight is not None:
            np.testing.assert_array_equal(P[weight == 0], V[weight == 0])
        if loss.smooth and loss.curvature < np.inf:
            stationary = loss.gradient(X, P, weight) + (P - V) / step
            np.testing.assert_allclose(stationary, 0, atol=1e-8)


@by_loss
def test_the_domain_of_predictions(name):
    loss = LOSSES[name]
    X, Y = block()
    Y = -Y
    assert loss.needs_nonnegative_prediction or not loss.needs_positive_prediction
    if not loss.needs_nonnegative_prediction:
        direction = np.random.default_rng(1).standard_normal(Y.shape)
        found = (loss.gradient(X, Y) * direction).sum(axis=1)
        wanted = slope_along(lambda t: loss.value(X, Y + t * direction), 0.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    if loss.needs_positive_prediction:  # what is not positive counts as next to nothing
        np.testing.assert_array_equal(loss.value(X, Y), loss.value(X, np.zeros_like(Y)))
        assert np.isfinite(loss.value(X, Y)).all()
        assert np.isfinite(loss.gradient(X, np.zeros_like(Y))).all()


@by_loss
def test_sums_over_features_are_declared(name):
    loss = LOSSES[name]
    X, Y = block()
    pieces = sum(
        loss.value(X[:, f : f + 1], Y[:, f : f + 1])
        for f in range(F)
        if name not in GROUPED - {"whole samples"} | {"mahalanobis"}
    )
    whole = loss.value(X, Y)
    assert loss.exchangeable_features == bool(np.allclose(whole, pieces, rtol=1e-6))
    moved = Y.copy()
    moved[:, 0] += 0.5 * (X[:, 0] - moved[:, 0])
    change = np.abs(loss.gradient(X, moved) - loss.gradient(X, Y))[:, 1:].max()
    assert loss.couples_features == (name == "mahalanobis")
    assert (change > 1e-9) == (name in {"mahalanobis", "l2", *GROUPED})


@by_loss
def test_nonsmooth_points(name):
    loss = LOSSES[name]
    X, Y = block()
    X[0] = 0
    assert loss.smooth == (loss.nonsmooth_points is None)
    if loss.nonsmooth_points is None:
        return
    weight = np.random.default_rng(6).uniform(0, 2, X.shape)
    for w in (None, weight):
        B = loss.nonsmooth_points.bounds(X, w)
        B = np.ones_like(X) if B is None else B
        e = np.abs(X - Y)
        wanted = (B * e + B * loss.nonsmooth_points.square / 2 * e * e).sum(axis=1)
        np.testing.assert_allclose(loss.value(X, Y, w), wanted)
    at = np.full((1, F), 0.7)
    jump = loss.gradient(at, at + 1e-9) - loss.gradient(at, at - 1e-9)
    np.testing.assert_allclose(jump, 2, atol=1e-6)


@pytest.mark.parametrize("zero_weight", [1.0, 0.4])
@pytest.mark.parametrize("width", [0.05, 0.5])
@pytest.mark.parametrize("kind", ["l1", "elastic"])
def test_smoothed_losses_differ_only_near_nonsmooth_points(kind, width, zero_weight):
    loss = L1Distance(zero_weight) if kind == "l1" else ElasticDistance(0.8, zero_weight)
    round_ = loss.smoothed(width)
    assert round_.smooth
    X, Y = block(7)
    X[0, :2] = 0
    far = (np.abs(X - Y) >= width) | (X == 0)
    gap = round_.entry_value(X, Y) - loss.entry_value(X, Y)
    assert (gap[far] == 0).all() or np.abs(gap[far]).max() < 1e-12
    assert ((gap >= -1e-12) & (gap <= width / 2 + 1e-12)).all()
    np.testing.assert_allclose(
        round_.entry_gradient(X, Y)[far], loss.entry_gradient(X, Y)[far], atol=1e-12
    )
    e = np.abs(X - Y)
    slopes = np.abs(round_.entry_gradient(X, Y))
    np.testing.assert_allclose((round_.entry_irls_weights(X, Y) * e)[X > 0], slopes[X > 0])
    if loss.nonsmooth_points.square == 0:
        assert (round_.entry_irls_weights(X, Y)[X == 0] == 0).all()
    assert SquaredL2().smoothed(width) == SquaredL2()


@by_loss
def test_second_derivatives_of_entries(name):
    loss = LOSSES[name]
    if not hasattr(loss, "entry_curvature"):
        assert not loss.has_entry_curvature
        return
    assert loss.has_entry_curvature
    X, Y = block(8)
    wanted = slope_along(lambda t: loss.entry_gradient(X, Y + t), 0.0)
    np.testing.assert_allclose(loss.entry_curvature(X, Y), wanted, rtol=1e-5, atol=1e-5)


@by_loss
def test_the_quotient_of_gradient_and_residual(name):
    loss = LOSSES[name]
    if name == "mahalanobis":
        return
    X, Y = block(9)
    wanted = np.abs(loss.gradient(X, Y)) / np.abs(X - Y)
    np.testing.assert_allclose(loss.irls_weights(X, Y), wanted, rtol=1e-9)
    if hasattr(loss, "entry_irls_weights"):
        np.testing.assert_allclose(loss.entry_irls_weights(X, Y), wanted, rtol=1e-4)
    assert loss.defines_irls_weights == name.startswith("smoothed")
    there = loss.irls_weights(X, X)
    if loss.defines_irls_weights:
        np.testing.assert_allclose(there, 1 / loss.width + loss.square)
    else:
        assert not there.any()


@by_loss
def test_curvatures_of_rows(name):
    loss = LOSSES[name]
    X, Y = block(10)
    found = loss.row_curvatures(X, Y)
    if name == "l2":
        np.testing.assert_allclose(found, 1 / loss.value(X, Y))
        met = loss.row_curvatures(X, X)
        np.testing.assert_allclose(met, 1000 / np.linalg.norm(X, axis=1))
    elif name.startswith(("l1", "elastic")) and name != "elastic outliers":
        size = np.abs(X - Y).sum(axis=1)
        np.testing.assert_allclose(found, np.abs(loss.gradient(X, Y)).sum(axis=1) / size)
        near = X * (1 + 1e-6)
        slopes = np.abs(loss.gradient(X, near)).sum(axis=1)
        np.testing.assert_allclose(loss.row_curvatures(X, near), 1000 * slopes / X.sum(axis=1))
    else:
        bound = loss.curvature if np.isfinite(loss.curvature) else 1.0
        np.testing.assert_allclose(found, bound)
    assert found.shape == (N,)


@by_loss
def test_single_precision_stays_and_nothing_is_written(name):
    loss = LOSSES[name]
    X, Y = block(11, np.float32)
    kept = X.copy(), Y.copy()
    step = np.full((N, 1), 0.5, dtype=np.float32)
    found = [
        loss.value(X, Y), loss.gradient(X, Y), *loss.split(X, Y), *loss.value_and_gradient(X, Y),
        loss.irls_weights(X, Y), loss.outliers(X, Y), loss.row_curvatures(X, Y),
    ]  # fmt: skip
    if loss.convex:
        found.append(loss.prox(Y, X, step))
    assert {part.dtype for part in found} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(Y, kept[1])


@pytest.mark.parametrize("name", sorted(WEIGHTED))
def test_weights_multiply_and_zero_excludes(name):
    """A missing entry may hold anything."""
    loss = LOSSES[name]
    X, Y = block(12)
    rng = np.random.default_rng(13)
    weight = rng.uniform(0.1, 2, X.shape) * (rng.random(X.shape) < 0.7)
    pieces = [loss.value(X[:, f : f + 1], Y[:, f : f + 1]) for f in range(F)]
    plain = np.stack(pieces, axis=1)
    np.testing.assert_allclose(loss.value(X, Y, weight), (weight * plain).sum(axis=1), rtol=1e-6)
    slopes = loss.gradient(X, Y, weight)
    np.testing.assert_allclose(slopes, weight * loss.gradient(X, Y), rtol=1e-6, atol=1e-9)
    hidden = np.where(weight > 0, X, 1e9)
    for one, other in zip(
        (loss.value(hidden, Y, weight), *loss.split(hidden, Y, weight)),
        (loss.value(X, Y, weight), *loss.split(X, Y, weight)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    up, down = loss.split(X, Y, weight)
    np.testing.assert_allclose(up - down, slopes, rtol=1e-6, atol=1e-9)


@by_loss
def test_equivalent_losses_have_the_same_values(name):
    loss = LOSSES[name]
    X, Y = block(14)
    np.testing.assert_allclose(loss.canonical.value(X, Y), loss.value(X, Y), rtol=1e-9)
    assert loss.canonical.canonical == loss.canonical
    if loss.equivalent_for_codes is not loss:
        assert name == "l2"
        np.testing.assert_allclose(loss.equivalent_for_codes.value(X, Y), loss.value(X, Y) ** 2 / 2)
    if loss.order is not None:
        assert loss.zero_slope == pytest.approx(1 / loss.order)
        assert loss == AlphaDivergence(loss.order)
    assert (loss.envelope is loss) == isinstance(loss, Envelope)


def test_which_losses_have_an_order_alpha():
    orders = {name: loss.order for name, loss in LOSSES.items() if loss.order is not None}
    assert orders == {"kl": 1.0, "hellinger": 0.5, "alpha 2": 2.0, "alpha 0.3": 0.3}
    assert LOSSES["beta 1"].canonical == KullbackLeibler()
    assert LOSSES["beta 2"].canonical == SquaredL2()


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        (lambda: L1Distance(0.0), lambda: L1Distance(-1e-9), "zeros"),
        (lambda: L1Distance(1e300), lambda: L1Distance(np.inf), "zeros"),
        (lambda: ElasticDistance(1e-9), lambda: ElasticDistance(0.0), "squares"),
        (lambda: ElasticDistance(1e300), lambda: ElasticDistance(np.inf), "squares"),
        (lambda: ElasticDistance(1, 0.0), lambda: ElasticDistance(1, -1e-9), "zeros"),
        (lambda: SmoothedL1(1e-9), lambda: SmoothedL1(0.0), "width"),
        (lambda: SmoothedL1(1e300), lambda: SmoothedL1(np.inf), "width"),
        (lambda: SmoothedL1(1, 0.0), lambda: SmoothedL1(1, -1e-9), "zeros"),
        (lambda: SmoothedL1(1, 1e300), lambda: SmoothedL1(1, np.inf), "zeros"),
        (lambda: Huber(1e-9), lambda: Huber(0.0), "outlier"),
        (lambda: Huber(1e300), lambda: Huber(np.inf), "outlier"),
        (lambda: Huber(1, 1e-9), lambda: Huber(1, 0.0), "bound"),
        (
            lambda: Envelope(ElasticNet(1), Box(0, 1)),
            lambda: Envelope(ElasticNet(1), Box(1e-9, 1)),
            "contain",
        ),
        (
            lambda: Envelope(ElasticNet(1), Box(-1, 0)),
            lambda: Envelope(ElasticNet(1), Box(-1, -1e-9)),
            "contain",
        ),
        (lambda: Mahalanobis(np.eye(2)), lambda: Mahalanobis(np.ones((2, 3))), "square"),
        (lambda: Mahalanobis(np.eye(2)), lambda: Mahalanobis(np.diag([1, np.inf])), "finite"),
        (lambda: Mahalanobis(np.eye(2)), lambda: Mahalanobis(np.ones(2)), "square"),
        (lambda: Mahalanobis(np.eye(2)), lambda: Mahalanobis([[1, 0.1], [0, 1]]), "symmetric"),
        (lambda: Mahalanobis(np.diag([1, 1e-9])), lambda: Mahalanobis(np.ones((2, 2))), "definite"),
        (lambda: Mahalanobis(np.eye(2)), lambda: Mahalanobis([["a", "b"]]), "real"),
        (lambda: Mahalanobis(np.eye(2)).check_features(2),
         lambda: Mahalanobis(np.eye(2)).check_features(3), "features"),
        (lambda: Mahalanobis(np.eye(2)).check_weight(None),
         lambda: Mahalanobis(np.eye(2)).check_weight(np.ones((1, 2))), "missing"),
    ],
)  # fmt: skip
def test_invalid_parameters_are_refused(good, bad, words):
    good()
    with pytest.raises(ValueError, match=words):
        bad()


def test_matrix_roots_and_weights_of_nonsmooth_points():
    R = Mahalanobis(MATRIX).root
    np.testing.assert_allclose(R @ R.T, MATRIX)
    assert NonsmoothPoints() == NonsmoothPoints(1.0, 0.0)
    x = np.array([[0.0, 1.0]])
    assert NonsmoothPoints().bounds(x) is None
    np.testing.assert_array_equal(NonsmoothPoints(0.5).bounds(x), [[0.5, 1]])
    np.testing.assert_array_equal(NonsmoothPoints().bounds(x, 2 * np.ones_like(x)), [[2, 2]])


@pytest.mark.parametrize("kind", [Csiszar, Bregman])
def test_generators_without_their_derivative_are_refused(kind):
    def generator(u):
        return u * np.log(u)

    def slope(u):
        return np.log(u) + 1

    kind(generator, slope)
    for wrong, words in [
        ((generator, np.log), "derivative"),
        ((lambda u: 1.0, slope), "generator"),
        ((generator, lambda u: 1.0), "derivative"),
        ((generator, lambda u: u + np.nan), "derivative"),
        ((lambda u: -generator(u), lambda u: -slope(u)), "convex"),
    ]:
        with pytest.raises(ValueError, match=words):
            kind(*wrong)
    with pytest.raises(ValueError, match="derivative"):
        Bregman(generator, slope, lambda u: 2 / u)
    with pytest.raises(ValueError, match="= 0"):
        Csiszar(lambda u: u * np.log(u) + 1e-7, slope)
    assert not Bregman(generator, slope).convex


@pytest.mark.parametrize("zero_weight", [1.0, 0.3])
def test_the_l1_gradient_at_zero_entries_has_one_part(zero_weight):
    """Under the ℓ1 distance ∇⁻ vanishes where data are zero, and ∇⁺ is the weight of zeros."""
    loss, x = L1Distance(zero_weight), np.array([0.0, 0.0, 1.0, 1.0])
    positive, negative = loss.entry_split(x, np.array([0.0, 2.0, 0.5, 2.0]))
    np.testing.assert_allclose(positive, [zero_weight, zero_weight, 1, 1])
    np.testing.assert_allclose(negative, [0, 0, 2, 0])


@pytest.mark.parametrize("kind", [AlphaDivergence, BetaDivergence])
@pytest.mark.parametrize("order", ["1", None, np.nan, np.inf])
def test_orders_that_are_no_numbers_are_refused(kind, order):
    with pytest.raises(ValueError, match="finite"):
        kind(order)


def test_families_agree_where_they_meet():
    X, Y = block(7)
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
    X, Y = block(8)
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
    X, Y = block(9)
    kl = KullbackLeibler()
    csiszar = Csiszar(lambda u: u * np.log(u) - u + 1, np.log)
    bregman = Bregman(lambda u: u * np.log(u) - u, np.log, is_convex=True)
    for loss in (csiszar, bregman):
        np.testing.assert_allclose(loss.value(X, Y), kl.value(X, Y), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(loss.gradient(X, Y), kl.gradient(X, Y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(set(LOSSES) - GENERATED))
def test_finite_at_the_edge_of_the_domain(name):
    """Zeros in data and predictions give finite numbers."""
    loss = LOSSES[name]
    X = np.array([[0.0, 1.0, 0.0, 2.0], [0, 0, 0, 0]])
    Y = np.array([[0.0, 0.0, 1.0, 2.0], [0, 0, 1, 0]])
    for dtype in (np.float64, np.float32):
        x, y = X.astype(dtype), Y.astype(dtype)
        for result in (loss.value(x, y), loss.gradient(x, y), *loss.split(x, y)):
            assert result.dtype == dtype
            assert np.isfinite(result).all()


class MinimalLoss(Loss):
    """Half the squared distance, without optional declarations."""

    def value(self, X, Y, weight=None):
        return 0.5 * ((X - Y) ** 2).sum(axis=1)

    def gradient(self, X, Y, weight=None):
        return Y - X

    def prox(self, V, X, step, weight=None):
        return (V + step * X) / (1 + step)


def test_default_methods_of_a_loss_follow_from_its_gradient():
    rng = np.random.default_rng(0)
    loss, X, Y = MinimalLoss(), rng.random((4, 3)), rng.random((4, 3))
    Y[0, 0] = X[0, 0]
    value, gradient = loss.value_and_gradient(X, Y)
    np.testing.assert_array_equal(value, loss.value(X, Y))
    up, down = loss.split(X, Y)
    assert min(up.min(), down.min()) >= 0
    np.testing.assert_allclose(up - down, gradient)
    assert not (up * down).any()
    weights = loss.irls_weights(X, Y)
    assert weights[0, 0] == 0  # a zero residual has no quotient
    np.testing.assert_allclose(np.delete(weights.ravel(), 0), 1)
    assert not loss.outliers(X, Y).any()
    weight = np.array([[1.0, 2, 3], [0, 0, 0], [4, 1, 1], [0.5, 0, 0]])
    np.testing.assert_array_equal(loss.row_curvatures(X, Y, weight), [3, 1, 4, 0.5])
    np.testing.assert_array_equal(loss.row_curvatures(X, Y), [1, 1, 1, 1])
