"""Pages about videos and photographs: what they show is what was found, whatever came how."""

import re

import numpy as np
import pytest
from scipy.ndimage import binary_erosion, median_filter
from typer.testing import CliRunner

import thresher
from test_reports import Page
from thresher.cli import app
from thresher.datasets.samples import sample_files
from thresher.plotting import share_curve
from thresher.plotting.boundaries import WHEAT
from thresher.report import Report, tell_beside
from thresher.tasks.compression.beside import rounded_and_packed
from thresher.tasks.images.report import _planted, some_of
from thresher.tasks.novelty.beside import _distances
from thresher.tasks.segmentation.beside import _inside, _pieces
from thresher.tasks.video.album import Album, Moment
from thresher.tasks.video.report import _boxed, _simple_masks
from thresher.tasks.video.scene import Judged

SIZE = (24, 32)


def text(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


# ------------------------------------------------------------------------------------ album


def judged(n):
    """Frames of one level each, and masks of which the share is known."""
    frames = np.arange(n, dtype=np.uint16)[:, None, None] % 200 + np.zeros((n, 8, 8), np.uint16)
    found = []
    for number in range(n):
        mask = np.zeros((8, 8), dtype=bool)
        mask.flat[: number % 64] = True
        found.append(Judged(np.full((8, 8, 1), 7.0, dtype=np.float32), mask))
    return frames, found


@pytest.mark.parametrize("n", [1, 11, 12, 13, 100, 5000])
def test_moments_are_few_equally_far_apart_and_the_same_in_any_batches(n):
    frames, found = judged(n)
    whole = Album().with_frames(frames, found, 0, 1.0)
    pieces = Album()
    for first in range(0, n, 7):
        pieces = pieces.with_frames(frames[first : first + 7], found[first : first + 7], first, 1.0)
    assert [m.number for m in whole.moments] == [m.number for m in pieces.moments]
    assert whole.shares == pieces.shares
    numbers = [m.number for m in whole.moments]
    assert len(numbers) <= 12
    assert len(numbers) >= min(n, 6)
    assert set(np.diff(numbers)) <= {whole.step}
    assert n - whole.step <= numbers[-1] < n
    assert len(whole.shares) <= 2000
    assert set(np.diff([number for number, _ in whole.shares])) <= {whole.spacing}
    for number, share in whole.shares:
        assert share == (number % 64) / 64
    for moment in whole.moments:
        assert (moment.frame == frames[moment.number]).all()
        assert (moment.background == 7).all()
        assert moment.mask.sum() == moment.number % 64


def test_a_second_look_counts_from_its_own_beginning():
    frames, found = judged(20)
    album = Album(start=100).with_frames(frames, found, 100, 1.0)
    assert album.moments[0].number == 1
    assert album.shares[0] == (0, 0.0)


def test_large_frames_are_kept_small():
    frames = np.zeros((1, 1000, 700, 3), dtype=np.uint8)
    one = Judged(np.zeros((1000, 700, 3), np.float32), np.ones((1000, 700), dtype=bool))
    (moment,) = Album().with_frames(frames, [one], 0, 1.0).moments
    assert moment.frame.shape == (334, 234, 3) == (*moment.mask.shape, 3)


# ------------------------------------------------------------------------------------ video


def street(n=60, another=None):
    """A textured scene that a bright box crosses; from a frame on, another scene."""
    rng = np.random.default_rng(0)
    scenes = [rng.integers(60, 120, SIZE), rng.integers(130, 250, SIZE)]
    frames = np.empty((n, *SIZE), dtype=np.uint8)
    for t in range(n):
        frames[t] = scenes[another is not None and t >= another] + rng.integers(0, 3, SIZE)
        left = t % SIZE[1]
        frames[t, 8:14, left : left + 6] = 255
    return frames


def seen(frames, **parameters):
    separator = thresher.VideoSeparator(random_state=0, verbose=0, **parameters)
    return separator, separator.separate(frames)


def test_the_page_of_a_video_tells_what_was_found(tmp_path):
    separator, found = seen(street(another=40))
    page = Page(separator.report(tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.texts["h1"] == ["What moves in 60 frames"]
    facts = {meaning: value for value, meaning in page.facts}
    assert facts["frames of 32 × 24 pixels"] == "60"
    assert facts["of a frame moves, on average"] == f"{found.mask.mean():.1%}"
    assert facts["times the scene became another"] == f"{len(separator.changes_)}" == "1"
    change = separator.changes_[0].frame
    assert any(f"became another at frames {change}." in t for t in page.texts["p"])
    moments = [m.number for m in separator._album.moments]
    alt = page.pictures[0][0]
    for number in re.findall(r"frame (\d+):", alt):
        assert int(number) in moments
        assert f"frame {number}: " in alt
        assert f"{found.mask[int(number)].mean():.1%} moves" in alt
    assert "model = VideoSeparator(random_state=0, " in page.texts["code"][0]
    assert "model.separate(frames)" in page.texts["code"][0]


def test_a_video_in_batches_has_the_same_moments():
    frames = street()
    whole, _ = seen(frames)
    pieces = thresher.VideoSeparator(random_state=0, verbose=0)
    for _ in pieces.separate(frames[i : i + 16] for i in range(0, 60, 16)):
        pass
    for one, other in zip(whole._album.moments, pieces._album.moments, strict=True):
        assert one.number == other.number
        assert (one.mask == other.mask).all()


def test_two_looks_show_the_second_one():
    separator, found = seen(street(), causal=False)
    assert [m.number for m in separator._album.moments][-1] < 60
    for moment in separator._album.moments:
        assert (moment.mask == found.mask[moment.number]).all()


def test_a_loaded_separator_shows_its_background(tmp_path):
    separator, _ = seen(street())
    thresher.save(separator, tmp_path / "model")
    page = thresher.load(tmp_path / "model").report(tmp_path / "page.html").read_text()
    assert "The background, as it was last" in page
    assert page.count("<img") == 2  # and the curve of its light
    assert "first step" in page  # a stream has steps, no rounds


def test_a_box_is_a_frame_around_what_moves_and_nothing_else():
    """Here three pixels thick, as the picture is large; one thing lies in a corner."""
    mask = np.zeros((400, 480), dtype=bool)
    mask[100:140, 200:260] = mask[380:, 450:] = True
    frame = np.random.default_rng(0).integers(0, 200, mask.shape).astype(np.uint8)
    shown = _boxed(Moment(0, frame, frame, mask))
    inside = binary_erosion(mask, np.ones((7, 7)))
    painted = (shown == WHEAT).all(axis=2)
    np.testing.assert_array_equal(painted, mask & ~inside)
    grey = np.repeat(frame[..., None], 3, axis=2)
    np.testing.assert_array_equal(shown[~painted], grey[~painted])


def test_the_temporal_median_is_one():
    separator, _ = seen(street())
    moments = separator._album.moments
    frames = np.stack([m.frame for m in moments]).astype(float)
    simple = _simple_masks(moments)
    assert (simple.background == np.median(frames, axis=0)).all()
    far = (np.abs(frames - simple.background) > 25).astype(int)
    expected = median_filter(far, (1, 5, 5), mode="nearest")
    assert (simple.masks == expected.astype(bool)).all()


# ------------------------------------------------------------------------------ photographs


def photographs(n=40):
    rng = np.random.default_rng(1)
    scenes = np.kron(rng.random((3, 4, 5)), np.ones((4, 4)))
    clean = 200 * np.tensordot(rng.dirichlet(np.ones(3), n), scenes, 1)
    return np.where(rng.random(clean.shape) < 0.03, 255, clean).astype(np.uint8)


def test_the_page_of_photographs_tells_what_was_replaced(tmp_path):
    images = photographs()
    denoiser = thresher.ImageDenoiser(random_state=0, verbose=0).fit(images)
    page = Page(denoiser.report(tmp_path / "p.html", images).read_text(encoding="utf-8"))
    some = some_of(images)
    assert some.numbers == [0, 8, 16, 23, 31, 39]
    shares = denoiser.denoise(images[some.numbers]).mask.reshape(6, -1).mean(axis=1)
    facts = {meaning: value for value, meaning in page.facts}
    assert facts["of their pixels were replaced"] == f"{shares.mean():.1%}"
    for number, share in zip(some.numbers, shares, strict=True):
        assert f"number {number}: {share:.1%} replaced" in page.pictures[0][0]
    rows = {row[0]: row[1:] for row in page.rows if len(row) == 4}
    spots = {name: float(row[0]) for name, row in rows.items()}
    assert spots["ImageDenoiser"] < spots["nothing"]
    assert rows["nothing"][1] == "0.0"  # sound pixels are as they were
    assert "model.denoise(images)" in page.texts["code"][0]


def test_spots_are_planted_on_sound_pixels_only():
    truth, mask = np.full((4, 32, 40), 100.0), np.zeros((4, 32, 40), dtype=bool)
    mask[:, :, :20] = True
    spoiled, places = _planted(truth, mask, 255.0)
    assert places.any()
    assert not (places & mask).any()
    assert (spoiled[~places] == truth[~places]).all()
    assert set(np.unique(spoiled[places])) <= {0.0, 255.0}


def test_a_folder_is_learned_from_as_often_as_an_array(tmp_path):
    from PIL import Image

    images = photographs()
    for number, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / f"{number:02d}.png")
    from_folder = thresher.ImageDenoiser(random_state=0, verbose=0).fit(tmp_path)
    from_array = thresher.ImageDenoiser(random_state=0, verbose=0).fit(images)
    steps = [len(m.estimator_.history_) for m in (from_folder, from_array)]
    assert steps[0] >= steps[1] > 1
    some = some_of(thresher.open(tmp_path))
    assert (some.images == images[some.numbers]).all()


# --------------------------------------------------------------------------------- commands


@pytest.fixture
def here(tmp_path, monkeypatch):
    for kind in ("table", "photo"):
        for name, content in sample_files(kind).items():
            (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("separate table.csv --mask m.mp4", "table.csv has no pictures; give a video"),
        ("separate photo.png --mask m.mp4", "photo.png is one picture"),
        ("separate photo.png", "--report page.html"),
        ("denoise table.csv out", "table.csv has no pictures; give a folder of photographs"),
        ("denoise photo.png out", "photo.png is one picture"),
    ],
)
def test_what_is_no_video_and_no_folder_is_refused(here, words, said):
    before = set(here.iterdir())
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 2
    assert said in done.stderr
    assert "color" not in done.stderr
    assert set(here.iterdir()) == before


def test_few_photographs_are_told(here):
    from PIL import Image

    (here / "few").mkdir()
    for number, image in enumerate(photographs(3)):
        Image.fromarray(image).save(here / "few" / f"{number}.png")
    done = CliRunner().invoke(app, ["denoise", "few", "out", "--report", "few.html"])
    assert done.exit_code == 0
    assert "3 photographs are few" in done.stderr
    assert "3 photographs, before and after" in (here / "few.html").read_text(encoding="utf-8")


# ----------------------------------------------------------------------------------- pieces


def test_a_table_of_methods_has_the_library_first():
    page = tell_beside(Report("t"), ["error", "s"], [["ours", "1", "2"], ["<b>", "3", "4"]], "how")
    found = Page(page.html())
    assert found.texts["h2"] == ["Beside a simple alternative"]
    assert found.rows[1:] == [["ours", "1", "2"], ["<b>", "3", "4"]]


def test_a_curve_of_shares_begins_at_zero_and_has_its_marks():
    figure = share_curve([0, 1, 2], [0.1, 0.4, 0.2], "frame", "moves", [1])
    (axes,) = figure.axes
    assert axes.get_ylim()[0] == 0
    assert axes.get_xlabel() == "frame"
    marks = [line for line in axes.lines if len(set(line.get_xdata())) == 1]
    assert [line.get_xdata()[0] for line in marks] == [1]
    assert share_curve([0], [0.0], "a", "b").axes[0].get_ylim() == (0.0, 1.0)
    with pytest.raises(ValueError, match="one share"):
        share_curve([0, 1], [0.5], "a", "b")


# ---------------------------------------------------------------------- simple alternatives


def test_rounding_meets_the_error_that_it_is_compared_at():
    rng = np.random.default_rng(0)
    Y = 20 + np.cumsum(rng.normal(size=(400, 6)), axis=0)
    Y[3, 2] = np.nan
    for error in (0.001, 0.01):
        n_bytes, off = rounded_and_packed(Y, error)
        assert off == pytest.approx(error, rel=0.1)
        assert 0 < n_bytes < Y.nbytes
    assert rounded_and_packed(Y, 0.0)[1] == 0.0
    assert rounded_and_packed(np.zeros((3, 2)), 0.01)[1] == 0.0


def test_the_page_of_a_codec_measures_what_it_decodes(tmp_path):
    rng = np.random.default_rng(0)
    Y = np.round(20 + np.cumsum(rng.normal(size=(300, 3)), axis=0), 1)
    codec = thresher.SensorCodec(error=0.01)
    names = ["<a>", "b", "c"]
    page = codec.report(tmp_path / "p.html", Y, names).read_text(encoding="utf-8")
    data, _ = codec.compress(Y)
    decoded, _ = codec.decompress(data)
    assert f"3 sensors in {len(data):,} bytes" in page
    assert f"<td>{np.abs(decoded - Y)[:, 1].max():.3g}</td>" in page
    assert "&lt;a&gt;" in page
    assert "SensorCodec(error=0.01)\nmodel.compress(Y)" in page
    errors = {row[0]: row[2] for row in Page(page).rows if len(row) == 4}
    ours, simple = (float(errors[n].rstrip("%")) for n in ("SensorCodec", "rounding and lzma"))
    assert simple == pytest.approx(ours, rel=0.1)


def test_the_page_of_a_recogniser_counts_its_mistakes(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.eye(3)[y] @ rng.random((3, 30)) + 1.5 * rng.random((60, 30))
    model = thresher.ManhattanNMF(3, random_state=0, verbose=0)
    known = thresher.FaceRecognizer(model).fit(X[:20], y[:20])
    page = Page(known.report(tmp_path / "p.html", X[20:], y[20:], shape=(5, 6)).read_text())
    right = known.score(X[20:], y[20:])
    assert page.facts[0] == (f"{right:.1%}", "of 40 pictures got their right name")
    mistakes = [row for row in page.rows if len(row) == 3 and row[0].isdigit()]
    assert sum(int(row[2]) for row in mistakes) == round((1 - right) * 40)
    assert page.rows[page.rows.index(mistakes[0]) - 1] == ["is", "was called", "times"]
    called, truth = known.predict(X[20:]).astype(str), y[20:].astype(str)
    for is_, name, times in mistakes:
        assert is_ != name
        assert int(times) == np.sum((truth == is_) & (called == name))
    rows = {row[0]: row[1] for row in page.rows}
    drawn = known.codes_ @ known.model_.components_
    nearest = ((X[20:, None] - drawn) ** 2).sum(axis=2).argmin(axis=1)
    assert rows["nearest by pixels"] == f"{np.mean(y[:20][nearest] == y[20:]):.1%}"
    assert known.report(tmp_path / "q.html").exists()


def test_clusters_of_colours_have_pieces_and_a_variance():
    labels = np.array([[0, 0, 1], [1, 0, 1]])
    assert _pieces(labels) == 3
    colours = np.array([[0.0], [2.0], [5.0], [5.0], [4.0], [5.0]])
    inside = ((np.array([0, 2, 4]) - 2.0) ** 2).sum() / ((colours - colours.mean()) ** 2).sum()
    assert _inside(colours, labels) == pytest.approx(inside)
    assert _inside(np.ones((6, 3)), labels) == 0


def test_the_nearest_document_before_is_found():
    steps = [
        ["apples pears plums", "apples apples pears", "bolts nails"],
        ["apples pears plums", "rockets moon", "nails bolts apples"],
        ["nails bolts apples", "bolts nails"],
    ]
    first, second = _distances(steps)
    assert first == pytest.approx([0, 1, first[2]], abs=1e-9)
    assert 0 < first[2] < 1
    assert second == pytest.approx([0, 0], abs=1e-9)
