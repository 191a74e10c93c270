"""Fits on a real scheduler and worker processes: the bits of one process, whatever happens."""

import os
import pickle
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import thresher
import thresher.cluster.clients as clients
from interrupting import Interrupt
from pages import run_page
from thresher import (
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
)
from thresher.cluster import ClusterError
from thresher.cluster.round import shares_of
from thresher.cluster.source import ClusterSource
from thresher.engine import merged

rng = np.random.default_rng(0)
N, F = 1500, 24
X = rng.gamma(1.0, size=(N, 3)) @ rng.random((3, F)) + 0.01 * rng.random((N, F))
X[rng.random(X.shape) < 0.03] += 2
GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
LATE, EARLY = X.copy(), X.copy()
LATE[:1000] = EARLY[1000:] = np.nan
THIN = sparse.csr_array(np.where(X > 1.5, np.round(4 * X), 0))
# Rounds of eight blocks, the last of them not whole.
HOW = {"batch_size": 1000, "random_state": 0, "verbose": 0}


@pytest.fixture(scope="module")
def cluster():
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=2, processes=True, **options) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def threads():
    options = {"threads_per_worker": 2, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=1, processes=False, **options) as cluster, Client(cluster) as one:
        yield one


def chunked(samples, *rows):
    """A Dask array in chunks of so many rows, whatever remains in the last."""
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


def alone(model, samples):
    """The same fit in this process, of the same rounds."""
    return clone(model).set_params(shuffle=False, n_passes=model.n_passes or 1).fit(samples)


ORTHOGONAL = OnlineOrthogonalDictionary(**HOW)
CASES = {
    "chunks across rounds": (OnlineRobustNMF(3, n_passes=2, **HOW), X, (700, 100, 0, 600)),
    "gaps": (OnlineRobustNMF(3, **HOW), GAPS, (1024,)),
    "a first round without entries": (OnlineRobustNMF(3, **HOW), LATE, (1024,)),
    "a last round without entries": (OnlineRobustNMF(3, **HOW), EARLY, (1024,)),
    "float32": (OnlineRobustNMF(3, **HOW), X.astype(np.float32), (1400,)),
    "counts in CSR": (OnlineNMF(3, divergence="kl", **HOW), THIN, (300, 300)),
    "signed": (ORTHOGONAL, X - X.mean(axis=0), (500, 500)),
    "words": (OnlineL1Dictionary(3, **HOW), THIN, (900,)),
    "weight from residuals": (OnlineRobustNMF(3, outlier_weight="mad", **HOW), GAPS, (700,)),
    "huber": (OnlineNMF(3, divergence="huber", **HOW), X, (800,)),
    "ratios": (OnlineNMF(3, divergence="is", **HOW), X, (800,)),
    "opgd": (OnlineRobustNMF(3, solver="opgd", **HOW), X, (800,)),
    "oadmm": (OnlineRobustNMF(3, solver="oadmm", **HOW), X, (800,)),
    "spsgd": (OnlineNMF(3, divergence="kl", solver="spsgd", **HOW), X, (800,)),
    "noncvx_sfw": (
        OnlineOrthogonalDictionary(solver="noncvx_sfw", **HOW),
        X - X.mean(axis=0),
        (800,),
    ),
}


@given(st.integers(1, 3000), st.sampled_from([8, 65, 128]), st.integers(1, 4000))
def test_shares_are_branches_of_the_tree_of_one_machine(n_rows, block_rows, at_most):
    blocks = np.random.default_rng(n_rows).random(-(-n_rows // block_rows)).tolist()
    shares = shares_of(n_rows, block_rows, at_most)
    assert [share.begins for share in shares[1:]] == [share.stops for share in shares[:-1]]
    assert shares[-1].stops == n_rows
    branches = [
        merged(blocks[share.begins // block_rows : -(-share.stops // block_rows)])
        for share in shares
    ]
    while len(branches) > 1:  # as workers add them, eight at a time
        branches = [merged(branches[at : at + 8]) for at in range(0, len(branches), 8)]
    assert branches[0] == merged(blocks)


@pytest.mark.filterwarnings("ignore:Port")  # of the dashboard, if somebody has one
def test_the_page_runs():
    made = run_page("docs/guide/scaling.md")
    assert made["mean"] < 0


@pytest.mark.parametrize("name", CASES)
def test_a_cluster_has_the_bits_of_one_process(client, name):
    model, samples, rows = CASES[name]
    expected = alone(model, samples)
    fitted = clone(model).fit(chunked(samples, *rows))
    np.testing.assert_array_equal(fitted.components_, expected.components_)
    np.testing.assert_array_equal(
        np.array([row.loss for row in fitted.history_]),
        np.array([row.loss for row in expected.history_]),
    )
    assert fitted._state.seen.low.tolist() == expected._state.seen.low.tolist()


def test_a_cluster_that_runs_is_found_by_its_address(cluster):
    """A client that knows no more than ``tcp://...``, as on other machines."""
    model, samples, rows = CASES["gaps"]
    with Client(cluster.scheduler_address):
        fitted = clone(model).fit(chunked(samples, *rows))
    np.testing.assert_array_equal(fitted.components_, alone(model, samples).components_)


@pytest.mark.parametrize("shuffled", [False, True])
def test_workers_read_files_themselves(cluster, tmp_path, shuffled):
    np.save(tmp_path / "samples.npy", X)
    source = thresher.open(tmp_path / "samples.npy")
    source = source.shuffled(400, seed=1) if shuffled else source
    here = OnlineRobustNMF(3, **HOW).fit(source)
    with Client(cluster):
        there = OnlineRobustNMF(3, **HOW).fit(source)
    np.testing.assert_array_equal(there.components_, here.components_)


def test_without_a_client_a_collection_is_read_here():
    fitted = OnlineRobustNMF(3, **HOW).fit(chunked(X, 700))
    expected = alone(OnlineRobustNMF(3, **HOW), X)
    np.testing.assert_array_equal(fitted.components_, expected.components_)


def test_threads_of_this_process_are_a_cluster_too(threads):
    model = OnlineRobustNMF(3, **HOW)
    fitted = clone(model).fit(chunked(X, 700))
    np.testing.assert_array_equal(fitted.components_, alone(model, X).components_)


def test_cancelled_work_is_sent_again_and_not_for_ever(threads, monkeypatch):
    model = OnlineRobustNMF(3, **HOW)
    waiting, lost = clients.result_of, []

    def loses_some(client, future):
        if len(lost) < limit:
            lost.append(future)
            future.cancel(force=True)
        return waiting(client, future)

    monkeypatch.setattr("thresher.cluster.source.result_of", loses_some)
    limit = 2
    fitted = clone(model).fit(chunked(X, 700))
    np.testing.assert_array_equal(fitted.components_, alone(model, X).components_)
    limit = 100
    with pytest.raises(ClusterError, match="was cancelled 3 times"):
        clone(model).fit(chunked(X, 700))


def test_without_workers_a_sentence(threads, monkeypatch):
    monkeypatch.setattr(clients, "_ALONE", 0.2)
    model = OnlineRobustNMF(3, **HOW | {"batch_size": 500})

    def close(step):
        threads.cluster.scale(0)
        while threads.nthreads():
            time.sleep(0.01)

    model.set_params(callbacks=[close])
    with pytest.raises(ClusterError, match=r"All workers .* call resume"):
        model.fit(chunked(X, 700))
    assert model.n_samples_seen_ == 500
    with pytest.raises(ClusterError, match="no workers"):
        model.fit(chunked(X, 700))


def test_workers_of_another_version_are_named(client):
    worker = sorted(client.scheduler_info()["workers"])[0]
    model = OnlineRobustNMF(3, **HOW).fit(X)
    before = model.components_.copy()
    here, modules = f"'{thresher.__version__}'", "__import__('sys').modules"
    version = "setattr(__import__('thresher'), '__version__', {})"
    hide = f"{modules}.update(kept={modules}['thresher'], thresher=None)"
    show = f"{modules}.update(thresher={modules}.pop('kept'))"
    for change, back, message in (
        (version.format("'0.0.9'"), version.format(here), "has thresher 0.0.9"),
        (hide, show, "cannot import thresher"),
    ):
        client.run(eval, change, workers=[worker])
        with pytest.raises(ClusterError, match=f"{worker}.*{message}"):
            model.fit(chunked(X, 700))
        client.run(eval, back, workers=[worker])
        np.testing.assert_array_equal(model.components_, before)


def test_unknown_chunk_sizes_are_counted(client):
    few = chunked(X, 700, 100)
    kept = few[few[:, 0] > 0.5]
    assert np.isnan(kept.shape[0])
    model = OnlineRobustNMF(3, **HOW)
    expected = alone(model, X[X[:, 0] > 0.5])
    np.testing.assert_array_equal(model.fit(kept).components_, expected.components_)


def test_what_a_worker_refuses_leaves_the_model_as_it_was(client):
    model = OnlineRobustNMF(3, **HOW).fit(X)
    before = model.components_.copy()
    for wrong, message in ((-1.0, "Negative values"), (np.inf, "infinity")):
        bad = X.copy()
        bad[900, 3] = wrong
        with pytest.raises(ValueError, match=message):
            model.fit(chunked(bad, 700))
        np.testing.assert_array_equal(model.components_, before)
        assert model.n_samples_seen_ > 2000
    with pytest.raises(ValueError, match="two dimensions"):
        model.fit(da.zeros(5))
    with pytest.raises(ValueError, match="stream is empty"):
        model.fit(chunked(X, 700)[:0])
    np.testing.assert_array_equal(model.components_, before)


def test_solvers_that_keep_samples_are_refused(client):
    with pytest.raises(ValueError, match="solver='oiadmm' keeps samples"):
        OnlineL1Dictionary(3, solver="oiadmm", **HOW).fit(chunked(THIN, 700))


def test_an_interrupted_fit_goes_on_with_other_workers(client, threads, tmp_path):
    how = HOW | {"batch_size": 300, "n_passes": 2}
    whole = alone(OnlineRobustNMF(3, **how), X)
    path = tmp_path / "model.thresher"
    saving = thresher.Checkpoint(path, samples=300)
    model = OnlineRobustNMF(3, callbacks=[saving, Interrupt(7)], **how)
    with client.as_current(), pytest.raises(KeyboardInterrupt):
        model.fit(chunked(X, 700))
    again = thresher.load(path)
    assert again.n_samples_seen_ == 1500 + 2 * 300
    with threads.as_current():
        with pytest.raises(ValueError, match="the source changed"):
            again.resume(chunked(X + 1, 700))
        again.resume(chunked(X, 200, 500))
    np.testing.assert_array_equal(again.components_, whole.components_)


def test_what_travels_does_not_grow_with_the_samples_of_a_round(threads, monkeypatch):
    sent, submit, wait_for = [], ClusterSource.submit, ClusterSource.wait_for

    def submitted(self, task, *given, **options):
        given_here = [one for one in given if not hasattr(one, "key")]
        if task.__name__ == "as_it_is":
            sent.append(len(pickle.dumps(given_here)))
        return submit(self, task, *given, **options)

    def waited(self, *given):
        result = wait_for(self, *given)
        sent.append(len(pickle.dumps(result)))
        return result

    monkeypatch.setattr(ClusterSource, "submit", submitted)
    monkeypatch.setattr(ClusterSource, "wait_for", waited)
    totals = []
    many = np.tile(X, (11, 1))[:16384]
    for rows in (4096, 8192):
        sent.clear()
        model = OnlineNMF(3, divergence="huber", **HOW | {"batch_size": rows})
        model.fit(da.from_array(many[: 2 * rows], chunks=(1024, -1)))
        totals.append(sum(sent))
    assert totals[1] < 1.02 * totals[0]


def test_a_worker_that_is_killed_while_it_codes_changes_nothing(
    client,
):  # the last: it leaves a gap
    pid = next(iter(client.run(os.getpid).values()))

    def kill(step):
        if step.row.samples == 600:
            threading.Timer(0.01, os.kill, (pid, signal.SIGKILL)).start()

    model = OnlineRobustNMF(3, **HOW | {"batch_size": 300, "n_passes": 2})
    fitted = clone(model).set_params(callbacks=[kill]).fit(chunked(X, 700))
    np.testing.assert_array_equal(fitted.components_, alone(model, X).components_)
    assert pid not in client.run(os.getpid).values()
