"""A run with a page, for commands: options, and where the page is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.frame import WrongUseError
from thresher.cli.parameters import ESTIMATORS
from thresher.cli.talk import Talk

if TYPE_CHECKING:
    from thresher.cli.live.shows.base import Show
    from thresher.cli.live.watcher import Watcher

LiveFlag = Annotated[
    bool, typer.Option("--live", help="Show the run in a browser while it goes on.")
]
Address = Annotated[
    str,
    typer.Option(help="HOST:PORT of the live page; port 0 is any that is free.", metavar="ADDRESS"),
]
StayFlag = Annotated[
    bool, typer.Option("--stay", help="Keep the live page after the end, until Ctrl-C.")
]
LOOPBACK = "127.0.0.1:0"


@contextmanager
def live_page(
    talk: Talk,
    show: Show,
    title: str,
    what: str,
    *,
    address: str = LOOPBACK,
    path: Path | None = None,
    rate: float | None = None,
    stay: bool = False,
) -> Iterator[Watcher]:
    """Serve a page while something is learned; gives the callback that tells it of every step.

    Parameters
    ----------
    talk : Talk
        Is told where the page is.
    show : Show
        What there is to see.
    title, what : str
        The name of the data, and of the class that learns.
    address : str
        ``host:port``.
    path : Path, optional
        Where models are saved when a reader asks; by default a file in this folder whose name has
        the time in it, so that nothing is written over.
    rate : float, optional
        Samples a second, at most.
    stay : bool
        Whether the page stays after the end, until Ctrl-C.
    """
    for module in ("starlette", "uvicorn"):
        _needed(module)
    from thresher.cli.live.board import Board
    from thresher.cli.live.server import Server
    from thresher.cli.live.watcher import Watcher
    from thresher.cli.live.wishes import Wishes

    target = path or Path(time.strftime("live-%Y%m%d-%H%M%S.thr"))
    board = Board({"title": title, "what": what, "file": target.name, **show.about()})
    wishes = Wishes()
    try:
        server = Server(board, wishes, address)
    except ValueError as error:
        raise WrongUseError(str(error)) from None
    with server:
        talk.aside(f"Live page: {server.url}")
        talk.answer(live=server.url)
        watcher = Watcher(board, wishes, show, target, rate)
        yield watcher
        watcher.finish()
        if stay and not watcher.interrupted:
            talk.aside("All is read. The page stays until you press Ctrl-C.")
            with suppress(KeyboardInterrupt):
                watcher.stay()
    if watcher.saved:
        talk.aside(f"A reader of the page saved the model: {target}")


def checked_online(learner: Any) -> str:
    """The name of the class of a model; what needs all samples at once is refused."""
    name = type(learner).__name__
    if not hasattr(learner, "partial_fit"):
        online = ", ".join(name for name in ESTIMATORS if name.startswith("Online"))
        raise WrongUseError(
            f"{name} learns from all samples at once, so there is nothing to watch live; use one "
            f"of {online}."
        )
    return name


@contextmanager
def until_interrupted(talk: Talk, watcher: Watcher) -> Iterator[None]:
    """Ctrl-C is how people end what has no end: what was learned until then is kept."""
    try:
        yield
    except KeyboardInterrupt:
        watcher.interrupted = True
        talk.aside("Interrupted; what came until now counts.")


def _needed(module: str) -> Any:
    from thresher.streams.extras import needed

    return needed(module, "live", "The live page")
