"""Paper B beside plain NumPy written from its text: codes, duals, dictionaries, step by step."""

import numpy as np
import pytest
from scipy import sparse

from reference.b import batch_impl as batch_reference
from reference.b import l2_batch as l2_reference
from reference.b.codes_admm import codes_iterates, psi_max
from reference.b.codes_admm import sre as sre_of
from reference.b.dictionary_admm import dictionary_iterates, project
from reference.b.oiadmm import (
    best_dictionary,
    beta_theorem,
    regret,
    tau_constant,
    tau_practical,
    violation,
)
from reference.b.oiadmm import oiadmm as oiadmm_reference
from reference.b.online_detector import online_detector
from thresher import L1Dictionary, NovelDocumentDetector, OnlineL1Dictionary, load, save
from thresher.encoding import CodingProblem
from thresher.losses import L1Distance
from thresher.penalties import L1, Regulariser
from thresher.published.l1_dictionary import CodedSamples
from thresher.sets import NonnegativeL1Ball
from thresher.solvers import admm, batch_impl, l2_batch, oiadmm, online
from thresher.tasks.novelty.modes import MemorySettings, memory_of

LAMBDA, ETA = 0.1, 3
STEPS = (1, 2, 5, 20)
BALL = Regulariser(region=NonnegativeL1Ball())
ODD = {"phi": 8.0, "gamma": 1.2}  # constants that nobody published
QUIET = {"verbose": 0, "random_state": 0, "n_jobs": 1}


def documents(n, F=24, n_topics=5, seed=0):
    """Documents that sum to one, of two topics each, with words of their own."""
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(9).dirichlet(np.full(F, 0.15), n_topics)
    mixed = rng.dirichlet(np.full(n_topics, 0.4), n) @ topics
    P = np.maximum(mixed + 0.05 * (rng.random((n, F)) < 0.1) - 0.01, 0)
    return P / P.sum(axis=1, keepdims=True)


def start(P, K=4, seed=1):
    """Documents as atoms, mixed a little: all features have an atom."""
    rng = np.random.default_rng(seed)
    return project(0.9 * P[rng.choice(len(P), K, replace=False)] + 0.1 * rng.dirichlet(P[0] + 1, K))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


# ------------------------------------------------------------------- Algorithms 2 and 3


@pytest.mark.parametrize("given", [{}, ODD], ids=["published", "other"])
@pytest.mark.parametrize("n", STEPS)
def test_algorithm_2(n, given):
    P = documents(15)
    D = start(P)
    problem = CodingProblem(D, L1Distance(), Regulariser(L1(LAMBDA)))
    *_, last = codes_iterates(P, D, LAMBDA, n_iter=n, tol=0, **given)
    encoder = admm(iterations=n, tol=0, **given).encoder
    close(encoder.encode(problem, P).codes, last.C)
    close(encoder.encode(problem, sparse.csr_array(P)).codes, last.C)
    *_, short = codes_iterates(P, D, LAMBDA, n_iter=n, tol=0, kappa=0.6 / psi_max(D))
    close(admm(iterations=n, tol=0, kappa=0.6).encoder.encode(problem, P).codes, short.C)
    *_, large = codes_iterates(100 * P, D, LAMBDA, n_iter=n, tol=0)  # φ is in the data's own unit
    plain = admm(iterations=n, tol=0).encoder
    close(plain.encode(problem, 100 * P).codes, large.C)


@pytest.mark.parametrize("n", STEPS)
def test_algorithm_3(n):
    P, rng = documents(15), np.random.default_rng(2)
    C, D = rng.random((15, 4)) * (rng.random((15, 4)) < 0.7), start(P)
    C[:, 3] = 0  # an atom that nobody uses
    samples = CodedSamples(P, C, np.ones(P.shape), np.ones(15))
    for given in ({}, ODD):
        *_, last = dictionary_iterates(P, C, D, n_iter=n, tol=0, **given)
        step = admm(iterations=n, tol=0, **given).learner
        close(step.update(step.empty(4, 24), samples, D, BALL, np.ones(4, bool))[0], last.D)
    *_, last = dictionary_iterates(P, C, D, n_iter=n, tol=0, kappa=0.6 / psi_max(C))
    step = admm(iterations=n, tol=0, kappa=0.6).learner
    close(step.update(step.empty(4, 24), samples, D, BALL, np.ones(4, bool))[0], last.D)


def test_both_stop_where_the_reference_does():
    P = documents(15)
    D = start(P)
    *_, last = codes_iterates(P, D, LAMBDA, tol=1e-3)
    encoder = admm(iterations=10_000, tol=1e-3).encoder
    found = encoder.encode(CodingProblem(D, L1Distance(), Regulariser(L1(LAMBDA))), P)
    assert 20 < found.n_iter.min() < found.n_iter.max() == last.i - 1
    close(found.codes, last.C)
    *_, moved = dictionary_iterates(P, last.C, D, tol=1e-3)
    step = admm(iterations=10_000, tol=1e-3).learner
    samples = CodedSamples(P, last.C, np.ones(P.shape), np.ones(15))
    close(step.update(step.empty(4, 24), samples, D, BALL, np.ones(4, bool))[0], moved.D)


@pytest.mark.parametrize("rounds", STEPS)
def test_the_batch_model_is_the_loop_of_algorithm_4(rounds):
    """Codes of the start, then dictionary and codes in turns; codes start from zero."""
    P = documents(30)
    D0 = start(P)
    settings = {"n_iter": 10, "tol": 0.0}
    [step] = batch_reference.batch_impl([P], D0, 1.0, LAMBDA, rounds=rounds, rtol=0, **settings)
    solver = admm(iterations=10, tol=0)
    model = L1Dictionary(4, init=D0, solver=solver, max_iter=rounds, tol=0, **QUIET).fit(P)
    close(model.components_, step.D)
    expected = [r.objective / 30 for r in step.rounds]
    close(model.history_.column("loss"), expected)


# -------------------------------------------------------------------------------- OIADMM


def batches_of(sizes, F=24, zero=None):
    P = documents(sum(sizes), F)
    parts = np.split(P, np.cumsum(sizes)[:-1])
    if zero is not None:  # words that no atom has: all codes are zero
        parts[zero] = np.eye(F)[np.full(sizes[zero], F - 1)]
    return parts


EQUAL, UNEQUAL = (8,) * 20, (8, 3, 11, 8) * 5


FIXED = {
    "published": ({}, tau_practical, lambda t, tau: 5.0),
    "constant": ({"beta": 2.0, "tau": 0.01}, tau_constant(50.0), lambda t, tau: 2.0),
    "shorter": (
        {"share": 0.2},
        lambda t, C: 0.4 * tau_practical(t, C),
        lambda t, tau: 5.0,
    ),
}
THEOREM = {
    "Theorem B.5": ({"tau": 0.01, "horizon": 20}, tau_constant(50.0), beta_theorem(20, 8, 24, 4)),
    "Theorem B.5 with its tau_t": (
        {"horizon": 20, "best_norm": 1.5, "subgradient_norm": 7.0},
        tau_practical,
        beta_theorem(20, 8, 24, 4, 7.0, 1.5),
    ),
}
CASES = [
    pytest.param(*case, sizes, zero, id=f"{name}, {kind}")
    for name, case in FIXED.items()
    for kind, sizes, zero in (
        ("equal", EQUAL, None),
        ("equal, C = 0", EQUAL, 4),
        ("unequal", UNEQUAL, None),
        ("unequal, C = 0", UNEQUAL, 4),
    )
]
CASES += [pytest.param(*case, EQUAL, None, id=name) for name, case in THEOREM.items()]


@pytest.mark.parametrize(("given", "tau", "beta", "sizes", "zero"), CASES)
def test_oiadmm(given, tau, beta, sizes, zero):
    """(2)–(4) with its codes, through the estimator: D, Δ, Γ's violation, regret, at every step."""
    batches = batches_of(sizes, zero=zero)
    D1 = start(batches[0])
    D1[:, -1] = 0
    D1 = project(D1)

    def code(t, P, D):
        *_, last = codes_iterates(P, D, LAMBDA, n_iter=40, tol=0)
        return last.C

    expected = list(oiadmm_reference(batches, D1, code, tau, beta))
    solver = oiadmm(iterations=40, tol=0, **given)
    model = OnlineL1Dictionary(4, init=D1, solver=solver, **QUIET)
    for t, (P, step) in enumerate(zip(batches, expected, strict=True), 1):
        model.partial_fit(P)
        if t not in (*STEPS, 6):  # the batch without codes is the fifth
            continue
        close(model.components_, step.D)
        np.testing.assert_allclose(model.statistics_.Delta, step.Delta, rtol=1e-10, atol=1e-11)
        assert model.statistics_.tau == pytest.approx(step.tau, rel=1e-12)
        assert model.statistics_.beta == pytest.approx(step.beta, rel=1e-12)
    close(model.history_.column("violation"), violation(expected))
    best = best_dictionary(expected, n_iter=200)
    assert (regret(expected, best) <= model.history_.column("regret")).all()


# ----------------------------------------------------------------------- the detectors


def memory(mode, D0, n_new_atoms=ETA):
    """What a detector remembers, started from some atoms."""
    empty = memory_of(mode, MemorySettings(len(D0), n_new_atoms, D0.shape[1], 0, 0))
    for model in (empty.model, getattr(empty, "starter", None)):
        if model is not None:
            model.set_params(init=D0, n_jobs=1)
    return empty


STREAM = [documents(n, seed=n) for n in (30, 14, 20)]
# More of either, and what was rounding is a thousand times that: rounds multiply it.
FEW = {"iterations": 10, "tol": 0.0, "rounds": 3, "rtol": 0.0}
FEW_REFERENCE = {"n_iter": 10, "tol": 0.0, "rounds": 3, "rtol": 0.0}


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("lam", [LAMBDA, 0.3])
def test_batch_impl(as_printed, lam):
    """Step 0 does not grow, dictionaries come first, and codes are kept for the next step."""
    D0 = start(STREAM[0])
    expected = batch_reference.batch_impl(
        STREAM, D0, 1.0, lam, ETA, as_printed=as_printed, **FEW_REFERENCE
    )
    kept = memory(batch_impl(code_penalty=lam, as_printed=as_printed, **FEW), D0)
    for t, (P, step) in enumerate(zip(STREAM, expected, strict=True)):
        kept = kept.learned(sparse.csr_array(P))
        assert len(kept.atoms) == len(step.D) == 4 + t * ETA
        close(kept.atoms, step.D)
        close(kept.codes, step.C)
        assert not as_printed or not kept.atoms[4:].any()


@pytest.mark.parametrize("given", [{}, {"beta": 2.0, "tau": 0.01}, {"tau": 0.01, "horizon": 3}])
def test_online(given):
    """Step 0 is that of the batch, without a step of OIADMM; then one for each batch."""
    batches = [STREAM[0], *batches_of((9, 9, 9))]
    D0 = start(STREAM[0])
    tau = tau_constant(50.0) if given else tau_practical
    beta = beta_theorem(3, 9, 24, 4) if "horizon" in given else lambda t, tau: given.get("beta", 5)
    expected = online_detector(batches, D0, 1.0, LAMBDA, tau, beta, **FEW_REFERENCE)
    first = kept = memory(online(**given, **FEW), D0, None)
    for P, step in zip(batches, expected, strict=True):
        kept = kept.learned(sparse.csr_array(P))
        close(kept.atoms, step.D)
        np.testing.assert_allclose(kept.model.statistics_.Delta, step.Delta, atol=1e-11)
        first = kept if step.t == 0 else first
    assert np.abs(kept.atoms - first.atoms).max() > 1e-3


def test_l2_batch():
    """The reading of the reference: codes of the start, then atoms and codes in turns."""
    D0 = l2_reference.project(4 * start(STREAM[0]))
    stream = [P / np.linalg.norm(P, axis=1, keepdims=True) for P in STREAM]
    expected = l2_reference.l2_batch(
        stream, D0, 1.0, LAMBDA, ETA, rounds=3, rtol=0, sweeps=5, tol=0.0
    )
    mode = l2_batch(sweeps=5, tol=1e-12, rounds=3, rtol=0)
    kept = memory(mode, D0)
    for P, step in zip(stream, expected, strict=True):
        kept = kept.learned(sparse.csr_array(P))
        np.testing.assert_allclose(kept.atoms, step.D, atol=1e-10)


def test_fit_is_step_0_and_every_step_is_one_of_algorithm_4():
    """Through the detector: 6 atoms after `fit`, where 16 were; SRE as the reference has it."""
    counts = np.random.default_rng(0).poisson(400 * np.vstack(STREAM))
    D0 = start(STREAM[0], 6)
    constants = {"rounds": 3, "rtol": 0.0, "tol": 0.0}
    mode = batch_impl(iterations=40, **constants)
    detector = NovelDocumentDetector(6, mode=mode, verbose=0, random_state=0)
    empty = detector._new_memory(D0.shape[1])
    empty.model.set_params(init=D0, n_jobs=1)
    detector._new_memory = lambda n_features: empty
    detector.fit(counts[:30])
    assert len(detector.components_) == 6
    detector.step(counts[30:44])
    assert len(detector.components_) == 16
    P = detector._memory.documents.toarray()
    _, step = batch_reference.batch_impl([P[:30], P[30:]], D0, 1.0, n_iter=40, **constants)
    found, expected = (sre_of(P, D, n_iter=500) for D in (detector.components_, step.D))
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "mode",
    [
        online(code_penalty=0.2, horizon=4, tau=0.01, iterations=30, rounds=2),
        batch_impl(code_penalty=0.2, eta=2, phi=6.0, iterations=30, rounds=2, single=True),
        l2_batch(code_penalty=0.05, eta=2, unit="l1", rounds=2),
    ],
    ids=lambda mode: mode.name,
)
def test_constants_of_the_modes_are_kept_in_files(mode, tmp_path):
    counts = np.random.default_rng(0).poisson(400 * np.vstack(STREAM))
    detector = NovelDocumentDetector(4, mode=mode, verbose=0, random_state=0).fit(counts[:30])
    detector.step(counts[30:40])
    assert len(detector.components_) == 4 + getattr(mode, "eta", 0)
    save(detector, tmp_path / "detector")
    again = load(tmp_path / "detector")
    assert again.mode == mode
    assert again._memory.model.code_penalty == mode.code_penalty
    one, two = (each.step(counts[40:]).scores for each in (detector, again))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(again.components_, detector.components_)


def test_weights_gaps_sparse_rows_and_single_precision():
    """Weights are copies, also in the stop; a word that is missing everywhere is no word."""
    P = documents(20)
    D0 = start(P)
    weights = np.random.default_rng(0).integers(0, 3, 20) * 1.0

    def learned(rows, init=D0, sample_weight=None):
        model = L1Dictionary(4, init=init, solver=admm(iterations=30), max_iter=3, **QUIET)
        return model.fit(rows, sample_weight=sample_weight).components_

    expected = learned(np.repeat(P, weights.astype(int), axis=0))
    np.testing.assert_allclose(learned(P, sample_weight=weights), expected, atol=1e-9)
    np.testing.assert_allclose(learned(sparse.csr_array(P)), learned(P), atol=1e-9)
    np.testing.assert_allclose(learned(P.astype(np.float32)), learned(P), atol=1e-3)
    wide, atoms = np.column_stack([P, np.full(20, np.nan)]), np.column_stack([D0, np.zeros(4)])
    np.testing.assert_allclose(learned(wide, atoms)[:, :-1], learned(P), atol=1e-9)
