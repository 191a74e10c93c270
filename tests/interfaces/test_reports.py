"""Reports: one self-contained, valid page per model, with the numbers of its data.

Pictures of `thresher.plotting` are legible on light and dark pages, on screens and phones.
"""

import base64
import copy
import io
import re
from contextlib import nullcontext
from html import unescape
from html.parser import HTMLParser
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError

import thresher
from thresher import plotting
from thresher.datasets import make_spectral_scene
from thresher.plotting.style import on_phones
from thresher.tasks.novelty import explained_steps
from thresher.tasks.text.records import records_of
from thresher.tasks.text.steps import DocumentStep

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MARKUP = '<b title="x">&'  # user text that must not become markup
QUIET = {"random_state": 0, "verbose": 0}
VOID = {"img", "link", "meta", "source"}  # elements without an end tag


class Page(HTMLParser):
    """Tags with their attributes, visible text, and the key figures of a page by their meaning."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(html)
        assert not self.open, f"{self.open} are not closed"
        pairs = re.findall("<dd>(.*?)</dd><dt>(.*?)</dt>", html)
        self.facts = {unescape(meaning): unescape(value) for value, meaning in pairs}
        self.text = unescape(re.sub(r"<[^>]+>", " ", html[html.index("<main>") :]))

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names))
        self.tags.append((tag, dict(attrs)))
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def images(self, key):
        """The embedded images of an attribute, as arrays of pixels."""
        given = [attrs[key] for _, attrs in self.tags if key in attrs]
        data = [one.removeprefix("data:image/png;base64,") for one in given]
        return [imread(io.BytesIO(base64.b64decode(png))) for png in data]


def low_rank(n=60, n_features=12, n_components=2):
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, size=(n, n_components)) @ rng.gamma(1.0, size=(n_components, n_features))


# Each case writes a report and returns the key figures and texts that it must state.


def estimator_case(name):
    def write(path):
        X = pd.DataFrame(low_rank(), columns=[f"{MARKUP}{j}" for j in range(12)])
        X.iloc[3, 4] += 20 * X.to_numpy().max()
        model = getattr(thresher, name)()
        given = {"n_components": 2, "max_iter": 20, **QUIET}
        model.set_params(**{key: given[key] for key in model.get_params() if key in given})
        K, F = model.fit(X).components_.shape
        model.report(path, X)
        prediction, facts = np.asarray(model.transform(X)) @ model.components_, {}
        if hasattr(model, "separate"):
            outliers = np.asarray(model.separate(X).outliers)
            share = np.count_nonzero(outliers) / outliers.size
            prediction = prediction + outliers
            if share <= 0.5:
                facts["of the entries are set aside as outliers"] = f"{share:.1%}"
        error = np.linalg.norm(X - prediction) / np.linalg.norm(X)
        facts["relative error of 60 samples, by norm"] = f"{error:.1%}"
        return facts, [f"{K} parts of {F} features", f"{name}(", MARKUP]

    return write


def similarity_case(path):
    X = low_rank()
    thresher.SymmetricManhattanNMF(2, **QUIET).fit(X @ X.T).report(path)
    return {}, ["2 parts of 60 features", "SymmetricManhattanNMF("]


def table_case(path):
    table = np.sin(np.arange(400) / 9)[:, None] * np.arange(1, 6)
    table += 0.05 * np.random.default_rng(0).normal(size=table.shape)
    table[60:81, 1], table[200, 3] = np.nan, 40.0
    frame = pd.DataFrame(table, columns=["a", "b", "c", MARKUP, "e"])
    cleaner = thresher.TableCleaner(**QUIET)
    anomalies = np.asarray(cleaner.clean(frame).flags)
    assert anomalies[200, 3]
    cleaner.report(path, frame)
    facts = {"rows and sensors": "400 × 5", "gaps filled": "21"}
    return facts | {"glitches replaced": f"{anomalies.sum():,}"}, [f"{MARKUP}, 201"]


def codec_case(path):
    steps = np.random.default_rng(0).normal(size=(300, 3))
    Y = np.round(20 + np.cumsum(steps, axis=0), 1)
    codec, names = thresher.SensorCodec(error=0.01), [MARKUP, "b", "c"]
    codec.report(path, Y, names)
    data = codec.compress(Y, names=names)
    error = np.abs(codec.decompress(data)[0] - Y)[:, 1].max()
    return {"bytes": f"{len(data):,}"}, [MARKUP, f"{error:.3g}"]


def choice_case(path):
    model = thresher.OnlineRobustNMF(batch_size=32, n_jobs=1, **QUIET)
    choice = thresher.choose(model, low_rank(120), n_components=[1, 2], n_masks=1, verbose=0)
    assert choice.best_params_["n_components"] == 2
    choice.report(path)
    return {}, ["n_components = 2", "OnlineRobustNMF"]


def recognition_case(path):
    rng = np.random.default_rng(0)
    y = np.array([f"{MARKUP}{k}" for k in range(3)])[np.arange(60) % 3]
    X = np.eye(3)[np.arange(60) % 3] @ rng.random((3, 30)) + 1.5 * rng.random((60, 30))
    model = thresher.FaceRecognizer(thresher.ManhattanNMF(3, **QUIET)).fit(X[:20], y[:20])
    model.report(path, X[20:], y[20:], shape=(5, 6))
    right = model.score(X[20:], y[20:])
    assert right < 1  # mistakes are listed by name
    facts = {"of 40 pictures got their right name": f"{right:.1%}", "known pictures": "20"}
    return facts, [MARKUP]


def segmentation_case(path):
    image = np.zeros((12, 16))
    image[:, 4:] = 1.0
    thresher.ImageSegmenter(2, **QUIET).fit(image).report(path, image)
    return {"pixels": "16 × 12", "is the smallest": "25%"}, ["2 segments", "has 75.0%"]


def images_case(path):
    rng = np.random.default_rng(1)
    scenes = np.kron(rng.random((3, 4, 5)), np.ones((4, 4)))
    images = 200 * np.tensordot(rng.dirichlet(np.ones(3), 6), scenes, 1)
    images = np.where(rng.random(images.shape) < 0.03, 255, images).astype(np.uint8)
    denoiser = thresher.ImageDenoiser(**QUIET).fit(images)
    denoiser.report(path, images)
    replaced = denoiser.denoise(images).mask.mean()
    return {"of their pixels were replaced": f"{replaced:.1%}"}, ["6 photographs"]


def video_case(path):
    rng = np.random.default_rng(0)
    scenes = rng.integers(60, 120, (24, 32)), rng.integers(130, 250, (24, 32))
    frames = np.stack([scenes[t >= 40] + rng.integers(0, 3, (24, 32)) for t in range(60)])
    for t in range(60):
        frames[t, 8:14, t % 32 : t % 32 + 6] = 255
    separator = thresher.VideoSeparator(**QUIET)
    separator.separate(frames.astype(np.uint8))
    separator.report(path)
    return {"frames of 32 × 24 pixels": "60", "scene changes": "1"}, []


def sound_case(path):
    rate, time = 8000, np.arange(16000) / 8000
    sound = 0.5 * np.sin(400 * np.pi * time) * (time < 1.4)
    sound += 0.3 * np.sin(3000 * np.pi * time) * (time > 0.8)
    model = thresher.SoundSeparator(2, window=512, **QUIET).fit(sound, rate=rate)
    model.report(path, sound, rate=rate)
    return {"at 8,000 samples a second": "2.0 s"}, ["2 parts of a recording"]


def spectra_case(path):
    cube = make_spectral_scene(20, 30, 40, n_endmembers=3, random_state=0).cube
    thresher.SpectralUnmixer(3, **QUIET).fit(cube).report(path, cube)
    return {"pixels": "600", "bands": "40"}, ["3 pure spectra"]


def documents(words, n, seed):
    rng = np.random.default_rng(seed)
    return [f"{MARKUP} {' '.join(rng.choice(words, 12))}" for _ in range(n)]


FRUIT = ["apple", "pear", "plum", "cherry", "grape", "fig"]
TOOLS = ["bolt", "nail", "hammer", "saw", "drill", "wrench"]


def topics_case(path):
    texts = documents([*FRUIT, *TOOLS], 60, 0)
    model = thresher.TopicModel(2, **QUIET)
    over_time = model.topics_over_time(texts, size=20)
    model.report(path, texts, over_time)
    facts = {"documents": "60", "steps, from 0 to 2": "3", "events": f"{len(over_time.events)}"}
    return facts | {"different words": f"{len(model.words_)}"}, [MARKUP]


def novelty_case(path):
    parts = [documents(FRUIT, 60, 0), documents(FRUIT, 30, 1) + documents(TOOLS, 2, 2)]
    steps = [DocumentStep(str(k), part, records_of(part, 0)) for k, part in enumerate(parts)]
    detector = thresher.NovelDocumentDetector(4, top_share=1 / 16, **QUIET)
    before = copy.deepcopy(detector).fit(parts[0])
    found = list(explained_steps(detector, steps))
    assert {document.record.place for document in found[1].documents} == {30, 31}
    for document in found[1].documents:  # explained by what was known before the step
        assert document.reason == before.explain(document.record.text)
    detector.report(path, found)
    return {"documents learned from": "92"}, ["2 novel documents", MARKUP]


TASKS = {
    "Choice": choice_case,
    "FaceRecognizer": recognition_case,
    "ImageDenoiser": images_case,
    "ImageSegmenter": segmentation_case,
    "NovelDocumentDetector": novelty_case,
    "SensorCodec": codec_case,
    "SoundSeparator": sound_case,
    "SpectralUnmixer": spectra_case,
    "SymmetricManhattanNMF": similarity_case,
    "TableCleaner": table_case,
    "TopicModel": topics_case,
    "VideoSeparator": video_case,
}
# Of all public classes: a new one is tested as an estimator unless it has a case of its own.
REPORTING = [name for name in dir(thresher) if hasattr(getattr(thresher, name), "report")]
CASES = {name: TASKS.get(name) or estimator_case(name) for name in REPORTING}
NEEDS_FIT = sorted(set(CASES) - {"Choice", "SensorCodec", "TableCleaner"})


@pytest.mark.parametrize("name", CASES)
def test_reports_are_self_contained_and_state_the_planted_numbers(name, tmp_path):
    path = tmp_path / "page.html"
    facts, texts = CASES[name](path)
    assert list(tmp_path.iterdir()) == [path]
    html = path.read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>\n<html lang=")
    page = Page(html)
    assert page.facts.items() >= facts.items(), page.facts
    for text in texts:
        assert text in page.text or any(text in given.get("alt", "") for _, given in page.tags)
    titles = re.search("<title>(.*?)</title>.*<h1>(.*?)</h1>", html, re.DOTALL)
    assert titles[1] == titles[2]
    assert not {"script", "link", "iframe", "object", "b"} & {tag for tag, _ in page.tags}
    assert not re.search(r"@import|url\(", html)
    for _, given in page.tags:
        for key in {"src", "srcset", "href"} & set(given):
            assert given[key].startswith("data:image/png;base64,")
        assert given.get("alt", "-")  # every picture has a description
    assert ("meta", {"name": "color-scheme", "content": "light dark"}) in page.tags
    assert "@media (prefers-color-scheme: dark)" in html
    assert all(picture.size for picture in page.images("src"))
    for picture in page.images("srcset"):  # drawn again for phones
        assert picture.shape[1] <= 700
        assert picture[0, 0, 3] == 0  # the page shines through, light or dark


@pytest.mark.parametrize("name", NEEDS_FIT)
def test_report_before_fit_raises_and_writes_nothing(name, tmp_path):
    data = [np.zeros(800)] if name == "SoundSeparator" else []
    with pytest.raises(NotFittedError):
        getattr(thresher, name)().report(tmp_path / "page.html", *data)
    assert not list(tmp_path.iterdir())


def test_a_path_that_cannot_be_written_raises_and_leaves_nothing(tmp_path):
    model = thresher.OnlineNMF(2, **QUIET).fit(low_rank())
    for path in (tmp_path, tmp_path / "missing" / "page.html"):
        with pytest.raises((OSError, ValueError), match="folder"):
            model.report(path)
    assert not list(tmp_path.iterdir())
    assert model.report(str(tmp_path / "page.html")) == tmp_path / "page.html"


# ------------------------------------------------------------------------------ pictures


def loss_curve():
    loss = 1 + np.random.default_rng(0).random(100)
    names = {"loss_name": "loss per pixel", "legend": ("each batch", "running mean", "truth")}
    return plotting.convergence_curve(np.arange(1, 101) * 32, loss, 0.5, **names)


def frames():
    titles = ["\nvideo", "background\nfound", "foreground\nfound"]
    stack, rows = np.zeros((3, 30, 40)), [f"frame {k}00" for k in range(3)]
    return plotting.frame_grid([stack] * 3, titles, rows, separators=(1, 2))


def atoms():
    return plotting.atom_grid(np.ones((5, 30, 40)), titles=[f"atom {k}" for k in range(5)])


def word_bars():
    words = ["parliament", "vote", "law", "budget", "tax"]
    names, heights = [f"Topic {k}" for k in range(5)], [5.0, 4.0, 3.0, 2.0, 1.0]
    return plotting.bar_panels(names, [words] * 5, [heights] * 5)


def shares():
    return plotting.share_bars(["rain, wind, snow", "goal, match", "vote"], [0.55, 0.3, 0.15])


def profiles():
    titles = [f"part {k}, {k + 3}00 Hz" for k in range(4)]
    return plotting.profile_panels(np.ones((4, 30)), titles, along="frequency", ends=(0, 22050))


def sensors():
    X = np.linspace(900, 1100, 120).reshape(60, 2)
    X[20:30, 1] = np.nan
    filled, bound = np.where(np.isnan(X), 1000.0, X), np.where(np.isnan(X), 990.0, np.nan)
    return plotting.series_panels(["pressure", "roof"], X, filled, bound, bound + 20)


def timeline():
    names, days = ["government, parliament", "goal"], [f"2026-01-{d:02}" for d in range(1, 32)]
    kinds = ("born", "died", "merged", "split", "turned")
    marks = [(k % 2, 3 + 6 * k, kind) for k, kind in enumerate(kinds)]
    return plotting.share_rows(names, days, np.full((2, 31), 0.5), marks)


PICTURES = [loss_curve, frames, atoms, word_bars, shares, profiles, sensors, timeline]


def visible_texts(figure):
    """Texts with their places; without labels of ticks beyond the ends of an axis."""
    figure.canvas.draw()
    hidden = [
        tick.label1
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        if not (axes.axison and min(axis.get_view_interval()) <= tick.get_loc())
        or tick.get_loc() > max(axis.get_view_interval())
    ]
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    return {text: text.get_window_extent() for text in texts if text not in hidden}


def contrast(colour, ground):
    """Contrast ratio of the Web Content Accessibility Guidelines."""

    def luminance(name):
        rgb = np.array(mpl.colors.to_rgb(name))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    darker, lighter = sorted((luminance(colour), luminance(ground)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("screen", [nullcontext, on_phones])
@pytest.mark.parametrize("draw", PICTURES)
def test_texts_of_pictures_are_legible_apart_and_inside(draw, screen):
    with screen():
        figure = draw()
    found = visible_texts(figure)
    assert len(found) > 2
    for text, box in found.items():
        assert min(contrast(text.get_color(), ground) for ground in ("#fdfcfa", "#141619")) > 3
        assert min(box.x0, box.y0) >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    for (one, a), (two, b) in combinations(found.items(), 2):
        assert not a.overlaps(b), (one, two)


def test_pictures_show_their_numbers():
    samples, loss = np.arange(1, 201) * 5.0, 1 + np.random.default_rng(0).random(200)
    (axes,) = plotting.convergence_curve(samples, loss, 0.5).axes
    steps, _, reference = axes.lines
    np.testing.assert_array_equal(steps.get_xydata(), np.column_stack([samples, loss]))
    np.testing.assert_array_equal(reference.get_ydata(), np.full(200, 0.5))
    texts = [
        text.get_text() for text in plotting.share_bars(["a", "b"], [0.25, 0.75]).axes[0].texts
    ]
    assert texts == ["75.0%", "25.0%"]
    images = np.zeros((2, 3, 3))
    images[0] = 0.01  # white, however faint
    for panel, level in zip(plotting.atom_grid(images).axes, (1.0, 0.0), strict=False):
        (image,) = panel.images
        assert image.to_rgba(image.get_array())[1, 1, 0] == pytest.approx(level)
    labels = np.zeros((8, 8), dtype=int)
    labels[4:] = 1
    painted = plotting.paint_boundaries(np.ones((8, 8)), labels, colour=(1, 2, 3), thickness=1)
    np.testing.assert_array_equal((painted == (1, 2, 3)).all(axis=(1, 2)), np.arange(8) == 3)
