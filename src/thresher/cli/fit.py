"""``thresher fit``: any estimator, on any data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.frame import ReportFile, WrongUseError, framed, made, seeded
from thresher.cli.held import MOST, held
from thresher.cli.live.session import (
    LOOPBACK,
    Address,
    LiveFlag,
    StayFlag,
    checked_online,
    live_page,
)
from thresher.cli.parameters import ESTIMATORS
from thresher.cli.talk import Talk

USUAL = "OnlineRobustNMF"


def _estimators(incomplete: str) -> list[str]:
    return [name for name in ESTIMATORS if name.startswith(incomplete)]


Data = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet, Feather, JSON lines, .npy, .npz, a folder of pictures, video, a "
        "pattern such as 'day-*.csv', or - for standard input.",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(help="Names of the columns to read, with commas between; by default all numbers."),
]
EstimatorName = Annotated[
    str,
    typer.Option(
        help=f"The class: {', '.join(ESTIMATORS)}. The options below are its parameters: "
        "thresher fit --estimator OnlineNMF --help.",
        autocompletion=_estimators,
    ),
]


def fit(
    talk: Talk,
    data: Data,
    model: Annotated[Path, typer.Argument(help="The file to write the model to.")],
    estimator: EstimatorName = USUAL,
    columns: Columns = None,
    report: ReportFile = None,
    live: LiveFlag = False,
    address: Address = LOOPBACK,
    stay: StayFlag = False,
    **parameters: Any,
) -> None:
    """Learn the parts of any data with an estimator of the library, and write the model to a file.

    Rows are samples. Empty cells and NaN are gaps, which are left out.
    """
    import thresher
    from thresher.cli.summary import show_summary
    from thresher.persistence import checked_target

    checked_target(model)
    learner = made(getattr(thresher, estimator), seeded(talk, parameters))
    source = opened(talk, data, columns)
    with _shown(talk, live, learner, source, data, model, address, stay):
        samples = _learned(talk, learner, source)
    thresher.save(learner, model)
    show_summary(talk, learner)
    talk.answer(model=model)
    if report is not None:
        page = learner._page(samples, source.sample_shape)
        talk.write_report(page, report)


def opened(talk: Talk, data: str, columns: str | None, known: list[str] | None = None) -> Any:
    """A source of numbers; columns without any are left out."""
    import thresher
    from thresher.streams.columns import TextColumnsError

    names: Any = known if columns is None else columns.split(",")
    if columns is not None and len(names) == 1:  # which may also be the array of an .npz
        names = columns
    try:
        return thresher.open(data, names)
    except TextColumnsError as error:
        if names is not None or data == "-":
            raise
        why = f"{', '.join(error.bad)} {'has' if len(error.bad) == 1 else 'have'} no numbers"
        return thresher.open(data, talk.choose("columns", ",".join(error.good), why).split(","))


@contextmanager
def _shown(
    talk: Talk,
    live: bool,
    learner: Any,
    source: Any,
    data: str,
    model: Path,
    address: str,
    stay: bool,
) -> Iterator[None]:
    """With a live page, if that was asked for."""
    if not live:
        yield
        return
    from thresher.cli.live.shows.model import ModelShow

    name = checked_online(learner)
    show = ModelShow(source.names, source.sample_shape)
    title = Path(data).name
    with live_page(talk, show, title, name, address=address, path=model, stay=stay) as watcher:
        learner.set_params(callbacks=[watcher])
        yield


def _learned(talk: Talk, learner: Any, source: Any) -> Any:
    """Fit a model to a source, and give samples back, all or the first of them."""
    import numpy as np
    from scipy import sparse

    limit = f"{MOST >> 20} MB"
    live = source.reader.live
    parts, rest = ([], iter(source)) if live else held(source, _bytes)
    whole: Any = None
    if parts:
        whole = (sparse.vstack if sparse.issparse(parts[0]) else np.concatenate)(parts)
    elif not live:
        raise ValueError("There are no samples; give at least one row.")
    if rest is None:
        talk.choose(
            "read", f"{whole.shape[0]:,} samples", f"into memory, as they are below {limit}"
        )
        learner.fit(whole)
        if source.names is not None:  # as a fit on the source would have it
            learner.feature_names_in_ = np.array(source.names, dtype=object)
        return whole
    if not hasattr(learner, "partial_fit"):
        raise WrongUseError(
            f"{type(learner).__name__} needs all samples in memory, and these are more than "
            f"{limit}; use one of {', '.join(name for name in ESTIMATORS if 'Online' in name)}."
        )
    talk.choose("read", "as a stream", f"it is live, or larger than {limit}, and is read once")
    learner.fit(chain(parts, rest) if source.reader.once else source)
    return whole


def _bytes(part: Any) -> int:
    import numpy as np

    dense = isinstance(part, np.ndarray)
    return int(part.nbytes if dense else part.data.nbytes + part.indices.nbytes)


# --------------------------------------------------- options that depend on the estimator


def function_for(estimator: str | None = None) -> Callable[..., None]:
    """The command for typer, with the parameters of an estimator if it is to be run."""
    return framed(
        fit,
        "thresher sample table",
        "thresher fit table.csv model.thr --n-components 3 --report model.html",
        name="fit",
        of=estimator,
    )


def command_for(arguments: list[str]) -> Any:
    """The command with the parameters of the estimator that some arguments name."""
    return alone("fit", function_for(estimator_in(arguments)))


def estimator_in(arguments: list[str]) -> str:
    """The estimator that some arguments name; what is none ends the program."""
    name = USUAL
    for place, word in enumerate(arguments):
        if word == "--estimator" and place + 1 < len(arguments):
            name = arguments[place + 1]
        elif word.startswith("--estimator="):
            name = word.partition("=")[2]
    if name not in ESTIMATORS:
        message = f"There is no estimator {name!r}; use one of {', '.join(ESTIMATORS)}."
        if name:
            typer.echo(f"Error: {message}", err=True)
            raise typer.Exit(2)
        name = USUAL
    return name


def alone(name: str, function: Callable[..., None]) -> Any:
    """A command by itself, as click knows them."""
    program = typer.Typer(add_completion=False)
    program.command(name)(function)
    return typer.main.get_command(program)
