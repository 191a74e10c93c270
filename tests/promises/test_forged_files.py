"""Promise 12: damaged and forged files raise FileError; sizes are checked, no code is executed."""

import json
import os
from contextlib import suppress

import numpy as np
import pytest

from promises.fitted_models import MAKERS, forge
from thresher import OnlineRobustNMF, load, save
from thresher.persistence import FileError, read_file, sealed


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, make in MAKERS.items():
        save(make(), folder / name)
    return folder


@pytest.fixture
def path(files, tmp_path):
    """A file of a small model, to be changed."""
    (tmp_path / "model").write_bytes((files / "OnlineNMF").read_bytes())
    return tmp_path / "model"


def assert_refused(path):
    with pytest.raises(FileError) as caught:
        load(path)
    assert 20 < len(str(caught.value)) < 1000


# ------------------------------------------------------------------------------- damage


def test_damage_to_any_byte_of_the_header_or_an_array_is_noticed(path):
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in [*range(64), *rng.integers(len(content), size=150)]:
        for other in (content[place] ^ 1, content[place] ^ 0x80):
            path.write_bytes(content[:place] + bytes([other]) + content[place + 1 :])
            assert_refused(path)


def test_shorter_and_longer_files_are_noticed(path):
    content = path.read_bytes()
    lengths = np.random.default_rng(0).integers(len(content), size=60)
    for other in [*(content[:length] for length in lengths), b"", content[:-1], content + b"\0"]:
        path.write_bytes(other)
        assert_refused(path)


def with_metadata(content, **changes):
    """A file whose header says other things of itself, with a checksum that fits."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] |= {"checksum": "0" * 64, **changes}
    header["__metadata__"] = {k: v for k, v in header["__metadata__"].items() if v is not None}
    text = json.dumps(header, separators=(",", ":")).encode()
    whole = len(text).to_bytes(8, "little") + text + content[8 + length :]
    return whole if "checksum" in changes else sealed(whole)


METADATA = {
    "checksum": [None, "", "none"],
    "version": [None, "999", "two", "-1"],
    "document": [None, "{", "[]", "[" * 100_000, '{"n": ' + "9" * 5000 + "}"],
    "format": [None, "other"],
    "more": ["x"],
}


@pytest.mark.parametrize("name", METADATA)
def test_headers_with_a_fitting_checksum_are_validated(name, path):
    content = path.read_bytes()
    for value in METADATA[name]:
        path.write_bytes(with_metadata(content, **{name: value}))
        assert_refused(path)


@pytest.mark.parametrize(
    "header",
    [
        b"", b"[]", b"null", b"\xff\xfe", b'{"__metadata__": 3}', b"[" * 50_000,
        b'{"a": {"dtype": "F64", "shape": [9], "data_offsets": [0, 72]}}',
    ],
    ids=lambda header: str(header[:20]),
)  # fmt: skip
def test_files_of_other_programs_are_refused(header, path):
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert_refused(path)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]},
        {"dtype": "F64", "shape": [2**32, 2**32], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [2**62, 2**62, 0], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [4], "data_offsets": [0, 16]},
        {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]},
        {"dtype": "pickle", "shape": [1], "data_offsets": [0, 8]},
    ],
    ids=str,
)
def test_declared_sizes_are_compared_with_the_file_before_allocation(entry, path):
    length = int.from_bytes(path.read_bytes()[:8], "little")
    metadata = json.loads(path.read_bytes()[8 : 8 + length])["__metadata__"]
    header = {"__metadata__": metadata | {"checksum": "0" * 64}, "a": entry}
    text = json.dumps(header, separators=(",", ":")).encode()
    end = min(entry["data_offsets"][1], 16)
    path.write_bytes(sealed(len(text).to_bytes(8, "little") + text + bytes(end)))
    assert_refused(path)


@pytest.mark.parametrize("length", [2**63, 2**40, 10**9, 100_000])
def test_the_length_of_the_header_is_compared_with_the_file(length, path):
    path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
    assert_refused(path)


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(FileError):
            load(place)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")


# ------------------------------------------------- forged contents whose checksum is right


def places(document, before=()):
    """Every entry of a document, as a list of keys."""
    for key, value in document.items():
        yield (*before, key)
        if isinstance(value, dict):
            yield from places(value, (*before, key))


def put(place, value):
    """Replace an entry, such as ``state.seed``; ``None`` as the value removes it."""

    def change(arrays, document):
        *path, last = place.split(".") if isinstance(place, str) else place
        for name in path:
            document = document[name]
        if value is REMOVED:
            del document[last]
        else:
            document[last] = value

    return change


REMOVED = object()
VALUES = [
    REMOVED, None, "x", "", -1, 0, 1.5, True, [], [1], {}, {"part": "Popen", "fields": {}},
    {"array": "nowhere"}, {"estimator": "os", "parameters": {}}, float("nan"), float("inf"),
    10**30, 10**400, "os.system", "x" * 10_000,
]  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_no_forged_entry_raises_anything_but_file_error(name, files, tmp_path):
    """Each entry of the document is replaced by some values, drawn with a fixed seed."""
    rng, path = np.random.default_rng(0), tmp_path / "model"
    whole = (files / name).read_bytes()
    _, document = read_file(files / name)
    refused = 0
    for place in places(document):
        for value in rng.choice(np.array(VALUES, dtype=object), 2, replace=False):
            path.write_bytes(whole)
            forge(path, put(place, value))
            with suppress(FileError):
                load(path)  # another valid parameter is no damage
                continue
            refused += 1
    assert refused > 10


def spoiled(values):
    """The same array with a number that is undefined."""
    values = values.copy()
    values.flat[values.size // 2] = np.nan
    return values


@pytest.mark.parametrize("name", MAKERS)
def test_forged_arrays_are_refused(name, files, tmp_path):
    """Of other shapes and types; shorter and missing ones may be valid, and raise nothing else."""
    path = tmp_path / "model"
    whole = (files / name).read_bytes()
    arrays, _ = read_file(files / name)

    def forged(place, values):
        path.write_bytes(whole)
        forge(path, lambda arrays, document: arrays.update({place: values}))
        return path

    for place, values in arrays.items():
        other = np.complex64 if values.dtype.kind == "f" else np.float64
        has_numbers = values.dtype.kind == "f" and values.size > 0
        assert_refused(forged(place, values[None]))
        assert_refused(forged(place, values.astype(other)))
        if has_numbers and any(part in place for part in ("state.D", "statistics", "embedding")):
            assert_refused(forged(place, spoiled(values)))
        with suppress(FileError):
            load(forged(place, values[:-1]))
        path.write_bytes(whole)
        forge(path, lambda arrays, document, place=place: arrays.pop(place))
        with suppress(FileError):
            load(path)


# (name of the model, entry, values)
FORGED = [
    ("OnlineNMF", "class", [
        "Model", "Checkpoint", "load", "__version__", "importlib", 3, "SymmetricManhattanNMF",
        "TopicModel", "OnlineOrthogonalDictionary",
    ]),
    ("OnlineNMF", "parameters.colour", [3]),
    ("OnlineNMF", "parameters.callbacks", ["os.system"]),
    ("OnlineNMF", "parameters.tol", ["small", None, float("nan"), -1.0]),
    ("OnlineNMF", "parameters.batch_size", [0, 1.5, 10**30]),
    ("OnlineNMF", "parameters.n_components", [4, 10**15]),
    ("OnlineNMF", "parameters.divergence", ["best", "x" * 1_000_000]),
    ("OnlineNMF", "parameters.code_set", [
        {"part": "Popen", "fields": {}},
        {"part": "Box", "fields": {"lower": 2, "upper": 1}},
        {"part": "Box", "fields": {"left": 0}},
        {"part": "SquaredL2", "fields": {}},
    ]),
    ("OnlineNMF", "parameters.divergence", [
        {"part": "Csiszar", "fields": {"generator": "os.system", "derivative": "os.system"}},
        {"part": "Mahalanobis", "fields": {"matrix": {"array": "fitted.state.D"}}},
    ]),
    ("TopicModel", "parameters.n_components", [0]),
    ("TopicModel", "parameters.model", [
        {"estimator": "TopicModel"}, {"estimator": "os", "parameters": {}},
    ]),
    ("NovelDocumentDetector", "parameters.mode", ["fast"]),
    ("FaceRecognizer", "parameters.n_neighbors", [0, 1000]),
    ("FaceRecognizer", "parameters.method", ["magic"]),
    ("VideoSeparator", "shape", [
        [12], [12, 16, 4], [12, 16, 3, 1], "12", [12.0, 16], [0, 16], [True, 16], [1 << 20, 16],
    ]),
    ("ImageDenoiser", "parameters.threshold", [0.0]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "place", "values"), FORGED, ids=[f"{name}-{place}" for name, place, _ in FORGED]
)
def test_forged_classes_parameters_and_sizes_are_refused(name, place, values, files, tmp_path):
    path = tmp_path / "model"
    for value in values:
        path.write_bytes((files / name).read_bytes())
        forge(path, put(place, value))
        assert_refused(path)


def test_a_sparse_parameter_is_validated_before_it_is_used(files, tmp_path):
    """Indices beyond the matrix would be read as memory that is not there."""

    def graph(arrays, document):
        document["parameters"]["graph"] = {"sparse": "g", "width": 48, "is_array": True}
        arrays["g.data"] = np.ones(1)
        arrays["g.indices"] = np.array([10**9])
        arrays["g.indptr"] = np.concatenate([[0], np.ones(48, dtype=np.int64)])

    path = tmp_path / "model"
    path.write_bytes((files / "ManhattanNMF").read_bytes())
    forge(path, graph)
    assert_refused(path)


@pytest.fixture(scope="module")
def trial_file(tmp_path_factory):
    """A file of a model whose rivals learn in parallel after a drift alarm."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("trial") / "model"
    same = rng.random((8, 8))
    model = OnlineRobustNMF(2, drift="auto", random_state=0, verbose=0).partial_fit(same)
    while not model.history_.events and model.n_iter_ < 200:
        model.partial_fit(same if model.n_iter_ < 60 else 9 * rng.random((8, 8)))
    for _ in range(3):
        model.partial_fit(9 * rng.random((8, 8)))
    save(model, path)
    return path.read_bytes()


def _without_rivals(arrays, document):
    document["fitted"]["fields"]["trial"]["fields"]["rivals"] = {"tuple": []}


def _nested_watch(arrays, document):
    state = document["fitted"]["fields"]["state"]["fields"]
    state["watch"] = document["fitted"]["fields"]["trial"]


def _rival_of_another_shape(arrays, document):
    for name in [name for name in arrays if "rivals.0.state" in name]:
        arrays[name] = arrays[name][..., :-1]


def _impossible_p_value(arrays, document):
    document["fitted"]["fields"]["detector"]["fields"]["p_value"] = 2.0


def _no_detector(arrays, document):
    document["parameters"]["drift"] = None


@pytest.mark.parametrize(
    "change",
    [
        _without_rivals, _nested_watch, _rival_of_another_shape, _impossible_p_value, _no_detector,
    ],
)  # fmt: skip
def test_forged_drift_detection_is_refused(change, trial_file, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(trial_file)
    load(path).partial_fit(np.ones((8, 8)))
    forge(path, change)
    assert_refused(path)


@pytest.mark.parametrize("depth", [30, 200, 450])
@pytest.mark.parametrize(
    ("name", "place", "wrap"),
    [
        ("OnlineNMF", "parameters.init", lambda value: {"tuple": [value]}),
        (
            "OnlineNMF", "parameters.init",
            lambda value: {"estimator": "TopicModel", "parameters": {"model": value}},
        ),
        ("TopicModel", "model", lambda value: {"class": "TopicModel", "model": value}),
    ],
)  # fmt: skip
def test_deeply_nested_entries_are_refused(name, place, wrap, depth, files, tmp_path):
    inside = 1
    for _ in range(depth // 2):
        inside = wrap(inside)
    path = tmp_path / "model"
    path.write_bytes((files / name).read_bytes())
    forge(path, put(place, inside))
    assert_refused(path)


def test_a_model_that_would_not_load_is_not_saved(path):
    model, before = load(path), path.read_bytes()
    model.components_.flags.writeable = True  # against the documentation
    model.components_[0, 0] = np.nan
    with pytest.raises(ValueError, match="finite"):
        save(model, path)
    assert path.read_bytes() == before
