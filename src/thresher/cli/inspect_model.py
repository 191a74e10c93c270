"""``thresher inspect``: what is in the file of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.frame import ReportFile, existing
from thresher.cli.talk import Talk


def inspect_model(
    talk: Talk,
    model: Annotated[Path, typer.Argument(help="What fit, topics or novelty wrote.")],
    report: ReportFile = None,
) -> None:
    """Tell what a model is: its parameters, its parts, how it learned and how it went."""
    import thresher
    from thresher.cli.summary import show_summary

    learned = thresher.load(existing(model))
    show_summary(talk, learned)
    if report is not None:
        talk.write_report(learned._page(), report)
