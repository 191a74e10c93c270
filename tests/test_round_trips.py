"""What was saved comes back: every parameter of every class, every part."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import NMF

from promises.fitted_models import (
    BATCH,
    MAKERS,
    QUIET,
    STREAM,
    TEXTS,
    answers,
    back,
    image,
    public_models,
    same,
    samples,
)
from thresher import (
    BatchNMF,
    Checkpoint,
    FaceRecognizer,
    ImageSegmenter,
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
    SymmetricManhattanNMF,
    TopicModel,
    load,
    save,
)
from thresher.estimators.parts import PARTS, packed_value, unpacked_value
from thresher.learning import HalfLife, PowerForgetting
from thresher.losses import Bregman, Csiszar, Envelope, Huber, Mahalanobis, SmoothedL1
from thresher.penalties import L1, ElasticNet, GroupLasso, GroupNorm
from thresher.persistence import Contents
from thresher.sets import Box, GroupBall, Reals, Simplex
from thresher.solvers import bpgd, oadmm, ogm, oiadmm, ol_lef, opgd, spsgd


def check_comes_back(model, tmp_path):
    again = back(model, tmp_path)
    assert same(again, model), (again, model)
    np.testing.assert_array_equal(answers(again), answers(model))
    return again


# ------------------------------------------------------------------------- every class


def test_there_is_a_maker_for_every_public_class():
    assert {kind.__name__ for kind in public_models()} == set(MAKERS)


@pytest.mark.parametrize("name", MAKERS)
def test_every_class_comes_back_and_goes_on(name, tmp_path):
    model = MAKERS[name]()
    again = check_comes_back(model, tmp_path)
    learned = {n: V for n, V in vars(model).items() if n.endswith("_") and not n.startswith("_")}
    assert learned.keys() == {n for n in vars(again) if n.endswith("_") and not n.startswith("_")}
    for field, value in learned.items():
        if isinstance(value, np.ndarray | int | float):
            np.testing.assert_array_equal(getattr(again, field), value)
    if hasattr(model, "history_"):
        np.testing.assert_array_equal(again.history_.to_array(), model.history_.to_array())
    if hasattr(model, "partial_fit") and hasattr(model, "components_"):
        more = TEXTS[:9] if name == "TopicModel" else samples(20, seed=2)
        more = more.reshape(-1, 2, 3) if name == "ImageDenoiser" else more
        model.partial_fit(more), again.partial_fit(more)
        here, there = (getattr(one, "estimator_", one).components_ for one in (model, again))
        np.testing.assert_array_equal(there, here)


def test_no_class_saves_what_it_has_not_learned(tmp_path):
    for kind in public_models():
        with pytest.raises(ValueError, match="nothing to save"):
            save(kind(), tmp_path / "model")
    for other in (NMF(2, tol=0.1).fit(samples()), 3, None, OnlineNMF):
        with pytest.raises(ValueError, match="not a model of Thresher"):
            save(other, tmp_path / "model")
    assert not any(tmp_path.iterdir())


class MyNMF(OnlineNMF):
    """A user's own, with nothing changed."""


def test_a_class_of_ones_own_comes_back_where_it_is_known(tmp_path):
    model = MyNMF(2, **STREAM).fit(samples())
    assert type(back(model, tmp_path)) is MyNMF
    other = type("OnlineNMF", (OnlineNMF,), {"__init__": OnlineNMF.__init__})
    with pytest.raises(ValueError, match="not the only one of this name"):
        save(other(2, **STREAM).fit(samples()), tmp_path / "model")


# ------------------------------------------------------------------ parameters and parts

GIVEN = [
    OnlineRobustNMF(3, code_penalty=np.float32(0.1), forgetting=np.int64(500), **STREAM),
    OnlineRobustNMF(3, frozen_atoms=[0, 2], outlier_bound=np.float64(2.5), **STREAM),
    OnlineRobustNMF(3, frozen_atoms=(1,), shuffle=np.bool_(False), **STREAM),
    OnlineRobustNMF(3, frozen_atoms=np.array([True, False, False]), **STREAM),
    OnlineRobustNMF(np.int32(3), init=np.ones((3, 6), dtype=np.float32), **STREAM),
    OnlineRobustNMF(3, init=[[1.0] * 6, [2.0] * 5 + [1], [1.5] * 6], **STREAM),
    OnlineRobustNMF(3, init=([1.0] * 6, (2.0,) * 6, np.full(6, 1.5)), **STREAM),
    OnlineRobustNMF(3, forgetting=PowerForgetting(4.5), dictionary_set=Simplex(2.0), **STREAM),
    OnlineRobustNMF(3, outlier_penalty=ElasticNet(1.0, 0.5), outlier_sign="nonnegative", **STREAM),
    OnlineRobustNMF(3, outlier_penalty=GroupLasso(1.0, (0, 0, 1, 1, 2, 2)), **STREAM),
    OnlineRobustNMF(3, scale_samples="max", n_jobs=1, code_set=Box(0, np.inf), **STREAM),
    RobustNMF(3, dictionary_penalty=ElasticNet(0.0, 0.1), **BATCH),
    OnlineNMF(3, divergence=Envelope(L1(0.1)), **STREAM),
    OnlineNMF(3, divergence=Huber(0.2, 3.0, True), **STREAM),
    OnlineNMF(3, divergence=SmoothedL1(0.1, 0.5), **STREAM),
    OnlineNMF(3, divergence="mahalanobis", divergence_parameter=np.eye(6) + 0.1, **STREAM),
    OnlineNMF(3, divergence=Mahalanobis(np.eye(6) + 0.1), **STREAM),
    OnlineNMF(3, divergence="beta", divergence_parameter=np.float64(1.5), **STREAM),
    OnlineNMF(3, divergence="kl", solver=spsgd(a=1e3, b=2e3, as_printed=True), **STREAM),
    OnlineNMF(3, divergence="is", solver=ol_lef(), **STREAM),
    OnlineRobustNMF(3, solver=opgd(kappa=0.5), **STREAM),
    OnlineRobustNMF(3, solver=oadmm(rho_2=2.0, as_printed=True), **STREAM),
    RobustNMF(3, solver=bpgd(kappa=0.5), **BATCH),
    BatchNMF(3, dictionary_set=GroupBall(2.0, [0, 0, 1, 1, 2, 2], np.inf), **BATCH),
    OnlineL1Dictionary(3, solver=oiadmm(horizon=9, tau=0.25), **STREAM),
    ManhattanNMF(3, solver=ogm(1.5, monotone=True), **BATCH),
    ManhattanNMF(3, graph=sparse.csr_array(np.eye(48)), dictionary_set="box", **BATCH),
    ManhattanNMF(3, code_penalty=GroupNorm(0.1, (0, 0, 1)), dictionary_set="box", **BATCH),
    OnlineOrthogonalDictionary(forgetting=HalfLife(100), whiten=True, n_nonzero=2, **STREAM),
    OnlineOrthogonalDictionary(solver="noncvx_sfw", p=4, init="pca", **STREAM),
]  # fmt: skip


@pytest.mark.parametrize("model", GIVEN, ids=range(len(GIVEN)))
def test_parameters_come_back_as_they_were(model, tmp_path):
    check_comes_back(model.fit(samples() + 0.01), tmp_path)


EXAMPLES = {
    "AlphaDivergence": (0.5,), "BetaDivergence": (1.5,), "SmoothedL1": (0.1, 0.5),
    "Mahalanobis": (np.eye(3),), "SparseGroupLasso": (0.1, 0.3, (0, 1)), "GroupNorm": (0.1,),
    "HalfLife": (7.0,), "Envelope": (ElasticNet(0.1, 0.2), Box(0.0, 3.0)),
    "OPGD": (0.5,), "SPSGD": (1e3, 2e3, 5.0), "OIADMM": (4.0, 1.5, 0.9),
    "OGM": (0.2, 0.05, 0.3, 1.0, True), "RRI": (0.2, 0.3, True, 7), "SymmetricRRI": (0.2, True),
    "Box": (-1.0, np.inf), "GroupBall": (2.0, (0, 1), np.inf, True),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(PARTS) - {"Csiszar", "Bregman"}))
def test_every_part_comes_back(name):
    part = PARTS[name](*EXAMPLES.get(name, ()))
    arrays = {}
    packed = packed_value("part", part, arrays)
    assert same(unpacked_value(packed, Contents(arrays, {}, "a test")), part)


@dataclasses.dataclass(frozen=True)
class MyBox(Box):
    """A user's own set."""


def forget_half(n_batch, n_seen):
    return 0.5


QUADRATIC = (lambda u: (u - 1) ** 2, lambda u: 2 * (u - 1))
OWN = [
    ({"divergence": Csiszar(*QUADRATIC)}, "divergence.generator="),
    ({"divergence": Bregman(*QUADRATIC)}, "divergence.generator="),
    ({"forgetting": forget_half}, "forgetting="),
    ({"dictionary_set": MyBox(0.0, 1.0)}, "dictionary_set="),
    ({"init": np.ones((3, 6)).astype(object)}, "init is an array of the type object"),
    ({"init": np.ones((3, 6)).astype(np.longdouble)}, "init is an array of the type"),
]


@pytest.mark.parametrize(("parameters", "says"), OWN, ids=[str(says) for _, says in OWN])
def test_what_cannot_be_saved_is_refused_before_the_run(parameters, says, tmp_path):
    """A checkpoint that fails in the middle of a run is found when it is too late."""
    path = tmp_path / "model"
    model = OnlineNMF(3, **{**STREAM, "n_passes": 2, **parameters})
    model.callbacks = [Checkpoint(path, samples=16)]
    with pytest.raises(ValueError, match=f"{says}.*cannot be saved"):
        model.fit(samples() + 0.01)
    assert not hasattr(model, "components_")
    assert not path.exists()
    model.set_params(callbacks=None).fit(samples() + 0.01)
    with pytest.raises(ValueError, match=f"{says}.*cannot be saved"):
        save(model, path)


def test_batch_models_are_refused_before_the_run_too(tmp_path):
    checkpoint = Checkpoint(tmp_path / "model")
    for model in (
        BatchNMF(3, divergence=Csiszar(*QUADRATIC), callbacks=[checkpoint], **BATCH),
        ManhattanNMF(3, dictionary_set=MyBox(0.0, 1.0), callbacks=[checkpoint], **BATCH),
    ):
        with pytest.raises(ValueError, match="cannot be saved"):
            model.fit(samples() + 0.01)
        assert not hasattr(model, "components_")
    for init in (np.ones((48, 2)).astype(object),):
        symmetric = SymmetricManhattanNMF(2, init=init, callbacks=[checkpoint], **BATCH)
        with pytest.raises(ValueError, match="cannot be saved"):
            symmetric.fit(samples() @ samples().T)
        assert not hasattr(symmetric, "embedding_")


@pytest.mark.parametrize(
    "model",
    [
        OnlineNMF(3, solver=spsgd(a=1e3)),
        OnlineNMF(3, divergence=Envelope(L1(0.1), Reals())),
        ManhattanNMF(3, solver=ogm(monotone=True)),
    ],
    ids=str,
)
def test_what_can_be_saved_is_saved_on_the_way(model, tmp_path):
    checkpoint = Checkpoint(tmp_path / "model", seconds=None, samples=16)
    model.set_params(callbacks=[checkpoint], **QUIET).fit(samples())
    np.testing.assert_array_equal(
        load(tmp_path / "model").components_.shape, model.components_.shape
    )


def test_seeds_that_are_not_numbers_are_none_afterwards(tmp_path):
    for seed in (np.random.RandomState(0), None):
        model = OnlineNMF(2, **{**STREAM, "random_state": seed}).fit(samples())
        assert back(model, tmp_path).random_state is None
        again = back(model, tmp_path)
        np.testing.assert_array_equal(
            again.partial_fit(samples()).components_, model.partial_fit(samples()).components_
        )
    assert same(back(OnlineNMF(2, **STREAM).fit(samples()), tmp_path).random_state, 3)
    seeded = OnlineNMF(2, **{**STREAM, "random_state": np.int64(5)}).fit(samples())
    assert same(back(seeded, tmp_path).random_state, np.int64(5))


# ------------------------------------------------------------------------------ learned


@pytest.mark.parametrize(
    "names", [["a\0b", "", "ü", "日本", "0" * 64, "\0"], list("abcdef"), ["", *"bcdef"]], ids=str
)
def test_names_of_features_survive(names, tmp_path):
    frame = pd.DataFrame(samples(), columns=names)
    again = back(OnlineNMF(2, **STREAM).fit(frame), tmp_path)
    assert again.feature_names_in_.tolist() == names
    assert again.transform(frame).shape == (48, 2)
    similarity = pd.DataFrame(samples(6) @ samples(6).T, columns=names)
    symmetric = back(SymmetricManhattanNMF(2, **BATCH).fit(similarity), tmp_path)
    assert symmetric.feature_names_in_.tolist() == names


CALIBRATED = [kind.__name__ for kind in public_models() if hasattr(kind, "calibrate")]


@pytest.mark.parametrize("name", CALIBRATED)
def test_thresholds_survive(name, tmp_path):
    model = MAKERS[name]()
    again = back(model, tmp_path)
    assert not hasattr(again, "threshold_")
    model.calibrate(samples(200, seed=4) + 0.01, 0.1)
    again = back(model, tmp_path)
    assert same(again.threshold_, model.threshold_)
    news = samples(200, seed=5) + 0.01
    np.testing.assert_array_equal(again.is_anomaly(news), model.is_anomaly(news))
    assert 0 < again.is_anomaly(news).mean() < 0.5


def test_parameters_changed_after_the_fit_are_not_saved(tmp_path):
    """A file would tie what was learned to other parameters, of models and of tasks."""
    changes = [
        ("OnlineNMF", {"divergence": "hellinger"}),
        ("OnlineNMF", {"n_components": 7}),
        ("TopicModel", {"weighting": None}),
        ("NovelDocumentDetector", {"n_components": 9}),
        ("FaceRecognizer", {"method": "projection"}),
    ]
    for name, change in changes:
        with pytest.raises(ValueError, match="belongs to"):
            save(MAKERS[name]().set_params(**change), tmp_path / "model")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "model",
    [None, OnlineNMF(3, divergence="kl", **QUIET), OnlineOrthogonalDictionary(**QUIET)],
    ids=str,
)
def test_detectors_keep_every_parameter(model, tmp_path):
    options = {"top_share": np.float32(0.25), "max_words": 500, "n_new_atoms": None}
    detector = NovelDocumentDetector(4, model=model, **options, **QUIET).fit(TEXTS)
    again = check_comes_back(detector, tmp_path)
    assert again.random_state == 3


@pytest.mark.parametrize(
    "vocabulary",
    [
        None,
        ["rain", "hills", "dogs", "cats"],
        ("rain", "dogs"),
        {"dogs": 1, "rain": 0},
        np.array(["rain", "dogs"]),
        np.array(["rain", "dogs"], dtype=object),
    ],
    ids=str,
)
def test_topic_models_keep_every_parameter(vocabulary, tmp_path):
    inner = OnlineNMF(2, divergence="hellinger", code_penalty=L1(0.01), **QUIET)
    model = TopicModel(2, vocabulary=vocabulary, n_words=2, model=inner, **QUIET).fit(TEXTS)
    again = check_comes_back(model, tmp_path)
    assert again.topics_ == model.topics_


def test_words_may_have_any_character(tmp_path):
    words = ["a\0b", "", "ü", "c"]
    counts = np.random.default_rng(0).poisson(1.0, (40, 4))
    model = TopicModel(2, vocabulary=words, weighting=None, **QUIET).fit(counts)
    assert back(model, tmp_path).words_.tolist() == words
    detector = NovelDocumentDetector(2, **QUIET).fit(pd.DataFrame(counts + 0.0, columns=words))
    assert back(detector, tmp_path).words_ == words


@pytest.mark.parametrize(
    "names",
    [
        np.array(["Ann", "Bo"]),
        np.array(["Ann", "B\0o"], dtype=object),
        np.array([3, 7]),
        np.array([False, True]),
        np.array([2, 5], dtype=np.uint8),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["codes", "projection"])
def test_recognisers_come_back(names, method, tmp_path):
    frame = pd.DataFrame(samples(), columns=list("abcdef"))
    inner = ManhattanNMF(3, **BATCH)
    model = FaceRecognizer(inner, method=method, n_neighbors=3)
    again = back(model.fit(frame, names[np.arange(48) % 2]), tmp_path)
    assert same(again, model)
    assert same(again.classes_, model.classes_)
    assert again.feature_names_in_.tolist() == list("abcdef")
    news = pd.DataFrame(samples(30, seed=7), columns=list("abcdef"))
    assert same(again.predict(news), model.predict(news))
    assert len(set(again.predict(news))) == 2


def test_segmenters_come_back(tmp_path):
    model = ImageSegmenter(2, model=SymmetricManhattanNMF(3, **BATCH), radius=0.9, **QUIET)
    again = check_comes_back(model.fit(image()), tmp_path)
    np.testing.assert_array_equal(again.superpixels_, model.superpixels_)
    np.testing.assert_array_equal(again.similarity_, model.similarity_)
    np.testing.assert_array_equal(again.fit_predict(image()), model.labels_)


def test_models_of_other_libraries_inside_are_refused_with_a_sentence(tmp_path):
    model = FaceRecognizer(NMF(2, tol=0.1), **QUIET).fit(samples(), np.arange(48) % 2)
    with pytest.raises(ValueError, match=r"NMF is not a model of Thresher.*joblib"):
        save(model, tmp_path / "model")
