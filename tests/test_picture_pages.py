"""Pages of videos, photographs and the demonstration, from moments that are made by hand."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from blocks import blocks_of, facts_of, head_of, headings, section
from thresher import __version__
from thresher.engine import History, HistoryRow
from thresher.plotting.boundaries import WHEAT
from thresher.report import Report
from thresher.tasks.images import report as images_page
from thresher.tasks.images.denoiser import Denoised
from thresher.tasks.video import report as video_page
from thresher.tasks.video.album import Album, Moment

BESIDE = "Beside a simple alternative"


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Figures that a page draws, in order; how they look is tested elsewhere."""
    figures = []
    for module in (images_page, video_page):
        monkeypatch.setattr(module, "for_page", lambda draw: figures.append(draw()) or b"png")
    return figures


def shown(figure):
    """The images of a grid, by their row and column."""
    return [axes.images[0].get_array() for axes in figure.axes]


# ------------------------------------------------------------------------------------ video


def moment(number, colour=False):
    """Of the background 100, with a box of 200 that moves, and is found."""
    frame = np.full((12, 16), 100, dtype=np.uint8)
    mask = np.zeros((12, 16), dtype=bool)
    mask[2:8, number % 8 : number % 8 + 6] = True
    frame[mask] = 200
    if colour:
        frame = np.repeat(frame[..., None], 3, axis=2)
    background = np.full(frame.shape, 101, dtype=np.uint8)
    return Moment(number, frame, background, mask)


def seen(numbers=(0, 5, 10), start=0, causal=True, speed=1234.5, changes=(), aligned=0, **more):
    moments = tuple(moment(number, **more) for number in numbers)
    shares = tuple((number, (number % 10) / 20) for number in range(11))
    light = SimpleNamespace(estimator=SimpleNamespace())
    return SimpleNamespace(
        _check_begun=lambda: None, _scene=SimpleNamespace(n_frames=1011 + start, light=light),
        _album=Album(start, 5, moments, 1, shares), _shape=(24, 32), causal=causal,
        frames_per_second_=speed, n_aligned_=aligned,
        changes_=[SimpleNamespace(frame=frame) for frame in changes],
    )  # fmt: skip


def test_facts_of_a_video(drawn):
    report = video_page.video_report(seen(aligned=1200, changes=(3, 7)))
    kicker, title, lead = head_of(report)
    assert (kicker, title) == (f"Thresher {__version__} · video", "What moves in 1,011 frames")
    assert lead.startswith("Every frame was judged by those before it")
    assert facts_of(report) == [
        ("1,011", "frames of 32 × 24 pixels"),
        ("1,234", "frames a second, reading and writing included"),
        (f"{np.mean([n % 10 / 20 for n in range(11)]):.1%}", "of a frame moves, on average"),
        ("2", "times the scene became another"),
        ("1,200", "frames shifted back: the camera had moved"),
    ]  # fmt: skip
    assert headings(report) == [
        "Frames, and what became of them", "How much moves, and when", BESIDE,
    ]  # fmt: skip
    other = video_page.video_report(seen(causal=False, speed=float("nan")))
    assert head_of(other)[2].startswith("All frames were looked at to learn the scene")
    assert [meaning[:9] for _, meaning in facts_of(other)] == [
        "frames of",
        "of a fram",
        "times the",
    ]


def test_moments_are_shown_with_boxes_backgrounds_and_both_masks(drawn):
    separator = seen()
    report = video_page.video_report(separator)
    (picture,) = section(report, "Frames, and what became of them")
    share = 36 / 192
    assert picture[1] == (
        "3 frames with boxes around what moves, the background of each, and masks: "
        + "; ".join(f"frame {n}: 1 boxes, {share:.1%} moves" for n in (0, 5, 10))
    )
    assert "at least 0.1% of the picture" in picture[2]
    grid = drawn[0]
    assert [axes.get_title() for axes in grid.axes[:4]] == [
        "frame", "background", "what moves", "by a median",
    ]  # fmt: skip
    assert [text.get_text() for text in grid.texts] == ["0", "5", "10"]
    images, simple = shown(grid), video_page._simple_masks(separator._album.moments)
    for row, one in enumerate(separator._album.moments):
        boxed, background, moves, median = images[4 * row : 4 * row + 4]
        np.testing.assert_array_equal(boxed, video_page._boxed(one))
        assert (background == 101).all()
        np.testing.assert_array_equal(moves[..., 1], 255 * one.mask)
        np.testing.assert_array_equal(median[..., 2], 255 * simple.masks[row])
    places = [axes.get_position() for axes in grid.axes[:4]]
    gaps = [right.x0 - left.x1 for left, right in pairwise(places)]
    assert gaps[2] == pytest.approx(3 * gaps[0])


def test_of_many_moments_six_are_shown(drawn):
    video_page.video_report(seen(numbers=range(0, 60, 5)))
    assert [text.get_text() for text in drawn[0].texts] == ["0", "10", "20", "35", "45", "55"]


def test_shares_of_a_video_are_a_curve_with_its_changes(drawn):
    report = video_page.video_report(seen(start=100, changes=(50, 100, 107)))
    assert facts_of(report)[3][0] == "2"  # those of the last look
    picture, said = section(report, "How much moves, and when")
    assert picture[1] == (
        "Share of the picture that moves, from frame to frame, at most 45.0%; another scene after "
        "frame 0; another scene after frame 7"
    )
    assert picture[2].startswith("Upright lines")
    assert said == ("p", "The scene became another at frames 0, 7.")
    first, second, curve = drawn[1].axes[0].lines
    assert (first.get_xdata()[0], second.get_xdata()[0]) == (0, 7)
    np.testing.assert_array_equal(curve.get_xdata(), np.arange(11))
    still = video_page.video_report(seen())
    (picture,) = section(still, "How much moves, and when")
    assert picture[2].startswith("The scene stayed the same throughout")


def test_of_many_changes_the_last_twenty_are_told():
    for n, some in ((20, ""), (21, "The last 20 of them: ")):
        report = video_page.video_report(seen(changes=range(1000, 1000 + n)))
        said = section(report, "How much moves, and when")[1][1]
        listed = ", ".join(f"{k:,}" for k in range(1000 + n - 20, 1000 + n))
        assert said == f"The scene became another at frames {some}{listed}."
        assert section(report, "How much moves, and when")[0][1].count("another scene") == 20


@pytest.mark.parametrize("colour", [False, True])
def test_a_temporal_median_stands_beside(monkeypatch, colour):
    monkeypatch.setattr(video_page, "timed", lambda work: (work(), 0.25))
    separator = seen(colour=colour)
    moments = separator._album.moments
    report = video_page.video_report(separator)
    ((_, head, rows, how),) = section(report, BESIDE)
    assert head[1:] == ["moves", "levels off where nothing moves", "frames a second"]
    frames = np.stack([one.frame for one in moments]).astype(float)
    ours, simple = np.stack([one.mask for one in moments]), video_page._simple_masks(moments)
    still = ~(ours | simple.masks)
    off = [np.abs(frames - 101)[still].mean(), np.abs(frames - np.median(frames, 0))[still].mean()]
    speed = 3 / 0.5 * frames[0].size / (24 * 32)
    assert rows == [
        ["VideoSeparator", f"{ours.mean():.1%}", f"{off[0]:.2f}", "1,234"],
        ["temporal median", f"{simple.masks.mean():.1%}", f"{off[1]:.2f}", f"{speed:,.0f}"],
    ]  # fmt: skip
    agree = (ours & simple.masks).sum() / (ours | simple.masks).sum()
    assert f"Both agree on {agree:.0%} of what either calls moving." in how
    assert how.startswith("The median of 3 moments")
    slow = video_page.video_report(seen(speed=float("nan")))
    assert section(slow, BESIDE)[0][2][0][3] == "–"


def test_pixels_beyond_25_levels_are_called_moving():
    background = np.full((9, 9), 100.0)
    for level, moves in ((125, False), (126, True), (75, False), (74, True)):
        frame = np.full((9, 9), level, dtype=np.uint8)
        assert video_page._simply_judged(frame, background).all() == moves
    colours = np.full((9, 9, 3), 100.0)
    colours[..., 1] = 126
    assert video_page._simply_judged(colours, np.full((9, 9, 3), 100.0)).all()


def test_small_things_have_no_box_and_lines_are_as_thick_as_can_be_seen():
    for n, boxes in ((3, 0), (4, 1)):
        mask = np.zeros((50, 80), dtype=bool)
        mask[0, :n] = True
        assert len(video_page._boxes(mask)) == boxes
    for width, thick in ((16, 1), (319, 1), (320, 2)):
        mask = np.zeros((40, width), dtype=bool)
        mask[5:35, 2:14] = True
        frame = np.zeros((40, width, 3), dtype=np.uint8)
        painted = (video_page._boxed(Moment(0, frame, frame, mask)) == WHEAT).all(axis=2)
        assert painted.sum() == 30 * 12 - (30 - 2 * thick) * (12 - 2 * thick)
        assert (frame == 0).all()


def test_a_video_without_moments_shows_its_background(drawn, monkeypatch):
    separator = seen()
    history = History()
    history.append(HistoryRow(9, 1.5, 2.0, 0.1, 0.1))
    estimator = SimpleNamespace(history_=history, tol=0.25, components_=np.ones((2, 18)))
    given = []
    light = SimpleNamespace(
        estimator=estimator, first=np.array([1.0, 2.0]),
        predicted=lambda codes: given.append(codes) or [codes[0] * 2],
    )  # fmt: skip
    separator._scene = SimpleNamespace(n_frames=7, light=light, detail=np.zeros((4, 4, 3)), side=9)

    def lit(detail, predicted, side):
        given.append((predicted.tolist(), side))
        return np.linspace(-5, 300, 30 * 40 * 3).reshape(30, 40, 3)

    monkeypatch.setattr(video_page, "lit", lit)
    del separator._album
    report = video_page.video_report(separator)
    assert given[0].tolist() == [[1, 2]]
    assert given[1] == ([2, 4], 9)
    assert head_of(report)[1] == "What moves in 7 frames"
    assert headings(report) == ["The background, as it was last", "How it learned"]
    (picture,) = section(report, "The background, as it was last")
    assert picture[1] == "The scene without what moves"
    (image,) = shown(drawn[0])
    expected = np.rint(np.clip(np.linspace(-5, 300, 3600), 0, 255)).reshape(30, 40, 3)
    np.testing.assert_array_equal(image, expected[:24, :32])
    table, said = section(report, "How it learned")
    assert "to tol=0.25" in table[3]
    assert said[1].endswith(
        "SimpleNamespace, from the means of 6 square cells in every second frame."
    )
    assert video_page._bytes(np.zeros((1, 4, 5, 1))).shape == (1, 4, 5)


# ------------------------------------------------------------------------------ photographs


class Denoiser:
    """Takes what is 255 for damage, and puts 100 there."""

    def __init__(self, shape=(16, 20), history=None, signed=False):
        self.image_shape_, self.calls = shape, []
        atoms = np.arange(13.0 * np.prod(shape)).reshape(13, -1)
        self.estimator_ = SimpleNamespace(components_=-atoms if signed else atoms)
        if history is not None:
            self.estimator_.history_, self.estimator_.tol = history, 0.125

    def denoise(self, images, mask=None):
        self.calls.append((images, mask))
        images = np.asarray(images, dtype=float)
        wrong = images == 255
        wrong = wrong if wrong.ndim == 3 else wrong.any(axis=3)
        clean = np.where(wrong if images.ndim == 3 else wrong[..., None], 100, images)
        return Denoised(clean, images - clean, wrong)


def photographs(n=8, shape=(16, 20)):
    images = np.full((n, *shape), 90, dtype=np.uint8)
    for number in range(n):
        images[number, : number + 1, 0] = 255
    return images


def test_photographs_are_counted_and_shown_before_and_after(drawn):
    images, denoiser = photographs(), Denoiser()
    some = images_page.some_of(images)
    assert some.numbers == [0, 1, 3, 4, 6, 7]
    assert some.total == 8
    report = images_page.photograph_report(denoiser, some)
    assert head_of(report)[:2] == (
        f"Thresher {__version__} · photographs", "8 photographs, before and after",
    )  # fmt: skip
    shares = (np.array(some.numbers) + 1) / 320
    assert facts_of(report) == [
        ("20 × 16", "pixels"), ("6", "photographs are shown, at equal distances"),
        (f"{shares.mean():.1%}", "of their pixels were replaced"),
        (f"{shares.max():.1%}", "in the one with most damage"),
    ]  # fmt: skip
    assert headings(report) == ["Before and after", BESIDE, "What photographs have in common"]
    (picture,) = section(report, "Before and after")
    assert picture[1].endswith(
        ": " + "; ".join(
            f"number {n}: {share:.1%} replaced"
            for n, share in zip(some.numbers, shares, strict=True)
        )
    )  # fmt: skip
    grid = drawn[0]
    assert [a.get_title() for a in grid.axes[:4]] == ["before", "after", "removed", "replaced"]
    assert [text.get_text() for text in grid.texts] == [str(n) for n in some.numbers]
    before, after, removed, replaced = shown(grid)[4:8]
    wrong = images[1] == 255
    np.testing.assert_array_equal(before[..., 0], images[1])
    np.testing.assert_array_equal(after[..., 1], np.where(wrong, 100, images[1]))
    np.testing.assert_array_equal(removed[..., 2], 255 * wrong)  # the largest is white
    np.testing.assert_array_equal(replaced[..., 0], 255 * wrong)


def test_parts_of_photographs_are_twelve_pictures(drawn):
    report = images_page.photograph_report(denoiser := Denoiser(), None)
    assert head_of(report)[1] == "Photographs of a kind"
    assert facts_of(report) == [("20 × 16", "pixels")]
    assert headings(report) == ["What photographs have in common"]
    (picture,) = section(report, "What photographs have in common")
    assert picture[1] == "12 learned parts, as pictures"
    assert picture[2].endswith("in amounts of its own.")
    atoms = denoiser.estimator_.components_[:12].reshape(12, 16, 20)
    np.testing.assert_array_equal(shown(drawn[0]), atoms)
    lefts = {round(axes.get_position().x0, 3) for axes in drawn[0].axes}
    assert len(lefts) == 4
    history = History()
    history.append(HistoryRow(9, 1.5, 2.0, 0.1, 0.1))
    other = Denoiser((4, 5, 3), history, signed=True)
    report = images_page.photograph_report(other, None)
    assert headings(report)[1:] == ["How it learned"]
    assert "to tol=0.125" in section(report, "How it learned")[0][3]
    (picture,) = section(report, "What photographs have in common")
    assert picture[2].endswith("a part may also be taken away.")
    atoms = np.abs(other.estimator_.components_[:12]).reshape(12, 4, 5, 3).mean(axis=3)
    np.testing.assert_allclose(shown(drawn[1]), atoms)


def test_a_source_without_a_number_has_no_count():
    images = photographs(3)
    some = images_page.some_of(images, images == 255)._replace(total=None)
    assert (some.mask == (images == 255)).all()
    denoiser = Denoiser()
    report = images_page.photograph_report(denoiser, some)
    assert head_of(report)[1] == "Photographs of a kind"
    assert denoiser.calls[0][1] is some.mask
    assert len(facts_of(report)) == 4


@pytest.mark.parametrize(("side", "step"), [(480, 1), (481, 2), (960, 2), (961, 3)])
def test_large_photographs_are_thinned(drawn, side, step):
    stack = np.linspace(-0.1, 1.1, 2 * side).reshape(1, 2, side)
    found = images_page._shown(stack)
    expected = np.rint(255 * np.clip(stack[:, ::step, ::step], 0, 1))
    np.testing.assert_array_equal(found, np.repeat(expected[..., None], 3, axis=3))
    assert images_page._shown(np.zeros((1, 4, 5, 3))).shape == (1, 4, 5, 3)
    images_page.photograph_report(Denoiser((2, side)), None)
    assert shown(drawn[0])[0].shape == (-(-2 // step), -(-side // step))


def test_white_is_255_of_bytes_and_else_the_largest():
    assert images_page._white(np.array([3], dtype=np.uint8)) == 255
    assert images_page._white(np.array([3.0, np.nan])) == 3
    assert images_page._white(np.array([np.nan])) == 1
    assert images_page._white(np.array([0.0])) == 1


def test_spots_are_planted_and_the_best_window_stands_beside(monkeypatch):
    from scipy import ndimage

    monkeypatch.setattr(images_page, "timed", lambda work: (work(), 0.5))
    images, denoiser = photographs(4, (32, 40)), Denoiser((32, 40))
    some = images_page.some_of(images)
    found = denoiser.denoise(images)
    images_page._tell_beside(report := Report("t"), denoiser, some, found)
    truth = found.clean
    planted, places = images_page._planted(truth, found.mask, 255.0)
    spoiled, _ = denoiser.calls[-1]
    np.testing.assert_array_equal(spoiled, planted)
    assert spoiled.dtype == np.float32
    sound = ~(places | found.mask)

    def off(pictures, where):
        return np.sqrt(np.mean((pictures - truth)[where] ** 2))

    filtered = {
        size: ndimage.median_filter(planted, (1, size, size), mode="nearest")
        for size in (3, 5, 9, 15)
    }
    best = min(filtered, key=lambda size: off(filtered[size], places))
    ours = denoiser.denoise(spoiled).clean
    ((_, head, rows, how),) = section(report, BESIDE)
    assert head[1:] == ["error in the spots", "error elsewhere", "milliseconds a photograph"]
    assert rows == [
        ["ImageDenoiser", f"{off(ours, places):.1f}", f"{off(ours, sound):.1f}", "125.0"],
        [f"median filter, {best} × {best}", f"{off(filtered[best], places):.1f}",
         f"{off(filtered[best], sound):.1f}", "125.0"],
        ["nothing", f"{off(planted, places):.1f}", "0.0", "0"],
    ]  # fmt: skip
    assert how.startswith("3 square spots were put on sound pixels of each of these 4 photographs")
    assert "out of 3, 5, 9, 15 pixels" in how
    everything = found._replace(mask=np.ones_like(found.mask))
    images_page._tell_beside(report := Report("t"), denoiser, some, everything)
    assert headings(report) == []


def test_errors_are_in_levels_of_255_and_colours_are_filtered_by_themselves(monkeypatch):
    images = np.random.default_rng(0).random((3, 16, 20, 3)).astype(np.float32) / 2
    denoiser = Denoiser((16, 20, 3))
    some = images_page.some_of(images)
    found = denoiser.denoise(images)
    images_page._tell_beside(report := Report("t"), denoiser, some, found)
    white = float(images.max())
    planted, places = images_page._planted(found.clean, found.mask, white)
    off = np.sqrt(np.mean((planted - found.clean)[places] ** 2)) / white * 255
    assert section(report, BESIDE)[0][2][2][1] == f"{off:.1f}"
    assert images_page._error(planted, planted, np.zeros(places.shape, dtype=bool)) == 0
    assert denoiser.calls[-1][0].dtype == np.float32


def test_three_spots_of_an_eighth_are_black_or_white():
    truth = np.full((40, 32, 48), 0.5)
    spoiled, places = images_page._planted(truth, np.zeros(truth.shape, dtype=bool), 2.0)
    sizes = places.sum(axis=(1, 2))
    assert sizes.max() == 3 * 16  # four by four each, where they do not overlap
    assert sizes.min() >= 16
    levels, counts = np.unique(spoiled[places], return_counts=True)
    assert levels.tolist() == [0, 2]
    assert counts.min() > 0.3 * counts.sum()
    small = images_page._planted(np.zeros((1, 4, 5)), np.zeros((1, 4, 5), dtype=bool), 1.0)[1]
    assert 4 <= small.sum() <= 12


# ------------------------------------------------------------------------------------ demo


def test_the_page_of_the_demonstration_has_all_its_parts():
    from thresher.tasks.demo.report import demo_report
    from thresher.tasks.demo.run import BATCH_SIZE, N_COMPONENTS

    ours = SimpleNamespace(
        relative_error=0.0123, psnr=33.33, f1=0.876, learning_speed=1234.5, separating_speed=567.8
    )
    peer = SimpleNamespace(relative_error=0.0456, psnr=22.22, f1=0.543)
    result = SimpleNamespace(
        thresher=SimpleNamespace(measures=ours), minibatch_nmf=SimpleNamespace(measures=peer),
        pictures=lambda: SimpleNamespace(frames=b"1", atoms=b"2", convergence=b"3"),
        scene=SimpleNamespace(frames=np.zeros((300, 72, 96), dtype=np.uint8)),
        table=lambda: [("PSNR", "33", "22")],
    )  # fmt: skip
    report = demo_report(result)
    kicker, title, lead = head_of(report)
    assert (kicker, title) == (
        f"Thresher {__version__} · demonstration", "A street without its traffic",
    )  # fmt: skip
    assert "watched 300 frames go by" in lead
    assert "to within 1.2%" in lead
    assert "is 4.6% off" in lead
    assert facts_of(report) == [
        ("33.3 dB", "PSNR of the background; MiniBatchNMF 22.2 dB"),
        ("0.88", "F1 of moving objects; MiniBatchNMF 0.54"),
        ("1,234", "frames learned per second, on one thread"),
        ("568", "frames separated per second, on one thread"),
    ]  # fmt: skip
    assert headings(report) == [
        "What was seen, and what became of it", "The parts it learned", "How it learned",
        "Against the truth", "With your own video",
    ]  # fmt: skip
    said, picture = section(report, "The parts it learned")
    assert f"a sum of these {N_COMPONENTS} images" in said[1]
    assert picture[1:] == (f"The {N_COMPONENTS} learned atoms, as images", "")
    assert [block[0] for block in section(report, "What was seen, and what became of it")] == [
        "p", "picture",
    ]  # fmt: skip
    assert section(report, "How it learned")[0][1] == "Loss against the number of frames seen"
    (table,) = section(report, "Against the truth")
    assert table[1:3] == (["", "Thresher", "MiniBatchNMF"], [["PSNR", "33", "22"]])
    assert f"{N_COMPONENTS} components and saw batches of {BATCH_SIZE} frames" in table[3]
    assert "<strong>33</strong>" in report.html()
    code, foot = section(report, "With your own video")
    assert code[1].startswith("import thresher")
    assert foot == (
        "footnote", "300 frames of 96 × 72 pixels. Made by thresher demo, without a download.",
    )  # fmt: skip
    assert len(blocks_of(report)) == 14
