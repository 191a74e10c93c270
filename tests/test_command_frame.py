"""What all commands share: their table, options, words for people and machines, exit codes."""

import ast
import inspect
import json
import re
import shlex
import warnings
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import typer

from thresher.cli import fit as fitting
from thresher.cli.app import _show_version, _whole, app
from thresher.cli.choose import _counts, _listed
from thresher.cli.compress import _bounds
from thresher.cli.frame import ExitCode, WrongUseError, existing, framed, made, seeded
from thresher.cli.held import held
from thresher.cli.parameters import (
    ESTIMATORS,
    ClassParameter,
    _described,
    _first_sentence,
    _option,
    _signature,
    options_of,
    parameters_of,
)
from thresher.cli.progress import stages
from thresher.cli.summary import _words, show_summary, summary
from thresher.cli.talk import Talk, _plain

PANELS = {
    "Begin here": ["demo", "sample", "warm-up"],
    "Tasks": [
        "topics", "novelty", "clean", "compress", "decompress", "separate", "denoise", "segment",
        "unmix", "sound",
    ],
    "Any estimator": ["fit", "live", "choose", "transform", "inspect"],
}  # fmt: skip
CLASSES = {
    "topics": "TopicModel", "novelty": "NovelDocumentDetector", "clean": "TableCleaner",
    "compress": "SensorCodec", "separate": "VideoSeparator", "denoise": "ImageDenoiser",
    "segment": "ImageSegmenter", "unmix": "SpectralUnmixer",
    "sound": "SoundSeparator", "fit": "OnlineRobustNMF", "live": "OnlineRobustNMF",
}  # fmt: skip
COMMANDS = {each.name: each for each in app.registered_commands}
GROUP = typer.main.get_command(app)


# ----------------------------------------------------------------------------- the program


def test_every_command_stands_in_its_panel_in_order():
    found = {}
    for each in app.registered_commands:
        found.setdefault(each.rich_help_panel, []).append(each.name)
    assert found == PANELS
    assert app.info.name == "thresher"
    assert app.info.no_args_is_help is True
    assert app.pretty_exceptions_enable is False
    assert set(_whole) == set(CLASSES)


def examples(name):
    text = COMMANDS[name].callback.__doc__
    return [line.strip() for line in text.split("\b\nExample:\n")[1].splitlines()]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_use_only_what_an_earlier_line_made(name):
    """The first line writes a sample; each file that is read was written before."""
    there = set()
    for line in examples(name):
        assert line.startswith(("thresher ", "tail "))
        words = shlex.split(line)
        if words[:2] == ["thresher", "sample"]:
            from thresher.datasets.samples import KINDS

            there |= {KINDS[kind].name for kind in KINDS if words[2] in (kind, "all")}
            continue
        files = [w for w in words if re.fullmatch(r"[\w]+\.[a-z]+", w)]
        given = words[3] if words[0] == "tail" else (words[2] if len(words) > 2 else None)
        if given and not given.startswith("-"):
            assert given in there, line
        there |= set(files)
    assert f"thresher {name}" in examples(name)[-1]


@pytest.mark.parametrize("name", CLASSES)
def test_parameters_of_the_class_are_options_of_the_command(name):
    command = _whole[name]([])
    own = {p.name for p in inspect.signature(COMMANDS[name].callback).parameters.values()}
    options = {p.name: p for p in command.params}
    assert command.name == name
    for parameter in parameters_of(CLASSES[name]):
        option = options[parameter.name]
        if parameter.name in own:
            continue
        assert option.rich_help_panel == f"Parameters of {CLASSES[name]}"
        assert option.help == parameter.text
        default = option.default() if callable(option.default) else option.default
        assert str(default) == str(parameter.default)
        assert not option.required
    assert set(options) - {"help"} == own | {p.name for p in parameters_of(CLASSES[name])}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json_and_debug_which_are_off(name):
    parameters = inspect.signature(COMMANDS[name].callback).parameters
    assert parameters["json"].default is parameters["debug"].default is False
    options = {each.name: each for each in GROUP.commands[name].params}
    assert (options["json"].opts, options["debug"].opts) == (["--json"], ["--debug"])
    for option in GROUP.commands[name].params:  # what is off unless it is asked for
        if getattr(option, "is_flag", False) and option.name != "help":
            assert option.default is (option.name == "stay" and name == "live"), option.name


def test_arguments_name_the_estimator_in_both_ways():
    assert fitting.estimator_in([]) == "OnlineRobustNMF"
    assert fitting.estimator_in(["x", "--estimator", "GoDec", "y"]) == "GoDec"
    assert fitting.estimator_in(["--estimator=GoDec"]) == "GoDec"
    assert fitting.estimator_in(["--estimator", "GoDec", "--estimator=BatchNMF"]) == "BatchNMF"
    assert fitting.estimator_in(["x", "--estimator"]) == "OnlineRobustNMF"
    assert fitting.estimator_in(["--estimator="]) == "OnlineRobustNMF"


def test_no_such_estimator_is_wrong_use(capsys):
    with pytest.raises(typer.Exit) as end:
        fitting.estimator_in(["--estimator", "Nmf"])
    assert end.value.exit_code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"Error: There is no estimator 'Nmf'; use one of {', '.join(ESTIMATORS)}.\n"


def test_the_version_ends_the_program(capsys):
    _show_version(False)
    assert capsys.readouterr().out == ""
    with pytest.raises(typer.Exit):
        _show_version(True)
    from thresher import __version__

    assert capsys.readouterr().out == f"thresher {__version__}\n"


# ------------------------------------------------------------------ parameters of a class

DOCUMENTED = '''
class A:
    """Says something.

    Parameters
    ----------
    first, second : int or None
        The number of `things`. It is more than
        this.
    kind : {"auto",
            "mad"}
        See :func:`other`.  Here it goes on, etc. and on.
    bare : float
    told : bool. Whether it is.
        And more.

    Attributes
    ----------
    found_ : int
        Nothing that is asked.
    """

    def __init__(self, first: int | None = None, *, kind: str = "auto", bare=2.0):
        pass
'''


def test_docstrings_tell_what_parameters_may_be():
    (found,) = ast.parse(DOCUMENTED).body
    assert _described(found) == {
        "first": ("int or None", "The number of things."),
        "second": ("int or None", "The number of things."),
        "kind": ('{"auto", "mad"}', "See other."),
        "bare": ("float", "float."),
        "told": ("bool", "Whether it is."),
    }
    assert [(name, ast.unparse(value)) for name, _, value in _signature(found)] == [
        ("first", "None"), ("kind", "'auto'"), ("bare", "2.0"),
    ]  # fmt: skip
    bare = ast.parse("class B:\n    a: int = 3\n    b: float\n    def f(self, c=1): pass").body[0]
    assert _described(bare) == {}
    assert [(name, kind.id, value.value) for name, kind, value in _signature(bare)] == [
        ("a", "int", 3)
    ]


def test_the_first_sentence_ends_where_a_new_one_begins():
    assert _first_sentence("As in e.g. this. Then `more`.") == "As in e.g. this."
    assert _first_sentence("One. `Two` is.") == "One."
    assert _first_sentence("") == ""


def test_words_complete_and_numbers_are_typed():
    word = ClassParameter("kind", "str | float", "auto", '{"auto", "all", "mad"}', "Text.")
    option = _option(word, "Panel")
    (meta,) = option.annotation.__metadata__
    assert meta.autocompletion("a") == ["auto", "all"]
    assert (meta.metavar, meta.help, meta.rich_help_panel) == ("<value>", "Text.", "Panel")
    assert [meta.parser(each) for each in ("3", "[1, 2]", "mad")] == [3, [1, 2], "mad"]
    assert option.default == "auto"
    number = _option(ClassParameter("n", "int | None", None, "int", "Text."), "Panel")
    (meta,) = number.annotation.__metadata__
    assert meta.autocompletion is meta.parser is None
    assert number.annotation.__origin__ == (int | None)
    assert number.default is None
    listed = _option(ClassParameter("n", "Any", None, "list", "Text."), "Panel")
    assert listed.default is None
    assert _option(ClassParameter("n", "Any", 2.5, "list", "Text."), "P").default == "2.5"
    kinds = {"int": int, "float": float, "bool": bool, "str": str, "float | None": float | None}
    for text, kind in kinds.items():
        assert _option(ClassParameter("n", text, None, "", ""), "").annotation.__origin__ == kind
    assert all(option.kind is option.KEYWORD_ONLY for option in options_of("TopicModel"))


# --------------------------------------------------------------------------------- a frame


def frame(work, *examples, of=None, **given):
    """Run some work in the frame of a command; its exit code."""
    command = framed(work, *examples, name="try", of=of)
    try:
        command(json=given.pop("json", False), debug=given.pop("debug", False), **given)
    except typer.Exit as end:
        return end.exit_code
    return 0


def failing(error):
    def work(talk):
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (WrongUseError("So."), 2, "Error: So.\n"),
        (ValueError("So."), 1, "Error: So.\n"),
        (TypeError("So."), 1, "Error: So.\n"),
        (ImportError("So."), 1, "Error: So.\n"),
        (FileNotFoundError("So."), 2, "Error: So.\n"),
        (OSError(28, "No space left", "a.csv"), 1, "Error: No space left: a.csv.\n"),
        (KeyboardInterrupt(), 130, "\nInterrupted; no file was left half written.\n"),
        (typer.Exit(7), 7, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_have_codes_and_sentences(error, code, said, capsys):
    assert frame(failing(error)) == code
    out, err = capsys.readouterr()
    assert (out, err) == ("", said)
    assert [int(each) for each in ExitCode] == [0, 1, 2, 130]


def test_what_nobody_expects_is_shown_where_it_is():
    with pytest.raises(ZeroDivisionError):
        frame(failing(ZeroDivisionError()))
    with pytest.raises(ValueError, match=r"^So\.$"):
        frame(failing(ValueError("So.")), debug=True)


def test_warnings_of_users_are_notes_others_are_not(capsys):
    def work(talk):
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.warn("look", UserWarning, stacklevel=1)

    frame(work, json=True)
    out, err = capsys.readouterr()
    assert json.loads(out)["notes"] == ["look"]
    assert err == "Note: look\n"


def test_a_report_that_cannot_be_written_is_refused_before_the_work(tmp_path, capsys):
    done = []

    def work(talk, report: Path | None = None):
        done.append(report)

    assert frame(work, report=tmp_path / "no" / "x.html") == 2
    assert not done
    assert frame(work, report=tmp_path / "x.html") == 0
    assert frame(work, report=None) == 0
    assert done == [tmp_path / "x.html", None]


def lines(
    talk,
    data: Annotated[Path, typer.Argument()],
    other: Annotated[Path | None, typer.Argument()] = None,
    n_parts: Annotated[int, typer.Option()] = 3,
    words: Annotated[list[str] | None, typer.Option()] = None,
    names: Annotated[list[str], typer.Option()] = ("x",),
    deep: Annotated[bool, typer.Option()] = False,
    wide: Annotated[bool, typer.Option()] = True,
):
    """Does nothing."""
    talk.choose("n_parts", 5, "so")
    talk.choose("unknown", 7, "so")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "thresher try 'a b' --n-parts 5"),
        ({"n_parts": 4}, "thresher try 'a b' --n-parts 4"),
        ({"other": Path("c")}, "thresher try 'a b' c --n-parts 5"),
        ({"words": ["p", "q"]}, "thresher try 'a b' --n-parts 5 --words p --words q"),
        ({"names": ["p"]}, "thresher try 'a b' --n-parts 5 --names p"),
        ({"deep": True, "wide": False}, "thresher try 'a b' --n-parts 5 --deep --no-wide"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_the_line_that_repeats_a_run_has_what_was_given_and_chosen(given, line, capsys):
    usual = {k: p.default for k, p in inspect.signature(lines).parameters.items()}
    del usual["talk"]
    frame(lines, json=True, **(usual | {"data": Path("a b")} | given))
    told = json.loads(capsys.readouterr().out)
    assert told["again"] == line
    assert told["command"] == "try"
    assert told["chosen"] == {
        "n_parts": {"value": 5, "why": "so"}, "unknown": {"value": 7, "why": "so"},
    }  # fmt: skip


def test_a_framed_function_has_the_options_of_its_class_behind_its_own():
    def work(talk, random_state: int = 3, **parameters):
        """Works.

        Hard.
        """

    command = framed(work, "thresher a", "thresher b", name="x", of="ImageSegmenter")
    names = list(inspect.signature(command).parameters)
    rest = [p.name for p in parameters_of("ImageSegmenter") if p.name != "random_state"]
    assert names == ["random_state", "json", "debug", *rest]
    assert inspect.signature(command).parameters["random_state"].default == 3
    assert set(command.__annotations__) == set(names)
    assert command.__name__ == "work"
    assert command.__doc__ == "Works.\n\nHard.\n\n\b\nExample:\n  thresher a\n  thresher b"


# ---------------------------------------------------------------------------- what is said


def talk(as_json=False):
    return Talk("try", as_json, lambda chosen: f"again {chosen}")


def test_people_read_results_and_machines_one_object(capsys, tmp_path):
    for as_json in (False, True):
        one = talk(as_json)
        assert one.as_json is as_json
        assert one.choose("k", 3, "so it is") == 3
        one.aside("[b]aside[/b]")
        one.note("careful")
        one.show("[b]text[/b] " + "long " * 40, "more")
        one.answer(a=np.arange(2), b=Path("p"), c=np.float64(0.5))
        one.answer(c=1)
        one.finish()
        out, err = capsys.readouterr()
        assert err == "k = 3: so it is\n[b]aside[/b]\nNote: careful\n"
        if as_json:
            assert json.loads(out) == {
                "command": "try", "a": [0, 1], "b": "p", "c": 1, "notes": ["careful"],
                "chosen": {"k": {"value": 3, "why": "so it is"}}, "again": "again {'k': 3}",
            }  # fmt: skip
            assert out.count("\n") == 1
        else:
            assert out == "[b]text[/b] " + "long " * 40 + "\nmore\n"
    assert _plain((1, 2)) == "(1, 2)"


def test_lines_are_printed_at_once_instead_of_an_object_at_the_end(capsys):
    one = talk(True)
    one.line(a=1, b=np.arange(2))
    assert capsys.readouterr().out == '{"a": 1, "b": [0, 1]}\n'
    one.finish()
    assert capsys.readouterr().out == ""
    plain = talk(False)
    plain.line(a=1)
    plain.finish()
    assert capsys.readouterr().out == ""


def test_bars_are_for_those_who_watch(monkeypatch):
    from rich.console import Console

    seen = []

    class Bars:
        def __init__(self, *columns, console, disable):
            seen.append(("made", len(columns), console.is_terminal, disable))

        def __enter__(self):
            seen.append("in")

        def __exit__(self, *_):
            seen.append("out")

        def add_task(self, stage, total):
            seen.append((stage, total))
            return stage.upper()

        def update(self, task, completed):
            seen.append((task, completed))

    monkeypatch.setattr("rich.progress.Progress", Bars)
    for terminal in (True, False):
        with stages(Console(force_terminal=terminal), "rows") as tell:
            tell("read", 1, 9)
            tell("read", 5, 9)
            tell("write", 2, 4)
        from thresher.engine.progress import columns

        assert seen == [
            ("made", len(columns("rows")), terminal, not terminal), "in", ("read", 9), ("READ", 1),
            ("READ", 5), ("write", 4), ("WRITE", 2), "out",
        ]  # fmt: skip
        seen.clear()


# ---------------------------------------------------------------------------------- pieces


def test_typed_parameters_that_a_class_refuses_are_wrong_use():
    class Model:
        def __init__(self, n=1):
            self.n = n
            if n == 7:
                raise TypeError("not seven")

        def _check_parameters(self):
            if self.n < 0:
                raise ValueError("below zero")

    assert made(Model, {"n": 3}).n == 3
    for n, says in ((-1, "below zero"), (7, "not seven")):
        with pytest.raises(WrongUseError, match=says):
            made(Model, {"n": n})
    with pytest.raises(WrongUseError, match="unexpected keyword"):
        made(Model, {"m": 3})
    assert made(dict, {"a": 1}) == {"a": 1}


def test_chance_gets_a_seed_only_where_it_has_a_part(capsys):
    assert seeded(talk(), {"random_state": None, "a": 1}) == {"random_state": 0, "a": 1}
    assert capsys.readouterr().err.startswith("random_state = 0: the same command then gives")
    for same in ({"random_state": 3}, {"a": 1}):
        assert seeded(talk(), same) == same
    assert capsys.readouterr().err == ""


def test_what_is_not_there_is_refused(tmp_path):
    assert existing(tmp_path) == tmp_path
    with pytest.raises(WrongUseError, match=r"^There is no nowhere\.csv; look for a slip in its"):
        existing(Path("nowhere.csv"))


def test_what_fits_into_memory_is_held(monkeypatch):
    monkeypatch.setattr("thresher.cli.held.MOST", 6)
    assert held(["ab", "cd", "ef"], len) == (["ab", "cd", "ef"], None)
    kept, rest = held(["ab", "cd", "efg", "h", "i"], len)
    assert kept == ["ab", "cd", "efg"]
    assert list(rest) == ["h", "i"]
    assert held([], len) == ([], None)


def test_numbers_of_parts_are_ranges_or_lists():
    assert _counts("2-5") == [2, 3, 4, 5]
    assert _counts("3-3") == [3]
    assert _counts("2,4,8") == [2, 4, 8]
    assert _counts("7") == [7]
    assert _counts("None") is _counts("none") is None
    for wrong in ("5-2", "a", "2-4-6", "2,x", ""):
        with pytest.raises(WrongUseError, match=f"--n-components {wrong} is no range; write 2-20"):
            _counts(wrong)
    assert _listed(None) is None
    assert _listed("auto,mad,0.5,None,3") == ["auto", "mad", 0.5, None, 3]


def test_bounds_are_one_or_by_column():
    assert _bounds([]) is None
    assert _bounds(["0.02"]) == 0.02
    assert _bounds(["1%"]) == "1%"
    assert _bounds(["0.1", "0.2"]) == 0.2
    assert _bounds(["1%", "a=0.5", "b=c=2%"]) == {"*": "1%", "a": 0.5, "b=c": "2%"}
    assert _bounds(["a=0.5"]) == {"a": 0.5}


# --------------------------------------------------------------------------------- summary


def test_a_model_is_told_in_lines_with_values_below_each_other(capsys, monkeypatch):
    import thresher
    from thresher.engine import Event, History, HistoryRow

    model = thresher.OnlineRobustNMF(2, init=np.ones((2, 3)), random_state=0)
    model.components_, model.history_ = np.ones((2, 3)), History()
    model.history_.append(HistoryRow(10, 0.5, 3.0, 0.1, 0.1))
    model.history_.append(HistoryRow(20, 1.25, 2.0, 0.1, 0.1))
    model.history_.note([Event(20, "shift", 0.5)])
    model.n_samples_seen_ = 20
    monkeypatch.setattr(type(model), "solver_", "exact")
    monkeypatch.setattr(type(model), "outlier_weight_", 1234.5678)
    expected = {
        "estimator": "OnlineRobustNMF",
        "parameters": {"n_components": 2, "init": repr(np.ones((2, 3))), "random_state": 0},
        "n_components": 2, "n_features": 3, "n_samples_seen": 20, "outlier_weight": 1234.5678,
        "solver": "exact", "steps": 2, "seconds": 1.25, "loss": 2.0,
        "events": [{**Event(20, "shift", 0.5)._asdict()}],
    }  # fmt: skip
    assert summary(model) == expected
    one = talk()
    show_summary(one, model)
    out = capsys.readouterr().out
    assert "\nn components    2\n" in out
    assert "\noutlier weight  1,235\n" in out
    assert "\nloss            2\n" in out
    del model.history_, model.components_
    assert set(summary(model)) == {
        "estimator", "parameters", "n_samples_seen", "outlier_weight", "solver",
    }  # fmt: skip


def test_models_in_rounds_tell_samples_and_rounds_and_topics_their_names(capsys, monkeypatch):
    import thresher
    from thresher.engine import History, HistoryRow

    model = thresher.BatchNMF(2)
    model.components_, model.history_, model.n_iter_ = np.ones((2, 3)), History(), 7
    model.history_.append(HistoryRow(10, 0.5, 3.0, 0.1, 0.1))
    told = summary(model)
    assert (told["n_samples"], told["rounds"], told["steps"]) == (10, 7, 1)
    assert "n_samples_seen" not in told
    show_summary(one := talk(True), model)
    one.finish()
    out, _ = capsys.readouterr()
    assert json.loads(out)["events"] == []
    show_summary(talk(), model)
    assert "events" not in capsys.readouterr().out  # nothing is not told to people
    topics = thresher.TopicModel(2)
    topics.model_ = type("M", (), {"n_documents_": 5})()
    monkeypatch.setattr(type(topics), "topics_", [type("T", (), {"name": "a"})()])
    assert summary(topics)["topics"] == ["a"]
    assert summary(topics)["n_documents"] == 5
    assert _words({"a": 1, "b": "x"}) == "a=1, b=x"
    assert _words(["a", 1]) == "a; 1"
    assert (_words(0.123456), _words(7)) == ("0.1235", "7")
