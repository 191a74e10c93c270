"""``thresher compress`` and ``thresher decompress``: options, errors, files."""

import os

import numpy as np
import pytest
from typer.testing import CliRunner

from sensors import made_stream, write_csv
from thresher import SensorCodec
from thresher.cli import app
from thresher.tasks.compression.container import read_container
from thresher.tasks.compression.limits import MOST_BYTES
from thresher.tasks.compression.table import read_table


def test_command_line(tmp_path):
    source, target, back = tmp_path / "a.csv", tmp_path / "a.thr", tmp_path / "b.csv"
    write_csv(source, made_stream()[:300])
    run = CliRunner().invoke
    result = run(app, ["compress", str(source), str(target), "--error", "0"])
    assert result.exit_code == 0, result.output
    assert "times smaller" in result.output
    assert "s7" in result.output
    result = run(app, ["decompress", str(target), str(back)])
    assert result.exit_code == 0, result.output
    assert back.read_text() == source.read_text()
    assert target.stat().st_size < source.stat().st_size / 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,a\n", "no rows"),
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("1,2\n3,4\n", "name the columns"),
        ("1,5;2,5\n3;4\n", "name the columns"),
        ("time,a\n1,2,3\n", "Line 2"),
        ("\n\ntime,a\n1,2\n\n\n1,2,3\n", "Line 7"),
        ('time,a\n"1\n2",2\n1,2,3\n', "Line 4"),
        ("time;a\n1;2;3\n", "separated by semicolons"),
        ("temp\n20,5\n21,0\n", "separate cells by semicolons"),
        ('time,a\n1,"2\n2,3\n', "quotes of the record at line 2"),
        ('time,a\n"1"x,2\n', "quotes of the record at line 2"),
        ("time\0,a\n1,2\n", "UTF-8"),
        ("a,b\n1,1e20\n2,3\n", "beyond 1e+15"),
        ("time,a\n1,inf\n2,5.5\n", "infinite"),
    ],
)
def test_command_line_says_what_to_change(tmp_path, text, message):
    source, target = tmp_path / "a.csv", tmp_path / "a.thr"
    source.write_text(text)
    result = CliRunner().invoke(app, ["compress", str(source), str(target)])
    assert result.exit_code == 1
    assert message in result.output
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("text", ["time\n1\n", "t,who\n1700000000,a\n1700000060,b\n"])
def test_tables_without_measurements_come_back_too(tmp_path, text):
    source, target, back = (tmp_path / name for name in ("a.csv", "a.thr", "b.csv"))
    source.write_text(text)
    for command in (["compress", source, target, "--report", tmp_path / "a.html"],
                    ["decompress", target, back]):  # fmt: skip
        result = CliRunner().invoke(app, [str(part) for part in command])
        assert result.exit_code == 0, result.output
    assert back.read_text() == text


def test_an_interrupt_leaves_no_file(tmp_path, monkeypatch):
    source, target = tmp_path / "a.csv", tmp_path / "a.thr"
    write_csv(source, made_stream()[:50])

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("thresher.tasks.compression.files.smallest_values", interrupted)
    result = CliRunner().invoke(app, ["compress", str(source), str(target)])
    assert result.exit_code == 130
    assert list(tmp_path.iterdir()) == [source]


def test_options_reach_the_codec(tmp_path, monkeypatch):
    """The bytes are those that the library writes with the same settings."""
    monkeypatch.setattr("thresher.tasks.compression.writing._LARGEST_FILE_BATCH", 1)  # 256 rows
    source, target = tmp_path / "a.csv", tmp_path / "a.thr"
    rng = np.random.default_rng(0)
    atoms = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    codes = rng.normal(size=(900, 12)) * (rng.random((900, 12)) < 0.1)
    write_csv(source, 5 * np.cumsum(codes @ atoms, axis=0))
    run, table = CliRunner().invoke, read_table(source)
    found = set()
    for half_life in (2.0, 500.0, None):
        options = ["--error", "0.05", "--n-nonzero", "3"]
        options += [] if half_life is None else ["--forgetting", str(half_life)]
        assert run(app, ["compress", str(source), str(target), *options]).exit_code == 0
        forgetting = "auto" if half_life is None else half_life
        codec = SensorCodec(error=0.05, n_nonzero=3, forgetting=forgetting)
        files = target.read_bytes(), codec.compress(table.values)[0]
        ours, theirs = (read_container(data, 2**30).values for data in files)
        assert ours == theirs
        found.add(ours)
    assert len(found) == 3


@pytest.mark.parametrize("error", [0.003, 0.02, 0.1])
def test_lossy_errors_of_the_command_line(tmp_path, error):
    source, target, back = tmp_path / "a.csv", tmp_path / "a.thr", tmp_path / "b.csv"
    write_csv(source, made_stream(n=800)[:700])
    run = CliRunner().invoke
    result = run(app, ["compress", str(source), str(target), "--error", str(error)])
    assert result.exit_code == 0, result.output
    assert run(app, ["decompress", str(target), str(back)]).exit_code == 0
    Y, E = read_table(source).values, read_table(back).values - read_table(source).values
    found = np.sqrt(np.nansum(E**2) / np.nansum(Y**2))
    assert 0.5 * error < found <= error
    assert f"Relative error {found:.3%}" in result.output
    assert "Kept letter by letter: 'time' (" in result.output


@pytest.mark.parametrize("link", ["same", "dots", "symbolic", "hard"])
def test_a_source_is_not_overwritten(tmp_path, link):
    source, target = tmp_path / "a.csv", tmp_path / "a.csv"
    write_csv(source, made_stream()[:50])
    if link == "dots":
        (tmp_path / "x").mkdir()
        target = tmp_path / "x" / ".." / "a.csv"
    elif link != "same":
        target = tmp_path / "b.csv"
        target.symlink_to(source) if link == "symbolic" else os.link(source, target)
    before = source.read_bytes()
    for command in ("compress", "decompress"):
        result = CliRunner().invoke(app, [command, str(source), str(target)])
        assert result.exit_code == 1
        assert "write to another one" in result.output.replace("\n", " ")
        assert source.read_bytes() == before


@pytest.mark.parametrize("command", ["compress", "decompress"])
def test_a_folder_that_is_missing_is_named(tmp_path, command):
    source = tmp_path / "a.csv"
    write_csv(source, made_stream()[:50])
    result = CliRunner().invoke(app, [command, str(source), str(tmp_path / "no" / "a.thr")])
    assert result.exit_code == 1
    assert f"There is no folder {tmp_path / 'no'}" in result.output.replace("\n", "")


def test_memory_of_the_command_line(tmp_path):
    source, target, back = tmp_path / "a.csv", tmp_path / "a.thr", tmp_path / "b.csv"
    write_csv(source, made_stream()[:50])
    run = CliRunner().invoke
    assert run(app, ["compress", str(source), str(target)]).exit_code == 0
    result = run(app, ["decompress", str(target), str(back), "--max-bytes", "1000"])
    assert result.exit_code == 1
    assert "max_bytes" in result.output
    assert not back.exists()
    assert run(app, ["decompress", str(target), str(back)]).exit_code == 0
    help_text = run(app, ["decompress", "--help"], terminal_width=200).output
    assert str(MOST_BYTES) in help_text


def test_help_says_what_the_error_is_relative_to():
    text = " ".join(
        CliRunner().invoke(app, ["compress", "--help"], terminal_width=200).output.split()
    )
    assert "relative to their own root" in text
