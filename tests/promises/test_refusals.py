"""Promise 11: what has no meaning raises ValueError or TypeError and leaves the model unchanged."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import thresher
from promises.estimators import ESTIMATORS, each_estimator
from thresher import (
    BatchNMF,
    FaceRecognizer,
    GoDec,
    ImageSegmenter,
    ManhattanNMF,
    MannWhitneyDrift,
    NovelDocumentDetector,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    OnlineRobustPCA,
    RobustNMF,
    RobustPCA,
    SensorCodec,
    SymmetricManhattanNMF,
    TopicModel,
    VideoSeparator,
    frank_wolfe,
    metrics,
    solvers,
)
from thresher.datasets import make_outlier_stream
from thresher.losses import Mahalanobis
from thresher.penalties import GroupLasso
from thresher.sets import Box, CoveredBox, GroupBall, NuclearBall, Reals, Simplex
from thresher.testing.data import planted, ready

X = planted(60)
F = X.shape[1]
SIGNED = X - 0.5
WEIGHT = np.full_like(X, 0.5)

# ---------------------------------------------------------------------------- parameters

ROBUST = [
    ("solver", "magic"),
    ("n_components", 0),
    ("batch_size", 2.5),
    ("tol", -1e-4),
    ("init", "nndsvd"),
    ("init", np.ones((3, 2))),
    ("init", np.ones((3, F))),
    ("init", -np.ones((4, F))),
    ("init", np.full((4, F), np.inf)),
    ("init", np.vstack([np.ones((3, F)), np.zeros((1, F))])),
    ("init", np.ma.MaskedArray(np.ones((4, F)), np.eye(4, F) > 0)),
    ("outlier_weight", -1),
    ("outlier_weight", "huge"),
    ("outlier_penalty", "l7"),
    ("outlier_sign", "minus"),
    ("outlier_bound", 0),
    ("code_set", "ball"),
    ("code_penalty", "l1"),
    ("dictionary_set", Simplex),
    ("forgetting", "slow"),
    ("forgetting", -5.0),
    ("forgetting", lambda n_batch, n_seen: 1.5),
    ("frozen_atoms", [7]),
    ("frozen_atoms", [-1]),
    ("frozen_atoms", "all"),
    ("callbacks", print),
    ("scale_samples", "mean"),
    ("solver", solvers.sfw()),
    *(("drift", value) for value in ("restart", 3, MannWhitneyDrift, object())),
]


def refuses(kind, parameters, keyword, samples=X, error=ValueError):
    model = ready(kind())
    with pytest.raises(error, match=keyword):
        model.set_params(**parameters).fit(samples)
    assert not hasattr(model, "components_")


@pytest.mark.parametrize(("name", "value"), ROBUST)
def test_a_parameter_without_a_meaning_is_named(name, value):
    refuses(OnlineRobustNMF, {name: value}, name.rpartition("_")[2])


# (class, parameters, keyword)
COMBINATIONS = [
    (OnlineRobustNMF, {"code_set": "simplex", "code_penalty": GroupLasso(1.0)}, "Simplex"),
    (OnlineRobustNMF, {"scale_samples": "max", "code_set": "simplex"}, "simplex"),
    (OnlineRobustNMF, {"scale_samples": "max", "code_set": Box(0.0, 3.0)}, "Box"),
    (OnlineNMF, {"init": np.ones((4, F)), "n_starts": 2}, "start"),
    (OnlineNMF, {"divergence": "kl", "code_set": Reals()}, "code_set"),
    (OnlineNMF, {"divergence": "kl", "code_set": Box(-1, 1)}, "code_set"),
    (OnlineNMF, {"divergence": "kl", "dictionary_set": Reals()}, "dictionary_set"),
    (OnlineNMF, {"code_set": GroupBall()}, "GroupBall"),
    (BatchNMF, {"divergence": "alpha"}, "divergence_parameter"),
    (BatchNMF, {"divergence": "kl", "divergence_parameter": 1}, "kl"),
    (BatchNMF, {"solver": "mu", "divergence": "kl", "dictionary_set": GroupBall()}, "GroupBall"),
    (ManhattanNMF, {"graph": 0}, "graph"),
    (ManhattanNMF, {"graph": len(X)}, "graph"),
    (ManhattanNMF, {"code_penalty": 0.1, "dictionary_set": "nonnegative"}, "dictionary_set"),
    (OnlineRobustPCA, {"init": np.full((4, F), np.inf)}, "init"),
    (OnlineOrthogonalDictionary, {"p": 5}, "p"),
    (OnlineOrthogonalDictionary, {"p": 4}, "noncvx_sfw"),
    (OnlineOrthogonalDictionary, {"p": 4, "solver": "aodl"}, "noncvx_sfw"),
    (OnlineOrthogonalDictionary, {"solver": "aodl", "whiten": True}, "whiten"),
    (OnlineOrthogonalDictionary, {"init": "mean"}, "init"),
    (OnlineOrthogonalDictionary, {"n_nonzero": 0}, "n_nonzero"),
    (OnlineOrthogonalDictionary, {"batch_size": 0}, "batch_size"),
    (OnlineOrthogonalDictionary, {"forgetting": -1}, "forgetting"),
]


@pytest.mark.parametrize(
    ("kind", "parameters", "keyword"),
    COMBINATIONS,
    ids=[f"{c[0].__name__}-{c[2]}" for c in COMBINATIONS],
)
def test_parameters_that_do_not_fit_each_other_are_refused(kind, parameters, keyword):
    refuses(kind, parameters, keyword)


# ------------------------------------------------------------------------------- samples

TIMES = np.arange(12).reshape(4, 3).astype("datetime64[D]")
SPEED = {"speed": [1.0, 2.0], "street": ["a", "b"], "flow": [3.0, 4.0]}
TWICE = ["a", "a"]

# (class, parameters, samples, keyword arguments of fit, error class, keyword)
SAMPLES = {
    "negative": (OnlineRobustNMF, {}, SIGNED, {}, ValueError, "Negative"),
    "path": (OnlineRobustNMF, {}, "data.csv", {}, TypeError, "open"),
    "empty stream": (OnlineRobustNMF, {}, iter([]), {}, ValueError, "empty"),
    "rows as a stream": (OnlineNMF, {}, (row for row in X), {}, ValueError, "single sample"),
    "times": (OnlineNMF, {}, TIMES, {}, ValueError, "times"),
    "durations": (OnlineOrthogonalDictionary, {}, TIMES - TIMES[0, 0], {}, ValueError, "times"),
    "masked sample weights": (
        OnlineNMF, {}, X, {"sample_weight": np.ma.MaskedArray(X[:, 0], X[:, 1] < 0.1)},
        ValueError, "sample_weight",
    ),
    "masked entry weights": (
        OnlineNMF, {}, X, {"entry_weight": np.ma.MaskedArray(X, X < 0.1)}, ValueError,
        "entry_weight",
    ),
    "missing entry weights": (
        OnlineNMF, {}, X, {"entry_weight": np.full_like(X, np.nan)}, ValueError, "entry_weight",
    ),
    "weights of whole samples": (
        OnlineRobustNMF, {"outlier_penalty": "l21"}, X, {"entry_weight": WEIGHT}, ValueError,
        "weights of 0",
    ),
    "weights of a stream": (
        OnlineRobustNMF, {}, iter([X]), {"sample_weight": X[:, 0]}, ValueError, "partial_fit",
    ),
    "badmm": (
        RobustNMF, {"solver": "badmm"}, X, {"entry_weight": WEIGHT}, ValueError, "badmm",
    ),
    "orthogonal weights": (
        OnlineOrthogonalDictionary, {}, X, {"entry_weight": WEIGHT}, ValueError, "entry_weight",
    ),
    "RobustPCA weights": (RobustPCA, {}, X, {"entry_weight": WEIGHT}, ValueError, "missing"),
    "GoDec weights": (GoDec, {}, X, {"entry_weight": WEIGHT}, ValueError, "missing"),
    "RobustPCA of CSR": (RobustPCA, {}, sparse.csr_array(X), {}, TypeError, "sparse"),
    "cubes": (SymmetricManhattanNMF, {}, np.ones((2, 2, 2)), {}, ValueError, "reshape"),
    "lazy frame": (OnlineNMF, {}, pl.LazyFrame({"a": [1.0, 2.0]}), {}, TypeError, "collect"),
    "mixed column": (
        OnlineNMF, {}, pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, "two"]}), {}, ValueError, "'b'",
    ),
    **{
        f"text in {make.__module__}": (OnlineNMF, {}, make(SPEED), {}, ValueError, "'street'")
        for make in (pd.DataFrame, pl.DataFrame, pa.table)
    },
    "two columns of one name": (
        OnlineNMF, {}, pd.DataFrame(np.ones((4, 2)), columns=TWICE), {}, ValueError, "same name",
    ),
    "two Arrow columns of one name": (
        OnlineNMF, {}, pa.table([pa.array([1.0, 2.0])] * 2, names=TWICE), {}, ValueError,
        "same name",
    ),
    "too large": (OnlineNMF, {}, X * 1e170, {}, ValueError, "too large"),
    "too small": (OnlineRobustNMF, {}, X * 1e-170, {}, ValueError, "too small"),
}  # fmt: skip


@pytest.mark.parametrize("case", SAMPLES)
def test_samples_and_weights_without_a_meaning_are_refused(case):
    kind, parameters, samples, given, error, keyword = SAMPLES[case]
    model = ready(kind(), **parameters)
    with pytest.raises(error, match=keyword):
        model.fit(samples, **given)
    assert not hasattr(model, "components_")


# (what it is called with, keyword)
SHAPES = [
    (X.reshape(60, 4, 6), "reshape"),
    (X[0], "reshape"),
    ([[1.0, 2.0], [3.0]], "inhomogeneous"),
]


@each_estimator
def test_other_shapes_are_refused_with_a_way_to_reshape(estimator):
    model = ready(estimator).fit(X)
    verbs = ["fit", "transform", "score_samples", "impute", "partial_fit", "separate"]
    for verb in verbs:
        for samples, keyword in SHAPES if hasattr(model, verb) else ():
            with pytest.raises(ValueError, match=keyword):
                getattr(model, verb)(samples)
    codes = model.transform(X.reshape(60, 4, 6).reshape(60, -1))
    np.testing.assert_array_equal(codes, model.transform(X))


@pytest.mark.parametrize(
    "make",
    [
        lambda: OnlineRobustNMF(solver="opgd"),
        lambda: OnlineRobustNMF(solver="oadmm"),
        lambda: RobustNMF(solver="bpgd"),
        lambda: OnlineNMF(solver="ol_guan"),
        lambda: BatchNMF(solver="mu"),
        lambda: ManhattanNMF(solver="rri"),
    ],
)
@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_published_solvers_refuse_units_that_they_cannot_compute_with(make, scale):
    with pytest.raises(ValueError, match="too large"):
        ready(make()).fit((X * scale).astype(np.float32))


# ----------------------------------------------------------------- calls of a fitted model


@pytest.fixture(scope="module")
def fitted():
    return {
        "robust": ready(OnlineRobustNMF()).fit(X),
        "nmf": ready(OnlineNMF()).fit(X),
        "frozen": ready(OnlineNMF(), frozen_atoms=[0]).fit(X),
        "orthogonal": ready(OnlineOrthogonalDictionary()).fit(X),
        "mahalanobis": ready(OnlineNMF(), divergence=Mahalanobis(np.eye(F) + 0.1)).fit(X),
    }


MISSING = np.where(np.eye(60, F) > 0, np.nan, X)
ALONE = np.where(np.arange(F) == 3, 1.0, np.full((5, F), np.nan))


# (name of the model, call, error class, keyword)
def learn_under(model, **changes):
    """Learn from a batch under changed parameters, and set them back."""
    before = {name: getattr(model, name) for name in changes}
    try:
        model.set_params(**changes).partial_fit(X)
    finally:
        model.set_params(**before)


CALLS = {
    "shrink": ("robust", lambda m: m.grow(n_features=3), ValueError, "shrink"),
    "no feature": ("nmf", lambda m: m.grow(n_features=0), ValueError, "n_features"),
    "narrow atoms": ("robust", lambda m: m.grow(atoms=np.ones((1, 3))), ValueError, "shape"),
    "missing atoms": (
        "robust", lambda m: m.grow(atoms=np.full((1, F), np.nan)), ValueError, "nonnegative",
    ),
    **{
        f"keep {kept}": ("nmf", lambda m, kept=kept: m.keep_features(kept), ValueError, "one of 0")
        for kept in ([F], [-1], [], [0.0])
    },
    "wide codes": ("robust", lambda m: m.inverse_transform(np.ones((2, 9))), ValueError, "atom"),
    "masked codes": (
        "nmf", lambda m: m.inverse_transform(np.ma.MaskedArray(X[:, :4], X[:, :4] < 0.1)),
        ValueError, "masked",
    ),
    "fewer codes": ("robust", lambda m: m.certificates(X, X[:-1, :4]), ValueError, "codes"),
    "narrow codes": ("robust", lambda m: m.certificates(X, X[:, :3]), ValueError, "codes"),
    "rate": ("robust", lambda m: m.calibrate(X, 0.001), ValueError, "too few"),
    "small weights": (
        "robust", lambda m: m.transform(X, entry_weight=np.ones((2, 2))), ValueError, "shape",
    ),
    "no weight": (
        "robust", lambda m: m.partial_fit(X, sample_weight=np.zeros(60)), ValueError, "non-zero",
    ),
    "fewer weights": (
        "robust", lambda m: m.fit(np.ones((5, 9)), sample_weight=[1, 2]), ValueError,
        "sample_weight",
    ),
    "other width": ("robust", lambda m: m.fit(-X[:, :7]), ValueError, "Negative"),
    "other signs": ("nmf", lambda m: m.partial_fit(SIGNED), ValueError, "Negative"),
    "maps of streams": (
        "robust", lambda m: m.separate(iter([X]), low_rank=np.empty_like(X)), ValueError, "write=",
    ),
    "maps of bytes": (
        "robust", lambda m: m.separate(X, outliers=np.empty(X.shape, dtype=np.uint8)), ValueError,
        "float array",
    ),
    "a stream twice": ("robust", lambda m: m.fit_predict(iter([X])), ValueError, "once"),
    "other samples": ("robust", lambda m: m.resume(X[:30]), ValueError, "batch size"),
    "readings of CSR": (
        "robust", lambda m: m.entry_scores(sparse.csr_array(X)), TypeError, "dense",
    ),
    "impute CSR": ("robust", lambda m: m.impute(sparse.csr_array(X)), TypeError, "dense"),
    **{
        f"bounds {bounds}": (
            "robust", lambda m, bounds=bounds: m.impute(X, bounds=bounds), ValueError, "bounds",
        )
        for bounds in ("all", (1, 0), (0, [1, 2]), 3, ("a", "b"), (np.nan, 1))
    },
    **{
        f"share {share}": (
            "robust", lambda m, share=share: m.score_entries(X, share=share), ValueError, "share",
        )
        for share in (0, 1, -0.1, True, "some", np.nan)
    },
    "positional share": ("robust", lambda m: m.score_entries(X, 0.2), TypeError, "share"),
    "nothing to hide": (
        "robust", lambda m: m.score_entries(np.zeros((5, F))), ValueError, "hides nothing",
    ),
    "one entry each": (
        "robust", lambda m: m.score_entries(ALONE, share=0.9), ValueError, "hides nothing",
    ),
    "seed": (
        "robust", lambda m: m.score_entries(X, random_state="seed"), ValueError, "random_state",
    ),
    "hidden entries": ("mahalanobis", lambda m: m.score_entries(X), ValueError, "Mahalanobis"),
    **{
        f"{verb} of missing": (
            "mahalanobis", lambda m, verb=verb: getattr(m, verb)(MISSING), ValueError, "missing",
        )
        for verb in ("fit", "partial_fit", "transform", "score_samples", "impute")
    },
    **{
        f"partial_fit under {changes}": (
            kind, lambda m, changes=changes: learn_under(m, **changes), ValueError, wrong,
        )
        for kind, changes, wrong in (
            ("robust", {"outlier_weight": -1}, "outlier_weight"),
            ("robust", {"outlier_weight": 0.5, "forgetting": "soon"}, "forgetting"),
            ("orthogonal", {"forgetting": 100}, "half-life"),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_a_call_without_a_meaning_changes_nothing(case, fitted):
    name, call, error, keyword = CALLS[case]
    model = fitted[name]
    components, parameters = model.components_.copy(), model.get_params()
    seen, events = model.n_samples_seen_, model.history_.events
    with pytest.raises(error, match=keyword):
        call(model)
    np.testing.assert_array_equal(model.components_, components)
    assert (model.n_samples_seen_, model.n_features_in_) == (seen, F)
    assert model.history_.events == events
    assert all(model.get_params()[key] is value for key, value in parameters.items())


UNFITTED = {
    "problem": lambda: OnlineRobustNMF(2).problem(),
    "predict": lambda: OnlineRobustNMF(2).predict(X),
    "score_entries": lambda: RobustNMF(2).score_entries(X),
    "transform": lambda: ManhattanNMF(2).transform(X),
    "save": lambda: thresher.save(OnlineRobustNMF(2), "nowhere"),
    "resume": lambda: OnlineRobustNMF(2).resume(X),
}


@pytest.mark.parametrize("name", UNFITTED)
def test_a_model_without_a_fit_is_refused(name):
    with pytest.raises((NotFittedError, ValueError)):
        UNFITTED[name]()


@each_estimator
def test_one_entry_beyond_the_precision_is_refused_and_changes_nothing(estimator):
    """Of another width, too, and also where the model was calibrated."""
    samples = planted(200)
    broken = samples.copy()
    broken[150, 3] = 1e300
    model = ready(estimator)
    with pytest.raises(ValueError, match="too large"):
        model.fit(broken)
    assert not hasattr(model, "components_")
    model.fit(samples)
    if hasattr(model, "calibrate"):
        model.calibrate(samples, 0.1)
    components, scores = model.components_.copy(), model.score_samples(samples)
    calls = [lambda: model.fit(broken[:, :20]), lambda: model.transform(broken)]
    calls += [lambda: model.score_samples(broken)]
    calls += [lambda: model.partial_fit(broken)] if hasattr(model, "partial_fit") else []
    for call in calls:
        with pytest.raises(ValueError, match="too large"):
            call()
        np.testing.assert_array_equal(model.components_, components)
        np.testing.assert_array_equal(model.score_samples(samples), scores)


def test_a_refused_batch_ends_a_stream_and_keeps_what_came_before():
    samples = planted(192)
    negative = samples[:64] - 1
    model, whole = ready(OnlineRobustNMF()), ready(OnlineRobustNMF())
    with pytest.raises(ValueError, match="Negative"):
        model.fit(iter([samples[:64], samples[64:128], negative]))
    whole.partial_fit(samples[:64]).partial_fit(samples[64:128])
    np.testing.assert_array_equal(model.components_, whole.components_)
    assert model.n_samples_seen_ == 128
    with pytest.raises(ValueError, match="Negative"):
        model.fit(iter([negative, samples]))
    np.testing.assert_array_equal(model.components_, whole.components_)


@pytest.mark.parametrize("solver", ["auto", "opgd", "oadmm"])
@pytest.mark.parametrize("value", [1e19, 1e25, 3e38])
def test_an_outlier_beyond_the_precision_never_breaks_a_stream(solver, value):
    """Either it is learned from without harm, or it is refused and nothing changes."""
    samples = planted(100).astype(np.float32)
    model = ready(OnlineRobustNMF(), solver=solver).fit(samples)
    before = model.components_.copy()
    broken = samples[:64].copy()
    broken[3, 4] = value
    with np.errstate(all="ignore"):
        try:
            model.partial_fit(broken)
        except ValueError:
            np.testing.assert_array_equal(model.components_, before)
    assert np.isfinite(model.partial_fit(samples).transform(samples)).all()


# -------------------------------------------------------------- degenerate samples of all kinds

DEGENERATE = {
    "zeros": np.zeros((12, 5)),
    "constant": np.full((12, 5), 3.0),
    "copies": np.repeat(planted(12, 5)[:1], 12, axis=0),
    "one sample": planted(12, 5)[:1],
    "one feature": planted(12, 5)[:, :1],
    "one zero": np.zeros((1, 1)),
    "all missing": np.full((12, 5), np.nan),
    "subnormal": planted(12, 5) * 1e-320,
    "tiny": planted(12, 5) * 1e-200,
    "huge": planted(12, 5) * 1e200,
    "one large entry": np.where(np.arange(60).reshape(12, 5) == 7, 1e60, planted(12, 5)),
}
SOLVERS = [
    *ESTIMATORS,
    OnlineRobustNMF(solver=solvers.opgd(code_max_iter=20), n_passes=1),
    OnlineRobustNMF(solver=solvers.oadmm(code_max_iter=20), n_passes=1),
    RobustNMF(solver="badmm", max_iter=5),
    OnlineOrthogonalDictionary(whiten=True, n_passes=2),
    OnlineOrthogonalDictionary(forgetting=20, whiten=True, n_passes=2),
    OnlineOrthogonalDictionary(solver="sfw", init="pca", n_passes=2),
]


@pytest.mark.parametrize("estimator", SOLVERS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_degenerate_samples_are_learned_or_refused_for_their_size(estimator):
    """Linear algebra never fails with an error of its own."""
    for name, samples in DEGENERATE.items():
        size = {"n_components": 1 if samples.shape[1] == 1 else 3}
        sized = size if "n_components" in estimator.get_params() else {}
        model = ready(estimator, **sized)
        try:
            model.fit(samples)
            model.transform(samples), model.score_samples(samples)
        except ValueError as error:
            message = str(error)
            assert "too large" in message or "Rescale" in message, f"{name}: {message}"


# --------------------------------------------------------------------- everything else


def text_model(**parameters):
    return TopicModel(2, **parameters)


FRAMES = np.full((2, 16, 16), 1.0, dtype=np.float32)

# (call, error class, keyword)
ELSEWHERE = {
    "dtype": (lambda: make_outlier_stream(10, dtype=np.int32), ValueError, "float32"),
    "checkpoint": (lambda: thresher.Checkpoint("x", seconds=None), ValueError, "saves"),
    "matrix": (lambda: Mahalanobis(np.ones((2, 3))), ValueError, "square"),
    "infinite matrix": (lambda: Mahalanobis(np.diag([1, np.inf])), ValueError, "finite"),
    "box": (lambda: Box(1, 1), ValueError, "lower"),
    "covered": (lambda: CoveredBox(0.5, 0.5), ValueError, "upper"),
    "covered at zero": (lambda: CoveredBox(0.0, 0.5), ValueError, "upper"),
    **{
        f"rate {rate}": (lambda rate=rate: MannWhitneyDrift(rate), ValueError, "between 0")
        for rate in (0, 1, -0.1, "often", True, float("nan"))
    },
    "gradient": (
        lambda: frank_wolfe(
            lambda Z, t: np.full((3, 3), np.nan if t == 3 else 1.0),
            NuclearBall(1.0), np.zeros((3, 3)),
        ),
        ValueError, "step 3",
    ),
    "empty vectors": (lambda: metrics.hoyer_sparseness(np.ones((3, 0))), ValueError, "entries"),
    "missing in factors": (lambda: metrics.hoyer_sparseness([[np.nan, 1]]), ValueError, "finite"),
    "rectangular": (
        lambda: metrics.orthogonal_error(np.eye(2, 3), np.eye(2, 3)), ValueError, "square",
    ),
    "numbers as mask": (
        lambda: metrics.support_scores(np.ones(3), np.ones(3)), ValueError, "boolean",
    ),
    "missing outliers": (
        lambda: metrics.support_scores(np.ones(1, bool), [np.nan]), ValueError, "NaN",
    ),
    "missing estimates": (lambda: metrics.psnr([1.0], [np.nan]), ValueError, "finite"),
    "words alone": (
        lambda: metrics.topic_coherence([["a", "b"]], np.eye(2)), ValueError, "vocabulary",
    ),
    "infinite topics": (
        lambda: metrics.topic_coherence(np.array([[np.inf, 1]]), np.eye(2)), ValueError, "finite",
    ),
    "columns of an array": (lambda: thresher.open(X, ["a"]), ValueError, "array"),
    "one text": (lambda: text_model().fit("a text"), ValueError, "brackets"),
    "texts by name": (lambda: text_model().fit({"a": "b"}), ValueError, "dictionary"),
    "class as model": (lambda: text_model(model=OnlineNMF).fit(["a b"]), ValueError, "brackets"),
    "words without weights": (
        lambda: text_model(weighting=None, n_words=3).fit(["a b"]), ValueError, "weighting",
    ),
    "infinite counts": (
        lambda: NovelDocumentDetector(2).fit(np.array([[1, np.inf]] * 6)), ValueError, "finite",
    ),
    "model of faces": (
        lambda: FaceRecognizer(ManhattanNMF).fit(X, np.arange(60) % 2), ValueError, "dictionary",
    ),
    "cubes of faces": (
        lambda: FaceRecognizer().fit(X.reshape(60, 4, 6), np.arange(60) % 2), ValueError, "len",
    ),
    "model of segments": (
        lambda: ImageSegmenter(model=OnlineNMF).fit(np.eye(8)), ValueError, "factorise",
    ),
    "too many segments": (
        lambda: ImageSegmenter(300, n_superpixels=4, verbose=0).fit(np.eye(8)), ValueError,
        "segments",
    ),
    "one row of sensors": (lambda: SensorCodec().compress(np.ones(3)), ValueError, "sensors"),
    "no sensors": (lambda: SensorCodec().compress(np.ones((3, 0))), ValueError, "sensors"),
    "infinite sensors": (
        lambda: SensorCodec().compress([[1.0], [np.inf]]), ValueError, "infinite",
    ),
    "text of frames": (lambda: VideoSeparator().fit([["a"]]), TypeError, "numbers"),
    "one frame": (lambda: VideoSeparator().fit(FRAMES[0]), ValueError, "one frame"),
    "four colours": (lambda: VideoSeparator().fit(np.ones((2, 9, 9, 4))), ValueError, "Frames"),
    "negative frames": (lambda: VideoSeparator().fit(-FRAMES), ValueError, "negative"),
    "missing pixels": (lambda: VideoSeparator().fit(FRAMES * np.nan), ValueError, "NaN"),
    "threshold": (lambda: VideoSeparator(threshold=0.0).fit(FRAMES), ValueError, "threshold"),
    "frames twice": (
        lambda: VideoSeparator(causal=False, verbose=0).separate(iter([FRAMES])), ValueError,
        "twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ELSEWHERE)
def test_functions_and_tasks_refuse_what_has_no_meaning(case):
    call, error, keyword = ELSEWHERE[case]
    with pytest.raises(error, match=keyword):
        call()


def test_a_classifier_that_cannot_learn_stays_as_it_was():
    faces = FaceRecognizer(ManhattanNMF(2, max_iter=3, verbose=0)).fit(X, np.arange(60) % 2)
    with pytest.raises(ValueError, match="Negative"):
        faces.fit(-X[:, :7], np.arange(60) % 2)
    assert faces.n_features_in_ == F
    assert len(faces.predict(X)) == 60
