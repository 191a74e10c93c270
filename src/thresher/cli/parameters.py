"""The parameters of a class as options of a command, with the same names and defaults.

They are read from the source of the class, its signature and its docstring: to import it would take
a second, and ``--help`` has half of one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

import thresher

TASKS = {
    "ImageDenoiser": "tasks/images/denoiser.py",
    "ImageSegmenter": "tasks/segmentation/segmenter.py",
    "NovelDocumentDetector": "tasks/novelty/detector.py",
    "SensorCodec": "tasks/compression/codec.py",
    "SoundSeparator": "tasks/sound/separator.py",
    "SpectralUnmixer": "tasks/spectra/unmixer.py",
    "TableCleaner": "tasks/tables/cleaner.py",
    "TopicModel": "tasks/topics/model.py",
    "VideoSeparator": "tasks/video/separator.py",
}
ESTIMATORS = {
    "BatchNMF": "estimators/divergence_nmf.py",
    "GoDec": "estimators/low_rank.py",
    "L1Dictionary": "estimators/l1_dictionary.py",
    "ManhattanNMF": "estimators/manhattan_nmf.py",
    "OnlineL1Dictionary": "estimators/l1_dictionary.py",
    "OnlineNMF": "estimators/divergence_nmf.py",
    "OnlineOrthogonalDictionary": "estimators/online_orthogonal.py",
    "OnlineRobustNMF": "estimators/robust_nmf.py",
    "OnlineRobustPCA": "estimators/low_rank.py",
    "RobustNMF": "estimators/robust_nmf.py",
    "RobustPCA": "estimators/low_rank.py",
    "SymmetricManhattanNMF": "estimators/manhattan_nmf.py",
}
"""Where the classes are written; a test compares this with what the library has."""

_TELL_ALL = ("OnlineL1Dictionary", "OnlineNMF", "OnlineRobustNMF")

# What no word on a command line can stand for: functions, and other estimators.
_UNSPOKEN = {"callbacks", "estimator", "model", "vectorizer", "vocabulary"}
_KINDS: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "int | None": int | None,
    "float | None": float | None,
}


@dataclass(frozen=True)
class ClassParameter:
    """A parameter of a class, as its source has it.

    Attributes
    ----------
    name : str
    kind : str
        The annotation.
    default : object
    wanted : str
        What the docstring says it may be, such as ``{"auto", "mad"}``.
    text : str
        The first sentence that the docstring has on it.
    """

    name: str
    kind: str
    default: Any
    wanted: str
    text: str

    @property
    def words(self) -> list[str]:
        """Names that it may have for a value."""
        return re.findall(r'"([^"]+)"', self.wanted)


def parameters_of(name: str) -> list[ClassParameter]:
    """What a class of the library takes that can be said on a command line."""
    found = _class(name)
    given = [
        each
        for each in _signature(found)
        if each[0] not in _UNSPOKEN and not each[0].startswith("_")  # such as constraints
    ]
    told = _described(found)
    for other in _TELL_ALL:  # a name means the same everywhere, and is explained once
        if not told.keys() >= {key for key, _, _ in given}:
            told = _described(_class(other)) | told
    return [
        ClassParameter(key, ast.unparse(kind), ast.literal_eval(default), *told.get(key, ("", "")))
        for key, kind, default in given
    ]


def options_of(name: str) -> list[Parameter]:
    """The same for a function of typer's."""
    return [_option(parameter, f"Parameters of {name}") for parameter in parameters_of(name)]


def spoken(text: Any) -> Any:
    """A value as it was typed: a number, None, True, a list, or else a word."""
    try:
        return ast.literal_eval(str(text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _option(parameter: ClassParameter, panel: str) -> Parameter:
    kind: Any = _KINDS.get(parameter.kind)
    about: dict[str, Any] = {"help": parameter.text, "rich_help_panel": panel}
    if parameter.words:
        about["autocompletion"] = lambda incomplete: [
            word for word in parameter.words if word.startswith(incomplete)
        ]
    default = parameter.default
    if kind is None:  # a word, a number or a list, whichever it looks like
        kind = Any
        about |= {"parser": spoken, "metavar": "<value>"}
        default = None if default is None else str(default)
    option = Annotated[kind, typer.Option(**about)]
    return Parameter(parameter.name, Parameter.KEYWORD_ONLY, annotation=option, default=default)


@cache
def _class(name: str) -> ast.ClassDef:
    path = Path(thresher.__file__).parent / (TASKS | ESTIMATORS)[name]
    module = ast.parse(path.read_text(encoding="utf-8"))
    return next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == name)


def _signature(found: ast.ClassDef) -> Iterator[tuple[str, Any, Any]]:
    """Name, annotation and default of every parameter: of a constructor, or of a data class."""
    for node in found.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            given = node.args
            own = given.args[1:]
            yield from zip(
                [argument.arg for argument in own + given.kwonlyargs],
                [argument.annotation for argument in own + given.kwonlyargs],
                [*given.defaults, *given.kw_defaults],
                strict=True,
            )
            return
    for node in found.body:
        if isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            yield node.target.id, node.annotation, node.value


def _described(found: ast.ClassDef) -> dict[str, tuple[str, str]]:
    """What a docstring has on each parameter: what it may be, and a first sentence."""
    docstring = ast.get_docstring(found) or ""
    section = re.search(r"\nParameters\n-+\n(.*?)(?:\n\n[A-Z]\w*\n-+\n|\Z)", docstring, re.DOTALL)
    told = {}
    for entry in re.split(r"\n(?=\w)", section[1].strip() if section else ""):
        # What a parameter may be can take more than a line, if it is a list in braces.
        head = re.match(r"([\w, ]+?) : ([^\n{]*(?:\{[^}]*\}[^\n]*)?)\n?(.*)", entry, re.DOTALL)
        if head is None:
            continue
        wanted, text = " ".join(head[2].split()), " ".join(head[3].split())
        if ". " in wanted:
            wanted, _, before = wanted.partition(". ")
            text = f"{before} {text}"
        for name in head[1].split(", "):
            told[name] = wanted, _first_sentence(text) or f"{wanted}."
    return told


def _first_sentence(text: str) -> str:
    first = re.split(r"(?<=\.)\s+(?=[A-Z`])", text, maxsplit=1)[0]
    return re.sub(r":\w+:`([^`]*)`", r"\1", first).replace("`", "")
