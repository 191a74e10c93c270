"""Dask: fits on worker processes have the bits of one process, and verbs are lazy."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from scipy import sparse
from sklearn.base import clone

import thresher
from interrupting import Interrupt
from pages import run_page
from tasks.planted_documents import SUBJECTS, count_words, documents
from thresher import (
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
    TopicModel,
)

rng = np.random.default_rng(0)
N, F = 1500, 24
X = rng.gamma(1.0, size=(N, 3)) @ rng.random((3, F)) + 0.01 * rng.random((N, F))
X[rng.random(X.shape) < 0.03] += 2
GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
LATE = np.where(np.arange(N)[:, None] < 1000, np.nan, X)
SIGNED = X - X.mean(axis=0)
THIN = sparse.csr_array(np.where(X > 1.5, np.round(4 * X), 0))
QUIET = {"random_state": 0, "verbose": 0}
# Batches of eight blocks of rows, the last of them incomplete.
HOW = {"batch_size": 1000, **QUIET}
LOCAL = {"dashboard_address": ":0", "memory_limit": 0}


@pytest.fixture(scope="module")
def workers():
    """One cluster of two processes, and one client, for all tests."""
    with (
        LocalCluster(n_workers=2, processes=True, threads_per_worker=1, **LOCAL) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(workers):
    """The client as the current one."""
    workers.wait_for_workers(2)
    with workers.as_current():
        yield workers


@pytest.fixture
def threads():
    """A cluster of two threads of this process."""
    with (
        LocalCluster(n_workers=1, processes=False, threads_per_worker=2, **LOCAL) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield client


def chunked(samples, *rows):
    """A Dask array in chunks of so many rows; the last one has what remains."""
    cuts = np.cumsum(rows).tolist()
    pieces = [
        samples[start:stop]
        for start, stop in zip([0, *cuts], [*cuts, samples.shape[0]], strict=True)
    ]
    blocks = [
        da.from_array(piece.toarray(), chunks=-1).map_blocks(sparse.csr_matrix)
        if sparse.issparse(piece)
        else da.from_array(piece, chunks=(-1, (F // 2, F - F // 2)))
        for piece in pieces
    ]
    return da.concatenate(blocks)


def robust(**options):
    return OnlineRobustNMF(3, **{**HOW, **options})


def in_one_process(model, samples):
    return clone(model).set_params(shuffle=False, n_passes=model.n_passes or 1).fit(samples)


# ----------------------------------------------------------------------------------- the same bits

CASES = {
    "chunks across batches": (robust(n_passes=2), X, (700, 100, 0, 600)),
    "missing values": (robust(), GAPS, (1024,)),
    "a first batch without entries": (robust(), LATE, (1024,)),
    "float32": (robust(), X.astype(np.float32), (1400,)),
    "weight from residuals": (robust(outlier_weight="mad"), GAPS, (700,)),
    "opgd": (robust(solver="opgd"), X, (800,)),
    "counts in CSR": (OnlineNMF(3, divergence="kl", **HOW), THIN, (300, 300)),
    "huber": (OnlineNMF(3, divergence="huber", **HOW), X, (800,)),
    "ratios": (OnlineNMF(3, divergence="is", **HOW), X, (800,)),
    "spsgd": (OnlineNMF(3, divergence="kl", solver="spsgd", **HOW), X, (800,)),
    "orthogonal": (OnlineOrthogonalDictionary(**HOW), SIGNED, (500, 500)),
    "l1": (OnlineL1Dictionary(3, **HOW), THIN, (900,)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_cluster_has_the_bits_of_one_process(client, name):
    model, samples, rows = CASES[name]
    expected = in_one_process(model, samples)
    fitted = clone(model).fit(chunked(samples, *rows))
    np.testing.assert_array_equal(fitted.components_, expected.components_)
    losses = [[row.loss for row in each.history_] for each in (fitted, expected)]
    np.testing.assert_array_equal(*losses)


@pytest.mark.parametrize("shuffled", [False, True])
def test_workers_read_files_themselves(workers, tmp_path, shuffled):
    np.save(tmp_path / "samples.npy", X)
    source = thresher.open(tmp_path / "samples.npy")
    source = source.shuffled(400, seed=1) if shuffled else source
    here = robust().fit(source)
    with workers.as_current():
        there = robust().fit(source)
    with Client(workers.scheduler.address):  # a client that knows an address only
        by_address = robust().fit(source)
    np.testing.assert_array_equal(there.components_, here.components_)
    np.testing.assert_array_equal(by_address.components_, here.components_)


def test_without_a_client_a_collection_is_read_in_this_process():
    fitted = robust().fit(chunked(X, 700))
    np.testing.assert_array_equal(fitted.components_, in_one_process(robust(), X).components_)


def test_threads_of_this_process_are_a_cluster_too(threads):
    fitted = robust().fit(chunked(X, 700))
    np.testing.assert_array_equal(fitted.components_, in_one_process(robust(), X).components_)


def test_chunks_of_unknown_size_are_counted(client):
    kept = chunked(X, 700, 100)
    kept = kept[kept[:, 0] > 0.5]
    assert np.isnan(kept.shape[0])
    expected = in_one_process(robust(), X[X[:, 0] > 0.5])
    np.testing.assert_array_equal(robust().fit(kept).components_, expected.components_)


def test_an_interrupted_fit_continues_on_other_workers(client, threads, tmp_path):
    how = {"batch_size": 300, "n_passes": 2}
    path = tmp_path / "model.thresher"
    model = robust(callbacks=[thresher.Checkpoint(path, samples=300), Interrupt(7)], **how)
    with client.as_current(), pytest.raises(KeyboardInterrupt):
        model.fit(chunked(X, 700))
    resumed = thresher.load(path)
    assert resumed.n_samples_seen_ == 1500 + 2 * 300
    with threads.as_current():
        with pytest.raises(ValueError, match="source changed"):
            resumed.resume(chunked(X + 1, 700))
        resumed.resume(chunked(X, 200, 500))
    expected = in_one_process(robust(**how), X)
    np.testing.assert_array_equal(resumed.components_, expected.components_)


@pytest.mark.filterwarnings("ignore:Port")  # of the dashboard, if it is in use
def test_the_page_on_scaling_runs():
    assert run_page("docs/guide/scaling.md")["mean"] < 0


# ------------------------------------------------------------------------------------ documents

TEXTS, LABELS = documents(list(SUBJECTS)[:3], 240)
WORDS = sorted(set(" ".join(TEXTS).split()))
COUNTS = sparse.csr_array(count_words(TEXTS, WORDS))


def test_a_bag_of_texts_has_the_planted_topics():
    texts = db.from_sequence(TEXTS, npartitions=5)
    model = TopicModel(3, batch_size=64, warm_up=100, **QUIET).fit(texts)
    shares = model.transform(texts)
    assert shares.shape[1] == 3
    main = shares.compute().argmax(axis=1)
    assert thresher.metrics.purity(LABELS, main) > 0.95
    np.testing.assert_allclose(shares.compute(), model.transform(TEXTS), atol=1e-9)
    with pytest.raises(ValueError, match="no documents"):
        model.fit(texts.filter(lambda text: False))


def test_a_table_of_counts_is_learned_as_in_memory():
    table = da.from_array(COUNTS.toarray(), chunks=(70, 9)).astype(float)
    how = {"batch_size": 64, "n_passes": 1, "shuffle": False, **QUIET}
    inner = OnlineNMF(3, divergence="kl", dictionary_set="simplex", **how)
    model = TopicModel(model=inner, vocabulary=WORDS, n_words=20)
    there, here = model.fit(table).components_.copy(), model.fit(COUNTS).components_
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.transform(table).compute(), model.transform(COUNTS), atol=1e-9)


def test_novelty_scores_are_lazy_and_those_of_the_detector_as_it_was():
    detector = NovelDocumentDetector(3, **QUIET).fit(TEXTS[:120])
    new = [*TEXTS[120:], "zebras yodel"]
    scores = detector.novelty_scores(db.from_sequence(new, npartitions=3))
    expected = detector.novelty_scores(new)
    detector.step(new)
    np.testing.assert_allclose(scores.compute(scheduler="sync"), expected, atol=1e-9)


# ----------------------------------------------------------------------------------- lazy verbs

FEW = X[:300]
FEW_GAPS = GAPS[:300]
NAMES = [f"c{j}" for j in range(F)]
FRAME = pd.DataFrame(FEW_GAPS, columns=NAMES, index=np.arange(300) / 2)


@pytest.fixture(scope="module")
def fitted():
    return OnlineRobustNMF(3, **QUIET).fit(FEW).calibrate(FEW)


def never(block):
    raise AssertionError("computed before anybody asked")


@pytest.mark.parametrize(
    "verb", ["transform", "score_samples", "impute", "predict", "decision_function"]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_verbs_are_lazy_and_right(fitted, verb, dtype):
    samples = FEW_GAPS.astype(dtype)
    lazy = da.from_array(samples, chunks=(70, 5))
    getattr(fitted, verb)(lazy.map_blocks(never, meta=np.empty((0, 0), dtype)))
    result, expected = getattr(fitted, verb)(lazy), getattr(fitted, verb)(samples)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype == result.compute().dtype
    np.testing.assert_allclose(result.compute(), expected, rtol=1e-4, atol=1e-4)


def test_a_separation_is_computed_once_for_all_its_parts(fitted):
    blocks = []

    def count(block):
        blocks.append(block.shape)
        return block

    lazy = da.from_array(FEW, chunks=(100, -1)).map_blocks(count, meta=np.empty((0, 0)))
    parts = dask.compute(*fitted.separate(lazy), scheduler="sync")
    assert len(blocks) == 3
    for part, expected in zip(parts, fitted.separate(FEW), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-9)


def test_frames_keep_index_and_names():
    lazy = dd.from_pandas(FRAME, npartitions=3)
    model = OnlineRobustNMF(3, **QUIET).fit(lazy)
    assert list(model.feature_names_in_) == NAMES
    codes = model.transform(lazy)
    assert list(codes.columns) == list(model.get_feature_names_out())
    low_rank, outliers, _ = dask.compute(*model.separate(lazy))
    here = model.separate(FRAME)
    for frame, values in (
        (codes.compute(), model.transform(FRAME)),
        (model.impute(lazy).compute(), model.impute(FRAME)),
        (model.score_samples(lazy).compute(), model.score_samples(FRAME)),
        (low_rank, here.low_rank),
        (outliers, here.outliers),
    ):
        assert frame.index.equals(FRAME.index)
        np.testing.assert_allclose(frame, values, rtol=1e-9, atol=1e-9)
    assert list(low_rank.columns) == list(model.impute(lazy).columns) == NAMES
    with pytest.raises(ValueError, match="feature names"):
        model.transform(lazy[NAMES[::-1]])


def test_sparse_blocks_and_blocks_that_are_empty(fitted):
    thin = THIN[:300]
    lazy = da.from_array(thin.toarray(), chunks=(90, -1)).map_blocks(sparse.csr_matrix)
    model = OnlineNMF(3, divergence="kl", **QUIET).fit(thin)
    np.testing.assert_allclose(model.transform(lazy).compute(), model.transform(thin), atol=1e-9)
    with pytest.raises(TypeError, match="toarray"):
        fitted.separate(lazy)
    whole = da.from_array(FEW, chunks=(50, -1))
    least = np.sort(FEW[:, 0])[-4]
    few, kept = whole[whole[:, 0] > least], FEW[FEW[:, 0] > least]
    np.testing.assert_allclose(fitted.transform(few).compute(), fitted.transform(kept), atol=1e-9)
    outliers = fitted.separate(few).outliers.compute()
    np.testing.assert_allclose(outliers, fitted.separate(kept).outliers, atol=1e-9)


def test_a_lazy_result_is_that_of_the_model_as_it_was():
    model = OnlineOrthogonalDictionary(**QUIET).fit(FEW)
    expected, later = model.transform(FEW), model.transform(da.from_array(FEW, chunks=(100, -1)))
    model.partial_fit(FEW[::-1] ** 2)
    np.testing.assert_allclose(later.compute(), expected, rtol=1e-9, atol=1e-9)


def test_results_are_written_block_by_block(fitted, tmp_path):
    path = fitted.transform(da.from_array(FEW, chunks=(100, -1)), write=tmp_path / "codes.npy")
    np.testing.assert_allclose(np.load(path), fitted.transform(FEW), rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------- refusals and losses


def test_models_that_need_all_samples_refuse_collections(fitted):
    lazy = da.from_array(FEW, chunks=(100, -1))
    for call in (RobustNMF(3).fit, OnlineRobustNMF(3).partial_fit, fitted.objective_samples):
        with pytest.raises(TypeError, match="compute"):
            call(lazy)
    with pytest.raises(ValueError, match="features"):
        fitted.transform(da.zeros((4, 5)))


def test_what_a_worker_refuses_leaves_the_model_as_it_was(client):
    model = robust().fit(X)
    before = model.components_.copy()
    negative, infinite = X.copy(), X.copy()
    negative[900, 3], infinite[900, 3] = -1.0, np.inf
    for keyword, given in (
        ("Negative", chunked(negative, 700)),
        ("infinity", chunked(infinite, 700)),
        ("dimensions", da.zeros(5)),
        ("empty", chunked(X, 700)[:0]),
    ):
        with pytest.raises(ValueError, match=keyword):
            model.fit(given)
        np.testing.assert_array_equal(model.components_, before)
    with pytest.raises(ValueError, match="keeps samples"):
        OnlineL1Dictionary(3, solver="oiadmm", **HOW).fit(chunked(THIN, 700))


def test_workers_of_another_version_are_named(client):
    worker = sorted(client.scheduler_info()["workers"])[0]
    model = robust().fit(X)
    before = model.components_.copy()
    modules = "__import__('sys').modules"
    version = "setattr(__import__('thresher'), '__version__', {!r})"
    for change, undo in (
        (version.format("0.0.9"), version.format(thresher.__version__)),
        (
            f"{modules}.update(kept={modules}['thresher'], thresher=None)",
            f"{modules}.update(thresher={modules}.pop('kept'))",
        ),
    ):
        client.run(eval, change, workers=[worker])
        with pytest.raises(RuntimeError, match=worker):
            model.fit(chunked(X, 700))
        client.run(eval, undo, workers=[worker])
        np.testing.assert_array_equal(model.components_, before)


def test_a_cluster_that_loses_all_workers_is_reported(threads, monkeypatch):
    """What was learned until then is kept."""
    monkeypatch.setattr("thresher.cluster.clients._ALONE", 0.2)  # seconds, instead of 30

    def close(step):
        threads.cluster.scale(0)
        while threads.nthreads():
            time.sleep(0.01)

    model = robust(batch_size=500, callbacks=[close])
    with pytest.raises(RuntimeError, match="resume"):
        model.fit(chunked(X, 700))
    assert model.n_samples_seen_ == 500
    with pytest.raises(RuntimeError, match="no workers"):
        model.fit(chunked(X, 700))


def test_a_killed_worker_changes_nothing(client):  # the last: the cluster has to recover
    pid = next(iter(client.run(os.getpid).values()))

    def kill(step):
        if step.row.samples == 600:
            threading.Timer(0.01, os.kill, (pid, signal.SIGKILL)).start()

    model = robust(batch_size=300, n_passes=2)
    fitted = clone(model).set_params(callbacks=[kill]).fit(chunked(X, 700))
    np.testing.assert_array_equal(fitted.components_, in_one_process(model, X).components_)
    assert pid not in client.run(os.getpid).values()
