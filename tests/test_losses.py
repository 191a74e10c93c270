"""Losses: gradients by fourth-order differences, proximal maps, and the envelope itself."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import GROUPS, WIDTH, solve
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    Envelope,
    Huber,
    L1Distance,
    Loss,
    SquaredL2,
)
from thresher.penalties import ElasticNet, GroupLasso, SparseGroupLasso
from thresher.sets import Box, Reals

LOSSES = {
    "squared": SquaredL2(),
    "huber": Huber(0.4),
    "bounded huber": Huber(0.4, bound=0.7),
    "nonnegative outliers": Huber(0.4, nonnegative=True),
    "bounded nonnegative outliers": Huber(0.4, bound=0.7, nonnegative=True),
    "elastic net outliers": Envelope(ElasticNet(0.4, 0.5), Reals()),
    "whole samples": Envelope(GroupLasso(0.3)),
    "whole samples, bounded": Envelope(GroupLasso(0.3), Box(-0.6, 0.6)),
    "groups": Envelope(GroupLasso(0.3, GROUPS)),
    "sparse groups, bounded, nonnegative": Envelope(
        SparseGroupLasso(0.4, 0.5, GROUPS), Box(0, 0.6)
    ),
}
by_loss = pytest.mark.parametrize("name", LOSSES)


def _block(seed, rows=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, WIDTH)), rng.normal(size=(rows, WIDTH))


def _mask(rows=6):
    return (np.random.default_rng(9).random((rows, WIDTH)) > 0.3).astype(float)


def _weights(name, rows=6):
    """None, a mask, and where the loss allows it, general weights."""
    yield None
    yield _mask(rows)
    if LOSSES[name].__class__ is SquaredL2 or LOSSES[name].penalty.separable:
        yield np.random.default_rng(8).uniform(0, 2, (rows, WIDTH))


@by_loss
@given(seed=st.integers(0, 2**32 - 1))
def test_gradient_by_fourth_order_differences(name, seed):
    loss = LOSSES[name]
    X, Y = _block(seed)
    direction = np.random.default_rng(seed + 1).normal(size=Y.shape)
    h = 1e-4
    for weight in _weights(name):
        values = [loss.value(X, Y + j * h * direction, weight) for j in (-2, -1, 1, 2)]
        slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        exact = (loss.gradient(X, Y, weight) * direction).sum(axis=1)
        # The gradient is Lipschitz, not smooth: across a kink the formula is first-order.
        np.testing.assert_allclose(slope, exact, atol=2e-3)


@by_loss
@given(seed=st.integers(0, 2**32 - 1))
def test_convex_with_the_stated_curvature(name, seed):
    """``0 ≤ loss(y′) − loss(y) − ⟨∇, y′ − y⟩ ≤ curvature/2 ‖y′ − y‖²``."""
    loss = LOSSES[name]
    X, Y = _block(seed)
    Z = Y + np.random.default_rng(seed + 1).normal(size=Y.shape)
    excess = loss.value(X, Z) - loss.value(X, Y) - (loss.gradient(X, Y) * (Z - Y)).sum(axis=1)
    assert np.all(excess >= -1e-12)
    assert np.all(excess <= loss.curvature / 2 * ((Z - Y) ** 2).sum(axis=1) + 1e-12)


@by_loss
@given(seed=st.integers(0, 2**32 - 1))
def test_prox_meets_its_optimality_condition(name, seed):
    """``∇loss(y) + (y − v)/step = 0`` at ``y = prox(v)``, with one step per row."""
    loss = LOSSES[name]
    X, V = _block(seed)
    step = np.random.default_rng(seed + 1).uniform(0.05, 5, size=(len(X), 1))
    for weight in _weights(name):
        Y = loss.prox(V, X, step, weight)
        np.testing.assert_allclose(loss.gradient(X, Y, weight) + (Y - V) / step, 0, atol=1e-9)


@pytest.mark.parametrize("bound", [np.inf, 0.7])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("group", [False, True])
def test_value_and_outliers_minimise_over_r(bound, nonnegative, group):
    """Against the definition: a convex program in r for every sample."""
    X, Y = _block(3)
    penalty = GroupLasso(0.3) if group else ElasticNet(l1=0.4)
    loss = Envelope(penalty, Box(0.0 if nonnegative else -bound, bound))
    R, values = loss.outliers(X, Y), loss.value(X, Y)
    for x, y, r, value in zip(X, Y, R, values, strict=True):
        v = cp.Variable(WIDTH)
        cost = 0.3 * np.sqrt(WIDTH) * cp.norm2(v) if group else 0.4 * cp.norm1(v)
        limits = ([cp.abs(v) <= bound] if np.isfinite(bound) else []) + [v >= 0] * nonnegative
        best = solve(cp.sum_squares(x - y - v) / 2 + cost, limits)
        assert value == pytest.approx(best, abs=1e-7)
        np.testing.assert_allclose(r, v.value, atol=1e-4)


def test_huber_by_hand():
    e = np.array([[0.1, -0.1, 2.0, -2.0]])
    expected = 2 * 0.005 + 2 * (0.5 * 2.0 - 0.125)
    assert Huber(0.5).value(e, np.zeros_like(e))[0] == pytest.approx(expected)
    np.testing.assert_allclose(Huber(0.5).outliers(e, 0 * e), [[0, 0, 1.5, -1.5]])
    np.testing.assert_allclose(Huber(0.5, bound=1.0).outliers(e, 0 * e), [[0, 0, 1, -1]])
    np.testing.assert_allclose(Huber(0.5, nonnegative=True).outliers(e, 0 * e), [[0, 0, 1.5, 0]])


@by_loss
def test_missing_entries_do_not_matter(name):
    loss = LOSSES[name]
    X, Y = _block(4)
    mask = _mask()
    changed = np.where(mask == 0, 1e6, X)
    np.testing.assert_array_equal(loss.value(X, Y, mask), loss.value(changed, Y, mask))
    np.testing.assert_array_equal(loss.gradient(X, Y, mask), loss.gradient(changed, Y, mask))
    prox = loss.prox(Y, X, 0.7, mask)
    np.testing.assert_array_equal(prox[mask == 0], Y[mask == 0])


@by_loss
def test_float32_stays(name):
    loss = LOSSES[name]
    X, Y = (Z.astype(np.float32) for Z in _block(5))
    step = np.full((len(X), 1), 0.5, dtype=np.float32)
    for result in [
        loss.value(X, Y),
        loss.gradient(X, Y),
        loss.outliers(X, Y),
        loss.prox(Y, X, step),
        loss.prox(Y, X, step, _mask().astype(np.float32)),
    ]:
        assert result.dtype == np.float32


def test_bad_parts_are_refused():
    with pytest.raises(ValueError, match="outlier weight"):
        Huber(0)
    with pytest.raises(ValueError, match="bound"):
        Huber(1, bound=-1)
    with pytest.raises(ValueError, match="contain 0"):
        Envelope(ElasticNet(1), Box(0.5, 1))
    with pytest.raises(ValueError, match="weights of 0"):
        Envelope(GroupLasso(1)).check_weight(np.array([[0.5]]))


class Plain(Loss):
    """A loss with nothing but what it must have."""

    def value(self, X, Y, weight=None):
        return (np.abs(X - Y) ** 3).sum(axis=1) / 3

    def gradient(self, X, Y, weight=None):
        return (Y - X) * np.abs(Y - X)

    def prox(self, V, X, step, weight=None):
        raise NotImplementedError


SPLIT = LOSSES | {"l1": L1Distance(), "light zeros": L1Distance(0.3), "plain": Plain()}


@pytest.mark.parametrize("name", SPLIT)
def test_the_two_parts_of_a_slope(name):
    """``∇ = ∇⁺ − ∇⁻``, neither negative; predictions may be, where outliers are set aside."""
    loss, (X, Y) = SPLIT[name], _block(3)
    X = np.abs(X) * (np.abs(X) > 0.5)
    signed = loss.envelope is not None or name == "plain"
    for prediction in (Y, np.abs(Y)) if signed else (np.abs(Y),):
        positive, negative = loss.split(X, prediction)
        assert (positive >= 0).all()
        assert (negative >= 0).all()
        gradient = loss.gradient(X, prediction)
        np.testing.assert_allclose(positive - negative, gradient, atol=1e-12)


@pytest.mark.parametrize("zero_weight", [1.0, 0.3])
def test_zeros_of_sparse_rows_have_one_part_only(zero_weight):
    """Under the ℓ1 distance ∇⁻ vanishes where data are zero, and ∇⁺ is the weight of zeros."""
    loss, x = L1Distance(zero_weight), np.array([0.0, 0.0, 1.0, 1.0])
    positive, negative = loss.entry_split(x, np.array([0.0, 2.0, 0.5, 2.0]))
    np.testing.assert_allclose(positive, [zero_weight, zero_weight, 1, 1])
    np.testing.assert_allclose(negative, [0, 0, 2, 0])


@pytest.mark.parametrize("kind", [AlphaDivergence, BetaDivergence])
@pytest.mark.parametrize("order", ["1", None, np.nan, np.inf])
def test_orders_that_are_no_numbers_are_refused(kind, order):
    with pytest.raises(ValueError, match="must be a finite number, such as"):
        kind(order)
