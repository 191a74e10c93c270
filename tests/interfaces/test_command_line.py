"""The command line as users run it: results, options, refusals, standard streams and exit codes."""

import csv
import inspect
import json
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

import thresher
from thresher.cli import app

PROGRAM = [sys.executable, "-c", "from thresher.cli import main; main()"]
COMMANDS = [command.name for command in app.registered_commands]
TASKS = {
    "topics": "TopicModel",
    "novelty": "NovelDocumentDetector",
    "clean": "TableCleaner",
    "compress": "SensorCodec",
    "separate": "VideoSeparator",
    "denoise": "ImageDenoiser",
    "segment": "ImageSegmenter",
    "unmix": "SpectralUnmixer",
    "sound": "SoundSeparator",
}
PUBLIC = {name: getattr(thresher, name) for name in thresher.__all__}
ESTIMATORS = sorted(
    name
    for name, kind in PUBLIC.items()
    if hasattr(kind, "fit") and kind.__module__.startswith("thresher.estimators")
)
QUIET = {"random_state": 0, "verbose": 0}


def run(*words, given=None, code=0):
    """Run a command in this process and check its exit code."""
    done = CliRunner().invoke(app, [str(word) for word in words], input=given)
    assert done.exit_code == code, (words, done.output, done.exception)
    return done


def answer(*words, **options):
    """Return the one JSON object that a command prints."""
    (line,) = run(*words, "--json", **options).stdout.splitlines()
    return json.loads(line)


def help_of(*words):
    return CliRunner().invoke(app, [*words, "--help"], terminal_width=200).stdout


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    run("sample", "all", "--out", folder)
    return folder


@pytest.fixture
def here(samples, tmp_path, monkeypatch):
    """A working directory that has the samples."""
    for file in samples.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts():
    return [json.loads(line)["text"] for line in Path("docs.jsonl").read_text().splitlines()]


def table(path="table.csv"):
    return np.genfromtxt(path, delimiter=",", skip_header=1)


# ------------------------------------------------------------------------------ help


def examples(command):
    """The lines of the help text below the heading ``Example:``."""
    block = re.search(r"Example:\s*\n((?:.*thresher .*\n)+)", help_of(command))
    return [line.strip() for line in block[1].splitlines()]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("demo", "warm-up")])
def test_examples_of_the_help_text_run_as_printed(command, tmp_path, monkeypatch):
    """They run in an empty folder, and their reports need no other file and no network."""
    monkeypatch.chdir(tmp_path)
    for line in examples(command):
        before, _, after = line.rpartition(" | ")
        given = subprocess.run(before, shell=True, capture_output=True).stdout if before else None
        program, *words = shlex.split(after)
        assert program == "thresher"
        run(*words, given=given)
    for page in tmp_path.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        for outside in ("http:", "https:", "url(", "<script", "<link", "@import", "<iframe"):
            assert outside not in text
        assert "thresher " in text  # the command that repeats the run


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_options_for_machines(command):
    assert f"thresher {command}" in examples(command)[-1]
    assert "--json" in help_of(command)
    assert "--debug" in help_of(command)
    assert command in help_of()


def test_commands_of_the_documentation_are_examples():
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    lines = re.findall(r"`(thresher [^`|]*)`(?=.* \|$)", page, re.MULTILINE)
    assert len(lines) >= 8
    shown = [example for command in COMMANDS for example in examples(command)]
    for line in lines:
        options = line.split(" --report")[0]
        assert line == "thresher demo" or any(options in example for example in shown), line


def test_the_version_is_printed():
    assert run("--version").stdout.split() == ["thresher", thresher.__version__]


def processor_seconds(code):
    """Run Python code in a process of its own and return the processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def showing(lines):
    """Code that runs some command lines and fails if a heavy library was imported."""
    return (
        "import sys\nimport thresher\nfrom thresher.cli import main\n"
        f"for words in {lines!r}:\n"
        "    sys.argv = ['thresher', *words]\n"
        "    try:\n        main()\n    except SystemExit as end:\n        assert not end.code\n"
        "heavy = {'numba', 'sklearn', 'scipy', 'matplotlib', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )


def test_help_imports_nothing_heavy():
    estimators = [["fit", "--estimator", name, "--help"] for name in ESTIMATORS]
    commands = [[name, "--help"] for name in COMMANDS]
    processor_seconds(showing([["--help"], ["--version"], *estimators, *commands]))


def test_help_takes_little_longer_than_its_library():
    """Its own share is below 70 % of the time that importing typer and rich takes."""
    bare = "import typer.rich_utils, rich.markdown"
    ours = min(processor_seconds(showing([["--help"]])) for _ in range(3))
    assert ours < 1.7 * min(processor_seconds(bare) for _ in range(3))


# -------------------------------------------------- options are the parameters of the class


@pytest.mark.parametrize(
    ("words", "name"),
    [
        *(([command], name) for command, name in TASKS.items()),
        *((["fit", "--estimator", name], name) for name in ESTIMATORS),
        (["live", "--estimator", "OnlineNMF"], "OnlineNMF"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parameters_of_the_class_are_options(words, name):
    not_typed = {"callbacks", "estimator", "model", "vectorizer", "vocabulary"}
    shown = help_of(*words)
    for parameter in inspect.signature(PUBLIC[name]).parameters.keys() - not_typed:
        assert re.search(rf"--{parameter.replace('_', '-')}\b", shown), parameter


@pytest.mark.parametrize("name", ESTIMATORS)
def test_options_have_the_defaults_of_the_class(name, tmp_path):
    """A model fitted without options has no parameter that differs from its default."""
    X = np.random.default_rng(0).random((12, 4))
    np.save(tmp_path / "x.npy", X @ X.T)
    known = inspect.signature(PUBLIC[name]).parameters
    given = {"n_components": 2, "random_state": 0}
    given = {key: value for key, value in given.items() if key in known}
    words = ["--n-components", 2] if "n_components" in given else []
    model = tmp_path / "m.thr"
    told = answer("fit", tmp_path / "x.npy", model, "--estimator", name, *words)
    assert told["parameters"] == given
    assert told["estimator"] == type(thresher.load(model)).__name__ == name


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (["--outlier-weight", "mad"], {"outlier_weight": "mad"}),
        (["--outlier-weight", "0.5"], {"outlier_weight": 0.5}),
        (["--outlier-bound", "5"], {"outlier_bound": 5}),
        (["--forgetting", "None"], {"forgetting": None}),
        (["--tol", "1e-3"], {"tol": 1e-3}),
        (["--no-shuffle"], {"shuffle": False}),
        (["--estimator=OnlineNMF", "--divergence", "kl"], {"divergence": "kl"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_typed_values_are_read_as_python_reads_them(here, word, value):
    told = answer("fit", "sensors.csv", "m.thr", "--columns", "attic,bath", *word)
    assert told["parameters"] == value | {"random_state": 0}


def test_shell_completion_knows_estimators_samples_and_values():
    def complete(line):
        words = line.split(" ")
        env = {"_THRESHER_COMPLETE": "complete_bash", "COMP_WORDS": line,
               "COMP_CWORD": str(len(words) - 1)}  # fmt: skip
        return CliRunner().invoke(app, [], env=env, prog_name="thresher").stdout.split()

    online = [name for name in ESTIMATORS if name.startswith("Online")]
    assert complete("thresher fit --estimator Online") == online
    assert {"table", "docs", "video"} <= set(complete("thresher sample "))
    assert complete("thresher fit --estimator OnlineNMF --solver sp") == ["spsgd"]


# ------------------------------------------------------- results are those of the class


def check_topics():
    told = answer("topics", "docs.jsonl", "--n-components", 5, "--save", "topics.thr")
    model = thresher.TopicModel(5, **QUIET).fit(texts())
    shares = model.transform(texts()).mean(axis=0)
    order = np.argsort(-shares, kind="stable")
    assert [t["name"] for t in told["topics"]] == [model.topics_[k].name for k in order]
    np.testing.assert_allclose([t["share"] for t in told["topics"]], shares[order])
    assert told["coherence"] == pytest.approx(model.coherence(texts()).mean)
    run("transform", "topics.thr", "docs.jsonl", "shares.npy")
    np.testing.assert_allclose(np.load("shares.npy"), model.transform(texts()), atol=1e-9)
    assert answer("inspect", "topics.thr")["topics"] == [t.name for t in model.topics_]


def check_topics_over_time():
    told = answer("topics", "docs.jsonl", "--n-components", 5, "--over-time", "--every", "month")
    assert told["steps"] == ["2026-03-01", "2026-04-01", "2026-05-01"]
    assert sum(told["documents"]) == len(texts())
    assert len(told["topics"]) >= 5


def check_novelty():
    told = answer("novelty", "docs.jsonl", "--save", "n.thr")
    detector = thresher.NovelDocumentDetector(**QUIET)
    steps = list(detector.watch("docs.jsonl", date_field="date", every="week"))
    assert [step["step"] for step in told["steps"]] == [step.name for step in steps]
    for found, step in zip(told["steps"], steps, strict=True):
        assert sorted(d["place"] for d in found["novel"]) == np.flatnonzero(step.novel).tolist()
        scores = [d["score"] for d in found["novel"]]
        assert scores == sorted(step.scores[step.novel].tolist(), reverse=True)
    # The subject that is planted in the last two weeks is found, by its own words.
    first = next(step for step in told["steps"] if step["step"] == "2026-04-27")
    assert "comet" in first["topics"][0]["words"]
    assert "comet" in [word for word, _ in first["novel"][0]["unexplained"]]
    assert thresher.load("n.thr").n_steps_ == len(steps) - 1


def check_clean():
    told = answer("clean", "table.csv", "clean.csv", "--changes", "changes.csv")
    found = thresher.TableCleaner(**QUIET).clean(pd.read_csv("table.csv"))
    expected, flags = np.asarray(found.table), np.asarray(found.flags)
    assert (
        Path("clean.csv").read_text().split("\n")[0] == Path("table.csv").read_text().split("\n")[0]
    )
    np.testing.assert_allclose(table("clean.csv"), expected, atol=0.5)  # counts stay whole
    assert told["glitches"] == flags.sum()
    assert told["filled"] == np.isnan(table()).sum() - told["empty"]
    with open("changes.csv", encoding="utf-8") as file:
        assert sum(1 for _ in csv.reader(file)) == 1 + told["filled"] + told["glitches"]


def check_compress():
    told = answer("compress", "sensors.csv", "s.thr", "--error", "0", "--error", "attic=1%")
    assert told["bytes"] == Path("s.thr").stat().st_size
    assert told["source_bytes"] > 2 * told["bytes"]
    assert answer("decompress", "s.thr", "again.csv")["rows"] == 960
    before, after = pd.read_csv("sensors.csv"), pd.read_csv("again.csv")
    pd.testing.assert_frame_equal(after.drop(columns="attic"), before.drop(columns="attic"))
    error = np.sqrt(np.nanmean((after["attic"] - before["attic"]) ** 2))
    assert 0 < error <= 0.01 * np.sqrt(np.nanmean(before["attic"] ** 2))


def check_separate():
    told = answer("separate", "street.avi", "--mask", "m.npy", "--background", "b.npy")
    frames = thresher.open("street.avi")
    parts = list(thresher.VideoSeparator(**QUIET).separate(frames))
    np.testing.assert_array_equal(np.load("m.npy") > 0, np.concatenate([p.mask for p in parts]))
    assert told["frames"] == len(np.load("b.npy")) == 150
    assert told["scene_changes"] == []


def check_denoise():
    Path("some").mkdir()
    for path in sorted(Path("photographs").iterdir())[:20]:
        (Path("some") / path.name).symlink_to(path.resolve())
    told = answer("denoise", "some", "clean", "--mask", "mask.npy")
    assert (told["photographs"], told["height"], told["width"]) == (20, 48, 72)
    before, after = (
        np.array([np.asarray(Image.open(path)) for path in sorted(Path(folder).iterdir())])
        for folder in ("some", "clean")
    )
    black, mask = before < 12, np.load("mask.npy").reshape(before.shape) > 0
    assert mask[black].mean() > 0.9  # the dirt that covers the scene
    assert (after < 12).mean() < 0.2 * black.mean()


def check_segment():
    options = ["--n-segments", 4, "--n-superpixels", 100, "--features", "colour"]
    told = answer("segment", "photo.png", "labels.npy", *options)
    pixels = np.asarray(Image.open("photo.png"))
    model = thresher.ImageSegmenter(4, n_superpixels=100, features="colour", **QUIET)
    labels = model.fit_predict(pixels)
    np.testing.assert_array_equal(np.load("labels.npy"), labels)
    np.testing.assert_allclose(told["areas"], np.bincount(labels.ravel()) / labels.size)
    run("segment", "photo.png", "drawn.png", *options)
    changed = (np.asarray(Image.open("drawn.png")) != pixels).any(axis=-1)
    assert 0 < changed.mean() < 0.2  # borders alone


def check_unmix():
    scene = np.load("scene.npy")[::2, ::2]
    np.save("part.npy", scene)
    told = answer("unmix", "part.npy", "shares.npy", "--endmembers", "pure.csv")
    shares = np.load("shares.npy")
    model = thresher.SpectralUnmixer(**QUIET).fit(scene)
    np.testing.assert_allclose(shares, model.transform(scene), atol=1e-9)
    np.testing.assert_allclose(np.loadtxt("pure.csv", delimiter=","), model.endmembers_, rtol=1e-8)
    assert told["chosen"]["n_components"]["value"] == shares.shape[-1] == 4
    assert len(told["bad_bands"]) == 2
    np.testing.assert_allclose(told["mean_shares"], shares.mean(axis=(0, 1)))


def check_sound():
    told = answer("sound", "tune.wav", "parts", "--n-components", 3)
    assert sorted(map(str, Path("parts").iterdir())) == sorted(told["parts"])
    assert len(told["parts"]) == len(told["peaks"]) == 3
    # The tune has a note every half second.
    assert {round(2 * time) for time, _, _ in told["onsets"]} == set(range(7))
    run("sound", "tune.wav", "parts", code=2)  # the folder is there already


def check_fit():
    told = answer("fit", "table.csv", "m.thr", "--n-components", 3, "--outlier-weight", "mad")
    model = thresher.OnlineRobustNMF(3, outlier_weight="mad", **QUIET).fit(table())
    loaded = thresher.load("m.thr")
    np.testing.assert_array_equal(loaded.components_, model.components_)
    assert told["loss"] == model.history_[-1].loss
    assert told["outlier_weight"] == model.outlier_weight_
    assert ",".join(loaded.feature_names_in_) == Path("table.csv").read_text().splitlines()[0]
    again = answer("inspect", "m.thr")
    same = ("estimator", "parameters", "n_features", "n_samples_seen", "loss", "solver")
    assert {key: again[key] for key in same} == {key: told[key] for key in same}
    names = answer("transform", "m.thr", "table.csv", "codes.npy")["names"]
    np.testing.assert_allclose(np.load("codes.npy"), model.transform(table()), rtol=1e-6)
    assert len(names) == 3


def check_choose():
    np.save("x.npy", np.nan_to_num(table()[:200, :8]))
    words = ["--estimator", "BatchNMF", "--n-components", "1-3", "--n-masks", 1]
    told = answer("choose", "x.npy", *words)
    model = thresher.BatchNMF(**QUIET)
    choice = thresher.choose(model, np.load("x.npy"), n_components=[1, 2, 3], n_masks=1)
    assert told["best"] == choice.best_params_
    np.testing.assert_allclose(told["table"]["error"], choice.table_["error"])
    losses = ["--divergence", "kl,squared_l2"]
    both = answer("choose", "x.npy", *words[:3], "1,3", "--n-masks", 1, *losses)
    assert set(both["table"]["n_components"]) == {1, 3}
    assert set(both["table"]["divergence"]) == {"kl", "squared_l2"}


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_results_are_those_of_the_class(here, check):
    check()


@pytest.mark.parametrize(
    "words",
    [
        ["novelty", "docs.jsonl", "--top-share", "0.05"],
        ["fit", "sensors.csv", "a name.thr", "--no-shuffle", "--forgetting", "500"],
        ["compress", "sensors.csv", "s.thr", "--error", "1%", "--error", "attic=0.2"],
        ["segment", "photo.png", "p.npy", "--n-segments", "2", "--n-superpixels", "50"],
    ],
    ids=lambda words: words[0],
)
def test_the_line_that_repeats_a_run_repeats_it(here, words):
    first = answer(*words)
    assert first["command"] == words[0]
    program, *again = shlex.split(first["again"])
    assert program == "thresher"
    second = answer(*again)
    for told in (first, second):
        told.pop("chosen")
        told.pop("seconds", None)
    assert first == second


def test_the_demonstration_is_measured_against_the_truth(tmp_path):
    out = tmp_path / ("a rather long name of a folder " * 4) / "report"
    measures = answer("demo", "--quick", "--out", out)["measures"]

    def figures(start):
        (row,) = [row for name, row in measures.items() if name.startswith(start)]
        return [float(row[who].rstrip("%")) for who in ("thresher", "MiniBatchNMF")]

    ours, theirs = figures("Background: PSNR")
    assert ours > theirs + 3
    ours, theirs = figures("Moving objects: F1")
    assert ours > max(0.75, theirs)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert "http:" not in page
    assert "https:" not in page
    (tmp_path / "file").write_text("in the way")
    run("demo", "--out", tmp_path / "file" / "folder", code=2)


# --------------------------------------------------------------------- what is read


def test_columns_without_numbers_are_left_out_and_named(here):
    told = answer("fit", "sensors.csv", "m.thr", "--n-components", 2)
    assert "time" in told["chosen"]["columns"]["why"]
    assert told["n_features"] == 8
    run("transform", "m.thr", "sensors.csv", "codes.csv")  # by the names that were learned
    assert len(Path("codes.csv").read_text().splitlines()) == 961
    for columns, n_features in (("attic,garden", 2), ("attic", 1)):
        told = answer("fit", "sensors.csv", "m.thr", "--columns", columns)
        assert told["n_features"] == n_features


def test_an_array_of_pictures_is_read_by_its_name(here):
    rng = np.random.default_rng(0)
    np.savez("faces.npz", images=rng.integers(0, 255, (40, 6, 5), dtype=np.uint8), labels=[1])
    words = ["--columns", "images", "--n-components", 2, "--report", "page.html"]
    assert answer("fit", "faces.npz", "m.thr", *words)["n_features"] == 30
    assert "data:image/png" in Path("page.html").read_text(encoding="utf-8")


def test_larger_data_are_read_as_a_stream(here, monkeypatch):
    monkeypatch.setattr("thresher.cli.held.MOST", 1000)  # bytes
    told = answer("fit", "table.csv", "m.thr", "--n-components", 3)
    assert "stream" in told["chosen"]["read"]["value"]
    model = thresher.OnlineRobustNMF(3, **QUIET).fit(thresher.open("table.csv"))
    np.testing.assert_array_equal(thresher.load("m.thr").components_, model.components_)
    refused = run("fit", "table.csv", "m.thr", "--estimator", "RobustNMF", code=2)
    assert "memory" in refused.stderr
    assert answer("topics", "docs.jsonl")["documents"] < len(texts())


def test_a_table_comes_through_a_pipe(here):
    words = [*PROGRAM, "fit", "-", "p.thr", "--n-components", "3", "--json"]
    with Path("table.csv").open("rb") as file:
        done = subprocess.run(words, stdin=file, check=True, capture_output=True)
    assert json.loads(done.stdout)["n_features"] == 24
    run("fit", "table.csv", "m.thr", "--n-components", 3)
    piped, read = thresher.load("p.thr"), thresher.load("m.thr")
    np.testing.assert_array_equal(piped.components_, read.components_)


def test_documents_of_standard_input_are_answered_step_by_step(here):
    done = run("novelty", "-", "--size", 200, "--json", given=Path("docs.jsonl").read_text())
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    expected = list(thresher.NovelDocumentDetector(**QUIET).watch(texts(), 200))
    assert [step["step"] for step in steps] == [step.name for step in expected]
    assert [len(step["novel"]) for step in steps] == [int(s.novel.sum()) for s in expected]
    plain = run("novelty", "-", "--size", 200, "--json", given="\n".join(texts()))
    assert plain.stdout == done.stdout


def test_the_longest_field_is_the_text_unless_another_is_named(here):
    records = [{"a": text, "b": f"{text} " * 3, "c": "x"} for text in texts()[:100]]
    Path("r.jsonl").write_text("\n".join(map(json.dumps, records)))
    assert answer("topics", "r.jsonl")["chosen"]["text"]["value"] == "b"
    named = answer("topics", "r.jsonl", "--text", "a", "--n-components", 2)
    Path("a.txt").write_text("\n".join(texts()[:100]))
    plain = answer("topics", "a.txt", "--n-components", 2)
    assert named["topics"] == plain["topics"]


def test_too_few_documents_are_a_note_and_none_an_error(here):
    Path("few.txt").write_text("\n".join(texts()[:30]))
    told = answer("novelty", "few.txt", "--size", 30)
    assert told["notes"]
    Path("none.jsonl").write_text("")
    assert "no documents" in run("novelty", "none.jsonl", code=1).stderr


# ------------------------------------------------------------------------- refusals


REFUSALS = [
    (["topics", "nowhere.jsonl"], 2, "nowhere.jsonl"),
    (["novelty", "nowhere.jsonl"], 2, "nowhere.jsonl"),
    (["clean", "nowhere.csv", "x.csv"], 2, "nowhere.csv"),
    (["compress", "nowhere.csv", "x.thr"], 2, "nowhere.csv"),
    (["decompress", "nowhere.thr", "x.csv"], 2, "nowhere.thr"),
    (["separate", "nowhere.avi", "--mask", "x.npy"], 2, "nowhere.avi"),
    (["denoise", "nowhere", "x"], 2, "nowhere"),
    (["segment", "nowhere.png", "x.png"], 2, "nowhere.png"),
    (["unmix", "nowhere.npy", "x.npy"], 2, "nowhere.npy"),
    (["sound", "nowhere.wav", "x"], 2, "nowhere.wav"),
    (["fit", "nowhere.csv", "m.thr"], 2, "nowhere.csv"),
    (["choose", "nowhere.csv"], 2, "nowhere.csv"),
    (["live", "nowhere.csv"], 2, "nowhere.csv"),
    (["inspect", "nowhere.thr"], 2, "nowhere.thr"),
    (["transform", "nowhere.thr", "table.csv", "x.csv"], 2, "nowhere.thr"),
    (["sample", "nothing"], 2, "nothing"),
    (["sample", "docs", "--out", "no"], 2, "no"),
    (["topics", "docs.jsonl", "--n-components", "-1"], 2, "n_components"),
    (["topics", "docs.jsonl", "--size", "9"], 2, "--over-time"),
    (["fit", "table.csv", "m.thr", "--solver", "x"], 2, "solver"),
    (["fit", "table.csv", "m.thr", "--forgetting", "__import__('os')"], 2, "forgetting"),
    (["fit", "table.csv", "m.thr", "--estimator", "x"], 2, "OnlineNMF"),
    (["fit", "table.csv", "no/m.thr"], 2, "folder"),
    (["compress", "sensors.csv", "x.thr", "--error", "7"], 2, "error"),
    (["segment", "photo.png", "x.txt"], 2, ".png"),
    (["unmix", "scene.npy", "x.csv"], 2, ".npy"),
    (["unmix", "scene.npy", "x.npy", "--endmembers", "no/e.csv"], 2, "folder"),
    (["clean", "table.csv", "x.csv", "--changes", "no/c.csv"], 2, "folder"),
    (["topics", "docs.jsonl", "--report", "no/x.html"], 2, "folder"),
    (["novelty", "docs.jsonl", "--every", "hour"], 2, "month"),
    (["choose", "table.csv", "--n-components", "5-2"], 2, "--n-components"),
    (["choose", "table.csv", "--estimator", "x"], 2, "OnlineNMF"),
    (["choose", "table.csv", "--estimator", "BatchNMF", "--forgetting", "9"], 2, "forgetting"),
    (["live", "table.csv", "--estimator", "GoDec"], 2, "OnlineNMF"),
    (["fit", "table.csv", "m", "--estimator", "GoDec", "--live"], 2, "OnlineNMF"),
    (["live", "table.csv", "--address", "here"], 2, "127.0.0.1"),
    (["live", "docs.jsonl", "--forgetting", "9"], 2, "novelty"),
    (["separate", "table.csv", "--mask", "m.mp4"], 2, "pictures"),
    (["separate", "photo.png", "--mask", "m.mp4"], 2, "one picture"),
    (["separate", "street.avi"], 2, "--report"),
    (["denoise", "table.csv", "out"], 2, "pictures"),
    (["denoise", "photo.png", "out"], 2, "one picture"),
    (["topics", "table.csv"], 1, "JSON"),
    (["topics", "docs.jsonl", "--text", "body"], 1, "body"),
    (["segment", "table.csv", "x.png"], 1, "table.csv"),
    (["unmix", "table.npy", "x.npy"], 1, "table.npy"),
    (["inspect", "table.csv"], 1, "table.csv"),
    (["decompress", "table.csv", "x.csv"], 1, ""),
    (["fit", "negative.npy", "m.thr"], 1, "OnlineOrthogonalDictionary"),
]


@pytest.mark.parametrize(
    ("words", "code", "keyword"),
    REFUSALS,
    ids=lambda value: " ".join(value[:2] + value[3:]) if isinstance(value, list) else "",
)
def test_errors_are_a_sentence_and_an_exit_code(here, words, code, keyword):
    """Nothing is written, neither to a file nor to standard output."""
    np.save("negative.npy", np.array([[1.0, -2.0], [3.0, 4.0]]))
    Path("table.npy").write_bytes(b"a,b\n1,2\n")
    before = sorted(here.rglob("*"))
    done = run(*words, code=code)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert keyword in last
    assert "Traceback" not in done.output
    assert done.stdout == ""
    assert sorted(here.rglob("*")) == before


def test_options_of_other_estimators_are_refused(here):
    assert "--divergence" in run("fit", "table.csv", "m.thr", "--divergence", "kl", code=2).output


def test_debug_shows_where_an_error_came_from(here):
    done = CliRunner().invoke(app, ["segment", "table.csv", "x.png", "--debug"])
    assert isinstance(done.exception, ValueError)


def test_warnings_of_the_library_are_notes(here):
    np.save("x.npy", np.nan_to_num(table()))
    words = ["--estimator", "BatchNMF", "--n-components", 2, "--max-iter", 2]
    done = run("fit", "x.npy", "m.thr", *words, "--json")
    (note,) = json.loads(done.stdout)["notes"]
    assert "max_iter" in note
    assert note in done.stderr


def test_a_sample_does_not_overwrite_what_it_did_not_write(tmp_path):
    (tmp_path / "table.csv").write_text("mine")
    assert "table.csv" in run("sample", "table", "--out", tmp_path, code=2).stderr
    assert (tmp_path / "table.csv").read_text() == "mine"
    for _ in range(2):
        run("sample", "docs", "--out", tmp_path)


# ---------------------------------------------------------------- progress and interrupts


def on_a_terminal(*words):
    """Run a command whose standard error is a terminal; return both streams."""
    leader, follower = pty.openpty()
    with subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, stderr=follower) as process:
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 4096):
                shown += part
        except OSError:  # the terminal was closed on the other side
            pass
        results = process.stdout.read()
    os.close(leader)
    assert process.returncode == 0, shown
    return results.decode(), shown.decode()


def test_progress_is_shown_on_a_terminal_alone(here):
    words = ["compress", "sensors.csv", "s.thr", "--json"]
    results, shown = on_a_terminal(*words)
    assert "960/960" in shown
    (line,) = results.splitlines()
    assert json.loads(line)["bytes"] > 0
    assert "960/960" not in run(*words).output


@pytest.mark.parametrize(
    ("words", "method"),
    [
        (["topics", "docs.jsonl", "--save", "x"], (thresher.TopicModel, "fit")),
        (["fit", "table.csv", "x"], (thresher.OnlineRobustNMF, "fit")),
        (["separate", "street.avi", "--mask", "x.npy"], (thresher.VideoSeparator, "separate")),
    ],
    ids=["topics", "fit", "separate"],
)
def test_an_interrupt_is_an_exit_code_and_leaves_no_file(here, monkeypatch, words, method):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(*method, interrupted)
    before = sorted(here.iterdir())
    done = run(*words, code=130)
    assert "Interrupted" in done.stderr
    assert "Traceback" not in done.output
    assert sorted(here.iterdir()) == before


def test_an_interrupt_ends_what_follows_standard_input_and_keeps_what_was_found(here):
    """Ctrl-C leaves the model, the report and all steps until then."""
    words = ["novelty", "-", "--size", "100", "--json", "--save", "now.thr", "--report", "now.html"]
    with subprocess.Popen(
        [*PROGRAM, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    ) as follower:  # fmt: skip
        lines = Path("docs.jsonl").read_text().splitlines(keepends=True)
        follower.stdin.write("".join(lines[:330]))  # two steps after the first, and part of one
        follower.stdin.flush()
        told = [json.loads(follower.stdout.readline()) for _ in range(3)]
        follower.send_signal(signal.SIGINT)
        try:
            _, said = follower.communicate(timeout=300)
        finally:
            follower.kill()
    assert follower.returncode == 0
    assert "Interrupted" in said
    assert "Traceback" not in said
    assert [step["documents"] for step in told] == [100, 100, 100]
    assert [step["start"] for step in told] == [True, False, False]
    assert thresher.load("now.thr").n_steps_ == 2
    assert "2 steps" in Path("now.html").read_text(encoding="utf-8")


def test_a_file_that_grows_is_followed(here):
    lines = Path("docs.jsonl").read_text().splitlines(keepends=True)
    grows = Path("grows.jsonl")
    grows.write_text("".join(lines[:250]))
    words = ["novelty", "grows.jsonl", "--follow", "--size", "100", "--json"]
    with subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, text=True) as follower:
        told = [json.loads(follower.stdout.readline()) for _ in range(2)]
        with grows.open("a") as file:
            file.write("".join(lines[250:300]))
        told.append(json.loads(follower.stdout.readline()))
        follower.send_signal(signal.SIGINT)
        follower.communicate(timeout=300)
    assert follower.returncode == 0
    assert [step["documents"] for step in told] == [100, 100, 100]
