"""FaceRecognizer: people are recognised in spoiled pictures; the sets of faces are loaded."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator

import thresher
from thresher import BatchNMF, FaceRecognizer, ManhattanNMF
from thresher.datasets import load_faces

QUIET = {"random_state": 0, "verbose": 0}
NAMES = np.array(["Ada", "Bo", "Cy"])


def people(n, seed=0, specks=0.1):
    """Pictures of three people, each a cone of two lights of their own, with white specks."""
    rng = np.random.default_rng(seed)
    lights = np.random.default_rng(99).random((3, 2, 60)) ** 3
    person = np.arange(n) % 3
    X = np.einsum("nk,nkf->nf", rng.random((n, 2)) + 0.1, lights[person])
    X /= X.max()
    X[rng.random(X.shape) < specks] = 1.0
    return X, NAMES[person]


def robust_model():
    return ManhattanNMF(6, **QUIET)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_people_are_recognised_better_than_by_the_nearest_picture(dtype):
    X, y = people(60)
    new, names = people(60, seed=1, specks=0.2)
    X, new = X.astype(dtype), new.astype(dtype)
    before = X.copy()
    model = FaceRecognizer(robust_model()).fit(X, y)
    found = model.score(new, names)
    assert found > 0.8
    assert found > KNeighborsClassifier(1).fit(X, y).score(new, names) + 0.1
    assert found > FaceRecognizer(robust_model(), method="projection").fit(X, y).score(new, names)
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.score(X, y) == 1.0  # each is its own nearest
    assert model.codes_.dtype == dtype
    np.testing.assert_array_equal(X, before)


def test_algorithms_4_and_5_take_the_nearest_projection_and_the_largest_cosine():
    X, _ = people(60)
    y = np.arange(60) // 2  # a name for two pictures: the very nearest must be found
    new, _ = people(30, seed=1)
    by_codes = FaceRecognizer(BatchNMF(6, **QUIET)).fit(X, y)
    C, c = by_codes.model_.transform(X), by_codes.model_.transform(new)
    C, c = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (C, c))
    np.testing.assert_array_equal(by_codes.predict(new), y[(c @ C.T).argmax(axis=1)])
    projected = FaceRecognizer(BatchNMF(6, **QUIET), method="projection").fit(X, y)
    D = projected.model_.components_
    C, c = (np.linalg.lstsq(D.T, A.T, rcond=None)[0].T for A in (X, new))
    distances = np.linalg.norm(c[:, None] - C, axis=2)
    np.testing.assert_array_equal(projected.predict(new), y[distances.argmin(axis=1)])


def test_names_do_not_depend_on_brightness_or_the_unit():
    X, y = people(30)
    new, _ = people(9, seed=1)
    model = FaceRecognizer(BatchNMF(6, **QUIET)).fit(X, y)
    np.testing.assert_array_equal(model.predict(0.5 * new), model.predict(new))
    for unit in (1e-20, 1e20):
        other = FaceRecognizer(BatchNMF(6, **QUIET)).fit(unit * X, y)
        np.testing.assert_array_equal(other.predict(unit * new), model.predict(new))


def test_missing_pixels_are_left_out():
    X, y = people(60)
    new, names = people(60, seed=1)
    rng = np.random.default_rng(0)
    for pictures in (X, new):
        pictures[rng.random(pictures.shape) < 0.1] = np.nan
    assert FaceRecognizer(BatchNMF(6, **QUIET)).fit(X, y).score(new, names) > 0.8
    with pytest.raises(ValueError, match="NaN"):
        FaceRecognizer(method="projection", **QUIET).fit(X, y)


def test_the_default_model_is_manhattan_and_the_seed_decides():
    X, y = people(30)
    found, same = (FaceRecognizer(**QUIET).fit(X, y) for _ in range(2))
    assert isinstance(found.model_, ManhattanNMF)
    np.testing.assert_array_equal(found.codes_, same.codes_)


@pytest.mark.parametrize("method", ["codes", "projection"])
def test_saved_and_loaded(method, tmp_path):
    X, y = people(30)
    new, _ = people(30, seed=1)
    model = FaceRecognizer(BatchNMF(6, **QUIET), method=method, n_neighbors=3).fit(X, y)
    thresher.save(model, tmp_path / "model")
    loaded = thresher.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.codes_, model.codes_)
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    assert loaded.classes_.tolist() == NAMES.tolist()
    assert (loaded.method, loaded.n_neighbors, loaded.n_features_in_) == (method, 3, 60)
    with pytest.raises(ValueError, match="nothing to save"):
        thresher.save(FaceRecognizer(), tmp_path / "never")


@pytest.mark.parametrize(
    ("parameters", "keyword"),
    [
        ({"method": "magic"}, "method"),
        ({"model": BatchNMF}, "model"),
        ({"model": "nmf"}, "model"),
        ({"n_neighbors": 50}, "n_neighbors"),
        ({"n_neighbors": 0}, "n_neighbors"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(parameters, keyword):
    with pytest.raises(ValueError, match=keyword):
        FaceRecognizer(**parameters).fit(*people(30))


def test_invalid_pictures_are_refused_and_leave_the_model_unchanged():
    X, y = people(30)
    with pytest.raises(NotFittedError):
        FaceRecognizer().predict(X)
    model = FaceRecognizer(BatchNMF(6, **QUIET)).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :7])
    with pytest.raises(ValueError, match="inf"):
        model.fit(np.full_like(X, np.inf), y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_scikit_learn_agrees():
    model = BatchNMF(2, solver="mu", max_iter=5, n_jobs=1, **QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit tiny, odd data on purpose
        results = check_estimator(FaceRecognizer(model), on_skip=None, on_fail=None)
    assert not [r["check_name"] for r in results if r["status"] == "failed"]


# ------------------------------------------------------------------- load_faces


def test_sets_of_faces_become_rows(tmp_path):
    images = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    np.savez(tmp_path / "pie_pose27_32x32.npz", images=images, labels=np.uint8([0, 1]))
    faces = load_faces("pie", tmp_path)
    assert faces.shape == (3, 4)
    np.testing.assert_allclose(faces.rows()[1].reshape(3, 4) * 255, images[1])
    assert faces.labels.tolist() == [0, 1]


def test_other_names_and_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="yale_b"):
        load_faces("cats", tmp_path)
    for arrays in (
        {"frames": np.zeros(3)},
        {"images": np.zeros((3, 2, 2)), "labels": np.zeros(3)},
    ):
        np.savez(tmp_path / "orl_32x32.npz", **arrays)
        with pytest.raises(ValueError, match="orl_32x32"):
            load_faces("orl", tmp_path)
