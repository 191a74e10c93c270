"""Published solvers have the constants of their papers by default."""

from dataclasses import fields

import pytest

from thresher.solvers import PUBLISHED

# As published, or as `docs/lab/references.md` says where a paper is silent.
CONSTANTS = {
    "opgd": {"kappa": 0.7, "kappa_dictionary": 0.7, "code_tol": 1e-3, "code_max_iter": 50},
    "oadmm": {"rho_1": 1, "rho_2": 1, "rho_3": 1, "code_tol": 1e-3, "code_max_iter": 50},
    "bpgd": {"kappa": 0.7, "kappa_dictionary": 0.7},
    "badmm": {"rho_1": 1, "rho_2": 1, "rho_3": 1},
    "oiadmm": {"phi": 5, "gamma": 1.89, "kappa": 1, "beta": 5, "share": 0.5, "tol": 1e-3},
    "admm": {"phi": 5, "gamma": 1.89, "kappa": 1, "iterations": 1000, "tol": 1e-3},
    "online": {"phi": 5, "gamma": 1.89, "code_penalty": 0.1, "rounds": 20, "rtol": 1e-4},
    "batch_impl": {"code_penalty": 0.1, "rounds": 20, "rtol": 1e-4, "eta": 10},
    "l2_batch": {"sweeps": 200, "tol": 1e-8, "rounds": 20, "eta": 10, "unit": "l2"},
    "sparse_coding": {"sweeps": 200, "tol": 1e-8},
    "rri": {"epsilon": 0.1, "xi": 0.1, "max_sweeps": 1000},
    "ogm": {"lambda_0": 0.1, "epsilon": 0.1, "xi": 0.1, "max_iter": 1000},
    "symmetric_rri": {"epsilon": 0.1},
    "noncvx_sfw": {
        "averaging_scale": 4, "averaging_shift": 1, "averaging_power": 1 / 2,
        "step_scale": 2, "step_shift": 2, "step_power": 3 / 4, "start_iterations": 20,
    },
    "sfw": {
        "averaging_scale": 4, "averaging_shift": 8, "averaging_power": 2 / 3,
        "step_scale": 2, "step_shift": 8, "step_power": 1, "start_iterations": 20,
    },
    "aodl": {"penalty": None, "sweeps": 1, "start_iterations": 20},
    "spsgd": {
        "a": 2e4, "b": 2e4, "tau": None, "alpha": 0.01, "gamma": 0.1, "q": 10, "delta": 0.01,
        "tol": 1e-3, "max_iter": 2000, "patience": 100,
    },
    "ol_guan": {"buffer": 1000, "steps": 20, "draw": 50, "step": 1, "tol": 1e-4},
    "ol_lef": {"updates": 100, "tol": 1e-3},
    "ol_wang": {"updates": 100, "tol": 1e-3},
    "mu": {"exponent": None},
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_constants_are_the_defaults(name):
    """A published solver without arguments runs as its paper describes."""
    defaults = {field.name: field.default for field in fields(PUBLISHED[name])}
    assert defaults | CONSTANTS[name] == defaults
    assert all(defaults[flag] is False for flag in {"as_printed", "monotone"} & defaults.keys())


@pytest.mark.parametrize("name", ["opgd", "oadmm"])
def test_the_dictionary_steps_of_paper_a_have_their_bounds(name):
    defaults = {field.name: field.default for field in fields(PUBLISHED[name])}
    assert (defaults["dictionary_tol"], defaults["dictionary_max_iter"]) == (1e-4, 200)
