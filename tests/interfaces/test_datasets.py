"""The synthetic sets obey the formulas from which they claim to be drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from thresher.datasets import (
    DivergenceStream,
    OutlierStream,
    SurveillanceScene,
    load_text_counts,
    make_divergence_stream,
    make_orthogonal_stream,
    make_outlier_stream,
    make_surveillance_scene,
)

FIELDS = ("data", "clean", "outliers", "dictionary", "codes")


@pytest.fixture(scope="module")
def stream() -> OutlierStream:
    return make_outlier_stream(2500, random_state=0)


class TestOutlierStream:
    def test_shapes(self, stream):
        assert stream.dictionary.shape == (49, 400)
        assert stream.codes.shape == (2500, 49)
        assert stream.data.shape == stream.clean.shape == stream.outliers.shape == (2500, 400)

    def test_factors_are_half_normal_of_standard_deviation_one_over_root_k(self, stream):
        for factor in (stream.dictionary, stream.codes):
            assert factor.min() >= 0
            # E|Y| = s sqrt(2/pi) and E Y^2 = s^2.
            assert np.mean(factor) == pytest.approx(np.sqrt(2 / np.pi / 49), rel=0.02)
            assert np.mean(factor**2) == pytest.approx(1 / 49, rel=0.03)

    def test_clean_is_the_clipped_product_and_hardly_saturates(self, stream):
        product = stream.codes @ stream.dictionary
        np.testing.assert_allclose(stream.clean, np.clip(product, 0, 1), atol=1e-12)
        assert np.mean(stream.clean == 1) < 0.01
        assert stream.clean.mean() == pytest.approx(2 / np.pi, rel=0.03)

    def test_the_papers_variance_reading_would_saturate_everything(self, stream):
        # If 1/sqrt(K) were the variance, each factor would be K**(1/4) times larger.
        paper = np.sqrt(49) * stream.codes @ stream.dictionary
        assert np.mean(paper >= 1) > 0.999

    @pytest.mark.parametrize(
        ("contaminated", "density", "n_rows", "n_entries"),
        [(0.7, 0.1, 70, 3), (0.29, 0.29, 29, 8), (1.0, 1.0, 100, 30), (0.0, 0.5, 0, 0)],
    )
    def test_exact_counts_of_outliers(self, contaminated, density, n_rows, n_entries):
        stream = make_outlier_stream(
            100, 30, 4, contaminated=contaminated, density=density, random_state=3
        )
        per_row = np.count_nonzero(stream.outliers, axis=1)
        assert np.count_nonzero(per_row) == n_rows
        assert set(per_row[per_row > 0]) <= {n_entries}

    def test_outliers_are_uniform_in_value_and_place(self, stream):
        drawn = stream.outliers[stream.outliers != 0]
        quantiles = np.quantile(drawn, [0, 0.25, 0.5, 0.75, 1])
        np.testing.assert_allclose(quantiles, [-1, -0.5, 0, 0.5, 1], atol=0.02)
        hits_per_feature = np.count_nonzero(stream.outliers, axis=0)
        expected, spread = 1750 * 0.1, np.sqrt(1750 * 0.1 * 0.9)
        assert np.abs(hits_per_feature - expected).max() < 5 * spread
        # Contaminated rows are spread over the whole stream, not gathered at one end.
        contaminated = np.flatnonzero(stream.outliers.any(axis=1))
        assert contaminated.mean() == pytest.approx(1250, rel=0.05)

    def test_noise_level(self, stream):
        residual = stream.data - stream.clean - stream.outliers
        unclipped = (stream.data > 0) & (stream.data < 1) & (stream.clean < 0.9)
        clean_rows = ~stream.outliers.any(axis=1)
        noise = residual[clean_rows][unclipped[clean_rows]]
        assert noise.std() == pytest.approx(0.02, rel=0.02)
        assert abs(noise.mean()) < 1e-3

    def test_without_noise_the_data_are_the_clipped_sum(self):
        stream = make_outlier_stream(200, 30, 4, noise=0, random_state=1)
        expected = np.clip(stream.clean + stream.outliers, 0, 1)
        np.testing.assert_array_equal(stream.data, expected)

    def test_same_seed_same_bits_other_seed_other_data(self):
        first, second, other = (make_outlier_stream(1500, 20, 3, random_state=s) for s in (5, 5, 6))
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(first, field), getattr(second, field))
            assert not np.array_equal(getattr(first, field), getattr(other, field))

    def test_a_generator_is_accepted_and_advanced(self):
        rng = np.random.default_rng(0)
        first, second = (make_outlier_stream(20, 6, 2, random_state=rng) for _ in range(2))
        assert not np.array_equal(first.data, second.data)

    def test_dtype_changes_only_the_rounding(self):
        double = make_outlier_stream(1500, 20, 3, random_state=5)
        single = make_outlier_stream(1500, 20, 3, dtype=np.float32, random_state=5)
        for field in FIELDS:
            assert getattr(single, field).dtype == np.float32
            expected = getattr(double, field).astype(np.float32)
            np.testing.assert_array_equal(getattr(single, field), expected)

    def test_noise_and_outliers_leave_the_rest_alone(self):
        first = make_outlier_stream(100, 20, 3, random_state=5)
        second = make_outlier_stream(100, 20, 3, noise=0.5, contaminated=0.1, random_state=5)
        np.testing.assert_array_equal(first.clean, second.clean)

    def test_held_out_set_shares_the_dictionary_only(self):
        train = make_outlier_stream(100, 20, 3, random_state=0)
        atoms = train.dictionary.copy()
        test = make_outlier_stream(100, dictionary=atoms, random_state=1)
        np.testing.assert_array_equal(test.dictionary, train.dictionary)
        np.testing.assert_array_equal(atoms, train.dictionary)
        assert not np.shares_memory(atoms, test.dictionary)
        assert not np.array_equal(test.codes, train.codes)
        np.testing.assert_allclose(test.clean, np.clip(test.codes @ atoms, 0, 1), atol=1e-12)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n_samples": 0}, "n_samples"),
            ({"n_features": 0}, "n_features"),
            ({"n_components": 0}, "n_components"),
            ({"contaminated": 1.5}, "contaminated"),
            ({"density": float("nan")}, "density"),
            ({"noise": -1}, "noise"),
            ({"dtype": np.int64}, "dtype"),
            ({"dictionary": [1.0, 2.0]}, "dictionary"),
            ({"dictionary": [[-1.0, 2.0]]}, "dictionary"),
            ({"dictionary": [[np.nan, 2.0]]}, "dictionary"),
        ],
    )
    def test_wrong_arguments_are_explained(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            make_outlier_stream(**{"n_samples": 10, **arguments})


STREET = Path(__file__).parent / "data" / "street.npy"


def _street_in_squares():
    """Frames, background and moving pixels (as 0 or 255), in squares of 4 by 4 pixels."""
    scene = make_surveillance_scene(120, 48, 64, random_state=0)
    videos = scene.frames, scene.background, 255 * scene.foreground.astype(float)
    squares = [video[::10].reshape(12, 12, 4, 16, 4).mean(axis=(2, 4)) for video in videos]
    return np.rint(squares)


@pytest.fixture(scope="module")
def scene() -> SurveillanceScene:
    return make_surveillance_scene(random_state=0)


@pytest.mark.parametrize(
    "dictionary",
    [
        lambda seed: make_orthogonal_stream(1, 2, random_state=seed).dictionary,
        lambda seed: make_outlier_stream(2, 2, 1, random_state=seed).dictionary,
        lambda seed: make_divergence_stream(2, 2, 1, random_state=seed).dictionary,
    ],
    ids=["orthogonal", "outliers", "divergence"],
)
def test_five_hundred_seeds_are_five_hundred_dictionaries(dictionary):
    """Streams of random numbers for each part are seeded from a range that no two will share."""
    assert len({dictionary(seed).tobytes() for seed in range(500)}) == 500


class TestSurveillanceScene:
    def test_shapes_and_types(self, scene):
        shape = (600, 72, 96)
        assert scene.frames.shape == scene.background.shape == shape
        assert scene.foreground.shape == scene.noise_mask.shape == shape
        assert scene.frames.dtype == np.uint8
        assert scene.foreground.dtype == scene.noise_mask.dtype == np.bool_

    def test_empty_pixels_show_the_background(self, scene):
        empty = ~(scene.foreground | scene.noise_mask)
        error = np.abs(scene.frames[empty] - scene.background[empty])
        assert error.max() <= 0.5

    def test_objects_differ_from_the_background(self, scene):
        objects = scene.foreground & ~scene.noise_mask
        contrast = np.abs(scene.frames[objects] - scene.background[objects])
        assert np.mean(contrast > 8) > 0.9

    def test_noise_is_salt_and_pepper_of_the_right_share(self, scene):
        values = scene.frames[scene.noise_mask]
        assert set(np.unique(values)) == {0, 255}
        assert np.mean(values == 0) == pytest.approx(0.5, abs=0.01)
        assert scene.noise_mask.mean() == pytest.approx(0.02, abs=5e-4)

    @pytest.mark.parametrize("seed", range(4))
    def test_background_is_nonnegative_and_of_rank_five(self, seed):
        background = make_surveillance_scene(300, random_state=seed).background
        assert background.min() >= 0
        assert background.max() < 255
        singular = np.linalg.svd(background.reshape(300, -1).astype(float), compute_uv=False)
        assert singular[4] > 0.01 * singular[0]
        assert singular[5] < 1e-6 * singular[0]

    def test_light_switches_part_of_the_scene(self, scene):
        # Relative to the whole, the left half must lose and regain light as the cloud passes.
        left = scene.background[:, 50:, :40].mean(axis=(1, 2))
        right = scene.background[:, 50:, 56:].mean(axis=(1, 2))
        assert np.ptp(left / right) > 0.3

    def test_scene_is_busy_but_every_pixel_is_mostly_background(self, scene):
        assert np.mean(scene.foreground.any(axis=(1, 2))) > 0.9
        assert scene.foreground.mean(axis=0).max() < 0.5
        assert 0.02 < scene.foreground.mean() < 0.2

    def test_nothing_stands_still(self, scene):
        # The longest unbroken time for which one pixel is covered.
        longest = run = np.zeros(scene.foreground.shape[1:], dtype=int)
        for mask in scene.foreground:
            run = np.where(mask, run + 1, 0)
            longest = np.maximum(longest, run)
        assert longest.max() < 60

    def test_objects_enter_and_leave_at_both_sides(self, scene):
        assert scene.foreground[:, :, 0].any()
        assert scene.foreground[:, :, -1].any()

    def test_the_street_looks_as_it_did(self):
        """Benchmarks and the demonstration tell of this street: it may not change silently.

        ``tests/data/street.npy`` has mean grey levels of small squares, every tenth frame.
        """
        np.testing.assert_allclose(_street_in_squares(), np.load(STREET), atol=1.0)

    def test_seed(self):
        first, second, other = (
            make_surveillance_scene(20, 40, 60, random_state=s).frames for s in (1, 1, 2)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)

    @pytest.mark.parametrize("size", [(1, 36, 48), (5, 50, 200), (3, 144, 192)])
    def test_other_sizes(self, size):
        scene = make_surveillance_scene(*size, salt_and_pepper=0, random_state=0)
        assert scene.frames.shape == size
        assert not scene.noise_mask.any()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n_frames": 0}, "n_frames"),
            ({"height": 10}, "36 x 48"),
            ({"width": 10}, "36 x 48"),
            ({"salt_and_pepper": 2}, "salt_and_pepper"),
        ],
    )
    def test_wrong_arguments_are_explained(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            make_surveillance_scene(**arguments)


NOISES = ("is", "kl", "squared_l2", "outliers")


@pytest.fixture(scope="module", params=NOISES)
def noisy(request) -> tuple[str, DivergenceStream]:
    return request.param, make_divergence_stream(1200, noise=request.param, random_state=0)


class TestDivergenceStream:
    def test_clean_is_the_product_of_shifted_half_normal_factors(self, noisy):
        _, stream = noisy
        assert stream.dictionary.shape == (40, 200)
        np.testing.assert_allclose(stream.clean, stream.codes @ stream.dictionary)
        for factor in (stream.dictionary, stream.codes):
            assert factor.min() >= 1
            # E|Y| = s sqrt(2/pi) and E Y^2 = s^2.
            assert np.mean(factor - 1) == pytest.approx(5 * np.sqrt(2 / np.pi), rel=0.02)
            assert np.mean((factor - 1) ** 2) == pytest.approx(25, rel=0.04)
        assert stream.clean.mean() == pytest.approx(
            40 * (1 + 5 * np.sqrt(2 / np.pi)) ** 2, rel=0.02
        )

    def test_data_are_in_range_and_hardly_clipped(self, noisy):
        name, stream = noisy
        assert stream.data.min() >= 0
        assert stream.data.max() <= 4000
        if name != "outliers":
            assert np.mean((stream.data == 0) | (stream.data == 4000)) == 0

    def test_noise_has_the_mean_variance_and_ratio_of_its_distribution(self, noisy):
        name, stream = noisy
        if name == "outliers":
            return
        error, clean = stream.data - stream.clean, stream.clean
        variance = {"is": clean**2 / 1000, "kl": clean, "squared_l2": 900.0 + 0 * clean}[name]
        standard = error / np.sqrt(variance)
        assert abs(standard.mean()) < 0.01
        assert standard.var() == pytest.approx(1, rel=0.02)
        # Also where the clean entry is small or large: the variance follows the mean.
        for part in (clean < np.quantile(clean, 0.1), clean > np.quantile(clean, 0.9)):
            assert standard[part].var() == pytest.approx(1, rel=0.05)
        ratio = 20 * np.log10(np.linalg.norm(clean) / np.linalg.norm(error))
        assert ratio == pytest.approx(30, abs=1)
        if name == "kl":
            np.testing.assert_array_equal(stream.data, np.rint(stream.data))

    def test_three_tenths_of_each_sample_are_uniform_outliers(self):
        stream = make_divergence_stream(1200, noise="outliers", random_state=0)
        error = stream.data - stream.clean
        assert set(np.count_nonzero(np.abs(error) > 1e-9, axis=1)) == {60}
        inside = (stream.clean > 2000 / 3) & (stream.data > 0) & (np.abs(error) > 1e-9)
        assert np.abs(error).max() <= 2000
        # Upwards nothing is clipped: uniform on [0, 2000].
        up = error[inside & (error > 0)]
        np.testing.assert_allclose(np.quantile(up, [0.25, 0.5, 0.75]), [500, 1000, 1500], atol=25)

    def test_noise_leaves_the_factors_alone_and_seeds_count(self):
        streams = [make_divergence_stream(50, 20, 3, name, random_state=4) for name in NOISES]
        for other in streams[1:]:
            np.testing.assert_array_equal(streams[0].clean, other.clean)
            assert not np.array_equal(streams[0].data, other.data)
        again = make_divergence_stream(50, 20, 3, "is", random_state=4)
        np.testing.assert_array_equal(streams[0].data, again.data)
        assert not np.array_equal(
            again.data, make_divergence_stream(50, 20, 3, "is", random_state=5).data
        )

    def test_dtype_changes_only_the_rounding(self):
        double, single = (
            make_divergence_stream(30, 20, 3, dtype=t, random_state=4)
            for t in (np.float64, np.float32)
        )
        for field in ("data", "clean", "dictionary", "codes"):
            assert getattr(single, field).dtype == np.float32
            expected = getattr(double, field).astype(np.float32)
            np.testing.assert_array_equal(getattr(single, field), expected)

    def test_held_out_set_shares_the_dictionary_only(self):
        train = make_divergence_stream(30, 20, 3, random_state=0)
        test = make_divergence_stream(30, dictionary=train.dictionary, random_state=1)
        np.testing.assert_array_equal(test.dictionary, train.dictionary)
        assert not np.array_equal(test.codes, train.codes)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n_samples": 0}, "n_samples"),
            ({"n_features": 0}, "n_features"),
            ({"n_components": 0}, "n_components"),
            ({"noise": "gamma"}, "'is', 'kl'"),
            ({"dtype": np.int64}, "dtype"),
            ({"dictionary": [[-1.0, 2.0]]}, "dictionary"),
        ],
    )
    def test_wrong_arguments_are_explained(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            make_divergence_stream(**{"n_samples": 10, **arguments})


class TestTextCounts:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        counts = sparse.csr_array(np.array([[200, 0, 100], [0, 0, 0], [3, 4, 0]], dtype=np.uint8))
        np.savez(
            tmp_path / "bbc_news.npz",
            data=counts.data,
            indices=counts.indices,
            indptr=counts.indptr,
            shape=counts.shape,
            vocab=["goal", "vote", "win"],
            label=np.int8([0, 1, 1]),
            label_names=["sport", "politics"],
        )
        return tmp_path

    def test_a_file_a_folder_and_the_environment_give_the_same(self, folder, monkeypatch):
        monkeypatch.setenv("THRESHER_DATA", str(folder))
        for path in (None, folder, str(folder / "bbc_news.npz")):
            corpus = load_text_counts("bbc_news", path)
            np.testing.assert_array_equal(corpus.counts.sum(axis=1), [300, 0, 7])
            assert (corpus.counts + corpus.counts).max() == 400  # bytes would overflow
            assert corpus.counts.format == "csr"
            assert list(corpus.vocabulary) == ["goal", "vote", "win"]
            assert list(corpus.label_names[corpus.labels]) == ["sport", "politics", "politics"]

    def test_a_missing_file_says_what_to_set(self, folder, monkeypatch):
        monkeypatch.delenv("THRESHER_DATA", raising=False)
        with pytest.raises(FileNotFoundError, match="set the environment variable THRESHER_DATA"):
            load_text_counts("bbc_news")
        with pytest.raises(FileNotFoundError, match="path that was given"):
            load_text_counts("20newsgroups", folder)
        monkeypatch.setenv("THRESHER_DATA", str(folder / "nowhere"))
        with pytest.raises(FileNotFoundError, match="what THRESHER_DATA says"):
            load_text_counts("bbc_news")

    def test_other_names_and_other_files_are_explained(self, folder):
        with pytest.raises(ValueError, match="'20newsgroups'"):
            load_text_counts("reuters", folder)
        np.savez(folder / "bbc_news.npz", frames=np.zeros(3))
        with pytest.raises(ValueError, match="not a corpus"):
            load_text_counts("bbc_news", folder)
        (folder / "bbc_news.npz").write_text("hello")
        with pytest.raises(ValueError, match="not a corpus"):
            load_text_counts("bbc_news", folder)
