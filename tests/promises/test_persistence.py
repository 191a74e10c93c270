"""Promise 7: saved models come back whole and go on, and files are written safely."""

import os
import stat
import threading

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
    public_models,
    same,
    samples,
)
from thresher import (
    BatchNMF,
    Checkpoint,
    FaceRecognizer,
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
from thresher.learning import PowerForgetting
from thresher.losses import Bregman, Csiszar, Envelope, Huber, Mahalanobis, SmoothedL1
from thresher.penalties import L1, ElasticNet, GroupLasso, GroupNorm, SparseGroupLasso
from thresher.sets import Box, GroupBall, Simplex
from thresher.solvers import bpgd, oadmm, ogm, oiadmm, ol_lef, opgd, spsgd


def check_comes_back(model, tmp_path):
    again = back(model, tmp_path)
    assert same(again, model), (again, model)
    np.testing.assert_array_equal(answers(again), answers(model))
    return again


def test_every_public_class_is_among_the_fitted_models():
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


def test_only_models_of_the_library_are_saved(tmp_path):
    for other in (NMF(2, tol=0.1).fit(samples()), 3, None, OnlineNMF):
        with pytest.raises(ValueError, match="not a model"):
            save(other, tmp_path / "model")
    assert not any(tmp_path.iterdir())


class MyNMF(OnlineNMF):
    """A class of the user, with nothing changed."""


def test_a_users_subclass_comes_back_where_it_is_defined(tmp_path):
    model = MyNMF(2, **STREAM).fit(samples())
    assert type(back(model, tmp_path)) is MyNMF
    other = type("OnlineNMF", (OnlineNMF,), {"__init__": OnlineNMF.__init__})
    with pytest.raises(ValueError, match="name"):
        save(other(2, **STREAM).fit(samples()), tmp_path / "model")


# ---------------------------------------------------------------------------- parameters


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
    OnlineOrthogonalDictionary(forgetting=100.0, whiten=True, n_nonzero=2, **STREAM),
    OnlineOrthogonalDictionary(solver="noncvx_sfw", p=4, init="pca", **STREAM),
    OnlineNMF(3, divergence="alpha", divergence_parameter=0.5, n_starts=2, **STREAM),
    OnlineRobustNMF(3, code_penalty=SparseGroupLasso(0.1, 0.3, (0, 1, 1)), **STREAM),
    ManhattanNMF(3, solver="rri", **BATCH),
]  # fmt: skip


@pytest.mark.parametrize("model", GIVEN, ids=range(len(GIVEN)))
def test_parameters_come_back_as_they_were(model, tmp_path):
    check_comes_back(model.fit(samples() + 0.01), tmp_path)


class MyBox(Box):
    """A set of the user."""


def forget_half(n_batch, n_seen):
    return 0.5


QUADRATIC = (lambda u: (u - 1) ** 2, lambda u: 2 * (u - 1))


OWN = [
    ({"divergence": Csiszar(*QUADRATIC)}, "generator"),
    ({"divergence": Bregman(*QUADRATIC)}, "generator"),
    ({"forgetting": forget_half}, "forgetting"),
    ({"dictionary_set": MyBox(0.0, 1.0)}, "dictionary_set"),
    ({"init": np.ones((3, 6)).astype(object)}, "init"),
    ({"init": np.ones((3, 6)).astype(np.longdouble)}, "init"),
]


@pytest.mark.parametrize(("parameters", "keyword"), OWN, ids=[str(keyword) for _, keyword in OWN])
def test_what_cannot_be_saved_is_refused_before_the_run(parameters, keyword, tmp_path):
    """A checkpoint that fails in the middle of a run is found when it is too late."""
    path = tmp_path / "model"
    model = OnlineNMF(3, **{**STREAM, "n_passes": 2, **parameters})
    model.callbacks = [Checkpoint(path, samples=16)]
    with pytest.raises(ValueError, match=keyword):
        model.fit(samples() + 0.01)
    assert not hasattr(model, "components_")
    assert not path.exists()
    model.set_params(callbacks=None).fit(samples() + 0.01)
    with pytest.raises(ValueError, match=keyword):
        save(model, path)


@pytest.mark.parametrize(
    "model",
    [
        BatchNMF(3, divergence=Csiszar(*QUADRATIC), **BATCH),
        ManhattanNMF(3, dictionary_set=MyBox(0.0, 1.0), **BATCH),
        SymmetricManhattanNMF(2, init=np.ones((48, 2)).astype(object), **BATCH),
    ],
    ids=lambda model: type(model).__name__,
)
def test_batch_models_are_refused_before_the_run_too(model, tmp_path):
    model.set_params(callbacks=[Checkpoint(tmp_path / "model")])
    X = samples() + 0.01
    with pytest.raises(ValueError, match="saved"):
        model.fit(X @ X.T if isinstance(model, SymmetricManhattanNMF) else X)
    assert not hasattr(model, "history_")


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


# --------------------------------------------------------------------- fitted attributes


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


def test_models_of_other_libraries_inside_are_refused(tmp_path):
    model = FaceRecognizer(NMF(2, tol=0.1), **QUIET).fit(samples(), np.arange(48) % 2)
    with pytest.raises(ValueError, match="joblib"):
        save(model, tmp_path / "model")


# ------------------------------------------------------------------------------- writing


@pytest.fixture(scope="module")
def model():
    return MAKERS["OnlineNMF"]()


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_links_are_written_through(model, tmp_path):
    target, link, second = (tmp_path / name for name in ("target", "link", "second"))
    target.write_bytes(b"old")
    link.symlink_to("target")
    second.symlink_to(link)
    save(model, second)
    assert second.is_symlink()
    assert link.is_symlink()
    np.testing.assert_array_equal(load(target).components_, model.components_)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "later")
    save(model, dangling)
    assert dangling.is_symlink()
    assert (tmp_path / "later").is_file()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_of_a_file_stays(mode, model, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    save(model, path)
    assert mode_of(path) == mode


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives away")
def test_the_owner_of_a_file_stays(model, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    save(model, path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_only_files_are_written_to(model, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "to_null").symlink_to(os.devnull)
    for name, keyword in (("pipe", "pipe"), ("folder", "folder"), ("to_null", "device")):
        with pytest.raises(ValueError, match=keyword):
            save(model, tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "pipe", "to_null"]


def test_files_that_may_not_be_changed_stay(model, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr("os.access", lambda *_: False)  # root may do anything
    with pytest.raises(PermissionError):
        save(model, path)
    assert path.read_bytes() == b"old"


def test_a_missing_folder_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        save(model, tmp_path / "nowhere" / "model")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["os.fsync", "os.replace", "os.chmod"])
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_an_interrupted_write_leaves_the_old_file(call, kind, model, tmp_path, monkeypatch):
    path = tmp_path / "model"
    save(model, path)
    before = path.read_bytes()

    def fail(*_):
        raise kind("disk full, or Ctrl-C")

    monkeypatch.setattr(call, fail)
    with pytest.raises(kind):
        save(model, path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_reader_sees_the_old_file_or_the_new_one(model, tmp_path):
    path = tmp_path / "file"
    other = MAKERS["OnlineL1Dictionary"]()
    contents = []
    for each in (other, model):
        save(each, path)
        contents.append(path.read_bytes())
    seen, done = set(), threading.Event()

    def read():
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(50):
        save((other, model)[n % 2], path)
    done.set()
    reader.join()
    assert seen <= set(contents)


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    X = np.random.default_rng(0).random((40, 6))
    for path, kind in ((tmp_path / "no" / "model", FileNotFoundError), (tmp_path, ValueError)):
        fresh = OnlineNMF(2, callbacks=[Checkpoint(path)], verbose=0)
        with pytest.raises(kind, match="folder"):
            fresh.fit(X)
        assert not hasattr(fresh, "components_")
    with pytest.raises(ValueError, match="saves"):
        Checkpoint(tmp_path / "model", seconds=None)
