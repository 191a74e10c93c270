"""Segments of images: the similarity of the paper, planted regions, and what is refused."""

import doctest
import sys

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import thresher
import thresher.tasks.segmentation.segmenter
from thresher import ImageSegmenter, SymmetricManhattanNMF
from thresher.plotting import frame_grid, paint_boundaries
from thresher.tasks.segmentation.segmenter import cluster_rows, image_similarity, normalised
from thresher.tasks.segmentation.superpixels import checked_image, superpixels


def _three_regions(height=60, width=80, noise=0.05):
    """Dark sky, bright ground, and a grey disc before both."""
    rows, columns = np.indices((height, width))
    truth = (rows > 0.6 * height).astype(int)
    truth[(rows - height / 2) ** 2 + (columns - width / 2) ** 2 < (height / 4) ** 2] = 2
    image = np.array([0.1, 0.9, 0.5])[truth]
    return np.clip(
        image + noise * np.random.default_rng(0).standard_normal(image.shape), 0, 1
    ), truth


def test_similarity_is_formula_62():
    rng = np.random.default_rng(0)
    F, L = rng.random((12, 3)), rng.random((12, 2))
    d_F = np.linalg.norm(F[:, None] - F, axis=2)
    d_L = np.linalg.norm(L[:, None] - L, axis=2)
    d_F, d_L = d_F / d_F.max(), d_L / d_L.max()
    near = np.exp(-(d_F**2) / 0.09) * np.exp(-(d_L**2) / 0.49)
    np.testing.assert_allclose(
        image_similarity(F, L), np.where(d_L <= np.median(d_L), near, 0), atol=1e-12
    )
    np.testing.assert_allclose(
        image_similarity(F, L, radius=0.3), np.where(d_L <= 0.3, near, 0), atol=1e-12
    )
    # Units of pixels and of grey levels do not matter.
    np.testing.assert_allclose(image_similarity(255 * F, 7 * L), image_similarity(F, L))


def test_normalised_similarity_has_the_root_of_the_degrees_as_eigenvector():
    W = image_similarity(*np.random.default_rng(0).random((2, 12, 2)))
    root = np.sqrt(W.sum(axis=1))
    np.testing.assert_allclose(normalised(W) @ root, root)


@pytest.mark.parametrize("kind", ["grey", "bytes", "colour"])
def test_planted_regions_are_found(kind):
    image, truth = _three_regions()
    if kind == "bytes":
        image = np.rint(255 * image).astype(np.uint8)
    if kind == "colour":
        image = np.stack([image, 1 - image, 0.5 + 0 * image], axis=2)
    features = "colour" if kind == "colour" else "brightness"
    # The paper's radius would part the left of the sky from its right (docs/lab/segmentation.md).
    model = ImageSegmenter(
        3, n_superpixels=300, features=features, feature_scale=0.15, radius=1.0, random_state=0
    ).fit(image)
    assert model.labels_.shape == truth.shape
    assert adjusted_rand_score(truth.ravel(), model.labels_.ravel()) > 0.85
    assert len(model.similarity_) == len(model.embedding_) == model.superpixels_.max() + 1 <= 400
    # A segment consists of whole patches, and segments are numbered as they appear.
    pairs = np.unique(np.stack([model.superpixels_.ravel(), model.labels_.ravel()]), axis=1)
    assert pairs.shape[1] == len(model.similarity_)
    assert model.labels_[0, 0] == 0


def test_bytes_mean_the_same_as_shares():
    image, _ = _three_regions(30, 40)
    levels = np.rint(255 * image).astype(np.uint8)
    first, second = (
        ImageSegmenter(3, random_state=0, n_superpixels=100).fit_predict(picture)
        for picture in (levels, levels / 255)
    )
    np.testing.assert_array_equal(first, second)


def test_patches_have_the_means_of_their_pixels():
    image, _ = _three_regions(20, 30)
    found = superpixels(image, 40, "brightness")
    for number in range(len(found.features)):
        inside = found.patch == number
        assert found.features[number, 0] == pytest.approx(image[inside].mean())
        np.testing.assert_allclose(found.locations[number], np.argwhere(inside).mean(axis=0))


def test_small_images_are_compared_pixel_by_pixel_and_constant_ones_too():
    model = ImageSegmenter(2, random_state=0).fit(np.full((6, 8), 0.5))
    assert len(model.similarity_) == 48
    assert set(np.unique(model.labels_)) == {0, 1}


def test_another_model_may_factorise():
    image, _ = _three_regions(20, 30)
    model = SymmetricManhattanNMF(4, init="random", random_state=0)
    found = ImageSegmenter(3, n_superpixels=100, model=model, random_state=0).fit(image)
    assert found.embedding_.shape[1] == 4
    assert not hasattr(model, "embedding_")


@pytest.mark.parametrize(
    ("image", "parameters", "message"),
    [
        (np.ones((4, 5, 4)), {}, "transparency"),
        (np.ones(5), {}, "shape"),
        (np.full((4, 5), np.nan), {}, "NaN"),
        (np.full((4, 5), 3.5), {}, "between 0 and 1"),
        (np.ones((4, 5)), {"n_segments": 30}, "fewer segments"),
        (np.ones((4, 5)), {"n_segments": 0}, "positive integer"),
        (np.ones((4, 5)), {"n_superpixels": 5000}, "more than 2000"),
        (np.ones((4, 5)), {"features": "smell"}, "colour"),
        (np.ones((4, 5)), {"feature_scale": 0.0}, "positive"),
    ],
)
def test_what_is_refused(image, parameters, message):
    with pytest.raises(ValueError, match=message):
        ImageSegmenter(**parameters).fit(image)
    with pytest.raises(TypeError, match="numbers"):
        ImageSegmenter().fit(np.array([["a", "b"]]))


def test_pixels_are_shares_of_their_largest_value():
    for given, expected in (
        (np.array([[0, 51, 255]], np.uint8), [0, 0.2, 1]),
        (np.array([[0, 51, 255]]), [0, 0.2, 1]),
        (np.array([[0, 65535]], np.uint16), [0, 1]),
        (np.array([[False, True]]), [0, 1]),
        (np.array([[0.0, 1.0]], np.float32), [0, 1]),
    ):
        found = checked_image(given)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found[0], expected)
    for bad in (np.array([[-0.01, 0.5]]), np.array([[0.5, 1.01]])):
        with pytest.raises(ValueError, match="between 0 and 1"):
            checked_image(bad)
    for shape in ((0, 3), (2, 2, 1), (2, 2, 3, 3)):
        with pytest.raises(ValueError, match="An image has the shape"):
            checked_image(np.zeros(shape))


def test_segments_are_numbered_as_they_first_appear():
    H = np.array([[9.0], [9.1], [0.0], [5.0], [0.1], [5.1]])
    assert cluster_rows(H, 3, 0).tolist() == [0, 0, 1, 2, 1, 2]


def test_every_part_of_a_file_comes_back(tmp_path):
    image, _ = _three_regions(12, 14)
    found = ImageSegmenter(3, n_superpixels=200, random_state=0, verbose=0).fit(image)
    thresher.save(found, tmp_path / "a")
    again = thresher.load(tmp_path / "a")
    for name in ("labels_", "superpixels_", "similarity_", "embedding_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert again.n_features_in_ == found.n_features_in_ == 14
    assert isinstance(again.model_, SymmetricManhattanNMF)
    assert found.model_.n_components == 5
    assert ImageSegmenter(n_components=9)._factoriser(4, 1).n_components == 4
    with pytest.raises(ValueError, match="nothing to save"):
        thresher.save(ImageSegmenter(), tmp_path / "b")
    for bad in (SymmetricManhattanNMF, "nmf"):
        with pytest.raises(ValueError, match="cannot factorise"):
            ImageSegmenter(model=bad).fit(image)


def test_without_scikit_image_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(ImportError, match=r"thresher\[image\]"):
        ImageSegmenter(n_superpixels=10).fit(np.ones((10, 10)))


def test_boundaries_lie_between_segments():
    labels = np.zeros((6, 8), dtype=int)
    labels[:, 4:] = 1
    painted = paint_boundaries(np.ones((6, 8)), labels, colour=(0, 0, 0), thickness=1)
    np.testing.assert_array_equal(painted[..., 0] == 0, np.arange(8)[None] == np.full((6, 1), 3))
    colour = paint_boundaries(np.zeros((6, 8, 3), np.uint8), labels)
    assert colour.any()
    assert not paint_boundaries(np.zeros((6, 8)), 0 * labels).any()
    assert len(frame_grid([painted[None], colour[None]], ["a", "b"], ["1"]).axes) == 2
    with pytest.raises(ValueError, match="each pixel"):
        paint_boundaries(np.ones((6, 8)), labels[:, 1:])


def test_docstring():
    assert doctest.testmod(thresher.tasks.segmentation.segmenter).failed == 0
