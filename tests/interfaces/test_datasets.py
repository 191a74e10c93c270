"""Synthetic data obey the formulas from which they are drawn, and loaders read users' files."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from thresher.datasets import (
    load_text_counts,
    make_divergence_stream,
    make_orthogonal_stream,
    make_outlier_stream,
    make_surveillance_scene,
)

NOISES = ("is", "kl", "squared_l2", "outliers")
# Small data of each generator, by seed; and the fields with numbers.
SMALL = {
    "outliers": lambda **how: make_outlier_stream(100, 20, 3, **how),
    "divergence": lambda **how: make_divergence_stream(100, 20, 3, **how),
    "orthogonal": lambda **how: make_orthogonal_stream(50, 8, **how),
    "scene": lambda **how: make_surveillance_scene(5, 40, 60, **how),
}


def arrays_of(made):
    return {name: value for name, value in vars(made).items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("kind", SMALL)
def test_a_seed_gives_the_same_bits_and_another_seed_other_data(kind):
    first, second, other = (arrays_of(SMALL[kind](random_state=seed)) for seed in (5, 5, 6))
    assert len(first) >= 3
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name])
        assert not np.array_equal(values, other[name])
    rng = np.random.default_rng(0)
    one, two = (arrays_of(SMALL[kind](random_state=rng)) for _ in range(2))
    assert not any(np.array_equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("kind", ["outliers", "divergence", "orthogonal"])
def test_five_hundred_seeds_give_five_hundred_dictionaries(kind):
    make = {
        "outliers": lambda seed: make_outlier_stream(2, 2, 1, random_state=seed),
        "divergence": lambda seed: make_divergence_stream(2, 2, 1, random_state=seed),
        "orthogonal": lambda seed: make_orthogonal_stream(1, 2, random_state=seed),
    }[kind]
    assert len({make(seed).dictionary.tobytes() for seed in range(500)}) == 500


@pytest.mark.parametrize("kind", ["outliers", "divergence"])
def test_dtype_changes_only_the_rounding(kind):
    double, single = (
        arrays_of(SMALL[kind](dtype=dtype, random_state=5)) for dtype in (np.float64, np.float32)
    )
    for name, values in single.items():
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, double[name].astype(np.float32))


@pytest.mark.parametrize("make", [make_outlier_stream, make_divergence_stream])
def test_held_out_data_share_the_dictionary_only(make):
    train = make(100, 20, 3, random_state=0)
    atoms = train.dictionary.copy()
    test = make(100, dictionary=atoms, random_state=1)
    np.testing.assert_array_equal(test.dictionary, train.dictionary)
    assert not np.shares_memory(atoms, test.dictionary)
    assert not np.array_equal(test.codes, train.codes)


@pytest.mark.parametrize(
    ("keyword", "make", "options"),
    [
        *((next(iter(options)), make, options)
          for make in (make_outlier_stream, make_divergence_stream)
          for options in (
              {"n_samples": 0}, {"n_features": 0}, {"n_components": 0}, {"dtype": np.int64},
              {"dictionary": [1.0, 2.0]}, {"dictionary": [[-1.0, 2.0]]},
              {"dictionary": [[np.nan, 2.0]]},
          )),
        ("contaminated", make_outlier_stream, {"contaminated": 1.5}),
        ("density", make_outlier_stream, {"density": float("nan")}),
        ("noise", make_outlier_stream, {"noise": -1}),
        ("noise", make_divergence_stream, {"noise": "gamma"}),
        ("n_frames", make_surveillance_scene, {"n_frames": 0}),
        ("36 x 48", make_surveillance_scene, {"height": 10}),
        ("36 x 48", make_surveillance_scene, {"width": 10}),
        ("salt_and_pepper", make_surveillance_scene, {"salt_and_pepper": 2}),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(keyword, make, options):
    needed = {} if make is make_surveillance_scene else {"n_samples": 10}
    with pytest.raises(ValueError, match=keyword):
        make(**{**needed, **options})


# ----------------------------------------------------------------------------- outlier streams


@pytest.fixture(scope="module")
def stream():
    return make_outlier_stream(2500, random_state=0)


def test_factors_are_half_normal(stream):
    assert stream.dictionary.shape == (49, 400)
    assert stream.codes.shape == (2500, 49)
    for factor in (stream.dictionary, stream.codes):
        assert factor.min() >= 0
        # E|Y| = s √(2/π) and E Y² = s², with s = 1/√K.
        assert np.mean(factor) == pytest.approx(np.sqrt(2 / np.pi / 49), rel=0.02)
        assert np.mean(factor**2) == pytest.approx(1 / 49, rel=0.03)


def test_clean_data_are_the_clipped_product(stream):
    product = stream.codes @ stream.dictionary
    np.testing.assert_allclose(stream.clean, np.clip(product, 0, 1), atol=1e-12)
    assert np.mean(stream.clean == 1) < 0.01
    # If 1/√K were the variance, as the paper says, nearly all entries would saturate.
    assert np.mean(np.sqrt(49) * product >= 1) > 0.999


@pytest.mark.parametrize(
    ("contaminated", "density", "n_rows", "n_entries"),
    [(0.7, 0.1, 70, 3), (0.29, 0.29, 29, 8), (1.0, 1.0, 100, 30), (0.0, 0.5, 0, 0)],
)
def test_the_numbers_of_outliers_are_exact(contaminated, density, n_rows, n_entries):
    made = make_outlier_stream(
        100, 30, 4, contaminated=contaminated, density=density, random_state=3
    )
    per_row = np.count_nonzero(made.outliers, axis=1)
    assert np.count_nonzero(per_row) == n_rows
    assert set(per_row[per_row > 0]) <= {n_entries}


def test_outliers_are_uniform_in_value_and_place(stream):
    values = stream.outliers[stream.outliers != 0]
    quantiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(quantiles, [-1, -0.5, 0, 0.5, 1], atol=0.02)
    per_feature = np.count_nonzero(stream.outliers, axis=0)
    expected, spread = 1750 * 0.1, np.sqrt(1750 * 0.1 * 0.9)
    assert np.abs(per_feature - expected).max() < 5 * spread
    contaminated = np.flatnonzero(stream.outliers.any(axis=1))
    assert contaminated.mean() == pytest.approx(1250, rel=0.05)


def test_noise_has_its_level_and_can_be_left_out(stream):
    residual = stream.data - stream.clean - stream.outliers
    unclipped = (stream.data > 0) & (stream.data < 1) & (stream.clean < 0.9)
    clean_rows = ~stream.outliers.any(axis=1)
    noise = residual[clean_rows][unclipped[clean_rows]]
    assert noise.std() == pytest.approx(0.02, rel=0.02)
    assert abs(noise.mean()) < 1e-3
    exact = make_outlier_stream(200, 30, 4, noise=0, random_state=1)
    np.testing.assert_array_equal(exact.data, np.clip(exact.clean + exact.outliers, 0, 1))
    noisy = make_outlier_stream(200, 30, 4, noise=0.5, contaminated=0.1, random_state=1)
    np.testing.assert_array_equal(exact.clean, noisy.clean)


# -------------------------------------------------------------------------- divergence streams


@pytest.fixture(scope="module", params=NOISES)
def noisy(request):
    return request.param, make_divergence_stream(1200, noise=request.param, random_state=0)


def test_clean_data_are_the_product_of_shifted_half_normal_factors(noisy):
    name, made = noisy
    assert made.dictionary.shape == (40, 200)
    np.testing.assert_allclose(made.clean, made.codes @ made.dictionary)
    for factor in (made.dictionary, made.codes):
        assert factor.min() >= 1
        assert np.mean(factor - 1) == pytest.approx(5 * np.sqrt(2 / np.pi), rel=0.02)
        assert np.mean((factor - 1) ** 2) == pytest.approx(25, rel=0.04)
    assert made.data.min() >= 0
    assert made.data.max() <= 4000
    if name != "outliers":
        assert np.mean((made.data == 0) | (made.data == 4000)) == 0


def test_noise_has_the_mean_variance_and_ratio_of_its_distribution(noisy):
    name, made = noisy
    error, clean = made.data - made.clean, made.clean
    if name == "outliers":  # three tenths of each sample, uniform on [−2000, 2000]
        assert set(np.count_nonzero(np.abs(error) > 1e-9, axis=1)) == {60}
        assert np.abs(error).max() <= 2000
        inside = (clean > 2000 / 3) & (made.data > 0) & (error > 1e-9)
        quartiles = np.quantile(error[inside], [0.25, 0.5, 0.75])
        np.testing.assert_allclose(quartiles, [500, 1000, 1500], atol=25)
        return
    variance = {"is": clean**2 / 1000, "kl": clean, "squared_l2": 900.0 + 0 * clean}[name]
    standard = error / np.sqrt(variance)
    assert abs(standard.mean()) < 0.01
    assert standard.var() == pytest.approx(1, rel=0.02)
    for part in (clean < np.quantile(clean, 0.1), clean > np.quantile(clean, 0.9)):
        assert standard[part].var() == pytest.approx(1, rel=0.05)
    ratio = 20 * np.log10(np.linalg.norm(clean) / np.linalg.norm(error))
    assert ratio == pytest.approx(30, abs=1)
    if name == "kl":
        np.testing.assert_array_equal(made.data, np.rint(made.data))


def test_noise_does_not_change_the_factors():
    first, *others = (make_divergence_stream(50, 20, 3, name, random_state=4) for name in NOISES)
    for other in others:
        np.testing.assert_array_equal(first.clean, other.clean)
        assert not np.array_equal(first.data, other.data)


# -------------------------------------------------------------------------- surveillance scenes

STREET = Path(__file__).parents[1] / "data" / "street.npy"


@pytest.fixture(scope="module")
def scene():
    return make_surveillance_scene(random_state=0)


def test_frames_are_background_objects_and_noise(scene):
    for values in (scene.frames, scene.background, scene.foreground, scene.noise_mask):
        assert values.shape == (600, 72, 96)
    assert scene.frames.dtype == np.uint8
    assert scene.foreground.dtype == scene.noise_mask.dtype == np.bool_
    empty = ~(scene.foreground | scene.noise_mask)
    assert np.abs(scene.frames[empty] - scene.background[empty]).max() <= 0.5
    objects = scene.foreground & ~scene.noise_mask
    contrast = np.abs(scene.frames[objects] - scene.background[objects])
    assert np.mean(contrast > 8) > 0.9
    noise = scene.frames[scene.noise_mask]
    assert set(np.unique(noise)) == {0, 255}
    assert np.mean(noise == 0) == pytest.approx(0.5, abs=0.01)
    assert scene.noise_mask.mean() == pytest.approx(0.02, abs=5e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_background_is_nonnegative_and_of_rank_five(seed):
    background = make_surveillance_scene(300, random_state=seed).background[:, ::3, ::3]
    assert 0 <= background.min() <= background.max() < 255
    singular = np.linalg.svd(background.reshape(300, -1).astype(float), compute_uv=False)
    assert singular[4] > 0.01 * singular[0]
    assert singular[5] < 1e-6 * singular[0]


def test_objects_move_and_every_pixel_is_mostly_background(scene):
    covered = scene.foreground
    assert np.mean(covered.any(axis=(1, 2))) > 0.9
    assert covered.mean(axis=0).max() < 0.5
    assert 0.02 < covered.mean() < 0.2
    assert covered[:, :, 0].any()
    assert covered[:, :, -1].any()
    longest = run = np.zeros(covered.shape[1:], dtype=int)  # frames for which a pixel is covered
    for mask in covered:
        run = np.where(mask, run + 1, 0)
        longest = np.maximum(longest, run)
    assert longest.max() < 60
    # The light of the left half changes relative to that of the right half.
    left, right = scene.background[:, 50:, :40], scene.background[:, 50:, 56:]
    assert np.ptp(left.mean(axis=(1, 2)) / right.mean(axis=(1, 2))) > 0.3


def test_the_scene_of_the_benchmarks_does_not_change():
    """``tests/data/street.npy`` has mean grey levels of small squares, every tenth frame."""
    made = make_surveillance_scene(120, 48, 64, random_state=0)
    videos = made.frames, made.background, 255 * made.foreground.astype(float)
    squares = [video[::10].reshape(12, 12, 4, 16, 4).mean(axis=(2, 4)) for video in videos]
    np.testing.assert_allclose(np.rint(squares), np.load(STREET), atol=1.0)


@pytest.mark.parametrize("size", [(1, 36, 48), (5, 50, 200), (3, 144, 192)])
def test_scenes_of_other_sizes(size):
    made = make_surveillance_scene(*size, salt_and_pepper=0, random_state=0)
    assert made.frames.shape == size
    assert not made.noise_mask.any()


# --------------------------------------------------------------------------- corpora of the user


@pytest.fixture
def corpus(tmp_path):
    counts = sparse.csr_array(np.array([[200, 0, 100], [0, 0, 0], [3, 4, 0]], dtype=np.uint8))
    parts = {"data": counts.data, "indices": counts.indices, "indptr": counts.indptr}
    names = {"vocab": ["goal", "vote", "win"], "label_names": ["sport", "politics"]}
    np.savez(
        tmp_path / "bbc_news.npz", shape=counts.shape, label=np.int8([0, 1, 1]), **parts, **names
    )
    return tmp_path


def test_a_corpus_is_found_by_file_folder_or_environment(corpus, monkeypatch):
    monkeypatch.setenv("THRESHER_DATA", str(corpus))
    for path in (None, corpus, str(corpus / "bbc_news.npz")):
        found = load_text_counts("bbc_news", path)
        np.testing.assert_array_equal(found.counts.sum(axis=1), [300, 0, 7])
        assert (found.counts + found.counts).max() == 400  # bytes would overflow
        assert found.counts.format == "csr"
        assert list(found.vocabulary) == ["goal", "vote", "win"]
        assert list(found.label_names[found.labels]) == ["sport", "politics", "politics"]


def test_a_corpus_that_is_missing_or_wrong_is_refused(corpus, monkeypatch):
    monkeypatch.delenv("THRESHER_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="THRESHER_DATA"):
        load_text_counts("bbc_news")
    with pytest.raises(FileNotFoundError, match="path"):
        load_text_counts("20newsgroups", corpus)
    monkeypatch.setenv("THRESHER_DATA", str(corpus / "nowhere"))
    with pytest.raises(FileNotFoundError, match="THRESHER_DATA"):
        load_text_counts("bbc_news")
    with pytest.raises(ValueError, match="20newsgroups"):
        load_text_counts("reuters", corpus)
    np.savez(corpus / "bbc_news.npz", frames=np.zeros(3))
    with pytest.raises(ValueError, match="corpus"):
        load_text_counts("bbc_news", corpus)
    (corpus / "bbc_news.npz").write_text("hello")
    with pytest.raises(ValueError, match="corpus"):
        load_text_counts("bbc_news", corpus)
