"""Promise 10: results do not depend on the unit of the data."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from thresher import (
    BatchNMF,
    GoDec,
    L1Dictionary,
    ManhattanNMF,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
    SymmetricManhattanNMF,
    load,
    save,
)
from thresher.penalties import ElasticNet
from thresher.testing.data import planted, ready

MODELS = [
    OnlineRobustNMF(),
    OnlineRobustNMF(outlier_weight="mad"),
    OnlineRobustNMF(outlier_penalty="l21"),
    OnlineRobustNMF(code_set="simplex", dictionary_set="nonnegative"),
    OnlineRobustNMF(scale_samples="max"),
    RobustNMF(),
    *(OnlineNMF(divergence=d) for d in ("squared_l2", "kl", "is", "hellinger", "l1", "l2")),
    OnlineNMF(divergence="huber"),
    OnlineNMF(divergence="beta", divergence_parameter=1.5),
    OnlineNMF(divergence="alpha", divergence_parameter=-0.5),
    BatchNMF(divergence="kl", max_iter=20),
    BatchNMF(max_iter=20),
    OnlineL1Dictionary(code_penalty=0.01),
    L1Dictionary(code_penalty=0.01, max_iter=5),
    ManhattanNMF(max_iter=20),
    OnlineOrthogonalDictionary(),
    OnlineOrthogonalDictionary(whiten=True),
    OnlineRobustPCA(),
    RobustPCA(),
    GoDec(),
]
SCALES = {
    np.float64: (1e-30, 1e30),
    np.float32: (1e-25, 1e25),
}


def reduced(values, scale, dtype):
    """What was computed from data times a scale, divided by it, in double precision."""
    return np.asarray(values, dtype=np.float64) / float(dtype(scale))


@pytest.mark.parametrize("dtype", SCALES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("estimator", MODELS, ids=str)
def test_fits_do_not_depend_on_the_unit(estimator, dtype):
    X = planted(150)
    rtol = 1e-6 if dtype == np.float64 else 2e-3
    atol = 1e-7 if dtype == np.float64 else 1e-3
    model = ready(estimator).fit(X.astype(dtype))
    codes = model.transform(X.astype(dtype)).astype(np.float64)
    samples = model.inverse_transform(codes)
    for scale in SCALES[dtype]:
        Y = (X * scale).astype(dtype)
        other = ready(estimator).fit(Y)
        C = other.transform(Y)
        assert C.dtype == other.components_.dtype == dtype
        reached = reduced(C, scale, dtype) @ other.components_.astype(np.float64)
        if getattr(estimator, "code_set", None) == "simplex":  # then atoms have the unit
            reached = C.astype(np.float64) @ reduced(other.components_, scale, dtype)
        np.testing.assert_allclose(reached, samples, rtol=rtol, atol=atol)
        ratio = float(np.median(other.score_samples(Y) / model.score_samples(X.astype(dtype))))
        losses = other.history_.column("loss")[-1] / model.history_.column("loss")[-1]
        np.testing.assert_allclose(ratio, losses, rtol=5e-2)  # both have the unit of a loss


@pytest.mark.parametrize("power", [-40, -3, 5, 60])
@pytest.mark.parametrize("estimator", MODELS[:6] + MODELS[-6:-2], ids=str)
def test_powers_of_two_change_no_bit(estimator, power):
    if estimator.get_params().get("code_penalty"):
        estimator = ready(estimator, code_penalty=None)
    X, factor = planted(100).astype(np.float32), np.float32(2.0**power)
    model, other = ready(estimator).fit(X), ready(estimator).fit(X * factor)
    bounded = getattr(estimator, "code_set", None) == "simplex"
    atoms = factor if bounded else np.float32(1)
    np.testing.assert_array_equal(other.components_, model.components_ * atoms)
    np.testing.assert_array_equal(other.transform(X * factor), model.transform(X) * factor / atoms)


def test_parameters_have_the_units_of_the_data():
    X = planted(150)
    for scale in (1e-20, 1e20):
        given = {
            "outlier_weight": 0.1,
            "outlier_bound": 0.5,
            "code_penalty": ElasticNet(0.02, 0.03),
        }
        model = ready(OnlineRobustNMF(**given, dictionary_penalty=0.01)).fit(X)
        scaled = {
            "outlier_weight": 0.1 * scale,
            "outlier_bound": 0.5 * scale,
            "code_penalty": ElasticNet(0.02 * scale, 0.03),
            "dictionary_penalty": 0.01 * scale**2,
        }
        other = ready(OnlineRobustNMF(**scaled)).fit(X * scale)
        np.testing.assert_allclose(other.components_, model.components_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(other.outlier_weight_, 0.1 * scale)
        np.testing.assert_allclose(
            other.objective_samples(X * scale), model.objective_samples(X) * scale**2, rtol=1e-5
        )
        R = other.separate(X * scale).outliers
        np.testing.assert_allclose(R / scale, model.separate(X).outliers, atol=1e-6)
        assert 0 < np.abs(R).max() <= 0.5 * scale
        graph = ready(ManhattanNMF(graph=3, graph_weight=0.02, square_weight=0.5, max_iter=5))
        first = graph.fit(X).history_.column("loss")
        graph.set_params(graph_weight=0.02 / scale, square_weight=0.5 / scale)
        again = graph.fit(X * scale).history_.column("loss")
        np.testing.assert_allclose(again / scale, first, rtol=1e-6)


def test_bounded_codes_leave_the_unit_to_the_atoms(tmp_path):
    X = planted(200) * 1e-20
    model = ready(OnlineRobustNMF(code_set="simplex", dictionary_set="nonnegative")).fit(X)
    assert 1e-21 < model.components_.max() < 1e-19
    codes = model.transform(X)
    np.testing.assert_allclose(codes.sum(axis=1), 1, rtol=1e-9)
    residual = np.abs(X - model.separate(X).outliers - codes @ model.components_)
    assert residual.max() <= model.outlier_weight_ * (1 + 1e-6) < 1e-20
    init = model.components_ * 2
    again = ready(model, init=init, n_passes=1, frozen_atoms=[0, 1, 2, 3]).fit(X)
    np.testing.assert_allclose(again.components_, init, rtol=1e-12)
    again.grow(atoms=model.components_[:1])
    np.testing.assert_allclose(again.components_[4], model.components_[0], rtol=1e-12)
    save(again, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X), again.transform(X))
    np.testing.assert_array_equal(
        loaded.partial_fit(X[:50]).components_, again.partial_fit(X[:50]).components_
    )


def test_sparse_rows_have_units_too():
    X = planted(150)
    X[X < 0.3] = 0
    for divergence in ("kl", "l1", "squared_l2"):
        rows = sparse.csr_array(X)
        model = ready(OnlineNMF(divergence=divergence)).fit(rows)
        other = ready(OnlineNMF(divergence=divergence)).fit(rows * 2.0**-70)
        np.testing.assert_array_equal(other.components_, model.components_)
        np.testing.assert_array_equal(
            other.transform(rows * 2.0**-70), model.transform(rows) * 2.0**-70
        )


def test_a_stream_that_begins_with_zeros_is_measured_later():
    X = (planted(256) * 1e-25).astype(np.float32)
    direct, late = ready(OnlineRobustNMF()), ready(OnlineRobustNMF())
    late.partial_fit(np.zeros_like(X[:64]))
    for _ in range(8):
        for start in range(0, 256, 64):
            direct.partial_fit(X[start : start + 64])
            late.partial_fit(X[start : start + 64])
    scale = np.float32(1e-25)
    worse = np.mean(np.abs(late.separate(X).low_rank - X) / scale)
    assert worse < 1.2 * np.mean(np.abs(direct.separate(X).low_rank - X) / scale)


def test_similarities_of_any_size():
    blocks = np.kron(np.eye(2), np.ones((4, 4)))
    for scale in (1e-30, 1e30):
        H = SymmetricManhattanNMF(2, random_state=0, verbose=0).fit_transform(blocks * scale)
        np.testing.assert_allclose(H @ H.T / scale, blocks, atol=1e-9)


@pytest.mark.parametrize("divergence", ["kl", "is", "hellinger", 0.5, 1.5, 3.0])
def test_a_sample_of_nothing_costs_nothing(divergence):
    given = {"divergence": divergence}
    if not isinstance(divergence, str):
        given = {"divergence": "beta", "divergence_parameter": divergence}
    for dtype in (np.float64, np.float32):
        X = planted(100).astype(dtype) * dtype(1e3)
        model = ready(OnlineNMF(**given)).fit(X)
        typical = -np.median(model.score_samples(X))
        for size in (0, np.finfo(dtype).tiny, 1e-30):
            nothing = np.full((2, X.shape[1]), size, dtype=dtype)
            if divergence == "is" and size > np.finfo(np.float64).tiny:
                continue  # which it can tell from nothing: it knows no scale
            assert 0 <= -model.score_samples(nothing).min() < 2e-2 * typical
            assert np.abs(model.transform(nothing)).max() < 1e-4


def test_single_precision_codes_samples_far_below_the_others():
    X = planted(100).astype(np.float32)
    model = ready(OnlineNMF(divergence="kl")).fit(X)
    small = model.transform(X * np.float32(2.0**-80)) * np.float32(2.0**80)
    np.testing.assert_allclose(small, model.transform(X), rtol=1e-3, atol=1e-4)
    rows = sparse.csr_array(np.vstack([X[:3], X[3:6] * np.float32(2.0**-80)]))
    np.testing.assert_allclose(
        model.transform(rows)[3:] * np.float32(2.0**80),
        model.transform(X[3:6]),
        rtol=1e-3,
        atol=1e-4,
    )


def test_samples_of_any_maximum_separate_alike_when_scaled():
    """Divided by its maximum, the brightness of a sample is irrelevant (paper A, VII-B3)."""
    X = planted(200)
    fitted = ready(OnlineRobustNMF(), scale_samples="max").fit(X)
    bright = X * np.linspace(1, 50, 200)[:, None]
    np.testing.assert_allclose(
        fitted.transform(bright), fitted.transform(X) * np.linspace(1, 50, 200)[:, None], rtol=1e-6
    )
    assert fitted.separate(bright).low_rank.max() > 10


def test_scaled_samples_may_be_larger_than_their_precision():
    rng = np.random.default_rng(0)
    X = rng.random((40, 6))
    model = OnlineRobustNMF(3, scale_samples="max", random_state=0, verbose=0)
    model.fit(X.astype(np.float32))
    np.testing.assert_allclose(model.transform(X * 2.0**500) / 2.0**500, model.transform(X))
    model.partial_fit(X * 2.0**500)  # on float32 atoms
    assert model.components_.dtype == np.float32


@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_data_beyond_the_precision_are_learned_or_refused(kind, scale):
    X = (planted(100) * scale).astype(np.float32)
    estimator = kind(4, random_state=0, verbose=0)
    with np.errstate(all="ignore"):
        try:
            estimator.fit(X)
        except ValueError:
            assert not hasattr(estimator, "components_")
        else:
            assert np.isfinite(estimator.components_).all()


# ------------------------------------------------ weights and penalties of any size


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e8, 1e9, 1e16, 1e20])
def test_codes_cost_no_more_than_zeros_whatever_the_outlier_weight(kind, dtype, size):
    X = (np.random.default_rng(0).random((30, 15)) * size).astype(dtype)
    model = kind(2, code_penalty=10.0, outlier_weight=0.1, random_state=0).fit(X)
    C = model.transform(X).astype(float)
    D, data = model.components_.astype(float), X.astype(float)

    def cost(codes):
        e = np.abs(data - codes @ D)
        return np.where(e > 0.1, 0.1 * e - 0.005, e * e / 2).sum(axis=1) + 10 * codes.sum(axis=1)

    assert (cost(C) <= cost(0 * C) * (1 + 1e-6)).all()
    wrong = np.full_like(C, size)
    assert (model.certificates(X, wrong.astype(dtype)) > 0.1).all()


WEIGHTS = list(
    itertools.product(
        ["box", "simplex", "l2_ball", "nonnegative"], [0.5, 1e30, 1e-30], ["auto", 1e20, 1e-30]
    )
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [OnlineRobustNMF, RobustNMF])
@pytest.mark.parametrize("size", [1e-20, 1e20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_objectives_are_finite_whatever_the_weights(kind, dtype, size):
    X = np.full((3, 4), size, dtype)
    few = {"n_passes": 3} if kind is OnlineRobustNMF else {}
    for code_set, penalty, weight in WEIGHTS:
        model = kind(
            2, code_penalty=penalty, code_set=code_set, outlier_weight=weight, random_state=0, **few
        ).fit(X)
        assert np.isfinite(model.objective_samples(X)).all()
        assert np.isfinite(model.history_.column("loss")).all()
