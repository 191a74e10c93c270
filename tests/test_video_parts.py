"""Steps of the video separator by themselves, against the same written out pixel by pixel."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

import thresher
from thresher import OnlineRobustNMF, RobustNMF, VideoSeparator
from thresher.tasks.video import alignment, decision, frames, light, noise, scene, windows
from thresher.tasks.video.results import VideoSeparation, boxes
from thresher.tasks.video.scene import Judged, Rules
from thresher.tasks.video.shadows import shadows

RULES = Rules(None, 1.5, 120, align=False, shadows=True, causal=True)


def grey(n=6, height=16, width=24, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.integers(40, 200, (height, width)) + rng.integers(0, 4, (n, height, width))).astype(
        np.uint8
    )


# ------------------------------------------------------------------------ windows and decision


@pytest.mark.parametrize("size", [1, 3, 5])
def test_sums_over_squares_repeat_the_edges(size):
    picture = np.random.default_rng(0).integers(0, 9, (6, 7))
    found, half = windows.square_sums(picture, size), size // 2
    for y in range(6):
        for x in range(7):
            rows = np.clip(np.arange(y - half, y + half + 1), 0, 5)
            columns = np.clip(np.arange(x - half, x + half + 1), 0, 6)
            assert found[y, x] == picture[np.ix_(rows, columns)].sum()


def test_the_largest_colour():
    picture = np.array([[[1, 5, 2], [9, 3, 4], [0, 1, 7]]])
    assert windows.largest_colour(picture).tolist() == [[5, 9, 7]]
    assert windows.largest_colour(picture[..., :1]).tolist() == [[1, 9, 0]]


def test_a_pixel_moves_if_its_surroundings_are_above_one_on_average():
    """Scores are heard up to two, to a fifth of a threshold."""
    flat = np.ones((11, 11), np.float32)
    assert not decision._above_one(flat).any()
    assert decision._above_one(1.2 * flat).all()
    lone = np.zeros((11, 11), np.float32)
    lone[5, 5] = 1000
    assert not decision._above_one(lone).any()
    block = np.zeros((11, 11), np.float32)
    block[3:8, 3:8] = np.float32(np.arange(25).reshape(5, 5) < 13) * 9
    assert decision._above_one(block)[5, 5]  # 13 of 25 at two each are more than 25
    block[5, 7] = block[5, 2] = 0
    block[3, 3] = 0
    assert not decision._above_one(block)[5, 5]  # 12 of 25 are less


def test_pixels_beside_which_all_four_move():
    moving = np.ones((4, 5), bool)
    moving[1, 2] = False
    inner = decision._inner(moving)
    out = {(1, 2), (0, 2), (2, 2), (1, 1), (1, 3)}
    for y in range(4):
        for x in range(5):
            assert inner[y, x] == ((y, x) not in out or (y, x) == (1, 2))


def test_what_moved_a_frame_ago_lowers_the_threshold():
    scores = np.full((21, 21), 0.7, np.float32)
    nothing, everything = np.zeros((21, 21), bool), np.ones((21, 21), bool)
    assert not decision.moving_pixels(scores, nothing).any()
    assert not decision.moving_pixels(scores, everything).any()  # half of the votes: one
    strong = np.full((21, 21), 1.3, np.float32)
    assert decision.moving_pixels(strong, nothing).all()
    edge = scores.copy()
    edge[:, 10:] = 2
    found = decision.moving_pixels(edge, nothing)
    assert found[:, 12:].all()
    assert not found[:, :8].any()


# ------------------------------------------------------------------------ noise


def test_the_first_frames_tell_the_noise_of_all_pixels():
    start = noise.PixelNoise(np.zeros((4, 5), np.float32), 0.0)
    sizes = np.full((4, 5), 2.0, np.float32)
    first = start.with_frame(sizes)
    assert (first.floor, first.n_frames) == (pytest.approx(1.4826 * 2), 1)
    assert not first.scale.any()
    second = first.with_frame(2 * sizes)
    assert second.floor == pytest.approx(1.4826 * 3)  # the mean of two
    np.testing.assert_allclose(second.scale, second.floor * norm.ppf(0.9), rtol=1e-6)
    still = start.with_frame(0 * sizes)
    assert still.floor == 1.0  # frames are rounded to a level
    late = noise.PixelNoise(second.scale, 4.0, 100).with_frame(sizes)
    assert late.floor == pytest.approx(4 + 0.05 * (1.4826 * 2 - 4))
    np.testing.assert_array_equal(late.scale, second.scale)
    np.testing.assert_allclose(late.usual(), late.scale + 0.3 * late.floor)


def test_scales_follow_the_upper_quantile_in_small_steps():
    scale = np.array([[2.0, 2.0, 2.0, 0.0]], np.float32)
    sizes = np.array([[3.0, 1.0, 3.0, 0.0]], np.float32)
    moving = np.array([[False, False, True, False]])
    found = noise.PixelNoise(scale, 1.0, 100).learned(sizes, moving)
    up, down = 0.05 * 3 * 0.8, 0.05 * 3 * 0.2
    np.testing.assert_allclose(found.scale[0, :3], [2 + up, 2 - down, 2 + 0.1 * up], rtol=1e-5)
    assert found.scale[0, 3] == 0  # never negative
    assert (found.floor, found.n_frames) == (1.0, 100)
    early = noise.PixelNoise(scale, 1.0, 4).learned(sizes, moving)
    assert early.scale[0, 0] == pytest.approx(2 + 0.25 * 3 * 0.8, rel=1e-5)


def test_large_pictures_are_sampled_at_even_distances():
    sizes = np.zeros((200, 400), np.float32)
    sizes[::4, ::4] = 5
    found = noise.PixelNoise(np.zeros_like(sizes), 0.0).with_frame(sizes)
    assert found.floor == pytest.approx(1.4826 * 5)  # every fourth of 80,000


def test_the_usual_size_is_that_of_normal_noise():
    rng = np.random.default_rng(0)
    sizes = np.abs(rng.normal(0, 3.0, (4001, 2, 2)))
    np.testing.assert_allclose(noise.usual_size(sizes), 3 * norm.ppf(0.9), rtol=0.05)
    np.testing.assert_allclose(np.quantile(sizes, 0.8, axis=0), noise.usual_size(sizes), rtol=0.05)


# ------------------------------------------------------------------------ light


@pytest.mark.parametrize(
    ("height", "width", "side"), [(8, 8, 1), (32, 64, 1), (33, 64, 2), (480, 640, 13)]
)
def test_cells_are_two_thousand_at_most(height, width, side):
    assert light.cell_side(height, width) == side
    assert height * width / side**2 <= 2048


def test_without_a_model_the_light_is_that_of_the_first_frame():
    first = np.array([10.0, 20.0, 0.0], np.float32)
    known = light.Light(first)
    twice = np.array([[20.0, 40.0, 0.5], [10.0, 20.0, 50.0]], np.float32)
    np.testing.assert_allclose(known.predicted(twice), [2 * first, first])


def test_every_second_frame_is_learned_from_and_the_last_64_are_kept():
    known = light.Light(np.zeros(3))
    for number in range(300):
        known = known.with_cells(np.full(3, float(number)), number)
    assert [int(cells[0]) for cells in known.waiting] == list(range(172, 300, 2))


def test_an_online_model_learns_what_waited_and_a_batch_model_all_it_has():
    rng = np.random.default_rng(0)
    cells = tuple(rng.random((8, 12)).astype(np.float32))
    waiting = light.Light(cells[0], waiting=cells)
    online = waiting.learned(OnlineRobustNMF(1, random_state=0, verbose=0))
    assert online.waiting == ()
    assert online.estimator.n_samples_seen_ == 8
    again = light.Light(cells[0], online.estimator, cells[:4]).learned(OnlineRobustNMF(1))
    assert again.estimator.n_samples_seen_ == 12
    assert online.estimator.n_samples_seen_ == 8  # the old one stays as it is
    batch = waiting.learned(RobustNMF(1, max_iter=5, random_state=0, verbose=0))
    assert len(batch.waiting) == 8
    said = batch.predicted(np.array(cells))
    assert (said.shape, said.dtype) == ((8, 12), np.float32)


# ------------------------------------------------------------------------ alignment


@pytest.mark.parametrize(
    ("values", "at", "peak"),
    [([0, 2, 0], 1, 0.0), ([1, 2, 0], 1, -1 / 6), ([0, 2, 2], 1, 0.5), ([5, 2, 1], 0, 0.0),
     ([1, 2, 5], 2, 0.0), ([2, 2, 2], 1, 0.0)],
)  # fmt: skip
def test_a_parabola_through_three_values_peaks(values, at, peak):
    assert alignment._vertex(np.array(values, float), at) == pytest.approx(peak)


def test_a_picture_that_is_not_shifted_is_left_alone():
    rng = np.random.default_rng(0)
    reference = rng.random((30, 40, 1)).astype(np.float32) * 200
    aligner = alignment.Aligner(reference)
    assert aligner.shift_of(reference) == alignment.NO_SHIFT
    assert aligner.shift_of(rng.random((30, 40, 1)).astype(np.float32)) == alignment.NO_SHIFT
    back = aligner.shift_of(alignment.shifted(reference, (2.0, -1.0)))
    np.testing.assert_allclose(back, (-2, 1), atol=0.2)


def test_large_pictures_are_correlated_by_means_of_squares():
    picture = np.random.default_rng(0).random((401, 403, 3)).astype(np.float32)
    aligner = alignment.Aligner(picture)
    assert aligner._step == 2
    assert aligner._reference.shape == (200, 201)
    assert aligner._reference[3, 5] == pytest.approx(picture[6:8, 10:12].mean(), rel=1e-5)
    assert aligner._reach == 30


# ------------------------------------------------------------------------ the scene


def test_a_scene_begins_with_its_first_frame_as_background():
    frame = np.zeros((10, 11), np.uint8)
    frame[3, 4] = 51
    found = scene.begun(frame)
    assert found.unit == pytest.approx(51 / 255)
    assert found.reference.shape == (10, 11, 1)
    assert found.reference[3, 4, 0] == pytest.approx(255)
    assert scene.begun(np.zeros((9, 9))).unit == 1.0
    assert (found.n_frames, found.age, found.kept, found.changes) == (0, 0, (), ())
    assert len(found.memory) == 0
    assert not found.moving.any()


def test_frames_are_filled_up_to_whole_cells():
    frame = np.arange(12.0).reshape(3, 4)
    found = scene._in_levels(frame, 2.0, 3)
    assert found.shape == (3, 6, 1)
    np.testing.assert_allclose(found[:, :4, 0], frame / 2)
    np.testing.assert_allclose(found[:, 5, 0], frame[:, 3] / 2)
    assert scene._in_levels(frame, 1.0, 1).shape == (3, 4, 1)
    assert scene._in_levels(np.zeros((3, 4, 3)), 1.0, 2).shape == (4, 4, 3)


@pytest.mark.parametrize(("patience", "apart"), [(1, 1), (5, 1), (6, 2), (120, 40)])
def test_what_stays_for_some_frames_is_background(patience, apart):
    assert RULES._replace(patience=patience).apart == apart


def test_frames_are_kept_more_and_more_apart():
    """One after the other, then by a third of their age, up to the distance of patience."""
    kept, last = [], 0
    for age in range(1, 200):
        now = SimpleNamespace(age=age, last_kept=last)
        if scene._is_to_be_kept(now, RULES._replace(patience=60)):
            kept.append(age)
            last = age
    assert kept[:8] == [1, 2, 3, 4, 5, 6, 8, 10]
    assert np.diff(kept)[-1] == 20
    assert np.diff(kept).max() == 20


def test_thirteen_frames_are_kept():
    found = scene.begun(np.ones((8, 8)))
    for number in range(20):
        found = scene._with_kept(found, np.full((8, 8, 1), float(number)))
    assert [int(one[0, 0, 0]) for one in found.kept] == list(range(7, 20))


def test_another_scene_begins_with_what_was_counted():
    old = scene.begun(np.full((8, 8), 100.0))
    old = scene.replace(old, n_frames=50, n_aligned=7, last_aligned=40, changes=tuple(range(1000)))
    new = scene._another(old, np.full((8, 8, 1), 30.0, np.float32))
    assert (new.n_frames, new.began, new.age) == (50, 49, 1)
    assert (new.n_aligned, new.last_aligned, new.last_kept) == (7, 40, 1)
    assert new.unit == old.unit
    assert (len(new.changes), new.changes[0], new.changes[-1]) == (1000, 1, 49)
    assert (new.noise.floor, new.noise.n_frames) == (1.0, 1)
    np.testing.assert_allclose(new.reference, 30)
    assert len(new.kept) == 1


def test_a_still_camera_is_asked_every_fourth_frame(monkeypatch):
    asked = []

    class Asked:
        def __init__(self, reference):
            pass

        def shift_of(self, picture):
            asked.append(int(picture))
            return (1.0, 0.0) if picture == 108 else alignment.NO_SHIFT

    monkeypatch.setattr(scene, "Aligner", Asked)
    now = SimpleNamespace(reference=None, last_aligned=0, n_frames=100)
    found = scene._shifts(now, list(range(100, 112)))
    assert asked == [100, 104, 108, 109, 110, 111]  # awake once it has moved
    assert [number for number, by in enumerate(found, 100) if by != (0.0, 0.0)] == [108]
    asked.clear()
    now = SimpleNamespace(reference=None, last_aligned=90, n_frames=101)
    scene._shifts(now, list(range(101, 108)))
    assert asked == [101, 102, 103, 104, 105]  # for sixteen frames after it did


def test_background_and_mask_are_where_the_camera_saw_them():
    background = np.zeros((8, 9, 1), np.float32)
    background[3, 4] = 9
    mask = background[..., 0] > 0
    seen = scene._seen(background, mask, (1.0, -2.0), (8, 9))
    assert np.argwhere(seen.mask).tolist() == [[4, 2]]
    assert np.argwhere(seen.background[..., 0] > 0).tolist() == [[4, 2]]
    cut = scene._seen(background, mask, (0.0, 0.0), (5, 6))
    assert cut.background.shape == (5, 6, 1)
    assert cut.mask.shape == (5, 6)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("colours", [1, 3])
def test_what_was_found_is_in_the_unit_and_the_kind_of_the_frames(dtype, colours):
    shape = (2, 8, 9, 3) if colours == 3 else (2, 8, 9)
    given = np.full(shape, 100, dtype)
    mask = np.zeros((8, 9), bool)
    mask[2, 3] = True
    levels = np.full((8, 9, colours), 10.3, np.float32)
    levels[0, 0] = -5
    found = scene.separation(given, [Judged(levels, mask), Judged(levels, ~mask)], 4.0)
    expected = 41 if np.dtype(dtype).kind == "u" else pytest.approx(41.2, rel=1e-6)
    assert found.background[0].ravel()[-1] == expected
    assert found.background.dtype == found.foreground.dtype == dtype
    assert found.background.shape == found.foreground.shape == shape
    low = 0 if np.dtype(dtype).kind == "u" else -20
    assert found.background[0].ravel()[0] == low
    assert np.count_nonzero(found.foreground[0]) == colours
    assert np.count_nonzero(found.foreground[1]) == colours * 71
    assert found.foreground[0, 2, 3].max() == 100
    np.testing.assert_array_equal(found.mask, [mask, ~mask])
    bright = scene.separation(given[:1], [Judged(np.full_like(levels, 1e6), mask)], 4.0)
    if np.dtype(dtype).kind == "u":
        assert bright.background.max() == np.iinfo(dtype).max


# ------------------------------------------------------------------------ shadows and boxes


@pytest.mark.parametrize(
    ("scale", "is_shadow"), [(0.39, False), (0.41, True), (0.94, True), (0.96, False), (1.5, False)]
)
def test_a_shadow_is_between_two_darknesses(scale, is_shadow):
    rng = np.random.default_rng(0)
    background = 50 + 100 * rng.random((12, 12, 3)).astype(np.float32)
    moving = np.zeros((12, 12), bool)
    moving[3:9, 3:9] = True
    found = shadows(background * np.float32(scale), background, np.ones((12, 12)), moving)
    np.testing.assert_array_equal(found, moving & is_shadow)


def test_what_is_left_over_is_what_the_pixel_usually_differs_by():
    background = np.full((9, 9, 1), 100.0, np.float32)
    rough = np.where(np.indices((9, 9)).sum(0) % 2, 75.0, 65.0)[..., None].astype(np.float32)
    moving = np.ones((9, 9), bool)
    assert shadows(rough, background, np.full((9, 9), 5.5), moving)[4, 4]
    assert not shadows(rough, background, np.full((9, 9), 4.5), moving)[4, 4]
    colours = np.full((9, 9, 3), 100.0, np.float32)
    tinted = colours * np.float32([0.9, 0.7, 0.5])
    assert not shadows(tinted, colours, np.full((9, 9), 5.0), moving).any()


def test_boxes_are_upright_and_the_largest_first():
    mask = np.zeros((6, 9), bool)
    mask[0, 0] = mask[1, 1] = True  # pixels that share a corner belong together
    mask[3:5, 4:8] = True
    found = boxes(mask)
    assert [tuple(box) for box in found] == [(3, 4, 5, 8, 8), (0, 0, 2, 2, 2)]
    assert len(boxes(mask, smallest=2)) == 2
    assert len(boxes(mask, smallest=3)) == 1
    assert boxes(np.zeros((3, 3), bool)) == []
    with pytest.raises(ValueError, match="the mask of one frame"):
        boxes(mask[None])
    both = VideoSeparation(None, None, np.stack([mask, ~mask]))
    assert [len(one) for one in both.boxes] == [2, 1]


# ------------------------------------------------------------------------ frames


def test_pieces_of_an_iterable_without_its_first_frames():
    given = [np.full((8, 8), 0.0), np.full((2, 8, 8), 1.0), np.full((3, 8, 8), 2.0)]
    for start, sizes in ((0, [1, 2, 3]), (1, [2, 3]), (2, [1, 3]), (3, [3]), (5, [1]), (6, [])):
        assert [len(piece) for piece in frames.pieces_of(iter(given), start)] == sizes
    assert len(list(frames.pieces_of(lambda: given))) == 3
    assert frames._as_frames(np.zeros((8, 8, 3))).shape == (1, 8, 8, 3)
    assert frames._as_frames(np.zeros((4, 8, 8))).shape == (4, 8, 8)


@pytest.mark.parametrize("start", [0, 1, 6, 7, 8, 20])
def test_pieces_of_a_source_without_its_first_frames(start):
    video = grey(20)
    source = thresher.open(video).in_batches(6)
    found = list(frames.pieces_of(source, start))
    assert sum(map(len, found)) == 20 - start
    if found:
        np.testing.assert_array_equal(np.concatenate(found), video[start:])
    assert frames.count_of(source) == 20
    assert frames.count_of(iter([])) is None
    assert frames.count_of(video) == 20
    with pytest.raises(ValueError, match=r"leave shuffled\(\) out"):
        next(frames.pieces_of(source.shuffled(window=8)))


def test_cuts_of_an_array_and_the_first_of_some_pieces():
    assert [len(cut) for cut in frames.in_cuts(np.zeros(7), 3)] == [3, 3, 1]
    first, pieces = frames.first_of(iter("abc"))
    assert (first, list(pieces)) == ("a", ["a", "b", "c"])
    with pytest.raises(ValueError, match="no frame to look at"):
        frames.first_of(iter([]))


def test_the_smallest_frames():
    frames.checked_frames(np.zeros((1, 8, 8)), None)
    for shape in ((1, 7, 8), (1, 8, 7)):
        with pytest.raises(ValueError, match="at least 8 × 8 pixels"):
            frames.checked_frames(np.zeros(shape), None)
    flat = frames.checked_frames(np.zeros((3, 80)), (8, 10))
    assert flat.shape == (3, 8, 10)
    with pytest.raises(ValueError, match="Frames come as"):
        frames.checked_frames(np.zeros((3, 80)), (8, 11))


# ------------------------------------------------------------------------ the separator


def test_all_that_is_known_of_a_scene_comes_back_from_its_file(tmp_path):
    video = grey(40)
    model = VideoSeparator(random_state=0, verbose=0).fit(video)
    model._scene = scene.replace(
        model._scene, n_strange=1, n_aligned=5, last_aligned=9, began=3, last_kept=2, n_frames=77,
        changes=(4, 8),
    )  # fmt: skip
    thresher.save(model, tmp_path / "a")
    again = thresher.load(tmp_path / "a")._scene
    for name, value in vars(model._scene).items():
        if name in ("light", "noise"):
            continue
        np.testing.assert_array_equal(np.array(getattr(again, name)), np.array(value), err_msg=name)
    for name, value in vars(model._scene.noise).items():
        np.testing.assert_array_equal(getattr(again.noise, name), value, err_msg=name)
    np.testing.assert_array_equal(again.light.first, model._scene.light.first)
    np.testing.assert_array_equal(
        np.array(again.light.waiting), np.array(model._scene.light.waiting)
    )
    cells = np.ones((1, len(again.light.first)), np.float32)
    np.testing.assert_array_equal(again.light.predicted(cells), model._scene.light.predicted(cells))


def test_what_a_separator_tells_of_itself():
    model = VideoSeparator(random_state=0, verbose=0)
    with pytest.raises(ValueError, match="call separate or fit first"):
        _ = model.n_frames_seen_
    video = grey(20)
    model.fit(video[:10])
    assert model.light_ is None  # nothing is learned yet
    assert model.frames_per_second_ > 0
    model.partial_fit(video[10:])
    assert model.n_frames_seen_ == 20
    assert model.light_.shape[1:] == (16, 24)
    assert model.changes_ == []
    rest = model.resume(np.concatenate([video, video]))
    assert len(rest.mask) == 20
    assert model.n_frames_seen_ == 40
    with pytest.raises(ValueError, match="looks at every frame twice"):
        VideoSeparator(causal=False, verbose=0).separate(iter([video]))
