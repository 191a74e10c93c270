"""What is refused, in its own words; and what lies just on the right side is taken."""

import asyncio
import json

import numpy as np
import pytest
from scipy import sparse

import thresher
from thresher.cluster.clients import check_workers
from thresher.cluster.errors import ClusterError
from thresher.cluster.tasks import Look
from thresher.datasets import make_outlier_stream
from thresher.datasets.image_noise import occlude
from thresher.engine import LossShift
from thresher.losses import Mahalanobis
from thresher.losses.envelope import Envelope
from thresher.manhattan.graph import similarities
from thresher.metrics import factors, orthogonal, outliers, reconstruction, topics
from thresher.penalties import L1, Constrained, ElasticNet, GroupLasso
from thresher.sets import Box, CoveredBox, Simplex
from thresher.streams import as_source
from thresher.tasks.novelty.alarm import Alarm
from thresher.tasks.text.documents import as_texts
from thresher.tasks.video.frames import checked_frames
from thresher.tasks.video.results import boxes
from thresher.testing.data import planted

X = planted(40, 6)
QUIET = {"random_state": 0, "verbose": 0}


@pytest.fixture(scope="module")
def model():
    return thresher.OnlineRobustNMF(3, **QUIET).fit(X)


def frames(*shape, dtype=np.float32, value=1.0):
    return np.full(shape, value, dtype=dtype)


CASES = {
    "dtype": (lambda: make_outlier_stream(10, dtype=np.int32), ValueError, "float32 or float64"),
    "occlusion": (
        lambda: occlude(np.ones((2, 12)), (3, 5)), ValueError, "has 15 pixels, but images have 12",
    ),
    "checkpoint": (
        lambda: thresher.Checkpoint("x", seconds=None), ValueError, "without them it never saves",
    ),
    "starts": (
        lambda: thresher.OnlineNMF(2, init=np.ones((2, 6)), n_starts=2, **QUIET).fit(X),
        ValueError, "the only start",
    ),
    "zero atom": (
        lambda: thresher.OnlineNMF(2, init=np.eye(2, 6) * [[1], [0]], **QUIET).fit(X),
        ValueError, "all zero, and would never learn",
    ),
    "path": (lambda: thresher.OnlineNMF(2, **QUIET).partial_fit("a.csv"), TypeError, "thresher.op"),
    "times": (
        lambda: thresher.OnlineNMF(2, **QUIET).fit(np.ones((3, 2), "datetime64[s]")),
        ValueError, "not times",
    ),
    "masked weights": (
        lambda: thresher.OnlineNMF(2, **QUIET).fit(
            X, sample_weight=np.ma.masked_array(np.ones(40), np.arange(40) == 3)
        ),
        ValueError, "has masked entries",
    ),
    "outliers": (lambda: Envelope(L1(0.1), Box(1, 2)), ValueError, "allowed to vanish"),
    "matrix": (lambda: Mahalanobis(np.ones((2, 3))), ValueError, "square and finite"),
    "infinite matrix": (lambda: Mahalanobis(np.diag([1, np.inf])), ValueError, "square and finite"),
    "matrix of others": (
        lambda: Mahalanobis(np.eye(3)).check_features(2), ValueError, "for 3 features; .* have 2",
    ),
    "graph": (lambda: similarities([[0, -1], [-1, 0]]), ValueError, "finite and not negative"),
    "open graph": (lambda: similarities([[0, np.nan], [1, 0]]), ValueError, "finite and not neg"),
    "box": (lambda: Box(1, 1), ValueError, "lower < upper"),
    "covered": (lambda: CoveredBox(0.5, 0.5), ValueError, "0 < least < upper"),
    "covered at zero": (lambda: CoveredBox(0.0, 0.5), ValueError, "0 < least < upper"),
    "empty vectors": (
        lambda: factors.hoyer_sparseness(np.ones((3, 0))), ValueError, "no entries along",
    ),
    "gaps in factors": (
        lambda: factors.hoyer_sparseness([[np.nan, 1]]), ValueError, "must be finite",
    ),
    "rectangular": (
        lambda: orthogonal.orthogonal_error(np.eye(2, 3), np.eye(2, 3)), ValueError, "square and",
    ),
    "numbers as mask": (
        lambda: outliers.support_scores(np.ones(3), np.ones(3)), ValueError, "must be boolean",
    ),
    "gaps in outliers": (
        lambda: outliers.support_scores(np.ones(1, bool), [np.nan]), ValueError, "not contain NaN",
    ),
    "gaps in estimates": (
        lambda: reconstruction.psnr([1.0], [np.nan]), ValueError, "must be finite",
    ),
    "words without a vocabulary": (
        lambda: topics.topic_coherence([["a", "b"]], np.eye(2)), ValueError, "need vocabulary=",
    ),
    "infinite topics": (
        lambda: topics.topic_coherence(np.array([[np.inf, 1]]), np.eye(2)), ValueError, "be finite",
    ),
    "text for counts": (
        lambda: topics.topic_coherence(np.eye(2), np.array([["a", "b"]])), ValueError, "counts, we",
    ),
    "columns of arrays": (lambda: thresher.open(X, ["a"]), ValueError, "take those of an array"),
    "both rules": (lambda: Alarm(threshold=1.0, top_share=0.1), ValueError, "not both"),
    "one text": (lambda: as_texts("a text"), ValueError, "brackets around a single"),
    "a dictionary of texts": (lambda: as_texts({"a": "b"}), ValueError, "came as a dictionary"),
    "class of topics": (
        lambda: thresher.TopicModel(2, model=thresher.OnlineNMF).fit(["a b"]),
        ValueError, "OnlineNMF is a class; add brackets",
    ),
    "words without weights": (
        lambda: thresher.TopicModel(2, weighting=None, n_words=3).fit(["a b"]),
        ValueError, "which weighting=None turns off",
    ),
    "model of faces": (
        lambda: thresher.FaceRecognizer(thresher.ManhattanNMF).fit(X, np.arange(40) % 2),
        ValueError, "cannot learn a dictionary",
    ),
    "model of segments": (
        lambda: thresher.ImageSegmenter(model=thresher.OnlineNMF).fit(np.eye(8)),
        ValueError, "cannot factorise",
    ),
    "too many segments": (
        lambda: thresher.ImageSegmenter(300, n_superpixels=4, verbose=0).fit(np.eye(8)),
        ValueError, "patches cannot make 300 segments",
    ),
    "rows of sensors": (
        lambda: thresher.SensorCodec().compress(np.ones(3)), ValueError, r"\(rows, sensors\)",
    ),
    "no sensors": (
        lambda: thresher.SensorCodec().compress(np.ones((3, 0))), ValueError, r"\(rows, sensors\)",
    ),
    "infinite sensors": (
        lambda: thresher.SensorCodec().compress([[1.0], [np.inf]]), ValueError, "are infinite",
    ),
    "text of frames": (lambda: checked_frames([["a"]], None), TypeError, "Frames are numbers"),
    "one frame": (lambda: checked_frames(frames(16, 16), None), ValueError, "one frame alone"),
    "five axes": (lambda: checked_frames(frames(2, 9, 9, 3, 1), None), ValueError, "Frames come"),
    "four colours": (lambda: checked_frames(frames(2, 9, 9, 4), None), ValueError, "Frames come"),
    "no frames": (lambda: checked_frames(frames(0, 16, 16), None), ValueError, "frame"),
    "small frames": (lambda: checked_frames(frames(2, 16, 1), None), ValueError, "need at least"),
    "dark frames": (
        lambda: checked_frames(frames(2, 16, 16, value=-0.1), None), ValueError, "are negative",
    ),
    "gaps in frames": (
        lambda: checked_frames(frames(2, 16, 16, value=np.nan), None), ValueError, "NaN or",
    ),
    "other frames": (
        lambda: checked_frames(frames(2, 16, 16), (16, 17)), ValueError, "those before had",
    ),
    "masks": (lambda: boxes(np.zeros((2, 3, 4), bool)), ValueError, "the mask of one frame"),
    "threshold": (
        lambda: thresher.VideoSeparator(threshold=0.0).fit(frames(9, 16, 16)),
        ValueError, "must be above zero",
    ),
    "frames that come once": (
        lambda: thresher.VideoSeparator(causal=False, verbose=0).separate(
            iter([frames(9, 16, 16)])
        ),
        ValueError, "looks at every frame twice",
    ),
    "penalty off the box": (
        lambda: Constrained(GroupLasso(0.1), Box(1, 2)), ValueError, "needs a box that contains 0",
    ),
    "penalty on the simplex": (
        lambda: Constrained(GroupLasso(0.1), Simplex()), ValueError, "no exact proximal map",
    ),
    "chunks": (
        lambda: (
            Look(1, 3, np.dtype("f8"), False, False, None)
            + Look(1, 4, np.dtype("f8"), False, False, None)
        ),
        ValueError, "have 3 features, others 4",
    ),
    "memory of a detector": (
        lambda: LossShift().recall(np.ones(3), False, 1.5), ValueError, "remembers 3 numbers at",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_its_own_words(name):
    call, error, says = CASES[name]
    with pytest.raises(error, match=says):
        call()


def test_what_lies_on_the_right_side_is_taken():
    Box(0, 1e-300)
    CoveredBox(0.4, 0.5)
    Envelope(L1(0.1), Box(0, 2))
    Envelope(L1(0.1), Box(-2, 0))
    Constrained(ElasticNet(0.1), Box(1, 2))
    Constrained(ElasticNet(0.1), Simplex())
    assert similarities(np.zeros((2, 2))).nnz == 0
    for shape in ((1, 16, 16), (2, 16, 16, 3)):
        assert checked_frames(frames(*shape), None).shape == shape
    flat = frames(3, 12 * 16)
    assert checked_frames(flat, (12, 16)).shape == (3, 12, 16)
    assert checked_frames(frames(2, 16, 16, value=0.0), None).max() == 0
    LossShift().recall(np.ones(3), True, 1.0)
    Mahalanobis(np.eye(3)).check_features(3)


def test_codes_of_other_shapes_are_refused(model):
    codes = model.transform(X)
    model.certificates(X, codes)
    for wrong in (codes[:-1], codes[:, :-1]):
        with pytest.raises(ValueError, match=r"40 samples have codes of shape \(40, 3\); got"):
            model.certificates(X, wrong)


def test_sparse_samples_have_no_gaps_to_fill(model):
    with pytest.raises(TypeError, match="pass a dense array with NaN"):
        model.impute(sparse.csr_array(X))


# ------------------------------------------------------------------------------ files


def test_two_columns_of_one_name(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a\n1,2,3\n4,5,6\n")
    with pytest.raises(ValueError, match="has two columns 'a'; rename one"):
        thresher.open(tmp_path / "a.csv")


def test_lines_of_other_lengths(tmp_path):
    lines = [[1, 2, 3], [4, 5, 6], [7, 8]]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(ValueError, match=r"Line 3 of .* has 2 numbers, the first has 3"):
        thresher.open(tmp_path / "a.jsonl").load()


def test_arrays_by_columns_and_of_records(tmp_path):
    np.savez(tmp_path / "f.npz", x=np.asfortranarray(X))
    with pytest.raises(ValueError, match="stored by columns"):
        thresher.open(tmp_path / "f.npz")
    np.savez(tmp_path / "c.npz", x=X)
    np.testing.assert_array_equal(thresher.open(tmp_path / "c.npz").load(), X)
    np.save(tmp_path / "c.npy", X * 1j)
    with pytest.raises(ValueError, match="complex128 entries; a source takes numbers"):
        thresher.open(tmp_path / "c.npy")
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY nothing")
    with pytest.raises(ValueError, match="no array of NumPy"):
        thresher.open(tmp_path / "x.npy")


def test_where_results_go(model, tmp_path):
    source = as_source(X).in_batches(16)
    with pytest.raises(ValueError, match="several results; say where to"):
        model.separate(source, write=tmp_path / "a.npy")
    with pytest.raises(ValueError, match=r"names \['parts'\]; use some of"):
        model.separate(source, write={"parts": tmp_path / "a.npy"})
    with pytest.raises(ValueError, match="use some of"):
        model.separate(source, write={})
    with pytest.raises(ValueError, match="gives one result"):
        model.transform(source, write={"codes": tmp_path / "a.npy"})
    with pytest.raises(TypeError, match="takes paths and arrays, not int"):
        model.transform(source, write=3)
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------ clusters


class Client:
    """As much of a client as is asked."""

    def __init__(self, there):
        self.there = there

    def run(self, function, *arguments, on_error):
        assert on_error == "return"
        return self.there


def test_workers_need_this_version():
    here = thresher.__version__
    check_workers(Client({"tcp://a": here, "tcp://b": here}))
    with pytest.raises(ClusterError, match="no workers"):
        check_workers(Client({}))
    with pytest.raises(ClusterError, match="tcp://b cannot import thresher"):
        check_workers(Client({"tcp://a": here, "tcp://b": ImportError("no module")}))
    with pytest.raises(ClusterError, match="tcp://b"):
        check_workers(Client({"tcp://a": here, "tcp://b": "0.0.1"}))


def test_an_asynchronous_client_is_refused(monkeypatch):
    from thresher.cluster import clients

    class Waits:
        status, asynchronous = "running", True

    def no_worker():
        raise ValueError("no worker here")

    monkeypatch.setattr(clients.distributed, "get_worker", no_worker)
    monkeypatch.setattr(clients.distributed, "default_client", Waits)
    with pytest.raises(ClusterError, match="asynchronous"):
        clients.default_client()
    monkeypatch.setattr(Waits, "asynchronous", False)
    assert isinstance(clients.default_client(), Waits)
    monkeypatch.setattr(Waits, "status", "closed")
    assert clients.default_client() is None
    monkeypatch.setattr(Waits, "status", "running")
    monkeypatch.setattr(clients.distributed, "get_worker", lambda: object())
    assert clients.default_client() is None  # a task does not wait for tasks
    assert not asyncio.iscoroutinefunction(clients.default_client)
