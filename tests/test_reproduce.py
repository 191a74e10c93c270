"""The jobs that repeat the papers: codes of (48), what a page says, which job makes a figure."""

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks.reproduce import jobs as files
from benchmarks.reproduce.__main__ import PAPERS, module_of
from benchmarks.reproduce.exhibits import Found
from benchmarks.reproduce.exhibits_a import claims_of_faces, goals
from benchmarks.reproduce.jobs import Job
from benchmarks.reproduce.page import gathered, markdown_table
from benchmarks.reproduce.paper_a_faces import spoiled
from benchmarks.reproduce.paper_a_methods import METHODS, ONLINE, TAU, Codes, made

from thresher.datasets import make_outlier_stream

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def stream():
    return make_outlier_stream(120, 30, 3, random_state=0)


def past_codes(method, X):
    codes = Codes(X)
    model = made(method, 3, X.shape[1], 0, callbacks=[codes]).fit(X)
    return model, codes


@pytest.mark.parametrize("method", ONLINE)
def test_codes_of_every_sample_are_kept_once_and_in_its_place(stream, method):
    """All samples have codes, and those of another sample fit them worse."""
    dictionaries = []
    X = stream.data
    codes = Codes(X)
    model = made(
        method, 3, 30, 0, callbacks=[codes, lambda step: dictionaries.append(step.dictionary)]
    ).fit(X)
    rows = [row for batch, _ in codes.found for row in batch]
    assert sorted(rows) == list(range(len(X)))
    # The last batch was coded on the dictionary before, which is not far from the last one.
    last, fitted = list(codes.reconstructions(dictionaries[-1], model._state.unit))[-1]
    assert fitted.shape == X[last].shape
    others = np.roll(last, 1)
    assert np.linalg.norm(X[last] - fitted) < np.linalg.norm(X[others] - fitted)


def test_an_error_by_48_has_the_unit_of_the_squares(stream):
    """Codes are kept in the unit of the method, and come back in that of the data."""
    errors = []
    for scale in (1.0, 1024.0):
        X = scale * stream.data
        codes = Codes(X)
        model = made("online auto", 3, 30, 0, callbacks=[codes])
        model.set_params(outlier_weight=0.2 * scale, outlier_bound=scale).fit(X)
        parts = codes.reconstructions(model.components_, model._state.unit)
        errors.append(sum(np.sum((X[rows] - fitted) ** 2) for rows, fitted in parts) / scale**2)
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)


def test_the_published_methods_have_the_batches_of_the_paper(stream):
    _, codes = past_codes("OPGD", stream.data)
    assert {len(rows) for rows, _ in codes.found} == {TAU}


def test_a_spoiled_stream_has_every_face_as_often_and_as_many_outliers_as_asked():
    faces = np.full((40, 50), 0.5)
    X, which = spoiled(faces, 10, (0.7, 0.1), 0)
    assert np.all(np.bincount(which) == 10)
    changed = (X != 0.5).sum(axis=1)
    assert (changed > 0).sum() == 280
    assert set(changed) == {0, 5}


# ------------------------------------------------------------------------------------- the page


def faces_table(**decibels):
    row = {"psnr_anew": 20.0, "seconds": 10.0}
    return {m: {**row, "psnr_anew": decibels.get(m, 20.0)} for m in METHODS}


def test_claims_follow_what_was_measured():
    """Each claim turns with the figures that it is about."""
    as_claimed = faces_table(ORPCA=19.5, ONMF=10)
    for method, seconds in {"ORPCA": 8, "BADMM": 50, "BPGD": 50, "ONMF": 90}.items():
        as_claimed[method]["seconds"] = seconds
    assert all(claim.holds for claim in claims_of_faces({1: [as_claimed]}))
    otherwise = faces_table(OPGD=15, ORPCA=21, ONMF=19)
    otherwise["ONMF"]["seconds"] = 1
    assert not any(claim.holds for claim in claims_of_faces({1: [otherwise]}))
    assert all(claim.holds is None for claim in claims_of_faces({}))


def test_a_goal_is_met_by_the_worst_seed():
    seeds = [{"psnr": 25.0, "psnr_anew": value, "seconds": 1.0} for value in (24.4, 24.2)]
    pair = {"OPGD": {"seconds": 9.0}, "online auto": {"seconds": 1.0}}
    assert [goal.holds for goal in goals(1, 24.3, seeds, pair)] == [False, True, False]
    assert [goal.holds for goal in goals(1, 24.3, [], None)] == [None] * 3


def test_every_exhibit_can_be_shown_whatever_was_run():
    """With the results that are there, and with none."""
    for paper, (found, exhibits) in gathered().items():
        empty = Found(paper, {"quick": {}, "paper": {}}, found.jobs)
        show = __import__(f"benchmarks.reproduce.exhibits_{paper}", fromlist=["exhibits"]).exhibits
        for exhibit in [*exhibits, *show(empty)]:
            assert all(len(row) == len(exhibit.columns) for row in exhibit.rows), exhibit.name
            assert len(list(markdown_table(exhibit.columns, exhibit.rows))) == len(exhibit.rows) + 2


def test_paper_scale_comes_before_quick():
    results = {"quick": {"table_1/x": 1, "table_2/x": 3}, "paper": {"table_1/x": 2}}
    found = Found("a", results, {"quick": ["table_1/x", "table_2/x"], "paper": ["table_1/x"]})
    assert found.of("table_1/") == ("paper scale, 1 of 1 jobs", {"table_1/x": 2})
    assert found.of("table_2/") == ("quick scale, 1 of 1 jobs", {"table_2/x": 3})
    assert found.of("table_3/")[1] == {}


# ------------------------------------------------------------------------------------- the jobs


def test_a_finished_job_is_not_run_again(tmp_path, monkeypatch, capsys):
    from benchmarks.reproduce import __main__ as command

    monkeypatch.setattr(files, "FOLDER", tmp_path)
    ran = []
    listed = [Job("one", lambda: ran.append(1) or {}), Job("two", lambda: ran.append(2) or {}),
              Job("three", lambda: {}, needs=("nowhere.npz",))]  # fmt: skip
    monkeypatch.setattr(command, "jobs_of", lambda *_: listed)
    listed[0].run("a", "quick")
    command.run_all("a", "quick", "")
    command.run_all("a", "quick", "")
    assert ran == [1, 2]
    assert "nowhere.npz" in capsys.readouterr().out


def test_no_two_jobs_have_the_same_file():
    for paper in PAPERS:
        for scale in ("quick", "paper"):
            paths = [job.path(paper, scale) for job in module_of(paper).jobs(scale)]
            assert len(set(paths)) == len(paths)


def test_every_script_and_job_that_a_page_names_is_there():
    """``benchmarks/x.py``, and ``--paper p --only words``, of every page of the docs."""
    names = {p: [j.name for s in ("quick", "paper") for j in module_of(p).jobs(s)] for p in PAPERS}
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for script in re.findall(r"benchmarks/[a-z_0-9/]+\.py", text):
            assert (ROOT / script).exists(), f"{page.name}: {script}"
        of_page = re.search(r"benchmarks\.reproduce --paper ([a-e])", text)
        for options in re.findall(r"`[^`\n]*--only [^`\n]*`", text):
            paper = re.search(r"--paper ([a-e])", options) or of_page
            only = re.search(r"--only ([^ `]+)", options).group(1)
            assert any(only in name for name in names[paper.group(1)]), f"{page.name}: {only}"
