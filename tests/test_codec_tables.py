"""CSV files through ``.thr`` and back, by the command line: labels exact, numbers within bounds."""

import numpy as np
import pytest
from typer.testing import CliRunner

from sensors import made_stream, write_csv
from thresher import SensorCodec
from thresher.cli import app
from thresher.tasks.compression import PacketError
from thresher.tasks.compression.files import compress_file, decompress_file
from thresher.tasks.compression.labels import unpacked_labels
from thresher.tasks.compression.lossless import packed_texts, unpacked_texts
from thresher.tasks.compression.report import Errors
from thresher.tasks.compression.table import SensorTable, read_table


@pytest.fixture
def trip(tmp_path):
    """A function that compresses bytes of a CSV file, and gives those that come back."""

    def there_and_back(data, error=0.02):
        source, target, back = (tmp_path / name for name in ("a.csv", "a.thr", "b.csv"))
        source.write_bytes(data if isinstance(data, bytes) else data.encode())
        compress_file(source, target, SensorCodec(error=error))
        decompress_file(target, back)
        return back.read_bytes() if isinstance(data, bytes) else back.read_bytes().decode()

    return there_and_back


def cells(text, delimiter=","):
    return [line.split(delimiter) for line in text.splitlines()]


# ---------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "labels",
    [
        ["2017-01-01 00:00", "2017-01-01 01:00", "2017-01-01 02:00"],
        ["2017-01-01T00:00:00", "2017-01-01T00:00:10", "2017-01-01T00:00:20"],
        ["3", "5", "7"],
        ["3", "5", "8"],
        ["2017-01-01", "2017-01-02"],
        ["a", "b", ""],
        ["7"],
        ["", "a\nb", "\\", "\\n"],
    ],
)
def test_labels(labels):
    assert unpacked_texts(packed_texts(labels), len(labels), 2**30) == labels


@pytest.mark.parametrize(
    "packed",
    [
        {},
        [],
        None,
        {"labels": "a"},
        {"labels": "a\nb\nc\nd"},
        {"labels": ["a", "b", "c"]},
        {"number": 10**30, "step": 1},
        {"number": 1.5, "step": 1},
        {"number": 1},
        {"time": "no", "step": 1, "sep": " ", "spec": "minutes"},
        {"time": "2024-01-01", "step": 10**18, "sep": " ", "spec": "minutes"},
        {"time": "2024-01-01", "step": 10**30, "sep": " ", "spec": "minutes"},
        {"time": "2024-01-01", "step": 1, "sep": " ", "spec": "hours"},
        {"time": "2024-01-01", "step": 1, "sep": [], "spec": "minutes"},
    ],
)
def test_labels_that_make_no_sense(packed):
    with pytest.raises(PacketError, match="labels"):
        unpacked_labels(packed, 3)


@pytest.mark.parametrize("error", ["0", "0.02"])
@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("t", lambda i: f"{1_700_000_000 + 60 * i}"),  # regular
        ("t", lambda i: f"{1_700_000_000 + 60 * i + i % 7}"),  # nearly so
        ("x", lambda i: f"{i * 0.25:.2f}"),
        ("n", lambda i: f"{500 - i}"),
        ("station", lambda i: f"{7 + 3 * (i % 4)}"),
        ("Station ID", lambda i: f"{1000 + (i * 7) % 11}"),
        ("timestamp", lambda i: f"{1_700_000_000_000 + (i // 3)}"),
        ("", lambda i: f"{i % 5}"),
        ("Datum", lambda i: f"{20240100 + i % 28}"),
        ("room", lambda i: f"{i % 9:03d}"),
        ("key", lambda i: f"{10**18 + (i * 37) % 1000}"),
        ("k", lambda i: f"{10**18 + (i * 37) % 1000}"),
        ("who", lambda i: ["ann", "bo b", ""][i % 3]),
    ],
)
def test_first_columns_that_are_labels_come_back_letter_by_letter(trip, name, label, error):
    rng = np.random.default_rng(0)
    Y = 20 + np.cumsum(rng.normal(size=(60, 2)), axis=0)
    rows = [f"{label(i)},{a:.1f},{b:.1f}" for i, (a, b) in enumerate(Y)]
    text = "\n".join([f"{name},a,b", *rows]) + "\n"
    before, after = cells(text), cells(trip(text, float(error)))
    assert [row[0] for row in after] == [row[0] for row in before]
    numbers = [np.array([row[1:] for row in c[1:]], float) for c in (before, after)]
    assert np.linalg.norm(numbers[1] - numbers[0]) <= float(error) * np.linalg.norm(numbers[0])
    if error == "0":
        assert after == before


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("station", lambda i: f"{i % 9:03d}"),
        ("sensor_id", lambda i: f"{(i * 37) % 101}"),
        ("sampleTime", lambda i: f"{1_700_000_000 + i}"),
        ("day", lambda i: f"2024-01-{1 + i % 28:02d}"),
        ("note", lambda i: "<0.1" if i == 3 else "0.2"),
        ("long", lambda i: f"{2**63 + i * i}"),
        ("flag", lambda i: "7"),
        ("1_000", lambda i: f"{i}_000"),
        ("share", lambda i: f"{i}%"),
        ("hex", lambda i: f"0x{i:x}"),
    ],
)
def test_labels_anywhere(trip, name, label):
    rows = [f"{20 + i % 5}.5,{label(i)},{22 - i % 3}.0" for i in range(40)]
    text = "\n".join([f"a,{name},b", *rows]) + "\n"
    after = cells(trip(text))
    assert [row[1] for row in after] == [row[1] for row in cells(text)]


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        ("response time", False),  # with decimals, and not the first
        ("station 7", False),
        ("heat index", False),
        ("humidity", False),  # "id" within a word
        ("pressure", False),
        ("id", True),
    ],
)
def test_names_of_measurements(tmp_path, name, is_kept):
    rows = [f"{20 + i % 5}.5,{20 + i % 7}{'' if is_kept else '.5'}" for i in range(20)]
    (tmp_path / "a.csv").write_text("\n".join([f"a,{name}", *rows]))
    assert (name in read_table(tmp_path / "a.csv").labels) == is_kept


def test_a_single_column_is_measured_though_it_rises(trip):
    text = "level\n" + "".join(f"{100 + i}\n" for i in range(50))
    after = np.array(trip(text).split()[1:], float)
    assert 0 < np.linalg.norm(after - np.arange(100, 150)) <= 0.02 * np.linalg.norm(after) * 1.1


def test_blank_lines_of_one_column_are_missing_values(trip, tmp_path):
    text = "level\n1\n\n3\n\n\n2\n4\n\n"
    assert trip(text, 0) == text.replace("\n\n", '\n""\n').replace("\n\n", '\n""\n')
    values, _ = SensorCodec.decompress((tmp_path / "a.thr").read_bytes())
    np.testing.assert_array_equal(values[:, 0], [1, np.nan, 3, np.nan, np.nan, 2, 4, np.nan])


def test_blank_lines_of_many_columns_stay_where_they_are(trip):
    text = "\n\nt,a\n1,5\n\n2,7\n3,6\n\n\n"
    assert trip(text, 0) == text


def test_a_long_cell(trip):
    text = "t,note,a\n" + "".join(
        f"{i},{'x' * (200_000 if i == 2 else 3)},{i % 3}\n" for i in range(5)
    )
    assert trip(text, 0) == text


# -------------------------------------------------------------------------- dialects

ROWS = [
    (i, f"{20 + (i * 7) % 11}.{i % 10}", f"{21 + (i * 5) % 13}.{(3 * i) % 10}") for i in range(30)
]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("delimiter", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", ","), ("\t", ".")]
)
def test_a_file_comes_back_in_its_own_dialect(trip, delimiter, decimal, bom, newline):
    lines = [delimiter.join(["zeit", "a", "b"])]
    lines += [delimiter.join([str(t), *(c.replace(".", decimal) for c in row)]) for t, *row in ROWS]
    data = bom + (newline.join(lines) + newline).encode()
    assert trip(data, 0) == data
    rough = trip(data, 0.05).decode("utf-8-sig").split(newline)
    assert [len(line.split(delimiter)) for line in rough[:-1]] == [3] * 31
    numbers = [
        np.array(
            [
                line.replace(",", ".").split("\t" if delimiter == "\t" else delimiter)[1:]
                for line in table
                if line
            ],
            float,
        )
        if delimiter != ","
        else np.array([line.split(",")[1:] for line in table if line], float)
        for table in (lines[1:], rough[1:])
    ]
    difference = np.linalg.norm(numbers[1] - numbers[0])
    assert 0 < difference <= 0.05 * np.linalg.norm(numbers[0])


def test_the_end_of_a_file_without_a_newline(trip):
    assert trip("t,a\n1,5\n2,7", 0) == "t,a\n1,5\n2,7"


@pytest.mark.parametrize(
    ("text", "delimiter", "decimal", "names", "labels"),
    [
        ('"temp, °C";b\n1,5;2\n2,5;3\n1,0;5\n', ";", ",", ["temp, °C", "b"], []),
        ("a;b,c\n1,2\n3,5\n2,4\n", ",", ".", ["a;b", "c"], []),
        ("t;a\n1;1.234\n2;20.500\n3;2.000\n", ";", ".", ["t", "a"], ["t"]),
        ("t;a;b\n1;1.234;0,5\n2;2.345;1,5\n3;1.1;2,5\n", ";", ",", ["t", "a", "b"], ["t", "a"]),
        ('t,a,b\n1,"1,234",5\n2,"2,345",6\n3,"1,001",2\n', ",", ".", ["t", "a", "b"], ["t", "a"]),
        ('t,a\n1,"1,25"\n2,"2,50"\n3,"1,50"\n', ",", ",", ["t", "a"], ["t"]),
        ("t\ta\n0,5\t1,234\n1,0\t2,345\n1,5\t1,001\n", "\t", ",", ["t", "a"], ["t"]),
        ("t;a\n1;1,234\n2;2,345\n3;1,001\n", ";", ",", ["t", "a"], ["t"]),
        ("t;a;b\n1;1.5;2\n2;1,5;2\n3;1;4\n", ";", ".", ["t", "a", "b"], ["t", "a"]),
    ],
)
def test_what_separates_and_what_does_not(tmp_path, text, delimiter, decimal, names, labels):
    (tmp_path / "a.csv").write_text(text)
    table = read_table(tmp_path / "a.csv")
    assert (table.dialect.delimiter, table.dialect.decimal) == (delimiter, decimal)
    assert [column.name for column in table.columns] == names
    assert table.labels == labels
    assert table.csv().decode().replace('"', "") == text.replace('"', "")


def test_whole_numbers_beside_decimals_keep_the_bound(trip):
    """Digits are cut when a column is written: the error of what is written counts."""
    rng = np.random.default_rng(0)
    Y = 9 + np.cumsum(rng.normal(size=(400, 4)), axis=0)
    lines = [f"{a:.0f},{b:.0f},{c:.2f},{d:.2f}" for a, b, c, d in Y]
    text = "\n".join(["a,b,c,d", *lines]) + "\n"
    for error in (0.01, 0.05, 0.1):
        before, after = (np.array(cells(t)[1:], float) for t in (text, trip(text, error)))
        assert np.linalg.norm(after - before) <= error * np.linalg.norm(before) * (1 + 1e-12)
        assert (after[:, :2] == np.rint(after[:, :2])).all()


@pytest.mark.parametrize(
    "change",
    [
        {"names": None},
        {"names": ["a"]},
        {"names": [1, 2]},
        {"kinds": [1]},
        {"kinds": [10**9, 1]},
        {"kinds": [-1, 1]},
        {"kinds": [True, 1]},
        {"kinds": [[], 1]},
        {"kinds": "11"},
        {"blank": [99]},
        {"blank": [0, 0]},
        {"blank": ["a"]},
        {"blank": 5},
        {"delimiter": "|"},
        {"delimiter": []},
        {"newline": "x" * 10**6},
        {"decimal": 1},
        {"bom": 1},
    ],
)
def test_tables_that_make_no_sense(change):
    about = {"table": {"names": ["a", "b"], "kinds": [1, None], **change}}
    with pytest.raises(PacketError, match="how its table was written"):
        SensorTable.from_about(np.zeros((3, 2)), about, [], 2**30)


def test_values_of_the_library_become_a_table(tmp_path):
    data, _ = SensorCodec(error=0).compress([[1.0, 2.0], [3.0, np.nan]], about={"names": "mine"})
    (tmp_path / "a.thr").write_bytes(data)
    decompress_file(tmp_path / "a.thr", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "sensor 1,sensor 2\n1.0,2.0\n3.0,\n"


# ---------------------------------------------------------------- errors of columns


def test_a_column_that_would_be_lost_is_refused_by_name(tmp_path):
    """Temperatures beside pascals: 2 % of all is 2000 % of the smaller one."""
    lines = [f"{20 + i % 5}.5,{101_300 + 10 * (i % 7)}.0" for i in range(50)]
    source = tmp_path / "a.csv"
    source.write_text("\n".join(["temp,pressure", *lines]))
    run = CliRunner().invoke
    result = run(app, ["compress", str(source), str(tmp_path / "a.thr")])
    assert result.exit_code == 1
    assert "'temp'" in result.output
    assert "share of each column" in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == [source]
    for asked in ("0", "1%", "temp=0.1"):
        result = run(app, ["compress", str(source), str(tmp_path / "a.thr"), "--error", asked])
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize(("own", "passes"), [(0.19, True), (0.21, False), (np.inf, False)])
def test_how_far_is_far(own, passes):
    errors = Errors(0.02, np.array([0.01, own]), np.zeros(2), np.zeros(2))
    if passes:
        errors.check_columns(["a", "b"], 0.02)
    else:
        with pytest.raises(ValueError, match="Column 'b'"):
            errors.check_columns(["a", "b"], 0.02)


def test_errors_of_columns_are_those_of_the_file(tmp_path, trip):
    write_csv(tmp_path / "c.csv", made_stream(n=800)[300:500])
    report = compress_file(tmp_path / "c.csv", tmp_path / "c.thr", SensorCodec(error=0.05))
    decompress_file(tmp_path / "c.thr", tmp_path / "d.csv")
    Y, E = (read_table(tmp_path / name).values for name in ("c.csv", "d.csv"))
    E = E - Y
    np.testing.assert_allclose(report.errors.relative, np.sqrt(np.nansum(E**2) / np.nansum(Y**2)))
    np.testing.assert_allclose(
        report.errors.own, np.sqrt(np.nansum(E**2, axis=0) / np.nansum(Y**2, axis=0))
    )
    np.testing.assert_allclose(report.errors.rms, np.sqrt(np.nanmean(E**2, axis=0)))
    np.testing.assert_allclose(report.errors.largest, np.nanmax(np.abs(E), axis=0))
    np.testing.assert_allclose(report.missing, np.isnan(Y).mean(axis=0))
    assert report.labels == ["time"]
    assert report.n_bytes == (tmp_path / "c.thr").stat().st_size


def test_a_table_may_have_hundreds_of_columns_of_words(tmp_path):
    names = [f"c{j}" for j in range(300)]
    lines = [",".join(names), *(",".join(f"w{(i * j) % 3}" for j in range(300)) for i in range(4))]
    lines = [f"t,{lines[0]}", *(f"{i}.5,{line}" for i, line in enumerate(lines[1:]))]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    compress_file(tmp_path / "a.csv", tmp_path / "a.thr", SensorCodec(error=0))
    decompress_file(tmp_path / "a.thr", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "a.csv").read_text()
