"""The jobs that repeat the papers' experiments: resumable, distinct, and named correctly."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.reproduce import __main__ as command
from benchmarks.reproduce import jobs
from benchmarks.reproduce.exhibits import Found
from benchmarks.reproduce.page import gathered, markdown_table
from benchmarks.reproduce.paper_a_faces import spoiled
from benchmarks.reproduce.paper_a_methods import ONLINE, TAU, Codes, made

from thresher.datasets import make_outlier_stream

ROOT = Path(__file__).parents[2]
SCALES = ("quick", "paper")


@pytest.mark.parametrize("method", ONLINE)
def test_the_codes_of_every_sample_are_recorded_once(method):
    X = make_outlier_stream(120, 30, 3, random_state=0).data
    codes = Codes(X)
    made(method, 3, 30, 0, callbacks=[codes]).fit(X)
    rows = [row for batch, _ in codes.found for row in batch]
    assert sorted(rows) == list(range(len(X)))
    if method == "OPGD":  # batches as in the paper
        assert {len(batch) for batch, _ in codes.found} == {TAU}


def test_a_contaminated_stream_of_faces_has_the_outliers_asked_for():
    X, which = spoiled(np.full((40, 50), 0.5), 10, (0.7, 0.1), 0)
    assert np.all(np.bincount(which) == 10)
    changed = (X != 0.5).sum(axis=1)
    assert (changed > 0).sum() == 280
    assert set(changed) == {0, 5}


def test_every_exhibit_can_be_shown_with_any_results():
    for paper, (found, exhibits) in gathered().items():
        empty = Found(paper, {scale: {} for scale in SCALES}, found.jobs)
        show = import_module(f"benchmarks.reproduce.exhibits_{paper}").exhibits
        for exhibit in [*exhibits, *show(empty)]:
            assert all(len(row) == len(exhibit.columns) for row in exhibit.rows), exhibit.name
            assert len(list(markdown_table(exhibit.columns, exhibit.rows))) == len(exhibit.rows) + 2


def test_results_at_the_scale_of_the_paper_come_first():
    results = {"quick": {"table_1/x": 1, "table_2/x": 3}, "paper": {"table_1/x": 2}}
    found = Found("a", results, {"quick": ["table_1/x", "table_2/x"], "paper": ["table_1/x"]})
    assert found.of("table_1/")[1] == {"table_1/x": 2}
    assert found.of("table_2/")[1] == {"table_2/x": 3}
    assert found.of("table_3/")[1] == {}


def test_a_finished_job_is_not_run_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(jobs, "FOLDER", tmp_path)
    ran = []
    listed = [
        jobs.Job("one", lambda: ran.append(1) or {}),
        jobs.Job("two", lambda: ran.append(2) or {}),
        jobs.Job("three", lambda: {}, needs=("nowhere.npz",)),
    ]
    monkeypatch.setattr(command, "jobs_of", lambda *_: listed)
    listed[0].run("a", "quick")
    command.run_all("a", "quick", "")
    command.run_all("a", "quick", "")
    assert ran == [1, 2]
    assert "nowhere.npz" in capsys.readouterr().out


def jobs_at(paper, scale):
    return command.module_of(paper).jobs(scale)


def test_no_two_jobs_write_the_same_file():
    for paper in command.PAPERS:
        for scale in SCALES:
            paths = [job.path(paper, scale) for job in jobs_at(paper, scale)]
            assert len(set(paths)) == len(paths)


def test_every_script_and_job_that_the_documentation_names_exists():
    """``benchmarks/x.py``, and ``--paper p --only words``, on every page."""
    names = {p: [job.name for scale in SCALES for job in jobs_at(p, scale)] for p in command.PAPERS}
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for script in re.findall(r"benchmarks/[a-z_0-9/]+\.py", text):
            assert (ROOT / script).exists(), f"{page.name}: {script}"
        of_page = re.search(r"benchmarks\.reproduce --paper ([a-e])", text)
        for options in re.findall(r"`[^`\n]*--only [^`\n]*`", text):
            paper = re.search(r"--paper ([a-e])", options) or of_page
            only = re.search(r"--only ([^ `]+)", options).group(1)
            assert any(only in name for name in names[paper.group(1)]), f"{page.name}: {only}"
