"""All tables and figures of the five papers on one HTML page, and as text for the docs.

The page has pictures of faces and videos that may not be passed on: it is built, never committed.
The text has none.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.common import machine
from benchmarks.reproduce.exhibits import NOT_RUN, Claim, Exhibit, Found, Lead
from benchmarks.reproduce.jobs import FOLDER, picture_path

from thresher.report import Report

PAPERS = {
    "a": "A: Online nonnegative matrix factorization with outliers (Zhao and Tan)",
    "b": "B: Online ℓ1-dictionary learning (Kasiviswanathan, Wang, Banerjee and Melville)",
    "c": "C: MahNMF (Guan, Tao, Luo and Shawe-Taylor)",
    "d": "D: Online orthogonal dictionary learning (Xue and Lau)",
    "e": "E: Online NMF with general divergences (Zhao, Tan and Xu)",
}
PAGE = FOLDER / "page.html"
TEXT = Path(__file__).parents[2] / "docs" / "lab" / "reproduced.md"
WITHOUT_JOB = (
    ("novelty.md", "BATCH-IMPL, L2-BATCH and ONLINE with 200 atoms are of earlier variants"),
    ("manhattan.md", "at rank 50 `rri` and `ogm` are of earlier variants; those at rank 5 are not"),
    ("paper_c.md", "`rri` in Table 1 is of an earlier variant; the white square, and what was "
     "tried on Laplace noise of 0.1, were single runs"),
    ("paper_e.md", "all but ℓ1 is of an earlier run of other lengths"),
    ("paper_a.md", "the variants “before, with other readings”"),
    ("paper_d.md", "turning every second batch, one QR iteration instead of eigenvalues, and the "
     "start by power iterations"),
    ("errata.md", "how much a reading changes, where the tests of tests/reference do not show it"),
    ("../guide/choices.md", "RMSE of hidden entries, with an early end and without"),
)  # fmt: skip
"""Figures on other pages that a job or script does not make as they stand."""
LEAD_COLUMNS = ("experiment, measure", "best published", "auto", "times as fast", "runs, spread")


def gathered() -> dict[str, tuple[Found, list[Exhibit]]]:
    """What was found of every paper, and what there is to show of it."""
    every = {}
    for paper in PAPERS:
        found = Found.read(paper, import_module(f"benchmarks.reproduce.paper_{paper}").jobs)
        show = import_module(f"benchmarks.reproduce.exhibits_{paper}").exhibits
        every[paper] = found, list(show(found))
    return every


def lead_row(lead: Lead) -> tuple[str, ...]:
    """A row of the table of leads."""
    times = "–" if lead.times is None else f"{lead.times:.3g}"
    experiment = f"{lead.experiment}: {lead.measure}"
    return experiment, f"{lead.published} {lead.quality}", lead.auto, times, lead.spread


def counted(exhibits: Sequence[Exhibit]) -> tuple[Counter[bool | None], list[Lead]]:
    """How many claims hold, and all leads."""
    claims = Counter(c.holds for exhibit in exhibits for c in exhibit.claims if not c.ours)
    return claims, [lead for exhibit in exhibits for lead in exhibit.leads]


def goals(exhibits: Sequence[Exhibit]) -> list[bool | None]:
    """Which goals of ours are met."""
    return [claim.holds for exhibit in exhibits for claim in exhibit.claims if claim.ours]


def facts(exhibits: Sequence[Exhibit]) -> list[tuple[str, str]]:
    """The large figures on top."""
    claims, leads = counted(exhibits)
    judged = [lead for lead in leads if lead.ahead is not None]
    run = sum(exhibit.setting != NOT_RUN for exhibit in exhibits)
    return [
        (f"{run} of {len(exhibits)}", "tables and figures with something measured"),
        (f"{claims[True]} of {claims[True] + claims[False]}", "claims of the papers that hold"),
        (str(claims[None]), "claims that nothing was run for"),
        (f"{goals(exhibits).count(True)} of {len(goals(exhibits))}", "goals of ours that are met"),
        (
            f"{sum(bool(lead.ahead) for lead in judged)} of {len(judged)}",
            "experiments in which auto is at least as good as the best published method",
        ),
    ]


def html() -> str:
    """The page."""
    every = gathered()
    exhibits = [exhibit for _, each in every.values() for exhibit in each]
    _, leads = counted(exhibits)
    report = Report(
        "Five papers, again",
        "Every table and figure, published beside measured; whether the order that a paper claims "
        "holds, checked by a program; and how far auto is ahead.",
        "Thresher",
    )
    report.facts(facts(exhibits))
    report.heading("How far auto is ahead")
    report.paragraph(
        "The best method of the paper and auto in the same row. Where curves are compared, times "
        "are those until auto is where the other ends. A dash: auto does not get there."
    )
    if leads:
        report.table(LEAD_COLUMNS, [lead_row(lead) for lead in leads], emphasis=2)
    for paper, (found, each) in every.items():
        report.heading(PAPERS[paper])
        for exhibit in each:
            add(report, exhibit)
        left = found.left()
        report.footnote("; ".join(f"{scale} scale: {told(names)}" for scale, names in left.items()))
    report.footnote(f"Built on {machine('numpy', 'scikit-learn')}. Seconds of a shared machine.")
    return report.html()


def told(names: Sequence[str]) -> str:
    """Jobs that were not run, by their first word."""
    counts = Counter(name.split("/")[0] for name in names)
    kinds = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
    return f"{len(names)} jobs not run" + (f": {kinds}" if kinds else "")


def add(report: Report, exhibit: Exhibit) -> None:
    """An exhibit on the page."""
    report.passage(f"{exhibit.name}: {exhibit.subject}", f"Measured: {exhibit.setting}.")
    if exhibit.rows:
        report.table(exhibit.columns, exhibit.rows, caption=exhibit.differs)
    if exhibit.claims:
        report.reasons([(f"{mark(claim)} {claim.said}", claim.seen) for claim in exhibit.claims])
    for name in exhibit.pictures:
        path = FOLDER / f"{name[3:]}.png" if name.startswith("../") else picture_path(name)
        if path.exists():
            of = re.split("[ _/]", name.removeprefix("../"))[-2:]
            caption = " ".join(of)
            report.picture(path.read_bytes(), f"{exhibit.name}, {caption}", caption, wide=True)


def mark(claim: Claim) -> str:
    return {True: "✓ holds:", False: "✗ does not hold:", None: "· not run:"}[claim.holds]


# ------------------------------------------------------------------------------ for the docs


def text() -> str:
    """The same figures without pictures, in Markdown."""
    every = gathered()
    exhibits = [exhibit for _, each in every.values() for exhibit in each]
    _, leads = counted(exhibits)
    return "\n".join(
        [
            "# All tables and figures, published and measured",
            "",
            "Made by `python -m benchmarks.reproduce --text` from the JSON files of the jobs in "
            "`benchmarks/results/reproduce`; nothing here is written by hand. `python -m "
            "benchmarks.reproduce --page` makes a page of it with pictures, which show faces and "
            "videos that may not be passed on. What the figures mean, and what was tried, is told "
            "on the pages of the papers.",
            "",
            *(f"- **{value}** {meaning}" for value, meaning in facts(exhibits)),
            "",
            "## How far `auto` is ahead",
            "",
            "The best method of the paper and `auto` in the same row. Where curves are compared, "
            "times are those until `auto` is where the other ends. A dash: `auto` does not get "
            "there.",
            "",
            *markdown_table(LEAD_COLUMNS, [lead_row(lead) for lead in leads]),
            *(line for paper, (found, each) in every.items() for line in part(paper, found, each)),
            "## Figures of other pages that no job makes as they stand",
            "",
            *(f"- [{page}]({page}): {what}." for page, what in WITHOUT_JOB),
        ]
    )


def part(paper: str, found: Found, exhibits: Sequence[Exhibit]) -> Iterator[str]:
    """A paper in Markdown."""
    yield from ("", f"## {PAPERS[paper]}")
    for exhibit in exhibits:
        yield from ("", f"### {exhibit.name}: {exhibit.subject}", "")
        yield from (f"Measured: {exhibit.setting}. {exhibit.differs}".strip(), "")
        if exhibit.rows:
            yield from markdown_table(exhibit.columns, exhibit.rows)
            yield ""
        for claim in exhibit.claims:
            seen = f" ({claim.seen})" if claim.seen else ""
            yield f"- *{claim.said}* **{claim.verdict().capitalize()}**{seen}."
    yield ""
    for scale, names in found.left().items():
        yield f"{scale.capitalize()} scale: {told(names)}."
        yield ""


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (columns, ["---"] * len(columns), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
