"""The program: which commands there are, each with an example that runs as it is printed.

Everything heavy is imported inside the commands, so that ``--help`` is quick.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from thresher import __version__
from thresher.cli import fit as fitting
from thresher.cli.choose import choose
from thresher.cli.clean import clean
from thresher.cli.compress import compress
from thresher.cli.decompress import decompress
from thresher.cli.demo import demo
from thresher.cli.denoise import denoise
from thresher.cli.frame import framed
from thresher.cli.inspect_model import inspect_model
from thresher.cli.live import command as watching
from thresher.cli.novelty import novelty
from thresher.cli.sample import sample
from thresher.cli.segment import segment
from thresher.cli.separate import separate
from thresher.cli.sound import sound
from thresher.cli.topics import topics
from thresher.cli.transform import transform
from thresher.cli.unmix import unmix
from thresher.cli.warm_up import warm_up

_whole: dict[str | None, Callable[[list[str]], Any]] = {
    "fit": fitting.command_for,
    "live": watching.command_for,
}
"""Makes a command, from its arguments, with the parameters of a class as options.

They are read when the command is called for: with those of all, ``thresher --help`` would take half
as long again."""


class _Commands(TyperGroup):
    """Knows that most commands have options that are parameters of a class."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return (name, _whole[name](rest) if name in _whole else command, rest)


app = typer.Typer(
    name="thresher",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

_SAMPLES = "Begin here"
_TASKS = "Tasks"
_MODELS = "Any estimator"


def _add(
    work: Any, panel: str, *examples: str, name: str | None = None, of: str | None = None
) -> None:
    called = name or work.__name__
    function = partial(framed, work, *examples, name=called)
    app.command(called, rich_help_panel=panel)(function())
    if of is not None:
        _whole[called] = lambda _: fitting.alone(called, function(of=of))


_add(demo, _SAMPLES, "thresher demo --quick")
_add(sample, _SAMPLES, "thresher sample all")
_add(warm_up, _SAMPLES, "thresher warm-up", name="warm-up")
_add(
    topics,
    _TASKS,
    "thresher sample docs",
    "thresher topics docs.jsonl --n-components 5 --report topics.html",
    "thresher topics docs.jsonl --n-components 5 --over-time --report time.html",
    of="TopicModel",
)
_add(
    novelty,
    _TASKS,
    "thresher sample docs",
    "thresher novelty docs.jsonl --report novelty.html",
    "tail -n 600 docs.jsonl | thresher novelty - --size 100",
    of="NovelDocumentDetector",
)
_add(
    clean,
    _TASKS,
    "thresher sample table",
    "thresher clean table.csv clean.csv --changes changes.csv --report clean.html",
    of="TableCleaner",
)
_add(
    compress,
    _TASKS,
    "thresher sample sensors",
    "thresher compress sensors.csv sensors.thr --error 0.01 --report sensors.html",
    "thresher compress sensors.csv sensors.thr --error 1% --error attic=0.2",
    of="SensorCodec",
)
_add(
    decompress,
    _TASKS,
    "thresher sample sensors",
    "thresher compress sensors.csv sensors.thr",
    "thresher decompress sensors.thr again.csv",
)
_add(
    separate,
    _TASKS,
    "thresher sample video",
    "thresher separate street.avi --mask mask.mp4 --report street.html",
    of="VideoSeparator",
)
_add(
    denoise,
    _TASKS,
    "thresher sample photographs",
    "thresher denoise photographs clean --report clean.html",
    of="ImageDenoiser",
)
_add(
    segment,
    _TASKS,
    "thresher sample photo",
    "thresher segment photo.png parts.png --n-segments 4 --report parts.html",
    of="ImageSegmenter",
)
_add(
    unmix,
    _TASKS,
    "thresher sample scene",
    "thresher unmix scene.npy shares.npy --report scene.html",
    of="SpectralUnmixer",
)
_add(
    sound,
    _TASKS,
    "thresher sample tune",
    "thresher sound tune.wav parts --report tune.html",
    of="SoundSeparator",
)
app.command("fit", rich_help_panel=_MODELS)(fitting.function_for())
app.command("live", rich_help_panel=_MODELS)(watching.function_for())
_add(
    choose,
    _MODELS,
    "thresher sample table",
    "thresher choose table.csv --n-components 2-6 --report choice.html",
)
_add(
    transform,
    _MODELS,
    "thresher sample table",
    "thresher fit table.csv model.thr --n-components 3",
    "thresher transform model.thr table.csv codes.csv",
)
_add(
    inspect_model,
    _MODELS,
    "thresher sample table",
    "thresher fit table.csv model.thr --n-components 3",
    "thresher inspect model.thr --report model.html",
    name="inspect",
)


def main() -> None:
    """Run the command line; the entry point of the program ``thresher``."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"thresher {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Learn parts from streams and set the outliers aside.

    Every command has --help with an example that runs as printed, --json for machines, and --debug.
    It exits with 0 when all is done, 1 when the run failed, 2 when it was used wrongly.
    """
