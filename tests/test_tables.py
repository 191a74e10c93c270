"""Tables of sensors: what is planted is found, what is kept is kept, and promises hold."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import nnls

import thresher
from sensors import planted_sensors
from thresher import TableCleaner
from thresher.tasks.tables.alarms import Tail, fewest_mistakes
from thresher.tasks.tables.blending import nonnegative_solutions
from thresher.tasks.tables.correlation import Correlation
from thresher.tasks.tables.factors import Factors
from thresher.tasks.tables.kriging import kriged


def cleaner(**parameters: object) -> TableCleaner:
    return TableCleaner(random_state=0, **parameters)


# ------------------------------------------------------------------- the mathematics


def test_an_entry_from_its_row_is_what_gaussian_conditioning_says() -> None:
    """Left out by a formula, or left out in truth: the same mean and variance."""
    rng = np.random.default_rng(0)
    factors = Factors(rng.normal(size=(5, 2)), 0.1 + rng.random(5))
    sigma = factors.loadings @ factors.loadings.T + np.diag(factors.own)
    z = rng.normal(size=5)
    trusted = np.array([True, True, False, True, True])
    told = factors.without_itself(z[None], trusted[None])
    for j in range(5):
        others = np.flatnonzero(trusted & (np.arange(5) != j))
        weights = np.linalg.solve(sigma[np.ix_(others, others)], sigma[others, j])
        assert told.mean[0, j] == pytest.approx(weights @ z[others])
        assert told.variance[0, j] == pytest.approx(sigma[j, j] - weights @ sigma[others, j])


def test_factors_explain_what_was_planted() -> None:
    rng = np.random.default_rng(1)
    L = rng.normal(size=(8, 2))
    Z = rng.normal(size=(1500, 2)) @ L.T + 0.3 * rng.normal(size=(1500, 8))
    scale = Z.std(0)
    trusted = rng.random(Z.shape) > 0.2
    found = Factors.learned(Z / scale, trusted, 2)
    sigma = (found.loadings @ found.loadings.T + np.diag(found.own)) * np.outer(scale, scale)
    truth = L @ L.T + 0.09 * np.eye(8)
    assert np.abs(sigma - truth).max() < 0.15 * np.abs(truth).max()


def test_kriging_is_the_best_linear_guess_of_irregular_times() -> None:
    """Weights solve the normal equations of the correlation that was given."""
    correlation = Correlation(np.array([[0.8, 0.0]]), np.array([5.0]), 0.0)
    times = np.array([0.0, 1.0, 2.5, 4.0, 7.0])
    trusted = np.array([[True], [True], [False], [True], [True]])
    u = np.array([[1.0], [2.0], [0.0], [-1.0], [0.5]])
    near = [0, 1, 3, 4]
    R = 0.8 * np.exp(-np.abs(times[near][:, None] - times[near]) / 5) + 0.2 * np.eye(4)
    r = 0.8 * np.exp(-np.abs(times[near] - times[2]) / 5)
    weights = np.linalg.solve(R, r)
    told = kriged(u, trusted, times, correlation)
    assert told.mean[2, 0] == pytest.approx(weights @ u[near, 0], rel=1e-4)
    assert told.left[2, 0] == pytest.approx(1 - weights @ r, rel=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_the_nearest_reading_may_be_a_later_one_unless_causal(causal: bool) -> None:
    rng = np.random.default_rng(4)
    times = np.cumsum(rng.uniform(0.5, 2, 60))
    U, trusted = rng.normal(size=(60, 2)), rng.random((60, 2)) < 0.4
    found = kriged(U, trusted, times, Correlation.learned(U, trusted, times, 0.0), causal).reach
    for (t, j), steps in np.ndenumerate(found):
        others = [
            abs(times[s] - times[t])
            for s in np.flatnonzero(trusted[:, j])
            if s < t or (s > t and not causal)
        ]
        assert steps == min(others, default=np.inf)


def test_correlation_of_an_autoregression_is_found() -> None:
    rng = np.random.default_rng(2)
    u = np.zeros(4000)
    for t in range(1, 4000):
        u[t] = 0.9 * u[t - 1] + rng.normal()
    found = Correlation.learned(u[:, None], np.ones((4000, 1), bool), np.arange(4000.0), 0)
    h = np.arange(1.0, 12.0)
    assert np.abs(found.of_column(0, h) - 0.9**h).max() < 0.08


@pytest.mark.parametrize("chance", [0.02, 0.001])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.2])
def test_the_tail_of_sound_readings_is_found_among_glitches(chance: float, share: float) -> None:
    """Suspicions of noise, or falling off exponentially; glitches stand far out."""
    rng = np.random.default_rng(3)
    for sound in (rng.exponential(size=100_000), np.log1p(rng.normal(size=100_000) ** 2)):
        glitches = rng.normal(12, 2, int(share * len(sound)))
        tail = Tail.learned(
            np.concatenate([sound, glitches]), sound[sound < np.quantile(sound, 0.999)]
        )
        assert np.mean(sound > tail.level(chance)) == pytest.approx(chance, rel=0.5)
        s = np.sort(sound)[::50]
        assert np.all(np.diff(tail.scores(s)) >= 0)
        assert tail.scores(np.array([tail.level(chance)])) == pytest.approx(
            -np.log10(chance), rel=0.05
        )
        if share:
            limit, middle = tail.limit(0.001), fewest_mistakes(sound, glitches)[1]
            mistakes, fewest = (np.sum(sound > s) + np.sum(glitches <= s) for s in (limit, middle))
            assert mistakes <= 1.5 * fewest


def test_weights_are_nonnegative_least_squares() -> None:
    rng = np.random.default_rng(0)
    B, y = rng.normal(size=(20, 30, 4)), rng.normal(size=(20, 30))
    grams, sides = np.einsum("gea,geb->gab", B, B), np.einsum("gea,ge->ga", B, y)
    found = nonnegative_solutions(grams, sides)
    for g in range(20):
        np.testing.assert_allclose(found[g], nnls(B[g], y[g])[0], atol=1e-6)


# ------------------------------------------------------------------- what was planted


@pytest.mark.parametrize("length", [1, 30])
def test_gaps_are_filled_better_than_by_a_line(length: int) -> None:
    truth = planted_sensors()
    table = truth.copy()
    for j in range(6):
        for start in range(20 + 20 * j, 360, 120):
            table[start : start + length, j] = np.nan
    gaps = np.isnan(table)
    found = cleaner().clean(table)
    line = pd.DataFrame(table).interpolate().to_numpy()

    def rms(guess: np.ndarray) -> float:
        return float(np.sqrt(np.mean((guess - truth)[gaps] ** 2)))

    assert rms(found.table) < 0.9 * rms(line)
    assert rms(found.table) < 0.2  # noise is 0.1
    kept = ~gaps & ~found.flags
    assert np.array_equal(found.table[kept], table[kept])


def test_glitches_are_found_and_mended() -> None:
    truth = planted_sensors(seed=1)
    rng = np.random.default_rng(0)
    wrong = rng.random(truth.shape) < 0.02
    table = truth + np.where(wrong, rng.choice([-4, 4], truth.shape) * truth.std(0), 0)
    found = cleaner().clean(table)
    assert (found.flags & wrong).sum() > 0.95 * wrong.sum()
    assert (found.flags & ~wrong).mean() < 0.01
    assert np.abs(found.table - truth)[wrong].mean() < 0.05 * np.abs(table - truth)[wrong].mean()
    assert np.all(found.scores[found.flags].min() >= found.scores[~found.flags].max())


def test_false_alarms_and_intervals_keep_their_promise() -> None:
    """On a table without glitches: 1 % of flags are asked for; 90 % of the gaps are covered."""
    truth = planted_sensors(1500, 8, seed=2)
    gaps = np.random.default_rng(1).random(truth.shape) < 0.1
    found = cleaner(false_alarm_rate=0.01).clean(np.where(gaps, np.nan, truth))
    inside = (found.lower <= truth) & (truth <= found.upper)
    assert 0.875 < inside[gaps].mean() < 0.925
    assert 0.005 < found.flags[~gaps].mean() < 0.02


def test_each_column_has_its_own_unit() -> None:
    table = planted_sensors(200, seed=3)
    table[50:60, 2], table[150, 4] = np.nan, 50.0
    units, shift = np.array([1e-20, 1, 1e12, 1, 5, 1]), np.array([0, -100.0, 0, 3, 0, 0])
    plain, other = cleaner().clean(table), cleaner().clean(table * units + shift)
    assert np.array_equal(plain.flags, other.flags)
    np.testing.assert_allclose(other.table, plain.table * units + shift, rtol=1e-6)


# ------------------------------------------------------------------- tables of all kinds


def frame(library: str) -> object:
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
    polars = pl.DataFrame({"time": times.tz_convert(None).to_numpy()} | data)
    polars = polars.with_columns(pl.col("warm").fill_nan(None))
    return polars if library == "polars" else polars.to_arrow()


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_frame_comes_back_as_it_was_but_for_its_gaps(library: str) -> None:
    given = frame(library)
    found = cleaner().clean(given)
    assert type(found.table) is type(given)
    now, before = (pl.DataFrame(t) if library != "pandas" else t for t in (found.table, given))
    if library == "pandas":
        assert now.dtypes.equals(before.dtypes)
        assert now.index.equals(before.index)
        assert not now.isna().any().any()
        assert found.flags.index.equals(before.index)
    else:
        assert now.schema == before.schema
        assert now.null_count().sum_horizontal().item() == 0
    assert list(now["place"]) == list(before["place"])
    assert list(now["on"]) == list(before["on"])
    lower = found.lower if library == "pandas" else pl.DataFrame(found.lower)
    assert list(lower.columns) == ["warm", "count", "small"]


def test_rows_in_any_order_give_the_same() -> None:
    table = pd.DataFrame(planted_sensors(150, 4), columns=list("abcd"))
    table.loc[30:40, "a"] = np.nan
    table["when"] = np.arange(150) * 60.0
    shuffled = table.sample(frac=1, random_state=0)
    straight, mixed = (cleaner(time="when").clean(t) for t in (table, shuffled))
    pd.testing.assert_frame_equal(mixed.table.sort_index(), straight.table)
    pd.testing.assert_frame_equal(mixed.scores.sort_index(), straight.scores)


def test_unevenly_spaced_rows_are_filled_by_their_times() -> None:
    """A gap near its left neighbour resembles it more, whatever the number of the row."""
    rng = np.random.default_rng(0)
    when = np.sort(rng.random(600)) * 600
    truth = np.sin(when / 12)
    table = np.column_stack([when, truth + 0.01 * rng.normal(size=600)])
    gaps = rng.random(600) < 0.1
    gaps[[0, -1]] = False
    table[gaps, 1] = np.nan
    by_time, by_row = cleaner(time=0).clean(table), cleaner().clean(table[:, 1:])
    error = np.abs(by_time.table[gaps, 1] - truth[gaps]).mean()
    assert error < 0.8 * np.abs(by_row.table[gaps, 0] - truth[gaps]).mean()


def test_what_nobody_knows_stays_empty_and_is_named() -> None:
    table = pd.DataFrame(planted_sensors(100, 3), columns=["a", "b", "c"])
    table["b"] = np.nan
    with pytest.warns(UserWarning, match="'b' \\(all rows\\)"):
        found = cleaner().clean(table)
    assert found.table["b"].isna().all()
    assert not found.table[["a", "c"]].isna().any().any()


def test_bounds_are_kept() -> None:
    table = pd.DataFrame(100 * np.abs(np.sin(np.arange(300)[:, None] / 9 + np.arange(3))))
    table.columns = ["a", "b", "c"]
    table.loc[10, "a"], table.loc[60:80, "b"] = -10157.0, np.nan
    found = cleaner(bounds={"a": (0, 100)}).clean(table)
    assert found.flags.loc[10, "a"]
    assert found.table["a"].between(0, 100).all()
    b = found.table["b"]
    assert b.between(table["b"].min(), table["b"].max()).all()
    assert found.upper["b"].max() <= table["b"].max()


@pytest.mark.parametrize(
    "table",
    [
        np.ones((50, 3)),
        np.array([[1.0], [2.0], [3.0]]),
        np.array([[1.0, np.nan, 2.0]]),
        np.full((4, 2), 7),
        np.where(np.arange(40)[:, None] % 5 == 0, np.nan, planted_sensors(40, 2)),
        planted_sensors(30, 20),
        1e-20 * planted_sensors(60, 2),
    ],
)
def test_small_and_odd_tables(table: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = cleaner().clean(table)
    assert found.table.shape == table.shape
    assert found.table.dtype == table.dtype
    read = np.isfinite(table) & ~found.flags
    assert np.array_equal(found.table[read], table[read])


@pytest.mark.parametrize(
    ("table", "parameters", "message"),
    [
        (np.zeros((0, 3)), {}, "no rows"),
        (np.zeros(3), {}, "a row for each time"),
        (pd.DataFrame({"a": ["x"]}), {}, "no columns of numbers"),
        (np.full((3, 3), np.inf), {}, "infinite"),
        (np.ones((3, 3)), {"bounds": (2, 1)}, "the lower first"),
        (np.ones((3, 3)), {"time": "when"}, "number of a column"),
        (pd.DataFrame({"a": [1.0]}), {"time": "b"}, "no column 'b'"),
        (pl.DataFrame({"a": [1.0]}).lazy(), {}, "lazy"),
        (np.ones((3, 3)), {"coverage": 1.5}, "between 0 and 1"),
    ],
)
def test_what_cannot_be_cleaned_is_refused(
    table: object, parameters: dict[str, object], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        cleaner(**parameters).clean(table)


# ------------------------------------------------------------------- live


def test_a_live_stream_is_cleaned_without_a_look_ahead_however_it_is_cut(tmp_path) -> None:
    """The same: whole, in batches, saved and loaded on the way, and without the end."""
    table = planted_sensors(90, 3, seed=5)
    table[60, 1], table[70:75, 2] = 40.0, np.nan
    whole = cleaner(causal=True).clean(table)
    assert whole.flags[60, 1]
    live = cleaner(causal=True)
    parts = [live.follow(table[:33])]
    thresher.save(live, tmp_path / "cleaner.thr")
    again = thresher.load(tmp_path / "cleaner.thr")
    parts += [again.follow(table[33:80])]  # and 80 to 90 never come
    by_source = cleaner(causal=True).clean(iter([table[:40], table[40:80]]))
    for cut in (parts, list(by_source)):
        for field in whole._fields:
            made = np.concatenate([getattr(part, field) for part in cut])
            np.testing.assert_allclose(made, getattr(whole, field)[:80], rtol=1e-9, atol=1e-12)


def test_a_live_cleaner_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match="causal=True"):
        cleaner().follow(np.ones((3, 2)))
    live = cleaner(causal=True)
    live.follow(np.ones((3, 2)))
    with pytest.raises(ValueError, match="the same columns"):
        live.follow(np.ones((3, 3)))
    with pytest.raises(ValueError, match="nothing to save"):
        thresher.save(cleaner(), "never.thr")
