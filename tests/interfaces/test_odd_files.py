"""Files that are ragged, nested or far too long: refused in a sentence with file and line."""

import gzip
import tracemalloc

import numpy as np
import pytest
from typer.testing import CliRunner

import thresher
from thresher.cli import app

LONGEST_LINE = 2**24  # bytes

RAGGED = {
    "a,b\n111": "Line 2",
    "t\n1,5\n2,5": "Line 2",
    "1,2\n3\n": "Line 2",
    "\n\na,b\n1\n": "Line 4",
    "a,b\n1,2\n3\n": "Line 3",
    "a,b\n1,2,3\n4,5,6\n": "Line 2",
    "a;b\n1\n": "Line 2",
    "a,b\n": "no rows",
    "a,b": "no rows",
    "a\n\n\n": "no rows",
}


@pytest.mark.parametrize("text", RAGGED, ids=repr)
def test_ragged_csv_is_refused_by_its_line(text, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=RAGGED[text]) as raised:
        list(thresher.open(path))
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    "command", ["clean a.csv b.csv", "compress a.csv b.thr", "fit a.csv b.thr"]
)
@pytest.mark.parametrize("text", ["a,b\n111", "1,2\n3\n", "a,b\n1,2,3\n4,5,6\n", "a,b\n"], ids=repr)
def test_commands_refuse_ragged_csv_in_a_sentence(text, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(text)
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit)
    assert "Traceback" not in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


JSON = {
    b"[" * 100_000: "nested",
    b'{"a": 1}\n' + b'{"a":' * 100_000: "Line 2",
    b'{"a": 1}\n{"a": 1' + b"0" * 400 + b"}": "Line 2",
    b'{"a": 1}\n{"a": 1' + b"0" * 5000 + b"}": "digits",
    b"\xff\n": "UTF-8",
}


@pytest.mark.parametrize("content", JSON, ids=lambda content: content[:20])
def test_odd_json_lines_are_refused_by_their_line(content, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(ValueError, match=JSON[content]):
        list(thresher.open(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("command", ["topics", "novelty"])
def test_deep_json_is_refused_in_a_sentence_by_commands(command, tmp_path):
    lines = b'{"text": "a few words"}\n' * 30 + b'{"text":' * 50_000
    (tmp_path / "a.jsonl").write_bytes(lines)
    done = CliRunner().invoke(app, [command, str(tmp_path / "a.jsonl")])
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit)
    assert "Line 31" in " ".join(done.output.split())


@pytest.mark.parametrize("ending", ["", "}\n"])
def test_the_length_of_a_line_is_bounded(ending, tmp_path):
    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'{"text": "short"}\n{"text": "')
        for _ in range(40):
            file.write(b"x" * 2**21)
        file.write(b'"' + ending.encode())
    tracemalloc.start()
    with pytest.raises(ValueError, match=f"{LONGEST_LINE:,}") as raised:
        for _ in thresher.open(path, "text"):
            pass
    assert tracemalloc.get_traced_memory()[1] < 5 * LONGEST_LINE
    tracemalloc.stop()
    assert f"Line 2 of {path}" in str(raised.value)


def test_a_line_of_the_largest_length_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    head, tail = b'{"text": "', b'"}'
    path.write_bytes(head + b"x" * (LONGEST_LINE - len(head) - len(tail)) + tail)
    (batch,) = thresher.open(path, "text")
    assert len(batch[0]) == LONGEST_LINE - len(head) - len(tail)


def test_numbers_of_river_that_no_double_holds_are_refused_by_their_key():
    river = pytest.importorskip("thresher.river")
    adapter = river.RiverTransformer(thresher.OnlineNMF(2, batch_size=2))
    for huge in (10**400, -(10**5000)):
        with pytest.raises(ValueError, match="'a'"):
            adapter.learn_one({"a": huge})
    adapter.learn_one({"a": 1.0, "b": 2})
    adapter.learn_one({"a": 2.0, "b": 1})
    assert np.isfinite(list(adapter.transform_one({"a": 1.0, "b": 2}).values())).all()


def test_numbers_that_no_double_holds_are_refused():
    with pytest.raises(ValueError, match="1e308"):
        thresher.OnlineNMF(1).fit([[10**400, 1], [1, 2]])
    with pytest.raises(ValueError, match="tol"):
        thresher.OnlineNMF(1, tol=10**400).fit([[1.0, 1], [1, 2]])
