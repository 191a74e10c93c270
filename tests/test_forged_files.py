"""Forged files: their checksums are right, what they hold is not. None of them loads."""

import numpy as np
import pytest

from promises.fitted_models import MAKERS, forge
from thresher import load, save
from thresher.persistence import FileError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, make in MAKERS.items():
        save(make(), folder / name)
    return folder


def check_refused(files, tmp_path, name, change, says):
    path = tmp_path / "model"
    path.write_bytes((files / name).read_bytes())
    load(path)
    forge(path, change)
    with pytest.raises(FileError, match=says):
        load(path)


def put(place, value):
    """Set an entry of the document, such as ``state.seed``."""

    def change(arrays, document):
        *path, last = place.split(".")
        for name in path:
            document = document[name]
        document[last] = value

    return change


def drop(place):
    def change(arrays, document):
        *path, last = place.split(".")
        for name in path:
            document = document[name]
        del document[last]

    return change


def array(name, make):
    """Replace an array by what a function makes of it."""

    def change(arrays, document):
        arrays[name] = make(arrays[name])

    return change


def lose(name):
    def change(arrays, document):
        del arrays[name]

    return change


def spoiled(value):
    def make(values):
        values = values.copy()
        values.flat[values.size // 2] = value
        return values

    return make


def together(*names):
    """Drop the last row of several arrays, so that they fit each other."""

    def change(arrays, document):
        for name in names:
            arrays[name] = arrays[name][:-1]

    return change


MODEL = [
    (drop("class"), "'class' is missing"),
    (put("class", "Model"), "holds a 'Model'"),
    (put("class", "LearnedModel"), "holds a 'LearnedModel'"),
    (put("class", "Checkpoint"), "holds a 'Checkpoint'"),
    (put("class", "load"), "holds a 'load'"),
    (put("class", "__version__"), "holds a '__version__'"),
    (put("class", "importlib"), "holds a 'importlib'"),
    (put("class", 3), "'class' is no text"),
    (put("class", "SymmetricManhattanNMF"), "not whole"),
    (put("class", "TopicModel"), "not whole"),
    (put("class", "OnlineOrthogonalDictionary"), "not whole"),
    (drop("parameters"), "'parameters' is missing"),
    (put("parameters", [1]), "'parameters' is no record"),
    (put("parameters.colour", 3), "has no parameter 'colour'"),
    (put("parameters.callbacks", "os.system"), "has no parameter 'callbacks'"),
    (put("parameters.tol", "small"), "tol=small does not suit"),
    (put("parameters.tol", None), "does not suit"),
    (put("parameters.tol", float("nan")), "does not suit"),
    (put("parameters.tol", -1.0), "its parameters do not work"),
    (put("parameters.batch_size", 0), "its parameters do not work"),
    (put("parameters.batch_size", 10**30), "more digits"),
    (put("parameters.batch_size", 1.5), "does not suit"),
    (put("parameters.n_components", 4), "n_components=4, and the dictionary has 3"),
    (put("parameters.n_components", 10**15), "and the dictionary has 3"),
    (put("parameters.divergence", "best"), "its parameters do not work"),
    (put("parameters.verbose", [1]), "bare list"),
    (put("parameters.verbose", {}), "no known kind"),
    (put("parameters.init", {"array": "nowhere"}), "the array 'nowhere' is missing"),
    (put("parameters.init", {"array": 3}), "is no text"),
    (put("parameters.code_set", {"part": "Popen", "fields": {}}), "a part named 'Popen'"),
    (put("parameters.code_set", {"part": "Box"}), "'fields' is missing"),
    (
        put("parameters.code_set", {"part": "Box", "fields": {"lower": 2, "upper": 1}}),
        "Box cannot be made: ",
    ),
    (put("parameters.code_set", {"part": "Box", "fields": {"lower": "0"}}), "does not suit Box"),
    (put("parameters.code_set", {"part": "Box", "fields": {"left": 0}}), "no parameter 'left'"),
    (put("parameters.code_set", {"part": "SquaredL2", "fields": {}}), "do not work"),
    (put("parameters.code_set", {"kind": "Box"}), "do not work"),
    (put("parameters.forgetting", {"part": "PowerForgetting", "fields": {"omega": -2}}), "be made"),
    (put("parameters.forgetting", {"part": "HalfLife", "fields": {}}), "cannot be made"),
    (put("parameters.forgetting", {"number": "x", "type": "float32"}), "a number is none"),
    (put("parameters.forgetting", {"number": 1, "type": "object"}), "no type of numbers"),
    (put("parameters.solver", {"part": "SPSGD", "fields": {"a": "many"}}), "does not suit SPSGD"),
    (put("parameters.solver", {"part": "OGM", "fields": {}}), "do not work"),
    (put("parameters.divergence", {"part": "Mahalanobis", "fields": {
        "matrix": {"array": "dictionary"}}}), "cannot be made"),
    (put("parameters.divergence", {"part": "Csiszar", "fields": {
        "generator": "os.system", "derivative": "os.system"}}), "does not suit Csiszar"),
    (drop("statistics"), "'statistics' is missing"),
    (put("statistics", "Unknown"), "which this Thresher does not have"),
    (put("statistics", "DiagonalStatistics"), "'statistics.H' is missing"),
    (drop("sums"), "'sums' is missing"),
    (drop("sums.weight"), "'weight' is missing"),
    (put("sums.weight", "many"), "'weight' must be a number"),
    (put("sums.weight", float("inf")), "'weight' must be a number"),
    (put("sums.more", 1.0), "have no 'more'"),
    (drop("state"), "'state' is missing"),
    (drop("state.seed"), "'seed' is missing"),
    (put("state.method", "magic"), "belongs to another solver"),
    (put("state.seed", -1), "'seed' must be an integer"),
    (put("state.seed", 1.5), "'seed' must be an integer"),
    (put("state.n_samples", 10**25), "'n_samples' must be an integer"),
    (put("state.n_samples", True), "'n_samples' must be an integer"),
    (put("state.weight_seen", float("nan")), "'weight_seen' must be a number"),
    (put("state.weight_seen", -3.0), "which it never is"),
    (put("state.scale", 10**400), "'scale' must be a number"),
    (put("state.speed", 1.0), "'speed', which this Thresher lacks"),
    (put("state.unit", 0.0), "which it never is"),
    (put("state.atom_unit", 1e-320), "units are beyond"),
    (put("state.measured", 1), "'measured' must be true or false"),
    (put("state", 3), "'state' is no record"),
    (drop("position"), "'position' is missing"),
    (put("position.pass_index", "first"), "'pass_index' must be an integer"),
    (put("position.pass_loss", None), "'pass_loss' must be a number"),
    (put("position.origin", "here"), "'origin' is no record"),
    (drop("seconds"), "'seconds' is missing"),
    (put("seconds", float("nan")), "'seconds' must be a number"),
    (drop("threshold"), "'threshold' is missing"),
    (put("threshold", "high"), "'threshold' must be a number"),
    (lose("dictionary"), "the array 'dictionary' is missing"),
    (lose("average"), "the array 'average' is missing"),
    (lose("history"), "the array 'history' is missing"),
    (array("dictionary", spoiled(np.nan)), "'dictionary' has entries that are not finite"),
    (array("dictionary", spoiled(-1.0)), "negative entries"),
    (array("average", spoiled(np.inf)), "'average' has entries that are not finite"),
    (array("average", spoiled(-1.0)), "negative entries"),
    (array("dictionary", lambda D: D[:-1]), "instead of"),
    (array("dictionary", lambda D: D[:, :-1]), "instead of"),
    (array("dictionary", lambda D: D[0]), r"instead of \(any, any\)"),
    (array("dictionary", lambda D: D.astype(np.int64)), "has the type int64"),
    (array("dictionary", lambda D: D.astype(np.float16)), "has the type float16"),
    (array("average", lambda D: D.astype(np.float32)), "has the type float32"),
    (array("average", lambda D: D.T), "instead of"),
    (together("dictionary", "average"), r"does not suit|has 2"),
    (array("dictionary", lambda D: D[:0]), "the dictionary is empty"),
    (array("history", lambda H: H[:, :3]), "no history"),
    (array("history", lambda H: np.full_like(H, np.nan)), "no history"),
    (array("history", lambda H: -H - 1), "no history"),
    (array("history", lambda H: np.tile(H, (10_001, 1))), "no history"),
    (array("history", lambda H: H.astype(np.float32)), "has the type float32"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "says"), MODEL, ids=[f"{n}" for n in range(len(MODEL))])
def test_forged_models_do_not_load(change, says, files, tmp_path):
    check_refused(files, tmp_path, "OnlineNMF", change, says)


def test_statistics_must_suit_the_dictionary(files, tmp_path):
    """Each array of each kind of statistics: wrong shapes, types and numbers."""
    online = [name for name in MAKERS if name.startswith("Online")]
    for name in online:
        for field in load(files / name).statistics_.AXES:
            place = f"statistics.{field}"
            for change, says in (
                (lose(place), "is missing"),
                (array(place, lambda V: V[..., :-1]), "which does not suit a dictionary"),
                (array(place, lambda V: V[None]), "instead of"),
                (array(place, lambda V: V.astype(np.float32)), "has the type float32"),
                (array(place, spoiled(np.nan)), "not finite"),
            ):
                check_refused(files, tmp_path, name, change, says)


INSIDE = [
    ("OnlineOrthogonalDictionary", put("statistics", "QuadraticStatistics"), "is missing"),
    ("SymmetricManhattanNMF", array("embedding", spoiled(np.nan)), "not finite"),
    ("SymmetricManhattanNMF", array("embedding", spoiled(-1.0)), "not what it learns"),
    ("SymmetricManhattanNMF", array("embedding", lambda H: H[:, :2]), "not what it learns"),
    ("SymmetricManhattanNMF", lose("embedding"), "is missing"),
    ("SymmetricManhattanNMF", put("parameters.max_iter", "9"), "does not suit"),
    ("TopicModel", drop("model"), "'model' is missing"),
    ("TopicModel", drop("model.class"), "'class' is missing"),
    ("TopicModel", put("model.class", "SymmetricManhattanNMF"), "not whole"),
    ("TopicModel", array("model.dictionary", spoiled(np.nan)), "not finite"),
    ("TopicModel", array("idf", lambda V: V[:-1]), "instead of"),
    ("TopicModel", array("frequency", spoiled(np.inf)), "not finite"),
    ("TopicModel", array("selected", lambda V: V + 1), "must lie between"),
    ("TopicModel", array("selected", lambda V: V[:-1]), "do not suit"),
    ("TopicModel", array("selected", lambda V: V.astype(float)), "has the type"),
    ("TopicModel", array("words", lambda V: V[:-1]), "do not add up"),
    ("TopicModel", array("words", lambda V: np.full_like(V, 255)), "is no text"),
    ("TopicModel", array("words.ends", lambda V: V[::-1]), "do not add up"),
    ("TopicModel", array("words.ends", lambda V: V - 100), "do not add up"),
    ("TopicModel", put("n_documents", -1), "must be an integer"),
    ("TopicModel", drop("texts"), "'texts' is missing"),
    ("TopicModel", put("parameters.n_components", 0), "do not work"),
    ("TopicModel", put("parameters.model", {"estimator": "TopicModel"}), "'parameters' is no rec"),
    ("TopicModel", put("parameters.model", {"estimator": "os", "parameters": {}}), "holds a 'os'"),
    ("NovelDocumentDetector", array("sums", lambda V: V[:-1]), "instead of"),
    ("NovelDocumentDetector", array("sums", lambda V: V[:, :0]), "too few"),
    ("NovelDocumentDetector", array("sums", spoiled(np.nan)), "not finite"),
    ("NovelDocumentDetector", array("sums", lambda V: V.astype(float)), "has the type"),
    ("NovelDocumentDetector", array("frequency", lambda V: -V), "do not suit"),
    ("NovelDocumentDetector", array("frequency", lambda V: V * 1e6), "do not suit"),
    ("NovelDocumentDetector", array("ranks", spoiled(2.0)), "no shares"),
    ("NovelDocumentDetector", array("marked", lambda a: a[1:]), "shape"),
    ("NovelDocumentDetector", array("recent.data", spoiled(-1.0)), "that no word has"),
    ("NovelDocumentDetector", drop("directions.seed"), "'seed' is missing"),
    ("NovelDocumentDetector", put("n_words", 3), "instead of"),
    ("NovelDocumentDetector", put("parameters.top_share", 3.0), "a number between 0 and 1"),
    ("NovelDocumentDetector", put("parameters.mode", "fast"), "do not work"),
    ("NovelDocumentDetector", drop("directions"), "'model' is missing"),
    ("FaceRecognizer", array("codes", lambda V: V[:, :-1]), "instead of"),
    ("FaceRecognizer", array("codes", spoiled(np.nan)), "not finite"),
    ("FaceRecognizer", array("labels", lambda V: V + 9), "must lie between"),
    ("FaceRecognizer", array("labels", lambda V: V[:-1]), "instead of"),
    ("FaceRecognizer", put("parameters.n_neighbors", 1000), "too few"),
    ("FaceRecognizer", put("parameters.n_neighbors", 0), "do not work"),
    ("FaceRecognizer", put("classes", 3), "no list of names"),
    ("FaceRecognizer", drop("classes"), "'classes' is missing"),
    ("FaceRecognizer", put("parameters.method", "magic"), "do not work"),
    ("FaceRecognizer", array("model.average", spoiled(np.nan)), "not finite"),
    ("ImageSegmenter", array("labels", lambda V: V + 9), "numbers that do not exist"),
    ("ImageSegmenter", array("superpixels", lambda V: -V - 1), "numbers that do not exist"),
    ("ImageSegmenter", array("labels", lambda V: V[:-1]), "instead of"),
    ("ImageSegmenter", array("similarity", lambda V: V[:-1]), "instead of"),
    ("ImageSegmenter", array("embedding", spoiled(np.inf)), "not finite"),
    ("ImageSegmenter", lose("model.embedding"), "is missing"),
]


@pytest.mark.parametrize(
    ("name", "change", "says"), INSIDE, ids=[f"{case[0]}-{n}" for n, case in enumerate(INSIDE)]
)
def test_forged_tasks_do_not_load(name, change, says, files, tmp_path):
    check_refused(files, tmp_path, name, change, says)


def test_names_of_features_must_suit_the_dictionary(files, tmp_path):
    def name_all(arrays, document):
        arrays["feature_names"] = np.frombuffer(b"abc", dtype=np.uint8)
        arrays["feature_names.ends"] = np.array([1, 2, 3])

    check_refused(files, tmp_path, "OnlineNMF", name_all, "3 names do not suit 6 features")


def test_a_sparse_parameter_is_checked_before_it_is_used(files, tmp_path):
    """Indices beyond the matrix would be read as memory that is not there."""

    def graph(arrays, document):
        document["parameters"]["graph"] = {"sparse": "g", "width": 48, "is_array": True}
        arrays["g.data"] = np.ones(1)
        arrays["g.indices"] = np.array([10**9])
        arrays["g.indptr"] = np.concatenate([[0], np.ones(48, dtype=np.int64)])

    check_refused(files, tmp_path, "ManhattanNMF", graph, "a sparse matrix is none")


def nested(value, make, depth):
    for _ in range(depth):
        value = make(value)
    return value


@pytest.mark.parametrize("depth", [30, 200, 450])
def test_nothing_is_nested_too_deeply(depth, files, tmp_path):
    inside = nested(1, lambda value: {"tuple": [value]}, depth)
    check_refused(files, tmp_path, "OnlineNMF", put("parameters.init", inside), "not whole")
    inside = nested(
        None, lambda value: {"estimator": "TopicModel", "parameters": {"model": value}}, depth // 2
    )
    check_refused(files, tmp_path, "OnlineNMF", put("parameters.init", inside), "not whole")
    inner = nested(None, lambda value: {"class": "TopicModel", "model": value}, depth // 2)
    check_refused(files, tmp_path, "TopicModel", put("model", inner), "not whole")


def test_messages_stay_short(files, tmp_path):
    path = tmp_path / "model"
    path.write_bytes((files / "OnlineNMF").read_bytes())
    forge(path, put("parameters.divergence", "x" * 1_000_000))
    with pytest.raises(FileError) as caught:
        load(path)
    assert 20 < len(str(caught.value)) < 1000


def test_a_model_that_would_not_load_is_not_saved(tmp_path):
    """`save` and `load` agree: what one writes, the other reads."""
    path = tmp_path / "model"
    model = MAKERS["OnlineNMF"]()
    save(model, path)
    before = path.read_bytes()
    model.components_.flags.writeable = True  # the model's own, whatever anybody promised
    model.components_[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"This model is not whole.*finite"):
        save(model, path)
    assert path.read_bytes() == before
