"""Steps of the image denoiser by themselves, against the same written out pixel by pixel."""

import numpy as np
import pytest
from scipy import ndimage, stats

import thresher
from thresher import ImageDenoiser
from thresher.tasks.images import cleaning, denoiser, points, repair, spots
from thresher.tasks.images.pictures import Pictures

RNG = np.random.default_rng(0)

# ------------------------------------------------------------------------ pictures


def test_pictures_are_rows_in_the_type_that_they_came_in():
    stack = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    pictures = Pictures.of(stack)
    assert (pictures.rows.shape, pictures.shape, pictures.dtype) == ((2, 12), (3, 4), np.uint8)
    assert pictures.stack.dtype == np.float32
    np.testing.assert_array_equal(pictures.stack, stack)
    back = pictures.like(np.array([[[-3.0, 1.4, 1.6, 300.0]]]))
    assert back.dtype == np.uint8
    assert back.ravel().tolist() == [0, 1, 2, 255]
    floats = Pictures.of(stack / 2)
    assert floats.stack.dtype == np.float64
    assert floats.like(np.full((1, 1), 0.3)).dtype == np.float64
    again = Pictures.from_rows(stack.reshape(2, 12), (3, 4))
    np.testing.assert_array_equal(again.stack, stack)


@pytest.mark.parametrize("colours", [(), (3,)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_gaps_are_nan_in_all_colours(colours, dtype):
    stack = np.ones((2, 3, 4, *colours), dtype)
    mask = np.zeros((2, 3, 4), bool)
    mask[1, 2, 0] = True
    for given in (
        Pictures.of(stack, mask),
        Pictures.of(
            stack, np.broadcast_to(mask.reshape(2, 3, 4, *[1] * len(colours)), stack.shape)
        ),
    ):
        gaps = np.isnan(given.stack).reshape(2, 3, 4, -1)
        assert (gaps == mask[..., None]).all()
        assert given.rows.dtype == (np.float32 if dtype == np.uint8 else dtype)
    hidden = np.zeros(stack.shape, bool)
    hidden[0, 0, 0] = True
    both = Pictures.of(np.ma.masked_array(stack, hidden), mask).stack
    assert np.isnan(both[0, 0, 0]).all()
    assert np.isnan(both[1, 2, 0]).all()
    assert np.isnan(both).sum() == 2 * both[0, 0, 0].size
    alone = Pictures.of(np.ma.masked_array(stack, hidden)).stack
    assert np.isnan(alone).sum() == both[0, 0, 0].size


@pytest.mark.parametrize(
    "mask", [np.zeros((2, 3, 4)), np.zeros((2, 3, 5), bool), np.zeros((2, 3), bool)]
)
def test_masks_that_do_not_fit(mask):
    with pytest.raises(
        ValueError, match=r"True where a pixel is missing, in the shape \(2, 3, 4\)"
    ):
        Pictures.of(np.ones((2, 3, 4)), mask)


@pytest.mark.parametrize(
    "images", [np.ones((0, 3, 4)), np.ones((2, 3, 4, 4)), np.ones((2, 3, 4), bool)]
)
def test_what_are_no_pictures(images):
    with pytest.raises(ValueError, match="Photographs come as an array of numbers"):
        Pictures.of(images)


# ------------------------------------------------------------------------ neighbours


@pytest.mark.parametrize("colours", [(), (3,)])
def test_neighbours_are_means_of_four(colours):
    pictures = RNG.random((2, 5, 6, *colours))
    beside, corners = repair._neighbours(pictures)
    for found, moves in (
        (beside, [(-1, 0), (1, 0), (0, -1), (0, 1)]),
        (corners, [(-1, -1), (-1, 1), (1, -1), (1, 1)]),
    ):
        for y in range(5):
            for x in range(6):
                around = [
                    pictures[:, np.clip(y + dy, 0, 4), np.clip(x + dx, 0, 5)] for dy, dx in moves
                ]
                np.testing.assert_allclose(found[:, y, x], np.mean(around, axis=0))


@pytest.mark.parametrize("colours", [(), (3,)])
def test_a_pixel_is_told_by_least_squares_over_sound_pixels(colours):
    shape = (2, 7, 8, *colours)
    filled, model = RNG.random(shape), RNG.random(shape)
    sound = np.broadcast_to(
        (RNG.random((2, 7, 8)) < 0.8).reshape(2, 7, 8, *[1] * len(colours)), shape
    )
    found = repair.told(filled, model, sound)
    (b, c), (mb, mc) = repair._neighbours(filled), repair._neighbours(model)
    for n in range(2):
        A = np.stack([(c - b)[n], (model - mb)[n], (mc - mb)[n]], axis=-1)
        weights = np.linalg.lstsq(A[sound[n]], (filled - b)[n][sound[n]], rcond=None)[0]
        np.testing.assert_allclose(found[n], b[n] + A @ weights, atol=1e-5)
    flat = np.ones((1, 4, 4))
    np.testing.assert_allclose(repair.told(flat, flat, np.ones((1, 4, 4), bool)), 1)


def test_damaged_pixels_follow_the_model_and_what_neighbours_differ_by():
    model = np.zeros((1, 21, 21))
    pictures = model + 2.0
    wrong = np.zeros((1, 21, 21), bool)
    wrong[0, 4:17, 4:17] = True
    pictures[wrong] = np.nan
    filled = repair.repaired(pictures, model, wrong, turns=0)
    np.testing.assert_array_equal(filled[~wrong], 2)
    sound = (~wrong[0]).astype(float)
    weight = ndimage.gaussian_filter(sound, 1.0, mode="nearest")
    expected = ndimage.gaussian_filter(2 * sound, 1.0, mode="nearest") / (weight + 0.05)
    np.testing.assert_allclose(filled[0][wrong[0]], expected[wrong[0]])
    assert filled[0, 10, 10] < 0.01  # inside of a spot the model speaks alone
    again = repair.repaired(pictures, model, wrong)
    np.testing.assert_allclose(again[0, 10, 10], filled[0, 10, 10])  # most neighbours are damaged
    assert again[0, 4, 4] != filled[0, 4, 4]  # a corner has five of eight that are sound


def test_single_pixels_are_told_better_than_by_a_mean():
    ramp = np.add.outer(3.0 * np.arange(12), np.arange(12.0))[None]
    wrong = np.zeros(ramp.shape, bool)
    wrong[0, 5, 5] = wrong[0, 5, 6] = True
    spoiled = np.where(wrong, 99.0, ramp)
    filled = repair.repaired(spoiled, np.full_like(ramp, 15.0), wrong)
    np.testing.assert_allclose(filled, ramp, atol=0.1)
    np.testing.assert_array_equal(filled[~wrong], ramp[~wrong])


def test_a_value_is_sound_if_all_colours_of_its_pixel_are():
    wrong = np.array([[[True, False]]])
    assert repair.sound_values(wrong, np.ones((1, 1, 2))).tolist() == [[[False, True]]]
    assert repair.sound_values(wrong, np.ones((1, 1, 2, 3)))[0, 0].tolist() == [
        [False] * 3,
        [True] * 3,
    ]


# ------------------------------------------------------------------------ spots


def test_scales_are_robust_standard_deviations_of_pictures():
    left = RNG.normal(0, [[[2.0]], [[5.0]]], (2, 80, 80))
    np.testing.assert_allclose(
        spots.scales(left, np.ones(left.shape, bool)).ravel(), [2, 5], rtol=0.05
    )
    known = np.zeros(left.shape, bool)
    known[1, 0, :3] = True
    found = spots.scales(left, known)
    assert found.shape == (2, 1, 1)
    assert found[0] == 0  # nothing is known
    assert found[1, 0, 0] == pytest.approx(1.4826 * np.median(np.abs(left[1, 0, :3])))


def test_residuals_count_relative_to_light_and_its_mean():
    light = np.array([[[1.0, 3.0], [-5.0, 0.0]]])
    found = spots.relative_to_light(np.ones((1, 2, 2)), light)
    np.testing.assert_allclose(found, 1 / (np.array([[[1.0, 3.0], [0.0, 0.0]]]) + 1))
    black = spots.relative_to_light(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)))
    assert (black == 0).all()


def test_gaps_leave_no_residual():
    model = np.ones((1, 2, 2))
    seen = np.array([[[np.nan, 3.0], [1.0, 1.0]]])
    left, gaps = spots._relative(seen, model)
    np.testing.assert_array_equal(gaps, np.isnan(seen))
    light = np.array([[[1.0, 3.0], [1.0, 1.0]]])  # the brighter of what was said and seen
    np.testing.assert_allclose(left, np.array([[[0, 2], [0, 0]]]) / (light + light.mean()))
    assert not spots.spots_in(
        np.full((1, 9, 9), np.nan), np.ones((1, 9, 9)), 2.7, np.zeros((2, 9, 9))
    ).any()


def test_what_is_usual_is_the_upper_quartile_of_medians_of_both_sides():
    model = np.ones((8, 20, 20))
    seen = model + 0.01 * RNG.normal(size=model.shape)
    seen[:3, 5:15, 5:15] -= 0.5  # in three of eight, more than a quarter
    seen[:2, 5:15, 15:] += 0.5  # in two of eight, a quarter
    below, above = spots.usual_medians(seen, model)
    assert below[10, 10] > 10
    assert above[10, 10] < 1
    assert above[10, 17] < 1
    assert spots.usual_medians(seen[:4], model[:4]) is not None
    assert spots.usual_medians(seen[:3], model[:3]) is None


def test_a_spot_has_to_be_so_many_times_its_ring():
    spot = np.zeros((2, 15, 15), bool)
    spot[0, 5:10, 5:10] = True
    spot[1, 5:10, 5:10] = True
    sizes = np.ones((2, 15, 15))
    sizes[0][spot[0]], sizes[1][spot[1]] = 2 * 1.4826 + 0.01, 2 * 1.4826 - 0.01
    found = spots._stand_out(spot, sizes, 2.0)
    np.testing.assert_array_equal(found[0], spot[0])
    assert not found[1].any()
    ring = np.zeros((15, 15), bool)
    ring[3:12, 3:12] = True
    sizes[0][~ring] = 100  # further away than the ring, it does not count
    assert spots._stand_out(spot, sizes, 2.0)[0].any()


def test_colours_and_windows():
    values = np.arange(6).reshape(1, 1, 2, 3)
    assert spots.any_colour(values).tolist() == [[[2, 5]]]
    assert spots.any_colour(values[..., 0]) is not None
    assert spots.window(5, 3) == (1, 5, 5)
    assert spots.window(3, 4) == (1, 3, 3, 1)


# ------------------------------------------------------------------------ points


def test_the_unit_of_a_pixel_is_that_of_the_picture_plus_around_it():
    off = np.abs(RNG.normal(size=(1, 9, 10)))
    sound = RNG.random(off.shape) < 0.7
    whole = 1.4826 * np.median(off[sound])
    heard = np.where(sound, np.minimum(off, 3 * whole), 0)
    found = points._units(off, sound)
    for y in range(9):
        for x in range(10):
            rows = np.clip(np.arange(y - 2, y + 3), 0, 8)
            columns = np.clip(np.arange(x - 2, x + 3), 0, 9)
            block = np.ix_([0], rows, columns)
            mean = heard[block].sum() / max(sound[block].sum(), 1)
            assert found[0, y, x] == pytest.approx(whole + mean)


def test_the_range_of_a_picture_is_of_what_is_known():
    seen = np.array([[[1.0, 5.0, 9.0]], [[2.0, 2.0, 7.0]]])
    known = np.array([[[True, True, False]], [[True, True, False]]])
    assert points._ranges(seen, known).ravel().tolist() == [4.0, np.inf]
    assert points._ranges(seen, known).shape == (2, 1, 1)


def test_chances_are_those_of_the_mixture_at_its_maximum():
    """At a fixed point: π is the mean of the chances, and they are Bayes' rule with t₃."""
    span, n = 10.0, 40
    sound = np.abs(stats.t(3).rvs((1, n, n), random_state=0)) * 0.3
    damaged = RNG.random((1, n, n)) < 0.2
    off = np.where(damaged, RNG.random((1, n, n)) * 10, sound)
    unit, spans = np.ones_like(off), np.full((1, 1, 1), span)
    known = np.ones(off.shape, bool)
    chances = points._chances(off, unit, spans, known)
    share = chances.mean()
    assert abs(share - damaged.mean()) < 0.05
    inside = (chances > 0.02) & (chances < 0.98)
    # log odds are those of a share π at some scale: one number σ has to fit all of them
    odds = np.log(chances[inside] / (1 - chances[inside]))

    def expected(scale):
        density = stats.t(3).pdf(off[inside] / scale) / scale
        return np.log(share / (2 * span)) - np.log((1 - share) * density)

    grid = np.linspace(0.2, 0.45, 251)
    gaps = [np.abs(expected(scale) - odds).max() for scale in grid]
    assert min(gaps) < 0.05
    assert abs(grid[np.argmin(gaps)] - 0.3) < 0.05
    hidden = known.copy()
    hidden[0, 0] = False
    assert not points._chances(off, unit, spans, hidden)[0, 0].any()


# ------------------------------------------------------------------------ cleaning


@pytest.mark.parametrize("side", [1, 2, 3, 10, 24, 25])
def test_blocks_are_a_third_of_a_side_and_cover_it(side):
    spans = cleaning._spans(side)
    length = -(-side // 3)
    assert all(span.stop - span.start == length for span in spans)
    assert spans[0].start == 0
    assert spans[-1].stop == side
    assert len(spans) == min(5, side - length + 1)


def test_the_distance_of_a_block_is_its_median_in_deviations_of_the_rest():
    pictures = 10 + RNG.normal(size=(2, 12, 12))
    block = np.zeros((12, 12), bool)
    block[:4, 4:8] = True
    pictures[1, block] += 50
    pictures[0, 0, 0] = np.nan
    seen = []

    def says_of(stack):
        seen.append(np.isnan(stack))
        return np.full_like(stack, 10.0)

    found = cleaning._distances(pictures, block, says_of)
    assert seen[0][:, block].all()
    assert seen[0].sum() == 2 * block.sum() + 1
    left = (pictures - 10) / 20
    for n in range(2):
        rest = np.abs(left[n][~block])
        spread = 1.4826 * np.median(rest[~np.isnan(rest)])
        assert found[n] == pytest.approx(np.abs(np.median(left[n][block])) / spread)
    gone = pictures.copy()
    gone[0, block] = np.nan
    assert cleaning._distances(gone, block, says_of)[0] == 0


def test_only_a_block_that_is_far_is_hidden():
    pictures = 10 + 0.1 * RNG.normal(size=(2, 12, 12))
    pictures[1, :4, :4] += 5
    hidden = []

    def says_of(stack):
        hidden.append(np.isnan(stack))
        return np.full_like(stack, 10.0)

    cleaning.said_of_rest(pictures, says_of, 3.0)
    last = hidden[-1]
    assert not last[0].any()
    assert last[1, :4, :4].all()
    assert last[1].sum() == 16


def test_clean_values_stay_within_what_was_seen():
    stack = np.array([[[1.0, 5.0]], [[-2.0, 3.0]], [[np.nan, np.nan]]])
    low, high = denoiser._limits(stack)
    assert low.ravel().tolist() == [0, -2, 0]
    assert high.ravel().tolist() == [5, 3, np.inf]
    assert low.shape == high.shape == (3, 1, 1)


# ------------------------------------------------------------------------ the denoiser


def test_so_many_photographs_tell_what_is_usual():
    """A hundred, or as many as have 2²⁴ numbers; one at least."""
    assert denoiser._most_to_look_at((10, 10)) == 100
    assert denoiser._most_to_look_at((1024, 1024)) == 16
    assert denoiser._most_to_look_at((1024, 1024, 3)) == 5
    assert denoiser._most_to_look_at((8192, 8192)) == 1


def test_what_is_usual_is_the_mean_over_batches(tmp_path):
    rng = np.random.default_rng(1)
    images = np.kron(rng.random((60, 4, 4)), np.ones((3, 3)))
    model = ImageDenoiser(random_state=0, verbose=0).partial_fit(images[:20])
    first, count = model._usual.copy(), model._n_usual
    model.partial_fit(images[20:50])
    assert (count, model._n_usual) == (20, 50)
    stack = images[20:50]
    second = spots.usual_medians(stack, cleaning.said_of_rest(stack, model._says_of, 2.7))
    np.testing.assert_allclose(model._usual, 0.4 * first + 0.6 * second, rtol=1e-4, atol=1e-5)
    thresher.save(model, tmp_path / "a")
    again = thresher.load(tmp_path / "a")
    assert again._n_usual == 50
    np.testing.assert_array_equal(again._usual, model._usual)
    assert again.image_shape_ == (12, 12)


def test_the_usual_model_is_of_few_parts_and_a_small_outlier_weight():
    rows = np.full((5, 100), 2.0)
    model = ImageDenoiser(random_state=7, verbose=0)._new_estimator(rows, 3)
    assert model.n_components == 8
    assert model.outlier_weight == pytest.approx(0.15 * 2 / 10)
    assert (model.n_passes, model.random_state, model.verbose) == (3, 7, 0)
    assert ImageDenoiser(verbose=0)._new_estimator(rows[:, :5]).n_components == 5
    black = ImageDenoiser(verbose=0)._new_estimator(np.zeros((5, 9)))
    assert black.outlier_weight == "auto"
    gaps = np.where(np.arange(100) < 50, np.nan, rows)
    assert ImageDenoiser()._new_estimator(gaps).outlier_weight == model.outlier_weight


def test_denoised_pictures_become_rows():
    images = np.full((2, 4, 5), 2.0)
    mask = np.zeros((2, 4, 5), bool)
    mask[0, 0, 0] = True
    found = denoiser.Denoised(images, np.zeros_like(images), mask)
    rows = denoiser._as_rows(found)
    assert rows.clean.shape == (2, 20)
    assert rows.mask.dtype == np.uint8
    assert rows.mask[0, :2].tolist() == [255, 0]


def test_an_unfitted_denoiser_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="has not been fitted; there is nothing to save"):
        thresher.save(ImageDenoiser(), tmp_path / "a")
    with pytest.raises(ValueError, match="cannot be matched to a source"):
        denoiser._refuse_mask(np.zeros(3, bool))
    denoiser._refuse_mask(None)
