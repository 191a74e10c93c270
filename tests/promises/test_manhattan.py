"""Manhattan NMF: objectives, outliers, graphs, groups, new samples and refusals."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

import statements
from thresher import ManhattanNMF, load, save
from thresher.losses import ElasticDistance, L1Distance
from thresher.penalties import ElasticNet, GroupNorm
from thresher.sets import Box, GroupBall, Simplex
from thresher.testing.data import planted


def ring(n):
    S = sparse.csr_array(np.roll(np.eye(n), 1, axis=1) + np.roll(np.eye(n), -1, axis=1))
    return S


@pytest.mark.parametrize("solver", ["auto", "rri", "ogm"])
def test_units_of_the_data_do_not_matter(solver):
    """Errata C.4: tolerances and smoothing are relative, so a power of two changes no atom."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 3)) @ rng.random((3, 15)) + 0.1 * rng.random((40, 15))
    one, large = (
        ManhattanNMF(3, solver=solver, max_iter=20, random_state=0, verbose=0).fit(scale * X)
        for scale in (1.0, 1024.0)
    )
    np.testing.assert_allclose(large.components_, one.components_, rtol=1e-9, atol=1e-12)


def test_auto_is_better_than_sweeps_on_random_data():
    """On random data, where medians stall."""
    X = np.random.default_rng(0).random((60, 40))
    fits = {s: model(s, init="random", max_iter=300).fit(X).history_[-1].loss for s in SOLVERS}
    assert fits["auto"] < fits["rri"]


SOLVERS = ["auto", "rri", "ogm"]


def model(solver="auto", **parameters):
    defaults = {"n_components": 4, "random_state": 0, "verbose": 0, "max_iter": 40}
    return ManhattanNMF(solver=solver, **{**defaults, **parameters})


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["dense", "missing", "weights", "sparse", "zero weight"])
def test_objective_is_the_loss_and_never_rises(solver, kind):
    X, fit, parameters = planted(120), {}, {}
    rng = np.random.default_rng(0)
    if kind == "missing":
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    if kind == "weights":
        fit = {"sample_weight": rng.integers(0, 4, 120), "entry_weight": rng.random(X.shape)}
    if kind in ("sparse", "zero weight"):
        X[X < 0.2] = 0
    if kind == "zero weight":
        parameters = {"zero_weight": 0.1}
    given = sparse.csr_array(X) if kind == "sparse" else X
    fitted = model(solver, **parameters).fit(given, **fit)
    losses = np.array([row.loss for row in fitted.history_])
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert (fitted.components_ >= 0).all()
    if solver != "ogm":  # which sees the scale, and leaves it
        np.testing.assert_allclose(np.linalg.norm(fitted.components_, axis=1), 1)
    # Exact codes are at least as good as those that the fit ended with.
    C = fitted.transform(given, entry_weight=fit.get("entry_weight"))
    w = fit.get("entry_weight", np.ones(X.shape)) * ~np.isnan(X)
    w = np.where(X == 0, parameters.get("zero_weight", 1.0) * w, w)
    rows = (w * np.abs(np.nan_to_num(X) - C @ fitted.components_)).sum(axis=1)
    loss = np.average(rows, weights=fit.get("sample_weight"))
    assert loss <= losses[-1] * (1 + 1e-6)
    assert loss >= 0.8 * losses[-1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_planted_parts_are_found_under_gross_outliers(solver):
    """A tenth of the entries is anything; ℓ1 does not see them, squares would."""
    rng = np.random.default_rng(0)
    D = np.kron(np.eye(4), np.ones(10)) + 0.01
    clean = rng.random((200, 4)) @ D
    X = clean.copy()
    hit = rng.random(X.shape) < 0.1
    X[hit] = 10 * rng.random(hit.sum())
    fitted = model(solver, max_iter=200, tol=1e-6).fit(X)
    error = np.median(np.abs(fitted.inverse_transform(fitted.transform(X)) - clean))
    assert error < 0.01 * np.median(clean)


@pytest.mark.parametrize("solver", SOLVERS)
def test_frozen_atoms_stay(solver):
    X = planted(80)
    init = np.random.default_rng(0).random((4, X.shape[1]))
    fitted = model(solver, init=init, frozen_atoms=[1, 3]).fit(X)
    np.testing.assert_array_equal(fitted.components_[[1, 3]], init[[1, 3]])
    losses = [row.loss for row in fitted.history_]
    assert (np.diff(losses) <= 1e-9).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_sample_weights_are_repetitions(solver):
    X = planted(40)
    counts = np.random.default_rng(0).integers(0, 4, 40)
    init = np.random.default_rng(0).random((4, X.shape[1]))
    weighted = model(solver, init=init, max_iter=2).fit(X, sample_weight=counts)
    repeated = model(solver, init=init, max_iter=2).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-7)
    assert weighted.history_[-1].loss == pytest.approx(repeated.history_[-1].loss)


def test_sets_that_only_bound_lengths_do_not_change_the_loss():
    """With free codes the balls and the simplex have the same optimum, in other units.

    So has (40) when it bounds the dictionary alone, as in the paper's experiment (errata C.10).
    """
    X = planted(80)
    init = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), 4)
    views = tuple(np.arange(X.shape[1]) % 3)
    sets = ("l2_ball", "l1_ball", "simplex", "nonnegative", GroupBall(4.0, views, np.inf))
    fits = {s: model("rri", init=init, dictionary_set=s, max_iter=3).fit(X) for s in sets}
    for fitted in fits.values():
        assert fitted.dictionary_set_.contains(fitted.components_)
        assert fitted.history_[-1].loss == pytest.approx(
            fits["l2_ball"].history_[-1].loss, rel=1e-6
        )


def test_groups_are_dropped_when_both_factors_are_bounded():
    """Two things seen in one view each: under tight budgets (40) an atom serves one of them."""
    rng = np.random.default_rng(0)
    X = np.zeros((60, 20))
    X[:30, :10] = rng.random((30, 1)) * rng.random(10)
    X[30:, 10:] = rng.random((30, 1)) * rng.random(10)
    views = tuple(np.repeat([0, 1], 10))
    atoms, codes = GroupBall(1.0, views, np.inf), GroupBall(1.0, None, np.inf, of_rows=True)
    fitted = model("auto", n_components=4, dictionary_set=atoms, code_set=codes).fit(X)
    assert atoms.contains(fitted.components_)
    used = np.column_stack([fitted.components_[:, :10].max(axis=1),
                            fitted.components_[:, 10:].max(axis=1)])  # fmt: skip
    assert used.sum(axis=0).max() <= 1 + 1e-6
    assert (used > 1e-3).sum() < used.size


EXTENSIONS = [
    {"code_set": Box(0.0, 0.5), "dictionary_set": "box"},
    {"graph": 5, "graph_weight": 0.1},
    {"graph": ring(100), "graph_weight": 0.1, "solver": "rri", "dictionary_set": "box"},
    {"graph": ring(100), "graph_weight": 0.1, "solver": "ogm"},
    {"square_weight": 2.0},
    {"dictionary_set": GroupBall(3.0, tuple(np.arange(24) % 3))},
    {
        "dictionary_set": "nonnegative",
        "dictionary_penalty": GroupNorm(0.001, tuple(np.arange(24) % 3), np.inf),
        "code_set": "box",
    },
    {"code_penalty": 0.01},
    {"code_set": GroupBall(2.0, tuple(np.arange(100) % 5), of_rows=True), "solver": "ogm"},
    {"code_penalty": GroupNorm(0.001, tuple(np.arange(100) % 5), np.inf, of_rows=True)},
    {"code_set": "box", "solver": "rri", "dictionary_set": "box"},
]


@pytest.mark.parametrize("parameters", EXTENSIONS, ids=str)
def test_extensions_learn_descend_and_stay_feasible(parameters, tmp_path):
    X = planted(100)
    fitted = model(**{"max_iter": 15, **parameters}).fit(X)
    losses = np.array([row.loss for row in fitted.history_])
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()
    assert losses[-1] < losses[0]
    assert fitted.dictionary_set_.contains(fitted.components_)
    if "graph" in parameters:
        return
    fitted.set_params(code_max_iter=1000)
    assert np.isfinite(fitted.transform(X)).all()
    save(fitted, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(X), fitted.transform(X))


@pytest.mark.parametrize(
    ("parameters", "loss"),
    [
        ({"square_weight": 2.0}, ElasticDistance(2.0)),
        ({"code_set": "simplex"}, L1Distance()),
        ({"code_penalty": ElasticNet(0.01, 0.1)}, L1Distance()),
        ({"code_set": Box(0.0, 0.5)}, L1Distance()),
    ],
    ids=str,
)
def test_codes_of_new_samples_against_cvxpy(parameters, loss):
    X = planted(60)
    fitted = model(max_iter=1000, **parameters).fit(X)
    regulariser, Y = fitted.problem().regulariser, X[:8]
    C = cp.Variable((8, 4))
    losses, _ = statements.losses(loss, Y, C @ fitted.components_, np.ones(Y.shape))
    cost = cp.sum(losses) + cp.sum(statements.prices(regulariser.penalty, C))
    best = statements.solve(cost, statements.constraints(regulariser.region, C))
    assert regulariser.region.contains(fitted.transform(Y))
    assert best * (1 - 1e-6) <= fitted.objective_samples(Y).sum() <= best * (1 + 2e-3) + 1e-5


@pytest.mark.parametrize(
    ("parameters", "keyword"),
    [
        ({"solver": "magic"}, "solver"),
        ({"solver": "rri", "code_set": Simplex()}, "ogm"),
        ({"zero_weight": -1}, "zero_weight"),
        ({"square_weight": -1.0}, "square_weight"),
        ({"graph": 500}, "graph"),
        ({"graph": "near"}, "graph"),
        ({"graph": -ring(30)}, "graph"),
        ({"graph": 3, "graph_weight": -1}, "graph_weight"),
        (
            {
                "solver": "rri",
                "dictionary_set": "nonnegative",
                "code_set": "box",
                "dictionary_penalty": GroupNorm(1.0),
            },
            "ogm",
        ),
        ({"dictionary_set": "nonnegative", "dictionary_penalty": 1.0}, "code_set"),
        ({"dictionary_set": "nonnegative", "graph": 3}, "dictionary_set"),
        ({"dictionary_set": GroupBall(1.0), "frozen_atoms": [0]}, "budget"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(parameters, keyword):
    with pytest.raises(ValueError, match=keyword):
        model(**parameters).fit(planted(30))


def test_a_graph_of_one_sample_is_refused():
    with pytest.raises(ValueError, match="one sample"):
        ManhattanNMF(1, graph=2, dictionary_set="l2_ball").fit(np.ones((1, 4)))
