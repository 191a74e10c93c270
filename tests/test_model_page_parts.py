"""The page of a model, block by block: what is measured, shown, left out, and in which words."""

import re

import numpy as np
import pytest
from scipy import sparse

import thresher
from thresher.engine import Event, History, HistoryRow
from thresher.estimators.page import model_lines, model_page, tell_learning
from thresher.plotting import bar_panels, convergence_curve, frame_grid, profile_panels, share_bars
from thresher.report import Report, tell_run, versions
from thresher.testing.data import planted


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Figures that a page draws, in order; drawing itself is tested elsewhere."""
    figures = []
    monkeypatch.setattr(
        "thresher.estimators.page.for_page", lambda draw: figures.append(draw()) or b"picture"
    )
    return figures


@pytest.fixture(scope="module")
def robust():
    return thresher.OnlineRobustNMF(3, random_state=0, verbose=0).fit(planted(60))


def history_of(samples, losses, certificate=0.5, change=0.25):
    history = History()
    for n, loss in zip(samples, losses, strict=True):
        history.append(HistoryRow(n, 0.1, loss, certificate, change))
    return history


def plain(K=3, F=5, **about):
    """A model with only what every page needs."""
    rng = np.random.default_rng(0)
    about = {"components_": rng.random((K, F)), "history_": History()} | about
    model = thresher.OnlineNMF(K)
    model.__dict__.update(about)
    return model


def figures_of(page):
    return re.findall(r"<dd>([^<]*)</dd><dt>([^<]*)</dt>", page)


def test_only_robust_models_speak_of_outliers(robust):
    assert "set aside, entry by entry" in model_page(robust).html()
    assert "outlier weight λ" in model_page(robust).html()
    assert "set aside" not in model_page(plain()).html()
    assert "outlier weight" not in model_page(plain()).html()


def test_facts_of_a_model_are_in_their_order(robust):
    facts = figures_of(model_page(robust, planted(60)).html())
    words = [meaning.split(",")[0].split(":")[0] for _, meaning in facts]
    assert words[:3] == ["samples seen", "of learning", "outlier weight λ"]
    assert facts[0][0] == f"{robust.n_samples_seen_:,}"
    assert facts[1][0] == f"{robust.history_[-1].seconds:.2g} s"
    assert facts[2][0] == f"{robust.outlier_weight_:.3g}"
    assert [m.split()[0] for _, m in facts[3:6]] == ["of", "relative", "largest"]
    assert "of learning" not in model_page(plain()).html()


def test_the_fit_of_sparse_samples_is_that_of_dense_ones(robust):
    X = planted(60) * (planted(60) > 0.2)
    dense, sparse_ = (
        figures_of(model_page(robust, samples).html()) for samples in (X, sparse.csr_array(X))
    )
    assert dense == sparse_
    assert dense[4][1].startswith("relative error of 60 samples")


def test_of_many_samples_a_thousand_at_equal_distances_are_measured(robust):
    X = np.tile(planted(60), (40, 1))
    X[1::2] = 0  # the fit of every second one would be perfect
    fit = figures_of(model_page(robust, X).html())
    assert fit[4][1].startswith("relative error of 1,000 samples")
    assert fit[4][0] != "0.0%"


def test_parts_beyond_24_are_counted_not_shown(drawn):
    for K, says in ((24, ""), (25, "The first 24 of 25.")):
        page = model_page(plain(K)).html()
        assert f"{K} parts of 5 features" in page
        assert (says in page) if says else ("The first" not in page)
        assert len(drawn[-1].axes) == 24


def test_images_are_shown_if_their_shape_suits(drawn):
    model = plain(3, 6)
    model.components_[0] *= -1
    assert "as images" in model_page(model, shape=(2, 3)).html()
    shown = [axes.images[0].get_array() for axes in drawn[-1].axes]
    np.testing.assert_allclose(shown, np.abs(model.components_).reshape(3, 2, 3))
    assert [axes.get_title() for axes in drawn[-1].axes] == ["part 1", "part 2", "part 3"]
    assert "as profiles" in model_page(model, shape=(2, 2)).html()
    colour = plain(2, 12)
    assert "as images" in model_page(colour, shape=(2, 2, 3)).html()
    mean = colour.components_.reshape(2, 2, 2, 3).mean(axis=3)
    np.testing.assert_allclose([axes.images[0].get_array() for axes in drawn[-1].axes], mean)


def test_named_columns_are_listed_by_weight_with_their_sign(drawn):
    model = plain(1, 10, feature_names_in_=np.array([f"c{k}" for k in range(10)], dtype=object))
    model.components_[0] = [0, 1, -4, 2, 0, 3, 0.5, 0.25, 0, 0]
    page = model_page(model).html()
    assert (
        "part 1: −c2, c5, c3, c1, c6, c7&quot;" in page
        or 'alt="part 1: −c2, c5, c3, c1, c6, c7"' in page
    )
    (axes,) = drawn[-1].axes
    lengths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(lengths, np.array([4, 3, 2, 1, 0.5, 0.25]) / 4)
    model.components_[0] = np.arange(1, 11)
    assert (
        len(re.findall(r"c\d", re.search('alt="part 1: ([^"]*)"', model_page(model).html())[1]))
        == 8
    )


def test_learning_is_told_from_its_first_step_to_its_last(drawn):
    report, history = Report("t"), history_of([10, 20, 30], [3.0, 2.0, 1.0])
    history.note([Event(20, "shift", 0.0123)])
    tell_learning(report, history, 0.01)
    page = report.html()
    assert "from 3 in the first step to 1 in the last" in page
    assert "<td>3</td><td>1</td>" in page
    assert "<td>0.5</td><td>0.5</td>" in page
    assert "<td>0.25</td><td>0.25</td>" in page
    assert "to tol=0.01 or better" in page
    assert '<th scope="row">20</th><td>shift</td><td>0.0123</td>' in page
    (axes,) = drawn[-1].axes
    assert axes.get_xlabel() == "samples seen"
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [10, 20, 30])


def test_rounds_over_the_same_samples_are_counted(drawn):
    report = Report("t")
    tell_learning(report, history_of([10, 10, 10], [3.0, 2.0, 1.0]))
    (axes,) = drawn[-1].axes
    assert axes.get_xlabel() == "rounds"
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [1, 2, 3])
    assert "tol=" not in report.html()
    assert "what was noticed" not in report.html()


def test_a_single_step_has_no_curve_and_no_step_no_section(drawn):
    report = Report("t")
    tell_learning(report, history_of([10], [3.0]))
    assert "How it learned" in report.html()
    tell_learning(empty := Report("t"), History())
    assert "How it learned" not in empty.html()
    assert not drawn


def test_of_many_events_the_last_twenty_are_told():
    history = history_of([10, 20], [2.0, 1.0])
    history.note([Event(n, "shift", 0.5) for n in range(1, 26)])
    tell_learning(report := Report("t"), history)
    told = re.findall(r'<th scope="row">(\d+)</th><td>shift', report.html())
    assert told == [str(n) for n in range(6, 26)]


def test_what_was_asked_is_what_differs_from_the_defaults(robust):
    page = model_page(robust).html()
    asked = re.findall("<dt>([^<]*)</dt><dd>([^<]*)</dd>", page)
    assert ("n_components = 3", "instead of the default, None") in asked
    assert ("random_state = 0", "instead of the default, None") in asked
    assert ("solver = &#x27;auto&#x27;", robust.solver_) in [
        (what, why.replace("&#x27;", "'").replace("&lt;", "<").replace("&gt;", ">"))
        for what, why in asked
    ]
    assert not any(what.startswith("tol") for what, _ in asked)
    lines = model_lines(robust)
    assert lines == (
        "from thresher import OnlineRobustNMF\n\n"
        "model = OnlineRobustNMF(n_components=3, random_state=0, verbose=0).fit(X)"
    )


# ------------------------------------------------------------------------------ the builder


def test_a_page_has_a_head_only_of_what_was_given():
    page = Report("T & t", "A lead.", "A kicker").html()
    head = page[page.index("<header>") : page.index("</header>")]
    assert head.index("A kicker") < head.index("<h1>T &amp; t</h1>") < head.index("A lead.")
    assert "<title>T &amp; t</title>" in page
    bare = Report("T").html()
    assert 'class="kicker"' not in bare
    assert 'class="lead"' not in bare


def test_tables_need_full_rows_and_stress_one_column():
    report = Report("t")
    with pytest.raises(ValueError, match="needs 2 cells"):
        report.table(["a", "b"], [["1", "2"], ["3"]])
    page = report.table(["a", "b", "c"], [["1", "2", "3"]], emphasis=2, caption="so").html()
    assert '<th scope="row">1</th><td>2</td><td><strong>3</strong></td>' in page
    assert "<figcaption>so</figcaption>" in page
    assert "<figcaption>" not in Report("t").table(["a"], [["1"]]).html()


def test_pictures_may_be_two_and_listings_may_wrap():
    two = Report("t").picture((b"x", b"y"), 'a "b"').html()
    assert re.search('<picture><source media=[^>]*><img alt="a &quot;b&quot;"', two)
    assert "<picture><img" in Report("t").picture(b"x", "a").html()
    scrolls = Report("t").code("\nx\n").html()
    assert re.search("<pre[^>]*><code>x</code></pre>", scrolls)
    assert '<pre class="wrap"' not in scrolls
    assert '<pre class="wrap"><code>x</code></pre>' in Report("t").code("x", wrap=True).html()


def test_the_longest_of_two_marks_wins():
    page = Report("t").passage("a", "ice cream, ice", ["ice", "ice cream"]).html()
    assert "<mark>ice cream</mark>, <mark>ice</mark>" in page


def test_a_page_ends_with_seconds_only_if_they_are_known():
    assert "1.5 s in all" in tell_run(Report("t"), [], "x", 1.46).html()
    page = tell_run(Report("t"), [], "x").html()
    assert "in all" not in page
    assert "What was chosen" not in page
    assert page.index("Make it again") < page.index('<p class="footnote">')
    assert re.search(r"Made on \d{4}-\d\d-\d\d at \d\d:\d\d .* with thresher .*numpy", versions())


# ------------------------------------------------------------------------------ pictures


def test_numbers_of_a_curve_have_thousands_apart_and_no_powers():
    figure = convergence_curve(np.array([1000, 20000, 40000]), np.array([3e4, 2e4, 1e4]))
    (axes,) = figure.axes
    figure.draw_without_rendering()
    labels = {label.get_text() for label in axes.get_xticklabels() + axes.get_yticklabels()}
    assert any(re.fullmatch("\\d+\u2009000", label) for label in labels)
    assert not any("e" in label or "," in label for label in labels)


def test_a_curve_is_logarithmic_only_above_zero():
    above, below = ([2.0, 1.0, 0.5], [2.0, 1.0, -0.5])
    assert convergence_curve([1, 2, 3], above).axes[0].get_yscale() == "log"
    assert convergence_curve([1, 2, 3], below).axes[0].get_yscale() == "linear"


@pytest.mark.parametrize(("samples", "loss"), [([], []), ([1, 2], [1]), ([[1]], [[1]])])
def test_a_curve_needs_a_number_for_each_step(samples, loss):
    with pytest.raises(ValueError, match="one number per step"):
        convergence_curve(samples, loss)


def test_the_running_mean_is_over_a_twentieth_of_the_steps():
    y = np.random.default_rng(0).random(200) + 1
    (axes,) = convergence_curve(np.arange(200), y).axes
    expected = [y[max(k - 5, 0) : k + 6].mean() for k in range(200)]
    np.testing.assert_allclose(axes.lines[1].get_ydata(), expected)


def test_long_names_are_shortened_to_leave_room_for_bars():
    figure = bar_panels(["t"], [["w" * 16, "w" * 17]], [[2.0, 1.0]])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "w" * 16,
        "w" * 15 + "…",
    ]
    figure = share_bars(["n" * 48, "n" * 49, "b"], [0.2, 0.3, 0.5])
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["b", "n" * 47 + "…", "n" * 48]
    assert [text.get_text() for text in figure.axes[0].texts] == ["50.0%", "30.0%", "20.0%"]


@pytest.mark.parametrize(
    ("titles", "labels", "values", "says"),
    [
        ([], [], [], "at least one panel"),
        (["a"], [["x"], ["y"]], [[1.0]], "at least one panel"),
        (["a"], [["x", "y"]], [[1.0]], "one label and one value"),
    ],
)
def test_bars_need_labels_and_values(titles, labels, values, says):
    with pytest.raises(ValueError, match=says):
        bar_panels(titles, labels, values)


def test_shares_need_names():
    for names, shares in (([], []), (["a"], [0.5, 0.5])):
        with pytest.raises(ValueError, match="a name for each"):
            share_bars(names, shares)


def test_panels_lie_side_by_side_in_their_columns():
    """In rows of three; panels of a row are level, and those of a column one above the other."""
    for figure in (
        profile_panels(np.ones((5, 4)), list("abcde")),
        bar_panels(list("abcde"), [["x"]] * 5, [[1.0]] * 5),
    ):
        boxes = [axes.get_position() for axes in figure.axes]
        assert len({round(box.y0, 6) for box in boxes[:3]}) == 1
        assert len({round(box.y0, 6) for box in boxes[3:]}) == 1
        assert boxes[3].y1 < boxes[0].y0
        assert boxes[0].x1 < boxes[1].x0 < boxes[1].x1 < boxes[2].x0
        for above, below in zip(boxes[:2], boxes[3:], strict=True):
            assert above.x0 == pytest.approx(below.x0)
            assert above.width == pytest.approx(below.width)
        assert min(box.y0 for box in boxes) >= -1e-9
        assert max(box.x1 for box in boxes) <= 1 + 1e-9


def test_profiles_name_their_features_in_the_last_row_only():
    figure = profile_panels(np.ones((4, 3)), list("abcd"))
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "feature", "feature", "feature"]
    for axes in figure.axes:
        assert axes.get_xlim() == (-0.5, 2.5)


def test_frames_have_headings_above_the_first_row_only():
    stack = np.zeros((2, 6, 8))
    figure = frame_grid([stack, stack], ["one", "two"], ["x", "y"])
    assert [axes.get_title() for axes in figure.axes] == ["one", "two", "", ""]
    assert [text.get_text() for text in figure.texts] == ["x", "y"]
    for axes in figure.axes:
        box = axes.get_window_extent()
        assert box.width / box.height == pytest.approx(8 / 6, rel=1e-3)  # pixels are square


@pytest.mark.parametrize(
    ("columns", "titles", "labels", "says"),
    [
        ([], [], [], "at least one column"),
        ([np.zeros((2, 3, 3)), np.zeros((2, 3, 4))], ["a", "b"], ["x", "y"], "one shape"),
        ([np.zeros((2, 3, 3))], ["a", "b"], ["x", "y"], "as many titles"),
        ([np.zeros((2, 3, 3))], ["a"], ["x"], "as many titles"),
        ([np.zeros((3, 3))], ["a"], ["x"], "shape"),
        ([np.zeros((0, 3, 3))], ["a"], [], "shape"),
    ],
)
def test_frames_of_other_shapes_are_refused(columns, titles, labels, says):
    with pytest.raises(ValueError, match=says):
        frame_grid(columns, titles, labels)
