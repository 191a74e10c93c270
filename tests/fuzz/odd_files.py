"""Tables with odd values, and files of odd text: worked on, or refused in a sentence."""

import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import thresher
from fuzz.codec_values import COLUMNS
from fuzz.packets import odd, refused
from thresher import TableCleaner
from thresher.cli import app

ODD = {
    **COLUMNS,
    "constant": lambda rng, n: np.full(n, float(rng.choice([0.0, 3.0, -1e9, 1e-310]))),
    "a glitch": lambda rng, n: np.where(np.arange(n) == n // 2, 1e308, np.sin(np.arange(n))),
    "two values": lambda rng, n: rng.choice([0.0, 1e300], n),
    "on top": lambda rng, n: 1e15 + rng.normal(size=n),
    "largest": lambda rng, n: rng.normal(size=n) * 1e307,
    "silent": lambda rng, n: np.full(n, np.nan),
}
"""Columns of any size and shape, by name."""


def cleaned_values(rng: np.random.Generator) -> str:
    """No values are too odd for a cleaner: what it does not flag stays, what it gives is finite."""
    n, F = int(rng.integers(1, 120)), int(rng.integers(1, 5))
    X = np.stack([ODD[str(kind)](rng, n) for kind in rng.choice(list(ODD), F)], axis=1)
    X[rng.random(X.shape) < rng.choice([0.0, 0.1, 0.5])] = np.nan
    cleaner = TableCleaner(random_state=0, causal=bool(rng.random() < 0.5), verbose=0)
    try:
        found = cleaner.clean(X)
    except ValueError as error:
        return refused(error)
    kept = ~np.isnan(X) & ~found.flags
    np.testing.assert_array_equal(found.table[kept], X[kept])
    assert not np.isinf(found.table).any()
    known = ~np.isnan(found.lower)
    assert (found.lower[known] <= found.upper[known]).all()
    return "right"


def refused_by_name(error: ValueError, path: Path) -> str:
    """The outcome of a refusal that names the file."""
    assert str(path) in str(error)
    return refused(error)


TOKENS = ["a", "7", "1,5", "2.5", ",", ";", "\t", "\n", "\r\n", '"', " ", "é", "nan", "\n\n"]
TOKENS += ["1e400", "9" * 30, "\ufeff", "a,b\n", "1,2,3\n", "-", '""']


def ragged_csv(rng: np.random.Generator) -> str:
    """Any text is read as numbers, or refused in a sentence that names the file."""
    if rng.random() < 0.3:
        text = "".join(str(t) for t in rng.choice(TOKENS, rng.integers(1, 12)))
    else:
        width = int(rng.integers(1, 4))
        rows = [[f"c{j}" for j in range(width)]] if rng.random() < 0.8 else []
        for _ in range(int(rng.integers(0, 6))):
            cells = width if rng.random() < 0.8 else int(rng.integers(0, 5))
            rows.append([f"{v:.1f}" for v in rng.normal(size=cells)])
        delimiter = str(rng.choice([",", ";", "\t"]))
        text = "\n".join(delimiter.join(row) for row in rows) + str(rng.choice(["", "\n"]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(text.encode())
        try:
            rows_read = list(thresher.open(path))
        except ValueError as error:
            return refused_by_name(error, path)
    assert all(batch.ndim == 2 and batch.dtype == np.float64 for batch in rows_read)
    return "right"


def commands_on_csv(rng: np.random.Generator) -> str:
    """Commands read tables with any header, or say in a sentence what is wrong."""
    n, width = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    names = rng.choice(["", "a", "b", "é", "温度", "0", "2024-01-01", "('a', 1)", "None"], width)
    lines = [",".join(f'"{name}"' for name in names)]
    for i in range(n):
        cells = [f"{np.sin(i + j):.3f}" if rng.random() < 0.9 else "" for j in range(width)]
        lines.append(",".join(cells if rng.random() < 0.98 else cells[:-1]))
    command = str(rng.choice(["clean", "compress"]))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "a.csv"
        target = Path(folder) / ("b.csv" if command == "clean" else "b.thr")
        source.write_text("\n".join(lines) + "\n")
        done = CliRunner().invoke(app, [command, str(source), str(target), "--json"])
        if done.exit_code:
            assert isinstance(done.exception, SystemExit), done.exception
            assert not target.exists()
            return refused(ValueError(done.output))
        assert target.stat().st_size > 0
    return "right"


def json_lines(rng: np.random.Generator) -> str:
    """Lines of any JSON, deep, packed or cut: read, or refused by file and line."""
    lines = [json.dumps({"a": float(v), "b": int(10 * v)}) for v in rng.random(4)]
    for _ in range(int(rng.integers(0, 3))):
        depth = int(10 ** rng.uniform(1, 5))
        made = [
            "[" * depth,
            '{"a":' * depth,
            json.dumps(odd(rng)),
            '{"a": 1e999}',
            "\x00",
            "9" * depth,
        ]
        made += [json.dumps({"a": odd(rng), "b": odd(rng)}), lines[0][: int(rng.integers(9))]]
        lines.insert(int(rng.integers(len(lines) + 1)), str(rng.choice(made)))
    data = "\n".join(lines).encode()
    packed = rng.random() < 0.3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("a.jsonl.gz" if packed else "a.jsonl")
        path.write_bytes(gzip.compress(data) if packed else data)
        try:
            batches = list(thresher.open(path))
        except ValueError as error:
            return refused_by_name(error, path)
    assert sum(map(len, batches)) <= len(lines)
    return "right"


FAMILIES = [cleaned_values, ragged_csv, commands_on_csv, json_lines]
