"""Constants of published solvers are checked, and solvers have one table of names."""

from dataclasses import fields

import pytest

from thresher import OnlineRobustNMF, solvers
from thresher.solvers import PUBLISHED
from thresher.testing.data import planted

ALL = [(kind, field) for kind in PUBLISHED.values() for field in fields(kind)]


@pytest.mark.parametrize(("kind", "field"), ALL, ids=lambda part: part.name)
def test_constants_that_are_not_numbers_are_refused(kind, field):
    invalid = [float("nan"), float("inf"), "nonsense", [1], 10**400]
    invalid += [1] if isinstance(field.default, bool) else [True]
    invalid += [] if field.default is None else [None]
    for value in invalid:
        with pytest.raises(ValueError, match=field.name):
            kind(**{field.name: value})
    assert getattr(kind(**{field.name: field.default}), field.name) == field.default


@pytest.mark.parametrize(
    ("kind", "valid", "invalid"),
    [
        (solvers.opgd, {"kappa": 1e-300}, {"kappa": 0}),
        (solvers.opgd, {"code_tol": 0}, {"code_tol": -1e-300}),
        (solvers.opgd, {"code_max_iter": 1}, {"code_max_iter": 0}),
        (solvers.opgd, {"code_max_iter": 5}, {"code_max_iter": 2.0}),
        (solvers.oiadmm, {"share": 1e-300}, {"share": 0}),
        (solvers.oiadmm, {"horizon": "doubling"}, {"horizon": "double"}),
        (solvers.spsgd, {"gamma": 0.99}, {"gamma": 1}),
        (solvers.sfw, {"step_scale": 8.0, "step_shift": 8.0}, {"step_scale": 8.1, "step_shift": 8}),
    ],
    ids=str,
)
def test_limits_of_constants(kind, valid, invalid):
    kind(**valid)
    with pytest.raises(ValueError, match=next(iter(invalid))):
        kind(**invalid)


@pytest.mark.parametrize("solver", ["nothing", 3, solvers.sfw()], ids=str)
def test_unknown_solvers_are_refused(solver):
    with pytest.raises(ValueError, match="oadmm"):
        OnlineRobustNMF(2, solver=solver).fit(planted(20))
