"""The loops: what is summed, in which order, what is remembered, and when they end."""

import itertools
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing

import numpy as np
import pytest

from thresher.encoding import BlockADMM, Encoder
from thresher.engine import (
    Ahead,
    BatchProblem,
    ExactAlternation,
    History,
    HistoryRow,
    OnlineMethod,
    Pool,
    ProgressBar,
    StopAfter,
)
from thresher.engine.history import LONGEST
from thresher.estimators import Checkpoint, OnlineRobustNMF, RobustNMF, load
from thresher.learning import QuadraticLearner
from thresher.persistence import read_file, write_file
from thresher.streams import ArraySource, Batch
from thresher.testing.data import planted


def model(**parameters):
    return OnlineRobustNMF(4, random_state=0, verbose=0, batch_size=64, **parameters)


# ------------------------------------------------------------------------ stream


def test_the_past_is_discounted_once():
    X = planted(128)
    fitted = model(forgetting=100.0).partial_fit(X[:64]).partial_fit(X[64:])
    assert fitted.statistics_.weight == pytest.approx(64 + 64 * 2 ** (-64 / 100))


def test_every_block_of_a_batch_counts():
    assert model().partial_fit(planted(300)).statistics_.weight == 300


def test_threads_do_not_matter_within_a_batch():
    """Batches of several blocks, merged in order: the same bits for any number of threads."""
    X = planted(700, 200)
    one, three = (
        OnlineRobustNMF(4, random_state=0, verbose=0, batch_size=350, n_jobs=n).fit(X)
        for n in (1, 3)
    )
    np.testing.assert_array_equal(one.components_, three.components_)


def test_order_depends_on_seed_and_pass():
    X = np.arange(50.0)[:, None]

    def order(seed, number):
        source = ArraySource(X, 8, True, seed)
        return np.concatenate([batch.X[:, 0] for batch in source.batches(number, 0)])

    orders = [order(0, 0), order(0, 1), order(1, 0)]
    for i, first in enumerate(orders):
        np.testing.assert_array_equal(np.sort(first), X[:, 0])
        assert all(not np.array_equal(first, other) for other in orders[i + 1 :])
    np.testing.assert_array_equal(order(0, 1), orders[1])


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("skip", [0, 2])
def test_batches_that_are_made_ahead_are_the_same(shuffle, skip):
    rng = np.random.default_rng(0)
    source = ArraySource(rng.random((700, 1200)), 150, shuffle, 3, rng.random(700))
    with Pool(2) as pool:
        made = list(Ahead(source, pool).batches(1, skip))
    assert len(made) == 5 - skip
    for batch, expected in zip(made, source.batches(1, skip), strict=True):
        np.testing.assert_array_equal(batch.X, expected.X)
        np.testing.assert_array_equal(batch.sample_weight, expected.sample_weight)
        assert "column_range" in vars(batch)  # measured beside, too
        low, high = batch.column_range
        np.testing.assert_array_equal((low, high), (batch.X.min(axis=0), batch.X.max(axis=0)))


@pytest.mark.parametrize(("seconds", "n_threads"), [(0.0, 1), (0.005, 2)])
def test_helpers_are_woken_where_they_save_more_than_that(seconds, n_threads, monkeypatch):
    threads, clock = [], itertools.count()
    monkeypatch.setattr("thresher.engine.pool.time.perf_counter", lambda: seconds * next(clock))

    class Blocks:
        def summariser(self, state, batch):
            def code(block):
                threads.append(threading.get_ident())
                time.sleep(seconds)
                return block

            return code

        def blocks(self, batch):
            return [1, 2, 3, 4]

    with Pool(2) as pool:
        assert pool.summarise(Blocks(), None, None) == 10
        threads.clear()  # what a batch takes is known after the first
        assert pool.summarise(Blocks(), None, None) == 10
    assert len(set(threads)) == n_threads


def test_whoever_stops_early_can_close_what_is_made_ahead():
    closed = []

    def numbers():
        try:
            for number in range(10):
                time.sleep(0.01)  # so that one is being made
                yield number
        finally:
            closed.append(True)

    with Pool(2) as pool, closing(numbers()) as given, closing(pool.ahead(given)) as ahead:
        assert next(ahead) == 0
    assert closed == [True]


def test_errors_come_where_their_item_would():
    def numbers():
        yield 1
        raise ValueError("no more")

    with Pool(2) as pool:
        ahead = pool.ahead(numbers())
        assert next(ahead) == 1
        with pytest.raises(ValueError, match="no more"):
            next(ahead)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_done_beside_is_there_when_it_is_asked_for(threads):
    def work():
        seen.append(threading.get_ident())
        return len(seen)

    seen = []
    with Pool(threads) as pool:
        result = pool.beside(work)
        assert result() == result() == 1
    assert seen == [threading.get_ident()] or threads == 2


def test_whoever_asks_does_what_no_helper_has_begun():
    begun, go_on = threading.Event(), threading.Event()

    def long_work():
        begun.set()
        return go_on.wait(60)

    with Pool(2) as pool:
        long = pool.beside(long_work)
        assert begun.wait(60)  # the one helper is busy
        mine = pool.beside(threading.get_ident)
        assert mine() == mine() == threading.get_ident()
        go_on.set()
        assert long()


def test_dead_atoms_come_back_to_life():
    """An atom far from all data is never used; it is replaced by a clean sample and learns."""
    X = planted(400)
    X[:, :3] = 0
    init = np.random.default_rng(0).random((4, X.shape[1]))
    init[2] = 0
    init[2, :3] = 1
    fitted = model(init=init).fit(X)
    assert fitted.components_[2, 3:].max() > 0.1
    assert (fitted.transform(X)[:, 2] > 0).mean() > 0.2


def test_passes_end_when_the_loss_settles():
    X = planted(600)
    short, long = model(tol=0.9).fit(X), model(tol=1e-12).fit(X)
    assert short.n_samples_seen_ == 1200  # two passes, to compare their losses
    assert 1200 < long.n_samples_seen_ <= 6000


# --------------------------------------------------------------------- alternate


class _Bad:
    """An encoder that makes codes worse, and a dictionary step that does so the first time."""

    def __init__(self):
        self.calls = 0

    def prepare(self, problem, rows=None):
        pass

    def encode(self, problem, X, weight=None, start=None):
        encoding = Encoder(BlockADMM(), max_iter=1).encode(problem, X, weight, start)
        encoding.codes[::2] = 100
        return encoding

    def minimise(self, problem, D):
        self.calls += 1
        return np.zeros_like(D) if self.calls == 1 else D.copy()


def test_neither_half_step_raises_the_objective():
    X = planted(100)
    fitted = RobustNMF(4, random_state=0, verbose=0).fit(X)
    loss = fitted.problem().loss
    method = OnlineMethod(_Bad(), lambda _: loss, QuadraticLearner(_Bad()))
    problem = BatchProblem(method, Batch(X), loss, X.dtype)
    D, codes = fitted.components_.copy(), fitted.transform(X)
    with Pool(1) as pool:
        work = ExactAlternation(problem, D, codes, _Bad(), pool)
        last = work.objective()
        work.improve_codes()
        assert work.objective() <= last
        assert work.C.max() < 100
        last = work.objective()
        work.improve_dictionary()
        assert work.objective() <= last * (1 + 1e-12)


def test_objective_of_the_batch_method_never_rises():
    objective = RobustNMF(4, random_state=0, verbose=0).fit(planted(300)).history_.column("loss")
    assert len(objective) > 3
    assert np.all(np.diff(objective) <= 1e-12)


def test_published_batch_methods_reach_what_auto_reaches():
    X = planted(300)
    best = RobustNMF(4, random_state=0, verbose=0).fit(X).history_[-1].loss
    for solver in ("bpgd", "badmm"):
        other = RobustNMF(4, solver=solver, random_state=0, verbose=0, max_iter=3000).fit(X)
        assert other.history_[-1].loss < 1.5 * best


# ---------------------------------------------------------- history and callbacks


def test_history_is_thinned():
    history = History()
    for step in range(2 * LONGEST):
        history.append(HistoryRow(step, 0.0, 0.0, 0.0, 0.0))
    assert len(history) <= LONGEST
    samples = history.column("samples")
    assert samples[0] == 0
    assert (np.diff(samples) > 0).all()
    assert (samples[-LONGEST // 4 :] == np.arange(2 * LONGEST - LONGEST // 4, 2 * LONGEST)).all()


@pytest.mark.parametrize(
    ("stop", "column", "limit"),
    [
        (StopAfter(samples=200), "samples", 200),
        (StopAfter(seconds=0.0), "samples", 1),
        (StopAfter(change=10.0), "samples", 1),
    ],
)
def test_a_callback_can_stop(stop, column, limit):
    fitted = model(callbacks=[stop]).fit(planted(300))
    values = fitted.history_.column(column)
    assert values[-1] >= limit
    assert len(values) == 1 or values[-2] < limit


def test_callbacks_see_a_usable_model():
    X = planted(200)
    seen = []

    def look(step):
        seen.append(step.row.samples)
        assert step.model.transform(X[:5]).shape == (5, 4)
        with pytest.raises(ValueError, match="read-only"):
            step.dictionary[0, 0] = 1

    model(callbacks=[look], n_passes=1).fit(X)
    assert seen == [64, 128, 192, 200]


def test_progress_is_silent_without_a_terminal(capsys):
    with ProgressBar("working", 10) as bar:
        bar._started -= 10
        bar.update(5)
    assert capsys.readouterr() == ("", "")


def test_progress_shows_after_two_seconds_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with ProgressBar("working", 10) as bar:
        bar.update(1)
        assert bar._bar is None
        bar._started -= 10
        bar.update(5, "loss 1")
        assert bar._bar is not None


# ------------------------------------------------------------------- checkpoints

_KILLED = """
    import os, signal, sys
    from thresher import Checkpoint, OnlineRobustNMF
    from thresher.testing.data import planted

    def kill(step):
        if step.row.samples >= 1500:
            os.kill(os.getpid(), signal.SIGKILL)

    model = OnlineRobustNMF(
        4, random_state=0, verbose=0, batch_size=64, n_passes=6,
        callbacks=[Checkpoint(sys.argv[1], seconds=None, samples=200), kill],
    )
    model.fit(planted(600))
"""


def test_kill_minus_nine_then_resume_gives_the_same_bits(tmp_path):
    path = tmp_path / "model.thresher"
    code = textwrap.dedent(_KILLED)
    killed = subprocess.run([sys.executable, "-c", code, str(path)], timeout=120, check=False)
    assert killed.returncode == -9
    X = planted(600)
    resumed = load(path)
    assert 1200 <= resumed.n_samples_seen_ < 1500
    resumed.resume(X)
    whole = model(n_passes=6).fit(X)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.statistics_.B, whole.statistics_.B)
    assert resumed.n_samples_seen_ == whole.n_samples_seen_
    assert [path.name] == [file.name for file in tmp_path.iterdir()]  # nothing half-written


def test_checkpoints_by_time(tmp_path):
    path = tmp_path / "model.thresher"
    checkpoint = Checkpoint(path, seconds=0.01)
    model(callbacks=[checkpoint, lambda step: time.sleep(0.011)], n_passes=1).fit(planted(200))
    assert load(path).n_samples_seen_ > 0


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_file(path, {"a": np.arange(3.0)}, {"n": 1})

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_file(path, {"a": np.zeros(3)}, {"n": 2})
    arrays, document = read_file(path)
    np.testing.assert_array_equal(arrays["a"], np.arange(3.0))
    assert document == {"n": 1}
    assert len(list(tmp_path.iterdir())) == 1


def test_foreign_and_newer_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"not a model at all")
    with pytest.raises(ValueError, match="not a Thresher file"):
        read_file(path)
    monkeypatch.setattr("thresher.persistence.files.FORMAT_VERSION", 99)
    write_file(path, {}, {})
    monkeypatch.undo()
    with pytest.raises(ValueError, match="newer Thresher"):
        read_file(path)
