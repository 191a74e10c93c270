"""The command line: every command on its sample, for people and for machines."""

import inspect
import json
import re
import resource
import shlex
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import thresher
from thresher.cli import app
from thresher.cli.parameters import ESTIMATORS, TASKS, parameters_of, spoken
from thresher.datasets.samples import KINDS, sample_files

COMMANDS = ["topics", "novelty", "clean", "compress", "decompress", "segment", "separate"]
COMMANDS += [
    "denoise",
    "unmix",
    "sound",
    "choose",
    "fit",
    "live",
    "transform",
    "inspect",
]


def run(*words, given=None, code=0):
    """Run a command in this process; what it wrote to standard output and to standard error."""
    done = CliRunner().invoke(app, [str(word) for word in words], input=given)
    assert done.exit_code == code, (words, done.output, done.exception)
    return done


def answer(*words, **options):
    """What a command says to machines: one object and nothing else."""
    done = run(*words, "--json", **options)
    (line,) = done.stdout.splitlines()
    return json.loads(line)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    for kind in KINDS:
        for name, content in sample_files(kind).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def here(samples, tmp_path, monkeypatch):
    """An empty folder to work in, with the samples."""
    for file in samples.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(path="docs.jsonl"):
    return [json.loads(line)["text"] for line in Path(path).read_text().splitlines()]


def table(path="table.csv"):
    return np.genfromtxt(path, delimiter=",", skip_header=1)


def examples(command):
    """The lines of the help text under its heading."""
    text = CliRunner().invoke(app, [command, "--help"], terminal_width=200).stdout
    block = re.search(r"Example:\s*\n((?:.*thresher .*\n)+)", text)
    assert block, text
    return [line.strip() for line in block[1].splitlines()]


# ------------------------------------------------------------------ help, as it is printed


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_of_the_help_text_run_as_printed(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in examples(command):
        before, _, after = line.rpartition(" | ")
        given = subprocess.run(before, shell=True, capture_output=True).stdout if before else None
        program, *words = shlex.split(after)
        assert program == "thresher"
        run(*words, given=given)
        for page in tmp_path.glob("*.html"):
            needs_nothing(page.read_text(encoding="utf-8"))


def needs_nothing(page):
    """One file, without a reference to anything outside, that says how it was made."""
    for outside in ("http:", "https:", "url(", "<script", "<link", "@import", "<iframe"):
        assert outside not in page
    sources = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'>]{0,40})""", page)
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert "Make it again" in page
    assert "numpy" in page


@pytest.mark.parametrize("command", ["demo", "sample", "warm-up"])
def test_other_commands_have_an_example(command):
    assert all(line.startswith(f"thresher {command}") for line in examples(command))


def seconds_of(lines):
    """Run some command lines in one process; the processor's time."""
    code = (
        "import sys\nfrom thresher.cli import main\n"
        f"for words in {lines!r}:\n"
        "    sys.argv = ['thresher', *words]\n"
        "    try:\n        main()\n    except SystemExit as end:\n        assert not end.code\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'matplotlib', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    return processor_seconds(code)


def processor_seconds(code):
    """The processor's time of some Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_takes_little_longer_than_its_library():
    """A third of a second on a machine of 2024; others are slower, so typer is the measure."""
    bare = "import typer.rich_utils, rich.markdown"
    pairs = [(seconds_of([["--help"]]), processor_seconds(bare)) for _ in range(3)]
    assert min(ours for ours, _ in pairs) < 1.7 * min(theirs for _, theirs in pairs)


def test_help_imports_nothing_heavy():
    estimator = ["fit", "--estimator", "OnlineNMF", "--help"]
    seconds_of([["--version"], estimator, *([name, "--help"] for name in COMMANDS)])


def test_lines_of_the_documentation_are_commands_that_exist(samples, tmp_path, monkeypatch):
    """Every line in the table of docs/commands.md runs on samples, but for what has no end."""
    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text(encoding="utf-8")
    lines = re.findall(r"`(thresher [^`|]*)`(?=.* \|$)", page, re.MULTILINE)
    assert len(lines) >= 8
    shown = [example for command in COMMANDS for example in examples(command)]
    for line in lines:
        options = line.split(" --report")[0]
        assert line == "thresher demo" or any(options in example for example in shown), line


def test_the_program_names_its_exit_codes():
    text = " ".join(run("--help").stdout.split())
    assert (
        "exits with 0 when all is done, 1 when the run failed, 2 when it was used wrongly" in text
    )


# --------------------------------------------------- options are the parameters of the class


@pytest.mark.parametrize("name", [*TASKS, *ESTIMATORS])
def test_options_have_the_names_and_defaults_of_the_class(name):
    signature = inspect.signature(getattr(thresher, name)).parameters
    found = {parameter.name: parameter.default for parameter in parameters_of(name)}
    unspoken = {"callbacks", "estimator", "model", "vectorizer", "vocabulary"}
    assert found == {k: p.default for k, p in signature.items() if k not in unspoken}
    assert all(parameter.text for parameter in parameters_of(name))


def test_every_estimator_can_be_fitted():
    """Those that learn parts; tasks have commands of their own."""
    named = {name: getattr(thresher, name) for name in thresher.__all__}
    learners = {
        name
        for name, one in named.items()
        if hasattr(one, "fit") and one.__module__.startswith("thresher.estimators")
    }
    assert set(ESTIMATORS) == learners


def test_own_options_have_the_defaults_of_the_class():
    from thresher.cli.compress import compress

    own = inspect.signature(compress, eval_str=True).parameters
    codec = inspect.signature(thresher.SensorCodec).parameters
    assert [float(text) for text in own["error"].default] == [codec["error"].default]
    assert own["max_error"].default is codec["max_error"].default


def test_values_are_what_they_look_like():
    words = ["3", "0.5", "None", "True", "mad", "[0, 2]", "1e-3", "auto", "__import__('os')"]
    values = [3, 0.5, None, True, "mad", [0, 2], 1e-3, "auto", "__import__('os')"]
    assert [spoken(word) for word in words] == values


def test_options_of_fit_are_those_of_the_estimator(here):
    for name, option in (("OnlineNMF", "--divergence"), ("OnlineRobustNMF", "--outlier-weight")):
        text = run("fit", "--estimator", name, "--help").stdout
        assert option in text
        assert f"Parameters of {name}" in text
    assert "--divergence " not in run("fit", "--help").stdout
    model = ["fit", "table.csv", "m.thr", "--n-components", "3"]
    told = answer(*model, "--estimator=OnlineNMF", "--divergence", "kl", "--no-shuffle")
    expected = {"n_components": 3, "divergence": "kl", "shuffle": False, "random_state": 0}
    assert told["parameters"] == expected
    assert "No such option" in run(*model, "--divergence", "kl", code=2).output


def test_shell_completion_knows_estimators_kinds_and_values():
    def complete(line):
        words = line.split(" ")
        env = {"_THRESHER_COMPLETE": "complete_bash", "COMP_WORDS": line,
               "COMP_CWORD": str(len(words) - 1)}  # fmt: skip
        done = CliRunner().invoke(app, [], env=env, prog_name="thresher")
        return done.stdout.split()

    assert complete("thresher fit --estimator Online") == [
        name for name in ESTIMATORS if name.startswith("Online")
    ]
    assert complete("thresher sample ") == list(KINDS)
    assert complete("thresher fit --estimator OnlineNMF --solver sp") == ["spsgd"]


# ---------------------------------------------------------- what machines are told is true


def test_topics_are_those_of_the_class(here):
    told = answer("topics", "docs.jsonl", "--n-components", 5, "--save", "topics.thr")
    model = thresher.TopicModel(5, random_state=0, verbose=0).fit(texts())
    shares = model.transform(texts()).mean(axis=0)
    order = np.argsort(-shares, kind="stable")
    assert [t["name"] for t in told["topics"]] == [model.topics_[k].name for k in order]
    np.testing.assert_allclose([t["share"] for t in told["topics"]], shares[order])
    assert told["coherence"] == pytest.approx(model.coherence(texts()).mean)
    assert told["chosen"]["text"]["value"] == "text"
    # What was saved gives the same shares to whoever asks.
    run("transform", "topics.thr", "docs.jsonl", "shares.npy")
    np.testing.assert_allclose(np.load("shares.npy"), model.transform(texts()), atol=1e-9)
    assert answer("inspect", "topics.thr")["topics"] == [t.name for t in model.topics_]


def test_the_planted_subjects_are_found(here):
    """Documents of one subject have one main topic."""
    run("topics", "docs.jsonl", "--n-components", 6, "--save", "t.thr")
    run("transform", "t.thr", "docs.jsonl", "s.npy")
    main = np.load("s.npy").argmax(axis=1)
    subjects = [json.loads(line)["subject"] for line in Path("docs.jsonl").read_text().splitlines()]
    pure = sum(np.bincount(main[np.array(subjects) == name]).max() for name in set(subjects))
    assert pure > 0.95 * len(main)


def test_novel_documents_are_those_of_the_class(here):
    told = answer("novelty", "docs.jsonl", "--report", "page.html")
    assert told["chosen"]["every"]["value"] == "week"
    detector = thresher.NovelDocumentDetector(random_state=0, verbose=0)
    steps = list(detector.watch("docs.jsonl", date_field="date", every="week"))
    assert [step["step"] for step in told["steps"]] == [step.name for step in steps]
    for found, step in zip(told["steps"], steps, strict=True):
        assert sorted(d["place"] for d in found["novel"]) == np.flatnonzero(step.novel).tolist()
        scores = [d["score"] for d in found["novel"]]
        assert scores == sorted(step.scores[step.novel].tolist(), reverse=True)
        assert [t["words"] for t in found["topics"]] == [t.words for t in step.topics]
    # The new subject of the sample is what emerged when it came up, for its own words.
    first = next(step for step in told["steps"] if step["step"] == "2026-04-27")
    assert "comet" in first["topics"][0]["words"]
    assert "comet" in [word for word, _ in first["novel"][0]["unexplained"]]
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<mark>comet</mark>" in page


def test_standard_input_is_told_step_by_step(here):
    lines = Path("docs.jsonl").read_text()
    done = run("novelty", "-", "--size", 200, "--json", given=lines)
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    detector = thresher.NovelDocumentDetector(random_state=0, verbose=0)
    expected = list(detector.watch(texts(), 200))
    assert [step["step"] for step in steps] == [step.name for step in expected]
    assert [len(s["novel"]) for s in steps] == [int(step.novel.sum()) for step in expected]
    plain = run("novelty", "-", "--size", 200, "--json", given="\n".join(texts()))
    assert plain.stdout == done.stdout


def test_segments_are_those_of_the_class(here):
    from PIL import Image

    options = ["--n-segments", 4, "--n-superpixels", 100, "--features", "colour"]
    told = answer("segment", "photo.png", "labels.npy", *options)
    with Image.open("photo.png") as file:
        pixels = np.asarray(file)
    model = thresher.ImageSegmenter(
        4, n_superpixels=100, features="colour", random_state=0, verbose=0
    )
    labels = model.fit_predict(pixels)
    np.testing.assert_array_equal(np.load("labels.npy"), labels)
    np.testing.assert_allclose(told["areas"], np.bincount(labels.ravel()) / labels.size)
    run("segment", "photo.png", "drawn.png", *options)
    with Image.open("drawn.png") as file:
        drawn = np.asarray(file)
    assert (drawn != pixels).any(axis=-1).mean() < 0.2  # borders alone


def test_models_are_those_of_the_class(here):
    told = answer("fit", "table.csv", "m.thr", "--n-components", 3, "--outlier-weight", "mad")
    model = thresher.OnlineRobustNMF(3, outlier_weight="mad", random_state=0, verbose=0)
    model.fit(table())
    loaded = thresher.load("m.thr")
    np.testing.assert_array_equal(loaded.components_, model.components_)
    assert told["loss"] == model.history_[-1].loss
    assert told["outlier_weight"] == model.outlier_weight_
    assert ",".join(loaded.feature_names_in_) == Path("table.csv").read_text().splitlines()[0]
    again = answer("inspect", "m.thr")
    assert {k: again[k] for k in ("parameters", "loss", "solver")} == {
        k: told[k] for k in ("parameters", "loss", "solver")
    }
    names = answer("transform", "m.thr", "table.csv", "codes.npy")["names"]
    np.testing.assert_allclose(np.load("codes.npy"), model.transform(table()), rtol=1e-6)
    assert len(names) == 3


def test_what_leaves_nothing_to_chance_has_no_seed(here):
    told = answer(
        "fit", "sensors.csv", "m.thr", "--estimator", "RobustPCA", "--columns", "attic,bath"
    )
    assert "random_state" not in told["chosen"]


def test_columns_without_numbers_are_left_out_and_named(here):
    told = answer("fit", "sensors.csv", "m.thr", "--n-components", 2)
    assert "time has no numbers" in told["chosen"]["columns"]["why"]
    assert told["n_features"] == 8
    run("transform", "m.thr", "sensors.csv", "codes.csv")  # by the names that were learned
    few = answer("fit", "sensors.csv", "m.thr", "--columns", "attic,garden")
    assert few["n_features"] == 2
    assert answer("fit", "sensors.csv", "m.thr", "--columns", "attic")["n_features"] == 1


def test_pictures_of_an_archive_have_pictures_for_parts(here):
    rng = np.random.default_rng(0)
    np.savez("faces.npz", images=rng.integers(0, 255, (40, 6, 5), dtype=np.uint8), labels=[1])
    words = ["--columns", "images", "--n-components", 2, "--report", "page.html"]
    assert answer("fit", "faces.npz", "m.thr", *words)["n_features"] == 30
    assert "2 learned parts, as images" in Path("page.html").read_text(encoding="utf-8")


def test_larger_data_are_read_as_a_stream(here, monkeypatch):
    monkeypatch.setattr("thresher.cli.held.MOST", 1000)
    told = answer("fit", "table.csv", "m.thr", "--n-components", 3)
    assert told["chosen"]["read"]["value"] == "as a stream"
    model = thresher.OnlineRobustNMF(3, random_state=0, verbose=0).fit(thresher.open("table.csv"))
    np.testing.assert_array_equal(thresher.load("m.thr").components_, model.components_)
    refused = run("fit", "table.csv", "m.thr", "--estimator", "RobustNMF", code=2)
    assert "needs all samples in memory" in refused.stderr


def test_a_table_comes_through_a_pipe(here):
    code = "from thresher.cli import main; main()"
    words = [sys.executable, "-c", code, "fit", "-", "p.thr", "--n-components", "3", "--json"]
    with Path("table.csv").open("rb") as file:
        done = subprocess.run(words, stdin=file, check=True, capture_output=True)
    assert json.loads(done.stdout)["n_features"] == 24
    run("fit", "table.csv", "m.thr", "--n-components", 3)
    piped, read = thresher.load("p.thr"), thresher.load("m.thr")
    np.testing.assert_array_equal(piped.components_, read.components_)


def test_a_live_page_changes_nothing_of_the_run(here):
    plain, shown = (
        answer("fit", "table.csv", f"{len(live)}.thr", "--n-components", 3, *live)
        for live in ([], ["--live"])
    )
    assert shown["live"].startswith("http://127.0.0.1:")
    assert shown["loss"] == plain["loss"]
    first, second = (thresher.load(f"{number}.thr").components_ for number in (0, 1))
    np.testing.assert_array_equal(first, second)
    assert (
        answer("novelty", "docs.jsonl", "--live")["steps"]
        == answer("novelty", "docs.jsonl")["steps"]
    )
    run("separate", "street.avi", "--mask", "mask.npy")
    run("separate", "street.avi", "--mask", "shown.npy", "--live")
    np.testing.assert_array_equal(np.load("mask.npy"), np.load("shown.npy"))


def test_live_learns_in_small_batches_and_knows_documents(here):
    told = answer("live", "table.csv", "--n-components", 3, "--no-stay", "--save", "m.thr")
    model = thresher.OnlineRobustNMF(3, batch_size=32, drift="auto", random_state=0, verbose=0)
    model.fit(thresher.open("table.csv"))
    np.testing.assert_array_equal(thresher.load("m.thr").components_, model.components_)
    assert told["chosen"]["batch_size"]["value"] == 32
    assert answer("live", "docs.jsonl", "--no-stay")["documents"] == len(texts())


@pytest.mark.parametrize(
    "words",
    [
        ["novelty", "docs.jsonl", "--top-share", "0.05"],
        ["fit", "sensors.csv", "a name.thr", "--no-shuffle", "--forgetting", "500"],
        ["compress", "sensors.csv", "s.thr", "--error", "1%", "--error", "attic=0.2"],
    ],
    ids=lambda words: words[0],
)
def test_the_line_that_repeats_a_run_repeats_it(here, words):
    first = answer(*words)
    program, *again = shlex.split(first["again"])
    assert program == "thresher"
    second = answer(*again)
    for told in (first, second):
        told.pop("chosen")
        told.pop("seconds", None)
    assert first == second


# ------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["topics", "nowhere.jsonl"], 2, "There is no nowhere.jsonl"),
        (["novelty", "nowhere.jsonl"], 2, "There is no nowhere.jsonl"),
        (["compress", "nowhere.csv", "x.thr"], 2, "There is no nowhere.csv"),
        (["decompress", "nowhere.thr", "x.csv"], 2, "There is no nowhere.thr"),
        (["segment", "nowhere.png", "x.png"], 2, "There is no nowhere.png"),
        (["fit", "nowhere.csv", "m.thr"], 2, "There is no nowhere.csv"),
        (["inspect", "nowhere.thr"], 2, "There is no nowhere.thr"),
        (["transform", "nowhere.thr", "table.csv", "x.csv"], 2, "There is no nowhere.thr"),
        (["sample", "nothing"], 2, "There is no sample 'nothing'"),
        (["topics", "docs.jsonl", "--n-components", "-1"], 2, "n_components=-1 must be"),
        (["fit", "table.csv", "m.thr", "--solver", "x"], 2, "solver='x'"),
        (["fit", "table.csv", "m.thr", "--estimator", "x"], 2, "There is no estimator 'x'"),
        (["compress", "sensors.csv", "x.thr", "--error", "7"], 2, "error=7.0 must be"),
        (["segment", "photo.png", "x.txt"], 2, "must end in .png"),
        (["topics", "docs.jsonl", "--report", "no/x.html"], 2, "no such folder"),
        (["novelty", "docs.jsonl", "--every", "hour"], 2, "--every hour is not known"),
        (["live", "nowhere.csv"], 2, "There is no nowhere.csv"),
        (["live", "table.csv", "--estimator", "GoDec"], 2, "nothing to watch live; use one of"),
        (["fit", "table.csv", "m", "--estimator", "GoDec", "--live"], 2, "nothing to watch live"),
        (["live", "table.csv", "--address", "here"], 2, "such as 127.0.0.1:8000"),
        (["live", "docs.jsonl", "--forgetting", "9"], 2, "thresher novelty docs.jsonl --live"),
        (["separate", "table.csv", "--mask", "m.mp4"], 2, "has no pictures"),
        (["separate", "photo.png", "--mask", "m.mp4"], 2, "is one picture"),
        (["separate", "photo.png"], 2, "--report page.html"),
        (["denoise", "table.csv", "out"], 2, "has no pictures"),
        (["denoise", "photo.png", "out"], 2, "is one picture"),
        (["topics", "table.csv"], 1, "is not JSON"),
        (["topics", "docs.jsonl", "--text", "body"], 1, "no text in its field 'body'"),
        (["segment", "table.csv", "x.png"], 1, "is no picture"),
        (["inspect", "table.csv"], 1, "table.csv"),
        (["decompress", "table.csv", "x.csv"], 1, ""),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_errors_are_a_sentence_and_an_exit_code(here, words, code, part):
    before = sorted(here.iterdir())
    done = run(*words, code=code)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert part in last
    assert "Traceback" not in done.output
    assert done.stdout == ""
    assert sorted(here.iterdir()) == before  # nothing is left behind


def test_debug_shows_where_an_error_came_from(here):
    done = CliRunner().invoke(app, ["segment", "table.csv", "x.png", "--debug"])
    assert isinstance(done.exception, ValueError)


def test_negative_data_are_refused_with_what_to_do(here):
    np.save("x.npy", np.array([[1.0, -2.0], [3.0, 4.0]]))
    assert "OnlineOrthogonalDictionary" in run("fit", "x.npy", "m.thr", code=1).stderr


def test_warnings_of_the_library_are_notes(here, monkeypatch):
    learn = thresher.OnlineRobustNMF.fit

    def fit(self, X):
        warnings.warn("raise max_iter", UserWarning, stacklevel=2)
        return learn(self, X)

    monkeypatch.setattr(thresher.OnlineRobustNMF, "fit", fit)
    done = run("fit", "table.csv", "m.thr", "--json")
    assert json.loads(done.stdout)["notes"] == ["raise max_iter"]
    assert "Note: raise max_iter" in done.stderr.splitlines()


def test_a_sample_does_not_overwrite_what_it_did_not_write(tmp_path):
    (tmp_path / "table.csv").write_text("mine")
    done = run("sample", "table", "--out", tmp_path, code=2)
    assert "is no sample" in done.stderr
    assert (tmp_path / "table.csv").read_text() == "mine"
    run("sample", "docs", "--out", tmp_path)
    assert run("sample", "docs", "--out", tmp_path).exit_code == 0


def test_an_interrupt_is_a_line(here, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(thresher.TopicModel, "fit", interrupted)
    done = run("topics", "docs.jsonl", code=130)
    assert done.stderr.splitlines()[-1].startswith("Interrupted")


def test_an_interrupt_ends_what_follows_standard_input_and_keeps_what_was_found(here):
    """Ctrl-C in a process of its own: the model, the page and all steps until then are there."""
    words = ["novelty", "-", "--size", "100", "--json", "--save", "now.thr", "--report", "now.html"]
    program = [sys.executable, "-c", "from thresher.cli import main; main()", *words]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as follower:
        lines = Path("docs.jsonl").read_text().splitlines(keepends=True)
        follower.stdin.write("".join(lines[:330]))  # two steps after the first, and a part of one
        follower.stdin.flush()
        told = [json.loads(follower.stdout.readline()) for _ in range(3)]
        follower.send_signal(signal.SIGINT)
        try:
            _, said = follower.communicate(timeout=300)
        finally:
            follower.kill()  # if it did not hear
    assert follower.returncode == 0
    assert "Interrupted; what came until now counts." in said
    assert "Traceback" not in said
    assert [step["documents"] for step in told] == [100, 100, 100]
    assert [step["start"] for step in told] == [True, False, False]
    assert thresher.load("now.thr").n_steps_ == 2
    assert "scored, in 2 steps" in Path("now.html").read_text(encoding="utf-8")
