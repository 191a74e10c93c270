"""``thresher live``: learning, to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.fit import USUAL, Columns, Data, EstimatorName, alone, estimator_in, opened
from thresher.cli.frame import WrongUseError, framed, made, seeded
from thresher.cli.live.session import (
    LOOPBACK,
    Address,
    checked_online,
    live_page,
    until_interrupted,
)
from thresher.cli.parameters import parameters_of
from thresher.cli.talk import Talk
from thresher.cli.topics import SaveFile, TextField

_BATCH = 32  # samples: what a person sees change; by judgement
_PIXELS = 20_000  # of a picture, which then learns fast enough to look at; by judgement

Rate = Annotated[
    float | None,
    typer.Option(help="At most so many samples a second, as if they came live.", min=0.01),
]
Stay = Annotated[
    bool, typer.Option(help="Keep the page after all was read, until Ctrl-C; else end.")
]


def live(
    talk: Talk,
    source: Data,
    estimator: EstimatorName = USUAL,
    columns: Columns = None,
    text: TextField = None,
    save: SaveFile = None,
    rate: Rate = None,
    stay: Stay = True,
    address: Address = LOOPBACK,
    **parameters: Any,
) -> None:
    """Learn from a stream, and watch it in a browser: samples, outliers, parts, losses, drift.

    SOURCE is a table, a video, a camera (camera:0), a folder of pictures, or documents. The page
    can pause, save a checkpoint, and change the weight of outliers and the half-life. It is on this
    machine only, unless --address says otherwise, and for those who know its whole address.
    """
    from thresher.tasks.text.reading import has_documents

    if has_documents(source):
        _watch_documents(talk, source, text, save, rate, stay, address, estimator, parameters)
        return
    import thresher
    from thresher.cli.live.shows.model import ModelShow
    from thresher.cli.summary import show_summary

    learner = made(getattr(thresher, estimator), seeded(talk, _for_looking(talk, parameters)))
    data = _small(talk, source, opened(talk, source, columns), columns)
    show = ModelShow(data.names, data.sample_shape)
    title = "Standard input" if source == "-" else Path(source).name
    what = checked_online(learner)
    page = live_page(talk, show, title, what, address=address, path=save, rate=rate, stay=stay)
    with page as watcher, until_interrupted(talk, watcher):
        learner.set_params(callbacks=[watcher]).fit(data)
    if not hasattr(learner, "components_"):
        raise ValueError("Nothing was learned: there was no batch of samples yet.")
    if save is not None:
        thresher.save(learner, save)
        talk.answer(model=save)
    show_summary(talk, learner)


def _for_looking(talk: Talk, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters with small batches and an eye on drift, unless others were asked for."""
    chosen = dict(parameters)
    if chosen.get("batch_size") == 256:
        why = "the page moves after each batch"
        chosen["batch_size"] = talk.choose("batch_size", _BATCH, why)
    if "drift" in chosen and chosen["drift"] is None:
        chosen["drift"] = talk.choose("drift", "auto", "the page tells of shifts")
    return chosen


def _small(talk: Talk, path: str, source: Any, columns: str | None) -> Any:
    """Pictures of a size that is quick to learn."""
    shape = source.sample_shape
    if shape is None or columns is not None or shape[0] * shape[1] <= _PIXELS:
        return source
    import thresher

    scale = (_PIXELS / (shape[0] * shape[1])) ** 0.5
    size = max(1, int(shape[0] * scale)), max(1, int(shape[1] * scale))
    why = f"{shape[0]} × {shape[1]} pixels are scaled down, to be fast enough to look at"
    talk.choose("pictures of", f"{size[0]} × {size[1]} pixels", why)
    return thresher.open(path, size=size)


def _watch_documents(
    talk: Talk,
    docs: str,
    text: str | None,
    save: Path | None,
    rate: float | None,
    stay: bool,
    address: str,
    estimator: str,
    parameters: dict[str, Any],
) -> None:
    """Documents have a detector of their own, with parameters of its own."""
    from thresher.cli.live.documents import watch_novelty

    usual = {one.name: one.default for one in parameters_of(estimator)}
    other = [n for n, value in parameters.items() if str(value) != str(usual[n])]
    taken = {name: parameters[name] for name in other if name in ("n_components", "random_state")}
    if estimator != USUAL or len(taken) < len(other):
        raise WrongUseError(
            "Documents are watched by NovelDocumentDetector, which has other options: thresher "
            f"novelty {docs} --live."
        )
    talk.choose("estimator", "NovelDocumentDetector", "these are documents")
    names = {one.name: one.default for one in parameters_of("NovelDocumentDetector")}
    watch_novelty(talk, docs, text, save, {**names, **taken}, address=address, rate=rate, stay=stay)


# --------------------------------------------------- options that depend on the estimator


def function_for(estimator: str | None = None) -> Callable[..., None]:
    """The command for typer, with the parameters of an estimator if it is to be run."""
    return framed(
        live,
        "thresher sample table",
        "thresher live table.csv --n-components 3 --rate 500 --no-stay",
        name="live",
        of=estimator,
    )


def command_for(arguments: list[str]) -> Any:
    """The command with the parameters of the estimator that some arguments name."""
    return alone("live", function_for(estimator_in(arguments)))
