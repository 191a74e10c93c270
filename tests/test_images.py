"""Photographs of one kind: what was planted is found and repaired, and the rest stays as it was."""

import numpy as np
import pytest

import thresher
from thresher import ImageDenoiser, OnlineRobustPCA, RobustPCA
from thresher.datasets.image_noise import occlude, salt_and_pepper
from thresher.tasks.images.cleaning import said_of_rest
from thresher.tasks.images.points import points_in
from thresher.tasks.images.repair import told
from thresher.tasks.images.spots import spots_in, usual_medians

SHAPE = (20, 18)


def scenes(n=80, colours=False, seed=0):
    """Smooth pictures of a kind, in [0, 1], mixed of four."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]] / 20
    parts = np.stack([np.sin(a * x + b * y) ** 2 for a, b in ((1, 5), (4, 1), (2, 2), (6, 3))])
    stack = np.tensordot(rng.dirichlet(np.ones(4), n), parts, 1)
    return np.stack([stack, 0.5 * stack, stack**2], axis=3) if colours else stack


def quiet(estimator=None, **parameters):
    return ImageDenoiser(estimator, random_state=0, verbose=0, **parameters)


def spoiled(images, kind, seed=0):
    rows = images.reshape(len(images), -1)
    spots = {"salt": salt_and_pepper(rows, 0.1, seed), "square": occlude(rows, SHAPE, 5, seed=seed)}
    return spots[kind].reshape(images.shape)


def error(found, truth):
    return float(np.sqrt(np.mean((np.asarray(found, float) - truth) ** 2)))


@pytest.mark.parametrize("kind", ["salt", "square"])
@pytest.mark.parametrize(
    "estimator", [None, OnlineRobustPCA(4, random_state=0, verbose=0)], ids=["default", "PCA"]
)
def test_damage_is_repaired(kind, estimator):
    truth = scenes()
    images = spoiled(truth, kind)
    found = quiet(estimator).denoise(images)
    assert error(found.clean, truth) < 0.25 * error(images, truth)
    hit = np.abs(images - truth) > 0.1
    assert found.mask[hit].mean() > 0.9
    np.testing.assert_array_equal(found.clean[~found.mask], images[~found.mask])  # to the bit
    np.testing.assert_allclose(found.clean + found.removed, images, atol=1e-12)


def test_any_robust_estimator_will_do():
    truth = scenes(60)
    images = spoiled(truth, "salt")
    found = quiet(RobustPCA(verbose=0, tol=1e-2)).denoise(images)
    assert error(found.clean, truth) < 0.3 * error(images, truth)


def test_gaps_are_filled_as_nan_or_by_a_mask():
    truth = scenes()
    hidden = np.random.default_rng(1).random(truth.shape) < 0.2
    model = quiet().fit(truth)
    by_nan = model.denoise(np.where(hidden, np.nan, truth))
    by_mask = model.denoise(np.where(hidden, 0.77, truth), mask=hidden)
    np.testing.assert_allclose(by_nan.clean, by_mask.clean, atol=1e-6)
    assert by_nan.mask[hidden].all()
    assert not by_nan.removed[hidden].any()
    assert error(by_nan.clean[hidden], truth[hidden]) < 0.05


def test_kind_and_type_stay():
    truth = scenes(colours=True)
    levels = np.rint(255 * truth).astype(np.uint8)
    hit = np.random.default_rng(0).random(truth.shape[:3]) < 0.05
    levels[hit] = 255
    found = quiet().denoise(levels)
    assert found.clean.dtype == np.uint8
    assert found.clean.shape == levels.shape
    assert found.mask.shape == truth.shape[:3]
    assert error(found.clean / 255, truth) < 0.3 * error(levels / 255, truth)
    single = quiet().denoise(scenes().astype(np.float32))
    assert single.clean.dtype == np.float32


def test_a_photograph_is_cleaned_by_itself():
    images = spoiled(scenes(), "square")
    images *= np.linspace(0.3, 1, len(images))[:, None, None]  # each has a range of its own
    model = quiet().fit(images)
    together, alone = model.denoise(images), model.denoise(images[7:8])
    np.testing.assert_array_equal(together.mask[7], alone.mask[0])
    np.testing.assert_allclose(together.clean[7], alone.clean[0], atol=1e-9)


def test_nothing_depends_on_the_unit():
    images = spoiled(scenes(), "salt")
    here, there = quiet().denoise(images), quiet().denoise(images * 1e20)
    np.testing.assert_array_equal(here.mask, there.mask)
    np.testing.assert_allclose(there.clean / 1e20, here.clean, atol=1e-4)  # codes have tol=1e-4


def test_learned_in_steps_saved_and_loaded(tmp_path):
    truth = scenes(300)
    images = spoiled(truth, "salt")
    model = quiet()
    for first in range(0, 300, 100):
        model.partial_fit(images[first : first + 100])
    thresher.save(model, tmp_path / "model")
    again = thresher.load(tmp_path / "model")
    here, there = model.denoise(images[:20]), again.denoise(images[:20])
    np.testing.assert_array_equal(here.clean, there.clean)
    assert error(here.clean, truth[:20]) < 0.5 * error(images[:20], truth[:20])
    shown = model.separate(images[:20])
    assert shown.low_rank.shape == shown.outliers.shape == (20, *SHAPE)


def test_a_folder_in_and_a_folder_out(tmp_path):
    """Files are read and written batch by batch, and give what the array gives."""
    from PIL import Image

    levels = np.rint(255 * spoiled(scenes(40), "salt")).astype(np.uint8)
    (tmp_path / "in").mkdir()
    for number, picture in enumerate(levels):
        Image.fromarray(picture).save(tmp_path / "in" / f"{number:03d}.png")
    model = quiet().fit(tmp_path / "in")
    expected = model.denoise(levels)
    batches = list(model.denoise(thresher.open(tmp_path / "in").in_batches(16)))
    assert [len(batch.clean) for batch in batches] == [16, 16, 8]
    np.testing.assert_array_equal(np.concatenate([b.clean for b in batches]), expected.clean)
    paths = model.denoise(
        tmp_path / "in", write={"clean": tmp_path / "out", "mask": tmp_path / "mask"}
    )
    assert sorted(paths) == ["clean", "mask"]
    back = thresher.open(tmp_path / "out").load().reshape(levels.shape)
    np.testing.assert_array_equal(back, expected.clean)
    black_and_white = thresher.open(tmp_path / "mask").load().reshape(levels.shape)
    np.testing.assert_array_equal(black_and_white == 255, expected.mask)
    with pytest.raises(ValueError, match="is a folder"):
        model.denoise(tmp_path / "in", write={"clean": tmp_path / "out"})


def test_a_folder_is_learned_from_as_often_as_an_array(tmp_path):
    from PIL import Image

    images = np.rint(255 * spoiled(scenes(40), "salt")).astype(np.uint8)
    for number, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / f"{number:02d}.png")
    from_folder, from_array = quiet().fit(tmp_path), quiet().fit(images)
    steps = [len(model.estimator_.history_) for model in (from_folder, from_array)]
    assert steps[0] >= steps[1] > 1


def test_one_photograph_alone_is_told_so():
    with pytest.warns(UserWarning, match="of no kind"):
        quiet().denoise(scenes(1))


def test_an_error_counts_relative_to_the_light():
    """Ten times the light makes errors of ten times the size, which are no damage for that."""
    rng = np.random.default_rng(0)
    model = np.where(np.arange(40) < 20, 1.0, 10.0) * np.ones((1, 40, 40))
    seen = model * (1 + 0.05 * rng.normal(size=model.shape))
    usual = np.zeros((2, 40, 40))
    assert not spots_in(seen, model, 4.0, usual).any()
    seen[0, 10:18, 26:34] *= 0.4
    wrong = spots_in(seen, model, 4.0, usual)[0]
    assert wrong[11:17, 27:33].all()
    assert not wrong[:, :20].any()


def test_a_spot_stands_out_from_its_surroundings():
    """A square is damage; a model that is more and more wrong towards the middle is no damage."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:60, :60] - 30
    square = (np.abs(x) < 6) & (np.abs(y) < 6)
    hill = np.exp(-(x**2 + y**2) / (2 * 15**2))
    model = np.full((2, 60, 60), 100.0)
    seen = model - 20 * np.stack([square, hill]) + rng.normal(0, 2, model.shape)
    found = spots_in(seen, model, 2.7, np.zeros((2, 60, 60)))
    assert found[0, 26:35, 26:35].all()
    assert not found[1].any()


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3])
def test_points_are_found_whether_there_are_none_few_or_many(share):
    truth = scenes(6) + np.random.default_rng(0).normal(0, 0.01, (6, *SHAPE))
    images = salt_and_pepper(np.clip(truth, 0, 1).reshape(6, -1), share, 0).reshape(truth.shape)
    off = np.abs(images - truth)
    for model in (truth, np.full_like(truth, 0.5)):  # who knows all, and who knows nothing
        found = points_in(images, model, np.zeros(images.shape, bool))
        assert found[off > 0.3].sum() >= 0.9 * (off > 0.3).sum()
        assert found[off < 0.1].mean() < 0.03


def test_a_pixel_is_told_by_who_knows_it():
    """By the model if that has the detail, by neighbours alone if they are enough."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(1, 12, 12))
    ramp = np.add.outer(np.arange(12.0), 2 * np.arange(12.0))[None]
    sound = rng.random(noise.shape) < 0.9
    np.testing.assert_allclose(told(noise + 3, noise, sound), noise + 3, atol=1e-4)
    by_neighbours = told(ramp, np.ones_like(ramp), sound)
    np.testing.assert_allclose(by_neighbours[:, 1:-1, 1:-1], ramp[:, 1:-1, 1:-1], atol=1e-4)


def test_a_block_does_not_speak_for_itself():
    """A model that could imitate a spot says what belongs there once the spot is hidden."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:24, :24]
    bump = np.exp(-((y - 8) ** 2 + (x - 8) ** 2) / 50.0)
    parts = np.stack([np.ones((24, 24)), bump]).reshape(2, -1)

    def says_of(stack):
        rows = stack.reshape(len(stack), -1)
        codes = [
            np.linalg.lstsq(parts[:, ~np.isnan(r)].T, r[~np.isnan(r)], rcond=None)[0] for r in rows
        ]
        return (np.array(codes) @ parts).reshape(stack.shape)

    truth = 1 + 0.02 * rng.normal(size=(1, 24, 24))
    spoiled = truth.copy()
    spoiled[0, 4:12, 4:12] = 0
    bent, unbent = says_of(spoiled)[0, 8, 8], said_of_rest(spoiled, says_of, 2.7)[0, 8, 8]
    assert bent < 0.5
    assert abs(unbent - 1) < 0.2


def test_what_is_usual_at_a_place_is_no_damage():
    """Where many photographs are dark, a dark spot is not damage; elsewhere it is."""
    rng = np.random.default_rng(0)
    model = np.ones((20, 30, 60))
    seen = model + 0.02 * rng.normal(size=model.shape)
    seen[::2, 8:20, 8:20] -= 0.3  # in every second one
    seen[4, 8:20, 40:52] -= 0.3
    usual = usual_medians(seen, model)
    found = spots_in(seen, model, 2.7, usual)
    assert found[4, 9:19, 41:51].all()
    assert not found[:, :, :30].any()
    assert usual_medians(seen[:3], model[:3]) is None


def test_what_is_no_stack_of_photographs_is_refused_in_a_sentence():
    model = quiet().fit(scenes(30))
    before = model.estimator_.components_.copy()
    for images, words in (
        (np.ones((4, 5)), r"\(n, height, width\)"),
        (np.ones((4, 5, 6, 2)), r"height, width, 3\) in colours"),
        (np.ones((4, 9, 9)), "those that were learned from"),
        (np.full((4, *SHAPE), 1j), "array of numbers"),
        ((row for row in np.ones((3, 2, 4))), "no pictures"),
    ):
        with pytest.raises(ValueError, match=words):
            model.denoise(images)
        np.testing.assert_array_equal(model.estimator_.components_, before)
    with pytest.raises(ValueError, match="True where a pixel is missing"):
        model.denoise(scenes(4), mask=np.ones((2, 2), bool))
    with pytest.raises(ValueError, match="sets no outliers aside"):
        ImageDenoiser(estimator=3).fit(scenes(4))
    with pytest.raises(ValueError, match="threshold=-1 must be positive"):
        ImageDenoiser(threshold=-1).fit(scenes(4))
    with pytest.raises(ValueError, match="learns from all photographs at once"):
        quiet(RobustPCA()).partial_fit(scenes(4))
    model.set_params(estimator=RobustPCA())
    with pytest.raises(ValueError, match="belongs to"):
        model.denoise(scenes(4))
