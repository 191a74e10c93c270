"""Paper E's solvers and its peers, step by step beside references written from the paper alone."""

import numpy as np
import pytest
from scipy.optimize import linprog

from reference.e import divergences as reference
from reference.e.codes import code_steps, rule_of
from reference.e.codes import codes as printed_codes
from reference.e.multiplicative import multiplicative
from reference.e.ol_guan import ol_guan as reference_guan
from reference.e.ol_lef import ol_lef as reference_lef
from reference.e.ol_wang import ol_wang as reference_wang
from reference.e.sets import project_dictionary
from reference.e.spsgd import spsgd as reference_spsgd
from thresher import BatchNMF, OnlineNMF
from thresher.encoding import CodingProblem
from thresher.losses import Csiszar, KullbackLeibler, L1Distance
from thresher.published.divergences import PrintedCoveredBox
from thresher.sets import Box, CoveredBox
from thresher.solvers import mu, ol_guan, ol_lef, ol_wang, spsgd

N, F, K, TAU = 100, 12, 4, 5
STEPS = (1, 2, 5, 20)
ROUNDING = 1e-10
_M = np.eye(F) + 0.4 * np.eye(F, k=1) + 0.4 * np.eye(F, k=-1)

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


@pytest.fixture
def no_floor(monkeypatch):
    """Without the library's floor, 1e-8 of a sample's largest entry, which no paper has (E.4)."""
    monkeypatch.setattr("thresher.losses.base.FLOOR", 0.0)
    with np.errstate(all="ignore"):
        yield


def stream(n=N):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 1.0, (n, K)) @ rng.gamma(0.8, 0.5, (K, F)) * rng.gamma(30, 1 / 30, (n, F))
    X[rng.random(X.shape) < 0.05] += 2
    return X + 0.05, rng.random((K, F))


def batches(X):
    return np.split(X, len(X) // TAU)


def learned(X, D0, divergence, solver, **options):
    """The library's model, batch by batch."""
    model = OnlineNMF(
        K, divergence=divergence, divergence_parameter=DIVERGENCES[divergence][1], solver=solver,
        init=D0, verbose=0, n_jobs=1, random_state=0, **options,
    )  # fmt: skip
    for rows in batches(X):
        yield model.partial_fit(rows)


def codes_of(solver, model, X, D):
    """Codes of a batch as they are found while learning."""
    problem = CodingProblem(D, model.loss_, model.problem().regulariser)
    encoder = solver.encoder
    encoder.prepare(problem)
    return encoder.encode(problem, X).codes


def compared(steps, models, solver, X, D0, until=20):
    """Largest differences of codes and dictionaries at the steps to look at, with both sides."""
    D = D0
    for t, (step, model, rows) in enumerate(zip(steps, models, batches(X), strict=False), 1):
        if t > until:
            return
        if t in STEPS:
            assert difference(codes_of(solver, model, rows, D), step.C) < ROUNDING
            assert difference(model.components_, step.D) < ROUNDING
            assert model.history_.column("loss")[-1] == pytest.approx(step.loss, rel=ROUNDING)
            yield step, model
        D = model.components_


def difference(one, other):
    return np.abs(one - other).max() / np.abs(other).max()


# ----------------------------------------------------------------------------- Algorithm 1


class Curvature:
    """The library's scale of the dictionary's steps: one over the curvature seen so far (E.3)."""

    def __init__(self):
        self.total = self.seen = 0.0

    def __call__(self, t, X, C, D, G, d):
        E, slope = np.abs(X - C @ D), np.abs(d.gradient(X, C @ D))
        bend = (slope / E).mean(axis=1)
        if d.name == "l1":
            bend = slope.sum(axis=1) / E.sum(axis=1)
        self.total += (C**2).sum(axis=1) @ bend
        self.seen += len(X)
        return self.seen / self.total


def unit_free_codes(X, D, d, C0, first_step=None, as_printed=False, delta=0.01, **options):
    """Algorithm 2 with the library's units (E.3).

    Armijo's first trial is ten times the last step, and Polyak's delta relative to the loss of zero
    codes. Mahalanobis has bounded curvature, and so the constant step.
    """
    C, rule, L = np.empty_like(C0), rule_of(d), np.linalg.norm(D, 2) ** 2
    if d.name == "mahalanobis":
        rule, L = "constant", L * np.linalg.norm(d.parameter, 2)
    for i, x in enumerate(X):
        trial = [0.0]
        given = {"first_step": lambda *_, trial=trial: trial[0], "L": L}
        if rule == "polyak":
            given["delta"] = delta * d.value(x[None], np.full((1, K), options["eps"]) @ D)[0]
        for step in code_steps(x, D, d, C0[i], rule, **given, **options):
            if step.k == 0:
                g = d.gradient(x[None], (step.c @ D)[None])[0] @ D.T
                trial[0] = 10 * np.linalg.norm(step.c) / np.linalg.norm(g)
            elif step.beta:
                trial[0] = 10 * step.beta
        C[i] = step.best if rule == "polyak" else step.c
    return C


STOP = {"tol": 1e-3, "max_iter": 2000}
PUBLISHED_CODES = {"code_set": Box(1e-8, 1e8)}


@pytest.mark.usefixtures("no_floor")
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_spsgd(divergence):
    (X, D0), d = stream(), DIVERGENCES[divergence][0]
    steps = reference_spsgd(
        batches(X), D0, d, scale=Curvature(), codes=unit_free_codes, tau=TAU, **STOP
    )
    models = learned(X, D0, divergence, spsgd(), **PUBLISHED_CODES)
    for step, model in compared(steps, models, spsgd(), X, D0):
        assert model.statistics_.weight == TAU * step.t
        mean = model.statistics_.curvature / model.statistics_.weight
        assert mean == pytest.approx(1 / step.scale, rel=10 * ROUNDING)  # an eigenvalue


@pytest.mark.usefixtures("no_floor")
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_spsgd_as_printed(divergence):
    """The letter, where it does not overflow: codes of Armijo's rule need large data, and then the
    dictionary short steps."""
    (X, D0), d = stream(), DIVERGENCES[divergence][0]
    rule = "armijo" if divergence == "mahalanobis" else None
    X, a = (10 * X, 20.0) if rule_of(d) == "armijo" else (X, 2e4)
    steps = reference_spsgd(batches(X), D0, d, a=a, as_printed=True, tol=1e-3, max_iter=20)
    solver = spsgd(a=a, max_iter=20, rule=rule, as_printed=True)
    models = learned(X, D0, divergence, solver, **PUBLISHED_CODES)
    assert list(compared(steps, models, solver, X, D0))


@pytest.mark.usefixtures("no_floor")
def test_spsgd_as_printed_takes_what_is_undefined():
    """Errata E.1: most first trials of KL are, and pass. Rounding is soon all that is left."""
    (X, D0), d = stream(), DIVERGENCES["kl"][0]
    steps = reference_spsgd(batches(X), D0, d, a=20.0, as_printed=True, tol=1e-3, max_iter=20)
    solver = spsgd(a=20.0, max_iter=20, as_printed=True)
    models = learned(X, D0, "kl", solver, **PUBLISHED_CODES)
    *_, (step, _) = compared(steps, models, solver, X, D0, until=5)
    assert (step.C == 1e-8).any(axis=1).mean() > 0.5


@pytest.mark.usefixtures("no_floor")
def test_every_constant_of_spsgd_counts():
    (X, D0), d = stream(), DIVERGENCES["kl"][0]
    given = {"a": 0.03, "b": 7.0, "tau": 3, "alpha": 0.2, "gamma": 0.4, "q": 5}
    given |= {"tol": 1e-2, "max_iter": 15, "as_printed": True}
    solver, steps = spsgd(**given), reference_spsgd(batches(10 * X), D0, d, **given)
    models = learned(10 * X, D0, "kl", solver, **PUBLISHED_CODES)
    assert list(compared(steps, models, solver, 10 * X, D0))


def test_the_first_step_is_that_of_the_first_batch():
    """``η₁ = a/(τ + b)``: the paper counts from one."""
    X, D0 = stream()
    rows, solver = X[:TAU], spsgd(a=1e-3, b=1.0, as_printed=True)
    model = next(learned(X, D0, "squared_l2", solver))
    C = codes_of(solver, model, rows, D0)
    G = C.T @ (C @ D0 - rows) / TAU
    np.testing.assert_allclose(D0 - model.components_, 1e-3 / (TAU + 1) * G, rtol=1e-9)


def test_the_floor_of_predictions_changes_little(monkeypatch):
    """Errata E.4: so much does the one deviation that no constant takes away."""
    X, D0 = stream()
    *_, model = learned(X, D0, "kl", spsgd())
    floored = model.components_
    monkeypatch.setattr("thresher.losses.base.FLOOR", 0.0)
    *_, model = learned(X, D0, "kl", spsgd(), **PUBLISHED_CODES)
    assert 0 < np.abs(floored - model.components_).max() < 1e-5


# ------------------------------------------------------------------------- Polyak's codes


def least_absolute(x, D):
    """``min over c ≥ 0 of ‖x − cD‖₁`` as a linear program."""
    k, f = D.shape
    left = np.block([[D.T, -np.eye(f)], [-D.T, -np.eye(f)]])
    cost = np.concatenate([np.zeros(k), np.ones(f)])
    return linprog(cost, left, np.concatenate([x, -x])).fun


def test_polyak_codes_are_the_best_and_keep_what_is_promised():
    """Section V-C: within δ of the optimum, here relative to the loss of zero codes."""
    X, _ = stream(40)
    D = np.random.default_rng(3).random((K, F))
    problem, encoder = CodingProblem(D, L1Distance()), spsgd().encoder
    encoder.prepare(problem)
    value = problem.objective(X, encoder.encode(problem, X).codes)
    best = np.array([least_absolute(x, D) for x in X])
    excess = (value - best) / X.sum(axis=1)
    assert excess.max() < 0.01
    assert excess.mean() < 0.005


def test_polyak_codes_stop_as_the_reference():
    X, _ = stream(20)
    D = np.random.default_rng(3).random((K, F))
    solver = spsgd(delta=0.05, patience=30, as_printed=True)
    problem, encoder = CodingProblem(D, L1Distance()), solver.encoder
    encoder.prepare(problem)
    given = {"delta": 0.05, "patience": 30, "eps": 0.0, "U": np.inf}
    C = printed_codes(X, D, reference.l1(), **given)
    assert difference(encoder.encode(problem, X).codes, C) < ROUNDING


# ------------------------------------------------------------------- multiplicative updates


@pytest.mark.usefixtures("no_floor")
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_mu(divergence):
    (X, D0), (d, parameter) = stream(), DIVERGENCES[divergence]
    # Weights of ℓ1 are one over residuals: after twenty rounds two runs of the reference from
    # starts that differ by 1e-15 are .04 apart.
    for rounds in STEPS[:3] if divergence == "l1" else STEPS:
        model = factorised(X, D0, divergence, parameter, rounds)
        *_, step = multiplicative(X, first_codes(model), D0, d, rounds)
        assert model.n_iter_ == rounds
        assert difference(model.components_, step.D) < ROUNDING
        assert model.history_.column("loss")[-1] == pytest.approx(step.loss / N, rel=ROUNDING)


@pytest.mark.usefixtures("no_floor")
def test_mu_with_another_exponent():
    """Some texts have Itakura–Saito's updates without the square root."""
    (X, D0), d = stream(), DIVERGENCES["is"][0]
    model = factorised(X, D0, "is", None, 5, mu(exponent=0.4))
    *_, step = multiplicative(X, first_codes(model), D0, d, 5, exponent=0.4)
    assert difference(model.components_, step.D) < ROUNDING


@pytest.mark.parametrize("divergence", ["huber", "l1", "kl"])
def test_mu_makes_no_more_rounds_than_it_is_told(divergence):
    """Also where the threshold of `huber` is measured in between."""
    X, D0 = stream()
    for rounds in (1, 7):
        assert len(factorised(X, D0, divergence, None, rounds).history_) == rounds


def factorised(X, D0, divergence, parameter, rounds, solver="mu"):
    return BatchNMF(
        K, divergence=divergence, divergence_parameter=parameter, solver=solver, init=D0,
        dictionary_set="nonnegative", max_iter=rounds, tol=0, n_jobs=1, random_state=0, verbose=0,
    ).fit(X)  # fmt: skip


def first_codes(model):
    return np.random.default_rng([model._state.seed, 3]).random((N, K))


# ---------------------------------------------------------------------------------- peers


@pytest.mark.usefixtures("no_floor")
def test_ol_lef():
    X, D0 = stream()
    D0 = D0 / D0.sum(axis=1, keepdims=True)
    solver = ol_lef(updates=30, tol=0.0)
    steps = reference_lef(batches(X), D0, n_code=30)
    for step, model in compared(steps, learned(X, D0, "is", solver), solver, X, D0):
        assert difference(model.statistics_.N, step.P) < ROUNDING
        assert difference(model.statistics_.P, step.Q) < ROUNDING
        np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-12)


def test_ol_wang():
    X, D0 = stream()
    solver = ol_wang(step=0.02, updates=30, tol=0.0)
    steps = reference_wang(batches(X), D0, 0.3, 0.02, n_code=30)
    assert list(compared(steps, learned(X, D0, "huber", solver), solver, X, D0))


def test_ol_guan():
    X, D0 = stream()
    solver, drawn = ol_guan(buffer=30, steps=15, draw=1, step=0.5, tol=1e-13), {}

    def step(t, k, samples, D):
        codes = np.array([c for _, c in samples])
        return 0.5 / (np.linalg.norm(codes.T @ codes / len(codes), 2) * np.sqrt(k))

    def picks(t, k, m):
        rng = drawn.setdefault(t, np.random.default_rng([t * TAU, m]))
        return rng.integers(m, size=1)[0]

    steps = reference_guan(batches(X), D0, 30, 15, step, picks)
    models = learned(X, D0, "squared_l2", solver, dictionary_set="covered_box")
    assert list(compared(steps, models, solver, X, D0))


# ------------------------------------------------------------------------ parts and constants


def test_the_covered_box_as_printed():
    """S-1 lets columns of negative entries through, and lifts small ones to the simplex."""
    V = np.random.default_rng(0).normal(size=(3, 9))
    V[:, 0], V[:, 1], V[:, 2] = -1, 1e-10, [-2, -1, 1e-9]
    for printed in (False, True):
        P = (PrintedCoveredBox() if printed else CoveredBox()).project(V)
        np.testing.assert_allclose(P, project_dictionary(V, 1e-8, printed), atol=1e-15)
    assert not P[:, 0].any()


@pytest.mark.usefixtures("no_floor")
def test_a_csiszar_generator_is_centred():
    """``u log u`` differs from KL's generator by u − 1, and stands for the same divergence."""
    X, D = stream(30)
    Y = np.random.default_rng(1).random((30, K)) @ D
    phi, slope = lambda u: u * np.log(u), lambda u: np.log(u) + 1
    own, d = Csiszar(phi, slope), reference.csiszar(*reference.centred(phi, slope))
    np.testing.assert_allclose(own.value(X, Y), d.value(X, Y), rtol=1e-12)
    np.testing.assert_allclose(own.gradient(X, Y), d.gradient(X, Y), atol=1e-12)
    np.testing.assert_allclose(own.value(X, Y), KullbackLeibler().value(X, Y), rtol=1e-12)


def test_a_csiszar_generator_learns():
    """With the floor that keeps predictions from zero, where ``u log u`` has no slope."""
    X, _ = stream(30)
    own = Csiszar(lambda u: u * np.log(u), lambda u: np.log(u) + 1)
    assert OnlineNMF(K, divergence=own, random_state=0, verbose=0).fit(X).score(X) > -1.5
