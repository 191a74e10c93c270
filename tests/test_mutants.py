"""The tool that draws mutants: the slips that it makes, where, and how it draws."""

import importlib
import shutil
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import mutants
from mutation.choice import one_case_of_each_first
from mutation.draw import drawn, n_lines
from mutation.imports import Imports
from mutation.kernels import compile_anew, is_compiled
from mutation.page import told_draw, with_draw
from mutation.slips import slips
from mutation.source import Source
from mutation.swap import Functions, other_body, other_constant
from thresher.kernels import machine_code

ROOT = Path(__file__).parents[1]


def changed(text, kind=None):
    """Every text that a slip makes of another."""
    code = Source(text)
    found = [s for s in slips(code) if kind in {None, s.kind}]
    return {text[: s.start] + s.new + text[s.end :] for s in found}


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("comparison", "a < b", {"a <= b", "a > b"}),
        ("comparison", "a is not None", {"a is None"}),
        ("comparison", "0 <= λ < b", {"0 < λ < b", "0 <= λ <= b", "0 <= λ > b"}),
        ("arithmetic", "(a) - (b)", {"(a) + (b)"}),
        ("arithmetic", "'a' + b", set()),
        ("swapped operands", "ℓ - b", {"b - ℓ"}),
        ("augmented", "a += 1", {"a -= 1", "a = 1"}),
        ("constant", "7", {"8", "6"}),
        ("constant", "True", {"False"}),
        ("constant", "f(x, axis=1)", {"f(x, axis=0)"}),
        ("constant", "1e-6", {"1e-05", "1e-07"}),
        ("not", "not a", {"a"}),
        ("condition", "a if b else c", {"c if b else a", "a if not b else c"}),
        ("and/or", "a and b", {"a or b", "a", "b"}),
        ("keyword", "f(a, b=1, c=2)", {"f(a, c=2)", "f(a, b=1)"}),
        ("keyword", "f(b=1)", {"f()"}),
        ("swapped arguments", "f(a, b, c)", {"f(b, a, c)", "f(a, c, b)"}),
        ("other function", "np.max(x.sum())", {"np.min(x.sum())", "np.max(x.mean())"}),
        ("forgotten call", "np.sqrt(x) + y.copy()", {"(x) + y.copy()", "np.sqrt(x) + y"}),
        ("range", "range(n)", {"range(n - 1)", "range(1, n)"}),
        ("slice", "x[1:]", {"x[:-1]", "x[1 + 1:]"}),
        ("slice", "x[:-1]", {"x[1:]", "x[:-1 + 1]"}),
        ("index", "x[i, j]", {"x[i - 1, j]", "x[i, j - 1]", "x[j, i]"}),
        ("transpose", "X.T @ Y", {"X @ Y"}),
        ("filter", "[a for a in b if a]", {"[a for a in b]"}),
    ],
)
def test_slips_of_an_expression(kind, before, after):
    assert changed(before, kind) == after


def test_slips_with_names_stay_within_the_function():
    text = "def f(a: int, b: int, c: str):\n    return a"
    assert changed(text, "other variable") == {text.replace("return a", "return b")}
    text = "def f(m):\n    return g(m.first, m.second)"
    assert text.replace("m.first", "m.second") in changed(text, "other attribute")
    text = "def f(x):\n    return g(x)"
    assert changed(text, "returned argument") == {text.replace("g(x)", "x")}


def test_only_lines_without_which_the_code_still_runs_are_dropped():
    text = "def f(x):\n    y = 1\n    x = 2\n    g(x)\n    self.z = x\n    return y"
    dropped = {line for new in changed(text, "dropped statement") for line in _lost(text, new)}
    assert dropped == {"x = 2", "g(x)", "self.z = x"}


def _lost(before, after):
    return [a.strip() for a, b in zip(before.split("\n"), after.split("\n"), strict=True) if a != b]


@pytest.mark.parametrize(
    "text",
    [
        '"""Docstring with 1 < 2."""',
        "__all__ = ['a', 'b']",
        "raise ValueError(f'{1 + 2}', 3)",
        "warnings.warn('a' * 3, stacklevel=2)",
        "x: Annotated[int, 3]",
        "def f(x: Literal[3] = y) -> Literal[4]: ...",
        "@f(cache=True)\ndef g(): ...",
        "f'{a + 1}'",
        "_log.info('%d', a + 1)",
        "Rule = Literal[1, 2]",
    ],
)
def test_words_for_people_and_types_are_left_alone(text):
    assert {new for new in changed(text) if "pass" not in new} == set()


def test_the_draw_is_uniform_over_lines_and_outlives_changes_elsewhere(tmp_path):
    lines = [f"    x{n} = a[{n}] + {n}" for n in range(20)]
    (tmp_path / "one.py").write_text("def f(a):\n" + "\n".join(lines) + "\n")
    (tmp_path / "two.py").write_text("def g(a):\n    return a < 3\n")
    assert n_lines(tmp_path) == 21
    first = [m.key for m in drawn(tmp_path, 0)]
    assert len(set(first)) == 21  # each line once
    assert [m.key for m in drawn(tmp_path, 1)] != first
    leaders = Counter(next(drawn(tmp_path, seed)).line for seed in range(100))
    assert len(leaders) > 15  # 100 draws from 21 lines
    assert max(leaders.values()) < 15
    # A new line in another place, and all lines one further down: the same mutants.
    (tmp_path / "one.py").write_text("import os\n\n\ndef f(a):\n" + "\n".join(lines) + "\n")
    assert [m.key for m in drawn(tmp_path, 0)] == first


def test_every_mutant_changes_the_program_by_a_line_or_a_statement():
    for number, mutant in enumerate(drawn(ROOT / "src" / "thresher", 5, "sets/*")):
        text = (ROOT / "src" / "thresher" / mutant.file).read_text()
        compile(mutant.text, mutant.file, "exec")
        assert mutant.old != mutant.new
        assert " ".join(mutant.old.split()) in " ".join(text.split())
        if number == 50:
            return


def test_compiled_functions_are_tried_by_who_calls_them(tmp_path):
    for part in ("src/thresher/kernels", "src/thresher/encoding", "src/thresher/losses"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "test_kernels.py", tmp_path / "tests")
    imports = Imports(tmp_path)
    calls = imports.lines_that_call("src/thresher/kernels/weighted_median.py", "weighted_select")
    files = {file for file, _ in calls}
    # Called from other kernels only, and those from here; and by a test itself.
    assert {"src/thresher/encoding/least_absolute.py", "tests/test_kernels.py"} <= files
    assert not any(file.startswith("src/thresher/losses/") for file in files)


def test_kernels_that_hold_another_text_are_compiled_anew(monkeypatch):
    """Their machine code has another name, that of all others the one it had."""
    monkeypatch.setattr(machine_code, "_text", machine_code._text)  # what is put back at the end
    kernels = [f"thresher.kernels.{name}" for name in ("cholesky", "region_step", "envelope")]
    before = {name: machine_code._sources(name) for name in kernels}
    try:
        compile_anew(kernels[0], Path(machine_code.__file__).read_text())
        changed = [name for name in kernels if machine_code._sources(name) != before[name]]
    finally:
        machine_code._sources.cache_clear()
    assert changed == kernels[:2]  # steps in a region solve by Cholesky factors
    importlib.import_module(kernels[0])
    assert is_compiled(kernels[0], "factorise")
    assert not is_compiled("thresher.kernels.machine_code", "folder")


def test_a_case_of_each_test_comes_before_the_second_of_any():
    seconds = {"a[1]": 1.0, "a[2]": 2.0, "b": 5.0, "c[1]": 0.1, "c[2]": 0.2}
    assert one_case_of_each_first(set(seconds), seconds) == ["c[1]", "a[1]", "b", "c[2]", "a[2]"]


def test_lines_that_run_at_import_are_told_from_others():
    text = "A = 1\n\nclass B:\n    c: int = 2\n\n    def d(self):\n        return 3\n"
    runs = [Source(text).runs_at_import(line) for line in range(1, 8)]
    assert runs == [True, True, True, True, True, False, False]


MODULE = """
def f(a, b=1):
    return a + b

class C:
    @property
    def g(self):
        return [f(1, n) for n in range(3)]

h = f(1)
"""


@pytest.mark.parametrize(
    ("old", "new", "swaps"),
    [
        ("a + b", "a - b", True),
        ("range(3)", "range(2)", True),
        ("b=1", "b=2", False),  # a default is made at import
        ("h = f(1)", "h = f(2)", False),
        ("@property", "@staticmethod", False),
    ],
)
def test_only_another_body_is_put_in_place_of_a_function(old, new, swaps):
    assert (other_body(MODULE, MODULE.replace(old, new), "here") is not None) == swaps


def test_a_function_gets_its_other_body_wherever_it_is_known(tmp_path):
    path = str(tmp_path / "module.py")
    made = {}
    exec(compile(MODULE, path, "exec"), made)
    also = made["f"]
    body = other_body(MODULE, MODULE.replace("a + b", "a - b"), path)
    functions = Functions()
    assert functions.can_take(body)
    functions.take(body)
    assert also(5) == 4
    assert made["C"]().g == [1, 0, -1]
    assert made["h"] == 2  # which was made before: such functions are tried in a copy
    closes_over_nothing = other_body(MODULE, MODULE.replace("range(3)", "range(2)"), "elsewhere")
    assert not functions.can_take(closes_over_nothing)


def test_a_constant_is_exchanged_wherever_it_was_imported(monkeypatch):
    one, two = ModuleType("one"), ModuleType("two")
    before = "LONG = [1, 2]\nMORE = LONG + [3]\ndef f(): return LONG"
    exec(before, vars(one))
    two.LONG = one.LONG
    monkeypatch.setitem(sys.modules, "one", one)
    monkeypatch.setitem(sys.modules, "two", two)
    constant = other_constant(before, before.replace("[1, 2]", "[1, 1]"))
    constant.take(one)
    assert one.f() == two.LONG == [1, 1]
    assert one.MORE == [1, 2, 3]  # so one that lives is tried in a copy, too
    assert other_constant(before, before.replace("return LONG", "return MORE")) is None
    assert other_constant(before, before.replace("f():", "f(a=1):")) is None


def test_the_account_of_a_draw_leaves_the_rest_of_the_page_alone():
    mutant = {"file": "a.py", "line": 1, "old": "x = 1", "new": "x = 2"}
    outcomes = ["killed"] * 7 + ["timeout", "survived", "equivalent", "broken"]
    results = [mutant | {"outcome": o, "kind": "constant"} for o in outcomes]
    about = {"seed": 5, "lines": 12345, "outcomes": dict(Counter(outcomes))}
    text = told_draw(about | {"share_that_dies": 8 / 9}, results)
    assert "--seed 5 --count 10 " in text
    assert "**8 of 9 die (88.9%).**" in text
    assert "| constant | 9 | 8 |" in text
    assert "- x = 1" in text
    page = mutants.PAGE.read_text(encoding="utf-8")
    new = with_draw(page, text)
    begin, end = page.index("<!-- the last draw -->"), page.index("<!-- end of the last draw -->")
    assert new.startswith(page[:begin])
    assert new.endswith(page[end:])
    assert text in new
    with pytest.raises(ValueError, match="has no"):
        with_draw("nothing", text)


def test_what_was_read_is_still_there():
    """Proofs and reasons belong to lines that the library has."""
    for (file, old, _), says in [entry for part in mutants.read() for entry in part.items()]:
        text = " ".join((ROOT / "src" / "thresher" / file).read_text().split())
        assert " ".join(old.split()) in text, f"{file} has no line {old!r} any more: {says}"
        assert len(says) > 20
