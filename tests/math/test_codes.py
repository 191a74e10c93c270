"""Codes: every solver pair agrees, CVXPY agrees, certificates hold, odd rows do no harm."""

import re
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

from parts import solve
from thresher.encoding import (
    EXACT,
    AutoEncoder,
    Block,
    BlockADMM,
    Certified,
    CodingProblem,
    Encoder,
    Newton,
    OutlierADMM,
    ProjectedGradient,
    RoughEncoder,
    SmallChange,
    Status,
)
from thresher.encoding.block_admm import _away_from_zero
from thresher.encoding.sparse_power import SparsePower
from thresher.estimators import ManhattanNMF, OnlineNMF
from thresher.losses import (
    AlphaDivergence,
    ElasticDistance,
    Envelope,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    SquaredL2,
)
from thresher.penalties import L1, Constrained, ElasticNet, GroupLasso, SparseGroupLasso, Tikhonov
from thresher.sets import Box, NonnegativeL1Ball, NonnegativeL2Ball, Simplex
from thresher.testing.data import planted

K, F = 6, 40
LAMBDA = 0.15
SOLVERS = {"opgd": ProjectedGradient(), "oadmm": OutlierADMM(), "block admm": BlockADMM()}
LOSSES = {
    "huber": Huber(LAMBDA),
    "bounded": Huber(LAMBDA, bound=0.5),
    "nonnegative": Huber(LAMBDA, nonnegative=True),
    "elastic net": Envelope(ElasticNet(LAMBDA, 0.2)),
    "samples": Envelope(GroupLasso(LAMBDA)),
}
REGULARISERS = {
    "nonnegative": Constrained(),
    "l1": Constrained(L1(0.1)),
    "tikhonov": Constrained(Tikhonov(0.2)),
    "elastic net": Constrained(ElasticNet(0.1, 0.1)),
    "group": Constrained(GroupLasso(0.1, (0, 0, 1, 1, 2, 2))),
    "sparse group": Constrained(SparseGroupLasso(0.1, 0.5, (0, 0, 0, 1, 1, 1))),
    "simplex": Constrained(region=Simplex()),
    "l1 ball": Constrained(region=NonnegativeL1Ball(1.5)),
    "l2 ball": Constrained(Tikhonov(0.1), NonnegativeL2Ball(0.9)),
    "box": Constrained(region=Box(0, 0.6)),
}


def problem_and_data(seed, n=8, loss="huber", regulariser="nonnegative", dtype=np.float64):
    rng = np.random.default_rng(seed)
    D = NonnegativeL2Ball().project(np.abs(rng.standard_normal((K, F))))
    X = rng.random((n, K)) @ D + 0.02 * rng.standard_normal((n, F))
    hit = rng.random(X.shape) < 0.15
    X[hit] += rng.uniform(-1, 1, int(hit.sum()))
    X = np.maximum(X, 0)
    problem = CodingProblem(D.astype(dtype), LOSSES[loss], REGULARISERS[regulariser])
    return problem, X.astype(dtype)


def weights_for(X, kind):
    rng = np.random.default_rng(7)
    if kind == "none":
        return None
    if kind == "missing":
        return (rng.random(X.shape) > 0.25).astype(X.dtype)
    return rng.uniform(0, 2, X.shape).astype(X.dtype)


def exact(solver):
    return Encoder(solver, Certified(1e-9), 50_000)


def test_solver_pairs_agree_on_200_random_problems():
    """25 dictionaries with 8 samples each, the published stops tightened."""
    encoders = [*map(exact, SOLVERS.values()), AutoEncoder(1e-9)]
    for seed in range(25):
        problem, X = problem_and_data(seed)
        values = []
        for encoder in encoders:
            encoding = encoder.encode(problem, X)
            assert (encoding.status == Status.CONVERGED).all()
            values.append(problem.objective(X, encoding.codes))
        for value in values[1:]:
            np.testing.assert_allclose(value, values[0], rtol=1e-6)


# A group penalty on outliers takes masks only, and says so.
WEIGHTED = [
    (loss, weighting)
    for loss in LOSSES
    for weighting in ("none", "missing", "weights")
    if weighting != "weights" or LOSSES[loss].penalty.separable
]


@pytest.mark.parametrize(("loss", "weighting"), WEIGHTED)
@pytest.mark.parametrize("regulariser", REGULARISERS)
def test_solvers_agree_for_every_part(loss, weighting, regulariser):
    problem, X = problem_and_data(3, 5, loss, regulariser)
    weight = weights_for(X, weighting)
    reference = exact(SOLVERS["block admm"]).encode(problem, X, weight)
    assert (reference.status == Status.CONVERGED).all()
    assert problem.regulariser.region.contains(reference.codes)
    best = problem.objective(X, reference.codes, weight)
    others = {
        "opgd": Encoder(SOLVERS["opgd"], Certified(1e-6), 20_000),
        "oadmm": Encoder(SOLVERS["oadmm"], Certified(1e-6), 20_000),
        "auto": AutoEncoder(1e-9),
    }
    for name, encoder in others.items():
        encoding = encoder.encode(problem, X, weight)
        value = problem.objective(X, encoding.codes, weight)
        np.testing.assert_allclose(value, best, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("loss", ["huber", "bounded", "nonnegative", "samples"])
@pytest.mark.parametrize("regulariser", ["nonnegative", "elastic net", "sparse group", "simplex"])
def test_auto_against_cvxpy(loss, regulariser):
    """The program of the paper itself, (5), with r as a variable."""
    problem, X = problem_and_data(11, 3, loss, regulariser)
    mask = weights_for(X, "missing")
    encoding = AutoEncoder(1e-9, 50_000).encode(problem, X, mask)
    values = problem.objective(X, encoding.codes, mask)
    for x, m, value in zip(X, mask, values, strict=True):
        c, r = cp.Variable(K, nonneg=True), cp.Variable(F)
        seen = m > 0
        outliers = {
            "huber": LAMBDA * cp.norm1(r[seen]),
            "bounded": LAMBDA * cp.norm1(r[seen]),
            "nonnegative": LAMBDA * cp.norm1(r[seen]),
            # The group has one weight for all F entries, missing ones included.
            "samples": LAMBDA * np.sqrt(F) * cp.norm2(r[seen]),
        }[loss]
        penalty = {
            "nonnegative": 0,
            "elastic net": 0.1 * cp.sum(c) + 0.05 * cp.sum_squares(c),
            "sparse group": 0.05 * (np.sqrt(3) * (cp.norm2(c[:3]) + cp.norm2(c[3:])) + cp.sum(c)),
            "simplex": 0,
        }[regulariser]
        limits = [cp.sum(c) == 1] if regulariser == "simplex" else []
        limits += [cp.abs(r) <= 0.5] if loss == "bounded" else []
        limits += [r >= 0] if loss == "nonnegative" else []
        residual = x[seen] - (c @ problem.D)[seen] - r[seen]
        best = solve(cp.sum_squares(residual) / 2 + outliers + penalty, limits)
        assert value == pytest.approx(best, rel=1e-6, abs=1e-7)


def test_certificate_is_zero_only_at_the_optimum():
    problem, X = problem_and_data(5)
    best = exact(BlockADMM()).encode(problem, X).codes
    assert problem.certificate(X, best).max() < 1e-9
    worse = problem.certificate(X, best + 0.01)
    assert worse.min() > 1e-4
    # Free of units: data and λ, or atoms, in another scale change nothing.
    other = CodingProblem(problem.D * 8, Huber(LAMBDA * 1024))
    np.testing.assert_allclose(other.certificate(X * 1024, (best + 0.01) * 128), worse, rtol=1e-9)


ENCODERS = {
    **{name: Encoder(solver, Certified(1e-3), 100_000) for name, solver in SOLVERS.items()},
    "auto": AutoEncoder(1e-4),
}


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_and_odd_rows(encoder, dtype):
    """Zero rows, rows of pure outliers, a single row, zero atoms and twins."""
    problem, X = problem_and_data(1, dtype=dtype)
    D = problem.D.copy()
    D[1], D[2] = 0, D[3]
    problem = CodingProblem(D, Huber(LAMBDA))
    X[0], X[1] = 0, 50
    encoding = ENCODERS[encoder].encode(problem, X)
    assert encoding.codes.dtype == dtype
    assert (encoding.status == Status.CONVERGED).all()
    assert (encoding.codes[0] @ D).max() < 1e-2


def test_non_finite_is_a_status_not_a_hang():
    problem, X = problem_and_data(1)
    X[2, 3] = np.nan
    for encoder in [*(Encoder(s, Certified(1e-6), 500) for s in SOLVERS.values()), AutoEncoder()]:
        encoding = encoder.encode(problem, X)
        assert encoding.status[2] == Status.NOT_FINITE
        assert np.isfinite(encoding.codes).all()
        assert (np.delete(encoding.status, 2) != Status.NOT_FINITE).all()


@pytest.mark.parametrize("solver", ["opgd", "oadmm"])
def test_published_stop_is_too_early(solver):
    """errata A.2: at the stop of the paper codes are far from optimal; its status is honest."""
    problem, X = problem_and_data(2, 40)
    published = Encoder(SOLVERS[solver], SmallChange(1e-3), 50).encode(problem, X)
    best = problem.objective(X, exact(BlockADMM()).encode(problem, X).codes)
    assert np.all(problem.objective(X, published.codes) >= best * (1 - 1e-9))
    assert published.n_iter.max() <= 50
    assert published.certificate.max() > 1e-4


def test_published_stop_compares_the_first_step_with_the_start():
    """Paper A, VII-B2: a row ends at the first step that changes its objective by little."""
    problem, X = problem_and_data(2, 40)
    solver, block, tol, n_steps = OutlierADMM(), Block(problem, X), 0.7, 30
    state = solver.start(block, None)
    values = [solver.objective(block, state)]
    for _ in range(n_steps):
        solver.steps(block, state, 1)
        values.append(solver.objective(block, state))
    small = np.abs(np.diff(values, axis=0)) <= tol * np.array(values[:-1])
    expected = np.where(small.any(axis=0), small.argmax(axis=0) + 1, n_steps)
    found = Encoder(solver, SmallChange(tol), n_steps).encode(problem, X)
    np.testing.assert_array_equal(found.n_iter, expected)
    assert 0 < (expected == 1).sum() < len(X)


def test_admm_returns_feasible_copies():
    """errata A.5: at (h, r) the objective can lie below the optimum, at (u, q) it cannot."""
    problem, X = problem_and_data(4)
    best = problem.objective(X, exact(BlockADMM()).encode(problem, X).codes)
    solver, block = OutlierADMM(), Block(problem, X)
    state = solver.start(block, None)
    for _ in range(30):
        solver.steps(block, state, 1)
        assert (solver.codes(block, state) >= 0).all()
        assert np.all(solver.objective(block, state) >= best - 1e-9)


def test_oadmm_needs_an_envelope():
    problem, X = problem_and_data(0)
    with pytest.raises(ValueError, match="SquaredL2"):
        exact(OutlierADMM()).encode(CodingProblem(problem.D, SquaredL2()), X)


@pytest.mark.parametrize("solver", ["opgd", "block admm", "auto"])
def test_squared_loss_against_nnls(solver):
    from scipy.optimize import nnls

    problem, X = problem_and_data(6)
    problem = CodingProblem(problem.D, SquaredL2())
    codes = (
        (AutoEncoder(1e-10) if solver == "auto" else exact(SOLVERS[solver]))
        .encode(problem, X)
        .codes
    )
    expected = np.vstack([nnls(problem.D.T, x)[0] for x in X])
    np.testing.assert_allclose(codes, expected, atol=1e-6)


@pytest.mark.parametrize("loss", ["huber", "bounded", "nonnegative", "elastic net"])
def test_newton_is_exact_and_monotone(loss):
    """From the worst start it reaches machine precision, and no step raises the objective."""
    for seed in range(5):
        problem, X = problem_and_data(seed, 20, loss)
        last = problem.objective(X, np.zeros((20, K)))
        for steps in range(1, 12):
            encoding = Newton(1e-13, steps).finish(problem, X, None, np.zeros((20, K)))
            now = problem.objective(X, encoding.codes)
            assert np.all(now <= last * (1 + 1e-12))
            last = now
        assert encoding.certificate.max() < 1e-12


def test_wide_samples_start_from_a_subsample():
    """F ≥ 512 K takes another way to the same codes, with and without gaps."""
    rng = np.random.default_rng(0)
    D = NonnegativeL2Ball().project(np.abs(rng.standard_normal((3, 2000))))
    X = 20 * rng.random((6, 3)) @ D
    X[rng.random(X.shape) < 0.2] = 1.0
    problem = CodingProblem(D, Huber(0.02))
    for weight in (None, (rng.random(X.shape) > 0.3).astype(float)):
        wide = AutoEncoder(1e-10).encode(problem, X, weight)
        narrow = exact(BlockADMM()).encode(problem, X, weight)
        assert (wide.status == Status.CONVERGED).all()
        np.testing.assert_allclose(wide.codes, narrow.codes, rtol=1e-6)


def test_scale_of_data_and_atoms_does_not_matter():
    """X and λ times 1024, D times 8: the same path to codes times 128, bit for bit."""
    problem, X = problem_and_data(9)
    other = CodingProblem(problem.D * 8, Huber(LAMBDA * 1024))
    for encoder in (AutoEncoder(1e-6), exact(BlockADMM())):
        codes = encoder.encode(problem, X).codes
        np.testing.assert_array_equal(encoder.encode(other, X * 1024).codes, codes * 128)


@pytest.mark.parametrize(
    "loss", [SquaredL2(), Huber(LAMBDA), L1Distance(), KullbackLeibler(), ItakuraSaito()], ids=str
)
def test_rough_codes_come_without_a_look_at_how_far_they_are(loss):
    """Certificates cost as much as the rounds themselves, and who learns does not read them."""
    problem, X = problem_and_data(0)
    problem = CodingProblem(problem.D, loss)
    assert np.isnan(RoughEncoder().encode(problem, X + 0.1).certificate).all()
    assert np.isfinite(AutoEncoder().encode(problem, X + 0.1).certificate).all()


def test_oadmm_takes_the_new_codes_in_its_outlier_step():
    """Two rounds of (25)–(30), written out."""
    problem, X = problem_and_data(4)
    solver, block, D = OutlierADMM(), Block(problem, X), problem.D
    state = solver.start(block, None)
    U, Q, R, a, b = (state[name].copy() for name in ("U", "Q", "R", "alpha", "beta"))
    assert not a.any()  # as published: uniform copies, zero duals
    assert not b.any()
    for _ in range(2):
        H = np.linalg.solve(D @ D.T + np.eye(len(D)), ((X - R) @ D.T + U - a).T).T
        V = (Q + X - b - H @ D) / 2
        R = np.sign(V) * np.maximum(np.abs(V) - problem.loss.penalty.l1 / 2, 0)
        U, Q = np.maximum(H + a, 0), R + b
        a, b = a + H - U, b + R - Q
    solver.steps(block, state, 2)
    np.testing.assert_allclose(state["U"], U, atol=1e-12)
    np.testing.assert_allclose(state["R"], R, atol=1e-12)


@pytest.mark.parametrize("solver", ["opgd", "block admm"])
def test_rows_leave_when_they_are_done(solver):
    problem, X = problem_and_data(2, 40)
    encoder = Encoder(SOLVERS[solver], Certified(1e-3), 5000)
    start = np.full((40, len(problem.D)), 0.5)
    together = encoder.encode(problem, X, None, start)
    for i in range(0, 40, 3):
        alone = encoder.encode(problem, X[i : i + 1], None, start[:1])
        assert together.n_iter[i] == alone.n_iter[0]
        np.testing.assert_allclose(together.codes[i], alone.codes[0], rtol=1e-8, atol=1e-12)


def test_newton_drops_all_blocking_bounds_in_one_step():
    """Under the squared loss, many atoms that end at zero do not cost a step each."""
    rng = np.random.default_rng(0)
    D = NonnegativeL2Ball().project(rng.random((40, 60)))
    X = rng.random((20, 60))
    start = np.ones((20, 40))
    encoding = Newton(1e-10, 200).finish(CodingProblem(D, SquaredL2()), X, None, start)
    assert encoding.n_iter.max() <= 10


def test_the_page_tells_the_order_in_which_methods_are_tried():
    page = (Path(__file__).parents[1] / "docs" / "lab" / "encoders.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    tried = [type(candidate.make(1e-4, 100)).__name__ for candidate in EXACT]
    assert told[: len(tried)] == tried


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_certificates_of_sparse_rows_are_what_their_codes_ended_by(alpha, dtype):
    """The duality gap, of codes of whatever origin: it bounds what is left to gain."""
    rng = np.random.default_rng(7)
    D = rng.gamma(0.3, size=(5, 40)).astype(dtype)
    X = sparse.csr_array(rng.poisson(rng.gamma(0.5, size=(30, 5)) @ D).astype(dtype))
    problem = CodingProblem(D, AlphaDivergence(alpha))
    words = X.sum(axis=1)
    best = SparsePower(1e-6).encode(problem, X)
    again = problem.certificate(X, best.codes)
    np.testing.assert_allclose(again, best.certificate, atol=1e-6)
    off = (best.codes * rng.uniform(0.9, 1.1, best.codes.shape)).astype(dtype)
    gained = problem.objective(X, off) - problem.objective(X, best.codes)
    told = problem.certificate(X, off)
    assert np.all(gained[words > 0] <= told[words > 0] * words[words > 0] * 1.001 + 1e-5)
    assert np.all(told[gained > 0.01] > 1e-4)
    # Without codes there is no dual point: all is left to gain, or nothing.
    nothing = np.zeros_like(off)
    assert np.all((problem.certificate(X, nothing) > 1) == (words > 0))


def test_rounds_begin_away_from_zero_by_what_was_seen_of_a_row():
    """At least a tenth of the mean over its observed entries; gaps stay as they are."""
    rng = np.random.default_rng(0)
    X, seen = rng.random((5, 8)) + 0.5, rng.random((5, 8)) < 0.6
    block = Block(CodingProblem(np.ones((2, 8)), KullbackLeibler()), X, seen.astype(float))
    means = [row[kept].mean() for row, kept in zip(X, seen, strict=True)]
    found = _away_from_zero(block, np.zeros_like(X))
    np.testing.assert_allclose(found, np.where(seen, np.array(means)[:, None] / 10, 0))
    np.testing.assert_array_equal(_away_from_zero(block, found + 1), found + 1)


CASES = {
    "elastic": (ElasticDistance(2.0), {}, lambda c, e: (cp.sum_squares(e), [])),
    "elastic, box": (
        ElasticDistance(2.0),
        {"code_set": Box(0.0, 0.4)},
        lambda c, e: (cp.sum_squares(e), [c <= 0.4]),
    ),
    "ridge": (
        L1Distance(),
        {"code_penalty": ElasticNet(0.01, 0.1)},
        lambda c, e: (0.01 * cp.sum(c) + 0.05 * cp.sum_squares(c), []),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_codes_are_optimal(name):
    """Warnings are errors here: every code says that it is there."""
    loss, given, statement = CASES[name]
    X = planted(120)
    model = OnlineNMF(4, divergence=loss, random_state=0, verbose=0, n_passes=3, **given).fit(X)
    model.set_params(max_iter=5000)
    rows = np.ascontiguousarray(X[:8])
    got = model.objective_samples(rows)
    np.testing.assert_allclose(model.objective_samples(sparse.csr_array(rows)), got, rtol=1e-3)
    for x, value in zip(rows, got, strict=True):
        c = cp.Variable(4, nonneg=True)
        e = x - c @ model.components_
        extra, constraints = statement(c, e)
        best = solve(cp.norm1(e) + extra, constraints)
        assert best * (1 - 1e-6) - 1e-8 <= value <= best * (1 + 2e-3) + 1e-6
    assert np.isnan(model.certificates(rows, model.transform(rows))).all()  # not known, and said


def test_sparse_rows_under_kinks_and_a_curved_price_are_coded_exactly():
    """No method codes them on their nonzeros: they are expanded, and not left where they start."""
    rng = np.random.default_rng(1)
    X = rng.poisson(rng.gamma(0.5, size=(60, 3)) @ rng.gamma(0.4, size=(3, 12)) * 4.0) * 1.0
    model = ManhattanNMF(3, code_penalty=ElasticNet(0.05, 0.1), random_state=0, verbose=0)
    model.fit(sparse.csr_array(X))
    of_sparse, of_dense = (model.objective_samples(rows) for rows in (sparse.csr_array(X), X))
    np.testing.assert_allclose(of_sparse, of_dense, rtol=1e-6)
