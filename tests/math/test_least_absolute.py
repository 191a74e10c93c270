"""Codes under the ℓ1 distance against HiGHS; certificates that are bounds; weights of zeros."""

import zlib

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import statements
from thresher.encoding import (
    DENSE,
    AutoEncoder,
    BlockADMM,
    Certified,
    CodingProblem,
    IterativeEncoder,
    LeastAbsolute,
    Status,
)
from thresher.encoding.least_absolute import _UnitAtoms
from thresher.losses import L1Distance
from thresher.penalties import L1, Regulariser
from thresher.sets import (
    Box,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    Reals,
    Simplex,
)

TOL = 1e-9


def objective(x, D, c, l1, w):
    return np.sum(w * np.abs(x - c @ D)) + l1 * c.sum()


def optimum(x, D, l1, w):
    """By HiGHS, from the dual ``max θ·x, |θ| ≤ w, Dθ ≤ l1``, in good units."""
    unit, size = np.abs(x).max() or 1.0, np.abs(D).max(axis=1)
    size[size == 0] = 1
    result = linprog(
        -x / unit, A_ub=D / size[:, None], b_ub=l1 / size, bounds=np.c_[-w, w], method="highs",
        options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    assert result.status == 0
    return -result.fun * unit


def check(X, D, l1=0.0, weight=None, zero_weight=1.0, start=None, **options):
    """Code X, dense or sparse, and compare with HiGHS."""
    problem = CodingProblem(D, L1Distance(zero_weight), Regulariser(L1(l1)))
    encoding = LeastAbsolute(TOL, **options).encode(problem, X, weight, start)
    assert (encoding.codes >= 0).all()
    assert (encoding.status == Status.CONVERGED).all()
    assert (np.abs(encoding.certificate) <= TOL).all()
    rows = X.toarray() if sparse.issparse(X) else X
    for i, (x, c) in enumerate(zip(rows, encoding.codes, strict=True)):
        w = np.ones(len(x)) if weight is None else weight[i]
        w = np.where(x == 0, zero_weight * w, w)
        scale = np.sum(w * np.abs(x))
        value = objective(x, D, c, l1, w)
        assert abs(value - (optimum(x, D, l1, w) if scale > 0 else 0)) <= 2e-8 * scale
    return encoding


def samples(rng, n=4, F=60, K=9, kind="dense"):
    D = np.abs(rng.standard_normal((K, F)))
    X = np.abs(rng.standard_normal((n, K))) @ D + 0.1 * rng.standard_normal((n, F))
    X[rng.random(X.shape) < 0.1] += 5
    if kind == "integers":
        D, X = rng.integers(0, 3, (K, F)).astype(float), rng.integers(0, 4, (n, F)).astype(float)
    if kind == "binary":
        D, X = (rng.random((K, F)) < 0.3) * 1.0, (rng.random((n, F)) < 0.4) * 1.0
    if kind == "duplicates":
        D[1], D[3], D[4] = D[0], 2 * D[2], D[0] + D[2]
    if kind == "empty":
        D[2], D[:, :10], X[0], X[1, 5:] = 0, 0, 0, 0
    if kind == "exact":
        X = np.abs(rng.standard_normal((n, K))) * (rng.random((n, K)) < 0.5) @ D
    if kind == "atoms":
        X = D[rng.integers(0, K, n)].copy()
    if kind == "constant":
        X[:], D[:] = 3.0, 1.0
    if kind == "signed":
        D = rng.standard_normal((K, F))
    if kind == "scales":
        D *= 10.0 ** rng.integers(-4, 5, (K, 1))
        X *= 10.0 ** rng.integers(-6, 7, (n, 1))
    if kind == "features":
        D *= 10.0 ** rng.integers(-3, 4, F)
        X *= 10.0 ** rng.integers(-3, 4, F)
    return X, D


def documents(rng, n=6, kind="dense"):
    X, D = samples(rng, n, 90, 12, kind)
    X = np.abs(X) * (rng.random(X.shape) < 0.3)
    X[0] = 0
    return X, D * (rng.random(D.shape) < 0.5)


KINDS = [
    "dense", "integers", "binary", "duplicates", "empty", "exact", "atoms", "constant", "signed",
    "scales", "features",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(60, 9), (12, 20), (400, 5)])
def test_against_highs(kind, shape):
    """More features than atoms, fewer, and so many that they are sampled; from zero as well."""
    rng = np.random.default_rng(zlib.crc32(repr((kind, shape)).encode()))
    X, D = samples(rng, 3, *shape, kind)
    for l1 in (0.0, 0.3, 1e4):
        check(X, D, l1)
    check(X, D, rounds=0, start=np.zeros((3, len(D))))


def test_weights_and_missing_values():
    rng = np.random.default_rng(1)
    X, D = samples(rng, 4, 80, 10)
    weight = rng.random(X.shape) * (rng.random(X.shape) < 0.7)
    weight[0] = 0
    X[weight == 0] = 1e3
    check(X, D, 0.1, weight)
    check(X, D, 0.1, 1e4 * weight)
    check(X, D, 0.0, (weight > 0).astype(float))
    problem = CodingProblem(D, L1Distance())
    codes = LeastAbsolute().encode(problem, X, weight).codes
    X[weight == 0] = np.nan
    np.testing.assert_array_equal(LeastAbsolute().encode(problem, X, weight).codes, codes)


def test_results_do_not_depend_on_the_start():
    rng = np.random.default_rng(2)
    X, D = samples(rng, 4, 100, 12)
    codes = check(X, D).codes
    assert check(X, D, start=codes, rounds=0).n_iter.max() <= 2 * len(D)
    for start in (10 * rng.random(codes.shape), np.full(codes.shape, 1e6)):
        check(X, D, start=start)
        check(X, D, start=start, rounds=0)


def test_lengths_of_atoms_do_not_change_the_steps():
    """Powers of two are exact: the same steps, and codes that are as much shorter."""
    rng = np.random.default_rng(0)
    X, D = samples(rng, 20, 80, 12)
    two = 2.0 ** rng.integers(-8, 9, 12)
    plain, longer = check(X, D), check(X, D * two[:, None])
    np.testing.assert_array_equal(longer.codes * two, plain.codes)
    np.testing.assert_array_equal(longer.n_iter, plain.n_iter)


@pytest.mark.parametrize("noise", [1e-4, 1e-2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_first_stage_ends_near_the_optimum(noise, weighted):
    """Wherever a row stands, and as small as its residuals may be; so few steps are left."""
    rng = np.random.default_rng(0)
    D = rng.random((8, 60))
    X = rng.random((7, 8)) @ D + noise * rng.laplace(size=(7, 60))
    X[:, ::9] = rng.random((7, 7))
    weight = rng.uniform(0.5, 2.0, X.shape) if weighted else np.empty((0, 0))
    W, problem = weight if weighted else np.ones(X.shape), CodingProblem(D, L1Distance())
    exact = LeastAbsolute(TOL).encode(problem, X, weight if weighted else None).codes
    best = np.sum(W * np.abs(X - exact @ D), axis=1)
    for rounds, start in ((LeastAbsolute().rounds, None), (2, exact)):
        C, _ = LeastAbsolute(rounds=rounds)._start(_UnitAtoms.of(problem), 0.0, X, weight, start)
        found = np.sum(W * np.abs(X - np.maximum(C, 0) @ D), axis=1)
        assert (found < 1.001 * best).all()


def test_max_iter_is_kept_and_the_certificate_is_a_bound():
    rng = np.random.default_rng(5)
    X, D = samples(rng, 6, 100, 12)
    problem = CodingProblem(D, L1Distance())
    encoding = LeastAbsolute(TOL, 3, rounds=0).encode(problem, X)
    assert (encoding.status == Status.MAX_ITER).all()
    assert (encoding.n_iter == 3).all()
    best = np.array([optimum(x, D, 0.0, np.ones(100)) for x in X])
    above = problem.objective(X, encoding.codes) - best
    assert (above <= encoding.certificate * np.abs(X).sum(axis=1) * (1 + 1e-9)).all()


def test_rows_that_are_not_finite_get_a_status():
    rng = np.random.default_rng(6)
    for shape in ((60, 9), (400, 5)):
        X, D = samples(rng, 4, *shape)
        X[1, 3], X[2, 5] = np.nan, np.inf
        problem = CodingProblem(D, L1Distance())
        for rows in (X, sparse.csr_matrix(X)):
            encoding = LeastAbsolute().encode(problem, rows)
            expected = [Status.CONVERGED, Status.NOT_FINITE, Status.NOT_FINITE, Status.CONVERGED]
            assert encoding.status.tolist() == expected
            assert np.isfinite(encoding.codes).all()


@pytest.mark.parametrize("kind", ["dense", "integers", "binary", "duplicates", "exact", "scales"])
@pytest.mark.parametrize("zero_weight", [1.0, 0.1, 0.0])
def test_sparse_against_highs(kind, zero_weight):
    rng = np.random.default_rng(6)
    X, D = documents(rng, 5, kind)
    for l1 in (0.0, 0.2):
        for start in (None, rng.random((5, len(D)))):
            check(sparse.csr_matrix(X), D, l1, None, zero_weight, start)


@pytest.mark.parametrize("zero_weight", [1.0, 0.2, 3.0])
def test_sparse_is_dense(zero_weight):
    rng = np.random.default_rng(8)
    X, D = documents(rng)
    rows = sparse.csr_matrix(X)
    rows.data[::7] = 0  # zeros that are stored are zeros
    X = rows.toarray()
    thin = check(rows, D, 0.1, None, zero_weight).codes
    np.testing.assert_allclose(thin, check(X, D, 0.1, None, zero_weight).codes, atol=1e-8)
    weight = np.where(X == 0, zero_weight, 1.0)
    np.testing.assert_allclose(thin, check(X, D, 0.1, weight).codes, atol=1e-8)
    problem = CodingProblem(D, L1Distance(zero_weight), Regulariser(L1(0.1)))
    C = rng.random(thin.shape)
    gaps = (LeastAbsolute().certificate(problem, data, C) for data in (rows, X))
    np.testing.assert_allclose(*gaps)


def test_sparse_rows_need_a_nonnegative_dictionary():
    rng = np.random.default_rng(9)
    X, D = documents(rng)
    D[0, 0] = -1
    with pytest.raises(ValueError, match="nonnegative"):
        LeastAbsolute().encode(CodingProblem(D, L1Distance()), sparse.csr_matrix(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_certificates_are_relative_suboptimality(weighted):
    rng = np.random.default_rng(10)
    X, D = samples(rng)
    X[3] = 0
    weight = rng.random(X.shape) if weighted else None
    W = np.ones(X.shape) if weight is None else weight
    problem = CodingProblem(D, L1Distance(), Regulariser(L1(0.1)))
    best = np.array([optimum(x, D, 0.1, w) for x, w in zip(X, W, strict=True)])
    scale = (W * np.abs(X)).sum(axis=1)
    codes = AutoEncoder(TOL).encode(problem, X, weight).codes
    for C in (np.zeros_like(codes), codes, codes + 0.01, rng.random(codes.shape)):
        above = problem.objective(X, C, weight) - best
        certificate = problem.certificate(X, C, weight)
        np.testing.assert_allclose(certificate[:3], above[:3] / scale[:3], atol=1e-7)
        assert (certificate >= 0).all()
        assert (certificate[3] > 1e6) == C[3].any()
    # so other encoders can stop by it
    rough = IterativeEncoder(BlockADMM(), Certified(1e-3), 2000).encode(problem, X[:3], None)
    assert (rough.status == Status.CONVERGED).all()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_float32(kind):
    rng = np.random.default_rng(11)
    X, D = documents(rng)
    problems = [CodingProblem(D.astype(t).astype(d), L1Distance(0.3), Regulariser(L1(0.1)))
                for t, d in ((np.float32, np.float64), (np.float32, np.float32))]  # fmt: skip
    codes = []
    for problem in problems:
        problem.D.flags.writeable = False
        rows = X.astype(np.float32).astype(problem.D.dtype)
        rows.flags.writeable = False
        rows = sparse.csr_matrix(rows) if kind == "sparse" else rows
        encoding = AutoEncoder().encode(problem, rows)
        assert encoding.codes.dtype == encoding.certificate.dtype == problem.D.dtype
        assert (encoding.status == Status.CONVERGED).all()
        assert encoding.certificate.max() <= TOL
        assert problem.certificate(rows, encoding.codes).max() < 1e-6
        codes.append(encoding.codes)
    np.testing.assert_allclose(*codes, rtol=2e-7, atol=1e-9)


def test_tiny_entries_of_a_dictionary_are_no_pivots():
    """Learned atoms have entries such as 1e-20: a basis with one of them is singular."""
    rng = np.random.default_rng(1)
    D = rng.random((40, 300)) * (rng.random((40, 300)) < 0.4)
    X = rng.random((40, 40)) @ D
    X = np.where(rng.random(X.shape) < 0.1, rng.random(X.shape) < 0.5, X / X.max())
    X[:, :10] = rng.random((40, 10)) < 0.3
    D[:, :10] = 0
    clean = LeastAbsolute(1e-6).encode(CodingProblem(D, L1Distance()), X)
    tiny = (D == 0) & (rng.random(D.shape) < 0.05)
    D[tiny] = 10.0 ** -rng.uniform(16, 60, int(tiny.sum()))
    found = LeastAbsolute(1e-6).encode(CodingProblem(D, L1Distance()), X)
    assert (found.status == Status.CONVERGED).all()
    np.testing.assert_allclose(found.codes, clean.codes, atol=1e-9)
    assert found.n_iter.max() < 2 * clean.n_iter.max()


@pytest.mark.parametrize("zero_weight", [1.0, 0.3])
def test_tiny_entries_do_not_matter_for_sparse_rows(zero_weight):
    """Nearly zero entries everywhere, and two atoms that differ by rounding only."""
    rng = np.random.default_rng(0)
    D = rng.random((12, 60)) * (rng.random((12, 60)) < 0.2)
    X = (rng.random((10, 12)) * (rng.random((10, 12)) < 0.3)) @ D * (rng.random((10, 60)) < 0.7)
    D = np.where(D > 0, D, 10.0 ** rng.uniform(-20, -13, D.shape))
    D[1] = D[0] * (1 + 1e-15 * rng.standard_normal(60))
    check(sparse.csr_array(X), D, 0.1, zero_weight=zero_weight)


POLYHEDRA = {
    "below a bound": Regulariser(L1(0.3), Box(0.0, 0.4)),
    "far below a bound": Regulariser(L1(0.3), Box(0.0, 50.0)),
    "between bounds": Regulariser(L1(0.3), Box(0.1, 0.6)),
    "above a bound": Regulariser(region=Box(0.2, np.inf)),
    "signed": Regulariser(region=Box(-0.3, 0.5)),
    "signed, with penalty": Regulariser(L1(0.4), Box(-0.3, 0.5)),
    "any": Regulariser(region=Reals()),
    "any, with penalty": Regulariser(L1(0.4), Reals()),
    "shares": Regulariser(region=Simplex(0.8)),
    "shares, with penalty": Regulariser(L1(0.4), Simplex(0.8)),
    "of limited sum": Regulariser(region=NonnegativeL1Ball(0.7)),
    "of limited sum, with penalty": Regulariser(L1(0.4), NonnegativeElasticNetBall(0.9, 0.0)),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("regulariser", POLYHEDRA.values(), ids=POLYHEDRA)
def test_codes_in_a_polyhedron_against_cvxpy(regulariser, weighted):
    """Bounds and budgets are features of their own; the codes are those of the linear program."""
    rng = np.random.default_rng(0)
    X, D = samples(rng)
    W = rng.random(X.shape) * (rng.random(X.shape) < 0.9) if weighted else np.ones(X.shape)
    problem = CodingProblem(D, L1Distance(0.6), regulariser)
    assert LeastAbsolute().requires(problem, DENSE) is None
    variable = cp.Variable((len(X), len(D)))
    losses, _ = statements.losses(problem.loss, X, variable @ D, W)
    price = cp.sum(statements.prices(regulariser.penalty, variable))
    within = statements.constraints(regulariser.region, variable)
    best = statements.solve(cp.sum(losses) + price, within)
    rough = regulariser.region.project(rng.random(variable.shape))
    for start in (None, rough):
        found = LeastAbsolute(TOL).encode(problem, X, W if weighted else None, start)
        assert (found.status == Status.CONVERGED).all()
        assert statements.outside(regulariser.region, found.codes) <= 1e-12
        total = problem.objective(X, found.codes, W).sum()
        assert total <= best * (1 + 1e-7) + 1e-9
    gap = problem.certificate(X, found.codes, W if weighted else None)
    assert gap.max() <= 1e-7
    worse = problem.objective(X, rough, W) - problem.objective(X, found.codes, W)
    certified = problem.certificate(X, rough, W if weighted else None)
    size = problem.objective(X, np.zeros_like(rough), W)
    np.testing.assert_allclose(certified, worse / size, atol=1e-7)


def test_subnormal_entries_are_zeros():
    """Nothing can be divided by them."""
    rng = np.random.default_rng(0)
    X, D = samples(rng)
    D[1, 3], D[:, 5] = 1e-323, 1e-310
    problem = CodingProblem(D, L1Distance())
    assert (LeastAbsolute(TOL).encode(problem, X).status == Status.CONVERGED).all()
