"""Numbers of parts and other settings from hidden entries: planted truth, and what is promised."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import NMF
from typer.testing import CliRunner

import thresher
from thresher import BatchNMF, OnlineNMF, OnlineRobustNMF, OnlineRobustPCA, RobustPCA, TopicModel
from thresher.cli.app import app
from thresher.datasets.samples.table import table_file
from thresher.estimators.scoring import hidden_entries
from thresher.plotting import to_png
from thresher.tasks.choice.choice import chosen, standard_errors
from thresher.tasks.choice.held_out import finalists, masks
from thresher.tasks.choice.in_order import tried_in_order
from thresher.tasks.choice.samples import held_rows
from thresher.tasks.choice.warm import with_more_atoms

MODEL = OnlineRobustNMF(batch_size=32, random_state=0, verbose=0, n_jobs=1)


def planted(n_parts=4, n=240, kind="noisy", seed=0):
    rng = np.random.default_rng(seed)
    parts = rng.random((n_parts, 24)) * (rng.random((n_parts, 24)) < 0.4)
    X = (rng.gamma(1.0, size=(n, n_parts)) * (rng.random((n, n_parts)) < 0.6)) @ parts
    X = np.maximum(X + 0.03 * X.std() * rng.standard_normal(X.shape), 0)
    if kind == "outliers":
        X += 3 * rng.random(X.shape) * (rng.random(X.shape) < 0.03)
    return X


@pytest.mark.parametrize(("n_parts", "kind"), [(3, "outliers"), (6, "noisy")])
def test_planted_parts_are_counted(n_parts, kind):
    X = planted(n_parts, kind=kind, seed=3)
    choice = thresher.choose(MODEL, X, n_components=range(2, 8), n_masks=2, verbose=0)
    assert choice.best_params_ == {"n_components": n_parts}
    assert choice.best_.components_.shape == (n_parts, 24)
    assert choice.best_.n_samples_seen_ % len(X) == 0  # of all samples
    table = pd.DataFrame(choice.table_)
    assert list(table.n_components) == list(range(2, 8))
    assert table.behind.min() == 0
    np.testing.assert_allclose(table.error, choice.errors_.mean(axis=1))
    assert table.stability[n_parts - 2] > 0.9


def test_gaps_sparse_frames_and_sources_are_counted_too(tmp_path):
    X = planted(3, 300, seed=5)
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    np.save(tmp_path / "x.npy", X)
    frame = pd.DataFrame(gaps, columns=[f"s{i}" for i in range(24)])
    for samples in (frame, sparse.csr_array(X), thresher.open(tmp_path / "x.npy")):
        choice = thresher.choose(MODEL, samples, n_components=(2, 3, 5), n_masks=1, verbose=0)
        assert choice.best_params_ == {"n_components": 3}
        assert hasattr(choice.best_, "components_")


def test_a_fit_with_more_parts_starts_from_the_residuals_of_fewer():
    """What is missing is what comes in, and glitches do not."""
    X = planted(4, kind="outliers", seed=1)
    truth = planted(4, seed=1)
    model = OnlineRobustNMF(3, batch_size=32, random_state=0, verbose=0).fit(X)
    more = with_more_atoms(model, X, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(more[:3], model.components_)
    assert (more >= 0).all()
    assert more.shape == (5, 24)
    left = truth - model.inverse_transform(model.transform(truth))
    random = np.random.default_rng(0).random(24)
    gain = [np.linalg.norm(left @ (d / np.linalg.norm(d))) for d in (more[3], random)]
    assert gain[0] > 1.5 * gain[1]
    signed = OnlineRobustPCA(2, random_state=0, verbose=0).fit(X - 1)
    assert (with_more_atoms(signed, X - 1, 3, np.random.default_rng(0))[2] < 0).any()


def test_warm_starts_choose_what_fits_anew_choose():
    X = planted(4, seed=8)
    both = [
        thresher.choose(
            MODEL, X, n_components=range(2, 6), n_masks=2, warm=warm, refit=False, verbose=0
        )
        for warm in (True, False)
    ]
    assert both[0].best_params_ == both[1].best_params_ == {"n_components": 4}
    assert not hasattr(both[0].best_, "components_")
    np.testing.assert_array_equal(both[0].errors_[0], both[1].errors_[0])  # the first is the same


def test_other_settings_and_models():
    X = planted(3, kind="outliers", seed=2)
    weights = (0.03, 30.0)  # the second sets nothing aside
    choice = thresher.choose(
        MODEL, X, n_components=(2, 3), outlier_weight=weights, n_masks=1, verbose=0
    )
    assert choice.best_params_ == {"n_components": 3, "outlier_weight": 0.03}
    assert len(choice.table_["error"]) == 4
    loss = thresher.choose(
        OnlineNMF(3, batch_size=32, random_state=0, verbose=0),
        X,
        divergence=["huber", "squared_l2"],
        n_masks=1,
        verbose=0,
    )
    assert loss.best_params_ == {"divergence": "huber"}  # glitches spoil the other
    batch = BatchNMF(random_state=0, max_iter=30, verbose=0)
    found = thresher.choose(
        batch, planted(3, 120, seed=1), n_components=(2, 3, 5), n_masks=1, verbose=0
    )
    assert found.best_params_ == {"n_components": 3}
    pca = thresher.choose(RobustPCA(verbose=0), X[:60], tol=(1e-3, 1e-4), n_masks=1, verbose=0)
    assert set(pca.best_params_) == {"tol"}


def test_half_lives_are_judged_in_the_order_of_time():
    """Where parts change every 400 rows, a memory without end is the worst."""
    X = np.vstack([planted(3, 400, seed=seed) for seed in range(1, 5)])
    lives = (None, 100)
    model = clone(MODEL).set_params(n_components=3)
    choice = thresher.choose(model, X, forgetting=lives, verbose=0)
    assert choice.best_params_ == {"forgetting": 100}
    assert choice.best_.n_samples_seen_ == 1600  # the one that read them
    again = thresher.choose(model, iter(np.split(X, 50)), forgetting=lives, verbose=0)
    np.testing.assert_allclose(again.errors_, choice.errors_, rtol=1e-6)


def test_masks_hide_no_row_twice_and_leave_most_to_learn_from():
    X = np.arange(50.0)[:, None]
    pairs = list(masks(X, 3, np.random.default_rng(0)))
    hidden = np.concatenate([test[:, 0] for _, test in pairs])
    assert len(np.unique(hidden)) == len(hidden) == 30
    for learn, test in pairs:
        assert sorted(np.concatenate([learn, test])[:, 0]) == list(range(50))


def test_a_long_source_is_held_as_rows_at_even_distances(monkeypatch):
    from thresher.tasks.choice import samples

    monkeypatch.setattr(samples, "_MOST", 40)
    rows = held_rows((np.full((7, 1), 7.0) * k + np.arange(7)[:, None] for k in range(100)), MODEL)
    steps = np.diff(rows[:, 0])
    assert len(rows) <= 40
    assert len(np.unique(steps)) == 1
    assert rows[0, 0] == 0


def test_finalists_are_the_lowest_with_their_neighbours():
    settings = [{"n_components": k, "outlier_weight": w} for w in (1.0, 2.0) for k in range(12)]
    errors = np.concatenate([np.abs(np.arange(12) - 8.0), 1 + np.abs(np.arange(12) - 3.0)])
    errors[1] = 0  # by chance
    assert finalists(settings, errors) == [7, 8, 9, 15]
    assert finalists(settings[:2], errors[:2]) == [0, 1]


def test_rules():
    errors = np.array([[2.0, 2.2, 1.8], [1.05, 1.3, 0.8], [1.0, 1.2, 0.85], [1.1, 1.3, 0.95]])
    behind = errors - errors[2]
    table = {
        "n_components": [2, 3, 4, 5],
        "error": errors.mean(axis=1),
        "behind": behind.mean(axis=1),
        "behind_error": standard_errors(behind),
    }
    assert chosen(table, 2, "lowest") == 2
    assert chosen(table, 2, "one_se") == 1  # behind by .033, give or take .044
    table["behind"][1] = 0.9e-3 * table["behind"].max()  # which no fit can tell from nothing
    assert chosen(table, 2, "lowest") == 1
    expected = behind.std(axis=1, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(table["behind_error"], expected)


def test_topics_come_with_coherence_and_stability():
    rng = np.random.default_rng(0)
    vocabulary = [[f"{theme}{letter}" for letter in "abcdefghijkl"] for theme in ("ap", "go", "ce")]
    documents = [" ".join(rng.choice(vocabulary[i % 3], 30)) for i in range(150)]
    model = TopicModel(random_state=0, verbose=0)
    choice = thresher.choose(model, documents, n_components=(2, 3, 4), n_masks=2, verbose=0)
    assert set(choice.table_) >= {"coherence", "stability", "error"}
    assert choice.table_["coherence"][1] > choice.table_["coherence"][0]  # of mixed themes
    assert choice.table_["stability"][1] > 0.9
    assert len(choice.best_.topics_) == choice.best_params_["n_components"]


def test_plot_and_page(tmp_path):
    X = planted(3, 120, seed=1)
    choice = thresher.choose(
        MODEL, X, n_components=(2, 3), outlier_weight=["auto", "mad"], n_masks=1, verbose=0
    )
    figure = choice.plot()
    assert len(figure.axes[0].containers) == 2  # a curve with bars for each weight
    assert to_png(figure).startswith(b"\x89PNG")
    lone = thresher.choose(
        clone(MODEL).set_params(n_components=2),
        X,
        outlier_weight=["auto", "mad"],
        n_masks=1,
        verbose=0,
    )
    assert lone.plot().axes[0].get_xticklabels()[1].get_text() == "outlier_weight=mad"
    page = choice.report(tmp_path / "page.html").read_text()
    assert "stability" in page
    assert "n_components = " in page


def test_refusals_are_sentences():
    X = planted(3, 60)
    cases = [
        ({}, "nothing to choose from"),
        ({"n_components": []}, "no values"),
        ({"n_components": (2, -1)}, "n_components"),
        ({"colour": [1]}, "has no parameter 'colour'"),
        ({"n_components": (2,), "rule": "best"}, "rule='best'"),
        ({"n_components": (2,), "n_masks": 0}, "n_masks=0"),
        ({"n_components": (2,), "n_masks": 40}, "too few"),
    ]
    for given, says in cases:
        with pytest.raises((ValueError, TypeError), match=says):
            thresher.choose(MODEL, X, verbose=0, **given)
    with pytest.raises(ValueError, match="order of time"):
        tried_in_order(BatchNMF(), [{"forgetting": 1}], X, 0.1, 0, None)
    with pytest.raises(TypeError, match="cannot tell hidden entries"):
        thresher.choose(NMF(), X, n_components=(2,))


def test_all_settings_are_checked_before_anything_is_learned(monkeypatch):
    def no_work(*given, **named):
        raise AssertionError("it was learned from before all was checked")

    monkeypatch.setattr(type(MODEL), "fit", no_work)
    monkeypatch.setattr(type(MODEL), "partial_fit", no_work)
    with pytest.raises(ValueError, match="outlier_weight"):
        thresher.choose(
            MODEL, planted(3, 60), n_components=(2,), outlier_weight=(0.1, -1.0), verbose=0
        )


def test_an_interrupt_leaves_what_the_finished_masks_say(monkeypatch):
    from thresher.tasks.choice import choosing

    calls, real = [], choosing.tried

    def stops_at_the_second(*given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(choosing, "tried", stops_at_the_second)
    with pytest.warns(UserWarning, match="1 of 3 masks"):
        choice = thresher.choose(MODEL, planted(3, 100), n_components=(2, 3), verbose=0)
    assert choice.errors_.shape == (2, 10)


def test_scores_in_groups_are_those_of_score_entries():
    X = planted(3, 100)
    model = OnlineRobustNMF(3, batch_size=32, random_state=0, verbose=0).fit(X)
    rows, errors = model._entry_errors(X, 0.1, np.random.default_rng(5))
    places, _ = hidden_entries(X, 0.1, np.random.default_rng(5))
    np.testing.assert_array_equal(rows, places // 24)
    assert (errors >= 0).all()


def test_command(tmp_path):
    (tmp_path / "table.csv").write_bytes(table_file())
    line = ["choose", str(tmp_path / "table.csv"), "--n-components", "2-4", "--n-masks", "1"]
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, [*line, "--json", "--report", str(page)])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["best"] == {"n_components": 3}  # habits
    assert len(answer["table"]["error"]) == 3
    assert page.exists()
    shown = CliRunner().invoke(app, line, env={"COLUMNS": "200"}).output
    for parts, error in zip((2, 3, 4), answer["table"]["error"], strict=True):
        assert re.search(rf"\b{parts}\W+{error:.4g} ", shown), shown
    for wrong in (["--n-components", "x"], ["--estimator", "None"], ["--divergence", "kl"]):
        assert CliRunner().invoke(app, [*line, *wrong]).exit_code == 2
