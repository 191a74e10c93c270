"""What reports and pictures actually show: pages are parsed, pixels are read."""

import base64
import io
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from sklearn.decomposition import NMF

from thresher import TopicModel
from thresher.metrics import psnr, relative_error, topic_coherence
from thresher.plotting import (
    atom_grid,
    bar_panels,
    convergence_curve,
    frame_grid,
    paint_boundaries,
    share_bars,
    to_png,
)
from thresher.plotting.style import ACCENT
from thresher.report import Report
from thresher.tasks.demo.foreground import automatic_threshold, best_f1
from thresher.tasks.demo.report import demo_report
from thresher.tasks.demo.result import DemoPictures, DemoResult, Measures, TakenApart
from thresher.tasks.demo.run import N_COMPONENTS, run_demo


class Page(HTMLParser):
    """Texts of a page by tag, its tables row by row, and its pictures."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.rows, self.pictures = {}, [], []
        self._open = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            found = dict(attrs)
            png = base64.b64decode(found["src"].removeprefix("data:image/png;base64,"))
            self.pictures.append((found["alt"], png))
        elif tag not in {"meta", "link"}:
            self._open.append(tag)
            self.rows += [[]] if tag == "tr" else []

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        tag = next((t for t in reversed(self._open) if t != "strong"), "")
        if tag in {"th", "td"}:
            self.rows[-1].append(data)
        elif data.strip():
            self.texts.setdefault(tag, []).append(data)

    @property
    def facts(self):
        return list(zip(self.texts["dd"], self.texts["dt"], strict=True))


def pixels(png):
    return imread(io.BytesIO(png))


def panels(png, axes_of):
    """The pixels in the middle of every axes of the figure that was drawn."""
    picture = pixels(png)
    height, width = picture.shape[:2]
    found = []
    for axes in axes_of.axes:
        place = axes.get_position()
        x, y = (place.x0 + place.x1) / 2, 1 - (place.y0 + place.y1) / 2
        found.append(picture[int(y * height), int(x * width)])
    return np.array(found)


# ------------------------------------------------------------------------------ the builder


def test_blocks_stand_in_their_order_and_tags():
    page = Report("Title", "lead", "kicker").heading("head").paragraph("text").code("  a < b\n")
    page.facts([("1", "one"), ("2", "two")])
    page.table(["", "a", "b"], [["r", "1", "2"], ["s", "3", "4"]], caption="below", emphasis=2)
    page.picture((b"bytes", b"small"), "what is seen", "caption").footnote("small")
    html = page.html()
    found = Page(html)
    assert found.texts["title"] == found.texts["h1"] == ["Title"]
    assert found.texts["p"] == ["kicker", "lead", "text", "small"]
    assert found.texts["h2"] == ["head"]
    assert found.texts["code"] == ["a < b"]
    assert found.facts == [("1", "one"), ("2", "two")]
    assert found.rows == [["a", "b"], ["r", "1", "2"], ["s", "3", "4"]]
    assert "<strong>2</strong>" in html
    assert html.count("<strong>") == 2
    assert found.pictures == [("what is seen", b"bytes")]
    assert found.texts["figcaption"] == ["below", "caption"]
    small = base64.b64encode(b"small").decode()
    assert f'media="(max-width: 560px)" srcset="data:image/png;base64,{small}">' in html
    assert '<div class="scroll" tabindex="0"' in html
    assert '<th scope="col"></th>' not in html  # a head without a word is none
    plain = Report("Title").picture(b"", "").html()
    assert "<picture><img" in plain
    assert "figcaption>" not in plain
    assert Page(plain).texts.get("p") is None  # neither kicker nor lead


# ---------------------------------------------------------------------------------- topics

GROUPS = [["apple", "pear", "plum"], ["bolt", "nail", "screw"]]
TEXTS = [
    " ".join([GROUPS[k % 2 if k < 6 else 0][j % 3] for j in range(k, k + 9)]) for k in range(10)
]


@pytest.fixture(scope="module")
def topics():
    factoriser = NMF(2, init="nndsvda", beta_loss="kullback-leibler", solver="mu", max_iter=300)
    return TopicModel(model=factoriser, vectorizer=None).fit(TEXTS)


def test_a_report_of_topics_says_what_the_model_says(topics, tmp_path):
    texts = [*TEXTS, "apple bolt apple apple nail " + "pear " * 60]
    page = Page(topics.report(tmp_path / "topics.html", texts).read_text(encoding="utf-8"))
    shares = np.asarray(topics.transform(texts))
    coherence = topics.coherence(texts)
    names = [topic.name for topic in topics.topics_]
    order = np.argsort(-shares.mean(axis=0), kind="stable")
    assert list(order) == [0, 1] or list(order) == [1, 0]
    assert page.texts["h1"] == ["2 topics in 11 documents"]
    assert page.facts == [
        ("11", "documents"),
        (str(len(topics.words_)), "different words"),
        (f"{shares.max(axis=1).mean():.0%}", "of a document is its main topic, on average"),
        (f"{coherence.mean:.2f}".replace("-", "−"), "mean coherence, from −1 to 1"),
    ]
    main = shares.argmax(axis=1)
    assert page.rows[0] == ["Topic", "Main topic of", "Coherence"]
    assert page.rows[1:3] == [
        [names[k], str((main == k).sum()), f"{coherence.per_topic[k]:.2f}".replace("-", "−")]
        for k in order
    ]
    assert sum(int(row[1]) for row in page.rows[1:3]) == 11
    (sizes, bars), (words, wordbars) = page.pictures
    assert bars == to_png(share_bars(names, shares.mean(axis=0).tolist()))
    for name, share in zip(names, shares.mean(axis=0), strict=True):
        assert f"{name} {share:.1%}" in sizes
    ordered = [topics.topics_[k] for k in order]
    labels, lengths = [t.words for t in ordered], [t.weights for t in ordered]
    assert wordbars == to_png(bar_panels([t.name for t in ordered], labels, lengths))
    for topic in topics.topics_:
        assert f"{topic.name}: {', '.join(topic.words)}" in words
    typical = [text for text in page.texts["p"] if "“" in text]
    for text, k in zip(typical, order, strict=True):
        best = int(shares[:, k].argmax())
        assert text.startswith(f"{names[k]} ({shares[best, k]:.0%}): “{texts[best][:30]}")
    assert f"{len(topics.words_):,} words; NMF with 2 components." in page.texts["p"]
    assert "model.fit(documents)" not in page.texts["code"][0]  # but in one line with its class
    assert page.texts["code"][0].endswith(".fit(documents)")


def test_excerpts_end_with_a_word_and_join_paragraphs(topics, tmp_path):
    long = "apple pear plum " * 30
    texts = [long, "bolt nail\n\nscrew\n bolt  nail screw"]
    page = Page(topics.report(tmp_path / "topics.html", texts).read_text(encoding="utf-8"))
    excerpts = [text.split("“")[1].rstrip("”") for text in page.texts["p"] if "“" in text]
    assert "bolt nail · screw bolt nail screw" in excerpts
    cut = next(text for text in excerpts if text.endswith(" …"))
    assert len(cut) <= 162
    assert long.startswith(cut.removesuffix(" …") + " ")
    exact = ("apple pear plum " * 10).strip()[:160]
    page = Page(topics.report(tmp_path / "t.html", [exact, "bolt"]).read_text(encoding="utf-8"))
    assert any(f"“{exact}”" in text for text in page.texts["p"])


@pytest.mark.parametrize("n_words", [2, 3, 5])
def test_coherence_counts_the_words_that_were_asked_for(topics, n_words):
    """Words of a topic beyond the first ``n_words`` have no influence, those before have."""
    counts = topics._counter.counts(TEXTS)
    if topics.tfidf_ is not None:
        counts = counts[:, topics.tfidf_.selected_]
    found = topics.coherence(TEXTS, n_words=n_words)
    weights = topics.components_
    tops = [np.argsort(-row, kind="stable")[:n_words] for row in weights]
    only = np.zeros_like(weights)
    for k, top in enumerate(tops):
        only[k, top] = weights[k, top]
    expected = topic_coherence(only, counts, weights.shape[1])
    np.testing.assert_allclose(found.per_topic, expected.per_topic)
    assert found.mean == pytest.approx(np.nanmean(expected.per_topic))


def test_coherence_falls_where_strange_words_begin():
    """Two words that always meet, then two that never meet them."""
    X = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    weights = [[0.4, 0.3, 0.2, 0.1]]
    assert topic_coherence(weights, X, 2).mean == pytest.approx(1.0)
    assert topic_coherence(weights, X, 3).mean == pytest.approx((1 - 1 - 1) / 3)
    assert topic_coherence(weights, X, 4).mean == pytest.approx((1 - 5) / 6)
    words = [["a", "b", "c", "d"]]
    for n_words in (2, 3, 4):
        by_words = topic_coherence(words, X, n_words, vocabulary=list("abcd"))
        assert by_words.mean == pytest.approx(topic_coherence(weights, X, n_words).mean)


# --------------------------------------------------------------------------- demonstration


def invented_result():
    """Every number and every picture another one."""
    n, height, width = 40, 6, 8
    frames = np.empty((n, height, width), dtype=np.uint8)
    frames[:] = np.arange(n)[:, None, None] * 2 + 20
    moving = np.zeros(frames.shape, dtype=bool)
    moving[[1, 9, 17, 25, 33]] = True  # one moment in each part
    mask = moving.copy()
    mask[:, :, 5:] = False  # five eighths of what moves are seen

    def level(value):
        return np.full(frames.shape, value, dtype=np.float32)

    ours = Measures(31.4, 0.0123, 0.91, 0.82, 0.86, 0.88, 1234.0, 5678.0)
    peer = Measures(21.7, 0.0456, 0.51, 0.42, 0.46, 0.48, 234.0, 678.0)
    return DemoResult(
        scene=SimpleNamespace(frames=frames, foreground=moving, background=level(0)),
        thresher=TakenApart(level(110), level(-45), ours),
        minibatch_nmf=TakenApart(level(150), level(60), peer),
        mask=mask,
        atoms=np.stack([np.eye(height, width, k=k, dtype=np.float32) * (k + 1) for k in range(6)]),
        samples=np.arange(1, 5) * 10,
        loss=np.array([480.0, 240.0, 120.0, 60.0]),
        loss_of_truth=np.array([48.0, 24.0, 12.0, 6.0]),
    )


def test_the_demonstration_tells_its_measures():
    page = Page(demo_report(invented_result()).html())
    assert page.facts == [
        ("31.4 dB", "PSNR of the background; MiniBatchNMF 21.7 dB"),
        ("0.86", "F1 of moving objects; MiniBatchNMF 0.46"),
        ("1,234", "frames learned per second, on one thread"),
        ("5,678", "frames separated per second, on one thread"),
    ]
    assert [row[-2:] for row in page.rows] == [
        ["Thresher", "MiniBatchNMF"],
        ["31.4", "21.7"],
        ["1.2%", "4.6%"],
        ["0.91", "0.51"],
        ["0.82", "0.42"],
        ["0.86", "0.46"],
        ["0.88", "0.48"],
        ["0.77", "–"],
        ["1,234", "234"],
        ["5,678", "678"],
    ]
    names = [row[0].lower() for row in page.rows[1:]]
    words = ["psnr", "error", "precision", "recall", "f1", "best", "videoseparator"]
    words += ["learning", "separating"]
    assert all(word in name for name, word in zip(names, words, strict=True))
    lead = next(text for text in page.texts["p"] if "frames go by" in text)
    assert "40 frames" in lead
    assert "within 1.2%" in lead
    assert "is 4.6% off" in lead
    assert "40 frames of 8 × 6 pixels" in page.texts["p"][-1]
    assert "VideoSeparator" in page.texts["code"][0]


def test_the_demonstration_shows_what_was_found():
    """Grey levels in the pictures are those of the video at its five moments."""
    result = invented_result()
    moments = [1, 9, 17, 25, 33]
    page = Page(demo_report(result).html())
    pictures = [png for _, png in page.pictures]
    drawn = result.pictures()
    drawn = DemoPictures(drawn.frames[0], drawn.atoms[0], drawn.convergence[0])  # of a page
    assert pictures == [drawn.frames, drawn.atoms, drawn.convergence]
    stack = np.zeros((5, 6, 8))
    figure = frame_grid([stack] * 6, ["\n"] * 6, ["frame"] * 5, separators=(1, 4))
    shown = np.rint(255 * panels(drawn.frames, figure)[:, 0]).reshape(5, 6)
    expected = [[20 + 2 * t, 110, 90, 255, 150, 120] for t in moments]
    np.testing.assert_allclose(shown, expected, atol=1.5)
    curve = convergence_curve(
        result.samples, result.loss / 48, result.loss_of_truth / 48,
        sample_name="frames seen", loss_name="loss per pixel",
        legend=("each batch", "running mean", "true background"),
    )  # fmt: skip
    assert drawn.convergence == to_png(curve)
    assert drawn.atoms == to_png(atom_grid(result.atoms))


def test_measures_of_the_demonstration_are_those_of_its_videos():
    result = run_demo(3, quick=True)
    scene = result.scene
    for found in (result.thresher, result.minibatch_nmf):
        measures = found.measures
        assert measures.psnr == pytest.approx(psnr(scene.background, found.background, 255.0))
        assert measures.relative_error == pytest.approx(
            relative_error(scene.background, found.background)
        )
        harmonic = 2 * measures.precision * measures.recall / (measures.precision + measures.recall)
        assert measures.f1 == pytest.approx(harmonic)
    # What is left of a frame is foreground and noise; for the peer it is all foreground.
    peer = result.minibatch_nmf
    np.testing.assert_allclose(peer.background + peer.foreground, scene.frames, atol=1e-2)
    rest = scene.frames - result.thresher.background - result.thresher.foreground
    assert np.abs(rest).max() < 0.2 * np.abs(result.thresher.foreground).max()
    assert result.loss[-10:].mean() < 2 * result.loss_of_truth[-10:].mean()
    assert (result.loss_of_truth > 0).all()
    assert result.atoms.shape == (N_COMPONENTS, *scene.frames.shape[1:])


# -------------------------------------------------------------------------------- pictures


def test_frames_are_shown_between_the_limits_in_colour_too():
    grey = np.stack([np.full((4, 5), 20.0), np.full((4, 5), 60.0)])
    colour = np.zeros((2, 4, 5, 3), dtype=np.uint8)
    colour[0, ..., 0], colour[1, ..., 2] = 200, 100
    figure = frame_grid([grey, colour], ["a", "b"], ["1", "2"], limits=(20.0, 100.0))
    found = np.rint(255 * panels(to_png(figure), figure)[:, :3])
    expected = [[0, 0, 0], [200, 0, 0], [127.5] * 3, [0, 0, 100]]
    np.testing.assert_allclose(found, expected, atol=1.5)
    texts = [text.get_text() for text in figure.texts]
    assert texts == ["1", "2"]
    assert [axes.get_title() for axes in figure.axes] == ["a", "b", "", ""]
    first, second, below, _ = (axes.get_position() for axes in figure.axes)
    assert first.x1 < second.x0
    assert below.y1 < first.y0
    # Pixels are square, whatever the shape of an image.
    width, height = figure.get_size_inches()
    assert first.width * width / (first.height * height) == pytest.approx(5 / 4)


def test_separators_widen_the_gap_before_their_column():
    stack = np.zeros((1, 4, 4))
    figure = frame_grid([stack] * 3, ["a", "b", "c"], ["1"], separators=(2,))
    places = [axes.get_position() for axes in figure.axes]
    near, far = places[1].x0 - places[0].x1, places[2].x0 - places[1].x1
    assert far == pytest.approx(3 * near)
    assert places[-1].x1 == pytest.approx(1.0)


def test_atoms_go_from_black_to_their_own_brightest():
    atoms = np.zeros((4, 3, 3))
    atoms[0] = 0.01  # white, however faint
    atoms[1, 1, 1], atoms[1, 0, 0] = 1.0, 2.0  # half as bright in the middle
    figure = atom_grid(atoms, titles=list("wxyz"), n_columns=2)
    found = np.rint(255 * panels(to_png(figure), figure)[:, 0])
    np.testing.assert_allclose(found, [255, 127.5, 0, 0], atol=1.5)
    assert [axes.get_title() for axes in figure.axes] == list("wxyz")
    places = [axes.get_position() for axes in figure.axes]
    assert places[0].x0 == places[2].x0 < places[1].x0 == places[3].x0
    assert places[0].y0 == places[1].y0 > places[2].y0 == places[3].y0
    with pytest.raises(ValueError, match="as many titles"):
        atom_grid(atoms, titles=["a"])


def test_a_picture_is_transparent_beside_its_panels():
    stack = np.full((1, 4, 4), 255.0)
    figure = frame_grid([stack, stack], ["a", "b"], ["1"], separators=(1,))
    picture = pixels(to_png(figure))
    assert picture[0, 0, 3] == 0
    assert picture.shape[1] == pytest.approx(8.0 * 160, abs=1)
    assert pixels(to_png(figure, dpi=80)).shape[1] == pytest.approx(8.0 * 80, abs=1)
    assert panels(to_png(figure), figure)[:, 3].min() == 1


def test_the_curve_is_the_loss_its_mean_and_the_reference():
    rng = np.random.default_rng(0)
    samples, loss = np.arange(1, 201) * 5.0, 1 + rng.random(200)
    figure = convergence_curve(samples, loss, 0.5, legend=("x", "y", "z"), loss_name="loss")
    (axes,) = figure.axes
    steps, mean, reference = axes.lines
    for line in axes.lines:
        np.testing.assert_array_equal(line.get_xdata(), samples)
    np.testing.assert_array_equal(steps.get_ydata(), loss)
    np.testing.assert_array_equal(reference.get_ydata(), np.full(200, 0.5))
    # Five steps to either side, a twentieth in all; fewer at the ends.
    around = [loss[max(k - 5, 0) : k + 6].mean() for k in range(200)]
    np.testing.assert_allclose(mean.get_ydata(), around)
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["x", "y", "z"]
    # Small, and close above the curves: in line with the title.
    assert legend.get_texts()[0].get_fontsize() < axes.title.get_fontsize()
    assert (legend.borderpad, legend.borderaxespad) == (0.1, 0.2)
    assert axes.get_title(loc="left") == "loss"
    assert axes.get_xlabel() == "samples seen"
    assert axes.xaxis.get_major_formatter()(12345.0) == "12\u2009345"
    with pytest.raises(ValueError, match="one number per step"):
        convergence_curve(samples, loss[1:])


def test_bars_have_their_length_place_and_words():
    figure = share_bars(["few", "many"], [0.25, 0.75])
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["75.0%", "25.0%"]
    picture = pixels(to_png(figure))
    wheat = np.abs(picture[..., :3] - np.array(to_rgb(ACCENT))).max(axis=-1) < 0.02
    wheat &= picture[..., 3] == 1
    lengths = wheat.sum(axis=1)
    top, bottom = np.array_split(lengths, 2)
    assert np.median(top[top > 0]) == pytest.approx(3 * np.median(bottom[bottom > 0]), rel=0.02)
    panelled = bar_panels(["one", "two"], [["a", "b" * 40], ["c"]], [[3, 1], [2]])
    first, second = panelled.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["a", "b" * 15 + "…"]
    assert [text.get_text() for text in panelled.texts] == ["one", "two"]
    assert first.get_ylim() == second.get_ylim() == (1.5, -0.5)
    assert first.get_position().x1 < second.get_position().x0


def test_boundaries_are_painted_between_segments():
    labels = np.zeros((8, 8), dtype=int)
    labels[4:, :] = 1
    labels[4:, 4:] = 2
    image = np.linspace(0, 1, 64).reshape(8, 8)
    thin = paint_boundaries(image, labels, colour=(1, 2, 3), thickness=1)
    painted = (thin == (1, 2, 3)).all(axis=-1)
    expected = np.zeros((8, 8), dtype=bool)
    expected[3, :] = True  # above the border
    expected[4:, 3] = True  # left of it
    np.testing.assert_array_equal(painted, expected)
    grey = np.rint(255 * image).astype(np.uint8)
    np.testing.assert_array_equal(thin[~painted], np.repeat(grey[~painted][:, None], 3, axis=1))
    thick = (paint_boundaries(image, labels, colour=(1, 2, 3)) == (1, 2, 3)).all(axis=-1)
    assert thick[expected].all()
    assert thick[:, :2].sum(axis=0).tolist() == [2, 2]
    assert not (paint_boundaries(image, np.zeros((8, 8))) == (192, 131, 24)).all(axis=-1).any()
    with pytest.raises(ValueError, match="one entry for each pixel"):
        paint_boundaries(image, labels[1:])


# -------------------------------------------------------------------------------- foreground


def test_the_best_threshold_is_the_best_of_all():
    rng = np.random.default_rng(1)
    truth = rng.random((3, 20, 20)) < 0.2
    levels = np.clip(rng.normal(60, 30, truth.shape) + 60 * truth, 0, 255).astype(np.uint8)

    def f1(threshold):
        found = levels > threshold
        return 2 * (found & truth).sum() / (found.sum() + truth.sum())

    assert best_f1(truth, levels) == pytest.approx(max(f1(t) for t in range(-1, 256)))

    def entropy(threshold):
        """Li's cross entropy, class by class, from the pixels themselves."""
        total = 0.0
        for part in (levels[levels <= threshold], levels[levels > threshold]):
            if part.size and part.any():
                total -= part.sum(dtype=float) * np.log(part.mean())
        return total

    best = min(range(256), key=entropy)
    assert entropy(automatic_threshold(levels)) == pytest.approx(entropy(best))


def test_topics_are_drawn_for_a_page_and_for_a_phone(tmp_path):
    texts = ["red blue green", "blue green red", "iron nail bolt", "nail bolt iron"] * 3
    topics = TopicModel(2, random_state=0, verbose=0).fit(texts)
    page = topics.report(tmp_path / "topics.html", texts).read_text(encoding="utf-8")
    phones = re.findall('srcset="data:image/png;base64,([^"]+)"', page)
    widths = [imread(io.BytesIO(base64.b64decode(png))).shape[1] for png in phones]
    assert widths == [680] * 3  # shares, words, how it learned: twice the pixels of a small screen
    assert page.count("<img") == 3
