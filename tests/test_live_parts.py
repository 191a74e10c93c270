"""What the live page shows of each kind of run: pictures, rows, numbers and sentences."""

import base64
import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from thresher.cli.live.pictures import picture
from thresher.cli.live.shows.base import set_parameter
from thresher.cli.live.shows.model import ModelShow
from thresher.cli.live.shows.novelty import NoveltyShow, SeenStep, marked
from thresher.cli.live.shows.video import VideoShow
from thresher.cli.live.views import heaviest, parts_view, sample_view
from thresher.engine import Event, History, HistoryRow
from thresher.tasks.video.results import VideoSeparation

# ----------------------------------------------------------------------------------- views


def pixels(source):
    kind, _, data = source.removeprefix("data:image/").partition(";base64,")
    return kind, np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


@pytest.mark.parametrize(
    ("shape", "widest", "kind", "sent"),
    [
        ((64, 64), 360, "png", (64, 64)),
        ((64, 65), 360, "jpeg", (64, 65)),
        ((10, 20), 20, "png", (10, 20)),
        ((10, 21), 20, "png", (10, 20)),
        ((20, 80), 20, "png", (5, 20)),
        ((4, 6, 3), 360, "png", (4, 6, 3)),
    ],
)
def test_pictures_are_small_and_without_loss_if_they_are_few_pixels(shape, widest, kind, sent):
    found, levels = pixels(picture(np.full(shape, 2.0), 4.0, widest))
    assert found == kind
    assert levels.shape == sent
    assert np.abs(levels.astype(int) - 127).max() <= 1


def test_pictures_go_from_zero_to_white():
    levels = pixels(picture(np.array([[-1.0, 0, 1, 2, 3, np.nan]]), 2.0))[1]
    assert levels.tolist() == [[0, 0, 127, 255, 255, 0]]
    assert pixels(picture(np.ones((1, 2)), 0.0))[1].tolist() == [[0, 0]]
    wide = np.zeros((2, 722))
    wide[0, ::2] = 1.0  # beyond twice the width every second column is left out first
    assert (pixels(picture(wide, 1.0))[1] == 255).all()


def test_a_row_stands_beside_what_explains_it():
    x, explained, outliers = np.array([1.0, 2.0]), np.array([0.5, 2.5]), np.array([0.5, 0.0])
    view = sample_view(x, explained, outliers, ["a", "b"], None, 1.0)
    assert view == {
        "said": "50.0% of its entries are set aside.", "kind": "row",
        "heads": ["Column", "As it came", "Explained", "Outliers"],
        "rows": [["a", 1.0, 0.5, 0.5], ["b", 2.0, 2.5, 0.0]],
    }  # fmt: skip
    plain = sample_view(x, explained, None, None, None, 1.0)
    assert "said" not in plain
    assert plain["heads"][3] == "Left over"
    assert plain["rows"] == [["1", 1.0, 0.5, 0.5], ["2", 2.0, 2.5, -0.5]]
    nothing = sample_view(np.full(2, np.nan), explained, outliers, None, None, 1.0)
    assert nothing["said"].startswith("0.0%")


def test_a_picture_stands_beside_its_background_and_what_is_aside():
    x, explained = np.arange(6.0), np.arange(6.0)[::-1]
    view = sample_view(x, explained, -np.eye(6)[2], None, (2, 3), 5.0)
    assert view["kind"] == "pictures"
    assert view["said"] == "16.7% of its pixels are set aside."
    assert [one["name"] for one in view["pictures"]] == ["As it came", "Background", "Outliers"]
    for one, values in zip(view["pictures"], (x, explained, np.eye(6)[2]), strict=True):
        np.testing.assert_array_equal(
            pixels(one["source"])[1], np.floor(51 * values.reshape(2, 3)).astype(int)
        )


@pytest.mark.parametrize("n", [24, 25, 240, 241])
def test_long_samples_are_profiles_of_the_entries_furthest_from_zero(n):
    x = np.zeros(n)
    x[n // 2], x[-1] = -7.12345, 3.0
    view = sample_view(x, x / 2, None, None, None, 1.0)
    if n == 24:
        assert view["kind"] == "row"
        return
    assert view["kind"] == "profile"
    assert view["features"] == n
    assert [line["name"] for line in view["lines"]] == ["As it came", "Explained", "Left over"]
    for line, sign in zip(view["lines"], (1, 0.5, 0.5), strict=True):
        values = line["values"]
        assert len(values) == min(n, 240)
        assert min(values) == pytest.approx(sign * -7.12345, rel=1e-3)
        assert max(values) == values[-1] == sign * 3
    assert view["lines"][0]["values"].count(-7.123) == 1


def test_parts_are_pictures_bars_or_profiles():
    atoms = np.abs(np.random.default_rng(0).normal(size=(13, 6)))
    shown = parts_view(atoms, None, (2, 3))
    assert (shown["kind"], shown["count"], shown["shown"]) == ("pictures", 13, 12)
    assert [one["name"] for one in shown["pictures"]] == [f"Part {k}" for k in range(1, 13)]
    for one, atom in zip(shown["pictures"], atoms, strict=False):
        levels = np.floor(255 * atom / atom.max()).reshape(2, 3)
        assert np.abs(pixels(one["source"])[1] - levels).max() <= 1
    (wide,) = parts_view(np.ones((1, 484)), None, (2, 242))["pictures"]
    assert pixels(wide["source"])[1].shape == (1, 120)
    bars = parts_view(atoms, None, None)
    assert bars["kind"] == "bars"
    assert [name for name, _ in bars["parts"][0]["bars"]] == [
        str(k + 1) for k in np.argsort(-atoms[0])[:6]
    ]
    named = parts_view(np.ones((1, 30)), [f"c{k}" for k in range(30)], None)
    assert named["parts"] == [{"name": "Part 1", "bars": [(f"c{k}", 1.0) for k in range(6)]}]
    profiles = parts_view(np.ones((2, 25)), None, None)
    assert profiles["kind"] == "profiles"
    assert profiles["profiles"][1] == {"name": "Part 2", "values": [1.0] * 25}
    assert parts_view(np.ones((2, 24)), None, None)["kind"] == "bars"


def test_the_heaviest_features_have_their_signs_and_no_zeros():
    atom = np.array([0.0, -4.0, 2.0, 0.0])
    assert heaviest(atom, list("abcd")) == [("b", -1.0), ("c", 0.5)]
    assert heaviest(np.zeros(2), list("ab")) == []
    assert heaviest(np.zeros(0), []) == []


# ----------------------------------------------------------------------------------- shows


def step_of(model, samples=None, row=None):
    row = row or HistoryRow(1234, 0.5, 3.0, 0.1, 0.2)
    return SimpleNamespace(model=model, samples=samples, row=row, dictionary=model.components_)


class Estimator:
    """Explains half of a sample, sets the rest aside."""

    def __init__(self, weight="auto"):
        self.components_ = np.arange(6.0).reshape(2, 3)
        self.history_ = History()
        self.outlier_weight, self.outlier_weight_, self.forgetting = weight, 0.123456, 500
        self.changes = []

    def separate(self, X):
        return X / 2, np.nan_to_num(X / 2), None

    def change(self, **what):
        self.changes.append(what)


def test_what_a_model_tells_of_itself():
    show, model = ModelShow(["a", "b", "c"]), Estimator()
    about = show.about()
    assert about["unit"] == "samples"
    assert about["curve"] == "mean loss per sample"
    assert [fact["key"] for fact in about["facts"]] == [
        "samples", "rate", "loss", "certificate", "change",
    ]  # fmt: skip
    assert [fact["form"] for fact in about["facts"]] == [
        "count", "count", "number", "number", "share",
    ]  # fmt: skip
    step = step_of(model)
    assert show.numbers(step) == {
        "samples": 1234, "loss": 3.0, "certificate": 0.1, "change": 0.2,
    }  # fmt: skip
    assert show.model(step) is model
    weight, half_life = show.controls(step)
    assert (weight.name, weight.label, weight.value, weight.now) == (
        "outlier_weight", "Outlier weight λ", "auto", "0.1235",
    )  # fmt: skip
    assert (half_life.name, half_life.value, half_life.now) == ("forgetting", "500", "")
    assert show.controls(step_of(Estimator(0.5)))[0].now == ""
    assert "auto (from their range)" in weight.help
    assert "forget nothing" in half_life.help
    plain = Estimator()
    del plain.outlier_weight
    assert [control.name for control in show.controls(step_of(plain))] == ["forgetting"]
    show.change(step, "forgetting", 7)
    assert model.changes == [{"forgetting": 7}]


def test_events_are_told_once_in_order():
    show, model = ModelShow(), Estimator()
    step = step_of(model)
    assert show.noticed(step) == []
    model.history_.note([Event(1000, "shift", 0.0123), Event(2000, "replaced", 0.5)])
    told = show.noticed(step)
    assert told[0].startswith("After 1,000 samples the losses rose; ")
    assert told[0].endswith("(p = 0.012).")
    assert told[1] == (
        "After 2,000 samples a rival took over: its loss is 0.5 times that of the parts before."
    )
    assert show.noticed(step) == []
    model.history_.note([Event(3000, "kept", 2.0), Event(3000, "forgetting", 64.0)])
    assert [sentence[:19] for sentence in show.noticed(step)] == ["After 3,000 samples"] * 2


def test_the_last_sample_of_a_batch_is_taken_apart():
    show, model = ModelShow(list("abc")), Estimator()
    X = np.array([[9.0, 9, 9], [2.0, np.nan, 4.0]])
    view = show.view(step_of(model, X))
    rows = view["sample"]["rows"]
    assert rows[0] == ["a", 2.0, 1.0, 1.0]
    assert np.isnan(rows[1][1:]).all()
    assert view["sample"]["said"].startswith("100.0%")
    assert view["parts"]["count"] == 2
    assert "sample" not in show.view(step_of(model))
    assert "sample" not in show.view(step_of(model, X[:0]))
    shaped = ModelShow(shape=(1, 3))
    assert shaped.view(step_of(model, X))["parts"]["kind"] == "pictures"
    assert shaped._white == 4.0
    shaped.view(step_of(model, X[:1]))
    shaped.view(step_of(model, X))
    assert shaped._white == 9.0  # the brightest so far, or pictures would flicker
    other = ModelShow(shape=(2, 3)).view(step_of(model, X))
    assert other["parts"]["kind"] == "bars"
    plain = SimpleNamespace(components_=np.eye(3), transform=lambda X: X / 4, history_=History())
    assert show.view(step_of(plain, X[:1]))["sample"]["rows"][0] == ["a", 9.0, 2.25, 6.75]


class Tuned:
    """A task with a threshold that is above zero."""

    threshold, patience = 3.0, 120

    def set_params(self, **what):
        self.__dict__.update(what)

    def _check_parameters(self):
        if self.threshold <= 0:
            raise ValueError("above zero")


def test_a_parameter_that_is_refused_stays_as_it_was():
    model = Tuned()
    set_parameter(model, "threshold", 5)
    assert model.threshold == 5
    with pytest.raises(ValueError, match="above zero"):
        set_parameter(model, "threshold", -1)
    assert model.threshold == 5


def video_step(light=None):
    frames = np.arange(24.0).reshape(2, 3, 4)
    mask = np.zeros((2, 3, 4), dtype=bool)
    mask[1, 0, :2] = mask[0] = True
    separation = VideoSeparation(frames / 2, frames, mask)
    model = Tuned()
    model.n_frames_seen_, model.n_aligned_, model.light_, model.changes_ = 77, 5, light, []
    return SimpleNamespace(model=model, frames=frames, separation=separation), mask


def test_the_last_frame_of_a_video_is_told_and_shown():
    show = VideoShow()
    step, mask = video_step()
    assert show.about()["curve"] == "of the last frame moves"
    assert [fact["key"] for fact in show.about()["facts"]] == [
        "samples", "rate", "moving", "boxes", "aligned",
    ]  # fmt: skip
    numbers = show.numbers(step)
    assert (numbers["samples"], numbers["aligned"]) == (77, 5)
    assert numbers["moving"] == mask[1].mean()
    assert numbers["boxes"] == len(step.separation.boxes[1])
    view = show.view(step)
    assert "parts" not in view
    names = [one["name"] for one in view["sample"]["pictures"]]
    assert names == ["As it came", "Background", "What moves"]
    frame, background, moves = (pixels(one["source"])[1] for one in view["sample"]["pictures"])
    np.testing.assert_array_equal(frame, np.floor(255 / 23 * step.frames[1] + 1e-4))
    np.testing.assert_array_equal(background, np.floor(255 / 46 * step.frames[1] + 1e-4))
    np.testing.assert_array_equal(moves, 255 * mask[1])
    light = np.ones((2, 3, 4, 1))
    assert show.view(video_step(light)[0])["parts"]["kind"] == "pictures"
    assert show.view(video_step(np.ones((2, 3, 4, 3)))[0])["parts"]["count"] == 2
    assert [(c.name, c.label, c.value) for c in show.controls(step)] == [
        ("threshold", "Threshold k", "3.0"), ("patience", "Patience, in frames", "120"),
    ]  # fmt: skip
    assert all(c.help for c in show.controls(step))
    show.change(step, "threshold", 4)
    assert step.model.threshold == 4


def test_scenes_that_became_another_are_told_once():
    show = VideoShow()
    step, _ = video_step()
    step.model.changes_ = [SimpleNamespace(frame=1000)]
    assert show.noticed(step) == ["At frame 1,000 the scene became another, and was begun anew."]
    assert show.noticed(step) == []
    step.model.changes_ = [*step.model.changes_, SimpleNamespace(frame=5)]
    assert len(show.noticed(step)) == 1


def document_step(novel=True):
    record = SimpleNamespace(text="Comets and comet " + "x" * 1500, id="d")
    reason = SimpleNamespace(unexplained=[("comet", 0.5), ("a.b", 0.2)])
    documents = [SimpleNamespace(record=record, reason=reason, score=2.345, p_value=0.0123)]
    topic = SimpleNamespace(documents=[1, 2], words=list("abcdef"))
    step = SimpleNamespace(
        scores=np.array([1.0, 3.0]), novel=np.array([True, False]), name="w1", topics=[topic],
        records=[None, SimpleNamespace(text="plain")], start=False,
    )  # fmt: skip
    model = SimpleNamespace(
        n_documents_=44, words_=[f"w{k}" for k in range(14)], false_alarm_rate=0.05,
        components_=np.diag(np.arange(1.0, 15)),
    )  # fmt: skip
    return SeenStep(SimpleNamespace(step=step, documents=documents if novel else []), model)


def test_the_most_novel_document_is_shown_with_its_words():
    show, step = NoveltyShow(), document_step()
    assert show.about()["curve"] == "mean novelty score of the step"
    assert [fact["form"] for fact in show.about()["facts"]] == [
        "count", "count", "number", "share", "count",
    ]  # fmt: skip
    assert show.model(step) is step.model
    assert show.numbers(step) == {"samples": 44, "score": 2.0, "novel": 0.5, "words": 14}
    assert show.noticed(step) == ["Step w1: 2 novel documents together, about a, b, c, d, e."]
    view = show.view(step)
    assert view["sample"]["kind"] == "document"
    assert view["sample"]["said"] == "score 2.35, novel (p = 0.012)."
    pieces = view["sample"]["pieces"]
    assert sum(len(text) for text, _ in pieces) == 1500
    assert [text for text, strange in pieces if strange] == ["comet"]
    parts = view["parts"]
    assert (parts["count"], parts["shown"]) == (14, 12)
    assert [one["name"] for one in parts["parts"]] == [f"Direction {k}" for k in range(14, 2, -1)]
    assert parts["parts"][0]["bars"] == [("w13", 1.0)]
    plain = show.view(document_step(novel=False))["sample"]
    assert plain["said"] == "score 3.00, not novel."
    assert plain["pieces"] == [("plain", False)]
    (control,) = show.controls(step)
    assert (control.name, control.label, control.value) == (
        "false_alarm_rate", "False-alarm rate", "0.05",
    )  # fmt: skip
    assert "may be marked all the same" in control.help
    assert marked("A b.c a", ["a", "b.c"]) == [
        ("A", True), (" ", False), ("b.c", True), (" ", False), ("a", True),
    ]  # fmt: skip
