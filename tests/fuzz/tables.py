"""CSV files of all dialects: labels come back letter by letter, numbers within the error asked."""

import csv
import io
import tempfile
from pathlib import Path

import numpy as np

from fuzz.packets import refused
from thresher import SensorCodec
from thresher.streams.tables import Column, CsvTable, read_csv_table
from thresher.tasks.compression import PacketError
from thresher.tasks.compression.files import compress_file, decompress_file
from thresher.tasks.compression.tables import pack_table, unpack_table
from thresher.testing import damaged


def round_trip(data: bytes, codec: SensorCodec) -> bytes:
    """A CSV file through ``.thr``, and back."""
    with tempfile.TemporaryDirectory() as folder:
        source, target, back = (Path(folder) / name for name in ("a.csv", "a.thr", "b.csv"))
        source.write_bytes(data)
        compress_file(source, target, codec)
        decompress_file(target, back)
        return back.read_bytes()


LABELS = {
    "words": lambda rng, n: [str(w) for w in rng.choice(["a", "b c", 'q"', "x,y;z", "é\t"], n)],
    "lines": lambda rng, n: [f"a\n{i}\r" for i in range(n)],
    "long": lambda rng, n: ["x" * 140_000, *["y"] * (n - 1)],
    "zeros": lambda rng, n: [f"{i:04d}" for i in rng.integers(0, 99, n)],
    "huge": lambda rng, n: [str(10**19 + int(i)) for i in rng.integers(0, 10**6, n)],
    "iso": lambda rng, n: [f"2024-01-{1 + i % 28:02d}T00:00:00Z" for i in range(n)],
    "some text": lambda rng, n: ["<0.1", *[f"{v:.2f}" for v in rng.normal(size=n - 1)]],
    "id": lambda rng, n: [str(i) for i in rng.integers(0, 10**6, n)],
    "Start time": lambda rng, n: [str(1_700_000_000 + int(i)) for i in rng.integers(0, 99, n)],
}
"""Columns that are labels wherever they stand."""

FIRST = {
    "t": lambda rng, n: [str(1_700_000_000 + 60 * i) for i in range(n)],
    "x": lambda rng, n: [f"{i / 2:.1f}" for i in range(n)],
    "count": lambda rng, n: [str(v) for v in np.cumsum(rng.integers(1, 9, n))],
    "down": lambda rng, n: [str(n - i) for i in range(n)],
    "time": lambda rng, n: [f"{v:.3f}" for v in rng.random(n)],
}
"""Columns that are labels if they are first."""


def measurement(rng: np.random.Generator, n: int, comma: bool) -> list[str]:
    """Cells of numbers of one size, some of them missing."""
    values = 20 + np.cumsum(rng.normal(size=n))
    if rng.random() < 0.1:
        values[:] = 0
    digits = int(rng.integers(0, 5))
    cells = [f"{v:.{digits}f}" for v in values]
    if rng.random() < 0.1:
        cells = [f"{v:.3e}" for v in values]
    if rng.random() < 0.3:
        cells = [str(rng.choice(["", "NA", "nan"])) if rng.random() < 0.2 else c for c in cells]
    return [c.replace(".", ",") for c in cells] if comma else cells


def number(cell: str) -> float:
    """What a cell of a measurement means."""
    missing = cell.strip().lower() in ("", "na", "nan")
    return float("nan") if missing else float(cell.replace(",", "."))


def written(header: list[str], columns: list[list[str]], delimiter: str, newline: str) -> str:
    """A file, by the writer of Python's own module; lines of a single empty cell are blank."""
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_MINIMAL if len(header) == 1 else csv.QUOTE_ALL
    writer = csv.writer(text, delimiter=delimiter, lineterminator=newline, quoting=quoting)
    writer.writerow(header)
    for row in zip(*columns, strict=True):
        if row == ("",):
            text.write(newline)
        else:
            writer.writerow(row)
    return text.getvalue()


def cells_of(data: bytes, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Records that are not blank, and the positions of those that are."""
    csv.field_size_limit(10**6)
    text = data.decode("utf-8-sig")
    records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    return [r for r in records if r], [i for i, r in enumerate(records) if not r]


def tables(rng: np.random.Generator) -> str:
    """Any dialect, any columns: what comes back is what was meant."""
    n, comma = int(rng.integers(2, 60)), bool(rng.random() < 0.3)
    delimiter = str(rng.choice([";", "\t"] if comma else [",", ";", "\t"]))
    newline = str(rng.choice(["\n", "\r\n", "\r"]))
    names, columns = [], []
    if rng.random() < 0.5:
        names.append(str(rng.choice(list(FIRST))))
        columns.append(FIRST[names[0]](rng, n))
        if comma:
            columns[0] = [c.replace(".", ",") for c in columns[0]]
    n_first = len(names)
    kinds = [str(k) for k in rng.choice(list(LABELS), rng.integers(0, 3))]
    kinds += ["measured"] * int(rng.integers(1, 5))
    rng.shuffle(kinds)
    for j, kind in enumerate(kinds):
        names.append(f"m{j}" if kind == "measured" else kind)
        is_number = kind == "measured"
        columns.append(measurement(rng, n, comma) if is_number else LABELS[kind](rng, n))
    data = written(names, columns, delimiter, newline).encode()
    data = b"\xef\xbb\xbf" + data if rng.random() < 0.2 else data
    blank = len(names) > 1 and rng.random() < 0.3 and "lines" not in kinds
    if blank:
        lines = data.split(newline.encode())
        lines.insert(int(rng.integers(1, len(lines))), b"")
        data = newline.encode().join(lines)
    codec = SensorCodec(error=float(rng.choice([0.0, 0.001, 0.02, 0.1])))
    try:
        back = round_trip(data, codec)
    except ValueError as error:
        return refused(error)
    ours, theirs = cells_of(data, delimiter), cells_of(back, delimiter)
    if len(names) > 1:
        assert ours[1] == theirs[1], "blank lines moved"
        assert data.startswith(b"\xef\xbb\xbf") == back.startswith(b"\xef\xbb\xbf")
    else:
        both = ours, theirs = [_all_lines(d, newline) for d in (data, back)]
        assert len(ours) == len(theirs), "rows moved"
        ours, theirs = (([[c] for c in lines], []) for lines in both)
    assert theirs[0][0] == names
    (before, after) = ([list(c) for c in zip(*r[0][1:], strict=True)] for r in (ours, theirs))
    Y, E = [], []
    for j, (a, b) in enumerate(zip(before, after, strict=True)):
        kind = "first" if j < n_first else kinds[j - n_first]
        if kind != "measured":
            assert a == b, f"label {names[j]!r} was changed"
            continue
        Y.append([number(c) for c in a])
        E.append([number(c) for c in b])
    Y, E = np.array(Y), np.array(E) - np.array(Y)
    np.testing.assert_array_equal(np.isnan(E), np.isnan(Y))
    assert np.nansum(E**2) <= codec.error**2 * np.nansum(Y**2) * (1 + 1e-9)
    limit = min(10 * codec.error, 1)
    assert (np.nansum(E**2, axis=1) <= limit**2 * np.nansum(Y**2, axis=1) * (1 + 1e-9)).all()
    return "right"


def _all_lines(data: bytes, newline: str) -> list[str]:
    lines = data.decode("utf-8-sig").split(newline)
    return lines[:-1] if lines[-1] == "" else lines


def hostile_text(rng: np.random.Generator) -> str:
    """Bytes that may be no table at all: refused with a sentence, or read as the same table."""
    tokens = ["a", "7", "0", ".", ",", ";", "\t", "\n", "\r\n", '"', " ", "-", "e", "é", "\0", "_"]
    tokens += ["time", "inf", "nan", "1e400", "9" * 30, "\ufeff", "\n\n", "a,b\n", "1,2,3\n", "\r"]
    text = "time,a,b\n" + "".join(f"{i},{i % 3}.5,{20 - i % 4}\n" for i in range(8))
    if rng.random() < 0.3:
        text = text.replace(",", ";")
    for _ in range(int(rng.integers(0, 4))):
        i, j = np.sort(rng.integers(len(text) + 1, size=2))
        j = min(j, i + 3)
        text = text[:i] + str(rng.choice(tokens)) + text[j:]
    data = text.encode()
    if rng.random() < 0.1:
        data = data[: len(data) // 2] + rng.bytes(3) + data[len(data) // 2 :]
    codec = SensorCodec(error=float(rng.choice([0.0, 0.02])))
    try:
        back = round_trip(data, codec)
    except ValueError as error:
        return refused(error)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(data)
        ours, _ = read_csv_table(path)
        path.write_bytes(back)
        theirs, _ = read_csv_table(path)
    assert [c.name for c in ours.columns] == [c.name for c in theirs.columns]
    labels = [{c.name: c.cells for c in table.columns if c.cells} for table in (ours, theirs)]
    assert all(labels[1].get(name) == cells for name, cells in labels[0].items())
    if ours.values.shape == theirs.values.shape:
        E = theirs.values - ours.values
        assert np.nansum(E**2) <= codec.error**2 * np.nansum(ours.values**2) * (1 + 1e-9)
    return "right"


def crafted_head(rng: np.random.Generator) -> str:
    """A head that tells anything about its table: refused, or a file."""
    values = rng.normal(size=(3, 2))
    table = CsvTable(values, [Column("a", decimals=1), Column("b")], blank=[1])
    (head,) = pack_table(table)
    luck = rng.random()
    if luck < 0.7:
        head = damaged(head, head, rng) if luck < 0.5 else rng.bytes(int(rng.integers(0, 40)))
    try:
        data = unpack_table(values, [head], 2**28)
    except PacketError as error:
        return refused(error)
    assert len(data.csv()) < 10_000
    return "right"


FAMILIES = [tables, hostile_text, crafted_head]
