"""VideoSeparator: planted objects are found, by the frames before them alone."""

import numpy as np
import pytest
from scipy.ndimage import shift as shifted

import thresher
from pages import run_page
from thresher import OnlineRobustNMF, RobustNMF, VideoSeparator
from thresher.datasets import make_surveillance_scene
from thresher.metrics import support_scores

HEIGHT, WIDTH = 48, 64
WARM_UP = 60  # frames before anything is scored


def separator(**parameters):
    return VideoSeparator(**{"random_state": 0, "verbose": 0, **parameters})


def texture(rng, smooth=1):
    """A picture of 40 to 200 levels with edges."""
    grain = rng.normal(size=(HEIGHT, WIDTH))
    for axis in (0, 1):
        for _ in range(smooth):
            grain = (grain + np.roll(grain, 1, axis)) / 2
    return 120 + 80 * grain / np.abs(grain).max()


def planted(n_frames=160, sway=0.0, shake=0.0, light=lambda t: 1.0, contrast=60, seed=0):
    """A noisy textured scene that a box crosses, brighter and darker by turns, and its masks.

    The left half sways by up to ``sway`` pixels, the camera shakes by about ``shake`` pixels, and
    the light of frame t is ``light(t)``.
    """
    rng = np.random.default_rng(seed)
    scene, frames, masks = texture(rng), [], []
    for t in range(n_frames):
        picture, mask = scene.copy(), np.zeros(scene.shape, dtype=bool)
        if sway:
            swayed = shifted(scene, (0, sway * np.sin(0.9 * t)), order=1, mode="nearest")
            picture[:, : WIDTH // 2] = swayed[:, : WIDTH // 2]
        left = (2 * t) % 90 - 14
        mask[20:34, max(left, 0) : max(left + 14, 0)] = True
        picture[mask] += (contrast, -contrast)[2 * t // 90 % 2]
        if shake:
            by = rng.normal(0, shake, 2)
            picture = shifted(picture, by, order=1, mode="nearest")
            mask = shifted(mask.astype(float), by, order=1) > 0.5
        frames.append(light(t) * picture + rng.normal(0, 2, picture.shape))
        masks.append(mask)
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8), np.array(masks)


def f1(truth, mask, first=WARM_UP):
    return support_scores(truth[first:], mask[first:].astype(float), 0.5).f1


# ------------------------------------------------------------------- planted objects

SCENES = {
    "still": {},
    "swaying": {"sway": 1.5},
    "shaking camera": {"shake": 1.0},
    "dimming light": {"light": lambda t: 1 - 0.5 * t / 160},
    "flickering light": {"light": lambda t: 0.8 + 0.2 * np.sin(t)},
}


def test_objects_are_found_in_all_scenes_better_than_by_a_temporal_median():
    """The median knows all frames, and has the one threshold that is best for all scenes."""
    thresholds = np.arange(2, 80, 2)
    ours, by_median = [], []
    for name, effect in SCENES.items():
        frames, truth = planted(contrast=40, **effect)
        ours.append(f1(truth, separator().separate(frames).mask))
        assert ours[-1] > 0.8, name
        away = np.abs(frames - np.median(frames, axis=0))
        by_median.append([f1(truth, away > threshold) for threshold in thresholds])
    assert np.mean(ours) > np.mean(by_median, axis=0).max() + 0.1


def test_people_of_a_generated_street_are_found():
    scene = make_surveillance_scene(1500, 48, 64, random_state=0)
    frames, truth = scene.frames[:180], scene.foreground[:180]  # then comes a cloud
    assert f1(truth, separator().separate(frames).mask) > 0.6


def test_an_empty_scene_has_few_false_alarms():
    frames, _ = planted(100, contrast=0)
    assert separator().separate(frames).mask.mean() < 0.001


def test_the_parts_of_frames():
    frames, _ = planted(60)
    before = frames.copy()
    background, foreground, mask = separator().separate(frames)
    assert background.dtype == foreground.dtype == frames.dtype
    assert mask.dtype == bool
    assert background.shape == foreground.shape == mask.shape == frames.shape
    np.testing.assert_array_equal(foreground, np.where(mask, frames, 0))
    residual = np.abs(frames.astype(float) - background)[30:]
    assert np.median(residual[~mask[30:]]) < 3  # the noise has a standard deviation of 2
    np.testing.assert_array_equal(frames, before)


@pytest.mark.parametrize("estimator", [OnlineRobustNMF(2, random_state=0), RobustNMF(2)], ids=str)
def test_any_robust_estimator_learns_the_light(estimator):
    frames, truth = planted(100)
    estimator.set_params(verbose=0, random_state=0)
    assert f1(truth, separator(estimator=estimator).separate(frames).mask) > 0.85
    assert not hasattr(estimator, "components_")


def test_two_passes_know_the_scene_from_the_first_frame_on():
    frames, truth = planted(100)
    twice = f1(truth, separator(causal=False).separate(frames).mask, first=0)
    assert twice > f1(truth, separator().separate(frames).mask, first=0)
    assert twice > 0.8
    with pytest.raises(ValueError, match="twice"):
        separator(causal=False).separate(iter(frames))


def test_boxes_surround_connected_regions():
    frames, truth = planted(100)
    parts = separator().separate(frames)
    largest = [boxes[0] for boxes in parts.boxes[WARM_UP:76]]
    for t, (top, left, bottom, right, size) in enumerate(largest, start=WARM_UP):
        rows, columns = np.nonzero(truth[t])
        expected = rows.min(), columns.min(), rows.max() + 1, columns.max() + 1
        np.testing.assert_allclose((top, left, bottom, right), expected, atol=3)
        assert size == parts.mask[t, top:bottom, left:right].sum()


def test_colours_distinguish_what_grey_does_not():
    frames, truth = planted(110)
    scene = np.median(frames, axis=0)
    grey = np.repeat(np.where(truth, scene, frames)[..., np.newaxis], 3, axis=3)
    coloured = grey.copy()
    coloured[..., 0][truth] += 40  # as bright as the scene, but redder
    coloured[..., 2][truth] -= 40
    coloured = np.clip(coloured, 0, 255).astype(np.uint8)
    parts = separator().separate(coloured)
    assert parts.background.shape == parts.foreground.shape == coloured.shape
    assert parts.mask.shape == truth.shape
    assert f1(truth, parts.mask) > 0.85
    assert f1(truth, separator().separate(coloured.mean(axis=3)).mask) < 0.3


def test_shadows_are_left_out_on_demand_and_what_throws_them_is_not():
    """A red box crosses a textured scene, and a shadow that is as large runs before it."""
    rng = np.random.default_rng(3)
    scene = np.stack([texture(rng), texture(rng), 0.7 * texture(rng)], axis=2)
    frames, (box, shadow) = [], np.zeros((2, 90, HEIGHT, WIDTH), bool)
    for t in range(90):
        left, top = (2 * t) % 60 - 6, 2 + 15 * (2 * t // 60)
        box[t, top : top + 14, max(left, 0) : max(left + 14, 0)] = True
        shadow[t, top : top + 14, left + 14 : left + 28] = True
        picture = np.where(shadow[t, ..., np.newaxis], 0.6 * scene, scene)
        picture[box[t]] = (200, 30, 40)
        frames.append(picture + rng.normal(0, 2, picture.shape))
    frames = np.clip(np.rint(frames), 0, 255).astype(np.uint8)
    late = slice(40, None)
    whole, without = (separator(shadows=wanted).separate(frames).mask for wanted in (True, False))
    assert whole[late][shadow[late]].mean() > 0.85
    assert without[late][shadow[late]].mean() < 0.3
    assert without[late][box[late]].mean() > 0.9 * whole[late][box[late]].mean()


# ------------------------------------------------------------------- lasting changes


def test_a_light_that_is_switched_is_followed():
    frames, _ = planted(120)
    frames[70:] = np.rint(0.2 * frames[70:] + 10).astype(np.uint8)
    assert separator().separate(frames).mask[75:100].mean() < 0.1


def test_another_scene_is_noticed_and_followed():
    frames, _ = planted(70)
    other, truth = planted(120, seed=5)
    model = separator()
    mask = model.separate(np.concatenate([frames, other])).mask
    assert len(model.changes_) == 1
    assert 70 <= model.changes_[0].frame <= 75
    assert mask[76:90].mean() < 0.15
    assert f1(truth, mask[70:]) > 0.85


def test_what_stands_still_becomes_background_after_a_while():
    frames, _ = planted(150)
    frames[60:, 4:14, 40:54] = 220
    mask = separator(patience=40).separate(frames).mask
    assert mask[62:90, 6:12, 42:52].mean() > 0.9
    assert mask[120:, 6:12, 42:52].mean() < 0.1


def test_a_background_that_begins_to_sway_is_not_flagged_for_ever():
    still, _ = planted(80)
    swaying, _ = planted(400, sway=3.0)
    mask = separator().separate(np.concatenate([still, swaying[80:]])).mask[:, :16]
    assert mask[-60:].mean() < 0.1


# ------------------------------------------------------------------- the stream


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
    for given in (
        (frame for frame in frames),
        iter(np.split(frames, [1, 4, 40])),
        thresher.open(frames, batch_size=7),
    ):
        masks = [part.mask for part in separator().separate(given)]
        np.testing.assert_array_equal(np.concatenate(masks), whole)


def test_saved_in_the_middle_it_continues_with_the_same_bits(tmp_path):
    frames, _ = planted(90, shake=0.5)
    model = separator().fit(frames[:20]).partial_fit(frames[20:41])
    thresher.save(model, tmp_path / "model")
    loaded, resumed = (thresher.load(tmp_path / "model") for _ in range(2))
    for one, other in zip(model.separate(frames[41:]), loaded.separate(frames[41:]), strict=True):
        np.testing.assert_array_equal(one, other)
    rest = np.concatenate([part.mask for part in resumed.resume(thresher.open(frames))])
    np.testing.assert_array_equal(rest, separator().separate(frames).mask[41:])
    assert resumed.n_frames_seen_ == 90
    assert resumed.n_aligned_ == model.n_aligned_ > 0


def test_the_state_does_not_grow(tmp_path):
    frames, _ = planted(96)
    model, sizes = separator(), []
    for _ in range(4):
        model.partial_fit(frames)
        thresher.save(model, tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
    assert max(sizes[1:]) < 1.02 * sizes[1]


@pytest.mark.parametrize("unit", [1e-25, 1 / 255, 1e25])
def test_results_do_not_depend_on_the_unit(unit):
    frames, _ = planted(80)
    here, there = separator().separate(frames), separator().separate(frames * unit)
    assert there.background.dtype == np.float64
    assert (there.mask != here.mask).mean() < 1e-3  # a residual at the threshold, by rounding
    background = np.clip(there.background / unit, 0, 255)
    assert np.abs(background - here.background).mean() < 0.5


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_the_type_of_frames_stays(dtype):
    frames, _ = planted(50)
    here, there = separator().separate(frames), separator().separate(frames.astype(dtype))
    assert there.background.dtype == there.foreground.dtype == dtype
    assert (there.mask != here.mask).mean() < 1e-3


def test_a_callback_sees_each_batch_and_may_end_the_run():
    frames, _ = planted(40)
    seen = []

    def stop(watched):
        seen.append(len(watched.frames))
        return len(seen) == 3

    model = separator(callbacks=[stop])
    found = list(model.separate(thresher.open(frames, batch_size=8)))
    assert seen == [8, 8, 8]
    assert len(found) == 3
    assert model.n_frames_seen_ == 24


# ------------------------------------------------------------------- files


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
    where = {"mask": tmp_path / "mask.mkv", "background": tmp_path / "background.mp4"}
    written = separator().separate(thresher.open(path, batch_size=20), write=where)
    assert written == where
    expected = separator().separate(frames)
    masks = thresher.open(written["mask"]).load().reshape(frames.shape)
    np.testing.assert_array_equal(masks, np.where(expected.mask, 255, 0))
    background = thresher.open(written["background"]).load().reshape(frames.shape)
    assert np.abs(background.astype(float) - expected.background).mean() < 4  # H.264 is lossy
    with av.open(str(written["mask"])) as container:
        assert container.streams.video[0].average_rate == 30


# ------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("frames", "error", "keyword"),
    [
        (np.zeros((0, 20, 20)), ValueError, "no frame"),
        (np.zeros((20, 20)), ValueError, "height"),
        (np.zeros((5, 20, 20, 4)), ValueError, "height"),
        (np.zeros((5, 7, 20)), ValueError, "pixels"),
        (np.full((5, 20, 20), np.nan), ValueError, "NaN"),
        (np.full((5, 20, 20), -1), ValueError, "negative"),
        (np.zeros((5, 20, 20), dtype=complex), TypeError, "numbers"),
        (np.array([["a"]]), TypeError, "numbers"),
        (np.ones((5, 30, 20)), ValueError, "shape"),
        (iter([]), ValueError, "no frame"),
    ],
)
def test_what_are_no_frames_is_refused_and_leaves_the_model_unchanged(frames, error, keyword):
    good, _ = planted(30)
    model, untouched = (separator().fit(good[:20, :20, :20]) for _ in range(2))
    with pytest.raises(error, match=keyword):
        model.partial_fit(frames)
    rest = good[20:, :20, :20]
    for one, other in zip(model.separate(rest), untouched.separate(rest), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", 0),
        ("threshold", "high"),
        ("patience", 0),
        ("align", "yes"),
        ("shadows", 1),
        ("causal", None),
        ("estimator", "nmf"),
        ("estimator", OnlineRobustNMF),
    ],
)
def test_invalid_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        separator(**{name: value}).fit(planted(5)[0])


def test_sources_without_frames_are_refused():
    with pytest.raises(ValueError, match="no pictures"):
        next(separator().separate(thresher.open(np.ones((20, 30)))))
    with pytest.raises(ValueError, match="shuffled"):
        list(separator().separate(thresher.open(planted(20)[0]).shuffled(window=8)))


def test_the_page_of_the_documentation_runs(capsys):
    run_page("docs/video.md")
    assert capsys.readouterr().out
