"""Noise of images has the law that it claims, faces are loaded, and faces are recognised."""

import doctest
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import thresher
import thresher.tasks.recognition.recognizer
from thresher import BatchNMF, FaceRecognizer, ManhattanNMF
from thresher.datasets import (
    add_gaussian,
    add_laplace,
    image_noises,
    load_faces,
    occlude,
    poisson,
    salt_and_pepper,
)

GREY = np.full((200, 32 * 32), 0.5)


class TestNoise:
    def test_laplace_and_gaussian_have_their_moments(self):
        # Kurtosis tells them apart: 6 for Laplace, 3 for Gauss. Clipping at 5 std hardly matters.
        for noise, kurtosis in ((add_laplace, 6), (add_gaussian, 3)):
            error = noise(GREY, std=0.05, seed=0) - GREY
            assert np.mean(error) == pytest.approx(0, abs=1e-3)
            assert np.std(error) == pytest.approx(0.05, rel=0.01)
            assert np.mean(error**4) / np.var(error) ** 2 == pytest.approx(kurtosis, rel=0.1)

    def test_salt_and_pepper_hits_a_share(self):
        spoiled = salt_and_pepper(GREY, seed=0)
        assert np.mean(spoiled == 0) == pytest.approx(0.05, abs=2e-3)
        assert np.mean(spoiled == 1) == pytest.approx(0.05, abs=2e-3)
        assert np.mean(spoiled == 0.5) == pytest.approx(0.9, abs=3e-3)

    def test_poisson_has_variance_mean_over_peak(self):
        for level in (0.1, 0.5):
            counts = poisson(np.full_like(GREY, level), peak=100, seed=0)
            assert np.mean(counts) == pytest.approx(level, rel=0.01)
            assert np.var(counts) == pytest.approx(level / 100, rel=0.02)

    def test_one_square_of_each_image_is_hidden(self):
        hidden = (occlude(GREY, (32, 32), seed=0) == 0).reshape(-1, 32, 32)
        assert (hidden.sum(axis=(1, 2)) == 100).all()
        assert (hidden.any(axis=1).sum(axis=1) == 10).all()
        assert (hidden.any(axis=2).sum(axis=1) == 10).all()
        assert hidden.any(axis=(0, 1)).all()  # in every column, in one image or another

    def test_images_stay_images_and_seeds_decide(self):
        clean = np.random.default_rng(0).random((20, 12 * 12))
        kept = clean.copy()
        for spoil in image_noises((12, 12)).values():
            spoiled = spoil(clean, 1)
            assert 0 <= spoiled.min() <= spoiled.max() <= 1
            assert not np.array_equal(spoiled, clean)
            np.testing.assert_array_equal(spoil(clean, 1), spoiled)
            assert not np.array_equal(spoil(clean, 2), spoiled)
            np.testing.assert_array_equal(clean, kept)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: add_laplace(GREY, std=0), "std"),
            (lambda: poisson(255 * GREY), "divide bytes by 255"),
            (lambda: poisson(GREY[0]), "reshape"),
            (lambda: poisson(GREY, peak=-1), "peak"),
            (lambda: salt_and_pepper(GREY, share=2), "share"),
            (lambda: occlude(GREY, (30, 32)), "960 pixels"),
            (lambda: occlude(GREY, (32, 32), size=40), "side of an image"),
        ],
    )
    def test_wrong_arguments_are_explained(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()


class TestFaces:
    def test_images_become_rows(self, tmp_path):
        images = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
        np.savez(tmp_path / "pie_pose27_32x32.npz", images=images, labels=np.uint8([0, 1]))
        faces = load_faces("pie", tmp_path)
        assert faces.shape == (3, 4)
        np.testing.assert_allclose(faces.rows()[1].reshape(3, 4) * 255, images[1])
        assert faces.labels.tolist() == [0, 1]

    def test_other_names_and_other_files_are_explained(self, tmp_path):
        with pytest.raises(ValueError, match="'yale_b'"):
            load_faces("cats", tmp_path)
        np.savez(tmp_path / "orl_32x32.npz", frames=np.zeros(3))
        with pytest.raises(ValueError, match="not a set of faces"):
            load_faces("orl", tmp_path)
        np.savez(tmp_path / "orl_32x32.npz", images=np.zeros((3, 2, 2)), labels=np.zeros(3))
        with pytest.raises(ValueError, match="of bytes"):
            load_faces("orl", tmp_path)


def _people(n, seed=0, specks=0.1):
    """Three people, each a cone of two lights of their own, with white specks."""
    rng = np.random.default_rng(seed)
    lights = np.random.default_rng(99).random((3, 2, 60)) ** 3
    y = np.arange(n) % 3
    X = np.einsum("nk,nkf->nf", rng.random((n, 2)) + 0.1, lights[y])
    X /= X.max()
    X[rng.random(X.shape) < specks] = 1.0
    return X, np.array(["Ada", "Bo", "Cy"])[y]


class TestRecognizer:
    @pytest.mark.parametrize("method", ["codes", "projection"])
    def test_people_are_recognised(self, method):
        X, y = _people(60)
        new, names = _people(60, seed=1)
        model = BatchNMF(6, divergence="l1", random_state=0, verbose=0)
        found = FaceRecognizer(model, method=method).fit(X, y)
        assert found.score(new, names) > (0.9 if method == "codes" else 0.6)
        assert found.classes_.tolist() == ["Ada", "Bo", "Cy"]
        assert found.score(X, y) == 1.0  # each is its own nearest

    def test_the_default_is_manhattan_and_the_seed_decides(self):
        X, y = _people(30)
        found, again = (FaceRecognizer(random_state=0, verbose=0).fit(X, y) for _ in range(2))
        assert isinstance(found.model_, ManhattanNMF)
        np.testing.assert_array_equal(found.codes_, again.codes_)

    def test_codes_see_past_specks_and_projections_do_not(self):
        X, y = _people(60)
        new, names = _people(60, seed=1, specks=0.2)
        model = BatchNMF(6, divergence="l1", random_state=0, verbose=0)
        scores = [
            FaceRecognizer(model, method=method).fit(X, y).score(new, names)
            for method in ("codes", "projection")
        ]
        assert scores[0] > scores[1]

    def test_algorithm_5_takes_the_largest_cosine(self):
        X, _ = _people(60)
        y = np.arange(60) // 2  # a name for two pictures: the very nearest must be found
        new, _ = _people(30, seed=1)
        found = FaceRecognizer(BatchNMF(6, random_state=0, verbose=0)).fit(X, y)
        C, c = found.model_.transform(X), found.model_.transform(new)
        cosines = (c @ C.T) / np.outer(np.linalg.norm(c, axis=1), np.linalg.norm(C, axis=1))
        np.testing.assert_array_equal(found.predict(new), y[cosines.argmax(axis=1)])

    def test_algorithm_4_takes_the_nearest_projection(self):
        X, _ = _people(60)
        y = np.arange(60) // 2  # a name for two pictures: the very nearest must be found
        new, _ = _people(30, seed=1)
        model = BatchNMF(6, random_state=0, verbose=0)
        found = FaceRecognizer(model, method="projection").fit(X, y)
        D = found.model_.components_
        C, c = (np.linalg.lstsq(D.T, A.T, rcond=None)[0].T for A in (X, new))
        distances = np.linalg.norm(c[:, None] - C, axis=2)
        np.testing.assert_array_equal(found.predict(new), y[distances.argmin(axis=1)])

    def test_brightness_of_a_picture_does_not_matter_to_codes(self):
        X, y = _people(30)
        new, _ = _people(9, seed=1)
        found = FaceRecognizer(BatchNMF(6, random_state=0, verbose=0)).fit(X, y)
        np.testing.assert_array_equal(found.predict(0.5 * new), found.predict(new))

    def test_missing_pixels_and_refusals(self):
        X, y = _people(30)
        X[::3, 5] = np.nan
        found = FaceRecognizer(BatchNMF(6, random_state=0, verbose=0)).fit(X, y)
        assert found.predict(X).shape == (30,)
        with pytest.raises(ValueError, match="NaN"):
            FaceRecognizer(method="projection").fit(X, y)
        with pytest.raises(ValueError, match="'projection'"):
            FaceRecognizer(method="magic").fit(X, y)
        with pytest.raises(ValueError, match="known pictures"):
            FaceRecognizer(n_neighbors=50).fit(X, y)
        with pytest.raises(NotFittedError):
            FaceRecognizer().predict(X)
        with pytest.raises(ValueError, match="features"):
            found.predict(X[:, :7])

    def test_every_part_of_a_file_comes_back(self, tmp_path):
        X, y = _people(30)
        model = BatchNMF(6, random_state=0, verbose=0)
        found = FaceRecognizer(model, method="projection", n_neighbors=3).fit(X, y)
        thresher.save(found, tmp_path / "a")
        again = thresher.load(tmp_path / "a")
        np.testing.assert_array_equal(again.codes_, found.codes_)
        np.testing.assert_array_equal(again._labels, found._labels)
        assert again.classes_.tolist() == found.classes_.tolist()
        assert (again.method, again.n_neighbors, again.n_features_in_) == ("projection", 3, 60)
        np.testing.assert_array_equal(again.predict(X), found.predict(X))
        with pytest.raises(ValueError, match="nothing to save"):
            thresher.save(FaceRecognizer(), tmp_path / "b")

    def test_the_usual_dictionary_has_fifty_parts_or_as_many_as_can_be(self):
        model = FaceRecognizer(random_state=3, verbose=0)
        for shape, K in (((60, 70), 50), ((20, 70), 20), ((60, 7), 7)):
            made = model._dictionary_model(np.ones(shape))
            assert (made.n_components, made.random_state, made.verbose) == (K, 3, 0)
        assert model.__sklearn_tags__().input_tags.allow_nan
        assert not FaceRecognizer(method="projection").__sklearn_tags__().input_tags.allow_nan
        for bad in (BatchNMF, "nmf"):
            with pytest.raises(ValueError, match="cannot learn a dictionary"):
                FaceRecognizer(bad).fit(np.ones((3, 2)), [0, 1, 0])
        X, y = _people(6)
        with pytest.raises(ValueError, match="n_neighbors=7 is more than the 6 known"):
            FaceRecognizer(BatchNMF(2, verbose=0), n_neighbors=7).fit(X, y)
        FaceRecognizer(BatchNMF(2, random_state=0, verbose=0), n_neighbors=6).fit(X, y)

    def test_scikit_learn_agrees(self):
        model = BatchNMF(2, solver="mu", max_iter=5, random_state=0, n_jobs=1, verbose=0)
        estimator = FaceRecognizer(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the checks fit tiny, odd data on purpose
            results = check_estimator(estimator, on_skip=None, on_fail=None)
        assert not [r["check_name"] for r in results if r["status"] == "failed"]

    def test_docstring(self):
        assert doctest.testmod(thresher.tasks.recognition.recognizer).failed == 0
