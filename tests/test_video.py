"""Video taken apart: planted objects are found, by what came before them alone."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy.ndimage import shift as moved

import thresher
from pages import run_page
from thresher import OnlineRobustNMF, RobustNMF, VideoSeparator
from thresher.datasets import make_surveillance_scene
from thresher.metrics import support_scores
from thresher.tasks.video import VideoSeparation, boxes
from thresher.tasks.video.alignment import Aligner, shifted
from thresher.tasks.video.decision import moving_pixels
from thresher.tasks.video.light import cell_means, lit
from thresher.tasks.video.memory import remembered_sizes
from thresher.tasks.video.shadows import shadows
from thresher.tasks.video.windows import median_of_pictures

HEIGHT, WIDTH = 48, 64
LEARNING = 60  # frames before anything is scored


def separator(**parameters):
    return VideoSeparator(**{"random_state": 0, "verbose": 0, **parameters})


def texture(rng, smooth=1):
    """A picture of 40 to 200 levels with edges."""
    grain = rng.normal(size=(HEIGHT, WIDTH))
    for axis in (0, 1):
        for _ in range(smooth):
            grain = (grain + np.roll(grain, 1, axis)) / 2
    return 120 + 40 * grain / np.abs(grain).max() * 2


def planted(n_frames=160, sway=0.0, shake=0.0, seed=0):
    """A textured scene with noise that a bright box crosses again and again, and the truth.

    The left half sways by up to ``sway`` pixels, the camera shakes by about ``shake``.
    """
    rng = np.random.default_rng(seed)
    scene, video, truth = texture(rng), [], []
    for t in range(n_frames):
        picture, mask = scene.copy(), np.zeros(scene.shape, dtype=bool)
        if sway:
            swayed = moved(scene, (0, sway * np.sin(0.9 * t)), order=1, mode="nearest")
            picture[:, : WIDTH // 2] = swayed[:, : WIDTH // 2]
        left = (2 * t) % 90 - 14
        if left < WIDTH:
            mask[20:34, max(left, 0) : max(left + 14, 0)] = True
            picture[mask] = (250, 12, 215)[2 * t // 90 % 3]  # no two look the same
        if shake:
            by = rng.normal(0, shake, 2)
            picture = moved(picture, by, order=1, mode="nearest")
            mask = moved(mask.astype(float), by, order=1) > 0.5
        video.append(picture + rng.normal(0, 2, picture.shape))
        truth.append(mask)
    return np.clip(np.rint(video), 0, 255).astype(np.uint8), np.array(truth)


def f1(truth, mask, first=LEARNING):
    return support_scores(truth[first:], mask[first:].astype(float), 0.5).f1


# ----------------------------------------------------------------------- what is found


@pytest.mark.parametrize(
    ("effect", "least"), [({}, 0.9), ({"sway": 1.5}, 0.88), ({"shake": 1.0}, 0.85)], ids=str
)
def test_a_planted_box_is_found_before_a_scene_that_is_still_sways_or_shakes(effect, least):
    frames, truth = planted(**effect)
    found = separator().separate(frames)
    assert f1(truth, found.mask) > least


def test_the_street_before_dusk():
    scene = make_surveillance_scene(1500, 48, 64, random_state=0)
    frames, truth = scene.frames[:180], scene.foreground[:180]  # then comes a cloud
    assert f1(truth, separator().separate(frames).mask) > 0.6


def test_parts_are_those_of_the_frames():
    frames, _ = planted(60)
    parts = separator().separate(frames)
    assert isinstance(parts, VideoSeparation)
    background, foreground, mask = parts
    assert background.dtype == foreground.dtype == frames.dtype
    assert mask.dtype == bool
    assert background.shape == foreground.shape == mask.shape == frames.shape
    np.testing.assert_array_equal(foreground, np.where(mask, frames, 0))
    # Where nothing moves, noise of two levels is all that is left.
    left = (frames.astype(float) - background)[LEARNING // 2 :][~mask[LEARNING // 2 :]]
    assert np.median(np.abs(left)) < 3


# ------------------------------------------------------------------ promises of the stream


def test_the_future_does_not_change_the_past():
    frames, _ = planted(100)
    whole = separator().separate(frames)
    other = np.concatenate([frames[:53], 255 - frames[53:]])
    for parts in (separator().separate(frames[:53]), separator().separate(other)):
        np.testing.assert_array_equal(parts.mask[:53], whole.mask[:53])
        np.testing.assert_allclose(parts.background[:53], whole.background[:53], atol=1)


def test_masks_do_not_depend_on_how_frames_come():
    frames, _ = planted(70, sway=1.0)
    whole = separator().separate(frames).mask
    one_by_one = [part.mask for part in separator().separate(frame for frame in frames)]
    by_seven = separator().separate(thresher.open(frames, batch_size=7))
    np.testing.assert_array_equal(np.concatenate(one_by_one), whole)
    np.testing.assert_array_equal(np.concatenate([part.mask for part in by_seven]), whole)


def test_saved_in_the_middle_it_goes_on_with_the_same_bits(tmp_path):
    frames, _ = planted(90)
    model = separator().fit(frames[:41])
    thresher.save(model, tmp_path / "model.thresher")
    again = thresher.load(tmp_path / "model.thresher")
    for one, other in zip(model.separate(frames[41:]), again.separate(frames[41:]), strict=True):
        np.testing.assert_array_equal(one, other)
    once_more = thresher.load(tmp_path / "model.thresher")
    rest = np.concatenate([part.mask for part in once_more.resume(thresher.open(frames))])
    np.testing.assert_array_equal(rest, separator().separate(frames).mask[41:])
    assert once_more.n_frames_seen_ == 90


def test_what_is_kept_does_not_grow():
    frames, _ = planted(60)
    model, sizes = separator(), []
    for _ in range(4):
        model.partial_fit(frames)
        model.partial_fit(frames[:36])  # six times sixteen, so that nothing waits to be learned
        light = dataclasses.replace(model._scene.light, estimator=None)
        sizes.append(len(pickle.dumps(dataclasses.replace(model._scene, light=light))))
        n_atoms = model._scene.light.estimator.components_.shape[0]
    assert max(sizes) - min(sizes) < 100  # bytes
    assert n_atoms == 1


def test_the_unit_of_the_frames_does_not_matter():
    frames, _ = planted(80)
    whole = separator().separate(frames)
    for unit in (1 / 255, 1e20):
        parts = separator().separate(frames * unit)
        assert parts.background.dtype == np.float64
        assert (
            parts.mask != whole.mask
        ).mean() < 1e-3  # of a residual at the threshold, by rounding
        still = np.clip(parts.background / unit, 0, 255)
        assert np.abs(still - whole.background).mean() < 0.5


def test_colours_tell_what_grey_does_not():
    frames, truth = planted(110)
    scene = np.median(frames, axis=0)
    grey = np.repeat(np.where(truth, scene, frames)[..., np.newaxis], 3, axis=3).astype(np.uint8)
    coloured = grey.astype(int)
    coloured[..., 0][truth] += 40  # as bright as the scene, but redder
    coloured[..., 2][truth] -= 40
    coloured = np.clip(coloured, 0, 255).astype(np.uint8)
    parts = separator().separate(coloured)
    assert parts.background.shape == parts.foreground.shape == coloured.shape
    assert parts.mask.shape == truth.shape
    assert f1(truth, parts.mask) > 0.85
    assert f1(truth, separator().separate(coloured.mean(axis=3)).mask) < 0.3


def coloured_scene_with_a_shadow(n_frames=90):
    """A red box crosses a textured scene, and a shadow that is as large runs before it."""
    rng = np.random.default_rng(3)
    scene = np.stack([texture(rng), texture(rng), 0.7 * texture(rng)], axis=2)
    video, box, shadow = [], [], []
    for t in range(n_frames):
        left, top = (2 * t) % 60 - 6, 2 + 15 * (2 * t // 60)
        box.append(np.zeros(scene.shape[:2], dtype=bool))
        shadow.append(box[-1].copy())
        box[-1][top : top + 14, max(left, 0) : max(left + 14, 0)] = True
        shadow[-1][top : top + 14, left + 14 : left + 28] = True
        picture = np.where(shadow[-1][..., np.newaxis], 0.6 * scene, scene)
        picture[box[-1]] = (200, 30, 40)
        video.append(picture + rng.normal(0, 2, picture.shape))
    frames = np.clip(np.rint(video), 0, 255).astype(np.uint8)
    return frames, np.array(box), np.array(shadow)


def test_shadows_are_left_out_on_demand_and_what_throws_them_is_not():
    frames, box, shadow = coloured_scene_with_a_shadow()
    late = slice(40, None)
    whole, without = (separator(shadows=wanted).separate(frames).mask for wanted in (True, False))
    assert whole[late][shadow[late]].mean() > 0.9
    assert without[late][shadow[late]].mean() < 0.25  # where box and shadow meet
    assert without[late][box[late]].mean() > 0.95 * whole[late][box[late]].mean()
    assert not (without & ~whole).any()


def test_a_shadow_keeps_texture_and_colours():
    """The definition itself, and what is darker in another way."""
    rng = np.random.default_rng(0)
    background = np.stack([texture(rng)] * 3, axis=2).astype(np.float32)
    moving, usual = np.ones((HEIGHT, WIDTH), dtype=bool), np.full((HEIGHT, WIDTH), 3, np.float32)
    darker = 0.6 * background + rng.normal(0, 1, background.shape).astype(np.float32)
    assert shadows(darker, background, usual, moving).all()
    assert not shadows(darker, background, usual, ~moving).any()
    others = {
        "brighter": 1.3 * background,
        "hardly darker": 0.98 * background,
        "black": 0.2 * background,
        "coloured": background * np.array([0.8, 0.6, 0.4], dtype=np.float32),
        "flat": np.full_like(background, 0.6 * background.mean()),
    }
    for name, picture in others.items():
        assert not shadows(picture, background, usual, moving).any(), name


def test_what_was_seen_three_times_is_no_news():
    """The kernel against a sort, on both sides of the usual and for few frames."""
    rng = np.random.default_rng(0)
    picture = rng.uniform(0, 200, (12, 18, 3)).astype(np.float32)
    light = rng.uniform(0.5, 2, (4, 6, 3)).astype(np.float32)
    memory = rng.uniform(0, 200, (7, 12, 18, 3)).astype(np.float32)
    sizes, usual = rng.uniform(0, 90, (2, 12, 18)).astype(np.float32)
    seen = memory * np.repeat(np.repeat(light, 3, axis=0), 3, axis=1)
    third = np.sort(np.abs(picture - seen).max(axis=3), axis=0)[2]
    expected = np.where(sizes > usual, np.minimum(sizes, third), sizes)
    found = remembered_sizes(sizes, usual, picture, light, memory)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_array_equal(remembered_sizes(sizes, usual, picture, light, memory[:2]), sizes)


# ----------------------------------------------------------------- what changes for good


def test_a_light_that_is_switched_is_followed_within_five_frames():
    frames, _ = planted(120)
    switched = frames.copy()
    switched[70:] = np.rint(0.2 * frames[70:] + 10).astype(np.uint8)
    model = separator()
    mask = model.separate(switched).mask
    assert mask[75:100].mean() < 0.1


def test_another_scene_is_noticed_and_followed():
    frames, _ = planted(120)
    other, truth = planted(120, seed=5)
    model = separator()
    mask = model.separate(np.concatenate([frames[:70], other])).mask
    assert [change.frame for change in model.changes_] == [72]
    assert mask[73:90].mean() < 0.15
    assert f1(truth, mask[70:]) > 0.85


def test_what_stands_still_belongs_to_the_scene_after_a_while():
    frames, _ = planted(150)
    frames[60:, 4:14, 40:54] = 220
    mask = separator(patience=40).separate(frames).mask
    assert mask[62:90, 6:12, 42:52].mean() > 0.95
    assert mask[120:, 6:12, 42:52].mean() < 0.05


def test_a_background_that_begins_to_move_is_not_flagged_for_ever():
    still, _ = planted(80)
    swaying, _ = planted(400, sway=3.0)
    mask = separator().separate(np.concatenate([still, swaying[80:]])).mask[:, :16]
    assert mask[-60:].mean() < 0.1


# --------------------------------------------------------------------------------- parts


def test_a_shift_is_measured_to_a_part_of_a_pixel():
    scene = texture(np.random.default_rng(1), smooth=4).astype(np.float32)[..., np.newaxis]
    for by in [(1.5, -2.25), (-3.0, 0.5), (0.0, 4.0)]:
        frame = moved(scene, (*by, 0), order=3, mode="nearest")
        np.testing.assert_allclose(Aligner(scene).shift_of(frame), by, atol=0.3)
    assert Aligner(scene).shift_of(scene) == (0.0, 0.0)


def test_shifting_is_linear_interpolation():
    scene = texture(np.random.default_rng(2))
    expected = moved(scene, (-1.25, 2.5), order=1, mode="nearest")
    np.testing.assert_allclose(shifted(scene, (1.25, -2.5)), expected, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_the_median_of_pictures_is_that_of_numpy(n):
    pictures = np.random.default_rng(n).random((n, 40, 7, 3))
    expected = np.quantile(pictures, 0.5, axis=0, method="lower")
    np.testing.assert_array_equal(median_of_pictures(list(pictures)), expected)


def test_light_times_detail_is_the_picture():
    picture = np.random.default_rng(0).uniform(50, 200, (12, 20, 3)).astype(np.float32)
    cells = cell_means(picture, 4)
    blocks = picture.reshape(3, 4, 5, 4, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(cells, blocks.ravel(), rtol=1e-5)
    np.testing.assert_allclose(lit(lit(picture, 1 / cells, 4), cells, 4), picture, rtol=1e-5)


def test_boxes_surround_connected_parts():
    mask = np.zeros((20, 30), dtype=bool)
    mask[2:5, 3:9] = mask[5, 9] = True  # touching at a corner
    mask[10:18, 20:29] = mask[0, 29] = True
    assert [tuple(box) for box in boxes(mask)] == [
        (10, 20, 18, 29, 72),
        (2, 3, 6, 10, 19),
        (0, 29, 1, 30, 1),
    ]
    assert len(boxes(mask, smallest=10)) == 2
    with pytest.raises(ValueError, match="one frame"):
        boxes(mask[np.newaxis])


@pytest.mark.parametrize("estimator", [OnlineRobustNMF(2, random_state=0), RobustNMF(2)], ids=str)
def test_any_robust_estimator_learns_the_light(estimator):
    frames, truth = planted(100)
    estimator.set_params(verbose=0, random_state=0)
    assert f1(truth, separator(estimator=estimator).separate(frames).mask) > 0.9


def test_two_passes_know_the_scene_from_the_first_frame_on():
    frames, truth = planted(100)
    twice = separator(causal=False).separate(frames).mask
    once = separator().separate(frames).mask
    assert f1(truth, twice, first=0) > f1(truth, once, first=0)
    assert f1(truth, twice, first=0) > 0.88
    with pytest.raises(ValueError, match="twice"):
        separator(causal=False).separate(iter(frames))


# --------------------------------------------------------------------------------- files


def test_a_video_file_in_and_video_files_out(tmp_path):
    av = pytest.importorskip("av")
    frames, _ = planted(90)
    path = tmp_path / "street.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=30)
        stream.height, stream.width, stream.pix_fmt = HEIGHT, WIDTH, "gray"
        for picture in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="gray")))
        container.mux(stream.encode(None))
    source = thresher.open(path, batch_size=20)
    where = {"mask": tmp_path / "mask.mkv", "background": tmp_path / "background.mp4"}
    written = separator().separate(source, write=where)
    assert written == where
    direct = separator().separate(frames)
    masks = thresher.open(written["mask"]).load().reshape(frames.shape)
    np.testing.assert_array_equal(masks, np.where(direct.mask, 255, 0))
    background = thresher.open(written["background"]).load().reshape(frames.shape)
    assert np.abs(background.astype(float) - direct.background).mean() < 4  # H.264
    assert thresher.open(written["mask"]).reader.rate == 30


# ------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("frames", "error", "says"),
    [
        (np.zeros((0, 20, 20)), ValueError, "no frame"),
        (np.zeros((20, 20)), ValueError, "newaxis"),
        (np.zeros((5, 20, 20, 4)), ValueError, "height, width, 3"),
        (np.zeros((5, 20, 4)), ValueError, "8 × 8"),
        (np.full((5, 20, 20), np.nan), ValueError, "fill them"),
        (np.full((5, 20, 20), -1), ValueError, "offset"),
        (np.zeros((5, 20, 20), dtype=complex), TypeError, "numbers"),
        (np.array([["a"]]), TypeError, "numbers"),
        (np.ones((5, 30, 20)), ValueError, "start anew"),
        (iter([]), ValueError, "no frame"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_frames_that_are_none_are_refused_and_nothing_changes(frames, error, says):
    good, _ = planted(20)
    model = separator().fit(good[:, :20, :20])
    before = pickle.dumps(model._scene)
    with pytest.raises(error, match=says):
        model.partial_fit(frames)
    assert pickle.dumps(model._scene) == before


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"threshold": 0}, "above zero"),
        ({"threshold": "high"}, "threshold='high'"),
        ({"patience": 0}, "patience=0"),
        ({"align": "yes"}, "align='yes'"),
        ({"shadows": 1}, "shadows=1"),
        ({"causal": None}, "causal=None"),
        ({"estimator": "nmf"}, "robust estimator"),
        ({"estimator": OnlineRobustNMF}, "robust estimator"),
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        separator(**parameters).fit(planted(5)[0])


def test_nothing_is_told_before_a_frame_was_seen():
    with pytest.raises(ValueError, match="has not seen a frame"):
        _ = separator().changes_
    with pytest.raises(ValueError, match="no pictures"):
        next(separator().separate(thresher.open(np.ones((20, 30)))))


def test_the_page_runs(capsys):
    run_page("docs/video.md")
    assert "of the pixels move" in capsys.readouterr().out


def test_what_moves_is_not_widened_by_its_strong_pixels():
    """Pixels beside a square that is far above the threshold are not part of it."""
    scores = np.full((40, 40), 0.4, dtype=np.float32)
    scores[10:26, 12:30] = 6.0
    found = moving_pixels(scores, np.zeros((40, 40), dtype=bool))
    assert found[12:24, 14:28].all()
    scores[10:26, 12:30] = 0
    assert not found[scores > 0].any()
