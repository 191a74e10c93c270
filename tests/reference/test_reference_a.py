"""The solvers of paper A beside `reference.a`, which was written from the paper alone.

Both start from the same dictionary, codes and outliers: those of the library are given to the
reference. What is compared is the same up to rounding, iterate by iterate.
"""

import numpy as np
import pytest
from scipy import sparse

from reference.a import surrogate
from reference.a.badmm import badmm
from reference.a.bpgd import bpgd
from reference.a.oadmm import code_iterates as admm_codes
from reference.a.oadmm import dict_iterates as admm_dictionaries
from reference.a.oadmm import oadmm
from reference.a.opgd import code_iterates as gradient_codes
from reference.a.opgd import code_step, dict_step, opgd, project_l2
from reference.a.opgd import dict_iterates as gradient_dictionaries
from thresher import OnlineRobustNMF, RobustNMF, solvers
from thresher.datasets import make_outlier_stream
from thresher.encoding import ActiveRows as Block
from thresher.encoding import CodingProblem
from thresher.engine import BatchProblem, Pool, StreamState
from thresher.learning import DictionaryProblem, PowerForgetting, QuadraticStatistics
from thresher.losses import Huber
from thresher.penalties import Regulariser
from thresher.published.outliers import (
    DictionaryADMM,
    DictionaryGradient,
    OutlierADMM,
    ProjectedGradient,
    SurrogateLearner,
)
from thresher.sets import NonnegativeL2Ball
from thresher.streams import ArraySource, Batch

N, F, K, TAU = 100, 12, 4, 5
LAMBDA = F**-0.5
STEPS = (1, 2, 5, 20)
CLOSE = {"rtol": 1e-10, "atol": 1e-12}
SETTINGS = {  # M, whether outliers are nonnegative, the letter
    "as published": (1.0, False, False),
    "small M": (0.1, False, False),
    "nonnegative": (0.1, True, False),
    "as printed": (0.1, False, True),
}
X = make_outlier_stream(N, F, K, random_state=0).data
D0 = np.random.default_rng(1).random((K, F))


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, **CLOSE)


def coding_problem(M=1.0, nonnegative=False):
    return CodingProblem(project_l2(D0), Huber(LAMBDA, M, nonnegative))


def own_starts(M=1.0, n_rows=TAU):
    """Codes and outliers from which the library starts a block."""
    state = OutlierADMM().start(Block(coding_problem(M), X[:n_rows]), None)
    return state["U"], state["Q"]


def online(solver, M=1.0, nonnegative=False, **parameters):
    return OnlineRobustNMF(
        K,
        solver=solver,
        outlier_weight=LAMBDA,
        outlier_bound=M,
        outlier_sign="nonnegative" if nonnegative else "free",
        batch_size=TAU,
        random_state=0,
        verbose=0,
        **parameters,
    )


def batch_model(solver, M=1.0, nonnegative=False, **parameters):
    sign = "nonnegative" if nonnegative else "free"
    given = {"outlier_weight": LAMBDA, "outlier_bound": M, "outlier_sign": sign}
    return RobustNMF(K, solver=solver, random_state=0, verbose=0, **given, **parameters)


# ------------------------------------------------------------------------------- codes


def test_blocks_start_uniform_and_alike():
    """VII-B1: codes and outliers uniform on [0, 1], each row its own, each block alike."""
    C, R = own_starts(n_rows=N)
    block = Block(coding_problem(), X)
    state = ProjectedGradient().start(block, None)
    close(state["C"], C)
    close(state["R"], R)
    assert len(np.unique(R)) == R.size
    for start in (C, R):
        assert 0 <= start.min() < 0.05 < 0.95 < start.max() <= 1
        assert abs(start.mean() - 0.5) < 0.05


@pytest.mark.parametrize("M", [1.0, 0.1])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("kappa", [0.7, 0.3])
def test_opgd_codes(M, nonnegative, kappa):
    """(13)–(17): the first step takes the r of the start."""
    problem = coding_problem(M, nonnegative)
    C0, R0 = own_starts(M)
    eta, options = code_step(problem.D, kappa), {"M": M, "nonnegative": nonnegative, "tol": 0}
    paths = [
        list(gradient_codes(X[i], problem.D, C0[i], R0[i], eta, LAMBDA, max_iter=20, **options))
        for i in range(TAU)
    ]
    for k in STEPS:
        solver = solvers.opgd(kappa=kappa, code_tol=0.0, code_max_iter=k)
        C = solver.encoder.encode(problem, X[:TAU]).codes
        close(C, [path[k].c for path in paths])
        close(problem.loss.outliers(X[:TAU], C @ problem.D), [path[k].r for path in paths])


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("M", [1.0, 0.1])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("rhos", [(1.0, 1.0), (2.0, 0.5)])
def test_oadmm_codes(M, nonnegative, rhos, as_printed):
    """(25)–(30), duals and all."""
    problem = coding_problem(M, nonnegative)
    C0, R0 = own_starts(M)
    options = {"rho1": rhos[0], "rho2": rhos[1], "tol": 0, "max_iter": 20}
    options |= {"M": M, "nonnegative": nonnegative, "as_printed": as_printed}
    paths = [list(admm_codes(X[i], problem.D, C0[i], R0[i], LAMBDA, **options)) for i in range(TAU)]
    solver, block = OutlierADMM(*rhos, as_printed), Block(problem, X[:TAU])
    for k in STEPS:
        state = solver.start(block, None)
        solver.steps(block, state, k)
        theirs = dict(
            zip(paths[0][0]._fields, zip(*(p[k] for p in paths), strict=True), strict=True)
        )
        for name in ("alpha", "beta"):
            close(state[name], theirs[name])
        for name in "hruq":
            close(state[name.upper()], theirs[name])
        close(solver.objective(block, state), theirs["objective"])


@pytest.mark.parametrize("name", ["opgd", "oadmm"])
def test_each_sample_stops_where_the_paper_stops(name):
    """VII-B2: the first iterate is compared with the start."""
    problem = coding_problem()
    C0, R0 = own_starts(n_rows=N)
    encoding = solvers.PUBLISHED[name]().encoder.encode(problem, X)
    eta = code_step(problem.D)
    for i in range(N):
        if name == "opgd":
            *_, last = gradient_codes(X[i], problem.D, C0[i], R0[i], eta, LAMBDA)
        else:
            *_, last = admm_codes(X[i], problem.D, C0[i], R0[i], LAMBDA)
            close(encoding.outliers[i], last.q)
        assert encoding.n_iter[i] == last.k
        close(encoding.codes[i], last.c if name == "opgd" else last.u)
    assert 2 < encoding.n_iter.mean() < 40


def test_a_start_that_hardly_changes_stops_at_once():
    problem = coding_problem()
    C0, R0 = own_starts()
    eta = code_step(problem.D, 1e-4)
    first = [
        list(gradient_codes(X[i], problem.D, C0[i], R0[i], eta, LAMBDA, tol=0.5))[-1].k
        for i in range(TAU)
    ]
    encoder = solvers.opgd(kappa=1e-4, code_tol=0.5).encoder
    assert list(encoder.encode(problem, X[:TAU]).n_iter) == first
    assert 1 in first


# ---------------------------------------------------------------------- dictionary steps


@pytest.mark.parametrize("as_printed", [False, True])
def test_dictionary_steps(as_printed):
    """(20)–(22) and (33)–(35)."""
    C = np.random.default_rng(2).random((N, K))
    A, B, D = C.T @ C / N, C.T @ X / N, project_l2(D0)
    problem = DictionaryProblem(A, B, Regulariser(region=NonnegativeL2Ball()))
    eta = dict_step(A, D, 0.5, as_printed)
    for k in STEPS:
        # Divided by what is negative, every change is small: one step, whatever the bound.
        options = {"tol": 0, "max_iter": k, "as_printed": as_printed}
        step = DictionaryGradient(0.5, 0.0, k, as_printed=as_printed)
        *_, last = gradient_dictionaries(A, B, D, eta, **options)
        close(step.minimise(problem, D), last.D)
        step = DictionaryADMM(2.0, 0.0, k, as_printed)
        *_, last = admm_dictionaries(A, B, D, rho3=2.0, **options)
        close(step.minimise(problem, D), last.W if as_printed else last.Q)


# -------------------------------------------------------------------------------- online


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["opgd", "oadmm"])
def test_online(name, setting):
    """Statistics, dictionaries, losses and the surrogate (11), step by step."""
    M, nonnegative, as_printed = SETTINGS[setting]
    reference = {"opgd": opgd, "oadmm": oadmm}[name]
    C0, R0 = (np.tile(start, (N // TAU, 1)) for start in own_starts(M))
    given = {"tau": TAU, "lam": LAMBDA, "M": M, "nonnegative": nonnegative}
    steps = list(reference(X, D0, C0, R0, as_printed=as_printed, **given))
    measures = list(surrogate.measures(X, steps, LAMBDA))
    model = online(solvers.PUBLISHED[name](as_printed=as_printed), M, nonnegative, init=D0)
    for t, (step, measure) in enumerate(zip(steps, measures, strict=True), start=1):
        model.partial_fit(X[(t - 1) * TAU : t * TAU])
        if t in STEPS:
            statistics, row = model.statistics_, model.history_[-1]
            close(statistics.A / statistics.weight, step.A)
            close(statistics.B / statistics.weight, step.B)
            close(model.components_, step.D)
            close(row.loss, step.code_objective.mean())
            close(row.surrogate, measure.stored)


@pytest.mark.parametrize("name", ["opgd", "oadmm"])
def test_defaults_are_as_published(name):
    """A uniform start and a plain average, also when `fit` shuffles."""
    model = online(name, n_passes=1).fit(X)
    seed = model._state.seed
    order = np.concatenate([b.X for b in ArraySource(X, TAU, True, seed).batches(0, 0)])
    start = np.random.default_rng([seed, 0]).random((K, F))
    C0, R0 = (np.tile(start, (N // TAU, 1)) for start in own_starts())
    reference = {"opgd": opgd, "oadmm": oadmm}[name]
    *_, last = reference(order, start, C0, R0, tau=TAU, lam=LAMBDA)
    assert model.statistics_.weight == N
    close(model.components_, last.D)
    fading = online(name, n_passes=1, forgetting=PowerForgetting(60.0)).fit(X)
    assert np.linalg.norm(fading.components_ - last.D) > 1e-3


@pytest.mark.parametrize("name", ["opgd", "oadmm"])
def test_constants(name):
    ours, theirs = {
        "opgd": ({"kappa": 0.4, "kappa_dictionary": 0.9}, {"kappa": 0.4, "kappa_dict": 0.9}),
        "oadmm": (
            {"rho_1": 0.5, "rho_2": 2.0, "rho_3": 3.0},
            {"rho1": 0.5, "rho2": 2.0, "rho3": 3.0},
        ),
    }[name]
    stops = {"code_tol": 1e-2, "code_max_iter": 9}
    reference = {"opgd": opgd, "oadmm": oadmm}[name]
    C0, R0 = (np.tile(start, (N // TAU, 1)) for start in own_starts())
    given = {"tau": TAU, "lam": LAMBDA, "dict_tol": 1e-3, "dict_max_iter": 7}
    *_, last = reference(X, D0, C0, R0, **given, **stops, **theirs)
    stops |= {"dictionary_tol": 1e-3, "dictionary_max_iter": 7}
    solver = solvers.PUBLISHED[name](**ours, **stops)
    model = online(solver, init=D0, shuffle=False, n_passes=1).fit(X)
    close(model.components_, last.D)


# --------------------------------------------------------------------------------- batch


def rounds_of(solver, M, nonnegative, D, C):
    """The rounds of a batch method from a given start."""
    model = batch_model(solver, M, nonnegative)
    method = model._plan(K)[0].method
    problem = BatchProblem(method, Batch(X), method.loss(LAMBDA), X.dtype)
    state = StreamState(D.copy(), D.copy(), method.learner.empty(*D.shape), 0)
    return method.alternation(problem, state, C.copy(), Pool(1))


@pytest.mark.parametrize("setting", SETTINGS)
def test_bpgd(setting):
    """(S-8)–(S-10): codes move with the outliers of the round before."""
    M, nonnegative, as_printed = SETTINGS[setting]
    C0 = np.random.default_rng(3).random((N, K))
    given = {"lam": LAMBDA, "M": M, "nonnegative": nonnegative, "as_printed": as_printed}
    steps = bpgd(X, D0, C0, np.zeros((N, F)), 20, kappa1=0.6, kappa2=0.8, **given)
    first = next(steps)
    solver = solvers.bpgd(kappa=0.6, kappa_dictionary=0.8)
    work = rounds_of(solver, M, nonnegative, first.D, C0)
    for step in steps:
        work.improve_codes()
        outliers = work._outliers(X, work.C, None)
        work.improve_dictionary()
        if step.k in STEPS:
            close(work.C, step.C)
            close(work.D, step.D)
            close(outliers, step.R)
            close(work._outliers(X, work.C, None), step.R)
            close(work.objective(), step.objective / N)


@pytest.mark.parametrize("setting", SETTINGS)
def test_badmm(setting):
    """(S-12)–(S-20), copies and duals."""
    M, nonnegative, as_printed = SETTINGS[setting]
    C0 = np.random.default_rng(3).random((N, K))
    given = {"lam": LAMBDA, "M": M, "nonnegative": nonnegative, "as_printed": as_printed}
    steps = badmm(X, D0, C0, np.zeros((N, F)), 20, rho1=0.5, rho2=2.0, rho3=3.0, **given)
    first = next(steps)
    solver = solvers.badmm(rho_1=0.5, rho_2=2.0, rho_3=3.0)
    work = rounds_of(solver, M, nonnegative, first.Psi, C0)
    names = {"A": "Alpha", "B": "Beta"} | {name: name for name in ("H", "R", "W", "U", "Q", "Psi")}
    for step in steps:
        work.improve_codes()
        work.improve_dictionary()
        if step.k in STEPS:
            for ours, theirs in names.items():
                close(getattr(work, ours), getattr(step, theirs))
            close(work.Delta, step.Delta)
            close(work.objective(), step.objective / N)


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("name", ["bpgd", "badmm"])
def test_batch_models(name, as_printed):
    """The same through `fit`, whose own starts are uniform codes and zero outliers."""
    reference = {"bpgd": bpgd, "badmm": badmm}[name]
    for rounds in STEPS:
        solver = solvers.PUBLISHED[name](as_printed=as_printed)
        model = batch_model(solver, tol=0.0, max_iter=rounds).fit(X)
        seed = model._state.seed
        D = np.random.default_rng([seed, 0]).random((K, F))
        C = np.random.default_rng([seed, 3]).random((N, K))
        given = {"lam": LAMBDA, "as_printed": as_printed}
        *_, last = reference(X, D, C, np.zeros((N, F)), rounds, **given)
        close(model.components_, last.D if name == "bpgd" else last.Psi)
        close(model.history_[-1].loss, last.objective / N)


# -------------------------------------------------------- gaps, weights, CSR, bad values


@pytest.mark.parametrize("name", ["opgd", "oadmm"])
def test_the_surrogate_touches_the_loss_where_entries_are_missing_or_weighted(name):
    rng = np.random.default_rng(0)
    problem, sample_weight = coding_problem(0.1), rng.random(N)
    learner = SurrogateLearner(DictionaryGradient())
    for weight in (None, (rng.random((N, F)) < 0.7) * 1.0, rng.random((N, F))):
        encoding = solvers.PUBLISHED[name]().encoder.encode(problem, X, weight)
        fit = problem.fit(X, encoding.codes, weight, encoding.outliers)
        sums = learner.summarise(fit, sample_weight)
        told = sums.around_zero(problem.D, False).measures(problem.D)["surrogate"]
        close(told, np.average(fit.values(), weights=sample_weight))
        if weight is not None and encoding.outliers is not None:
            assert not encoding.outliers[weight == 0].any()


@pytest.mark.parametrize("name", ["opgd", "oadmm"])
def test_gaps_sparse_rows_and_single_precision(name):
    whole = online(name, n_passes=1).fit(X)
    rows = online(name, n_passes=1).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(rows.components_, whole.components_)
    single = online(name, n_passes=1).fit(X.astype(np.float32))
    assert single.components_.dtype == np.float32
    np.testing.assert_allclose(single.components_, whole.components_, atol=0.02)
    gaps = X.copy()
    gaps[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    holes = online(name, n_passes=1).fit(gaps)
    assert np.isfinite(holes.history_.column("surrogate")).all()
    assert holes.history_[-1].surrogate < 2 * whole.history_[-1].surrogate


def test_the_surrogate_is_unknown_once_features_are_left_out():
    model = online("oadmm", n_passes=1).fit(X)
    kept = model.statistics_.keep(np.arange(F - 1))
    assert type(kept) is QuadraticStatistics
    assert kept.measures(model.components_[:, :-1]) == {}
    assert np.isnan(OnlineRobustNMF(K, verbose=0).fit(X).history_.column("surrogate")).all()
