"""Paper C beside references that were written from its text: iterate by iterate, to rounding."""

from itertools import islice, pairwise

import numpy as np
import pytest
from scipy import sparse

from reference.c import box, elastic_net, group_sparse, manifold, recognition, rri, symmetric
from reference.c import ogm as ogm_
from thresher import FaceRecognizer, ManhattanNMF, SymmetricManhattanNMF
from thresher.engine import Pool
from thresher.manhattan import Graph, Half
from thresher.manhattan.symmetric import as_csr
from thresher.penalties import GroupNorm, Regulariser
from thresher.published.manhattan import (
    OptimalGradient,
    PublishedFactors,
    RepeatedSweeps,
    manhattan_columns,
)
from thresher.sets import Box, GroupBall
from thresher.solvers import ogm, symmetric_rri
from thresher.solvers import rri as rri_

STEPS = (1, 2, 5, 20)
NEAR = {"rtol": 1e-10, "atol": 1e-11}
POOL = Pool(1)


def data(seed=0, n=30, F=12, K=4, box=False):
    """Products with a tenth of outliers, and where to start; a feature that no atom has."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, K)) @ rng.random((K, F)) + 0.05 * rng.random((n, F))
    X[rng.random(X.shape) < 0.1] = 3.0
    D, C = rng.random((K, F)), rng.random((n, K))
    D[:, 3] = 0
    return X, D, C


def half_of(X, regulariser=None, **parts):
    return Half(np.ascontiguousarray(X), regulariser or Regulariser(), X.dtype, **parts)


def after(steps, number):
    """The step of that number, or the last before it."""
    return list(islice(steps, number))[-1]


def ring(n):
    return np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1)


# ------------------------------------------------------------------------ Algorithm 1


@pytest.mark.parametrize("sweeps", STEPS)
@pytest.mark.parametrize("case", ["plain", "box", "squares", "graph"])
def test_sweeps(case, sweeps):
    """Algorithm 1, the same with med{0, 1, p} (27), on (58), and (36)–(37) atom by atom."""
    X, D, C = data()
    S = ring(len(X))
    steps, parts = {
        "plain": (rri.codes_steps(X, D, C, 0.0), {}),
        "box": (box.rri_codes_steps(X, D, C, 0.0), {"regulariser": Regulariser(region=Box())}),
        "squares": (elastic_net.rri_codes_steps(X, D, C, 0.7, 0.0), {"square": 0.7}),
        "graph": (
            manifold.rri_codes_steps(X, D, C, S, 0.6, 0.0),
            {"graph": Graph(sparse.csr_array(S), 0.6)},
        ),
    }[case]
    V, _ = RepeatedSweeps(0.0, max_sweeps=sweeps).improve(half_of(X, **parts), D, C, POOL)
    np.testing.assert_allclose(V, after(steps, sweeps * len(D)).C, **NEAR)


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("case", ["plain", "box", "squares", "graph"])
def test_sweeps_go_on_until_8(case, as_printed):
    """The stop of line 10 comes after as many sweeps, relative to the mean and as printed."""
    X, D, C = data(n=60)
    S = ring(len(X))
    given = {"as_printed": as_printed}
    steps, parts = {
        "plain": (rri.codes_steps(X, D, C, **given), {}),
        "box": (box.rri_codes_steps(X, D, C, **given), {"regulariser": Regulariser(region=Box())}),
        "squares": (elastic_net.rri_codes_steps(X, D, C, 0.7, **given), {"square": 0.7}),
        "graph": (
            manifold.rri_codes_steps(X, D, C, S, 0.6, **given),
            {"graph": Graph(sparse.csr_array(S), 0.6)},
        ),
    }[case]
    V, _ = RepeatedSweeps(as_printed=as_printed).improve(half_of(X, **parts), D, C, POOL)
    last = after(steps, None)
    assert last.k > 0
    np.testing.assert_allclose(V, last.C, **NEAR)


# ------------------------------------------------------------------------ Algorithm 2


def solved(X, D, C, method, t=0, **parts):
    """What the library's Algorithm 2 makes of the codes in round t."""
    method._round = t
    return method.improve(half_of(X, **parts), D, C, POOL)[0]


def method_of(as_printed, **constants):
    return OptimalGradient(centre=0.0 if as_printed else 1.0, as_printed=as_printed, **constants)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1])
@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("n_iter", STEPS)
def test_optimal_gradient(n_iter, as_printed, monotone, by_row, epsilon):
    """Algorithm 2, with its stop and without, in the first round and in the fourth."""
    X, D, C = data()
    X[4] = 0
    for t in (0, 3):
        lam, eps = ogm_.schedule(X, ogm_.weights(D), t, 0.1, epsilon, as_printed, by_row)
        given = (as_printed, monotone, None, n_iter, by_row)
        expected, _ = ogm_.codes(X, D, C, lam, eps, *given)
        method = method_of(
            as_printed, epsilon=epsilon, monotone=monotone, max_iter=n_iter, by_row=by_row
        )
        np.testing.assert_allclose(solved(X, D, C, method, t), expected, **NEAR)


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("n_iter", STEPS)
def test_optimal_gradient_in_a_box(n_iter, as_printed):
    """(30), (31), and the duality gap (25), which ends most rows before the last of 2000."""
    X, D, C = data()
    region = Regulariser(region=Box())
    for max_iter in (n_iter, 2000) if n_iter == 20 else (n_iter,):
        expected, used = box.codes(X, D, C, 0.5, None, as_printed, max_iter)
        method = method_of(as_printed, epsilon=0.5, max_iter=max_iter)
        found = solved(X, D, C, method, regulariser=region)
        np.testing.assert_allclose(found, expected, **NEAR)
        assert used == max_iter or max_iter == 2000


@pytest.mark.parametrize("epsilon", [1e-9, 0.1])
@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("n_iter", STEPS)
@pytest.mark.parametrize("case", ["squares", "graph"])
def test_optimal_gradient_with_more_terms(case, n_iter, as_printed, epsilon):
    """(58), and (34)–(35) with its gradients at V_k as printed."""
    X, D, C = data()
    S = ring(len(X))
    lam, eps = ogm_.schedule(X, ogm_.weights(D), 1, 0.1, epsilon, as_printed)
    if case == "squares":
        expected, _ = elastic_net.codes(X, D, C, lam, 0.7, eps, as_printed, n_iter)
        parts = {"square": 0.7}
    else:
        expected, _ = manifold.codes(X, D, C, lam, S, 0.6, eps, as_printed, n_iter)
        parts = {"graph": Graph(sparse.csr_array(S), 0.6)}
    method = method_of(as_printed, epsilon=epsilon, max_iter=n_iter)
    np.testing.assert_allclose(solved(X, D, C, method, 1, **parts), expected, **NEAR)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1])
@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("n_iter", STEPS)
@pytest.mark.parametrize("p", [2, np.inf])
@pytest.mark.parametrize("form", ["ball", "norm"])
def test_optimal_gradient_of_groups(form, p, n_iter, as_printed, epsilon):
    """(47)–(48) and (56)–(57): groups of samples, each with its own stop; of features alike."""
    X, D, C = data()
    numbers = np.arange(len(X)) % 3
    groups = [np.flatnonzero(numbers == g) for g in range(3)]
    lam, eps = ogm_.schedule(X, ogm_.weights(D), 0, 0.1, epsilon, as_printed)
    amount = {"gamma": 3.0} if form == "ball" else {"eta": 0.8}
    expected, _ = group_sparse.codes(
        X, D, C, lam, groups, p=p, eps=eps, as_printed=as_printed, max_iter=n_iter, **amount
    )

    def part(of_rows):
        if form == "ball":
            return Regulariser(region=GroupBall(3.0, tuple(numbers), p, of_rows))
        return Regulariser(GroupNorm(0.8, tuple(numbers), p, of_rows))

    for parts in ({"regulariser": part(True)}, {"regulariser": part(False), "transposed": True}):
        method = method_of(as_printed, epsilon=epsilon, max_iter=n_iter)
        np.testing.assert_allclose(solved(X, D, C, method, **parts), expected, **NEAR)


# -------------------------------------------------------------- both factors, in turns


@pytest.fixture
def fits(monkeypatch):
    """Fit, and tell the factors after every round, the start first."""
    rounds = []

    class Watched(PublishedFactors):
        def __post_init__(self):
            super().__post_init__()
            rounds[:] = [(self.C, self.D)]

        def improve_dictionary(self):
            super().improve_dictionary()
            rounds.append((self.C, self.D))

    monkeypatch.setattr("thresher.published.manhattan.PublishedFactors", Watched)

    def fit(X, D, solver, **parameters):
        model = ManhattanNMF(len(D), init=D, solver=solver, random_state=0, verbose=0, **parameters)
        model.fit(X)
        assert model.n_iter_ == len(rounds) - 1
        return rounds

    return fit


def compare(rounds, outer, n_rounds):
    """Every round up to the stop (4), and that it comes in the same round."""
    steps = list(islice(outer, n_rounds))
    assert len(rounds) - 1 == len(steps)
    for (C, D), step in zip(rounds[1:], steps, strict=True):
        np.testing.assert_allclose(D, step.D, **NEAR)
        np.testing.assert_allclose(C, step.C, **NEAR)


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("region", [None, "box"])
def test_rounds_of_rri(fits, as_printed, region):
    """Each half until (8), both until (4); atoms of unit length stand for the same product.

    Sweeps divide by weights that may be small: over all rounds the last bit of a start grows to
    1e-9 in the reference itself. So each round starts where the library's last one ended.
    """
    X, D, _ = data(n=40, F=20)
    sets = {} if region is None else {"code_set": region, "dictionary_set": region}
    rounds = fits(X, D, rri_(as_printed=as_printed), max_iter=20, **sets)
    solve = rri.rri if region is None else box.rri_box
    for (C, D), (C_next, D_next) in pairwise(rounds):
        step = next(solve(X, D, C, as_printed=as_printed))
        lengths = np.linalg.norm(step.D, axis=1) if region is None else np.ones(len(D))
        np.testing.assert_allclose(D_next * lengths[:, None], step.D, **NEAR)
        np.testing.assert_allclose(C_next, step.C * lengths, **NEAR)
        assert step.stop == (C_next is rounds[-1][0])


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("as_printed", [False, True])
def test_rounds_of_ogm(fits, as_printed, monotone):
    """Algorithm 3: widths, precisions and the stop; scales stay where they fall."""
    X, D, _ = data(n=40, F=20)
    solver = ogm(as_printed=as_printed, monotone=monotone)
    rounds = fits(X, D, solver, max_iter=20)
    C, D = rounds[0]
    compare(rounds, ogm_.ogm(X, D, C, as_printed=as_printed, monotone=monotone), 20)


@pytest.mark.parametrize("as_printed", [False, True])
def test_rounds_of_the_extensions(fits, as_printed):
    """(27), (33), (41) with a price on both factors, and (58)."""
    X, D, _ = data(n=24)
    S, numbers, views = ring(24), np.arange(24) % 3, np.arange(12) % 2
    groups = [[np.flatnonzero(each == g) for g in np.unique(each)] for each in (numbers, views)]
    prices = {
        "code_penalty": GroupNorm(0.05, tuple(numbers), 2, of_rows=True),
        "dictionary_penalty": GroupNorm(0.02, tuple(views), 2),
        "dictionary_set": "nonnegative",
    }
    given = {"as_printed": as_printed}
    cases = (
        (
            {"code_set": "box", "dictionary_set": "box"},
            lambda C, D: box.box(X, D, C, eps=0.5, **given),
            {"epsilon": 0.5, "max_iter": 10000},
        ),
        (
            {"graph": sparse.csr_array(S), "graph_weight": 0.6},
            lambda C, D: manifold.manifold(X, D, C, S, 0.6, **given),
            {},
        ),
        (
            prices,
            lambda C, D: group_sparse.group_sparse(
                X, D, C, *groups, eta_C=0.05, eta_D=0.02 * 24, p=2, **given
            ),
            {},
        ),
        (
            {"square_weight": 0.7},
            lambda C, D: elastic_net.elastic_net(X, D, C, 0.7, **given),
            {},
        ),
    )
    for parameters, reference, constants in cases:
        # (35) as printed is not stable: its second round has lost all digits.
        n_rounds = 1 if as_printed and "graph" in parameters else 5
        solver = ogm(as_printed=as_printed, **constants)
        rounds = fits(X, D, solver, max_iter=n_rounds, **parameters)
        compare(rounds, reference(*rounds[0]), n_rounds)


# ------------------------------------------------------------------------ (59)–(61)


def similarities(seed=0, n=18, K=3):
    """Blocks with noise, off the diagonal and on it; symmetric."""
    rng = np.random.default_rng(seed)
    H = rng.random((n, K)) * (rng.random((n, K)) < 0.6)
    X = H @ H.T + 0.2 * rng.random((n, n))
    X[rng.random((n, n)) < 0.05] = 2.0
    return (X + X.T) / 2, rng.random((n, K))


@pytest.mark.parametrize("as_printed", [False, True])
@pytest.mark.parametrize("sweeps", STEPS)
@pytest.mark.parametrize("zeros", [False, True])
def test_symmetric_columns(sweeps, as_printed, zeros):
    """Column by column, in each entry by entry; a matrix with zeros is taken on its nonzeros."""
    X, H = similarities()
    if zeros:
        X = np.where(X < 0.4, 0, X)
        X[0, 0] = 0
    last = after(symmetric.symmetric(X, H, 0.0, as_printed), sweeps * H.shape[1])
    rows, found = as_csr(X), H.copy()
    for _ in range(last.k + 1):
        manhattan_columns(rows, found, as_printed)
    np.testing.assert_allclose(found, last.H, **NEAR)


@pytest.mark.parametrize("as_printed", [False, True])
def test_symmetric_sweeps_until_8(as_printed):
    """The estimator ends where the reference does, at the same embedding."""
    X, H = similarities(1, 24)
    solver = symmetric_rri(as_printed=as_printed)
    model = SymmetricManhattanNMF(3, init=H, solver=solver, max_iter=1000, verbose=0).fit(X)
    last = after(symmetric.symmetric(X, H, as_printed=as_printed), None)
    assert model.n_iter_ == last.k + 1 > 2
    np.testing.assert_allclose(model.embedding_, last.H, **NEAR)
    assert model.history_[-1].loss * len(X) == pytest.approx(last.objective)


# ------------------------------------------------------------------- Algorithms 4 and 5


def test_recognition():
    """The codes of the linear program, and every name that both algorithms give."""
    X, D, _ = data(3, n=40)
    y = np.arange(40) % 5
    for method in ("codes", "projection"):
        model = ManhattanNMF(4, tol=1e-9, max_iter=1000, random_state=0, verbose=0)
        found = FaceRecognizer(model, method=method).fit(X[:25], y[:25])
        D = found.model_.components_
        if method == "codes":
            new = recognition.represent(X[25:], D)
            np.testing.assert_allclose(found.model_.transform(X[25:]), new, atol=1e-6)
            matches = recognition.algorithm5(found.codes_, y[:25], new)
        else:
            matches = recognition.algorithm4(X[:25], y[:25], X[25:], D)
        assert found.predict(X[25:]).tolist() == [match.label for match in matches]


# ------------------------------------------------------------------------ constants


def test_constants_of_ogm_reach_algorithm_2():
    """λ₀, ε, the centre and the bound can all be set, as printed and not."""
    X, D, C = data()
    for as_printed in (False, True):
        solver = ogm(0.3, 0.02, centre=0.5, as_printed=as_printed, by_row=True, max_iter=9)
        method = solver.half_solver(half_of(X))
        assert method == OptimalGradient(0.3, 0.02, 0.5, False, True, as_printed, 9)
    assert ogm(as_printed=True).half_solver(half_of(X)).centre == 0
    lam, eps = ogm_.schedule(X, ogm_.weights(D), 0, 0.3, 0.02, False)
    expected, _ = ogm_.codes(X, D, C, lam, eps, max_iter=9)
    found = ogm(0.3, 0.02, max_iter=9).half_solver(half_of(X)).improve(half_of(X), D, C, POOL)[0]
    np.testing.assert_allclose(found, expected, **NEAR)
