"""Codes: every solver pair agrees, CVXPY agrees, certificates hold, odd rows do no harm."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

import statements
from thresher.encoding import (
    APPROXIMATE,
    AutoEncoder,
    BlockADMM,
    Certified,
    CodingProblem,
    IterativeEncoder,
    Never,
    Newton,
    Status,
)
from thresher.encoding.sparse_power import SparsePower
from thresher.estimators import ManhattanNMF
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    ElasticDistance,
    Envelope,
    Hellinger,
    Huber,
    KullbackLeibler,
    L1Distance,
    L2Distance,
    Mahalanobis,
    SquaredL2,
)
from thresher.penalties import L1, ElasticNet, GroupLasso, Regulariser, SparseGroupLasso, Tikhonov
from thresher.published.divergences import ProjectedSubgradient
from thresher.published.outliers import OutlierADMM, ProjectedGradient
from thresher.sets import (
    Box,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    Reals,
    Simplex,
)

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
    "nonnegative": Regulariser(),
    "l1": Regulariser(L1(0.1)),
    "tikhonov": Regulariser(Tikhonov(0.2)),
    "elastic net": Regulariser(ElasticNet(0.1, 0.1)),
    "group": Regulariser(GroupLasso(0.1, (0, 0, 1, 1, 2, 2))),
    "sparse group": Regulariser(SparseGroupLasso(0.1, 0.5, (0, 0, 0, 1, 1, 1))),
    "simplex": Regulariser(region=Simplex()),
    "l1 ball": Regulariser(region=NonnegativeL1Ball(1.5)),
    "l2 ball": Regulariser(Tikhonov(0.1), NonnegativeL2Ball(0.9)),
    "elastic-net ball": Regulariser(ElasticNet(0.05, 0.1), NonnegativeElasticNetBall(0.3, 0.4)),
    "box": Regulariser(region=Box(0, 0.6)),
    "shifted box": Regulariser(L1(0.1), Box(0.1, 0.6)),
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
    return IterativeEncoder(solver, Certified(1e-9), 50_000)


# A group penalty on outliers takes masks only, and says so.
WEIGHTED = [
    (loss, weighting)
    for loss in LOSSES
    for weighting in ("none", "missing", "weights")
    if weighting != "weights" or LOSSES[loss].penalty.weights is not None
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
        "opgd": IterativeEncoder(SOLVERS["opgd"], Certified(1e-6), 20_000),
        "oadmm": IterativeEncoder(SOLVERS["oadmm"], Certified(1e-6), 20_000),
        "auto": AutoEncoder(1e-9),
    }
    for name, encoder in others.items():
        encoding = encoder.encode(problem, X, weight)
        value = problem.objective(X, encoding.codes, weight)
        np.testing.assert_allclose(value, best, rtol=1e-6, err_msg=name)


CONVEX = {
    **LOSSES,
    "squares": SquaredL2(),
    "kl": KullbackLeibler(),
    "hellinger": Hellinger(),
    "alpha 2": AlphaDivergence(2.0),
    "beta 1.5": BetaDivergence(1.5),
    "l1": L1Distance(),
    "elastic": ElasticDistance(2.0),
    "l2": L2Distance(),
    "mahalanobis": Mahalanobis(np.eye(F) + 0.4 * np.eye(F, k=1) + 0.4 * np.eye(F, k=-1)),
}
PRECISE = {"elastic": 1e-3}  # smoothed at nonsmooth points


@pytest.mark.parametrize("regulariser", REGULARISERS)
@pytest.mark.parametrize("loss", CONVEX)
def test_exact_codes_against_cvxpy(loss, regulariser):
    """With missing entries, and more atoms than a sample needs; outliers are variables of it."""
    rng = np.random.default_rng(5)
    D = np.abs(rng.standard_normal((K, F)))
    D[2] = 0
    X = rng.gamma(0.3, size=(3, K)) @ D + 0.1 * rng.random((3, F))
    W = np.ones_like(X) if loss == "mahalanobis" else (rng.random(X.shape) > 0.25).astype(float)
    problem = CodingProblem(D, CONVEX[loss], REGULARISERS[regulariser])
    part = problem.regulariser
    weight = None if loss == "mahalanobis" else W
    found = AutoEncoder(1e-9, 5000).encode(problem, X, weight)
    assert part.region.contains(found.codes)
    C = cp.Variable((3, K))
    rows, own = statements.losses(CONVEX[loss], X, C @ D, W)
    cost = cp.sum(rows) + cp.sum(statements.prices(part.penalty, C))
    best = statements.solve(cost, [*statements.constraints(part.region, C), *own])
    value = problem.objective(X, found.codes, weight).sum()
    assert value == pytest.approx(best, rel=PRECISE.get(loss, 1e-5), abs=1e-6)


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
    **{
        name: IterativeEncoder(solver, Certified(1e-3), 100_000) for name, solver in SOLVERS.items()
    },
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


def test_rows_that_are_not_finite_get_a_status():
    problem, X = problem_and_data(1)
    X[2, 3] = np.nan
    for encoder in [
        *(IterativeEncoder(s, Certified(1e-6), 500) for s in SOLVERS.values()),
        AutoEncoder(),
    ]:
        encoding = encoder.encode(problem, X)
        assert encoding.status[2] == Status.NOT_FINITE
        assert np.isfinite(encoding.codes).all()
        assert (np.delete(encoding.status, 2) != Status.NOT_FINITE).all()


@pytest.mark.parametrize("loss", ["huber", "bounded", "nonnegative", "elastic net"])
def test_newton_is_exact_and_monotone(loss):
    """From the worst start it reaches machine precision, and no step raises the objective."""
    for seed in range(5):
        problem, X = problem_and_data(seed, 20, loss)
        last = problem.objective(X, np.zeros((20, K)))
        for steps in range(1, 12):
            encoding = Newton(1e-13, steps).encode(problem, X, None, np.zeros((20, K)))
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


@pytest.mark.parametrize("solver", ["opgd", "block admm"])
def test_rows_converge_independently(solver):
    problem, X = problem_and_data(2, 40)
    encoder = IterativeEncoder(SOLVERS[solver], Certified(1e-3), 5000)
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
    encoding = Newton(1e-10, 200).encode(CodingProblem(D, SquaredL2()), X, None, start)
    assert encoding.n_iter.max() <= 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_certificates_of_sparse_rows_bound_the_suboptimality(alpha, dtype):
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


def test_sparse_rows_under_nonsmooth_losses_with_a_ridge():
    """No method codes them on their nonzeros: they are expanded, and not left where they start."""
    rng = np.random.default_rng(1)
    X = rng.poisson(rng.gamma(0.5, size=(60, 3)) @ rng.gamma(0.4, size=(3, 12)) * 4.0) * 1.0
    model = ManhattanNMF(3, code_penalty=ElasticNet(0.05, 0.1), random_state=0, verbose=0)
    model.fit(sparse.csr_array(X))
    of_sparse, of_dense = (model.objective_samples(rows) for rows in (sparse.csr_array(X), X))
    np.testing.assert_allclose(of_sparse, of_dense, rtol=1e-6)


CODE_SETS = {
    "simplex": Simplex(2.0),
    "l1 ball": NonnegativeL1Ball(1.5),
    "l2 ball": NonnegativeL2Ball(0.9),
    "elastic-net ball": NonnegativeElasticNetBall(0.3, 0.4),
    "box": Box(0.1, 0.6),
    "signed box": Box(-0.1, 0.6),
    "reals": Reals(),
}


def dictionary_and_data(seed, n=20):
    rng = np.random.default_rng(seed)
    D = NonnegativeL2Ball().project(np.abs(rng.standard_normal((K, F))))
    X = rng.random((n, K)) @ D + 0.02 * rng.standard_normal((n, F))
    hit = rng.random(X.shape) < 0.15
    X[hit] += rng.uniform(-1, 1, int(hit.sum()))
    return D, np.maximum(X, 0)


@pytest.mark.parametrize("region", CODE_SETS)
def test_newton_is_exact_and_monotone_in_a_set(region):
    """From the member nearest to zero to machine precision; no step leaves the set, or rises."""
    for seed in range(5):
        D, X = dictionary_and_data(seed)
        problem = CodingProblem(D, Huber(LAMBDA), Regulariser(Tikhonov(0.01), CODE_SETS[region]))
        start = CODE_SETS[region].project(np.zeros((20, K)))
        last = problem.objective(X, start)
        for steps in range(1, 16):
            encoding = Newton(1e-13, steps).encode(problem, X, None, start)
            now = problem.objective(X, encoding.codes)
            assert np.all(now <= last * (1 + 1e-12))
            assert CODE_SETS[region].contains(encoding.codes, 1e-12)
            last = now
        assert encoding.certificate.max() < 1e-12
        assert problem.certificate(X, encoding.codes).max() < 1e-10


def test_inactive_constraints_change_nothing():
    D, X = dictionary_and_data(3)
    problem = CodingProblem(D, Huber(LAMBDA))
    codes = AutoEncoder(1e-12).encode(problem, X).codes
    for region in (NonnegativeL1Ball(50), NonnegativeL2Ball(50), Box(0, 50)):
        other = CodingProblem(problem.D, problem.loss, Regulariser(region=region))
        np.testing.assert_allclose(AutoEncoder(1e-12).encode(other, X).codes, codes, atol=1e-9)


BOUNDED = {
    "box": Box(0.0, 2.0),
    "simplex": Simplex(1.5),
    "l1 ball": NonnegativeL1Ball(1.5),
    "wide l1 ball": NonnegativeL1Ball(40.0),
}


@pytest.mark.parametrize("region", ["simplex", "l1 ball", "wide l1 ball"])
def test_certificates_in_a_set_bound_the_suboptimality(region):
    """Under KL they are a duality gap, in units of what the codes cost; at the optimum zero."""
    rng = np.random.default_rng(2)
    D, X = dictionary_and_data(3)
    problem = CodingProblem(D, BetaDivergence(1.0), Regulariser(ElasticNet(), BOUNDED[region]))
    best = AutoEncoder(1e-9, 20_000).encode(problem, X)
    assert best.certificate.max() <= 1e-9
    for size in (1e-3, 0.3):
        codes = BOUNDED[region].project(best.codes * rng.uniform(1 - size, 1 + size, (20, K)))
        gained = problem.objective(X, codes) - problem.objective(X, best.codes)
        spent = (codes * D.sum(axis=1)).sum(axis=1)
        assert np.all(gained <= problem.certificate(X, codes) * spent * (1 + 1e-9))


@pytest.mark.parametrize("region", BOUNDED)
def test_certificates_weigh_each_code_by_its_own_scale(region):
    """Itakura–Saito has slopes of 1e7 where a sample is zero; the other code is 10 % off."""
    X = np.array([[0.0, 1.5]])
    problem = CodingProblem(
        np.eye(2), BetaDivergence(0.0), Regulariser(ElasticNet(), BOUNDED[region])
    )
    assert problem.certificate(X, np.array([[1e-7, 1.35]]))[0] > 0.05
    assert problem.certificate(X, np.array([[0.0, 1.5]]))[0] < 1e-6


@pytest.mark.parametrize(
    "loss", [KullbackLeibler(), Hellinger(), SquaredL2(), AlphaDivergence(0.7)]
)
@pytest.mark.parametrize(
    "penalty", [ElasticNet(), ElasticNet(0.1, 0.05)], ids=["bare", "penalised"]
)
def test_sparse_rows_have_the_codes_of_dense_ones(loss, penalty):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (30, 60)).astype(float)
    X[3] = 0
    X[4, 5:] = 0
    problem = CodingProblem(rng.random((6, 60)) + 0.01, loss, Regulariser(penalty))
    dense = AutoEncoder(1e-10, 5000).encode(problem, X)
    thin = AutoEncoder(1e-10, 5000).encode(problem, sparse.csr_array(X))
    np.testing.assert_allclose(thin.codes, dense.codes, atol=2e-4)
    np.testing.assert_allclose(
        problem.objective(X, thin.codes), problem.objective(X, dense.codes), rtol=1e-8, atol=1e-9
    )
    assert not thin.codes[3].any()


@pytest.mark.parametrize("loss", [KullbackLeibler(), Hellinger(), AlphaDivergence(2.0)])
def test_approximate_codes_do_not_depend_on_lengths_of_atoms(loss):
    """And they are better than the even codes that they start from."""
    rng = np.random.default_rng(0)
    X = rng.poisson(2.0, (30, 60)) * (rng.random((30, 60)) < 0.5).astype(float)
    D, two = rng.random((6, 60)) + 0.01, 2.0 ** np.arange(-6, 6, 2)
    problem = CodingProblem(D, loss)
    rough = AutoEncoder(None, candidates=APPROXIMATE).encode(problem, sparse.csr_array(X)).codes
    longer = (
        AutoEncoder(None, candidates=APPROXIMATE)
        .encode(CodingProblem(D * two[:, None], loss), sparse.csr_array(X))
        .codes
    )
    np.testing.assert_array_equal(longer * two, rough)
    even = X.sum(axis=1)[:, None] / D.sum(axis=1) / 6
    assert (problem.objective(X, rough) < problem.objective(X, even)).all()


@pytest.mark.parametrize(
    "loss", [KullbackLeibler(), SquaredL2(), Huber(0.3), L1Distance()], ids=str
)
def test_published_codes_approach_the_optimum(loss):
    """Errata E.1: with the test at the projected point, KL is never undefined."""
    D, X = dictionary_and_data(0)
    problem = CodingProblem(D, loss)
    best = problem.objective(X, AutoEncoder(1e-6, 5000).encode(problem, X).codes)
    codes = IterativeEncoder(ProjectedSubgradient(), Never(), 3000).encode(problem, X).codes
    value = problem.objective(X, codes)
    assert np.all(value <= 1.02 * best + 0.02 * problem.objective(X, 0 * codes))
