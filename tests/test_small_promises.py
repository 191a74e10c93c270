"""Small promises that nothing else rests on: ties, bounds, defaults of parts, second tries."""

import io
import os
import runpy
import sys

import numpy as np
import pytest
from scipy.optimize import linprog

from thresher import NovelDocumentDetector, OnlineRobustNMF, SensorCodec
from thresher.estimators.parts import packed_value, unpacked_value
from thresher.estimators.recipe import without_company
from thresher.estimators.registry import named_graph
from thresher.kernels.lad_bounds import absolute, lower_bound, total_of
from thresher.losses.base import Loss
from thresher.low_rank import pursue
from thresher.persistence import Contents
from thresher.streams.npy_files import _skip
from thresher.tasks import warm_up
from thresher.tasks.compression.files import compress_file
from thresher.tasks.compression.packet import PacketError
from thresher.tasks.compression.table import SensorTable
from thresher.tasks.video.light import Light


class Bare(Loss):
    """A loss that declares nothing: half the squared distance."""

    def value(self, X, Y, weight=None):
        return 0.5 * ((X - Y) ** 2).sum(axis=1)

    def gradient(self, X, Y, weight=None):
        return Y - X

    def prox(self, V, X, step, weight=None):
        return (V + step * X) / (1 + step)


def test_what_a_loss_does_not_declare_nobody_relies_on():
    loss = Bare()
    assert loss.curvature == float("inf")
    assert loss.convex
    assert loss.smooth
    assert loss.convex_neighbour is loss
    assert loss.simplest is loss
    assert loss.coded_like is loss
    assert loss.in_unit(3.0) is loss
    assert loss.rounded(0.5) is loss
    declared = {
        "kinks", "degree", "metric", "envelope", "entry_constants", "order", "zero_slope", "powers",
    }  # fmt: skip
    assert all(getattr(loss, name) is None for name in declared)
    flags = {
        "couples_features", "positive_prediction", "needs_nonnegative", "has_entry_curvature",
        "stays_sparse", "knows_bend",
    }  # fmt: skip
    assert all(getattr(loss, name) is False for name in flags)
    assert loss.check_features(7) is None
    assert loss.check_weight(np.ones((1, 7))) is None


def test_what_a_loss_gets_for_nothing_follows_from_its_gradient():
    rng = np.random.default_rng(0)
    loss, X, Y = Bare(), rng.random((4, 3)), rng.random((4, 3))
    Y[0, 0] = X[0, 0]
    value, gradient = loss.value_and_gradient(X, Y)
    np.testing.assert_array_equal(value, loss.value(X, Y))
    up, down = loss.split(X, Y)
    assert min(up.min(), down.min()) >= 0
    np.testing.assert_allclose(up - down, gradient)
    assert not (up * down).any()
    bend = loss.bend(X, Y)
    assert bend[0, 0] == 0  # where data are met there is no quotient
    np.testing.assert_allclose(np.delete(bend.ravel(), 0), 1)
    assert not loss.outliers(X, Y).any()
    weight = np.array([[1.0, 2, 3], [0, 0, 0], [4, 1, 1], [0.5, 0, 0]])
    np.testing.assert_array_equal(loss.row_curvatures(X, Y, weight), [3, 1, 4, 0.5])
    np.testing.assert_array_equal(loss.row_curvatures(X, Y), [1, 1, 1, 1])


# ------------------------------------------------------------------------------ least deviations


@pytest.mark.parametrize("seed", range(6))
def test_the_lower_bound_is_below_the_optimum_and_tight_at_its_dual(seed):
    """Every θ gives a bound; the dual of linear programming gives the optimum itself."""
    rng = np.random.default_rng(seed)
    K, F, l1 = 3, 8, 0.3
    D, x, w = rng.random((K, F)), rng.random(F), 0.5 + rng.random(F)
    # min w(p + q) + l1·c,  D'c + p − q = x
    program = linprog(
        np.r_[np.full(K, l1), w, w], A_eq=np.hstack([D.T, np.eye(F), -np.eye(F)]), b_eq=x
    )
    at_zero, at_bottom = np.full(K, l1), l1 + D @ w
    penalty = 2 * (l1 + w.max() * D.sum(axis=1))

    def bound(dual):
        z = l1 - D @ dual
        return lower_bound.py_func(x, w, dual, z, penalty, at_zero, at_bottom)

    assert bound(program.eqlin.marginals) == pytest.approx(program.fun, rel=1e-9)
    for _ in range(20):
        dual = rng.uniform(-w, w)
        z = l1 - D @ dual
        wrong = z < 0
        # Along the way from θ to 0, and to −w, prices rise linearly: where is the last one zero?
        ways = []
        for goal, prices in ((np.zeros(F), at_zero), (-w, at_bottom)):
            share = max([z[k] / (z[k] - prices[k]) for k in np.flatnonzero(wrong)], default=0.0)
            ways.append((dual + share * (goal - dual)) @ x)
        assert bound(dual) == pytest.approx(max(ways), rel=1e-9, abs=1e-12)
        assert bound(dual) <= program.fun + 1e-9


def test_without_a_way_to_a_feasible_dual_there_is_no_bound():
    x, w, zero = np.ones(2), np.ones(2), np.zeros(1)
    bound = lower_bound.py_func(x, w, w, np.array([-1.0]), np.ones(1), zero, zero)
    assert bound == -np.inf
    only_down = lower_bound.py_func(x, w, w, np.array([-1.0]), np.ones(1), zero, np.ones(1))
    assert only_down == pytest.approx(2 - 0.5 * 4)
    only_zero = lower_bound.py_func(x, w, w, np.array([-1.0]), np.ones(1), np.ones(1), zero)
    assert only_zero == pytest.approx(2 - 0.5 * 2)


def test_sums_of_rows():
    e, w = np.array([1.0, -2.0, 3.0]), np.array([2.0, 1.0, 0.5])
    assert absolute.py_func(e, w) == 5.5
    assert total_of.py_func(e) == 2.0


# ------------------------------------------------------------------------------ documents


def test_words_that_explain_equally_little_come_in_their_order():
    """All words of a text are new and weigh the same: they are told as they came, not at random."""
    detector = NovelDocumentDetector(3, random_state=0, verbose=0)
    detector.fit(["rain falls on hills", "wind and rain", "dogs bark loud"] * 4)
    words = [f"w{a}{b}" for a in "qzmkd" for b in "xbtgn"]
    told = detector.explain(" ".join(words), n_words=25)
    assert len({share for _, share in told.unexplained}) == 1
    names = [word for word, _ in told.unexplained]
    again = [word for word, _ in detector.explain(" ".join(words), n_words=25).unexplained]
    assert names == again
    assert sorted(names) == sorted(words)
    _, new = detector._current_words().counts([" ".join(words)])
    assert names == list(new)


# ------------------------------------------------------------------------------ sensors


def test_a_second_try_does_not_aim_lower_than_it_must(tmp_path):
    """Columns of whole numbers cost error when they are cut: the rest is spent, not wasted."""
    rng = np.random.default_rng(0)
    n = 300
    wave = np.cumsum(rng.normal(size=(n, 3)), axis=0)
    table = np.hstack([np.round(wave), wave[:, ::-1] + 0.1 * rng.normal(size=(n, 3))])
    lines = ["a,b,c,d,e,f"]
    lines += [",".join([*(f"{v:.0f}" for v in r[:3]), *(f"{v:.3f}" for v in r[3:])]) for r in table]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    tries = []

    def tell(stage, done, total):
        tries.append(stage == "compress" and done == total)

    error = 0.1
    report = compress_file(
        tmp_path / "in.csv", tmp_path / "out.thr", SensorCodec(error=error), tell
    )
    assert report.errors.relative <= error
    assert report.errors.relative > 0.6 * error


# ------------------------------------------------------------------------------ wheels


def test_building_a_wheel_compiles_into_its_folder(tmp_path, monkeypatch):
    """``python -m thresher.tasks.warm_up FOLDER`` runs every piece, in both precisions."""
    done = []

    class Done:
        def __init__(self, value):
            self.value = value

        def result(self):
            return self.value

    class Pool:
        def __init__(self, jobs, mp_context):
            assert mp_context.get_start_method() == "spawn"

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def submit(self, work, *piece):
            done.append(piece)
            return Done(piece)

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", Pool)
    monkeypatch.setattr("concurrent.futures.as_completed", list)
    monkeypatch.setattr(sys, "argv", ["warm_up", str(tmp_path)])
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    monkeypatch.delitem(sys.modules, "thresher.tasks.warm_up")
    runpy.run_module("thresher.tasks.warm_up", run_name="__main__")
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path.resolve())
    n_pieces = len(warm_up._BY_COST)
    assert sorted(done) == sorted((p, t) for p in range(n_pieces) for t in warm_up.DTYPES)


# ------------------------------------------------------------------------------ found by mutants


def test_a_file_that_does_not_tell_how_its_table_was_written_is_refused():
    values = np.ones((2, 3))
    assert [c.name for c in SensorTable.from_about(values, {}, [], 1 << 20).columns] == [
        "sensor 1", "sensor 2", "sensor 3",
    ]  # fmt: skip
    for table in (3, [], {}, {"columns": ["a"]}):
        with pytest.raises(PacketError, match="does not tell how its table was written"):
            SensorTable.from_about(values, {"table": table}, [], 1 << 20)


def test_who_works_elsewhere_calls_nobody_back():
    calls = [print]
    model = OnlineRobustNMF(2, callbacks=calls, verbose=1, n_jobs=2, random_state=0)
    model.history_ = "long"
    alone = without_company(model)
    assert (alone.callbacks, alone.verbose, alone.n_jobs) == (None, 0, 1)
    assert not hasattr(alone, "history_")
    assert (model.callbacks, model.verbose, model.n_jobs) == (calls, 1, 2)
    assert alone.get_params()["n_components"] == 2


def test_zeros_are_taken_apart_at_once_and_exactly():
    (step,) = pursue(np.zeros((4, 3)), None, 0.5, 1e-7)
    assert step.low_rank.values.size == 0
    assert not step.low_rank.product.any()
    assert not step.outliers.any()
    assert (step.objective, step.primal_residual, step.dual_residual) == (0, 0, 0)


def test_a_graph_has_one_neighbour_at_least_and_all_others_at_most():
    X = np.random.default_rng(0).random((5, 3))
    for n_neighbours in (1, 4):
        assert named_graph(n_neighbours, 1.0, X) is not None
    for n_neighbours in (0, 5, -1):
        with pytest.raises(ValueError, match="from 1 to 4"):
            named_graph(n_neighbours, 1.0, X)
    assert named_graph(None, 1.0, X) is None


@pytest.mark.parametrize("n_bytes", [0, 10, 1 << 20, (1 << 20) + 7])
@pytest.mark.parametrize("jumps", [True, False])
def test_what_is_skipped_is_as_much_as_was_said(n_bytes, jumps):
    file = io.BytesIO(bytes(3 << 20))
    _skip(file, n_bytes, jumps)
    assert file.tell() == n_bytes
    _skip(file, 9 << 20, False)  # beyond the end, without end
    assert file.tell() == 3 << 20


def test_light_that_was_learned_waits_for_no_frame_any_more():
    rng = np.random.default_rng(0)
    first = 1 + rng.random(6).astype(np.float32)
    light = Light(first)
    for number in range(8):
        light = light.with_cells(first * (1 + 0.1 * number), number)
    assert len(light.waiting) == 4  # every second frame
    learned = light.learned(OnlineRobustNMF(1, random_state=0, verbose=0))
    assert learned.estimator is not None
    assert learned.waiting == ()
    brighter = 1.4 * first[None]
    np.testing.assert_allclose(learned.predicted(brighter), brighter, rtol=0.05)
    again = learned.with_cells(first, 8).learned(OnlineRobustNMF(1))
    assert again.estimator is not learned.estimator
    assert again.estimator.n_samples_seen_ > learned.estimator.n_samples_seen_


def test_dictionaries_as_parameters_come_back_from_files():
    arrays = {}
    value = {"a": 1, "b": [1.5, None], "c": {"d": "x"}}
    packed = packed_value("p", value, arrays)
    assert unpacked_value(packed, Contents(arrays, {"p": packed}, "file")) == value
