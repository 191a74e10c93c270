"""What all commands share: ``--json``, ``--debug``, exit codes, errors in a sentence, examples."""

from __future__ import annotations

import inspect
import shlex
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from thresher.cli.parameters import options_of
from thresher.cli.talk import Talk


class ExitCode(IntEnum):
    """What a command says to the shell."""

    DONE = 0
    FAILED = 1
    """The run failed: data that cannot be read or learned from, no room on the disk, ..."""
    WRONG_USE = 2
    """A command, option, parameter or path that does not exist, or does not suit."""
    INTERRUPTED = 130
    """As shells have it for Ctrl-C."""


class WrongUseError(ValueError):
    """Something that the user typed is wrong."""


ReportFile = Annotated[
    Path | None,
    typer.Option("--report", help="Write a page about the run to this HTML file.", dir_okay=False),
]
_COMMON = [
    Parameter(
        "json",
        Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[
            bool,
            typer.Option("--json", help="Print one JSON object, for machines."),
        ],
    ),
    Parameter(
        "debug",
        Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option("--debug", help="Show where an error came from.")],
    ),
]


def framed(
    work: Callable[..., None], *examples: str, name: str, of: str | None = None
) -> Callable[..., None]:
    """A function for typer that does the work of a command in the common frame.

    Parameters
    ----------
    work : callable
        Takes a `Talk` first, then the arguments and options of the command; and, if ``of`` is
        given, the parameters of that class as keywords.
    examples : str
        Lines that run as they are printed, in an empty folder.
    name : str
        Of the command.
    of : str, optional
        A class of the library whose parameters are options of the command. Those that the function
        has by itself stay as they are.
    """
    own = [p for p in list(_signature(work))[1:] if p.kind is not Parameter.VAR_KEYWORD]
    names = {parameter.name for parameter in own}
    taken = [] if of is None else [p for p in options_of(of) if p.name not in names]
    signature = Signature([*own, *_COMMON, *taken])

    def command(**given: Any) -> None:
        as_json, debug = given.pop("json"), given.pop("debug")
        again = partial(_again, name, signature, given)
        talk = Talk(name, as_json, again)
        with _told(talk, debug):
            if given.get("report") is not None:  # better known before the work than after it
                from thresher.persistence import checked_target

                checked_target(given["report"])
            work(talk, **given)
            talk.finish()

    command.__name__, command.__doc__ = work.__name__, _with_examples(work.__doc__, examples)
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return command


def made(kind: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    """A model with these parameters; they were typed, so to refuse them is wrong use."""
    try:
        model = kind(**parameters)
        if hasattr(model, "_check_parameters"):
            model._check_parameters()
    except (ValueError, TypeError) as error:
        raise WrongUseError(str(error)) from error
    return model


def seeded(talk: Talk, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters with a seed, where chance has a part."""
    if "random_state" in parameters and parameters["random_state"] is None:
        why = "the same command then gives the same result; any other number is as good"
        parameters = parameters | {"random_state": talk.choose("random_state", 0, why)}
    return parameters


def existing(path: Path) -> Path:
    """Refuse a file that is not there."""
    if not path.exists():
        raise WrongUseError(f"There is no {path}; look for a slip in its name.")
    return path


@contextmanager
def _told(talk: Talk, debug: bool) -> Iterator[None]:
    """Errors in a sentence with an exit code; warnings as notes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = lambda message, *_, **__: talk.note(str(message))
            yield
    except KeyboardInterrupt:
        _end("\nInterrupted; no file was left half written.", ExitCode.INTERRUPTED)
    except typer.Exit:
        raise
    except Exception as error:
        if debug or not isinstance(error, ValueError | TypeError | ImportError | OSError):
            raise
        wrong = isinstance(error, WrongUseError | FileNotFoundError)
        code = ExitCode.WRONG_USE if wrong else ExitCode.FAILED
        _end(f"Error: {_sentence(error)}", code)


def _end(text: str, code: ExitCode) -> None:
    typer.echo(text, err=True)
    raise typer.Exit(int(code)) from None


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}."
    return str(error)


def _signature(work: Callable[..., None]) -> Iterator[Parameter]:
    yield from inspect.signature(work, eval_str=True).parameters.values()


def _with_examples(text: str | None, examples: tuple[str, ...]) -> str:
    """The docstring, and examples whose lines typer leaves as they are, for the mark before."""
    lines = "\n".join(f"  {line}" for line in examples)
    return f"{inspect.cleandoc(text or '')}\n\n\b\nExample:\n{lines}"


def _may_repeat(annotation: Any) -> bool:
    """Whether an option can be given several times: ``list[str]``, or that or None."""
    kind = get_args(annotation)[0] if get_args(annotation) else annotation
    return list in {get_origin(kind), *map(get_origin, get_args(kind))}


def _again(name: str, signature: Signature, given: dict[str, Any], chosen: dict[str, Any]) -> str:
    """The line that repeats a command: what was given, and what was chosen instead of a default."""
    arguments, options = [], []
    for key, parameter in signature.parameters.items():
        value = given.get(key, parameter.default)
        if value == parameter.default:
            value = chosen.get(key, value)
        positional = any(type(m).__name__ == "ArgumentInfo" for m in get_args(parameter.annotation))
        if positional and value is not None:
            arguments.append(str(value))
        elif not positional and value != parameter.default:
            flag = key.replace("_", "-")
            if isinstance(value, bool):
                options.append(f"--{flag}" if value else f"--no-{flag}")
            elif _may_repeat(parameter.annotation):
                options += [word for each in value for word in (f"--{flag}", str(each))]
            else:
                options += [f"--{flag}", str(value)]
    return shlex.join(["thresher", name, *arguments, *options])
