"""Pieces of coding by themselves: the one loop, its stops, what a fit says, certificates."""

import sys

import numpy as np
import pytest
from scipy import sparse

from thresher.encoding import (
    AutoEncoder,
    CodingProblem,
)
from thresher.encoding.auto import EXACT, ROUGH, ExactIfSparse, RoughEncoder, can_stay_sparse
from thresher.encoding.candidates import Candidate, choose, refuse
from thresher.encoding.certificates import balance, certificate
from thresher.encoding.compressed import Compressed
from thresher.encoding.descent import ProjectedDescent
from thresher.encoding.fit import DenseFit
from thresher.encoding.iterate import (
    Block,
    Certified,
    Encoder,
    Encoding,
    Never,
    RowSolver,
    SmallChange,
    Status,
    Stop,
)
from thresher.encoding.least_absolute import LeastAbsolute
from thresher.encoding.multiplicative import MultiplicativeUpdates, _unsigned
from thresher.encoding.newton import Newton
from thresher.encoding.problem import Rows
from thresher.encoding.rough import RoughBlocks, RoughUpdates
from thresher.encoding.settled_blocks import SettledBlocks
from thresher.encoding.sparse_power import RoughSparsePower, SparsePower
from thresher.encoding.two_stages import BlocksThenNewton, UpdatesThenNewton
from thresher.encoding.widened import Widened, lacks_polyhedron
from thresher.linalg import load_stored_block, stored_rows
from thresher.losses import (
    AlphaDivergence,
    Envelope,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    L2Distance,
    Mahalanobis,
    SquaredL2,
)
from thresher.penalties import L1, Constrained, ElasticNet, GroupLasso, Tikhonov
from thresher.sets import (
    Box,
    GroupBall,
    NonnegativeElasticNetBall,
    NonnegativeL1Ball,
    NonnegativeL2Ball,
    Reals,
    Simplex,
)

K, F, N = 3, 7, 6
D, X = np.random.default_rng(0).random((2, N, F))
D = D[:K]
DENSE, WEIGHTED, SPARSE = Rows(), Rows(weighted=True), Rows(sparse=True)


def problem(loss=SquaredL2(), regulariser=None):  # noqa: B008 - frozen
    return CodingProblem(D, loss, regulariser or Constrained())


# ------------------------------------------------------------------------------ the one loop


class Halving(RowSolver):
    """Halves what is left of the way from zero to one, in every code; a NaN stays one."""

    def prepare(self, problem):
        problem.remember("prepared", lambda: True)

    def start(self, block, codes):
        begin = np.zeros((len(block.X), K)) if codes is None else codes
        return {"C": begin + 0 * block.X[:, :1]}

    def steps(self, block, state, times):
        for _ in range(times):
            state["C"] = (state["C"] + 1) / 2

    def codes(self, block, state):
        return state["C"].copy()

    def objective(self, block, state):
        return (1 - state["C"]).sum(axis=1)


class AtRow(Stop):
    """Ends rows as soon as their codes exceed their first entry."""

    def done(self, solver, block, state):
        return solver.codes(block, state)[:, 0] > block.X[:, 0]


def test_each_row_ends_by_itself_and_its_steps_are_counted():
    samples = np.array([[0.4], [0.9], [0.7], [np.nan], [2.0]]) * np.ones(F)
    found = Encoder(Halving(), AtRow(), 5, certify=False).encode(problem(), samples)
    assert found.n_iter.tolist() == [1, 4, 2, 1, 5]
    assert found.status.tolist() == [
        Status.CONVERGED, Status.CONVERGED, Status.CONVERGED, Status.NOT_FINITE, Status.MAX_ITER,
    ]  # fmt: skip
    np.testing.assert_allclose(found.codes[:, 0], [0.5, 1 - 2**-4, 0.75, 0, 1 - 2**-5])
    assert np.isnan(found.certificate).all()
    assert found.outliers is None
    assert found.codes.dtype == samples.dtype


def test_given_codes_are_where_it_starts():
    start = np.full((N, K), 0.5)
    found = Encoder(Halving(), Never(), 2, certify=False).encode(problem(), X, start=start)
    np.testing.assert_allclose(found.codes, 1 - 2**-3)
    assert (found.status == Status.MAX_ITER).all()
    assert (found.n_iter == 2).all()
    with_certificate = Encoder(Halving(), Never(), 2).encode(problem(), X)
    np.testing.assert_allclose(
        with_certificate.certificate, problem().certificate(X, with_certificate.codes)
    )
    none = Encoder(Halving(), Never(), 0, certify=False).encode(problem(), X)
    assert not none.codes.any()


def test_stops_look_when_they_say():
    looks = [0]
    for _ in range(6):
        looks.append(Certified(1e-4).next_look(looks[-1]))
    assert looks == [0, 4, 6, 9, 13, 19, 28]
    assert Certified(1e-4, 1).next_look(0) == 1
    assert Certified().tol == 1e-4
    assert SmallChange().next_look(3) == 4
    assert SmallChange().tol == 1e-3
    assert Never().next_look(3) == sys.maxsize
    assert not Never().done(None, Block(problem(), X), {}).any()


def test_small_changes_are_relative_to_the_objective_before():
    solver, block = Halving(), Block(problem(), X)
    stop, state = SmallChange(0.5), {"C": np.zeros((N, K))}
    assert not stop.done(solver, block, state).any()  # nothing to compare with
    solver.steps(block, state, 1)
    assert stop.done(solver, block, state).all()  # half of it, exactly
    solver.steps(block, state, 2)
    assert not stop.done(solver, block, state).any()


def test_certified_rows_tell_their_status():
    codes = np.array([[1.0, 2], [np.nan, 1], [3, 4], [5, 6]])
    gaps = np.array([0.1, 0.0, 0.2, np.inf])
    found = Encoding.certified(codes, np.arange(4, dtype=np.int32), gaps, 0.1)
    assert found.status.tolist() == [0, 2, 1, 2]
    np.testing.assert_array_equal(found.codes, [[1, 2], [0, 0], [3, 4], [0, 0]])
    assert found.n_iter.tolist() == [0, 1, 2, 3]


def test_even_codes_explain_the_mass_of_a_row():
    rng = np.random.default_rng(1)
    weight = (rng.random((N, F)) < 0.6).astype(float)
    for w in (None, weight):
        C = Block(problem(), X, w).even_codes()
        seen = X if w is None else X * w
        np.testing.assert_allclose((C @ D).sum(axis=1), seen.sum(axis=1))
        assert np.ptp(C, axis=1).max() == 0
    np.testing.assert_allclose(Block(problem(), sparse.csr_array(X)).even_codes(),
                               Block(problem(), X).even_codes())  # fmt: skip
    empty = CodingProblem(np.zeros((K, F)), SquaredL2())
    assert np.isfinite(Block(empty, X).even_codes()).all()
    some = Block(problem(), X, weight).rows(np.arange(N) < 2)
    assert (some.X.shape, some.weight.shape) == ((2, F), (2, F))


# ------------------------------------------------------------------------------ the problem


def test_what_a_problem_keeps():
    one = problem()
    np.testing.assert_allclose(one.gram, D @ D.T)
    np.testing.assert_allclose(one.row_sums, D.sum(axis=1))
    assert one.transposed.flags.c_contiguous
    assert one.dictionary_norm == pytest.approx(np.linalg.norm(D, 2) ** 2)
    assert one.dictionary_bound == pytest.approx(np.abs(D @ D.T).sum(axis=1).max())
    zero = CodingProblem(np.zeros((K, F)), SquaredL2())
    assert (zero.dictionary_norm, zero.dictionary_bound) == (1.0, 1.0)
    np.testing.assert_allclose(
        one.shifted_gram_inverse(0.5) @ (D @ D.T + 0.5 * np.eye(K)), np.eye(K), atol=1e-12
    )
    assert one.shifted_gram_inverse(0.5) is one.shifted_gram_inverse(0.5)
    assert one.width == F
    assert CodingProblem(D, SquaredL2(), n_features=99).width == 99
    made = []
    for _ in range(2):
        one.remember("key", lambda: made.append(1))
        one.remember_always("key", lambda: made.append(2))
    assert made == [1, 2]
    other = problem().sharing(one.lasting)
    assert other.lasting is one.lasting
    assert "lasting" not in repr(one)


def test_simpler_losses_have_the_same_codes():
    assert problem().simplified().loss == SquaredL2()
    plain = problem(L2Distance())
    assert plain.simplified().loss == SquaredL2()
    assert plain.simplified() is plain.simplified()
    assert problem(L2Distance(), Constrained(L1(0.1))).simplified().loss == L2Distance()
    own = problem(KullbackLeibler())
    assert own.simplified() is own


@pytest.mark.parametrize("loss", [SquaredL2(), Huber(0.2), KullbackLeibler()], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_objectives_and_gradients_in_the_codes(loss, weighted):
    rng = np.random.default_rng(1)
    one = problem(loss, Constrained(ElasticNet(0.2, 0.3)))
    C = rng.random((N, K)) + 0.1
    weight = rng.random((N, F)) if weighted else None
    wanted = loss.value(X, C @ D, weight) + 0.2 * C.sum(axis=1) + 0.15 * (C * C).sum(axis=1)
    np.testing.assert_allclose(one.objective(X, C, weight), wanted)
    gradient = loss.gradient(X, C @ D, weight) @ D.T
    np.testing.assert_allclose(one.gradient(X, C, weight), gradient)
    scale = np.linalg.norm(loss.gradient(X, 0 * X, weight) @ D.T, axis=1)
    np.testing.assert_allclose(one.gradient_scale(X, weight), scale)
    if np.isfinite(loss.curvature):
        heavy = np.ones((N, 1)) if weight is None else weight.max(axis=1, keepdims=True)
        np.testing.assert_allclose(one.row_curvature(weight, N), heavy)
        L = heavy * one.dictionary_bound
        assert one.row_lipschitz(weight, N).shape == ((N, 1) if weighted else (1, 1))
        moved = np.maximum(C - gradient / L - 0.2 / L, 0) / (1 + 0.3 / L)
        length = L[:, 0] * np.linalg.norm(C - moved, axis=1)
        np.testing.assert_allclose(one.residual(C, gradient, weight), length)


def test_rows_without_weight_have_a_curvature_too():
    weight = np.zeros((2, F))
    weight[1, 0] = 3.0
    np.testing.assert_array_equal(problem().row_curvature(weight, 2), [[1], [3]])


# ------------------------------------------------------------------------------ what a fit says

SPARSE_LOSSES = [
    SquaredL2(), KullbackLeibler(), AlphaDivergence(0.5), L1Distance(), L1Distance(0.4),
    L1Distance().rounded(0.1), L1Distance(0.4).rounded(0.1),
]  # fmt: skip


def sparse_block():
    rng = np.random.default_rng(1)
    rows = rng.random((N, F)) * (np.random.default_rng(3).random((N, F)) < 0.5)
    rows[1] = 0
    return rows, np.random.default_rng(4).random((N, K)) + 0.2


@pytest.mark.parametrize("loss", SPARSE_LOSSES, ids=str)
def test_sparse_rows_say_what_expanded_ones_do(loss):
    rows, C = sparse_block()
    one = problem(loss)
    dense, thin = one.fit(rows, C), one.fit(sparse.csr_array(rows), C)
    close = {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(thin.values(), dense.values(), **close)
    for found, wanted in ((thin.code_slopes(), dense.code_slopes()),
                          (thin.dictionary_slopes(C), dense.dictionary_slopes(C))):  # fmt: skip
        assert min(found[0].min(), found[1].min()) >= 0
        np.testing.assert_allclose(found[0] - found[1], wanted[0] - wanted[1], **close)
    np.testing.assert_allclose(
        np.broadcast_to(thin.dictionary_gradient(C), (K, F)), dense.dictionary_gradient(C), **close
    )
    np.testing.assert_array_equal(thin.feature_counts(None), dense.feature_counts(None))
    np.testing.assert_array_equal(thin.samples(slice(1, 3)), rows[1:3])
    np.testing.assert_array_equal(thin.filled_samples(slice(1, 3)), rows[1:3])
    assert thin.energies() is None
    np.testing.assert_array_equal(thin.row_curvatures(), np.ones(N))
    energy = np.arange(1.0, N + 1)
    np.testing.assert_allclose(thin.inlier_energies(energy), np.full(F, energy.sum()))
    if loss == SquaredL2() or loss.knows_bend:
        np.testing.assert_allclose(thin.curvatures(energy), dense.curvatures(energy), **close)
        np.testing.assert_allclose(
            thin.dictionary_curvature(C), dense.dictionary_curvature(C), **close
        )
    sizes, at, weights = thin.residuals(1000)
    there = rows.nonzero()
    np.testing.assert_allclose(sizes, np.abs(rows - C @ D)[there], **close)
    np.testing.assert_array_equal(at, there[0])
    assert (weights == 1).all()
    assert len(thin.residuals(5)[0]) <= 5
    given = (C @ D)[there] * 2
    known = one.fit(sparse.csr_array(rows), C, products=given)
    assert not np.allclose(known.values(), thin.values())


@pytest.mark.parametrize("loss", [SquaredL2(), Huber(0.2), KullbackLeibler()], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_by_what_is_stored_say_what_gaps_do(loss, weighted):
    rng = np.random.default_rng(1)
    rows, C = sparse_block()
    given = rng.uniform(0.5, 2, (N, F)) if weighted else None
    stored = stored_rows(sparse.csr_array(rows))
    block = load_stored_block(stored, slice(0, N), np.dtype(float), given, 1.0)
    weight = (rows != 0) * (1.0 if given is None else given)
    one = problem(loss)
    dense, thin = one.fit(rows, C, weight), one.fit(block, C)
    close = {"rtol": 1e-6, "atol": 1e-9}
    np.testing.assert_allclose(thin.values(), dense.values(), **close)
    np.testing.assert_allclose(thin.row_curvatures(), dense.row_curvatures(), **close)
    for found, wanted in ((thin.code_slopes(), dense.code_slopes()),
                          (thin.dictionary_slopes(C), dense.dictionary_slopes(C))):  # fmt: skip
        np.testing.assert_allclose(found[0], wanted[0], **close)
        np.testing.assert_allclose(found[1], wanted[1], **close)
    energy = np.arange(1.0, N + 1)
    for verb, argument in (("dictionary_gradient", C), ("dictionary_curvature", C),
                           ("curvatures", energy), ("inlier_energies", energy)):  # fmt: skip
        found, wanted = (getattr(fit, verb)(argument) for fit in (thin, dense))
        np.testing.assert_allclose(found, wanted, **close)
    np.testing.assert_array_equal(thin.samples(slice(1, 4)), rows[1:4])
    np.testing.assert_allclose(thin.filled_samples(slice(1, 4)), dense.filled_samples(slice(1, 4)))
    np.testing.assert_array_equal(thin.feature_counts(None), dense.feature_counts(None))
    for found, wanted in zip(thin.energies(), dense.energies(), strict=True):
        np.testing.assert_allclose(found, wanted, **close)
    found, wanted = thin.residuals(10_000), dense.residuals(10_000)
    for one_part, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.sort(one_part), np.sort(other), **close)


@pytest.mark.parametrize("weighted", [False, True])
def test_dense_fits_against_their_formulas(weighted):
    rng = np.random.default_rng(1)
    C = rng.random((N, K))
    C[0] = 0
    weight = rng.uniform(0.3, 2, (N, F)) * (rng.random((N, F)) < 0.8) if weighted else None
    w = np.ones((N, F)) if weight is None else weight
    fit, Y = DenseFit(Huber(0.2), X, C, D, weight), C @ D
    for found, wanted in zip(
        fit.energies(), ((X * X * w), (X * Y * w), (Y * Y * w), X * w, Y * w), strict=True
    ):
        np.testing.assert_allclose(found, wanted.sum(axis=1))
    np.testing.assert_array_equal(fit.feature_counts(None), ((X != 0) & (w > 0)).sum(axis=0))
    np.testing.assert_allclose(fit.filled_samples(slice(None)), np.where(w > 0, X, Y))
    sizes, rows, weights = fit.residuals(10**6)
    left = 1 - (C > 0).sum(axis=1) / (w > 0).sum(axis=1)
    there = np.nonzero(w > 0)
    np.testing.assert_array_equal(rows, there[0])
    np.testing.assert_allclose(
        sizes, np.abs(X - Y)[there] / np.sqrt(np.where(left > 0, left, 1))[rows]
    )
    np.testing.assert_allclose(weights, w[there] * left[rows])
    assert len(fit.residuals(10)[0]) <= 10
    R = rng.standard_normal((N, F)) * 0.1
    own = DenseFit(Huber(0.2), X, C, D, weight, R)
    np.testing.assert_allclose(
        own.gradient, np.where(w > 0, -w * (X - Y - R), own.gradient), atol=1e-12
    )
    assert (own.values() >= fit.values() - 1e-12).all()  # the best outliers cost least
    assert own.sums_at_once(None) is None
    at_once = DenseFit(Huber(0.2), X, C, D).sums_at_once(None)
    np.testing.assert_allclose(at_once[0], C.T @ C)
    np.testing.assert_allclose(at_once[1], C.T @ DenseFit(Huber(0.2), X, C, D).gradient)
    assert DenseFit(KullbackLeibler(), X, C, D).sums_at_once(None) is None


# ------------------------------------------------------------------------------ certificates


@pytest.mark.parametrize(
    ("loss", "regulariser"),
    [
        (SquaredL2(), Constrained(ElasticNet(0.1, 0.2))),
        (Huber(0.2), Constrained(region=Box(0, 0.4))),
        (Huber(0.2), Constrained(GroupLasso(0.1))),
        (KullbackLeibler(), Constrained(L1(0.1))),
        (KullbackLeibler(), Constrained(region=Box(0.05, 0.4))),
        (KullbackLeibler(), Constrained(region=Simplex(0.7))),
        (KullbackLeibler(), Constrained(region=NonnegativeL1Ball(0.7))),
        (KullbackLeibler(), Constrained(region=NonnegativeL2Ball(0.5))),
        (KullbackLeibler(), Constrained(GroupLasso(0.1))),
        (L1Distance(), Constrained(L1(0.1))),
        (L1Distance(), Constrained(region=Box(-0.2, 0.4))),
        (L1Distance(), Constrained(region=Reals())),
        (L1Distance(), Constrained(region=Simplex(0.7))),
    ],
    ids=str,
)
def test_certificates_vanish_at_the_optimum_alone(loss, regulariser):
    rng = np.random.default_rng(1)
    one = problem(loss, regulariser)
    best = AutoEncoder(1e-8, 20_000).encode(one, X)
    assert certificate(one, X, best.codes).max() < 1e-5
    away = regulariser.prox(best.codes + 0.05 * rng.random(best.codes.shape), 0.0)
    worse = one.objective(X, away) > one.objective(X, best.codes) + 1e-4
    assert (certificate(one, X, away)[worse] > 1e-5).all()
    assert (one.objective(X, away) >= one.objective(X, best.codes) - 1e-6).all()


def test_rows_that_want_nothing_are_balanced():
    one = problem(KullbackLeibler())
    zeros, none = np.zeros((2, F)), np.zeros((2, K))
    assert not balance(one, zeros, none).any()
    wanted = balance(one, X[:1], np.zeros((1, K)))
    assert wanted[0] > 1
    assert np.isnan(certificate(problem(L1Distance(), Constrained(Tikhonov(1.0))), X,
                                np.zeros((N, K)))).all()  # fmt: skip


# ------------------------------------------------------------------------------ requirements


@pytest.mark.parametrize(
    ("method", "good", "rows", "bad", "words"),
    [
        (Compressed(AutoEncoder()), problem(), DENSE, problem(Huber(1.0)), "a squared loss"),
        (BlocksThenNewton(), problem(Huber(1.0)), DENSE, problem(ItakuraSaito()), "a convex loss"),
        (RoughBlocks(), problem(Huber(1.0)), DENSE, problem(ItakuraSaito()), "a convex loss"),
        (UpdatesThenNewton(), problem(ItakuraSaito()), DENSE, problem(L1Distance()), "kinks"),
        (UpdatesThenNewton(), problem(ItakuraSaito()), SPARSE,
         problem(ItakuraSaito(), Constrained(region=Simplex())), "each bounded by itself"),
        (RoughUpdates(), problem(ItakuraSaito()), DENSE,
         problem(ItakuraSaito(), Constrained(region=Box(-1, 1))), "nonnegative codes"),
        (RoughUpdates(), problem(ItakuraSaito()), DENSE,
         problem(ItakuraSaito(), Constrained(GroupLasso(1.0))), "an elastic net at most"),
        (ProjectedDescent(), problem(ItakuraSaito()), DENSE, problem(L1Distance()), "kinks"),
    ],
    ids=str,
)  # fmt: skip
def test_methods_say_what_they_need(method, good, rows, bad, words):
    assert method.requires(good, rows) is None
    assert words in method.requires(bad, rows)


def test_methods_say_what_rows_they_need():
    for method in (BlocksThenNewton(), RoughBlocks(), ProjectedDescent()):
        assert method.requires(problem(), SPARSE) == "dense samples"
    small = Compressed(AutoEncoder())
    assert "all weigh the same" in small.requires(problem(), WEIGHTED)
    square = CodingProblem(np.eye(K), SquaredL2())
    assert small.requires(square, DENSE) == "more features than atoms"
    assert small.requires(square, SPARSE) is None
    assert small.requires(CodingProblem(np.eye(K), Mahalanobis(2 * np.eye(K))), DENSE) is None
    assert ExactIfSparse().requires(problem(L1Distance()), DENSE) == "sparse samples"
    assert ExactIfSparse().requires(problem(L1Distance()), SPARSE) is None
    assert [len(EXACT), len(ROUGH)] == [8, 6]


def test_the_first_that_suits_is_chosen_and_the_last_need_is_told():
    class Needs:
        def __init__(self, what):
            self.what = what

        def requires(self, problem, rows):
            return self.what

    made = []

    def candidate(what):
        return Candidate(lambda tol, n: made.append((tol, n)) or Needs(what), f"because {what}")

    method, why = choose(
        [candidate("a"), candidate(None), candidate("b")], problem(), DENSE, 0.5, 9
    )
    assert method.what is None
    assert why == "because None"
    assert made == [(0.5, 9)] * 2
    with pytest.raises(ValueError, match=r"No method finds codes under SquaredL2.* tried needs b"):
        choose([candidate("a"), candidate("b")], problem(), DENSE, 0.5, 9)
    refuse(Needs(None), problem(), "Updates")
    with pytest.raises(ValueError, match=r"^Updates need a, not SquaredL2.* use solver='auto'"):
        refuse(Needs("a"), problem(), "Updates")


@pytest.mark.parametrize(
    ("loss", "codes", "rows", "exact", "rough"),
    [
        (SquaredL2(), None, DENSE, Compressed, Compressed),
        (SquaredL2(), None, WEIGHTED, Newton, RoughBlocks),
        (L2Distance(), None, DENSE, Compressed, Compressed),
        (Huber(0.2), None, DENSE, Newton, RoughBlocks),
        (Envelope(GroupLasso(0.3)), None, DENSE, BlocksThenNewton, RoughBlocks),
        (KullbackLeibler(), None, DENSE, BlocksThenNewton, RoughBlocks),
        (KullbackLeibler(), None, SPARSE, SparsePower, RoughSparsePower),
        (ItakuraSaito(), None, DENSE, UpdatesThenNewton, RoughUpdates),
        (ItakuraSaito(), Simplex(), DENSE, ProjectedDescent, ProjectedDescent),
        (L1Distance(), None, DENSE, LeastAbsolute, RoughBlocks),
        (L1Distance(), None, SPARSE, LeastAbsolute, ExactIfSparse),
        (L1Distance(), NonnegativeL2Ball(), DENSE, SettledBlocks, RoughBlocks),
    ],
    ids=str,
)
def test_which_method_runs(loss, codes, rows, exact, rough):
    one = problem(loss, None if codes is None else Constrained(region=codes))
    for encoder, wanted in ((AutoEncoder(1e-5, 50), exact), (RoughEncoder(), rough)):
        method, why = encoder.choice(one, rows)
        assert type(method) is wanted
        assert len(why) > 20
        assert encoder.choice(one, rows)[0] is method  # chosen once
    method, _ = AutoEncoder(1e-5, 50).choice(one, rows)
    if exact is not Compressed:
        assert method.tol == 1e-5
        assert method.max_iter == (20 * 50 if exact is LeastAbsolute else 50)


def test_which_problems_leave_rows_sparse():
    plain, curved = Constrained(L1(0.1)), Constrained(Tikhonov(0.1))
    assert can_stay_sparse(KullbackLeibler(), plain)
    assert can_stay_sparse(KullbackLeibler(), curved)
    assert can_stay_sparse(L1Distance(), plain)
    assert not can_stay_sparse(L1Distance(), curved)
    assert not can_stay_sparse(KullbackLeibler(), Constrained(region=Simplex()))


def test_polyhedra_and_others():
    def lacks(region, penalty=ElasticNet()):  # noqa: B008 - frozen
        return lacks_polyhedron(Constrained(penalty, region).form)

    for region in (Box(0, np.inf), Box(-1, 2), Box(-1, np.inf), Reals(), Simplex(),
                   NonnegativeL1Ball(), NonnegativeElasticNetBall(1, 0)):  # fmt: skip
        assert lacks(region) is None
        assert lacks(region, L1(0.1)) is None
        assert "under an ℓ1 penalty at most" in lacks(region, Tikhonov(0.1))
    for region in (NonnegativeL2Ball(), NonnegativeElasticNetBall(1, 1), Box(-np.inf, 1)):
        assert "codes between bounds" in lacks(region)
    assert lacks(GroupBall()) is not None


@pytest.mark.parametrize(
    "region",
    [
        Box(-0.3, 0.4),
        Box(0.1, 0.5),
        Reals(),
        Simplex(0.8),
        NonnegativeL1Ball(0.5),
        Box(-0.3, np.inf),
    ],
    ids=str,
)
@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_what_a_polyhedron_asks_is_paid_as_features(region, l1):
    """At feasible codes the wider problem costs the same, up to a constant; elsewhere more."""
    rng = np.random.default_rng(1)
    one = problem(L1Distance(), Constrained(L1(l1), region))
    wide = Widened.of(one, X, np.empty((0, 0)))
    C = region.project(rng.standard_normal((N, K)))
    other = region.project(rng.standard_normal((N, K)))

    def cost(codes):
        given = wide.start(codes)
        value = wide.problem.loss.value(wide.X, given @ wide.problem.D, wide.weight)
        return value + wide.problem.regulariser.value(given)

    rise = one.objective(X, other) - one.objective(X, C)
    np.testing.assert_allclose(cost(other) - cost(C), rise, atol=1e-9)
    assert wide.start(None) is None
    np.testing.assert_allclose(wide.codes(wide.start(C)), C, atol=1e-12)
    if np.isfinite(region.bounds[0]):  # what is outside pays
        far = np.maximum(C + 1, region.bounds[0])
        near = region.project(far)
        assert (cost(far) >= cost(near) - 1e-9).all()


# ------------------------------------------------------------------------------ updates


@pytest.mark.parametrize("loss", [SquaredL2(), KullbackLeibler(), ItakuraSaito(),
                                  AlphaDivergence(-1.0)], ids=str)  # fmt: skip
def test_an_update_is_the_ratio_to_its_power(loss):
    rng = np.random.default_rng(1)
    one = problem(loss, Constrained(ElasticNet(0.05, 0.1)))
    solver, C = MultiplicativeUpdates(), rng.random((N, K)) + 0.3
    block = Block(one, X)
    state = solver.start(block, C)
    np.testing.assert_array_equal(state["C"], C)
    up, down = one.fit(X, C).code_slopes()
    power = 1.0 if loss.powers is None else 1 / sum(loss.powers)
    solver.steps(block, state, 1)
    np.testing.assert_allclose(state["C"], C * (down / (up + 0.05 + 0.1 * C)) ** power, rtol=1e-6)
    np.testing.assert_allclose(solver.objective(block, state), one.objective(X, state["C"]))
    values = [state["value"]]
    for _ in range(5):
        solver.steps(block, state, 3)
        values.append(state["value"])
    assert (np.diff(values, axis=0) <= 1e-9).all()


def test_updates_lift_zeros_and_take_signed_parts():
    rng = np.random.default_rng(1)
    codes = np.array([[0.0, 1, 2]])
    state = MultiplicativeUpdates().start(Block(problem(), X[:1]), codes)
    np.testing.assert_allclose(state["C"], [[1e-3, 1, 2]])
    still = MultiplicativeUpdates(lift=0.0).start(Block(problem(), X[:1]), codes)
    np.testing.assert_allclose(still["C"], codes)
    a, b = rng.standard_normal((2, 3, 4))
    up, down = _unsigned(a, b), _unsigned(b, a)
    assert min(up.min(), down.min()) >= 0
    np.testing.assert_allclose(up - down, a - b)
    with pytest.raises(ValueError, match="Multiplicative updates need nonnegative codes"):
        MultiplicativeUpdates().prepare(problem(SquaredL2(), Constrained(region=Reals())))
    one = CodingProblem(D - 0.5, SquaredL2())
    found = Encoder(MultiplicativeUpdates(), Never(), 300).encode(one, X)
    best = AutoEncoder(1e-9).encode(one, X).codes
    assert (one.objective(X, found.codes) <= one.objective(X, best) * (1 + 1e-2) + 1e-9).all()
