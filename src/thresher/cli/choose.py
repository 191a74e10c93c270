"""``thresher choose``: how many parts, and other settings."""

from __future__ import annotations

import ast
from typing import Annotated, Any

import typer

from thresher.cli.fit import USUAL, Columns, Data, opened
from thresher.cli.frame import ReportFile, WrongUseError, made
from thresher.cli.parameters import ESTIMATORS
from thresher.cli.talk import Talk


def choose(
    talk: Talk,
    data: Data,
    estimator: Annotated[
        str, typer.Option(help=f"The class to choose for: {', '.join(ESTIMATORS)}.")
    ] = USUAL,
    n_components: Annotated[
        str, typer.Option(help="Numbers of parts: 2-20, or 2,4,8; none for the usual number.")
    ] = "2-20",
    outlier_weight: Annotated[
        str | None, typer.Option(help="Outlier weights to try, such as auto,mad,0.5.")
    ] = None,
    divergence: Annotated[
        str | None, typer.Option(help="Losses to try, such as kl,squared_l2.")
    ] = None,
    forgetting: Annotated[
        str | None,
        typer.Option(
            help="Half-lives to try, in rows, such as None,1000,10000; data are then read in their "
            "order."
        ),
    ] = None,
    rule: Annotated[
        str, typer.Option(help="lowest, or one_se for the fewest parts that are hardly worse.")
    ] = "lowest",
    n_masks: Annotated[int, typer.Option(help="How many times rows are kept apart.")] = 3,
    batch_size: Annotated[
        int | None, typer.Option(help="Rows that an online estimator learns from at a time.")
    ] = None,
    columns: Columns = None,
    report: ReportFile = None,
) -> None:
    """Find how many parts data have, and other settings, by how well hidden entries are told."""
    import thresher

    if estimator not in ESTIMATORS:
        message = f"There is no estimator {estimator!r}; use one of {', '.join(ESTIMATORS)}."
        raise WrongUseError(message)
    seed = talk.choose("random_state", 0, "the same command then gives the same result")
    kind = getattr(thresher, estimator)
    given = {"batch_size": batch_size} if batch_size is not None else {}
    model = made(kind, {"random_state": seed, **given} if estimator != "RobustPCA" else given)
    typed = {
        "n_components": _counts(n_components),
        "outlier_weight": _listed(outlier_weight),
        "divergence": _listed(divergence),
        "forgetting": _listed(forgetting),
    }
    wanted: dict[str, Any] = {name: values for name, values in typed.items() if values is not None}
    lacking = [name for name in wanted if name not in model.get_params()]
    if lacking:
        raise WrongUseError(f"{estimator} has no {lacking[0]}; leave it out.")
    source = opened(talk, data, columns)
    choice = thresher.choose(model, source, rule=rule, n_masks=n_masks, refit=False, **wanted)
    table = {name: list(column) for name, column in choice.table_.items()}
    talk.answer(best=choice.best_params_, table=table)
    _show(talk, choice)
    if report is not None:
        from thresher.tasks.choice.report import choice_report

        talk.write_report(choice_report(choice), report)


def _show(talk: Talk, choice: Any) -> None:
    from rich.table import Table

    shown = Table()
    columns = [*choice.best_params_, "error", "standard_error", "behind", "stability"]
    for name in columns:
        shown.add_column(name, justify="right")
    for row in range(len(choice.table_["error"])):
        cells = [choice.table_[name][row] for name in columns]
        words = [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells]
        shown.add_row(*words, style="bold" if row == choice.best_index_ else None)
    talk.show(shown)
    best = ", ".join(f"{name} = {value}" for name, value in choice.best_params_.items())
    error = choice.table_["error"][choice.best_index_]
    talk.show(f"{best}: hidden entries are {error:.4g} off on average.")


def _counts(text: str) -> list[int] | None:
    """Numbers of parts, as 2-20 or 2,4,8."""
    if text.lower() == "none":
        return None
    try:
        if "-" in text:
            first, last = map(int, text.split("-"))
            return list(range(first, last + 1)) or _wrong(text)
        return [int(number) for number in text.split(",")]
    except ValueError:
        return _wrong(text)


def _wrong(text: str) -> list[int]:
    raise WrongUseError(f"--n-components {text} is no range; write 2-20, 2,4,8, or none.")


def _listed(text: str | None) -> list[Any] | None:
    return None if text is None else [_value(word) for word in text.split(",")]


def _value(word: str) -> Any:
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word
