"""ImageSegmenter: the similarity of the paper, planted regions, and what is refused."""

import sys

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score

import thresher
from thresher import ImageSegmenter, SymmetricManhattanNMF


def segmenter(n_segments=3, **parameters):
    return ImageSegmenter(n_segments, **{"random_state": 0, "verbose": 0, **parameters})


def planted(height=60, width=80, noise=0.05):
    """Dark sky, bright ground, and a grey disc before both, with the region of each pixel."""
    rows, columns = np.indices((height, width))
    truth = (rows > 0.6 * height).astype(int)
    truth[(rows - height / 2) ** 2 + (columns - width / 2) ** 2 < (height / 4) ** 2] = 2
    image = np.array([0.1, 0.9, 0.5])[truth]
    image = image + noise * np.random.default_rng(0).standard_normal(image.shape)
    return np.clip(image, 0, 1), truth


def agreement(truth, labels):
    return adjusted_rand_score(truth.ravel(), np.asarray(labels).ravel())


@pytest.mark.parametrize("kind", ["grey", "bytes", "colour", "float32"])
def test_planted_regions_are_found_as_well_as_by_simple_baselines(kind):
    image, truth = planted(noise=0.15)
    if kind == "bytes":
        image = np.rint(255 * image).astype(np.uint8)
    if kind == "colour":
        image = np.stack([image, 1 - image, 0.5 + 0 * image], axis=2)
    if kind == "float32":
        image = image.astype(np.float32)
    before = image.copy()
    features = "colour" if kind == "colour" else "brightness"
    # The paper's radius would split the left of the sky from its right (docs/lab/segmentation.md).
    model = segmenter(n_superpixels=300, features=features, feature_scale=0.15, radius=1.0)
    found = agreement(truth, model.fit_predict(image))
    assert found > 0.8
    of_pixels = KMeans(3, n_init=3, random_state=0).fit_predict(image.reshape(truth.size, -1))
    spectral = SpectralClustering(3, affinity="precomputed", random_state=0)
    of_patches = spectral.fit_predict(model.similarity_)[model.superpixels_]
    assert found > agreement(truth, of_pixels)
    assert found > agreement(truth, of_patches) - 0.05
    np.testing.assert_array_equal(image, before)


def test_segments_consist_of_patches_and_are_numbered_as_they_appear():
    image, truth = planted()
    model = segmenter(n_superpixels=300).fit(image)
    n = len(model.similarity_)
    assert model.labels_.shape == truth.shape
    assert n == len(model.embedding_) == model.superpixels_.max() + 1 <= 400
    pairs = np.unique(np.stack([model.superpixels_.ravel(), model.labels_.ravel()]), axis=1)
    assert pairs.shape[1] == n
    _, first = np.unique(model.labels_, return_index=True)
    assert first.tolist() == sorted(first)


@pytest.mark.parametrize(("radius", "scales"), [(None, (0.3, 0.7)), (0.3, (0.2, 0.5))])
def test_the_similarity_is_formula_62_of_the_paper(radius, scales):
    """Of an image that has no more pixels than patches."""
    image = np.random.default_rng(0).random((6, 8))
    model = segmenter(radius=radius, feature_scale=scales[0], location_scale=scales[1]).fit(image)
    places = np.indices(image.shape).reshape(2, -1).T
    d_F, d_L = (squareform(pdist(points)) for points in (image.reshape(-1, 1), places))
    d_F, d_L = d_F / d_F.max(), d_L / d_L.max()
    near = np.exp(-(d_F**2) / scales[0] ** 2) * np.exp(-(d_L**2) / scales[1] ** 2)
    expected = np.where(d_L <= (np.median(d_L) if radius is None else radius), near, 0)
    np.testing.assert_allclose(model.similarity_, expected, atol=1e-12)


def test_bytes_and_shares_of_the_largest_level_mean_the_same():
    levels = np.rint(255 * planted(30, 40)[0]).astype(np.uint8)
    expected = segmenter(n_superpixels=100).fit_predict(levels / 255)
    for image in (levels, levels.astype(int), (257 * levels.astype(int)).astype(np.uint16)):
        np.testing.assert_array_equal(segmenter(n_superpixels=100).fit_predict(image), expected)


def test_constant_images_have_segments_too():
    model = segmenter(2).fit(np.full((6, 8), 0.5))
    assert set(np.unique(model.labels_)) == {0, 1}


def test_a_model_may_be_given_and_stays_as_it_is():
    model = SymmetricManhattanNMF(4, init="random", random_state=0, verbose=0)
    found = segmenter(n_superpixels=100, model=model).fit(planted(20, 30)[0])
    assert found.embedding_.shape[1] == 4
    assert not hasattr(model, "embedding_")


def test_saved_and_loaded(tmp_path):
    found = segmenter(n_superpixels=200).fit(planted(12, 14)[0])
    thresher.save(found, tmp_path / "model")
    loaded = thresher.load(tmp_path / "model")
    for name in ("labels_", "superpixels_", "similarity_", "embedding_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(found, name))
    assert loaded.get_params() == found.get_params()
    with pytest.raises(ValueError, match="nothing to save"):
        thresher.save(segmenter(), tmp_path / "never")


@pytest.mark.parametrize(
    ("image", "parameters", "keyword"),
    [
        (np.ones((4, 5, 4)), {}, "shape"),
        (np.ones(5), {}, "shape"),
        (np.ones((0, 3)), {}, "shape"),
        (np.full((4, 5), np.nan), {}, "NaN"),
        (np.full((4, 5), 3.5), {}, "between"),
        (np.full((4, 5), -0.01), {}, "between"),
        (np.array([["a", "b"]]), {}, "numbers"),
        (np.ones((4, 5)), {"n_segments": 30}, "segments"),
        (np.ones((4, 5)), {"n_segments": 0}, "n_segments"),
        (np.ones((4, 5)), {"n_superpixels": 5000}, "n_superpixels"),
        (np.ones((4, 5)), {"features": "smell"}, "features"),
        (np.ones((4, 5)), {"feature_scale": 0.0}, "feature_scale"),
        (np.ones((4, 5)), {"model": SymmetricManhattanNMF}, "model"),
        (np.ones((4, 5)), {"model": "nmf"}, "model"),
    ],
    ids=str,
)
def test_what_cannot_be_segmented_is_refused(image, parameters, keyword):
    with pytest.raises((ValueError, TypeError), match=keyword):
        segmenter(**parameters).fit(image)


def test_without_scikit_image_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(ImportError, match=r"thresher\[image\]"):
        segmenter(n_superpixels=10).fit(np.ones((10, 10)))
