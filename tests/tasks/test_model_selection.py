"""Settings chosen by hidden entries: planted numbers of components, rules, forms and refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import NMF
from typer.testing import CliRunner

import thresher
from tasks.planted_documents import THREE, documents
from thresher import BatchNMF, OnlineNMF, OnlineRobustNMF, RobustPCA, TopicModel
from thresher.cli import app

QUIET = {"random_state": 0, "verbose": 0}
MODEL = OnlineRobustNMF(batch_size=32, n_jobs=1, **QUIET)


def planted(n_components=4, n=240, outliers=False, seed=0):
    rng = np.random.default_rng(seed)
    D = rng.random((n_components, 24)) * (rng.random((n_components, 24)) < 0.4)
    codes = rng.gamma(1.0, size=(n, n_components)) * (rng.random((n, n_components)) < 0.6)
    X = codes @ D
    X = np.maximum(X + 0.03 * X.std() * rng.standard_normal(X.shape), 0)
    return X + outliers * 3 * rng.random(X.shape) * (rng.random(X.shape) < 0.03)


def choose(X, model=MODEL, **given):
    return thresher.choose(model, X, **{"verbose": 0, "n_masks": 1, **given})


@pytest.mark.parametrize(("n_components", "outliers"), [(3, True), (6, False)])
def test_planted_components_are_counted(n_components, outliers):
    X = planted(n_components, outliers=outliers, seed=3)
    choice = choose(X, n_components=range(2, 8), n_masks=2)
    assert choice.best_params_ == {"n_components": n_components}
    assert choice.best_.components_.shape == (n_components, 24)
    assert choice.best_.n_samples_seen_ % len(X) == 0  # refitted to all samples
    table = pd.DataFrame(choice.table_)
    assert list(table.n_components) == list(range(2, 8))
    np.testing.assert_allclose(table.error, choice.errors_.mean(axis=1))
    assert table.error.idxmin() == n_components - 2
    assert table.stability[n_components - 2] > 0.9


@pytest.mark.parametrize("form", ["frame with missing values", "csr", "source"])
def test_components_are_counted_in_any_form_of_samples(form, tmp_path):
    X = planted(3, 300, seed=5)
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    np.save(tmp_path / "x.npy", X)
    samples = {
        "frame with missing values": pd.DataFrame(missing, columns=[f"s{i}" for i in range(24)]),
        "csr": sparse.csr_array(X),
        "source": thresher.open(tmp_path / "x.npy"),
    }[form]
    choice = choose(samples, n_components=(2, 3, 5))
    assert choice.best_params_ == {"n_components": 3}
    assert choice.best_.components_.shape == (3, 24)


def test_warm_starts_choose_what_cold_starts_choose():
    X = planted(4, seed=8)
    both = [
        choose(X, n_components=range(2, 6), n_masks=2, warm=warm, refit=False)
        for warm in (True, False)
    ]
    assert both[0].best_params_ == both[1].best_params_ == {"n_components": 4}
    assert not hasattr(both[0].best_, "components_")
    np.testing.assert_array_equal(both[0].errors_[0], both[1].errors_[0])


def test_a_choice_is_repeatable_and_the_model_is_left_alone():
    model = clone(MODEL)
    one, two = (choose(planted(3, 100), model, n_components=(2, 3)) for _ in range(2))
    np.testing.assert_array_equal(one.errors_, two.errors_)
    np.testing.assert_array_equal(one.best_.components_, two.best_.components_)
    assert not hasattr(model, "components_")
    assert model.n_components == MODEL.n_components


@pytest.mark.parametrize(
    ("model", "given", "best"),
    [
        (
            MODEL,  # an outlier weight of 30 has no outliers
            {"n_components": (2, 3), "outlier_weight": (0.03, 30.0)},
            {"n_components": 3, "outlier_weight": 0.03},
        ),
        (
            OnlineNMF(3, batch_size=32, **QUIET),  # outliers spoil the squared loss
            {"divergence": ["huber", "squared_l2"]},
            {"divergence": "huber"},
        ),
        (BatchNMF(max_iter=30, **QUIET), {"n_components": (2, 3)}, {"n_components": 3}),
    ],
)
def test_other_settings_and_models_are_chosen(model, given, best):
    choice = choose(planted(3, outliers=not isinstance(model, BatchNMF), seed=2), model, **given)
    assert choice.best_params_ == best
    assert len(choice.table_["error"]) == np.prod([len(values) for values in given.values()])


def test_a_model_without_components_to_count():
    choice = choose(planted(3, 60), RobustPCA(verbose=0), tol=(1e-3, 1e-4))
    assert set(choice.best_params_) == {"tol"}


def test_half_lives_are_compared_in_the_order_of_time():
    """Components change every 400 samples, so the whole past is the worst memory."""
    X = np.vstack([planted(3, 400, seed=seed) for seed in range(1, 5)])
    model = clone(MODEL).set_params(n_components=3)
    choice = choose(X, model, forgetting=(None, 100))
    assert choice.best_params_ == {"forgetting": 100}
    assert choice.best_.n_samples_seen_ == 1600
    streamed = choose(iter(np.split(X, 50)), model, forgetting=(None, 100))
    np.testing.assert_allclose(streamed.errors_, choice.errors_, rtol=1e-6)
    with pytest.raises(ValueError, match="forgetting"):
        choose(X, BatchNMF(3, **QUIET), forgetting=(None, 100))


def test_one_standard_error_prefers_fewer_components():
    X = planted(4, 120, outliers=True, seed=4)
    lowest, fewer = (
        choose(X, n_components=range(3, 7), n_masks=2, rule=rule, refit=False)
        for rule in ("lowest", "one_se")
    )
    np.testing.assert_array_equal(lowest.errors_, fewer.errors_)
    error = fewer.errors_.mean(axis=1)
    behind = fewer.errors_ - fewer.errors_[error.argmin()]
    allowed = behind.std(axis=1, ddof=1) / np.sqrt(behind.shape[1])
    within = np.flatnonzero(behind.mean(axis=1) <= allowed + 1e-3 * np.ptp(error))
    assert fewer.best_params_["n_components"] == within[0] + 3
    assert fewer.best_params_["n_components"] <= lowest.best_params_["n_components"]


def test_topics_come_with_coherence_and_stability():
    choice = choose(
        documents(THREE, 400)[0], TopicModel(**QUIET), n_components=(2, 3, 4), n_masks=2
    )
    assert choice.table_["coherence"][1] > choice.table_["coherence"][0]
    assert choice.table_["stability"][1] > 0.9
    assert choice.best_params_ == {"n_components": 3}
    assert len(choice.best_.topics_) == 3


def test_the_report_and_the_plot(tmp_path):
    choice = choose(planted(3, 120, seed=1), n_components=(2, 3), outlier_weight=["auto", "mad"])
    assert choice.plot().axes
    page = choice.report(tmp_path / "page.html").read_text()
    for keyword in ("n_components", "outlier_weight", "stability"):
        assert keyword in page


@pytest.mark.parametrize(
    ("keyword", "given"),
    [
        ("nothing", {}),
        ("no values", {"n_components": []}),
        ("n_components", {"n_components": (2, -1)}),
        ("outlier_weight", {"n_components": (2,), "outlier_weight": (0.1, -1.0)}),
        ("colour", {"colour": [1]}),
        ("rule", {"n_components": (2,), "rule": "best"}),
        ("n_masks", {"n_components": (2,), "n_masks": 0}),
        ("few", {"n_components": (2,), "n_masks": 40}),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_learned(keyword, given):
    def never(step):
        raise AssertionError("learned before all settings were checked")

    model = clone(MODEL).set_params(callbacks=[never])
    with pytest.raises((ValueError, TypeError), match=keyword):
        choose(planted(3, 60), model, **given)


def test_models_that_cannot_score_hidden_entries_are_refused():
    with pytest.raises(TypeError, match="NMF"):
        choose(planted(3, 60), NMF(), n_components=(2,))


def test_an_interrupt_keeps_the_finished_masks():
    X, steps = planted(3, 100), []

    def interrupt(step):
        steps.append(step)
        if len(steps) == limit:
            raise KeyboardInterrupt

    model, limit = clone(MODEL).set_params(callbacks=[interrupt]), -1
    whole = choose(X, model, n_components=(2, 3), warm=False, refit=False)
    limit = 2 * len(steps) + 1  # the second run has finished one mask of three
    with pytest.warns(UserWarning, match="1 of 3"):
        choice = choose(X, model, n_components=(2, 3), n_masks=3, warm=False, refit=False)
    np.testing.assert_array_equal(choice.errors_, whole.errors_)
    assert choice.best_params_ == whole.best_params_


def test_the_command_gives_the_table_and_a_report(tmp_path):
    table = pd.DataFrame(planted(3, 200, seed=5), columns=[f"s{i}" for i in range(24)])
    table.to_csv(tmp_path / "table.csv", index=False)
    line = ["choose", str(tmp_path / "table.csv"), "--n-components", "2-4", "--n-masks", "1"]
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, [*line, "--json", "--report", str(page)])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["best"] == {"n_components": 3}
    assert len(answer["table"]["error"]) == 3
    assert page.exists()
    shown = CliRunner().invoke(app, line, env={"COLUMNS": "200"}).output
    assert f"{answer['table']['error'][1]:.4g}" in shown
    for wrong in (["--n-components", "x"], ["--estimator", "None"], ["--divergence", "kl"]):
        assert CliRunner().invoke(app, [*line, *wrong]).exit_code == 2
