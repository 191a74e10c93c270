"""TableCleaner: missing values are imputed, anomalies are found, and intervals hold."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.ndimage import median_filter
from scipy.signal import lfilter
from sklearn.impute import KNNImputer
from sklearn.linear_model import BayesianRidge
from sklearn.metrics import precision_recall_curve
from typer.testing import CliRunner

import thresher
from sensors import planted_sensors
from thresher import TableCleaner
from thresher.cli import app

offline_and_online = pytest.mark.parametrize("causal", [False, True])
may_stay_empty = pytest.mark.filterwarnings("ignore:Nothing is known")


def cleaner(**parameters):
    return TableCleaner(**{"random_state": 0, "verbose": 0, **parameters})


def autoregression(n, F, coefficient, seed=0):
    noise = np.sqrt(1 - coefficient**2) * np.random.default_rng(seed).normal(size=(n, F))
    return lfilter([1.0], [1.0, -coefficient], noise, axis=0)


def pressures(n=500, F=8):
    """Sensors that move together slowly, as air pressure does."""
    rng = np.random.default_rng(0)
    wave = lfilter([0.01], [1.0, -1.88, 0.89], rng.normal(size=n))
    return 1000 + 5 * wave[:, None] * rng.uniform(0.8, 1.2, F) + 0.03 * rng.normal(size=(n, F))


def bursts(n=600, F=100):
    """Network traffic: columns of very different sizes, not normal, with true bursts."""
    rng = np.random.default_rng(1)
    common = autoregression(n, 3, 0.98, 1) @ rng.normal(size=(3, F))
    X = np.exp(0.36 * common + 0.5 * autoregression(n, F, 0.7, 2))
    return X * (1 + (rng.random((n, F)) < 0.01) * rng.pareto(2, (n, F))) * np.geomspace(1, 1e6, F)


def with_anomalies(truth, share, seed=1):
    """Replace a share of the readings by ones that are 2 to 6 standard deviations off."""
    rng = np.random.default_rng(seed)
    anomalous = rng.random(truth.shape) < share
    off = rng.choice([-1, 1], truth.shape) * rng.uniform(2, 6, truth.shape) * truth.std(0)
    return np.where(anomalous, truth + off, truth), anomalous


def with_missing_runs(truth, length, first=20):
    table = truth.copy()
    for j in range(truth.shape[1]):
        for start in range(first + 20 * j, len(truth) - 40, 120):
            table[start : start + length, j] = np.nan
    return table, np.isnan(table)


def f1(flags, anomalous):
    return 2 * (flags & anomalous).sum() / (flags.sum() + anomalous.sum())


def best_f1(scores, anomalous):
    """The F1 score at the best threshold, chosen with the truth."""
    precision, recall, _ = precision_recall_curve(anomalous.ravel(), scores.ravel())
    return (2 * precision * recall / np.maximum(precision + recall, 1e-9)).max()


def rms(found, truth, where):
    return np.sqrt(np.mean((np.asarray(found) - truth)[where] ** 2))


# ------------------------------------------------------------------- missing values


@pytest.mark.parametrize("length", [1, 30])
def test_missing_values_are_imputed_better_than_by_simple_baselines(length):
    truth = planted_sensors()
    table, missing = with_missing_runs(truth, length)
    before = table.copy()
    found = cleaner().clean(table)
    baselines = {
        "interpolation": pd.DataFrame(table).interpolate().bfill().to_numpy(),
        "nearest rows": KNNImputer().fit_transform(table),
    }
    for name, baseline in baselines.items():
        assert rms(found.table, truth, missing) < 0.95 * rms(baseline, truth, missing), name
    assert rms(found.table, truth, missing) < 0.25  # the noise is 0.1
    np.testing.assert_array_equal(table, before)
    kept = ~missing & ~found.flags
    np.testing.assert_array_equal(found.table[kept], table[kept])


def test_online_imputation_is_better_than_the_last_reading():
    truth = planted_sensors(600, 8)
    missing = np.random.default_rng(0).random(truth.shape) < 0.1
    missing[:100] = False
    table = np.where(missing, np.nan, truth)
    found = cleaner(causal=True).clean(table)
    last = pd.DataFrame(table).ffill().to_numpy()
    assert rms(found.table, truth, missing) < 0.9 * rms(last, truth, missing)


def test_a_sensor_that_fails_for_a_quarter_of_the_time_is_predicted_by_the_others():
    """Nearly as well as by a regression that knows all of its readings."""
    rng = np.random.default_rng(2)
    n, F = 600, 25
    season = np.sin(2 * np.pi * np.arange(n) / n)[:, None] * rng.normal(size=F)
    factors = np.cumsum(rng.normal(size=(n, 3)), axis=0) / 10
    X = factors @ rng.normal(size=(3, F)) + season + 0.3 * rng.normal(size=(n, F))
    failed, table, reference = slice(300, 450), X.copy(), X.copy()
    for j in (0, 9, 17):
        table[failed, j] = np.nan
        others = np.delete(X, j, axis=1)
        reference[:, j] = BayesianRidge().fit(others, X[:, j]).predict(others)
    missing = np.isnan(table)
    found = cleaner().clean(table).table
    assert rms(found, X, missing) < 1.4 * rms(reference, X, missing)


def test_a_sensor_that_fails_in_a_storm_is_imputed_beyond_its_range():
    X = 1000 + 8 * autoregression(800, 1, 0.99) + 0.3 * autoregression(800, 12, 0.8, 1)
    X = X - 60 * np.exp(-(((np.arange(800) - 500) / 20) ** 2))[:, None]
    failed, table = slice(440, 560), X.copy()
    table[failed, 3] = np.nan
    found = cleaner().clean(table)
    assert np.nanmin(table[:, 3]) - X[failed, 3].min() > 20
    assert np.sqrt(np.mean((found.table - X)[failed, 3] ** 2)) < 2


def test_unevenly_spaced_rows_are_imputed_by_their_times():
    rng = np.random.default_rng(0)
    when = np.sort(rng.random(600)) * 600
    truth = np.sin(when / 12)
    table = np.column_stack([when, truth + 0.01 * rng.normal(size=600)])
    missing = rng.random(600) < 0.1
    missing[[0, -1]] = False
    table[missing, 1] = np.nan
    by_time, by_row = cleaner(time=0).clean(table), cleaner().clean(table[:, 1:])
    assert rms(by_time.table[:, 1], truth, missing) < 0.8 * rms(by_row.table[:, 0], truth, missing)
    np.testing.assert_array_equal(by_time.table[:, 0], when)


@offline_and_online
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_have_the_stated_coverage(coverage, causal):
    truth = planted_sensors(1500, 8, seed=2)
    missing = np.random.default_rng(1).random(truth.shape) < 0.1
    missing[:150] = False
    found = cleaner(causal=causal, coverage=coverage).clean(np.where(missing, np.nan, truth))
    inside = (found.lower <= truth) & (truth <= found.upper)
    assert inside[missing].mean() == pytest.approx(coverage, abs=0.05)
    assert np.isnan(found.lower[~missing & ~found.flags]).all()


def test_intervals_hold_in_long_runs_of_missing_values_of_quiet_and_noisy_columns():
    rng = np.random.default_rng(0)
    n, F = 700, 24
    factors = np.cumsum(rng.normal(size=(n, 2)), axis=0) / 8
    noise = np.where(np.arange(F) % 2, 1.0, 0.1)
    X = factors @ rng.normal(size=(2, F)) + noise * rng.normal(size=(n, F))
    missing = np.zeros(X.shape, dtype=bool)
    for j in range(16):
        start = rng.integers(0, n - 100)
        missing[start : start + 100, j] = True
    found = cleaner().clean(np.where(missing, np.nan, X))
    inside, width = (found.lower <= X) & (found.upper >= X), found.upper - found.lower
    quiet, noisy = missing & (noise == 0.1), missing & (noise == 1.0)
    assert 0.82 < inside[missing].mean() < 0.98
    assert inside[quiet].mean() > 0.75
    assert inside[noisy].mean() > 0.75
    assert width[quiet].mean() < 0.5 * width[noisy].mean()


@may_stay_empty
@offline_and_online
def test_values_stay_within_bounds(causal):
    table = pd.DataFrame(100 * np.abs(np.sin(np.arange(300)[:, None] / 9 + np.arange(3))))
    table.columns = ["a", "b", "c"]
    table.loc[100, "a"], table.loc[160:180, "b"] = -10157.0, np.nan
    found = cleaner(causal=causal, bounds={"a": (0, 100)}).clean(table)
    assert found.flags.loc[100, "a"]
    assert found.table["a"].between(0, 100).all()
    everywhere = cleaner(causal=causal, bounds=(5, 95)).clean(table)
    assert everywhere.table.min(axis=None) >= 5
    assert everywhere.table.max(axis=None) <= 95
    assert everywhere.flags.to_numpy()[((table < 5) | (table > 95)).to_numpy()].all()


@offline_and_online
def test_dust_is_never_negative_nor_humidity_above_a_hundred(causal):
    """Limits that readings meet again and again also hold for imputed values."""
    causes = autoregression(800, 2, 0.95)
    rng = np.random.default_rng(1)
    dust = np.maximum(causes[:, :1] * rng.uniform(5, 9, 6) + 5 + rng.normal(size=(800, 6)), 0)
    humidity = np.minimum(85 + 15 * causes[:, 1:] + rng.normal(size=(800, 6)), 100)
    X = np.hstack([dust, humidity])
    missing = rng.random(X.shape) < 0.1
    for j in range(0, 12, 2):
        missing[200 + 40 * j : 280 + 40 * j, j] = True
    missing[:200] = False  # an online cleaner has yet to meet the limits
    found = cleaner(causal=causal).clean(np.where(missing, np.nan, X))
    for values in (found.table, found.lower, found.upper):
        imputed = np.where(missing, values, np.nan)
        assert np.nanmin(imputed[:, :6]) >= 0
        assert np.nanmax(imputed[:, 6:]) <= 100


def test_a_column_without_readings_stays_empty_and_is_named():
    table = pd.DataFrame(planted_sensors(100, 3), columns=["a", "b", "c"]).assign(b=np.nan)
    with pytest.warns(UserWarning, match="'b'"):
        found = cleaner().clean(table)
    assert found.table["b"].isna().all()
    assert not found.table[["a", "c"]].isna().any().any()


# ------------------------------------------------------------------- anomalies


@offline_and_online
@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_planted_anomalies_are_found_and_replaced(share, causal):
    truth = planted_sensors(700, 8)
    table, anomalous = with_anomalies(truth, share)
    found = cleaner(causal=causal).clean(table)
    late = slice(200 * causal, None)
    flags, anomalous = found.flags[late], anomalous[late]
    assert flags[anomalous].mean() > 0.9
    assert flags[~anomalous].mean() < 0.005 + 0.1 * share
    errors = [np.abs(X - truth)[late][anomalous].mean() for X in (found.table, table)]
    assert errors[0] < 0.15 * errors[1]


@pytest.mark.parametrize("kind", ["smooth", "skewed", "bursts"])
def test_anomalies_are_found_better_than_by_a_rolling_median_with_its_best_threshold(kind):
    truth = bursts() if kind == "bursts" else planted_sensors(600, 8)
    truth = np.exp(truth) if kind == "skewed" else truth
    table, anomalous = with_anomalies(truth, 0.2)
    found = cleaner().clean(table)
    away = np.abs(table - median_filter(table, (7, 1))) / truth.std(0)
    assert f1(found.flags, anomalous) > best_f1(away, anomalous)
    assert found.scores[found.flags].min() >= found.scores[~found.flags].max()


@pytest.mark.parametrize("rate", [0.001, 0.02])
@pytest.mark.parametrize("heavy_tails", [False, True])
def test_the_false_alarm_rate_is_the_share_of_normal_readings_that_are_flagged(rate, heavy_tails):
    rng = np.random.default_rng(1)
    noise = rng.standard_t(3, (2500, 10)) if heavy_tails else rng.normal(size=(2500, 10))
    flags = cleaner(false_alarm_rate=rate).clean(planted_sensors(2500, 10) + noise / 3).flags
    assert 0.4 * rate < flags.mean() < 2.5 * rate


@offline_and_online
def test_flags_grow_with_the_false_alarm_rate(causal):
    table = planted_sensors(500, 6)
    shares = [
        cleaner(causal=causal, false_alarm_rate=rate).clean(table).flags[100:].mean()
        for rate in (0.0001, 0.001, 0.01, 0.1)
    ]
    assert shares == sorted(shares)
    assert 0.05 < shares[-1] < 0.2


@pytest.mark.parametrize("kind", ["smooth", "noisy", "drifting"])
def test_an_online_table_without_anomalies_has_few_flags(kind):
    sensors = planted_sensors(600, 10)
    table = {
        "smooth": pressures(600, 10),
        "noisy": sensors + np.random.default_rng(0).normal(size=sensors.shape),
        "drifting": sensors + np.linspace(0, 20, 600)[:, None] * np.linspace(-2, 2, 10),
    }[kind]
    assert cleaner(causal=True).clean(table).flags[120:].mean() < 0.003  # the rate is 0.001


@pytest.mark.parametrize("change", ["level", "mixing", "noise"])
def test_a_lasting_change_of_all_sensors_is_not_flagged_for_ever(change):
    X, other = planted_sensors(700, 10, seed=3), planted_sensors(700, 10, seed=4)
    noisier = X + 2 * np.random.default_rng(0).normal(size=X.shape)
    X[350:] = {"level": X + 30, "mixing": 3 * other, "noise": noisier}[change][350:]
    flags = cleaner(causal=True).clean(X).flags
    assert flags[100:350].mean() < 0.02
    assert flags[350:450].mean() < 0.15
    assert flags[450:].mean() < 0.01


@may_stay_empty
def test_a_sensor_that_comes_on_late_is_not_flagged_and_others_still_are():
    truth = pressures()
    table, anomalous = with_anomalies(truth, 0.02)
    anomalous[:, 3], table[:, 3], table[:250, 3] = False, truth[:, 3], np.nan
    flags = cleaner(causal=True).clean(table).flags
    assert flags[250:300, 3].mean() < 0.05
    assert f1(flags[100:], anomalous[100:]) > 0.9


def test_rain_is_no_anomaly():
    """A column that rests at zero and sometimes leaves it."""
    rng = np.random.default_rng(0)
    rain = np.where(rng.random(800) < 0.7, 0.0, rng.gamma(1, 3, 800))
    table = np.column_stack([planted_sensors(800, 5), rain])
    table[100::100, 4] += 15
    flags = cleaner().clean(table).flags
    assert flags[100::100, 4].all()
    assert flags[:, 5].mean() < 0.005
    table[300, 5] = 500.0  # but no rain is like that
    assert cleaner().clean(table).flags[300, 5]


# ------------------------------------------------------------------- units, types, odd tables


@offline_and_online
def test_results_do_not_depend_on_the_units_of_columns(causal):
    table = planted_sensors(200, seed=3)
    table[50:60, 2], table[150, 4] = np.nan, 50.0
    units, offset = np.array([1e-20, 1, 1e12, 1, 5, 1]), np.array([0, -100.0, 0, 3, 0, 0])
    here, there = (cleaner(causal=causal).clean(X) for X in (table, table * units + offset))
    np.testing.assert_array_equal(here.flags, there.flags)
    np.testing.assert_allclose(there.table, here.table * units + offset, rtol=1e-6, atol=1e-22)


def odd_tables():
    rng = np.random.default_rng(0)
    waves = np.sin(np.arange(200)[:, None] / 9 + np.arange(4)) + 0.05 * rng.normal(size=(200, 4))

    def changed(place, value):
        X = waves.copy()
        X[place] = value
        return X

    numbers = np.arange(600).reshape(200, 3)
    return {
        "constants": np.full((200, 3), 5.0),
        "integers": np.full((4, 2), 7),
        "zeros": np.zeros((200, 3)),
        "constants with one other": np.where(numbers == 150, 6.0, 5.0),
        "one constant column": changed((slice(None), 1), 3.0),
        "two values": (waves > 0) * 1.0,
        "subnormal": changed((slice(100), 1), 5e-324) * [1, 1, 0, 1],
        "one tiny reading": np.where(numbers == 150, 1e-310, 0.0),
        "one huge reading": changed((50, 1), 1e300),
        "the largest reading": changed((50, 1), -1.7e308),
        "tiny": waves * 1e-300,
        "huge": waves * 1e299,
        "huge and tiny": waves * [1e299, 1e-299, 1, 1],
        "little on much": 1e9 + 1e-9 * waves,
        "one row": waves[:1],
        "two rows": waves[:2],
        "one column": waves[:30, :1],
        "one entry": waves[:1, :1],
        "five rows": rng.normal(size=(5, 40)),
        "mostly missing": np.where(rng.random((60, 3)) < 0.8, np.nan, waves[:60, :3]),
        "one row with a missing value": np.array([[1.0, np.nan, 2.0]]),
        "every fifth row missing": changed((slice(None, None, 5), slice(None)), np.nan),
    }


@may_stay_empty
@offline_and_online
@pytest.mark.parametrize("name", odd_tables())
def test_odd_tables_are_cleaned(name, causal):
    table = odd_tables()[name]
    found = cleaner(causal=causal).clean(table)
    assert found.table.shape == table.shape
    assert found.table.dtype == table.dtype
    kept = np.isfinite(table) & ~found.flags
    np.testing.assert_array_equal(found.table[kept], table[kept])
    assert not np.isinf(found.table).any()
    assert found.flags.mean() < 0.2


@may_stay_empty
@offline_and_online
@pytest.mark.parametrize("size", [1e3, 1e160, -1e300, 1.7e308])
def test_anomalies_of_any_size_are_found(size, causal):
    table = odd_tables()["every fifth row missing"]
    table[151, 2] = size
    found = cleaner(causal=causal).clean(table)
    assert found.flags[151, 2]
    assert abs(found.table[151, 2]) < 2


@offline_and_online
def test_float32_stays_float32_and_gives_nearly_the_same(causal):
    table, _ = with_missing_runs(planted_sensors(300, 4), 5)
    single = table.astype(np.float32)
    here, there = cleaner(causal=causal).clean(table), cleaner(causal=causal).clean(single)
    assert there.table.dtype == np.float32
    np.testing.assert_allclose(there.table, here.table, atol=1e-3)


# ------------------------------------------------------------------- online


def test_an_online_stream_gives_the_same_however_it_is_cut_saved_and_loaded(tmp_path):
    table = planted_sensors(90, 3, seed=5)
    table[60, 1], table[70:75, 2] = 40.0, np.nan
    whole = cleaner(causal=True).clean(table)
    assert whole.flags[60, 1]
    online = cleaner(causal=True)
    batches = [online.follow(table[:33])]
    thresher.save(online, tmp_path / "cleaner")
    loaded = thresher.load(tmp_path / "cleaner")
    batches += [loaded.follow(table[33:80])]  # rows 80 to 90 never come
    for mine, theirs in zip(batches[1], online.follow(table[33:80]), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    by_source = list(cleaner(causal=True).clean(iter([table[:40], table[40:80]])))
    for cut in (batches, by_source):
        for field in whole._fields:
            joined = np.concatenate([getattr(batch, field) for batch in cut])
            np.testing.assert_allclose(joined, getattr(whole, field)[:80], rtol=1e-9, atol=1e-12)


def test_the_state_of_an_online_cleaner_does_not_grow(tmp_path):
    online, sizes = cleaner(causal=True), []
    for batch in np.split(planted_sensors(3600, 2), 4):
        online.follow(batch)
        thresher.save(online, tmp_path / "cleaner")
        sizes.append((tmp_path / "cleaner").stat().st_size)
    assert sizes[3] < 1.3 * sizes[1]


def test_an_online_cleaner_refuses_what_does_not_continue_the_stream(tmp_path):
    with pytest.raises(ValueError, match="causal=True"):
        cleaner().follow(np.ones((3, 2)))
    with pytest.raises(ValueError, match="nothing to save"):
        thresher.save(cleaner(), tmp_path / "never")
    table = planted_sensors(60, 2)
    online, untouched = cleaner(causal=True, time=0), cleaner(causal=True, time=0)
    for one in (online, untouched):
        one.follow(np.column_stack([np.arange(40.0), table[:40]]))
    with pytest.raises(ValueError, match="columns"):
        online.follow(np.ones((3, 4)))
    with pytest.raises(ValueError, match="earlier"):
        online.follow(np.column_stack([np.arange(20.0), table[40:]]))
    following = np.column_stack([np.arange(40.0, 60.0), table[40:]])
    for mine, theirs in zip(online.follow(following), untouched.follow(following), strict=True):
        np.testing.assert_array_equal(mine, theirs)


# ------------------------------------------------------------------- frames


def frame(library):
    table = planted_sensors(200, 3)
    table[40:44, 0] = np.nan
    times = pd.date_range("2026-03-01", periods=200, freq="h", tz="Europe/Vienna")
    data = {
        "warm": table[:, 0],
        "place": ["roof"] * 200,
        "count": np.round(table[:, 1] * 10).astype(np.int32),
        "on": table[:, 2] > 0,
        "small": table[:, 2].astype(np.float32),
    }
    if library == "pandas":
        return pd.DataFrame(data, index=times)
    given = pl.DataFrame({"time": times.tz_convert(None).to_numpy()} | data)
    given = given.with_columns(pl.col("warm").fill_nan(None))
    return given if library == "polars" else given.to_arrow()


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_frame_comes_back_with_its_types_and_without_missing_values(library):
    given, untouched = frame(library), frame(library)
    found = cleaner().clean(given)
    assert type(found.table) is type(given)
    assert given.equals(untouched)
    if library == "pandas":
        assert found.table.dtypes.equals(given.dtypes)
        assert found.table.index.equals(given.index)
        assert found.flags.index.equals(given.index)
        now, before, lower = found.table, given, found.lower
    else:
        now, before, lower = (pl.DataFrame(t) for t in (found.table, given, found.lower))
        assert now.schema == before.schema
    assert not pd.DataFrame({name: list(now[name]) for name in now.columns}).isna().any().any()
    assert list(now["place"]) == list(before["place"])
    assert list(now["on"]) == list(before["on"])
    assert list(lower.columns) == ["warm", "count", "small"]


def hourly(n=200, **columns):
    index = pd.date_range("2026-03-28", periods=n, freq="h", tz="Europe/Vienna")  # summer time
    table = pd.DataFrame(planted_sensors(n, 3), index, ["a", "b", "c"])
    table.iloc[50:60, 0] = np.nan
    return table.assign(**columns)


def test_rows_in_any_order_and_times_in_any_zone_give_the_same():
    table = hourly()
    found = cleaner().clean(table)
    mixed = cleaner().clean(table.sample(frac=1, random_state=0))
    elsewhere = cleaner().clean(table.tz_convert("Asia/Tokyo"))
    for one, other, third in zip(found, mixed, elsewhere, strict=True):
        pd.testing.assert_frame_equal(other.sort_index(), one, check_freq=False)
        np.testing.assert_array_equal(third, one)


@offline_and_online
def test_the_same_time_may_come_twice(causal):
    table = hourly()
    twice = pd.concat([table, table]).sort_index(kind="stable")
    found = cleaner(causal=causal).clean(twice)
    assert not found.table.iloc[60:].isna().any().any()
    missing, truth = found.table["a"].iloc[100:120:2].to_numpy(), planted_sensors(200, 3)[:, 0]
    assert np.abs(missing - truth[50:60]).mean() < truth.std()


def test_columns_that_are_no_measurements_are_carried_through():
    table = hourly(
        constant=7.0,
        count=np.arange(200) // 9,
        on=np.arange(200) % 2 == 0,
        name="x",
        year=2026,
        station_id=np.arange(200)[::-1] % 7,
    )
    table.iloc[100:110, 3] = np.nan
    found = cleaner().clean(table)
    assert (found.table["constant"] == 7).all()
    assert found.table["count"].dtype == table["count"].dtype
    others = ["on", "name", "year", "station_id"]
    pd.testing.assert_frame_equal(found.table[others], table[others])
    assert list(found.flags.columns) == ["a", "b", "c", "constant", "count"]
    assert not found.flags["constant"].any()


# ------------------------------------------------------------------- times in columns

HOURS = pd.date_range("2026-03-28 20:00", periods=80, freq="h")
PARTS = ("Year", "month", "DAY", "hour", "minute")
TIME_COLUMNS = {
    "numbers of rows": {"row": range(1, 81)},
    "seconds": {"stamp": (1.7e9 + 3600 * np.arange(80)).astype(int).astype(str)},
    "date and clock": {"clock": HOURS.strftime("%H:%M"), "day": HOURS.strftime("%d/%m/%Y")},
    "clock with dots": {"clock": HOURS.strftime("%H.%M.%S"), "day": HOURS.strftime("%Y-%m-%d")},
    "parts": {name: getattr(HOURS, name.lower()) for name in PARTS},
    "the finest": {"made": "2020-01-01 00:00", "d": HOURS.date.astype(str), "h": HOURS.astype(str)},
} | {
    spelling: {"word": "x", "when": HOURS.strftime(spelling)}
    for spelling in (
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%dT%H:%M:%S+01:00",
        "%d.%m.%Y %H:%M",
        "%m/%d/%Y %I:%M %p",
        "%d %b %Y %H:%M",
        "%Y%m%d%H%M",
    )
}


def hours_in_columns():
    """A table of 80 hours with a run of missing values."""
    table = pd.DataFrame(planted_sensors(80, 2), HOURS, ["a", "b"])
    table.iloc[30:36, 0] = np.nan
    return table


@pytest.mark.parametrize("name", TIME_COLUMNS)
def test_columns_of_times_are_found(name):
    table = hours_in_columns()
    kept = np.sort(np.random.default_rng(0).permutation(80)[:60])
    expected = cleaner().clean(table.iloc[kept])
    written = table.reset_index(drop=True).assign(**TIME_COLUMNS[name]).iloc[kept]
    given = written if name in ("numbers of rows", "seconds") else written[::-1]
    found = cleaner().clean(given)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            one[["a", "b"]].sort_index(), other[["a", "b"]], rtol=1e-9, equal_nan=True
        )
    others = list(TIME_COLUMNS[name])
    pd.testing.assert_frame_equal(found.table[others], given[others])


@pytest.mark.parametrize(
    "columns",
    [
        {"year": 2013},
        {"station": [1001, 1002, 1003, 1004] * 20},
        {"id": [*range(79), 78]},
        {"airport": "EWR"},
        {"mended": ["2026-01-01", "2026-01-02", *[""] * 78]},
        {"year": 2026, "month": 13, "day": 1},
    ],
    ids=str,
)
def test_years_ids_and_words_are_not_taken_for_times(columns):
    table = hours_in_columns().reset_index(drop=True)
    found = cleaner().clean(table.assign(**columns)).table
    np.testing.assert_array_equal(found[["a", "b"]], cleaner().clean(table).table)


def test_times_that_cannot_be_read_are_refused_or_named():
    table = hours_in_columns().reset_index(drop=True)
    later = table.assign(when=[*HOURS.astype(str)[:-1], "later"])
    with pytest.raises(ValueError, match="'when'"):
        cleaner(time="when").clean(later)
    for missing in (None, np.nan, ""):
        with pytest.warns(UserWarning, match="'when'"):
            cleaner().clean(table.assign(when=[missing, *HOURS.astype(str)[1:]]))


# ------------------------------------------------------------------- stations


def stations(n=150):
    """The same readings with a row for each time and station, and with a row for each time."""
    X = planted_sensors(n, 6)
    X[40:60, 1], X[100, 4] = np.nan, 40.0
    times = pd.date_range("2026-01-01", periods=n, freq="h")
    by_station = [
        pd.DataFrame(
            {"when": times.strftime("%d.%m.%Y %H:%M"), "place": place, "hour": times.hour}
            | dict(zip("abc", X[:, 3 * g : 3 * g + 3].T, strict=True))
        )
        for g, place in enumerate(["north", "south"])
    ]
    wide = pd.DataFrame(X, times, [f"{c}, {p}" for p in ("north", "south") for c in "abc"])
    return pd.concat(by_station, ignore_index=True), wide


def test_a_row_for_each_station_gives_what_a_column_for_each_gives():
    long, wide = stations()
    found, expected = cleaner().clean(long), cleaner().clean(wide)
    for values, whole in zip(found, expected, strict=True):
        values = values[["a", "b", "c"]]
        np.testing.assert_array_equal(np.hstack([values[:150], values[150:]]), whole)
    assert found.flags["b"].iloc[250]
    carried = ["when", "place", "hour"]
    pd.testing.assert_frame_equal(found.table[carried], long[carried])
    assert list(found.flags.columns) == ["a", "b", "c"]  # hours are no readings


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_rows_of_stations_may_come_in_any_order_and_some_may_miss(library):
    long, _ = stations()
    some = long.drop(index=[20, 21, 190])
    expected = cleaner().clean(some)
    mixed = some.sample(frac=1, random_state=0)
    given = mixed if library == "pandas" else pl.from_pandas(mixed)
    found = cleaner().clean(given.to_arrow() if library == "arrow" else given)
    order = np.argsort(mixed.index.to_numpy())
    for name in "abc":
        np.testing.assert_array_equal(np.asarray(found.table[name])[order], expected.table[name])


def test_bounds_hold_for_each_station_and_a_station_without_readings_is_named():
    long, _ = stations()
    found = cleaner(bounds={"b": (-2, 2)}).clean(long)
    assert found.flags["b"][long["b"].abs() > 2].all()
    assert found.table["b"].abs().max() <= 2
    long.loc[long["place"] == "south", "c"] = np.nan
    with pytest.warns(UserWarning, match="'c'"):
        assert cleaner().clean(long).table["c"][long["place"] == "south"].isna().all()
    with pytest.raises(ValueError, match="pivot"):
        cleaner(causal=True).clean(long)


# ------------------------------------------------------------------- numbers for missing values


@offline_and_online
def test_numbers_may_stand_for_missing_values(causal):
    table = hourly()
    table.iloc[100:103, 2] = np.nan
    coded = table.fillna({"a": -200.0, "c": -9999.0})
    expected = cleaner(causal=causal).clean(table)
    found = cleaner(causal=causal, no_reading=[-200, -9999]).clean(coded)
    for one, other in zip(found, expected, strict=True):
        pd.testing.assert_frame_equal(one, other)
    assert (coded.iloc[50:60, 0] == -200).all()
    only = cleaner(causal=causal, no_reading=-200).clean(coded)
    assert only.flags["c"].iloc[100:103].all()  # an anomaly where nobody says what it means


# ------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("table", "parameters", "keyword"),
    [
        (np.zeros((0, 3)), {}, "no rows"),
        (np.zeros(3), {}, "row"),
        (np.array([["a"]]), {}, "numbers"),
        (pd.DataFrame({"a": ["x"]}), {}, "no columns"),
        (np.full((3, 3), np.inf), {}, "infinite"),
        (np.ones((3, 3)), {"time": "when"}, "time"),
        (pd.DataFrame({"a": [1.0]}), {"time": "b"}, "'b'"),
        (pl.DataFrame({"a": [1.0]}).lazy(), {}, "lazy"),
        (np.ones((3, 3)), {"bounds": (2, 1)}, "bounds"),
        (pd.DataFrame({"a": [1.0]}), {"bounds": {"b": (0, 1)}}, "'b'"),
        (np.ones((3, 3)), {"coverage": 1.5}, "coverage"),
        (np.ones((3, 3)), {"false_alarm_rate": 0}, "false_alarm_rate"),
        *((np.ones((4, 2)), {"no_reading": n}, "no_reading") for n in ("x", [], [1, None], np.inf)),
    ],
)
def test_what_cannot_be_cleaned_is_refused(table, parameters, keyword):
    with pytest.raises((ValueError, TypeError), match=keyword):
        cleaner(**parameters).clean(table)


# ------------------------------------------------------------------- the command


def run(*arguments):
    line = ["clean", *map(str, arguments), "--json", "--random-state", "0"]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_the_command_cleans_files_of_each_kind(suffix, tmp_path):
    table = hourly().reset_index(names="time")
    table["time"] = table["time"].dt.tz_convert(None)
    table.loc[120, "b"] = 40.0
    source, target, changes = (tmp_path / f"{name}{suffix}" for name in ("in", "out", "changes"))
    given = pl.from_pandas(table)
    {".csv": given.write_csv, ".parquet": given.write_parquet, ".feather": given.write_ipc}[suffix](
        source
    )
    run(source, target, "--changes", changes.with_suffix(".csv"), "--report", tmp_path / "r.html")
    read = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".feather": pd.read_feather}[suffix]
    cleaned, listed = read(target), pd.read_csv(changes.with_suffix(".csv"))
    assert not cleaned.isna().any().any()
    assert abs(cleaned.loc[120, "b"]) < 10
    readings = table[["a", "b", "c"]]
    changed = (cleaned[["a", "b", "c"]] - readings).abs() > 1e-9
    assert (changed | readings.isna()).to_numpy().sum() == len(listed)
    assert (tmp_path / "r.html").exists()


def test_the_command_reads_what_a_spreadsheet_writes(tmp_path):
    """Decimal commas, a day and a clock, columns without a name, and empty rows at the end."""
    table = hourly(150).tz_localize(None)
    lines = ["Day;Clock;a;b;c;;"]
    for when, row in table.fillna(-200.0).iterrows():
        numbers = ";".join(f"{number:.3f}".replace(".", ",") for number in row)
        lines.append(f"{when:%d/%m/%Y};{when:%H.%M.%S};{numbers};;")
    lines += [";;;;;;"] * 7
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes("\r\n".join([*lines, ""]).encode())
    answer = run(source, target, "--no-reading", "-200")
    assert '"rows": 150, "sensors": 3, "filled": 10' in answer
    written = target.read_text().splitlines()
    assert written[0] == lines[0]
    assert written[151:] == lines[151:]
    values = [[float(c.replace(",", ".")) for c in row.split(";")[2:5]] for row in written[1:151]]
    np.testing.assert_allclose(values, cleaner().clean(table.round(3)).table, atol=5.1e-4)


@pytest.mark.parametrize("without", [[], [7, 200]])
def test_the_command_cleans_stations_and_adds_no_rows(without, tmp_path):
    long, _ = stations()
    long = long.drop(index=without)
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    long.to_csv(source, index=False)
    answer = run(source, target)
    assert '"station_column": "place"' in answer
    assert '"time_columns": ["when"]' in answer
    assert '"filled": 20' in answer
    cleaned, expected = pd.read_csv(target), cleaner().clean(long).table
    assert list(cleaned.columns) == list(long.columns)
    np.testing.assert_allclose(cleaned[["a", "b", "c"]], expected[["a", "b", "c"]], rtol=1e-9)
