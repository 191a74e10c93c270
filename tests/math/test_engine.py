"""The loops: forgetting, order of samples, threads, convergence, callbacks, checkpoints."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from thresher import BatchNMF, MannWhitneyDrift, OnlineNMF, OnlineRobustNMF, RobustNMF, load
from thresher.engine import (
    History,
    HistoryRow,
    StopAfter,
)
from thresher.engine.history import LONGEST
from thresher.streams import ArraySource
from thresher.testing.data import planted


def model(**parameters):
    return OnlineRobustNMF(4, random_state=0, verbose=0, batch_size=64, **parameters)


def test_the_past_is_discounted_once():
    X = planted(128)
    fitted = model(forgetting=100.0).partial_fit(X[:64]).partial_fit(X[64:])
    assert fitted.statistics_.weight == pytest.approx(64 + 64 * 2 ** (-64 / 100))


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


def test_unused_atoms_are_replaced():
    """An atom far from all data is never used; it is replaced by a clean sample and learns."""
    X = planted(400)
    X[:, :3] = 0
    init = np.random.default_rng(0).random((4, X.shape[1]))
    init[2] = 0
    init[2, :3] = 1
    fitted = model(init=init).fit(X)
    assert fitted.components_[2, 3:].max() > 0.1
    assert (fitted.transform(X)[:, 2] > 0).mean() > 0.2


def test_passes_end_when_the_loss_converges():
    X = planted(600)
    short, long = model(tol=0.9).fit(X), model(tol=1e-12).fit(X)
    assert short.n_samples_seen_ == 1200  # two passes, to compare their losses
    assert 1200 < long.n_samples_seen_ <= 6000


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


def mixtures(seed):
    """Spectra that overlap, shares of them that never are pure, and light that varies."""
    rng = np.random.default_rng(seed)
    bands = np.linspace(0, 1, 40)
    D = np.exp(-0.5 * ((bands - np.array([[0.3], [0.5], [0.7]])) / 0.25) ** 2)
    C = rng.dirichlet(np.full(3, 2.0), 600) * rng.uniform(0.8, 1.1, (600, 1))
    return np.maximum(C @ D + 0.01 * rng.standard_normal((600, 40)), 0)


def test_extrapolation_makes_batch_fits_converge_quickly():
    """Alternation alone takes 84 iterations to 0.010012."""
    model = RobustNMF(3, code_set="simplex", random_state=0, verbose=0).fit(mixtures(1))
    losses = model.history_.column("loss")
    assert np.all(np.diff(losses) <= 1e-12 * losses[0])
    assert len(losses) < 40
    assert losses[-1] < 0.01001


@pytest.mark.parametrize("seed", [0, 1])
def test_batch_fits_end_before_they_fit_the_noise(seed):
    """Three times as many atoms as there are: missing are filled as well as from the stream."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, size=(1500, 6)) @ rng.gamma(0.5, size=(6, 36))
    X = np.maximum(X + 0.3 * rng.standard_normal(X.shape), 0)
    missing = rng.random(X.shape) < 0.1
    errors = {}
    for kind in (OnlineRobustNMF, RobustNMF):
        model = kind(18, outlier_weight=0.75, random_state=0, verbose=0)
        filled = model.fit(np.where(missing, np.nan, X)).impute(np.where(missing, np.nan, X))
        errors[kind] = np.sqrt(np.mean((filled - X)[missing] ** 2))
    assert errors[RobustNMF] <= 1.02 * errors[OnlineRobustNMF]


def test_history_is_thinned():
    history = History()
    for step in range(2 * LONGEST):
        history.append(HistoryRow(step, 0.0, 0.0, 0.0, 0.0))
    assert len(history) <= LONGEST
    samples = history.column("samples")
    assert samples[0] == 0
    assert (np.diff(samples) > 0).all()
    assert (samples[-LONGEST // 4 :] == np.arange(2 * LONGEST - LONGEST // 4, 2 * LONGEST)).all()


def test_threads_do_not_matter_within_a_batch():
    """Batches of several blocks, merged in order: the same bits for any number of threads."""
    X = planted(700, 200)
    one, three = (
        OnlineRobustNMF(4, random_state=0, verbose=0, batch_size=350, n_jobs=n).fit(X)
        for n in (1, 3)
    )
    np.testing.assert_array_equal(one.components_, three.components_)


def test_p_values_of_shifts_are_those_of_mann_and_whitney():
    """The last 4, 8, 16 and 32 numbers against eight times as many before, each at a quarter."""
    rng = np.random.default_rng(0)
    values = np.r_[rng.normal(size=300), rng.normal(1.0, size=30)]
    detector = MannWhitneyDrift(1e-9)
    for i, value in enumerate(values):
        detector.update(value)
        if i % 10 == 3 and i > 40:
            tests = [
                mannwhitneyu(values[: i + 1][-k:], values[: i + 1][-9 * k : -k], method="exact",
                             alternative="greater").pvalue
                for k in (4, 8, 16, 32)
                if k <= i
            ]  # fmt: skip
            # Beyond the mean nobody would give an alarm, and the p-value is one.
            tests = [p if p < 0.5 else 1.0 for p in tests]
            assert detector.p_value == pytest.approx(min(1.0, 4 * min(tests)), rel=1e-9)
    assert detector.p_value < 1e-3


@pytest.mark.parametrize("solver", ["auto", "bpgd", "badmm"])
def test_batch_solvers_exclude_entries_without_weight(solver):
    X, rng = planted(60), np.random.default_rng(0)
    mask = (rng.random(X.shape) < 0.8).astype(float)
    fits = [
        RobustNMF(3, solver=solver, max_iter=5, random_state=0, verbose=0)
        .fit(given, entry_weight=mask)
        .components_
        for given in (X, np.where(mask > 0, X, 0.5))
    ]
    np.testing.assert_allclose(fits[0], fits[1], rtol=1e-9, atol=1e-12)


def test_badmm_refuses_weights_other_than_masks():
    X = planted(30)
    with pytest.raises(ValueError, match="weights"):
        RobustNMF(3, solver="badmm", verbose=0).fit(X, entry_weight=np.full(X.shape, 0.5))


def test_a_penalty_on_atoms_removes_those_that_do_not_pay():
    """With two planted atoms, four under a penalty cost no more than two."""
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, size=(80, 2)) @ rng.gamma(1.0, size=(2, 12)) + 0.01 * rng.random((80, 12))
    given = {"dictionary_penalty": 3.0, "code_set": "box", "random_state": 0, "verbose": 0}
    two, four = (BatchNMF(k, max_iter=200, **given).fit(X) for k in (2, 4))

    def cost(model):
        return model.history_[-1].loss

    assert cost(four) <= cost(two) * (1 + 1e-3)


@pytest.mark.parametrize("solver", ["auto", "spsgd", "ol_guan", "ol_wang"])
def test_frozen_atoms_stay(solver):
    X = planted(60)
    init = np.abs(np.random.default_rng(0).standard_normal((3, X.shape[1])))
    init /= np.linalg.norm(init, axis=1, keepdims=True)
    divergence = "huber" if solver == "ol_wang" else "squared_l2"
    given = {"init": init, "frozen_atoms": [1], "random_state": 0, "verbose": 0}
    model = OnlineNMF(3, divergence=divergence, solver=solver, n_passes=2, **given).fit(X)
    np.testing.assert_allclose(model.components_[1], init[1])
    assert np.abs(model.components_[[0, 2]] - init[[0, 2]]).max() > 1e-3
