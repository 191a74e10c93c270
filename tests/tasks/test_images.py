"""ImageDenoiser: damage of photographs is found and repaired, and all else stays as it was."""

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import median_filter

import thresher
from thresher import ImageDenoiser, OnlineRobustNMF, OnlineRobustPCA, RobustPCA
from thresher.datasets import (
    add_gaussian,
    add_laplace,
    image_noises,
    occlude,
    poisson,
    salt_and_pepper,
)

SHAPE = (20, 18)
DAMAGES = ("salt and pepper", "squares", "both")


def denoiser(estimator=None, **parameters):
    return ImageDenoiser(estimator, **{"random_state": 0, "verbose": 0, **parameters})


def photographs(n=80, colours=False, noise=0.0, seed=0):
    """Smooth pictures of one kind in [0, 1]: mixtures of four."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]] / 20
    waves = np.stack([np.sin(a * x + b * y) ** 2 for a, b in ((1, 5), (4, 1), (2, 2), (6, 3))])
    stack = np.tensordot(rng.dirichlet(np.ones(4), n), waves, 1)
    stack = np.clip(stack + noise * rng.normal(size=stack.shape), 0, 1)
    return np.stack([stack, 0.5 * stack, stack**2], axis=3) if colours else stack


def damaged(images, kind, seed=0):
    rows = images.reshape(len(images), -1)
    if kind != "squares":
        rows = salt_and_pepper(rows, 0.1, seed)
    if kind != "salt and pepper":
        rows = occlude(rows, SHAPE, 5, seed=seed)
    return rows.reshape(images.shape)


def rms(found, truth):
    return np.sqrt(np.mean((np.asarray(found, float) - truth) ** 2))


def write_folder(folder, levels):
    folder.mkdir()
    for number, picture in enumerate(levels):
        Image.fromarray(picture).save(folder / f"{number:03d}.png")
    return folder


# ------------------------------------------------------------------- planted damage


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_repaired_better_than_by_a_median_filter(kind):
    truth = photographs()
    noisy = photographs(noise=0.02)
    images = damaged(noisy, kind)
    before = images.copy()
    found = denoiser().denoise(images)
    filtered = [median_filter(images, (1, size, size)) for size in (3, 5, 7, 9)]
    assert rms(found.clean, truth) < 0.9 * min(rms(baseline, truth) for baseline in filtered)
    assert rms(found.clean, truth) < 0.25 * rms(images, truth)
    hit = np.abs(images - noisy) > 0.1
    assert found.mask[hit].mean() > 0.9
    assert found.mask[~hit].mean() < 0.03
    np.testing.assert_array_equal(found.clean[~found.mask], images[~found.mask])
    np.testing.assert_allclose(found.clean + found.removed, images, atol=1e-12)
    np.testing.assert_array_equal(images, before)


@pytest.mark.parametrize(
    "estimator",
    [
        OnlineRobustPCA(4, random_state=0, verbose=0),
        OnlineRobustNMF(6, random_state=0, verbose=0),
        RobustPCA(verbose=0, tol=1e-2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_robust_estimator_may_be_given(estimator):
    truth = photographs()
    images = damaged(truth, "salt and pepper")
    found = denoiser(estimator).fit(images).denoise(images)
    assert rms(found.clean, truth) < 0.3 * rms(images, truth)
    assert not hasattr(estimator, "components_")


def test_sound_photographs_stay_as_they_are():
    images = photographs(noise=0.02)
    assert denoiser().denoise(images).mask.mean() < 0.01


def test_what_many_photographs_show_at_a_place_is_no_damage():
    images = photographs(noise=0.02)
    images[::2, 3:9, 3:9] *= 0.5  # a shadow in every second photograph
    images[4, 12:18, 10:16] *= 0.3  # a spot in one
    mask = denoiser().denoise(images).mask
    assert mask[4, 13:17, 11:15].mean() > 0.9
    assert mask[5::2, 12:18, 10:16].mean() < 0.05


def test_missing_pixels_are_imputed_and_not_learned_from():
    truth = photographs()
    missing = np.random.default_rng(1).random(truth.shape) < 0.2
    model = denoiser().fit(truth)
    by_nan = model.denoise(np.where(missing, np.nan, truth))
    spoiled = np.where(missing, 0.77, truth)
    for other in (
        model.denoise(spoiled, mask=missing),
        model.denoise(np.ma.masked_array(spoiled, missing)),
    ):
        np.testing.assert_allclose(other.clean, by_nan.clean, atol=1e-6)
    assert by_nan.mask[missing].all()
    assert not by_nan.removed[missing].any()
    assert rms(by_nan.clean[missing], truth[missing]) < 0.05
    learned = denoiser().denoise(np.where(missing, np.nan, truth))
    assert rms(learned.clean[missing], truth[missing]) < 0.05


# ------------------------------------------------------------------- types and units


def test_bytes_and_colours_stay_bytes_and_colours():
    truth = photographs(colours=True)
    levels = np.rint(255 * truth).astype(np.uint8)
    levels[np.random.default_rng(0).random(truth.shape[:3]) < 0.05] = 255
    found = denoiser().denoise(levels)
    assert found.clean.dtype == np.uint8
    assert found.clean.shape == levels.shape
    assert found.mask.shape == truth.shape[:3]
    assert rms(found.clean / 255, truth) < 0.3 * rms(levels / 255, truth)


def test_float32_stays_float32():
    truth = photographs()
    images = damaged(truth, "salt and pepper").astype(np.float32)
    found = denoiser().denoise(images)
    assert found.clean.dtype == np.float32
    assert rms(found.clean, truth) < 0.25 * rms(images, truth)


@pytest.mark.parametrize("unit", [1e-25, 1e-20, 1e25])
def test_results_do_not_depend_on_the_unit(unit):
    images = damaged(photographs(40), "salt and pepper")
    here, there = denoiser().denoise(images), denoiser().denoise(images * unit)
    np.testing.assert_array_equal(here.mask, there.mask)
    np.testing.assert_allclose(there.clean / unit, here.clean, atol=1e-9)


def test_each_photograph_is_cleaned_by_itself():
    images = damaged(photographs(), "squares")
    images *= np.linspace(0.3, 1, len(images))[:, None, None]  # with a brightness of its own
    model = denoiser().fit(images)
    together, alone = model.denoise(images), model.denoise(images[7:8])
    np.testing.assert_array_equal(together.mask[7], alone.mask[0])
    np.testing.assert_allclose(together.clean[7], alone.clean[0], atol=1e-9)


# ------------------------------------------------------------------- online, files


def test_learned_online_saved_and_continued_with_the_same_bits(tmp_path):
    truth = photographs(300)
    images = damaged(truth, "salt and pepper")
    model = denoiser()
    for first in range(0, 200, 50):
        model.partial_fit(images[first : first + 50])
    thresher.save(model, tmp_path / "model")
    loaded = thresher.load(tmp_path / "model")
    for one in (model, loaded):
        one.partial_fit(images[200:])
    here, there = model.denoise(images[:40]), loaded.denoise(images[:40])
    for mine, theirs in zip(here, there, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert rms(here.clean, truth[:40]) < 0.5 * rms(images[:40], truth[:40])
    low_rank, outliers, _ = model.separate(images[:40])
    assert low_rank.shape == outliers.shape == (40, *SHAPE)


def test_folders_in_and_out_give_what_arrays_give(tmp_path):
    levels = np.rint(255 * damaged(photographs(40), "salt and pepper")).astype(np.uint8)
    folder = write_folder(tmp_path / "in", levels)
    model = denoiser().fit(folder)
    truth = 255 * photographs(40)
    expected, by_array = model.denoise(levels), denoiser().denoise(levels)
    assert rms(expected.clean, truth) < 1.3 * rms(by_array.clean, truth)
    batches = list(model.denoise(thresher.open(folder).in_batches(16)))
    assert [len(batch.clean) for batch in batches] == [16, 16, 8]
    np.testing.assert_array_equal(np.concatenate([b.clean for b in batches]), expected.clean)
    model.denoise(folder, write={"clean": tmp_path / "out", "mask": tmp_path / "mask"})
    clean = thresher.open(tmp_path / "out").load().reshape(levels.shape)
    np.testing.assert_array_equal(clean, expected.clean)
    mask = thresher.open(tmp_path / "mask").load().reshape(levels.shape)
    np.testing.assert_array_equal(mask == 255, expected.mask)
    with pytest.raises(ValueError, match="folder"):
        model.denoise(folder, write={"clean": tmp_path / "out"})


# ------------------------------------------------------------------- refusals


def test_one_photograph_alone_is_warned_of():
    with pytest.warns(UserWarning, match="of no kind"):
        denoiser().denoise(photographs(1))


@pytest.mark.parametrize(
    ("images", "mask", "keyword"),
    [
        (np.ones((4, 5)), None, "height"),
        (np.ones((4, 5, 6, 2)), None, "height"),
        (np.ones((0, *SHAPE)), None, "array"),
        (np.ones((4, 9, 9)), None, "shape"),
        (np.full((4, *SHAPE), 1j), None, "numbers"),
        ((row for row in np.ones((3, 2, 4))), None, "pictures"),
        (np.ones((4, *SHAPE)), np.ones((2, 2), bool), "mask|True"),
        (np.ones((4, *SHAPE)), np.ones((4, *SHAPE)), "mask|True"),
    ],
)
def test_what_are_no_photographs_of_this_kind_is_refused(images, mask, keyword):
    known = photographs(30)
    model = denoiser().fit(known)
    before = model.denoise(known).clean
    with pytest.raises(ValueError, match=keyword):
        model.denoise(images, mask)
    np.testing.assert_array_equal(model.denoise(known).clean, before)


@pytest.mark.parametrize(
    ("parameters", "keyword"),
    [({"estimator": 3}, "estimator"), ({"threshold": -1}, "threshold")],
)
def test_invalid_parameters_are_refused(parameters, keyword):
    with pytest.raises(ValueError, match=keyword):
        denoiser(**parameters).fit(photographs(4))


def test_what_does_not_go_together_is_refused(tmp_path):
    with pytest.raises(ValueError, match="call fit"):
        denoiser(RobustPCA()).partial_fit(photographs(4))
    model = denoiser().fit(photographs(30)).set_params(estimator=RobustPCA())
    with pytest.raises(ValueError, match="estimator"):
        model.denoise(photographs(4))
    with pytest.raises(ValueError, match="nothing to save"):
        thresher.save(denoiser(), tmp_path / "model")


# ------------------------------------------------------------------- noise of thresher.datasets

GREY = np.full((200, 32 * 32), 0.5)


@pytest.mark.parametrize(("noise", "kurtosis"), [(add_laplace, 6), (add_gaussian, 3)])
def test_additive_noise_has_its_moments(noise, kurtosis):
    error = noise(GREY, std=0.05, seed=0) - GREY
    assert np.mean(error) == pytest.approx(0, abs=1e-3)
    assert np.std(error) == pytest.approx(0.05, rel=0.01)
    assert np.mean(error**4) / np.var(error) ** 2 == pytest.approx(kurtosis, rel=0.1)


def test_impulse_and_poisson_noise_and_squares_have_their_laws():
    impulses = salt_and_pepper(GREY, seed=0)
    assert [np.mean(impulses == level) for level in (0, 1)] == pytest.approx([0.05] * 2, abs=2e-3)
    assert np.mean(impulses == 0.5) == pytest.approx(0.9, abs=3e-3)
    for level in (0.1, 0.5):
        counts = poisson(np.full_like(GREY, level), peak=100, seed=0)
        assert np.mean(counts) == pytest.approx(level, rel=0.01)
        assert np.var(counts) == pytest.approx(level / 100, rel=0.02)
    hidden = (occlude(GREY, (32, 32), seed=0) == 0).reshape(-1, 32, 32)
    assert (hidden.sum(axis=(1, 2)) == 100).all()
    for axis in (1, 2):  # a square of ten by ten, anywhere
        assert (hidden.any(axis=axis).sum(axis=1) == 10).all()
    assert hidden.any(axis=(0, 1)).all()


def test_noisy_images_stay_images_and_seeds_decide():
    clean = np.random.default_rng(0).random((20, 12 * 12))
    before = clean.copy()
    for spoil in image_noises((12, 12)).values():
        spoiled = spoil(clean, 1)
        assert 0 <= spoiled.min() <= spoiled.max() <= 1
        np.testing.assert_array_equal(spoil(clean, 1), spoiled)
        assert not np.array_equal(spoil(clean, 2), spoiled)
        np.testing.assert_array_equal(clean, before)


@pytest.mark.parametrize(
    ("noise", "arguments", "keyword"),
    [
        (add_laplace, {"images": GREY, "std": 0}, "std"),
        (poisson, {"images": 255 * GREY}, "255"),
        (poisson, {"images": GREY[0]}, "reshape"),
        (poisson, {"images": GREY, "peak": -1}, "peak"),
        (salt_and_pepper, {"images": GREY, "share": 2}, "share"),
        (occlude, {"images": GREY, "shape": (30, 32)}, "pixels"),
        (occlude, {"images": GREY, "shape": (32, 32), "size": 40}, "side"),
    ],
)
def test_noise_that_is_impossible_is_refused(noise, arguments, keyword):
    with pytest.raises(ValueError, match=keyword):
        noise(**arguments)
