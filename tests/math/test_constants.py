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
    ("kind", "name", "valid", "invalid"),
    [
        (solvers.opgd, "kappa", 1e-300, 0.0),
        (solvers.opgd, "kappa_dictionary", 1.0, 1.5),
        (solvers.opgd, "code_tol", 0.0, -1e-300),
        (solvers.opgd, "code_max_iter", 1, 0),
        (solvers.opgd, "code_max_iter", 5, 1.5),
        (solvers.oadmm, "rho_2", 0.1, -1.0),
        (solvers.oadmm, "dictionary_max_iter", 1, 0),
        (solvers.admm, "phi", 0.1, 0.0),
        (solvers.admm, "iterations", 1, 0),
        (solvers.oiadmm, "share", 1e-300, 0),
        (solvers.oiadmm, "horizon", "doubling", "forever"),
        (solvers.oiadmm, "horizon", 1, 0),
        (solvers.oiadmm, "tau", 0.1, -1.0),
        (solvers.batch_impl, "eta", 0, -1),
        (solvers.batch_impl, "code_penalty", 0.0, -0.1),
        (solvers.l2_batch, "unit", "l1", "l3"),
        (solvers.l2_batch, "sweeps", 1, 0),
        (solvers.rri, "epsilon", 0.0, -0.1),
        (solvers.rri, "max_sweeps", 1, 0),
        (solvers.ogm, "lambda_0", 0.1, 0.0),
        (solvers.ogm, "centre", 0.0, -1.0),
        (solvers.ogm, "max_iter", 2, 2.5),
        (solvers.noncvx_sfw, "averaging_scale", 0.1, 0.0),
        (solvers.noncvx_sfw, "step_shift", 0.0, -1.0),
        (solvers.noncvx_sfw, "step_power", 0.0, -0.5),
        (solvers.noncvx_sfw, "start_iterations", 0, -1),
        (solvers.sfw, "step_scale", 8.0, 9.0),
        (solvers.aodl, "penalty", 0.1, 0.0),
        (solvers.aodl, "sweeps", 1, 0),
        (solvers.spsgd, "a", 0.1, 0),
        (solvers.spsgd, "alpha", 0.99, 1.0),
        (solvers.spsgd, "q", 1, 1.5),
        (solvers.spsgd, "gamma", 0.99, 1),
        (solvers.spsgd, "rule", "armijo", "newton"),
    ],
)
def test_limits_of_constants(kind, name, valid, invalid):
    kind(**{name: valid})
    with pytest.raises(ValueError, match=name):
        kind(**{name: invalid})


@pytest.mark.parametrize("solver", ["nothing", 3, solvers.sfw()], ids=str)
def test_unknown_solvers_are_refused(solver):
    with pytest.raises(ValueError, match="oadmm"):
        OnlineRobustNMF(2, solver=solver).fit(planted(20))
