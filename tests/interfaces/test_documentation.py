"""Documentation: links lead to files, public names are listed, snippets run as printed."""

import re
from pathlib import Path

import numpy as np
import pytest

import thresher
from pages import ROOT, blocks_of, run_page
from thresher.metrics import factor_match_score

PAGES = sorted(
    page for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if "_build" not in page.parts
)
TASKS = sorted(page for page in ROOT.glob("docs/tasks/*.md") if page.stem != "index")


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def names(pages):
    return [page.relative_to(ROOT).as_posix() for page in pages]


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_lead_to_files(page):
    """Those that GitHub follows; the build follows its own."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


def test_paths_of_pages_in_code_and_messages_exist():
    folders = ("src", "tests", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    for file in [*files, *ROOT.glob("*.md")]:
        for path in re.findall(r"\bdocs/[\w/]+\.(?:md|png)\b", file.read_text(encoding="utf-8")):
            assert (ROOT / path).exists(), f"{file.name} names {path}"


def test_every_public_name_stands_in_the_api():
    listed = (ROOT / "docs/api.rst").read_text(encoding="utf-8").split()
    assert set(dir(thresher)) - {"__version__"} <= set(listed)


@pytest.mark.parametrize("page", TASKS, ids=names(TASKS))
def test_a_task_takes_ten_lines_and_shows_a_picture(page):
    job, *others = blocks_of(page.read_text(encoding="utf-8"))
    lines = [line for line in job.code.splitlines() if line.strip()]
    assert len(lines) <= 10
    assert any(block.picture for block in (job, *others))


# ------------------------------------- snippets: each page is one program, run as printed


def check_readme(made):
    assert not np.isnan(made["found"].table).any()
    assert made["found"].flags[::97, 5].all()  # the planted anomalies
    assert Path("topics.html").read_text(encoding="utf-8").count("<h2") > 1
    assert made["background"].shape == made["foreground"].shape == (300, 72, 96)
    assert made["mask"].dtype == bool


def check_tables(made):
    table, found, truth = made["table"], made["found"], made["truth"]
    wrong = np.abs(found.table["b"] - truth[:, 1]).iloc[100:160].mean()
    assert wrong < 0.9 * np.abs(made["line"] - truth[:, 1]).iloc[100:160].mean()
    assert found.flags["d"].iloc[300::40].all()
    normal = table.notna() & ~found.flags
    np.testing.assert_array_equal(found.table.to_numpy()[normal], table.to_numpy()[normal])


def check_topics(made):
    themes = {frozenset(theme.split()) for theme in made["themes"]}
    assert {frozenset(topic.words[:4]) for topic in made["model"].topics_} == themes
    np.testing.assert_allclose(made["shares"].sum(axis=1), 1)


def check_novelty(made):
    new = np.isin(made["places"], np.arange(700, 710))
    assert made["marked"][new].all()
    assert made["scores"][new].min() > made["scores"][~new].max()
    assert made["marked"][~new].mean() < 0.06


def check_spectra(made):
    np.testing.assert_allclose(made["shares"].sum(axis=2), 1)
    assert made["shares"].min() >= 0
    assert factor_match_score(made["scene"].endmembers, made["unmixer"].endmembers_) > 0.999


SNIPPETS = {
    "README.md": check_readme,
    "docs/tasks/tables.md": check_tables,
    "docs/tasks/topics.md": check_topics,
    "docs/tasks/novelty.md": check_novelty,
    "docs/tasks/spectra.md": check_spectra,
}
"""Pages whose results are compared with the planted truth; the build of the pages runs all."""


@pytest.mark.parametrize("page", SNIPPETS)
def test_snippets_run_and_find_what_was_planted(page):
    SNIPPETS[page](run_page(page))


def test_built_pages_are_repaired_for_keyboards_and_screen_readers(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    accessible = pytest.importorskip("accessible", reason="The pages are built with Sphinx.")
    page = (
        '<p class="caption" role="heading">Use it</p><aside class="sidebar-drawer"></aside>'
        '<pre>wide</pre><table class="docutils align-default"><th class="head"><p></p></th></table>'
    )
    repaired = accessible.repaired(page)
    assert 'role="heading" aria-level="2"' in repaired
    assert '<aside class="sidebar-drawer" aria-label=' in repaired
    assert '<pre tabindex="0">' in repaired
    assert re.search(r"<table [^>]*tabindex", repaired)
    assert "<th" not in repaired
    assert accessible.repaired(repaired) == repaired
