"""Losses, penalties and sets in another unit against their values in the first one."""

import numpy as np
import pytest

from parts import GROUPS, MATRIX_PENALTIES, MATRIX_SETS, PENALTIES, SETS, WIDTH
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    Csiszar,
    ElasticDistance,
    Envelope,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    L2Distance,
    Mahalanobis,
    SmoothedL1,
    SquaredL2,
)
from thresher.penalties import ElasticNet, GroupLasso
from thresher.sets import Box, CoveredBox, Reals

LOSSES = [
    SquaredL2(),
    L1Distance(0.3),
    ElasticDistance(0.7, 0.4),
    L2Distance(),
    Mahalanobis(np.eye(WIDTH) + 0.2),
    SmoothedL1(0.4, 0.6),
    KullbackLeibler(),
    ItakuraSaito(),
    AlphaDivergence(-0.5),
    BetaDivergence(1.5),
    BetaDivergence(3.0),
    Csiszar(lambda u: (u - 1) ** 2, lambda u: 2 * (u - 1)),
    Huber(0.4, bound=0.7, nonnegative=True),
    Envelope(ElasticNet(0.4, 0.5), Reals()),
    Envelope(GroupLasso(0.3, GROUPS), Box(-0.6, 0.6)),
]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_loss_has_the_same_values_in_another_unit(loss):
    rng = np.random.default_rng(0)
    X, Y = rng.random((5, WIDTH)), rng.random((5, WIDTH))
    X[X < 0.2] = 0
    for unit in (0.03, 40.0):
        other, worth = loss.in_unit(unit), unit**loss.degree
        np.testing.assert_allclose(
            loss.value(unit * X, unit * Y), worth * other.value(X, Y), rtol=1e-9
        )
        np.testing.assert_allclose(
            loss.gradient(unit * X, unit * Y) * unit,
            worth * other.gradient(X, Y),
            rtol=1e-9,
            atol=1e-12 * worth,
        )


@pytest.mark.parametrize("name", [*PENALTIES, *MATRIX_PENALTIES])
def test_a_penalty_has_the_same_values_in_another_unit(name):
    penalty, _ = {**PENALTIES, **MATRIX_PENALTIES}[name]
    V = np.random.default_rng(1).normal(size=(WIDTH, WIDTH))
    for unit, worth in ((0.03, 2.0), (40.0, 0.1)):
        other = penalty.in_unit(unit, worth)
        np.testing.assert_allclose(other.value(V), penalty.value(unit * V) / worth, rtol=1e-12)
        for box in (Reals(), Box(-0.2, 0.7)):
            # ½‖c − v‖² + φ(unit·c)/worth, times unit², in b = unit·c
            expected = penalty.prox(unit * V, unit**2 / worth, box.in_unit(1 / unit)) / unit
            np.testing.assert_allclose(other.prox(V, 1.0, box), expected, atol=1e-9)


@pytest.mark.parametrize("name", [*(n for n in SETS if "signed" not in n), *MATRIX_SETS, "covered"])
def test_a_set_has_the_same_values_in_another_unit(name):
    region = {**SETS, **MATRIX_SETS, "covered": (CoveredBox(0.2, 0.7), None)}[name][0]
    V = np.random.default_rng(2).normal(size=(WIDTH, WIDTH))
    for unit in (0.03, 40.0):
        expected = region.project(unit * V) / unit
        np.testing.assert_allclose(region.in_unit(unit).project(V), expected, atol=1e-9)
