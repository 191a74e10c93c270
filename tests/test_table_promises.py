"""Tables as they come: heavy contamination, odd times and columns, files, and live streams."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.ndimage import median_filter
from scipy.signal import lfilter
from sklearn.linear_model import BayesianRidge
from typer.testing import CliRunner

from sensors import planted_sensors
from thresher import TableCleaner
from thresher.cli.app import app
from thresher.tasks.tables.alarms import valley
from thresher.tasks.tables.committee import Committee, likeliest_weights
from thresher.tasks.tables.factors import Factors


def cleaner(**parameters: object) -> TableCleaner:
    return TableCleaner(random_state=0, **parameters)


# ------------------------------------------------------------------- the mathematics


def test_moments_of_factors_are_those_of_each_row_by_itself() -> None:
    rng = np.random.default_rng(0)
    n, F, K = 12, 7, 3
    factors = Factors(rng.normal(size=(F, K)), 0.2 + rng.random(F))
    read = rng.random((n, F)) > 0.3
    read[4:6] = read[3]
    read[7] = False
    Z = np.where(read, rng.normal(size=(n, F)), 0.0)
    codes, total, gone = factors.expected(Z, read)
    inside, outside = np.zeros((K, K)), np.zeros((F, K, K))
    for t in range(n):
        L, own = factors.loadings[read[t]], factors.own[read[t]]
        C = np.linalg.inv(np.eye(K) + L.T @ (L / own[:, None]))
        f = C @ L.T @ (Z[t, read[t]] / own)
        np.testing.assert_allclose(codes[t], f, atol=1e-10)
        inside += C + np.outer(f, f)
        outside[~read[t]] += C + np.outer(f, f)
    np.testing.assert_allclose(total, inside, atol=1e-9)
    np.testing.assert_allclose(gone, outside, atol=1e-9)


# ------------------------------------------------------------------- many glitches


def test_weights_of_a_committee_are_those_of_bayesian_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 80, 6)) @ rng.normal(size=(3, 6, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=(3, 80)) * np.array([[0.1], [1.0], [5.0]])
    X, y = X - X.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    G, b = np.einsum("rna,rnb->rab", X, X), np.einsum("rna,rn->ra", X, y)
    ours, ridge = likeliest_weights(G, b, (y**2).sum(1), np.full(3, 80))
    for one in range(3):
        theirs = BayesianRidge(max_iter=1000, tol=1e-10, fit_intercept=False).fit(X[one], y[one])
        assert np.allclose(ours[one], theirs.coef_, rtol=1e-3, atol=1e-4)
        assert ridge[one] == pytest.approx(theirs.lambda_ / theirs.alpha_, rel=1e-2)


def test_a_committee_knows_a_column_by_the_others_alone() -> None:
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(400, 2))
    rows = factors @ rng.normal(size=(2, 30)) + 5 * rng.normal(size=30)
    rows[:, 7] = 3.0  # never changes
    trusted = np.ones(rows.shape, dtype=bool)
    trusted[:100, 4] = False
    spoiled = rows.copy()
    spoiled[:100, 4] = 1e3 * rng.normal(size=100)  # filled by nonsense, and not trusted
    spoiled[:100, :4] = rows[:100, :4]
    committee = Committee.learned(spoiled, trusted)
    assert not committee.weights.diagonal().any()
    assert np.allclose(committee.said(rows)[:, 7], 3.0, atol=1e-3)
    assert np.abs(committee.said(rows)[:, 4] - rows[:, 4]).max() < 0.02 * rows[:, 4].std()


def test_a_sensor_that_is_off_for_a_quarter_of_the_time_is_told_by_the_others() -> None:
    """As well as by a regression that knows all of its readings; a season comes on top."""
    rng = np.random.default_rng(2)
    n, F = 600, 25
    season = np.sin(2 * np.pi * np.arange(n) / n)[:, None] * rng.normal(size=F)
    factors = np.cumsum(rng.normal(size=(n, 3)), axis=0) / 10
    X = factors @ rng.normal(size=(3, F)) + season + 0.3 * rng.normal(size=(n, F))
    Y, off = X.copy(), slice(300, 450)
    errors, least = [], []
    for j in (0, 9, 17):
        Y[off, j] = np.nan
        others = np.delete(X, j, axis=1)
        knows_all = BayesianRidge().fit(others, X[:, j]).predict(others[off])
        least.append(np.sqrt(np.mean((knows_all - X[off, j]) ** 2)))
    filled = TableCleaner(random_state=0).clean(Y).table
    errors = [np.sqrt(np.mean((filled[off, j] - X[off, j]) ** 2)) for j in (0, 9, 17)]
    assert np.mean(errors) < 1.3 * np.mean(least)


def test_the_valley_is_in_front_of_the_first_hill() -> None:
    rng = np.random.default_rng(3)
    sound, glitches = rng.exponential(0.5, 20_000), rng.normal(6, 1, 2_000)
    far = rng.normal(15, 0.2, 200)
    assert 2 < valley(np.concatenate([sound, glitches]), 0.0) < 5
    assert 2 < valley(np.concatenate([sound, glitches, far]), 0.0) < 5
    assert valley(sound, 0.0) == np.inf


@pytest.mark.parametrize(("share", "least"), [(0.05, 0.8), (0.2, 0.9)])
def test_glitches_are_found_among_bursts(share: float, least: float) -> None:
    """Traffic: columns of very different sizes, none near normal, with true bursts."""
    rng = np.random.default_rng(1)
    n, F = 600, 100

    def wandering(count: int, stays: float) -> np.ndarray:
        news = np.sqrt(1 - stays**2) * rng.normal(size=(n, count))
        return np.asarray(lfilter([1.0], [1.0, -stays], news, axis=0))

    X = np.exp(0.36 * wandering(3, 0.98) @ rng.normal(size=(3, F)) + 0.5 * wandering(F, 0.7))
    X = X * (1 + (rng.random((n, F)) < 0.01) * rng.pareto(2, (n, F))) * np.geomspace(1, 1e6, F)
    wrong = rng.random(X.shape) < share
    away = rng.choice([-1, 1], X.shape) * rng.uniform(2, 6, X.shape) * X.std(0)
    flags = TableCleaner(random_state=0).clean(np.where(wrong, X + away, X)).flags
    assert 2 * (flags & wrong).sum() / (flags.sum() + wrong.sum()) > least


@pytest.mark.parametrize("tails", ["noise", "bursts"])
def test_a_fifth_of_all_readings_may_be_wrong(tails: str) -> None:
    """Better than a rolling median with the best threshold, by default."""
    rng = np.random.default_rng(0)
    truth = planted_sensors(600, 8)
    if tails == "bursts":
        truth = np.exp(truth)
    wrong = rng.random(truth.shape) < 0.2
    off = rng.choice([-1, 1], truth.shape) * rng.uniform(2, 6, truth.shape) * truth.std(0)
    table = np.where(wrong, truth + off, truth)
    found = cleaner().clean(table)

    def f(flags: np.ndarray) -> float:
        return float(2 * (flags & wrong).sum() / (flags.sum() + wrong.sum()))

    away = np.abs(table - median_filter(table, (7, 1))) / truth.std(0)
    assert f(found.flags) > max(f(away > limit) for limit in np.linspace(0.2, 4, 60))


@pytest.mark.parametrize("rate", [0.001, 0.02])
@pytest.mark.parametrize("heavy", [False, True])
def test_false_alarms_are_as_stated(rate: float, heavy: bool) -> None:
    rng = np.random.default_rng(1)
    noise = rng.standard_t(3, (2500, 10)) / 3 if heavy else rng.normal(size=(2500, 10)) / 3
    flags = cleaner(false_alarm_rate=rate).clean(planted_sensors(2500, 10) + noise).flags
    assert 0.4 * rate < flags.mean() < 2.5 * rate


# ------------------------------------------------------------------- times and columns


def hours(n: int = 200, **columns: object) -> pd.DataFrame:
    index = pd.date_range("2026-03-28", periods=n, freq="h", tz="Europe/Vienna")  # summer time
    table = pd.DataFrame(planted_sensors(n, 3), index, ["a", "b", "c"])
    table.iloc[50:60, 0] = np.nan
    return table.assign(**columns)


def test_times_in_any_order_and_zone_give_the_same() -> None:
    table = hours()
    straight = cleaner().clean(table).table
    mixed = cleaner().clean(table.sample(frac=1, random_state=0)).table
    elsewhere = cleaner().clean(table.tz_convert("Asia/Tokyo")).table
    pd.testing.assert_frame_equal(mixed.sort_index(), straight, check_freq=False)
    np.testing.assert_array_equal(elsewhere, straight)


@pytest.mark.parametrize("causal", [False, True])
def test_the_same_time_twice_is_fine(causal: bool) -> None:
    table = hours()
    doubled = pd.concat([table, table]).sort_index(kind="stable")
    found = cleaner(causal=causal).clean(doubled)
    assert not found.table.iloc[60:].isna().any().any()
    gap = found.table["a"].iloc[100:120].to_numpy()
    truth = planted_sensors(200, 3)[:, 0]
    assert np.abs(gap[::2] - truth[50:60]).mean() < truth.std()


def test_columns_without_numbers_changes_or_readings() -> None:
    table = hours(
        constant=7.0, none=np.nan, count=np.arange(200) // 9, on=np.arange(200) % 2 == 0, name="x"
    )
    table.iloc[100:110, 3] = np.nan
    with pytest.warns(UserWarning, match="'none'"):
        found = cleaner().clean(table)
    assert (found.table["constant"] == 7).all()
    assert found.table["none"].isna().all()
    assert found.table["count"].dtype == table["count"].dtype
    assert found.table[["on", "name"]].equals(table[["on", "name"]])
    assert not found.flags[["constant", "none"]].any().any()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (7, 1), (30, 1), (5, 40)])
def test_tables_of_any_size(shape: tuple[int, int], causal: bool) -> None:
    table = np.random.default_rng(0).normal(size=shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = cleaner(causal=causal).clean(table)
    kept = ~found.flags
    assert np.array_equal(found.table[kept], table[kept])
    assert found.flags.mean() < 0.2


# ------------------------------------------------------------------- live


def test_gaps_of_a_live_stream_are_filled_better_than_by_the_last_reading() -> None:
    truth, errors, of_last, inside = planted_sensors(600, 8), [], [], []
    for seed in range(3):
        gaps = np.random.default_rng(seed).random(truth.shape) < 0.1
        gaps[:100] = False
        spoiled = np.where(gaps, np.nan, truth)
        found = cleaner(causal=True).clean(spoiled)
        last = pd.DataFrame(spoiled).ffill().to_numpy()
        errors.append(np.mean((found.table - truth)[gaps] ** 2))
        of_last.append(np.mean((last - truth)[gaps] ** 2))
        inside.append(((found.lower <= truth) & (truth <= found.upper))[gaps].mean())
    assert np.sqrt(np.mean(errors)) < 0.83 * np.sqrt(np.mean(of_last))
    assert 0.87 < np.mean(inside) < 0.93


# ------------------------------------------------------------------- files


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_the_command_cleans_files_of_each_kind(suffix: str, tmp_path: Path) -> None:
    table = hours().reset_index(names="time")
    table["time"] = table["time"].dt.tz_convert(None)
    table.loc[120, "b"] = 40.0
    source, target = tmp_path / f"table{suffix}", tmp_path / f"clean{suffix}"
    changes, report = tmp_path / "changes.csv", tmp_path / "clean.html"
    if suffix == ".csv":
        table.to_csv(source, index=False)
    else:
        frame = pl.from_pandas(table)
        frame.write_parquet(source) if suffix == ".parquet" else frame.write_ipc(source)
    options = ["--changes", str(changes), "--report", str(report), "--random-state", "0"]
    run = CliRunner().invoke(app, ["clean", str(source), str(target), *options])
    assert run.exit_code == 0, run.output
    read = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".feather": pd.read_feather}[suffix]
    made, listed = read(target), pd.read_csv(changes)
    assert not made.isna().any().any()
    assert abs(made.loc[120, "b"]) < 10
    changed = (made[["a", "b", "c"]] - table[["a", "b", "c"]]).abs().to_numpy() > 1e-9
    assert (changed | table[["a", "b", "c"]].isna().to_numpy()).sum() == len(listed)
    assert set(listed["column"]) >= {"a", "b"}
    assert len(listed[listed["column"] == "a"]) >= 10
    assert "glitches replaced" in report.read_text()
