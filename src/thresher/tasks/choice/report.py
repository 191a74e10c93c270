"""The page about a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thresher import __version__
from thresher.plotting import for_page
from thresher.report import Report

if TYPE_CHECKING:
    from thresher.tasks.choice.choice import Choice

_MEANINGS = {
    "error": "mean absolute error of entries that were hidden, in the unit of the data",
    "standard_error": "of that error, over groups of rows",
    "behind": "how much the error is above the lowest",
    "behind_error": "standard error of that difference, over the same groups",
    "stability": "how alike the parts are that were learned from different rows: the mean cosine "
    "of pairs of them; one is the same",
    "coherence": "how much the top words of topics keep company in documents, from -1 to 1; it "
    "asks whether people can read a topic, not whether it is there",
    "seconds": "of all fits of a candidate, and of telling the hidden entries",
}


def choice_report(choice: Choice) -> Report:
    """Show the errors of all candidates, and what their columns measure."""
    table, best = choice.table_, choice.best_index_
    settings = ", ".join(f"{name} = {value}" for name, value in choice.best_params_.items())
    report = Report(
        settings,
        "The settings whose models tell hidden entries best."
        if choice.rule == "lowest"
        else "The fewest parts that tell hidden entries nearly as well as the best.",
        f"Thresher {__version__} · choice for {choice.name}",
    )
    facts = [
        (f"{table['error'][best]:.4g}", "is how far hidden entries are off on average"),
        (str(len(table["error"])), "candidates were tried"),
        (f"{table['seconds'].sum():.1f} s", "for all of them"),
    ]
    if table["stability"][best] == table["stability"][best]:
        facts.insert(1, (f"{table['stability'][best]:.2f}", "of the parts stay the same"))
    report.facts(facts)
    report.heading("Errors of hidden entries")
    report.picture(
        for_page(lambda: choice.plot()),
        "Errors of the candidates, each with a bar of a standard error; the chosen one is marked",
        "Bars are standard errors. Candidates are compared on the same entries, so differences are "
        "surer than bars say: see behind and behind_error.",
    )
    report.heading("All candidates")
    report.table(
        list(table),
        [[_cell(table[name][i]) for name in table] for i in range(len(table["error"]))],
    )
    report.heading("What the columns measure")
    report.reasons([(name, _MEANINGS[name]) for name in table if name in _MEANINGS])
    return report


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
