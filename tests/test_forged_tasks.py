"""Forged files of tasks that keep pictures, frames or documents: checksums right, contents not."""

import numpy as np
import pytest
from scipy import sparse

from promises.fitted_models import MAKERS, QUIET, TEXTS, forge, samples
from thresher import NovelDocumentDetector, OnlineRobustNMF, load, save
from thresher.persistence import FileError

FIRST = {
    **{name: MAKERS[name] for name in ("VideoSeparator", "ImageDenoiser")},
    "online": lambda: NovelDocumentDetector(3, mode="online", **QUIET).fit(TEXTS),
    "l2_batch": lambda: NovelDocumentDetector(3, mode="l2_batch", **QUIET).fit(TEXTS),
    "float32": lambda: OnlineRobustNMF(3, **QUIET).fit(samples().astype(np.float32)),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, make in FIRST.items():
        save(make(), folder / name)
    return folder


@pytest.fixture
def forged(files, tmp_path):
    """Write a file with something else in it."""

    def change(name, what):
        path = tmp_path / "model"
        path.write_bytes((files / name).read_bytes())
        forge(path, what)
        return path

    return change


def put(place, value):
    def change(arrays, document):
        *path, last = place.split(".")
        for name in path:
            document = document[name]
        document[last] = value

    return change


def array(name, make):
    def change(arrays, document):
        arrays[name] = make(arrays[name])

    return change


def _spoiled(values):
    values = values.copy()
    values.flat[values.size // 2] = np.nan
    return values


SHAPES = [[12], [12, 16, 4], [12, 16, 3, 1], "12", [12.0, 16], [0, 16], [True, 16], [1 << 20, 16]]
PICTURES = [
    *(("VideoSeparator", put("shape", shape), "no shape") for shape in SHAPES),
    ("VideoSeparator", put("shape", [12, 17]), "instead of"),
    ("VideoSeparator", put("shape", [12, 16, 3]), "instead of"),
    ("VideoSeparator", put("unit", 0.0), "unit is not above zero"),
    ("VideoSeparator", put("unit", -1.0), "unit is not above zero"),
    ("VideoSeparator", put("floor", "x"), "'floor'"),
    ("VideoSeparator", put("n_noisy", 1.5), "'n_noisy'"),
    ("VideoSeparator", put("light.parameters.n_components", 2), "the dictionary has 1"),
    *(
        ("VideoSeparator", put(name, -1), f"'{name}'")
        for name in ("last_kept", "n_frames", "began", "n_strange", "n_aligned", "last_aligned")
    ),
    *(
        ("VideoSeparator", array(name, make), says)
        for name in ("detail", "scale", "reference", "kept")
        for make, says in (
            (lambda V: V[..., :-1, :], "instead of"),
            (lambda V: V.astype(np.float64), "has the type"),
            (_spoiled, "not finite"),
        )
    ),
    ("VideoSeparator", array("first", lambda V: V[:-1]), "instead of"),
    ("VideoSeparator", array("changes", lambda V: V.astype(np.float32)), "has the type"),
    ("ImageDenoiser", array("image_shape", lambda V: V[:1]), "do not suit its model"),
    ("ImageDenoiser", array("image_shape", lambda V: V + 1), "do not suit its model"),
    ("ImageDenoiser", array("image_shape", lambda V: -V), "do not suit its model"),
    ("ImageDenoiser", array("image_shape", lambda V: np.r_[V, 1, 1]), "do not suit its model"),
    ("ImageDenoiser", array("image_shape", lambda V: V.astype(np.int32)), "has the type"),
    ("ImageDenoiser", put("parameters.threshold", 0.0), "do not work"),
]


@pytest.mark.parametrize(
    ("name", "change", "says"), PICTURES, ids=[f"{case[0]}-{n}" for n, case in enumerate(PICTURES)]
)
def test_forged_pictures_do_not_load(name, change, says, forged):
    with pytest.raises(FileError, match=says):
        load(forged(name, change))


def test_light_of_other_frames_does_not_load(forged, files):
    def other_light(arrays, document):
        for name in ("light.dictionary", "light.average"):
            arrays[name] = arrays[name][:, :-1]

    with pytest.raises(FileError):
        load(forged("VideoSeparator", other_light))
    assert load(files / "VideoSeparator").n_frames_seen_ == 20


def _documents(change):
    """Put another table in the place of the documents that a memory keeps."""

    def put_documents(arrays, document):
        packed = document["documents"]
        names = {part: f"documents.{part}" for part in ("data", "indices", "indptr")}
        found = {part: arrays[name] for part, name in names.items() if name in arrays}
        assert found, (packed, list(arrays))
        change(found, packed)
        arrays.update({names[part]: values for part, values in found.items()})

    return put_documents


def test_documents_must_be_a_table_of_all_words(forged, files):
    detector = load(files / "l2_batch")
    kept = detector._memory.documents
    assert sparse.issparse(kept)
    assert kept.shape[1] == len(detector._words.words)

    def one_word_more(found, packed):
        packed["width"] += 1

    def negative(found, packed):
        found["data"] = -found["data"]

    with pytest.raises(FileError, match=f"no table of {kept.shape[1]} words"):
        load(forged("l2_batch", _documents(one_word_more)))
    with pytest.raises(FileError, match="weights that no word has"):
        load(forged("l2_batch", _documents(negative)))
    with pytest.raises(FileError, match="documents are missing"):
        load(forged("l2_batch", put("documents", None)))


def test_a_memory_is_what_its_file_says(forged, files):
    """Its own number of new atoms, unit and precision, not those of a new memory."""
    for name, value in (("n_new_atoms", 2), ("unit", "l2"), ("single", True)):
        before = getattr(load(files / "online")._memory, name)
        other = {"l2": "l1"}.get(before, value) if name == "unit" else value
        again = load(forged("online", put(f"dictionary.{name}", other)))
        assert getattr(again._memory, name) == other != before


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("dictionary.unit", "l3", "do not suit a dictionary"),
        ("n_words", 3, "instead of|do not add up|do not suit"),
        ("parameters.mode", "auto", "does not suit its mode"),
    ],
)
def test_a_memory_of_another_kind_does_not_load(place, value, says, forged):
    with pytest.raises(FileError, match=says):
        load(forged("online", put(place, value)))


@pytest.mark.parametrize("unit", ["unit", "atom_unit"])
@pytest.mark.parametrize("value", [1e-60, 1e60])
def test_units_must_be_numbers_of_the_dictionary(unit, value, forged):
    """A unit that only float64 holds is no unit of a model in float32."""
    with pytest.raises(FileError, match="units are beyond"):
        load(forged("float32", put(f"state.{unit}", value)))
