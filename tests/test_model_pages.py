"""Pages about models and tasks: what they tell is what the models know."""

import copy
import json
import re

import numpy as np
import pytest

import thresher
from pages import run_page
from thresher.datasets.samples import sample_files
from thresher.plotting import convergence_curve, profile_panels
from thresher.report import Report, tell_run
from thresher.tasks.novelty.choosing import chosen_stepping
from thresher.tasks.novelty.found import explained_steps
from thresher.tasks.text.reading import read_documents, text_field, texts_of
from thresher.tasks.text.records import records_of
from thresher.tasks.text.steps import DocumentStep, document_steps
from thresher.testing.data import planted

SMALL = {
    "BatchNMF": {"max_iter": 5, "tol": 0.1},
    "L1Dictionary": {"max_iter": 5, "tol": 0.1},
    "ManhattanNMF": {"max_iter": 5, "tol": 0.1},
    "RobustNMF": {"max_iter": 5, "tol": 0.1},
}
ONLINE = ["OnlineL1Dictionary", "OnlineNMF", "OnlineRobustNMF"]


@pytest.mark.parametrize("name", [*SMALL, *ONLINE])
def test_every_estimator_has_a_page(name, tmp_path, monkeypatch):
    monkeypatch.setattr("thresher.estimators.page.for_page", lambda draw: b"picture")
    X = planted(60)
    model = getattr(thresher, name)(3, random_state=0, verbose=0, **SMALL.get(name, {}))
    model.fit(X).set_params(max_iter=1000)
    page = model.report(tmp_path / "page.html", X).read_text(encoding="utf-8")
    assert f"3 parts of {X.shape[1]} features" in page
    assert page.count("data:image/png;base64,") == 2  # the parts and the curve
    assert f"model = {name}(n_components=3, " in page
    assert f"<td>{model.history_[-1].loss:.4g}</td>" in page
    worst = model.certificates(X, model.transform(X)).max()
    assert f"<dd>{worst:.1g}</dd>" in page


def test_pages_of_square_dictionaries_and_of_similarities(tmp_path):
    X = planted(60)
    orthogonal = thresher.OnlineOrthogonalDictionary(random_state=0, verbose=0).fit(X)
    assert "parts of" in orthogonal.report(tmp_path / "a.html", X).read_text(encoding="utf-8")
    similar = thresher.SymmetricManhattanNMF(2, random_state=0, verbose=0).fit(X @ X.T)
    assert "2 parts of 60" in similar.report(tmp_path / "b.html").read_text(encoding="utf-8")


def test_parts_are_named_drawn_or_profiled(tmp_path):
    X = planted(60)
    model = thresher.OnlineRobustNMF(3, random_state=0, verbose=0).fit(X)
    profile = model.report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "as profiles along their features" in profile
    shape = (2, X.shape[1] // 2)
    drawn = model.report(tmp_path / "b.html", shape=shape).read_text(encoding="utf-8")
    assert "as images" in drawn
    model.feature_names_in_ = np.array([f"<f{j}>" for j in range(X.shape[1])], dtype=object)
    named = model.report(tmp_path / "c.html").read_text(encoding="utf-8")
    heaviest = int(model.components_[0].argmax())
    assert f"part 1: &lt;f{heaviest}&gt;, " in named


def test_the_measured_fit_is_that_of_the_model(tmp_path):
    """Shares and errors on the page, computed again from what the model separates."""
    X = planted(80)
    X[3, 4] += 20 * X.max()
    X[5, 6] = np.nan
    model = thresher.OnlineRobustNMF(3, random_state=0, verbose=0).fit(X)
    page = model.report(tmp_path / "page.html", X).read_text(encoding="utf-8")
    low_rank, outliers, _ = model.separate(X)
    seen = ~np.isnan(X)
    share = np.count_nonzero(outliers[seen]) / seen.sum()
    error = np.linalg.norm((X - low_rank - outliers)[seen]) / np.linalg.norm(X[seen])
    assert f"<dd>{share:.1%}</dd>" in page
    assert f"<dd>{error:.1%}</dd>" in page


def test_rounds_of_batch_models_are_no_samples(tmp_path):
    X = planted(60)
    model = thresher.BatchNMF(3, random_state=0, verbose=0).fit(X)
    page = model.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<dd>60</dd><dt>samples, in {model.n_iter_:,} rounds</dt>" in page
    assert "last round" in page


def test_noise_that_a_pursuit_sets_aside_is_told_from_what_is_far_off(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 40))
    X += 0.01 * rng.standard_normal(X.shape)
    hit = rng.random(X.shape) < 0.03
    X[hit] += 20
    model = thresher.RobustPCA(verbose=0).fit(X)
    page = model.report(tmp_path / "page.html", X).read_text(encoding="utf-8")
    few = float(re.search(r"<dd>([\d.]+)%</dd><dt>of the entries have 90%", page)[1])
    assert few == pytest.approx(90 * hit.mean(), abs=0.3)


def test_the_page_of_the_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = run_page("docs/commands.md")
    assert made["model"].n_features_in_ == 64
    assert "as images" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_model_that_learned_nothing_has_no_page(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        thresher.OnlineNMF().report(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_marks_are_on_whole_words_in_any_case():
    page = Report("t").passage("a title", "Comets & a COMET, <comet>s", ["comet"]).html()
    assert "Comets &amp; a <mark>COMET</mark>, &lt;<mark>comet</mark>&gt;s" in page
    assert "<mark>" not in Report("t").passage("a", "b c").html()


def test_the_end_of_a_page_has_reasons_and_the_line():
    page = tell_run(Report("t"), [("a = <1>", "since & so")], "thresher 'x y'", 1.25).html()
    assert "<dt>a = &lt;1&gt;</dt><dd>since &amp; so</dd>" in page
    assert "thresher &#x27;x y&#x27;" in page
    assert f"thresher {thresher.__version__}" in page


def test_no_number_of_a_curve_is_cut_off():
    """Labels of large losses and of the last sample lie inside the picture."""
    figure = convergence_curve(np.array([400, 1800, 3600]), np.array([1.7e5, 1e5, 7.9e4]))
    (axes,) = figure.axes
    figure.draw_without_rendering()
    width = figure.get_figwidth() * figure.dpi
    low, high = axes.get_xlim()
    for label in axes.get_yticklabels():
        assert label.get_window_extent().x0 >= 0
    for place, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
        assert not low <= place <= high or label.get_window_extent().x1 <= width


def test_profiles_show_every_feature():
    atoms = np.array([[1.0, -2.0, 3.0], [0.0, 1.0, 0.0]])
    figure = profile_panels(atoms, ["a", "b"])
    for axes, atom in zip(figure.axes, atoms, strict=True):
        np.testing.assert_array_equal(axes.patches[0].get_data().values, atom)
        assert axes.get_xlabel() == "feature"
    figure = profile_panels(atoms, ["a", "b"], along="frequency in Hz", ends=(0.0, 600.0))
    for axes in figure.axes:
        np.testing.assert_allclose(axes.patches[0].get_data().edges, [0, 200, 400, 600])
        assert axes.get_xlabel() == "frequency in Hz"
        assert axes.get_xlim() == (0, 600)
    with pytest.raises(ValueError, match="titles"):
        profile_panels(atoms, ["a"])


# ------------------------------------------------------------------------------ documents


def page_of(model, folder, *about):
    return model.report(folder / "page.html", *about).read_text(encoding="utf-8")


def test_segments_are_shown_over_their_picture_or_alone(tmp_path):
    image = np.zeros((12, 16))
    image[:, 8:] = 1.0
    model = thresher.ImageSegmenter(2, random_state=0, verbose=0).fit(image)
    assert page_of(model, tmp_path, image).count("<img") == 3  # borders, colours, a curve
    alone = page_of(model, tmp_path)
    assert alone.count("<img") == 2
    assert "0 has 50.0%, 1 has 50.0%." in alone


def records():
    return [json.loads(line) for line in sample_files("docs")["docs.jsonl"].splitlines()]


@pytest.mark.parametrize("mode", ["auto", "online"])
def test_reasons_are_those_of_the_time_before_the_step(mode, tmp_path):
    texts = [record["text"] for record in records()]
    parts = [("0", texts[:40]), ("1", texts[640:660]), ("2", texts[760:780])]
    steps = [DocumentStep(name, part, records_of(part, 0)) for name, part in parts]
    detector = thresher.NovelDocumentDetector(
        10, mode=mode, top_share=0.1, random_state=0, verbose=0
    )
    watcher = copy.deepcopy(detector)
    before = []
    for name, documents, _ in steps:
        if name != "0":
            before.append(copy.deepcopy(watcher))
            watcher.step(documents, name)
        else:
            watcher.fit(documents)
    found = list(explained_steps(detector, steps))
    assert [each.step.name for each in found] == ["0", "1", "2"]
    assert found[0].step.start
    marked = sum(len(each.documents) for each in found)
    for each, known in zip(found[1:], before, strict=True):
        assert each.documents
        assert page_of(detector, tmp_path, found).count("<blockquote>") == marked
        for document in each.documents:
            assert document.reason == known.explain(document.record.text)
            assert document.score == pytest.approx(document.reason.score)


def test_steps_are_the_finest_that_tell_what_is_usual():
    chosen = chosen_stepping(records(), "text", None, 0.05)
    assert (chosen.date_field, chosen.every) == ("date", "week")  # 12 a day, 84 a week
    assert chosen_stepping(records(), "text", None, 0.2).every == "day"
    plain = [record["text"] for record in records()]
    assert chosen_stepping(plain, "text", None, 0.05).size == 84
    assert chosen_stepping(plain[:60], "text", None, 0.05).size == 30
    for n in (2, 61, 97, 415, 839):  # steps are as equal as can be, and none is a leftover
        size = chosen_stepping(plain[:n], "text", None, 0.05).size
        lengths = [len(each.documents) for each in document_steps(plain[:n], size)]
        assert sum(lengths) == n
        assert min(lengths) > max(lengths) - len(lengths)
    mixed = list(reversed(records()))
    assert chosen_stepping(mixed, "text", None, 0.05).date_field is None


def test_documents_come_from_lines_folders_and_json(tmp_path):
    texts = ["one two", "three four five"]
    (tmp_path / "docs").mkdir()
    for number, text in enumerate(texts):
        (tmp_path / "docs" / f"{number}.txt").write_text(text)
    (tmp_path / "docs" / "ignored.png").write_bytes(b"no text")
    (tmp_path / "lines.txt").write_text("\n\n".join(texts))
    lines = [json.dumps({"id": "x", "body": text}) for text in texts]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    for name in ("docs", "lines.txt"):
        assert list(read_documents(str(tmp_path / name))) == texts
    field, documents = text_field(read_documents(str(tmp_path / "docs.jsonl")))
    assert field == "body"
    assert list(texts_of(documents, field)) == texts
    with pytest.raises(ValueError, match="Document 1 has no text in its field 'title'"):
        list(texts_of(read_documents(str(tmp_path / "docs.jsonl")), "title"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="has no text files"):
        read_documents(str(tmp_path / "empty"))
