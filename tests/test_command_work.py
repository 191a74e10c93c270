"""What commands do with tables and pictures, told from outside: classes are stand-ins."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import thresher
from heard import Heard, Model, cells, stand_in_for
from thresher.cli.clean import clean
from thresher.cli.demo import demo
from thresher.cli.denoise import denoise
from thresher.cli.frame import WrongUseError
from thresher.cli.sample import _kinds, sample
from thresher.cli.segment import _pixels, segment
from thresher.cli.separate import separate
from thresher.cli.warm_up import warm_up


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def talk():
    return Heard()


@pytest.fixture
def stand_in(monkeypatch):
    return partial(stand_in_for, monkeypatch)


# ----------------------------------------------------------------------------------- clean


@pytest.fixture
def cleaning(monkeypatch, stand_in):
    kind, given = stand_in("TableCleaner"), []
    flags = np.array([[True, False, True], [False, False, True]])
    done = SimpleNamespace(
        filled=np.ones((2, 3), dtype=bool), flags=flags, empty=np.eye(2, 3, dtype=bool),
        before=np.zeros((2, 3)), unread=["x", "y"], changes=lambda: "a,b\n1,2\n",
        time_columns=("day", "clock"), station_column="place",
    )  # fmt: skip

    def clean_file(*what):
        given.append(what)
        return done

    monkeypatch.setattr("thresher.tasks.tables.file.clean_file", clean_file)
    monkeypatch.setattr("thresher.tasks.tables.report.table_report", lambda *what: what)
    Path("t.csv").write_text("")
    return SimpleNamespace(kind=kind, given=given, done=done)


def test_a_cleaned_table_is_counted(talk, cleaning):
    clean(talk, Path("t.csv"), Path("o.csv"), random_state=None, causal=True)
    cleaner = cleaning.kind.last
    assert cleaner.parameters == {"random_state": 0, "causal": True}
    assert cleaning.given == [(Path("t.csv"), Path("o.csv"), cleaner)]
    assert talk.answers == {
        "rows": 2, "sensors": 3, "filled": 6, "glitches": 3, "empty": 2, "target": Path("o.csv"),
        "unread": ["x", "y"], "time_columns": ["day", "clock"], "station_column": "place",
    }  # fmt: skip
    assert talk.shown == [
        "2 rows of 3 sensors: 6 gaps filled, 3 glitches replaced, 2 entries still empty: o.csv",
        "columns without a single reading: x, y",
    ]
    assert "times: day, clock" in talk.asides
    assert "a row for each time and place: each is a sensor of its own" in talk.asides
    assert not talk.reports
    assert not Path("c.csv").exists()


def test_changes_and_the_page_of_a_table_are_written_if_asked(talk, cleaning):
    cleaning.done.unread, cleaning.done.time_columns, cleaning.done.station_column = [], (), None
    cleaning.done.before = np.zeros((2, 1))
    clean(talk, Path("t.csv"), Path("o.csv"), Path("c.csv"), Path("p.html"), random_state=3)
    assert Path("c.csv").read_text() == "a,b\n1,2\n"
    assert talk.answers["changes"] == Path("c.csv")
    assert not {"unread", "time_columns", "station_column"} & talk.answers.keys()
    assert talk.shown[0].startswith("2 rows of 1 sensor: ")
    assert talk.shown[1:] == ["changes: c.csv"]
    assert talk.reports == [((cleaning.kind.last, cleaning.done, "t.csv"), Path("p.html"))]
    assert talk.chosen == {}
    cleaning.given.clear()
    with pytest.raises(FileNotFoundError, match="no such folder"):
        clean(talk, Path("t.csv"), Path("o.csv"), Path("no/c.csv"), random_state=3)
    assert not cleaning.given  # before the work
    with pytest.raises(WrongUseError, match=r"There is no nowhere\.csv"):
        clean(talk, Path("nowhere.csv"), Path("o.csv"))


# ------------------------------------------------------------------------ demo, sample, warm-up


def test_the_demo_tells_its_table_and_the_path_of_its_page(talk, monkeypatch):
    given = []

    def run_demo(seed, quick, progress):
        given.append((seed, quick))
        progress("Learning", 1, 2)
        return SimpleNamespace(table=lambda: [("a", "1", "2"), ("b", "3", "4")])

    monkeypatch.setattr("thresher.tasks.demo.run.run_demo", run_demo)
    from thresher.report import Report

    monkeypatch.setattr("thresher.tasks.demo.report.demo_report", lambda result: Report("Title"))
    demo(talk)
    demo(talk, Path("a/b"), 3, True)
    assert given == [(0, False), (3, True)]
    assert talk.units == ["frames"] * 2
    path = Path("a/b/report.html").resolve()
    assert "<h1>Title</h1>" in path.read_text(encoding="utf-8")
    assert Path("thresher-demo/report.html").exists()
    assert talk.answers == {
        "measures": {"a": {"thresher": "1", "MiniBatchNMF": "2"},
                     "b": {"thresher": "3", "MiniBatchNMF": "4"}},
        "report": path,
    }  # fmt: skip
    first, table, opens, last = talk.shown[-4:]
    assert first.startswith("A synthetic street")
    assert "Measured against the truth" in table
    assert cells(table) == [["", "Thresher", "MiniBatchNMF"], ["a", "1", "2"], ["b", "3", "4"]]
    assert (opens, last) == ("Open the report in a browser:", str(path))
    Path("file").write_text("")
    with pytest.raises(WrongUseError, match="--out file is no folder: File exists"):
        demo(talk, Path("file"))


@pytest.fixture
def kinds(monkeypatch):
    about = {
        "one": SimpleNamespace(name="one.txt", about="the first"),
        "other": SimpleNamespace(name="sub", about="the second"),
    }
    files = {"one": {"one.txt": b"1"}, "other": {"sub/a": b"2", "sub/b": b"3"}}
    monkeypatch.setattr("thresher.datasets.samples.KINDS", about)
    monkeypatch.setattr("thresher.datasets.samples.sample_files", lambda kind: files[kind])
    return files


def test_samples_are_written_and_named(talk, kinds):
    sample(talk, "other")
    assert (Path("sub/a").read_bytes(), Path("sub/b").read_bytes()) == (b"2", b"3")
    assert talk.shown == ["sub: the second."]
    assert talk.answers == {"files": [Path("sub/a"), Path("sub/b")]}
    Path("x").mkdir()
    sample(every := Heard(), "all", Path("x"))
    assert every.shown == ["x/one.txt: the first.", "x/sub: the second."]
    assert len(every.answers["files"]) == 3
    assert _kinds("o") == [("one", "the first"), ("other", "the second")]
    assert _kinds("ot") == [("other", "the second")]


def test_samples_that_are_not_there_are_refused(talk, kinds, monkeypatch):
    with pytest.raises(WrongUseError, match="no sample 'two'; use one of one, other, or all"):
        sample(talk, "two")
    with pytest.raises(WrongUseError, match="There is no folder nowhere; make it first"):
        sample(talk, "one", Path("nowhere"))
    Path("one.txt").write_text("mine")
    with pytest.raises(WrongUseError, match=r"one\.txt is there already"):
        sample(talk, "one")
    Path("one.txt").write_bytes(b"1")
    sample(talk, "one")

    def lacking(kind):
        if kind == "one":
            raise ImportError("needs an extra")
        return kinds[kind]

    monkeypatch.setattr("thresher.datasets.samples.sample_files", lacking)
    with pytest.raises(ImportError, match="needs an extra"):
        sample(talk, "one")
    sample(every := Heard(), "all")
    assert every.notes == ["needs an extra"]
    assert every.shown == ["sub: the second."]


def test_warming_up_tells_how_far_it_is_and_where(talk, monkeypatch):
    given = []

    def compile_all(jobs):
        given.append(jobs)
        yield from (("a", 1, 2), ("b", 2, 2))

    monkeypatch.setattr("thresher.tasks.warm_up.warm_up", compile_all)
    monkeypatch.setattr("thresher.kernels.machine_code.folder", lambda: Path("code"))
    warm_up(talk, 3)
    warm_up(talk)
    assert given == [3, None]
    assert talk.units == ["pieces"] * 2
    assert talk.bars[:2] == [("Compiling", 1, 2), ("Compiling", 2, 2)]
    assert talk.shown[:2] == ["Ready after 0 s. The machine code is in:", "code"]
    assert talk.answers["folder"] == Path("code")
    assert 0 <= talk.answers["seconds"] < 10


# ------------------------------------------------------------------------------- pictures


@pytest.fixture
def pictures(monkeypatch):
    state = SimpleNamespace(source=SimpleNamespace(n_samples=8, name="source"), given=[])

    def opened(*what):
        state.given.append(what)
        return state.source

    for module in ("denoise", "separate"):
        monkeypatch.setattr(f"thresher.cli.{module}.opened_pictures", opened)
    return state


def test_photographs_are_denoised_into_what_was_asked(talk, pictures, stand_in):
    calls = []
    kind = stand_in(
        "ImageDenoiser",
        image_shape_=(48, 72, 3),
        denoise=lambda *what, **to: calls.append((what, to)),
    )
    denoise(talk, Path("in"), Path("out"), Path("m"), None, True, Path("p.html"), n_components=5)
    targets = {"clean": Path("out"), "mask": Path("m")}
    assert kind.last.parameters == {"n_components": 5}
    assert pictures.given == [(Path("in"), True, "a folder of photographs of one kind")]
    assert calls == [((pictures.source,), {"write": targets})]
    assert talk.notes == [
        "8 photographs are few to learn from: much of what they have in common may be chance."
    ]
    assert talk.answers == {"photographs": 8, "height": 48, "width": 72, **targets}
    assert talk.shown == ["8 photographs of 72 × 48 pixels.", "clean: out", "mask: m"]
    assert talk.reports == [(("page", pictures.source), Path("p.html"))]
    pictures.source.n_samples = 9
    denoise(more := Heard(), Path("in"), Path("out"), removed=Path("r"))
    assert pictures.given[-1][1] is False
    assert more.notes == more.reports == []
    assert more.shown[1:] == ["clean: out", "removed: r"]


@pytest.fixture
def video(stand_in):
    calls = []

    def separated(source, write=None):
        calls.append((source, write))
        return iter([1, 2]) if write is None else None

    kind = stand_in(
        "VideoSeparator", frames_per_second_=1234.56, n_frames_seen_=5000, n_aligned_=0,
        changes_=[], separate=separated,
    )  # fmt: skip
    return SimpleNamespace(calls=calls, kind=kind)


def test_a_video_is_separated_into_what_was_asked(talk, pictures, video):
    separate(talk, Path("v.avi"), Path("m.npy"), None, Path("f.npy"), random_state=None)
    targets = {"mask": Path("m.npy"), "foreground": Path("f.npy")}
    assert video.kind.last.parameters == {"random_state": 0}
    assert pictures.given == [(Path("v.avi"), False, "a video, or a folder of its frames")]
    assert video.calls == [(pictures.source, targets)]
    assert talk.answers == {
        "frames": 5000, "frames_per_second": 1234.6, "aligned": 0, "scene_changes": [], **targets,
    }  # fmt: skip
    assert talk.shown == ["5,000 frames, 1,235 a second.", "mask: m.npy", "foreground: f.npy"]
    assert not talk.reports


def test_a_video_that_shook_and_changed_is_told_so(talk, pictures, video):
    video.kind.about = video.kind.about | {
        "n_aligned_": 1200, "changes_": [SimpleNamespace(frame=7), SimpleNamespace(frame=99)],
    }  # fmt: skip
    separate(talk, Path("v.avi"), report=Path("p.html"), color=True)
    assert video.calls == [(pictures.source, None)]
    assert pictures.given[0][1] is True
    assert talk.answers["scene_changes"] == [7, 99]
    assert talk.shown[1:] == [
        "1,200 of them were shifted back: the camera moved.",
        "The scene became another at frames 7, 99.",
    ]
    assert talk.reports == [(("page",), Path("p.html"))]
    with pytest.raises(WrongUseError, match=r"^Say what to write, such as --mask mask\.mp4"):
        separate(talk, Path("v.avi"))


def test_a_video_is_shown_live_if_asked(talk, pictures, video, monkeypatch):
    from contextlib import contextmanager

    given, set_to = [], []

    @contextmanager
    def page(*what, **how):
        given.append((what[2:], how, type(what[1]).__name__))
        yield "watcher"

    monkeypatch.setattr("thresher.cli.separate.live_page", page)
    video.kind.set_params = lambda self, **to: set_to.append(to)
    separate(talk, Path("a/v.avi"), live=True, address="h:1", stay=True)
    how = {"address": "h:1", "stay": True}
    assert given == [(("v.avi", "VideoSeparator"), how, "VideoShow")]
    assert set_to == [{"callbacks": ["watcher"]}]
    separate(talk, Path("a/v.avi"), Path("m.npy"))
    assert len(given) == 1


@pytest.mark.parametrize(
    ("mode", "shape"), [("L", (2, 3)), ("RGB", (2, 3, 3)), ("LA", (2, 3)), ("RGBA", (2, 3, 3)),
                        ("P", (2, 3, 3)), ("1", (2, 3))],
)  # fmt: skip
def test_pictures_are_grey_or_in_three_colours(mode, shape):
    from PIL import Image

    Image.new(mode, (3, 2)).save("p.png")
    assert _pixels(Path("p.png")).shape == shape
    Path("p.txt").write_text("no")
    with pytest.raises(ValueError, match=r"p\.txt is no picture that can be read"):
        _pixels(Path("p.txt"))


def test_a_picture_is_cut_and_its_areas_told(talk, monkeypatch):
    from PIL import Image

    labels = np.array([[0, 0, 1, 1], [0, 0, 0, 1]])
    about = {"labels_": labels, "superpixels_": labels * 6, "n_segments": 3}
    kind = type("ImageSegmenter", (Model,), {"about": about})
    monkeypatch.setattr(thresher, "ImageSegmenter", kind, raising=False)
    monkeypatch.setattr("thresher.tasks.segmentation.report.segment_report", lambda *what: what)
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    Image.fromarray(image).save("p.png")
    segment(talk, Path("p.png"), Path("l.npy"), n_segments=3)
    np.testing.assert_array_equal(np.load("l.npy"), labels)
    assert kind.last.parameters == {"n_segments": 3}
    np.testing.assert_array_equal(kind.last.calls[0][1], image)
    value, why = talk.chosen["patches"]
    assert value == 7
    assert "8 pixels would be too many" in why
    np.testing.assert_allclose(talk.answers.pop("areas"), [5 / 8, 3 / 8, 0])
    assert talk.answers == {"height": 2, "width": 4, "patches": 7, "target": Path("l.npy")}
    assert talk.shown == ["4 × 2 pixels in 3 segments (62%, 38%, 0%): l.npy"]
    segment(talk, Path("p.png"), Path("l.png"), Path("r.html"))
    from thresher.plotting import paint_boundaries

    drawn = np.asarray(Image.open("l.png"))
    np.testing.assert_array_equal(drawn, paint_boundaries(image, labels))
    ((page, path),) = talk.reports
    assert page[0] is kind.last
    assert path == Path("r.html")
    with pytest.raises(WrongUseError, match=r"l\.txt must end in \.png \(a picture\) or \.npy"):
        segment(talk, Path("p.png"), Path("l.txt"))
