"""Pages of tasks, block by block: every number is computed again, every section has its reason."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from blocks import blocks_of, facts_of, head_of, headings, section
from thresher import __version__
from thresher.plotting.style import ACCENT, INK, on_phones
from thresher.report import Report
from thresher.tasks.choice.report import choice_report
from thresher.tasks.ratings import beside as beside_ratings
from thresher.tasks.ratings import report as ratings_page
from thresher.tasks.recognition import report as recognition_page
from thresher.tasks.segmentation import report as segmentation_page
from thresher.tasks.sound import report as sound_page
from thresher.tasks.spectra import beside as beside_spectra
from thresher.tasks.spectra import report as spectra_page

PAGES = (ratings_page, recognition_page, segmentation_page, sound_page, spectra_page)


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Figures that a page draws, in order; how they look is tested elsewhere."""
    figures = []
    for module in (*PAGES, __import__("thresher.tasks.choice.report", fromlist=["_"])):
        if hasattr(module, "for_page"):
            monkeypatch.setattr(module, "for_page", lambda draw: figures.append(draw()) or b"png")
    return figures


def no_history(**about):
    return SimpleNamespace(components_=np.ones((2, 6)), **about)


# --------------------------------------------------------------------------------- ratings


def rated(n_items=5, n_suspicious=0, n_users=4):
    """A model of ratings, without what learning it takes."""
    table = np.zeros((n_users, n_items))
    table[0], table[1, : n_items // 2] = 4, 2
    return SimpleNamespace(
        users_=np.array([f"u{k}" for k in range(n_users)]),
        items_=np.array([f"<i{k}>" for k in range(n_items)]),
        suspicious_users_=np.array([f"s{k}" for k in range(n_suspicious)]),
        n_ratings_seen_=12345,
        mean_=3.456,
        user_noise_=np.array([0.1, 0.4, 0.6, 3.0])[:n_users],
        user_bias_=np.array([-1.0, -0.5, 0.5, 1.0])[:n_users],
        item_bias_=np.linspace(-1, 1, n_items)[::-1],
        n_iter_=7,
        _kept=SimpleNamespace(X=sparse.csr_array(table)),
    )


def test_ratings_are_counted_and_items_are_ranked():
    report = ratings_page.ratings_report(rated())
    assert head_of(report) == (
        f"Thresher {__version__} · ratings",
        "12,345 ratings",
        "Of 5 items by 4 users.",
    )
    assert facts_of(report) == [
        ("3.46", "mean rating"),
        ("0.50", "usual distance from what is told"),
        ("0", "suspicious users"),
        ("7", "sweeps"),
    ]
    assert headings(report) == ["Items", "Raters"]
    _, best, worst = section(report, "Items")
    rows = [
        ["<i0>", "+1.00", "2"], ["<i1>", "+0.50", "2"], ["<i2>", "+0.00", "1"],
        ["<i3>", "-0.50", "1"], ["<i4>", "-1.00", "1"],
    ]  # fmt: skip
    assert best[1:] == (["Best", "bias", "ratings"], rows, "")
    assert worst[1:] == (["Worst", "bias", "ratings"], rows[::-1], "")


def test_of_many_items_and_suspects_twelve_are_named():
    for n, more in ((12, ""), (13, " and 1 more")):
        report = ratings_page.ratings_report(rated(n_items=n, n_suspicious=n))
        for table in section(report, "Items")[1:]:
            assert len(table[2]) == 12
        said = blocks_of(report)[-1]
        assert said[1].endswith(": " + ", ".join(f"s{k}" for k in range(12)) + more + ".")
        assert ("13" if more else "12", "suspicious users") in facts_of(report)


def test_noise_and_bias_of_raters_are_two_histograms(drawn):
    model = rated()
    ratings_page.ratings_report(model)
    with on_phones():
        drawn.append(ratings_page._raters(model))
    for figure, columns in zip(drawn, (2, 1), strict=True):
        noise, bias = figure.axes
        for axes, values in ((noise, model.user_noise_), (bias, model.user_bias_)):
            heights, edges = np.histogram(values, 40)
            assert [bar.get_height() for bar in axes.patches] == heights.tolist()
            np.testing.assert_allclose([bar.get_x() for bar in axes.patches], edges[:-1])
            assert all(bar.get_facecolor()[:3] == rgb(ACCENT) for bar in axes.patches)
            assert [s for s in axes.spines if axes.spines[s].get_visible()] == ["left", "bottom"]
            assert {axes.spines[s].get_edgecolor()[:3] for s in ("left", "bottom")} == {rgb(INK)}
            assert axes.patch.get_alpha() == 0
            assert len(axes.get_xticks()) <= 9
        assert noise.get_xlabel() == "noise, in ratings"
        assert bias.get_xlabel() == "gives more than others, in ratings"
        assert (noise.get_ylabel(), bias.get_ylabel()) == ("users", "")
        one, two = noise.get_position(), bias.get_position()
        assert (one.y0 == two.y0, one.x0 == two.x0) == (columns == 2, columns == 1)
        assert one.width == pytest.approx(two.width)
        assert one.height == pytest.approx(two.height)
        assert one.x1 < two.x0 if columns == 2 else one.y0 > two.y1
        for box in (one, two):
            assert 0 < box.x0 < box.x1 < 1
            assert 0 < box.y0 < box.y1 < 1


def rgb(colour):
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


class Likes(BaseEstimator):
    """Tells three for all, and remembers what it was given."""

    seen = ()

    def __init__(self, verbose=1):
        self.verbose = verbose

    def fit(self, ratings):
        type(self).seen = (*ratings, self.verbose)
        return self

    def predict(self, pairs):
        type(self).asked = pairs
        return np.full(len(pairs[0]), 3.0)


def some_ratings(n_users=30, n_items=20):
    rng = np.random.default_rng(3)
    return sparse.csr_array(rng.integers(1, 6, (n_users, n_items)).astype(float))


def test_one_rating_in_twenty_is_hidden_and_told_from_the_others():
    X = some_ratings()
    beside_ratings.tell_means(report := Report("t"), Likes(), X)
    users, items, ratings, verbose = Likes.seen
    told = list(zip(*(part.tolist() for part in Likes.asked), strict=True))
    known = set(zip(users.tolist(), items.tolist(), strict=True))
    assert verbose == 0
    assert len(told) == 600 // 20 == 600 - len(known)
    assert not known & set(told)
    assert (ratings == X.toarray()[users, items]).all()
    truth = X.toarray()[Likes.asked]
    left = sparse.csr_array((ratings, (users, items)), shape=X.shape)
    simple = beside_ratings.by_means(left, *Likes.asked)
    expected = [np.sqrt(np.mean((truth - each) ** 2)) for each in (3.0, simple)]
    ((_, head, rows, how),) = section(report, "Beside a simple alternative")
    assert head == ["", "error", "seconds of learning"]
    assert [row[:2] for row in rows] == [
        ["RatingModel", f"{expected[0]:.3f}"],
        ["means", f"{expected[1]:.3f}"],
    ]
    assert how.startswith("Both learned anew from 570 ratings and told 30 that they had not seen.")


def test_few_ratings_are_not_hidden_and_many_are_thinned(monkeypatch):
    X = some_ratings(20, 20)
    for fewest, sections in ((400, 1), (401, 0)):
        monkeypatch.setattr(beside_ratings, "_FEWEST", fewest)
        beside_ratings.tell_means(report := Report("t"), Likes(), X)
        assert len(headings(report)) == sections
    monkeypatch.setattr(beside_ratings, "_FEWEST", 1)
    monkeypatch.setattr(beside_ratings, "_MOST_RATINGS", 200)
    beside_ratings.tell_means(Report("t"), Likes(), X)
    assert len(Likes.seen[0]) == 190
    alone = sparse.csr_array(np.eye(40))  # nobody who is hidden is known from elsewhere
    beside_ratings.tell_means(report := Report("t"), Likes(), alone)
    assert headings(report) == []


def test_means_add_up():
    """By hand: the mean is 3; item 0 gets one more, item 1 two less; user 0 gives half more."""
    X = sparse.csr_array(np.array([[5.0, 0], [3.0, 1.0]]))
    mean = 3.0
    items = np.array([4.0 - mean, 1.0 - mean])
    users = np.array([5 - mean - items[0], (3 - mean - items[0] + 1 - mean - items[1]) / 2])
    told = beside_ratings.by_means(X, [0, 0, 1, 1], [0, 1, 0, 1])
    np.testing.assert_allclose(
        told, [mean + items[i] + users[u] for u, i in ((0, 0), (0, 1), (1, 0), (1, 1))]
    )


# --------------------------------------------------------------------------------- spectra


def unmixed(bad=(), pure=True):
    spectra = np.array([[1.0, 0.5, 0.25, 0.125], [0.0, 1.0, 1.0, 0.0], [0.3, 0.3, 0.3, 0.9]])
    flags = np.zeros(4, dtype=bool)
    flags[list(bad)] = True
    return SimpleNamespace(
        endmembers_=spectra, bad_bands_=flags, has_pure_pixels_=pure, n_samples_seen_=4321,
        transform=lambda X: np.asarray(X)[..., :3],
    )  # fmt: skip


@pytest.fixture
def alone(monkeypatch):
    """Simple methods beside are tested by themselves; here, with what they are called."""
    calls = []
    for module in PAGES:
        for name in ("tell_means", "tell_plain_spectra", "tell_clusters", "_tell_beside"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, lambda *given: calls.append(given))
    return calls


def test_end_members_are_drawn_with_their_shares_and_maps(drawn, alone):
    model = unmixed(bad=(1, 3))
    cube = np.random.default_rng(0).random((5, 7, 4))
    report = spectra_page.unmixing_report(model, cube)
    assert head_of(report)[:2] == (f"Thresher {__version__} · spectral unmixing", "3 pure spectra")
    assert facts_of(report) == [
        ("4,321", "pixels"), ("4", "bands"), ("2", "of them bad, and bridged"),
        ("pure pixels", "told the end members"),
    ]  # fmt: skip
    assert headings(report) == ["The spectra", "Where they are"]
    picture, said = section(report, "The spectra")
    assert picture[1] == "3 curves along 4 bands"
    assert picture[2].endswith(", with its mean share.")
    assert said == ("p", "Bad bands: 1, 3.")
    assert section(report, "Where they are")[0][1] == "3 maps of the shares of the end members"
    profiles, maps = drawn
    means = cube[..., :3].mean(axis=(0, 1))
    assert [axes.get_title(loc="left") for axes in profiles.axes] == [
        f"end member {k}, {mean:.0%}" for k, mean in enumerate(means)
    ]
    assert profiles.axes[0].get_xlabel() == "band"
    for axes, spectrum in zip(profiles.axes, model.endmembers_, strict=True):
        np.testing.assert_array_equal(axes.patches[0].get_data().values, spectrum)
    assert [axes.get_title() for axes in maps.axes] == ["0", "1", "2"]
    for k, axes in enumerate(maps.axes):
        np.testing.assert_array_equal(axes.images[0].get_array(), cube[..., k])
        assert axes.images[0].get_clim() == (0, 1)
    ((_, given, pixels),) = alone
    assert given is model
    assert pixels is cube


def test_without_pixels_there_are_no_shares_and_of_a_list_no_maps(drawn, alone):
    report = spectra_page.unmixing_report(unmixed(pure=False))
    assert facts_of(report)[2:] == [
        ("0", "of them bad, and bridged"), ("the smallest simplex", "told the end members"),
    ]  # fmt: skip
    assert headings(report) == ["The spectra"]
    assert len(section(report, "The spectra")) == 1  # and no sentence on bad bands
    assert section(report, "The spectra")[0][2].endswith("each on its own scale.")
    assert [axes.get_title(loc="left") for axes in drawn[0].axes][1] == "end member 1"
    assert not alone
    assert headings(spectra_page.unmixing_report(unmixed(), np.ones((9, 4)))) == ["The spectra"]
    assert len(alone) == 1


@pytest.mark.parametrize(("side", "shown"), [(400, (2, 400)), (401, (1, 201))])
def test_maps_are_thinned_beyond_400_pixels(drawn, alone, side, shown):
    spectra_page.unmixing_report(unmixed(), np.random.default_rng(0).random((2, side, 4)))
    assert drawn[1].axes[0].images[0].get_array().shape == shown


def test_angles_are_between_each_pixel_and_its_mixture():
    told = beside_spectra.angles(
        np.array([[1.0, 0], [3, 3], [0, 0]]), np.array([[0, 2.0], [1, 0], [1, 1]])
    )
    np.testing.assert_allclose(told, [np.pi / 2, np.pi / 4, np.pi / 2])


class Halves(BaseEstimator):
    """Takes every pixel for the same mixture: of three, a half, a quarter and a quarter."""

    seen = None

    def __init__(self, n_components=None, verbose=1):
        self.n_components, self.verbose = n_components, verbose
        self.bad_bands_ = np.array([False, False, True, False])
        self.endmembers_ = np.array([[1.0, 0, 9, 0], [0, 1, 9, 0], [0, 0, 9, 1]])

    def fit(self, pixels):
        type(self).seen = (self.n_components, self.verbose, pixels)
        return self

    def transform(self, pixels):
        return np.tile([0.5, 0.25, 0.25], (len(pixels), 1))


def test_mixtures_are_compared_with_those_of_plain_nmf():
    rng = np.random.default_rng(0)
    cube = rng.random((6, 5, 4))
    cube[0, 0, 1], cube[1, 1, 0] = np.nan, -0.5
    beside_spectra.tell_plain_spectra(report := Report("t"), Halves(), cube)
    n_components, verbose, pixels = Halves.seen
    assert (n_components, verbose) == (3, 0)
    assert pixels.shape == (29, 4)
    assert pixels.min() == 0
    good = pixels[:, [0, 1, 3]]
    mixed = np.array([0.5, 0.25, 0.25])
    cosines = good @ mixed / np.linalg.norm(good, axis=1) / np.linalg.norm(mixed)
    ((_, head, rows, how),) = section(report, "Beside a simple alternative")
    assert head[1:] == ["angle to a mixture", "largest share", "seconds of learning"]
    assert rows[0][:3] == ["SpectralUnmixer", f"{np.median(np.arccos(cosines)):.3f}", "50%"]
    from sklearn.decomposition import NMF

    simple = NMF(3, init="nndsvda", max_iter=200)
    W = simple.fit_transform(good)
    shares = W * simple.components_.max(axis=1)
    largest = np.median(shares.max(axis=1) / shares.sum(axis=1))
    told = W @ simple.components_
    angle = np.median(
        np.arccos(
            np.clip(
                (good * told).sum(1) / np.linalg.norm(good, axis=1) / np.linalg.norm(told, axis=1),
                -1,
                1,
            )
        )
    )
    assert rows[1][0] == "NMF"
    assert float(rows[1][1]) == pytest.approx(angle, abs=2e-3)
    assert rows[1][2] == f"{largest:.0%}"
    assert how.startswith("Both with 3 spectra, learned from 29 pixels")


def test_pixels_beyond_4000_are_thinned_and_too_few_are_not_compared(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(beside_spectra, "_MOST_PIXELS", 10)
    for n, kept in ((10, 10), (11, 6), (21, 7)):
        beside_spectra.tell_plain_spectra(Report("t"), Halves(), X := rng.random((n, 4)))
        np.testing.assert_array_equal(Halves.seen[2], X[:: -(-n // 10)])
        assert len(Halves.seen[2]) == kept
    for n, sections in ((3, 0), (4, 1)):
        beside_spectra.tell_plain_spectra(report := Report("t"), Halves(), rng.random((n, 4)))
        assert len(headings(report)) == sections
    beside_spectra.tell_plain_spectra(report := Report("t"), Halves(), np.full((5, 4), np.nan))
    assert headings(report) == []


# ----------------------------------------------------------------------------------- sound


def heard(onsets=((0.5, 1, 0.75),), loud=None):
    """Two parts that last two frames each, of which one has nothing above the third frequency."""
    parts = np.zeros((2, 2, 6))
    parts[0, :, 1], parts[1, 0, 3], parts[1, 1, 4], parts[0, 0, 5] = 1.0, 1.0, 0.03, 0.015
    codes = np.arange(12.0).reshape(6, 2) if loud is None else loud
    model = SimpleNamespace(
        _onsets=lambda codes: [SimpleNamespace(time=t, part=p, rise=r) for t, p, r in onsets],
        _loudness=lambda codes: 2 * codes,
        model_=SimpleNamespace(components_=parts), frequencies_=100.0 * np.arange(6),
        window=1024, rate_=8000, peaks_=[100.4, 300.0],
    )  # fmt: skip
    return model, codes


def test_parts_of_a_recording_have_spectra_loudness_and_onsets(drawn):
    from thresher.tasks.sound.spectrogram import Spectrogram

    model, codes = heard()
    report = sound_page.sound_report(model, codes)
    seconds = Spectrogram(1024, 8000).n_samples(6) / 8000
    assert head_of(report)[:2] == (f"Thresher {__version__} · sound", "2 parts of a recording")
    assert facts_of(report) == [
        (f"{seconds:.1f} s", "at 8,000 samples a second"), ("2", "parts"), ("1", "onsets"),
    ]  # fmt: skip
    assert headings(report) == ["Their spectra", "When they sound", "Onsets"]
    spectra, loudness = drawn
    assert section(report, "Their spectra")[0][1] == "Spectra of 2 parts"
    assert "From 0 to 400 Hz" in section(report, "Their spectra")[0][2]
    assert section(report, "When they sound")[0][1] == "Loudness of 2 parts over time"
    for figure, values, along, last in (
        (spectra, model.model_.components_.sum(axis=1)[:, :5], "frequency in Hz", 400),
        (loudness, 2 * codes.T, "seconds", seconds),
    ):
        for axes, row, title in zip(figure.axes, values, ("100", "300"), strict=True):
            shown = axes.patches[0].get_data()
            np.testing.assert_allclose(shown.values, row)
            np.testing.assert_allclose(shown.edges[[0, -1]], [0, last])
            assert axes.get_title(loc="left").endswith(f", {title} Hz")
        assert figure.axes[-1].get_xlabel() == along
        assert [a.get_title(loc="left")[:6] for a in figure.axes] == ["part 0", "part 1"]
    first, second = (axes.get_position() for axes in loudness.axes)
    assert first.y0 > second.y1  # one below the other
    assert section(report, "Onsets")[0][1:3] == (
        ["time", "part", "rise"],
        [["0.50 s", "1", "0.75"]],
    )


def test_sixty_onsets_are_listed_and_none_have_no_table():
    for n, listed in ((60, 60), (61, 60)):
        model, codes = heard([(k / 10, 0, 0.5) for k in range(n)])
        report = sound_page.sound_report(model, codes)
        rows = section(report, "Onsets")[0][2]
        assert [row[0] for row in rows] == [f"{k / 10:.2f} s" for k in range(listed)]
        assert (str(n), "onsets") in facts_of(report)
    assert headings(sound_page.sound_report(*heard(onsets=()))) == [
        "Their spectra",
        "When they sound",
    ]


@pytest.mark.parametrize(("n", "group"), [(300, 1), (301, 2), (600, 2), (601, 3)])
def test_bars_of_a_panel_are_the_largest_of_their_group(n, group):
    rows = np.random.default_rng(0).random((2, n))
    found = sound_page._coarse(rows)
    expected = [[row[k : k + group].max() for k in range(0, n, group)] for row in rows]
    np.testing.assert_array_equal(found, expected)


# --------------------------------------------------------------------------- segmentation


def cut(height=4, width=6, history=None):
    labels = np.zeros((height, width), dtype=int)
    labels[:, width // 2 :] = 1
    labels[-1] = 2
    about = {} if history is None else {"history_": history}
    return SimpleNamespace(
        labels_=labels, superpixels_=np.arange(height * width).reshape(height, width) % 11,
        n_segments=3, model_=SimpleNamespace(**about),
    )  # fmt: skip


def test_segments_have_areas_and_mean_colours(monkeypatch, alone):
    pictures = []
    monkeypatch.setattr(segmentation_page, "_png", lambda p: pictures.append(p) or b"png")
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)
    model = cut()
    report = segmentation_page.segment_report(model, image)
    assert head_of(report)[:2] == (f"Thresher {__version__} · segmentation", "3 segments")
    assert facts_of(report) == [
        ("6 × 4", "pixels"), ("11", "patches, every pair of which was compared"),
        ("38%", "of the picture is the largest segment"), ("25%", "is the smallest"),
    ]  # fmt: skip
    assert headings(report) == ["The segments", "Each in its mean colour"]
    (border,) = section(report, "The segments")
    assert border[1:] == (
        "The picture, with the borders of 3 segments drawn in",
        "Borders of the segments.",
    )
    (flat,) = section(report, "Each in its mean colour")
    assert flat[1:] == (
        "3 areas, each of one colour",
        "Segments are numbered from 0, as they first appear: "
        "0 has 37.5%, 1 has 37.5%, 2 has 25.0%.",
    )
    from thresher.plotting import paint_boundaries

    np.testing.assert_array_equal(pictures[0], paint_boundaries(image, model.labels_))
    for number in range(3):
        here = model.labels_ == number
        colour = np.rint(image[here].mean(axis=0))
        assert np.abs(pictures[1][here] - colour).max() <= 1
    ((_, pixels, labels, seconds),) = alone
    np.testing.assert_allclose(pixels, image / 255)
    assert labels is model.labels_
    assert np.isnan(seconds)


def test_segments_alone_have_greys_and_a_history_is_told(monkeypatch, alone):
    from thresher.engine import History, HistoryRow

    pictures = []
    monkeypatch.setattr(segmentation_page, "_png", lambda p: pictures.append(p) or b"png")
    history = History()
    history.append(HistoryRow(9, 1.5, 2.0, 0.1, 0.1))
    model = cut(history=history)
    report = segmentation_page.segment_report(model)
    assert headings(report) == ["The segments", "How it learned"]
    assert section(report, "How it learned")[0][1] == ["", "the only round"]
    greys = np.rint(255 * np.array([0.15, 0.525, 0.9]))
    np.testing.assert_array_equal(
        pictures[0], np.repeat(greys[model.labels_][..., None], 3, axis=2)
    )
    assert not alone
    segmentation_page.segment_report(model, np.random.default_rng(0).random((4, 6)))
    assert alone[0][3] == 1.5
    grey = pictures[-1]
    assert (grey[..., 0] == grey[..., 2]).all()


@pytest.mark.parametrize(("width", "shown"), [(1200, 1200), (1201, 601)])
def test_large_pictures_are_thinned_on_the_page(monkeypatch, alone, width, shown):
    pictures = []
    monkeypatch.setattr(segmentation_page, "_png", lambda p: pictures.append(p) or b"png")
    segmentation_page.segment_report(cut(4, width), np.zeros((4, width)))
    assert [picture.shape[1] for picture in pictures] == [shown] * 2


# ----------------------------------------------------------------------------- recognition


def known(n_names=3, **about):
    names = np.array([f"n{k}" for k in range(n_names)])
    return SimpleNamespace(
        codes_=np.eye(n_names), classes_=names, model_=no_history(**about), n_neighbors=1,
        predict=lambda X: names[np.asarray(X, dtype=int)[:, 0]],
    )  # fmt: skip


def test_mistakes_are_counted_the_most_frequent_first(monkeypatch, alone):
    monkeypatch.setattr(recognition_page, "tell_atoms", lambda report, model, shape: None)
    y = np.array(["n0", "n0", "n0", "n1", "n1", "n2"])
    X = np.array([[0], [1], [1], [1], [2], [2]])
    report = recognition_page.recognition_report(known(), X, y, None)
    assert head_of(report)[:2] == (
        f"Thresher {__version__} · recognition",
        "3 names, from 3 pictures",
    )
    assert facts_of(report) == [
        ("50.0%", "of 6 pictures got their right name"), ("3", "known pictures"), ("3", "names"),
        ("2", "parts"),
    ]  # fmt: skip
    assert headings(report) == ["The parts", "Who is taken for whom"]
    ((_, head, rows, caption),) = section(report, "Who is taken for whom")
    assert head == ["is", "was called", "times"]
    assert rows == [["n0", "n1", "2"], ["n1", "n2", "1"]]
    assert caption.endswith("12 at most.")
    assert alone[0][4] == 0.5


def test_without_pictures_or_names_nothing_is_judged(monkeypatch, alone):
    monkeypatch.setattr(recognition_page, "tell_atoms", lambda report, model, shape: None)
    y = np.array(["n0"])
    for X, names in ((None, None), (np.zeros((1, 1)), None), (None, y)):
        report = recognition_page.recognition_report(known(), X, names, None)
        assert headings(report) == ["The parts"]
        assert len(facts_of(report)) == 3
    right = recognition_page.recognition_report(known(), np.zeros((1, 1)), y, None)
    assert section(right, "Who is taken for whom") == [("p", "No name was mistaken.")]


def test_of_many_pairs_twelve_are_shown(monkeypatch, alone):
    monkeypatch.setattr(recognition_page, "tell_atoms", lambda report, model, shape: None)
    y = np.array([f"n{k}" for k in range(20)])
    X = (np.arange(20)[:, None] + 1) % 20
    report = recognition_page.recognition_report(known(20), X, y, None)
    assert len(section(report, "Who is taken for whom")[0][2]) == 12


@pytest.mark.parametrize(("online", "step"), [(True, "step"), (False, "round")])
def test_learning_of_parts_is_told_in_steps_or_rounds(monkeypatch, online, step):
    from thresher.engine import History, HistoryRow

    monkeypatch.setattr(recognition_page, "tell_atoms", lambda report, model, shape: None)
    history = History()
    history.append(HistoryRow(9, 1.5, 2.0, 0.1, 0.1))
    about = {"history_": history, "tol": 0.25} | ({"partial_fit": None} if online else {})
    report = recognition_page.recognition_report(known(**about), None, None, None)
    table = section(report, "How it learned")[0]
    assert table[1] == ["", f"the only {step}"]
    assert "to tol=0.25" in table[3]


# ---------------------------------------------------------------------------------- choice


def test_a_choice_shows_all_candidates_and_what_columns_measure(drawn):
    table = {
        "n_components": [2, 3], "error": np.array([0.5, 0.25]),
        "standard_error": np.array([0.1, 0.2]),
        "behind": np.array([0.25, 0.0]), "behind_error": np.array([0.01, 0.0]),
        "stability": np.array([np.nan, 0.876]), "seconds": np.array([1.25, 2.5]),
    }  # fmt: skip
    choice = SimpleNamespace(
        table_=table, best_index_=1, best_params_={"n_components": 3, "forgetting": None},
        rule="lowest", name="OnlineNMF", plot=lambda: "figure",
    )  # fmt: skip
    report = choice_report(choice)
    assert head_of(report) == (
        f"Thresher {__version__} · choice for OnlineNMF",
        "n_components = 3, forgetting = None",
        "The settings whose models tell hidden entries best.",
    )
    assert facts_of(report) == [
        ("0.25", "is how far hidden entries are off on average"),
        ("0.88", "of the parts stay the same"), ("2", "candidates were tried"),
        ("3.8 s", "for all of them"),
    ]  # fmt: skip
    assert drawn == ["figure"]
    assert headings(report) == [
        "Errors of hidden entries", "All candidates", "What the columns measure",
    ]  # fmt: skip
    assert section(report, "All candidates")[0][1:3] == (
        list(table),
        [["2", "0.5", "0.1", "0.25", "0.01", "nan", "1.25"],
         ["3", "0.25", "0.2", "0", "0", "0.876", "2.5"]],
    )  # fmt: skip
    measures = section(report, "What the columns measure")[0][1]
    assert [name for name, _ in measures] == list(table)[1:]
    choice.rule, choice.best_index_ = "one_se", 0
    other = choice_report(choice)
    assert head_of(other)[2].startswith("The fewest parts")
    assert len(facts_of(other)) == 3  # how stable it is nobody knows
    assert facts_of(other)[0][0] == "0.5"
