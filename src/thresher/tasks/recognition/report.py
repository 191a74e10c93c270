"""The page about a recogniser: its parts, and how well it names pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher import __version__
from thresher.estimators.reports import add_atoms, add_history
from thresher.report import Report

if TYPE_CHECKING:
    from thresher.tasks.recognition.recognizer import FaceRecognizer

_MOST_CONFUSED = 12  # pairs of names on the page; by judgement


def recognition_report(
    recognizer: FaceRecognizer, X: Any, y: Any, shape: Sequence[int] | None
) -> Report:
    """Show the parts that pictures are made of, and which names are mistaken for which.

    Parameters
    ----------
    recognizer : FaceRecognizer
        Fitted.
    X, y : array-like of shape (n, F) and (n,), optional
        Pictures with their true names.
    shape : (height, width), optional
        Of a picture.
    """
    known, names = len(recognizer.codes_), recognizer.classes_
    report = Report(
        f"{len(names):,} names, from {known:,} pictures",
        "A picture gets the name of the known picture whose parts are mixed most alike.",
        f"Thresher {__version__} · recognition",
    )
    facts = [
        (f"{known:,}", "known pictures"),
        (f"{len(names):,}", "names"),
        (f"{len(recognizer.model_.components_):,}", "parts"),
    ]
    given = X is not None and y is not None
    if given:
        found = recognizer.predict(X)
        right = float(np.mean(found == np.asarray(y)))
        facts.insert(0, (f"{right:.1%}", f"of {len(found):,} pictures got their right name"))
    report.facts(facts)
    report.heading("The parts")
    add_atoms(report, recognizer.model_, shape)
    if given:
        _tell_mistakes(report, np.asarray(y), found)
    if hasattr(recognizer.model_, "history_"):
        in_rounds = not hasattr(recognizer.model_, "partial_fit")
        add_history(report, recognizer.model_.history_, recognizer.model_.tol, in_rounds)
    return report


def _tell_mistakes(report: Report, y: Any, found: Any) -> None:
    names, numbers = np.unique(np.concatenate([y, found]), return_inverse=True)
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (numbers[: len(y)], numbers[len(y) :]), 1)
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_MOST_CONFUSED]
    pairs = [(int(counts.flat[place]), *divmod(int(place), len(names))) for place in order]
    report.heading("Who is taken for whom")
    if not counts.any():
        report.paragraph("No name was mistaken.")
        return
    report.table(
        ["is", "was called", "times"],
        [[str(names[i]), str(names[j]), f"{count:,}"] for count, i, j in pairs if count],
        caption=f"The pairs that are mistaken most often, {_MOST_CONFUSED} at most.",
    )
