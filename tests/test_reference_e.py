"""Paper E's solvers and its peers, step by step beside references written from the paper alone."""

import numpy as np
import pytest

from reference.e import divergences as reference
from reference.e.codes import code_steps, rule_of, start
from reference.e.codes import codes as printed_codes
from reference.e.spsgd import spsgd as reference_spsgd
from thresher import OnlineNMF
from thresher.encoding import CodingProblem
from thresher.estimators.registry import named_divergence
from thresher.penalties import Constrained
from thresher.sets import Box
from thresher.solvers import spsgd

N, F, K, TAU = 200, 12, 4, 10
STEPS = (1, 2, 5, 20)
_M = np.eye(F) + 0.4 * np.eye(F, k=1) + 0.4 * np.eye(F, k=-1)

FLOORED = {"kl", "is", "hellinger", "alpha", "beta"}
DIVERGENCES = {
    "l1": (reference.l1(), None),
    "l2": (reference.l2(), None),
    "huber": (reference.huber(0.3), 0.3),
    "squared_l2": (reference.squared_l2(), None),
    "kl": (reference.kl(), None),
    "is": (reference.itakura_saito(), None),
    "hellinger": (reference.hellinger(), None),
    "alpha": (reference.alpha_divergence(2.0), 2.0),
    "beta": (reference.beta_divergence(1.5), 1.5),
    "mahalanobis": (reference.mahalanobis(_M), _M),
}


def stream(scale=1.0, n=N):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 1.0, (n, K)) @ rng.gamma(0.8, 0.5, (K, F)) * rng.gamma(30, 1 / 30, (n, F))
    X[rng.random(X.shape) < 0.05] += 2
    return scale * (X + 0.05), rng.random((K, F))


def floored(d):
    """The divergence with the library's floor: 1e-8 of the sample's largest entry (errata E.4)."""
    if d.name not in FLOORED:
        return d

    def within(f):
        def at(x, y):
            floor = 1e-8 * x.max(axis=1, keepdims=True)
            return f(x + floor * (d.name == "is"), np.where(y < 0, np.nan, y + floor))

        return at

    return d._replace(value=within(d.value), gradient=within(d.gradient))


class Curvature:
    """The library's scale of the dictionary's steps: one over the curvature seen so far."""

    def __init__(self):
        self.total = self.seen = 0.0

    def __call__(self, t, X, C, D, G, d):
        E, slope = np.abs(X - C @ D), np.abs(d.gradient(X, C @ D))
        bend = (slope / E).mean(axis=1)
        if d.name == "l1":
            bend = slope.sum(axis=1) / np.maximum(E.sum(axis=1), 1e-3 * X.sum(axis=1))
        self.total += (C**2).sum(axis=1) @ bend
        self.seen += len(X)
        return self.seen / self.total


def free_of_units(X, D, d, C0, first_step=None, as_printed=False, delta=0.01, **options):
    """Algorithm 2 with the library's units: Armijo's first trial is ten times the last step, and
    Polyak's delta is relative to the loss of zero codes."""
    C, L = np.empty_like(C0), np.linalg.norm(D, 2) ** 2
    rule = options.pop("rule", None) or rule_of(d)
    if d.name == "mahalanobis":
        rule, L = "constant", L * np.linalg.norm(d.parameter, 2)
    for i, x in enumerate(X):
        trial = [0.0]
        unit = d.value(x[None], np.full((1, K), options["eps"]) @ D)[0] if rule == "polyak" else 1
        given = {"first_step": lambda *_, trial=trial: trial[0], "delta": delta * unit, "L": L}
        for step in code_steps(x, D, d, C0[i], rule, **given, **options):
            if step.k == 0:
                g = d.gradient(x[None], (step.c @ D)[None])[0] @ D.T
                trial[0] = 10 * np.linalg.norm(step.c) / np.linalg.norm(g)
            elif step.beta:
                trial[0] = 10 * step.beta
        C[i] = step.best if rule == "polyak" else step.c
    return C


def learned(X, D0, divergence, parameter, solver, batch=TAU, **options):
    """The library's model after every batch."""
    model = OnlineNMF(
        K, divergence=divergence, divergence_parameter=parameter, solver=solver, init=D0,
        verbose=0, n_jobs=1, random_state=0, **options,
    )  # fmt: skip
    for rows in np.split(X, len(X) // batch):
        yield model.partial_fit(rows)


def library_codes(model, solver, X, D):
    problem = CodingProblem(D, model.loss_, model.problem().regulariser)
    encoder = solver.made().encoder
    encoder.prepare(problem)
    return encoder.encode(problem, X).codes


def difference(one, other):
    return np.abs(one - other).max() / np.abs(other).max()
