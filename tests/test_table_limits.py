"""How far a filled column may go, and what a live cleaner may flag, whatever comes."""

import numpy as np
import pytest
from scipy.signal import lfilter

from sensors import planted_sensors
from thresher import TableCleaner
from thresher.tasks.tables.alarms import Alarm
from thresher.tasks.tables.limits import natural_limits
from thresher.tasks.tables.model import straight_line


def cleaner(**parameters: object) -> TableCleaner:
    return TableCleaner(random_state=0, **parameters)


def wandering(n: int, F: int, stays: float, seed: int = 0) -> np.ndarray:
    news = np.sqrt(1 - stays**2) * np.random.default_rng(seed).normal(size=(n, F))
    return np.asarray(lfilter([1.0], [1.0, -stays], news, axis=0))


# ------------------------------------------------------------------- limits


def test_the_end_of_a_range_is_a_limit_only_if_readings_stop_there_again_and_again() -> None:
    """The next value of an autoregression is known but for normal noise: as it is, or cut off."""
    X = 50 + wandering(2000, 40, 0.9)
    X[:, 20:] = np.minimum(X[:, 20:], 51.0)
    guess, spread = 50 + 0.9 * (X[:-1] - 50), np.full((1999, 40), np.sqrt(1 - 0.9**2))
    now, alone = X[1:], np.full(40, -1)
    low, high = natural_limits(now, np.ones(now.shape, bool), guess, spread, alone, 0.001)
    assert np.isinf(low).all()
    assert np.isinf(high[:20]).all()
    assert (high[20:] == 51.0).all()


@pytest.mark.parametrize("sign", [-1, 1])
def test_zero_is_a_limit_if_a_column_like_it_never_passed_it_either(sign: int) -> None:
    X = 6 + wandering(500, 3, 0.9)
    X[:, 2] -= 6
    guess, spread = X + 0.1, np.full(X.shape, 0.1)
    like = np.array([1, 0, 0])
    ends = natural_limits(sign * X, np.ones(X.shape, bool), sign * guess, spread, like, 1e-300)
    low, high = ends if sign > 0 else (-ends[1], -ends[0])
    assert (low[:2] == 0).all()
    assert np.isinf(low[2])
    assert np.isinf(high).all()


def test_a_sensor_that_is_off_in_a_storm_is_filled_beyond_its_range() -> None:
    X = 1000 + 8 * wandering(800, 1, 0.99) + 0.3 * wandering(800, 12, 0.8, 1)
    storm = np.exp(-(((np.arange(800) - 500) / 20) ** 2))[:, None]
    X = X - 60 * storm
    off, Y = slice(440, 560), X.copy()
    Y[off, 3] = np.nan
    found = cleaner().clean(Y)
    error = np.sqrt(np.mean((found.table - X)[off, 3] ** 2))
    assert np.nanmin(Y[:, 3]) - X[off, 3].min() > 20
    assert error < 1.0  # 20 if it stayed in its range
    inside = (found.lower <= X) & (found.upper >= X)
    assert inside[off, 3].mean() > 0.7


@pytest.mark.parametrize("causal", [False, True])
def test_dust_is_never_negative_nor_humidity_above_a_hundred(causal: bool) -> None:
    causes = wandering(800, 2, 0.95)
    rng = np.random.default_rng(1)
    dust = np.maximum(causes[:, :1] * rng.uniform(5, 9, 6) + 5 + rng.normal(size=(800, 6)), 0)
    humid = np.minimum(85 + 15 * causes[:, 1:] + rng.normal(size=(800, 6)), 100)
    X = np.hstack([dust, humid])
    gaps = rng.random(X.shape) < 0.1
    for j in range(0, 12, 2):
        gaps[200 + 40 * j : 280 + 40 * j, j] = True
    gaps[:200] = False  # a live cleaner has yet to meet the limits
    found = cleaner(causal=causal).clean(np.where(gaps, np.nan, X))
    for part in (found.table, found.lower, found.upper):
        made = np.where(gaps, part, np.nan)
        assert np.nanmin(made[:, :6]) >= 0
        assert np.nanmax(made[:, 6:]) <= 100


def test_a_line_between_readings_does_not_see_what_it_tells_of() -> None:
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.random(30))
    Z, trusted = rng.normal(size=(30, 2)), rng.random((30, 2)) < 0.6
    trusted[:, 1] = False
    line = straight_line(Z, trusted, times, causal=False)
    last = straight_line(Z, trusted, times, causal=True, first=10)
    for t in range(30):
        read = np.flatnonzero(trusted[:, 0] & (np.arange(30) != t))
        assert line[t, 0] == pytest.approx(np.interp(times[t], times[read], Z[read, 0]))
        if t >= 10:
            assert last[t - 10, 0] == Z[read[read < t][-1], 0]
    assert not line[:, 1].any()


# ------------------------------------------------------------------- live


def test_a_live_limit_keeps_its_rate_whatever_comes() -> None:
    """Suspicions that rise for ever: the limit rises with them."""
    rng = np.random.default_rng(0)
    sound = rng.exponential(size=20_000)
    alarm = Alarm.calibrated(sound, np.zeros(0), 0.001)
    assert 5 < alarm.limit < 9
    coming = rng.exponential(size=(1500, 20)) + np.linspace(0, 15, 1500)[:, None]
    flagged = coming > alarm.limits(coming)[:, None]
    assert (coming > alarm.limit).mean() > 0.3
    assert flagged.mean() < 0.01


@pytest.mark.parametrize("change", ["level", "mixing", "noise"])
def test_a_live_cleaner_never_flags_whole_rows_for_ever(change: str) -> None:
    """All sensors change at once, for good. That is news, not a glitch."""
    X, other = planted_sensors(700, 10, seed=3), planted_sensors(700, 10, seed=4)
    after = {"level": X + 30, "mixing": 3 * other, "noise": X + 2 * wandering(700, 10, 0.0)}
    X[350:] = after[change][350:]
    flags = cleaner(causal=True).clean(X).flags
    assert flags[100:350].mean() < 0.02
    assert flags[350:450].mean() < 0.1
    assert flags[450:].mean() < 0.01


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_live_glitches_are_found_and_sound_readings_are_not(share: float) -> None:
    truth = planted_sensors(700, 10, seed=1)
    rng = np.random.default_rng(0)
    wrong = rng.random(truth.shape) < share
    off = rng.choice([-1, 1], truth.shape) * rng.uniform(2, 6, truth.shape) * truth.std(0)
    flags = cleaner(causal=True).clean(np.where(wrong, truth + off, truth)).flags[200:]
    wrong = wrong[200:]
    assert flags[wrong].mean() > 0.9
    assert flags[~wrong].mean() < 0.005 + 0.1 * share
