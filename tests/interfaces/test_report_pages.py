"""Every public class with ``report`` writes one self-contained page that states true numbers."""

import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import thresher
from thresher.datasets import make_ratings, make_spectral_scene
from thresher.tasks.novelty import explained_steps
from thresher.tasks.text.records import records_of
from thresher.tasks.text.steps import DocumentStep

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MARKUP = '<b title="x">&'  # user text that must not become markup
QUIET = {"random_state": 0, "verbose": 0}


class Page(HTMLParser):
    """Tags with their attributes, visible text, and the key figures of a page by their meaning."""

    def __init__(self, html):
        super().__init__()
        self.tags = []
        self.feed(html)
        pairs = re.findall("<dd>(.*?)</dd><dt>(.*?)</dt>", html)
        self.facts = {unescape(meaning): unescape(value) for value, meaning in pairs}
        self.text = unescape(re.sub(r"<[^>]+>", " ", html[html.index("<main>") :]))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def low_rank(n=60, n_features=12, n_components=2):
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, size=(n, n_components)) @ rng.gamma(1.0, size=(n_components, n_features))


# Each case writes a report and returns the key figures and texts that it must state.


def estimator_case(name):
    def write(path):
        X = pd.DataFrame(low_rank(), columns=[f"{MARKUP}{j}" for j in range(12)])
        model = getattr(thresher, name)()
        given = {"n_components": 2, "max_iter": 20, **QUIET}
        model.set_params(**{key: given[key] for key in model.get_params() if key in given})
        K, F = model.fit(X).components_.shape
        model.report(path, X)
        return {}, [f"{K} parts of {F} features", f"{name}(", MARKUP]

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


def ratings_case(path):
    users, items, ratings, *_ = make_ratings(100, 40, 2500, 1, spam=0.1, random_state=2)
    n, n_users = len(ratings), len(set(users))
    items = np.array([f"{MARKUP}{item}" for item in items], dtype=object)
    model = thresher.RatingModel(2, **QUIET).fit((users, items, ratings))
    model.report(path)
    suspicious = f"{len(model.suspicious_users_)}"
    best = model.items_[np.argmax(model.item_bias_)]
    return {"suspicious users": suspicious}, [f"{n:,} ratings", f"by {n_users} users", str(best)]


def recognition_case(path):
    rng = np.random.default_rng(0)
    y = np.array([f"{MARKUP}{k}" for k in range(3)])[np.arange(60) % 3]
    X = np.eye(3)[np.arange(60) % 3] @ rng.random((3, 30)) + 1.5 * rng.random((60, 30))
    model = thresher.FaceRecognizer(thresher.ManhattanNMF(3, **QUIET)).fit(X[:20], y[:20])
    model.report(path, X[20:], y[20:], shape=(5, 6))
    right = model.score(X[20:], y[20:])
    assert right < 1  # mistakes are listed by name
    facts = {"of 40 pictures got their right name": f"{right:.1%}", "known pictures": "20"}
    known = model.codes_ @ model.model_.components_  # the baseline compares pixels with these
    nearest = ((X[20:, None] - known) ** 2).sum(axis=2).argmin(axis=1)
    return facts, [MARKUP, f"{np.mean(y[:20][nearest] == y[20:]):.1%}"]


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
    moving = separator.separate(frames.astype(np.uint8)).mask.mean()
    separator.report(path)
    facts = {"frames of 32 × 24 pixels": "60", "times the scene became another": "1"}
    return facts | {"of a frame moves, on average": f"{moving:.1%}"}, []


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
    found = list(explained_steps(detector, steps))
    assert {document.record.place for document in found[1].documents} == {30, 31}
    detector.report(path, found)
    return {"documents learned from": "92"}, ["2 novel documents", MARKUP]


TASKS = {
    "Choice": choice_case,
    "FaceRecognizer": recognition_case,
    "ImageDenoiser": images_case,
    "ImageSegmenter": segmentation_case,
    "NovelDocumentDetector": novelty_case,
    "RatingModel": ratings_case,
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
    page = Page(html := path.read_text(encoding="utf-8"))
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
