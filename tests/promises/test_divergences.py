"""General divergences: critical codes, units, solvers, starts, sparse data and refusals."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from thresher import BatchNMF, ManhattanNMF, OnlineNMF, load, save
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    Bregman,
    Csiszar,
    ElasticDistance,
    KullbackLeibler,
    L1Distance,
    SeparableLoss,
)
from thresher.sets import (
    CoveredBox,
)
from thresher.solvers import spsgd

K, F = 4, 24
_M = np.eye(F) + 0.4 * np.eye(F, k=1) + 0.4 * np.eye(F, k=-1)

NAMED = {
    "squared_l2": None, "kl": None, "is": None, "hellinger": None, "l1": None, "l2": None,
    "huber": None, "alpha": 2.0, "beta": 1.5, "mahalanobis": _M,
}  # fmt: skip
OWN = {
    "alpha -0.7": AlphaDivergence(-0.7),
    "beta 0.4": BetaDivergence(0.4),
    "beta 3": BetaDivergence(3.0),
    "csiszar": Csiszar(lambda u: (u - 1) ** 2 / (u + 1), lambda u: 1 - 4 / (u + 1) ** 2),
    "bregman": Bregman(lambda u: u**1.5, lambda u: 1.5 * u**0.5, is_convex=True),
}
DIVERGENCES = [*NAMED.items(), *((loss, None) for loss in OWN.values())]
every_divergence = pytest.mark.parametrize(
    ("divergence", "parameter"), DIVERGENCES, ids=[*NAMED, *OWN]
)


def planted(n=240, seed=0):
    rng = np.random.default_rng(seed)
    D, C = rng.gamma(0.6, 1.0, (K, F)), rng.gamma(0.6, 1.0, (n, K))
    return C @ D * rng.gamma(50, 1 / 50, (n, F)) + 0.02


def model(divergence, parameter=None, **options):
    options = {"random_state": 0, "verbose": 0, "batch_size": 48, **options}
    return OnlineNMF(K, divergence=divergence, divergence_parameter=parameter, **options)


@every_divergence
def test_codes_are_critical_in_both_precisions_with_gaps_and_weights(divergence, parameter):
    X = planted(40)
    fitted = model(divergence, parameter, n_passes=3).fit(planted(240))
    weights = [None]
    if divergence != "mahalanobis":
        weights.append(np.random.default_rng(3).uniform(0, 2, X.shape) * (X > 0.05))
    for weight in weights:
        for dtype, tol in ((np.float64, 1e-7), (np.float32, 1e-3)):
            w = None if weight is None else weight.astype(dtype)
            fitted.set_params(code_tol=tol, code_max_iter=3000)
            codes = fitted.transform(X.astype(dtype), entry_weight=w)
            assert codes.dtype == dtype
            assert fitted.certificates(X.astype(dtype), codes, w).max() <= 1.01 * tol


@every_divergence
def test_dictionaries_do_not_depend_on_the_unit(divergence, parameter):
    """Times 1024, the dictionary stays (a user's own generator may have a scale of its own)."""
    if isinstance(divergence, Bregman):
        pytest.skip("its generator is homogeneous, but its differences are not to the last bit")
    X = planted()
    small = model(divergence, parameter, n_passes=2).fit(X)
    large = model(divergence, parameter, n_passes=2).fit(X * 1024)
    np.testing.assert_allclose(large.components_, small.components_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("divergence", ["kl", "squared_l2", "is", "l1", "l2", "huber"])
def test_published_steps_do_not_depend_on_the_unit(divergence):
    X = planted()
    small, large = (
        model(divergence, solver="spsgd", n_passes=1).fit(X * s).components_ for s in (1, 1024)
    )
    np.testing.assert_allclose(large, small, rtol=1e-5, atol=1e-8)


def test_published_steps_without_scaling_have_a_unit():
    """Errata E.3: as printed, the result depends on the unit of the data."""
    X = planted(48)
    small, large = (
        model("kl", solver=spsgd(as_printed=True), n_passes=1).fit(X * s).components_
        for s in (1e-2, 10)
    )
    assert np.abs(large - small).max() > 0.1


@every_divergence
@pytest.mark.parametrize("solver", ["mu", "auto"])
def test_batch_objective_never_rises(divergence, parameter, solver):
    batch = BatchNMF(
        K, divergence=divergence, divergence_parameter=parameter, solver=solver,
        random_state=0, verbose=0, max_iter=25,
    ).fit(planted(120))  # fmt: skip
    objective = batch.history_.column("loss")
    # A threshold that is measured anew changes the objective itself.
    levels = 15 if divergence in ("huber", "l1") else 0
    assert np.all(np.diff(objective[levels:]) <= 1e-9 * np.abs(objective[levels:-1]))


@pytest.mark.parametrize(
    ("solver", "divergence"), [("ol_guan", "squared_l2"), ("ol_lef", "is"), ("ol_wang", "huber")]
)
def test_published_baselines_learn_and_refuse_other_losses(solver, divergence, tmp_path):
    X = planted(600)
    first = model(divergence, solver=solver).partial_fit(X[:48])
    fitted = model(divergence, solver=solver, n_passes=5).fit(X)
    assert fitted.score(X) > 0.9 * first.score(X)
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model").partial_fit(X[:48])
    np.testing.assert_array_equal(again.components_, fitted.partial_fit(X[:48]).components_)
    with pytest.raises(ValueError, match="AlphaDivergence"):
        model("kl", solver=solver).fit(X)


def test_huber_threshold_comes_from_the_noise():
    rng = np.random.default_rng(0)
    clean = rng.random((2000, K)) @ rng.random((K, F))
    X = np.maximum(clean + 0.05 * rng.normal(size=clean.shape), 0)
    fitted = model("huber", n_passes=8).fit(X)
    assert fitted.loss_.penalty.l1 == pytest.approx(2.5 * 0.05, rel=0.25)
    assert model("huber", 0.3).fit(X).loss_.penalty.l1 == 0.3


@dataclass(frozen=True)
class LogCosh(SeparableLoss):
    """A user's loss, with a value and a slope only."""

    def entry_value(self, x, y):
        return np.logaddexp(x - y, y - x) - np.log(2)

    def entry_gradient(self, x, y):
        return np.tanh(y - x)


def test_a_loss_of_the_users_own():
    X = planted(400)
    X[3, 5] = np.nan
    fitted = model(LogCosh(), n_passes=4).fit(X)
    assert np.isfinite(fitted.impute(X)).all()
    codes = fitted.transform(np.nan_to_num(X))
    assert fitted.certificates(np.nan_to_num(X), codes).max() < 1e-3
    with pytest.raises(ValueError, match="saved"):
        save(fitted, "nowhere")


@pytest.mark.parametrize("divergence", ["kl", "hellinger", "squared_l2", "l1"])
def test_memory_of_sparse_rows_grows_with_nonzeros(divergence):
    """400 × 40,000 would be 64 MB dense; the nonzeros are 0.1 MB."""
    X = sparse.random(400, 40_000, 5e-4, format="csr", random_state=0, dtype=np.float64)
    X = X.astype(np.float32)
    warm = model(divergence, batch_size=128, n_passes=1)
    warm.fit(X[:64, :500])
    warm.transform(X[:64, :500])
    fitted = model(divergence, batch_size=128, n_passes=1)
    tracemalloc.start()
    try:
        fitted.fit(X)
        fitted.transform(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32e6, f"peak {peak / 1e6:.0f} MB"


@pytest.mark.parametrize("solver", ["auto", "mu"])
def test_batch_solvers_keep_sparse_rows_sparse(solver):
    """400 × 20,000 would be 64 MB dense."""
    X = sparse.random(400, 20_000, 5e-4, format="csr", random_state=0, dtype=np.float64)
    given = {"divergence": "kl", "solver": solver, "max_iter": 2, "random_state": 0, "verbose": 0}
    BatchNMF(3, **given).fit(X[:64, :500])
    tracemalloc.start()
    try:
        BatchNMF(3, **given).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32e6, f"peak {peak / 1e6:.0f} MB"


def sparse_topics(n=600, n_topics=6, n_words=300):
    """Poisson counts of some thirty words a row, of topics that share part of their words."""
    rng = np.random.default_rng(0)
    D = rng.dirichlet(np.full(n_words, 0.05), n_topics) + 0.3 * rng.dirichlet(np.full(n_words, 0.3))
    C = rng.dirichlet(np.full(n_topics, 0.15), n)
    return sparse.csr_array(rng.poisson(30 * C @ D).astype(np.float64)), D


def test_a_fit_of_several_starts_resumes_to_the_same_bits():
    X, _ = sparse_topics(200)
    given = {"divergence": "kl", "batch_size": 64, "verbose": 0, "random_state": 0, "n_starts": 3}
    whole = OnlineNMF(6, **given).fit(X)

    def interrupt(step):
        if len(step.model.history_) == 5:
            raise KeyboardInterrupt

    again = OnlineNMF(6, callbacks=[interrupt], **given)
    with pytest.raises(KeyboardInterrupt):
        again.fit(X)
    again.set_params(callbacks=None).resume(X)
    np.testing.assert_array_equal(again.components_, whole.components_)


def test_no_subnormal_numbers():
    """Ever smaller entries are raised or flushed: no subnormals after many steps."""
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.poisson(0.3, (400, 80)).astype(np.float32))
    fitted = model("kl", n_passes=60, tol=1e-12).fit(X)
    codes = fitted.set_params(tol=1e-4).transform(X)
    tiny = np.finfo(np.float32).tiny
    for values in (fitted.components_, codes):
        assert not ((values != 0) & (np.abs(values) < tiny)).any()


def test_code_penalties_do_not_depend_on_the_batch():
    """The penalty is relative to one sample: cutting the stream otherwise changes nothing."""
    X = planted(192)
    means = [
        model("kl", code_penalty=0.5, batch_size=size, shuffle=False, n_passes=1, forgetting=None)
        .fit(X)
        .transform(X)
        .sum(axis=1)
        .mean()
        for size in (48, 96)
    ]
    assert means[0] == pytest.approx(means[1], rel=0.25)  # other starts; a sum would double it
    bare = model("kl", n_passes=1).fit(X)
    shrunk = model("kl", code_penalty=5.0, n_passes=1).fit(X)
    assert shrunk.transform(X).sum() < 0.9 * bare.transform(X).sum()


@pytest.mark.parametrize(
    ("parameters", "keyword"),
    [
        ({"divergence": "cosine"}, "divergence"),
        ({"divergence": "beta"}, "divergence_parameter"),
        ({"divergence": "kl", "divergence_parameter": 2.0}, "parameter"),
        ({"divergence": "mahalanobis", "divergence_parameter": np.ones((3, 2))}, "square"),
        ({"divergence": "mahalanobis", "divergence_parameter": np.eye(5)}, "features"),
        ({"solver": "sgd"}, "solver"),
        ({"divergence": "huber", "divergence_parameter": -1.0}, "divergence_parameter"),
        ({"divergence": "huber", "divergence_parameter": "low"}, "divergence_parameter"),
        ({"divergence": "alpha", "divergence_parameter": np.nan}, "finite"),
        ({"divergence": "beta", "divergence_parameter": "x"}, "finite"),
        ({"divergence": np.ones(3)}, "divergence"),
        ({"n_starts": 0}, "n_starts"),
        ({"n_starts": 2, "init": np.ones((3, F))}, "init"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(parameters, keyword):
    with pytest.raises(ValueError, match=keyword):
        OnlineNMF(3, verbose=0, **parameters).fit(planted())


def test_a_stream_has_one_start():
    with pytest.raises(ValueError, match="n_starts"):
        model("kl", n_starts=2).fit(iter([planted()]))


def test_a_matrix_of_a_divergence_fixes_the_number_of_features():
    with pytest.raises(ValueError, match="features"):
        model("mahalanobis", _M).fit(planted()).grow(n_features=F + 2)


def test_refusals_leave_the_model_as_it_was():
    gaps = planted()
    gaps[3, 4] = np.nan
    fitted = model("mahalanobis", _M).fit(planted())
    before = fitted.components_.copy()
    with pytest.raises(ValueError, match="missing"):
        fitted.fit(gaps)
    np.testing.assert_array_equal(fitted.components_, before)
    assert fitted.n_samples_seen_ > 0


def test_sparse_data_over_sets_without_a_multiplicative_step():
    """By the quadratic surrogate, which gains less on sparse data, but most of it."""
    rows, region = sparse.csr_matrix(planted() * (planted() > 1)), CoveredBox(1e-8, 1e3)
    other = model("kl", dictionary_set=region).fit(rows)
    assert region.contains(other.components_)
    usual, one = model("kl").fit(rows), model("kl").set_params(n_components=1).fit(rows)
    gained, possible = (fitted.score(rows) - one.score(rows) for fitted in (other, usual))
    assert gained > 0.7 * possible


def test_another_solver_needs_a_new_start():
    fitted = model("squared_l2", n_passes=1).fit(planted())
    with pytest.raises(ValueError, match="solver"):
        fitted.set_params(solver="spsgd").partial_fit(planted())


def test_another_divergence_needs_a_new_start(tmp_path):
    """Both learn by the same statistics, which nobody could tell apart."""
    X = np.random.default_rng(0).random((40, 6))
    model = OnlineNMF(2, divergence="kl", random_state=0, verbose=0).partial_fit(X)
    save(model, tmp_path / "model.thresher")
    for each in (model, load(tmp_path / "model.thresher")):
        each.set_params(divergence="hellinger")
        before = each.components_.copy()
        with pytest.raises(ValueError, match="hellinger"):
            each.partial_fit(X)
        np.testing.assert_array_equal(each.components_, before)
        each.fit(X).partial_fit(X)


def test_counts_with_zeros_are_learned_without_warnings():
    """Counts have zeros; that is no reason for a warning, and ratios suit them."""
    counts = np.random.default_rng(0).poisson(0.3, (200, 20))
    fitted = OnlineNMF(2, divergence="kl", random_state=0, verbose=0, n_passes=1).fit(counts)
    alone = OnlineNMF(1, divergence="kl", random_state=0, verbose=0, n_passes=1).fit(counts)
    assert fitted.score(counts) > alone.score(counts)


def test_the_elastic_distance_is_learned_as_well_as_the_l1_distance():
    X = planted(80)

    def ratio_to_best(kind, loss, square):
        best = ManhattanNMF(4, square_weight=square, random_state=0, verbose=0).fit(X)
        model = kind(4, divergence=loss, random_state=0, verbose=0).fit(X)
        return model.score(X) / best.score(X)

    for kind in (OnlineNMF, BatchNMF):
        l1 = ratio_to_best(kind, L1Distance(), 0.0)
        assert ratio_to_best(kind, ElasticDistance(2.0), 2.0) < 1.05 * l1


FAMILIES = [
    ("kl", None),
    ("is", None),
    ("hellinger", None),
    ("alpha", 2.0),
    ("alpha", -0.5),
    ("beta", 1.5),
    ("beta", 0.5),
    ("beta", 2.5),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("region", ["simplex", "l1_ball", "l2_ball", "elastic_net_ball", "box"])
@pytest.mark.parametrize(("name", "parameter"), FAMILIES)
def test_steps_on_bounded_sets_stay_finite(name, parameter, region):
    for seed, penalty in enumerate([None, 0.1, 1e3]):
        rng = np.random.default_rng(seed)
        X = rng.random((12, 5)) ** 6 * 10.0 ** rng.integers(-12, 12) * (rng.random((12, 5)) < 0.4)
        for kind, limit in ((OnlineNMF, {"n_passes": 50}), (BatchNMF, {"max_iter": 20})):
            model = kind(
                2,
                divergence=name,
                divergence_parameter=parameter,
                dictionary_set=region,
                dictionary_penalty=penalty,
                random_state=0,
                **limit,
            )
            assert np.isfinite(model.fit(X).components_).all()


def mean_divergence(fitted, X):
    return KullbackLeibler().value(X.toarray(), fitted.transform(X) @ fitted.components_).mean()


def test_the_best_of_several_starts_is_kept():
    """Where single starts differ much, the best of four is nearly always a good one."""
    X, _ = sparse_topics()
    options = {"divergence": "kl", "batch_size": 64, "verbose": 0}
    found = {
        n: [
            mean_divergence(OnlineNMF(6, n_starts=n, random_state=seed, **options).fit(X), X)
            for seed in range(8)
        ]
        for n in (1, 4)
    }
    least = min(found[1] + found[4])
    assert max(found[1]) > 1.03 * least  # or there would be nothing to win here
    assert np.count_nonzero(np.array(found[4]) > 1.01 * least) <= 1
    assert np.mean(found[4]) < np.mean(found[1])


@every_divergence
def test_learning_beats_the_start(divergence, parameter):
    X = planted(600)
    first = model(divergence, parameter).partial_fit(X[:48])
    last = model(divergence, parameter, n_passes=6).fit(X)
    assert last.score(X) > 0.7 * first.score(X)
    assert np.all(last.components_ >= 0)
    assert np.linalg.norm(last.components_, axis=1).max() <= 1 + 1e-6
