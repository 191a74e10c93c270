"""Where the limit between sound readings and glitches is: few, many, apart or not; and live."""

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn.metrics import precision_recall_curve

from sensors import planted_sensors
from thresher import TableCleaner
from thresher.tasks.tables.alarms import (
    Alarm,
    Tail,
    activity,
    fewest_mistakes,
    rather_glitches,
    suspicion,
)
from thresher.tasks.tables.hindsight import resting


def cleaner(**parameters: object) -> TableCleaner:
    return TableCleaner(random_state=0, **parameters)


def with_glitches(truth: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    wrong = rng.random(truth.shape) < share
    off = rng.choice([-1, 1], truth.shape) * rng.uniform(2, 6, truth.shape) * truth.std(0)
    return np.where(wrong, truth + off, truth), wrong


def f(flags: np.ndarray, wrong: np.ndarray) -> float:
    return float(2 * (flags & wrong).sum() / (flags.sum() + wrong.sum()))


def best_f(scores: np.ndarray, wrong: np.ndarray) -> float:
    """At the best threshold, as the truth tells."""
    precision, recall, _ = precision_recall_curve(wrong.ravel(), scores.ravel())
    return float((2 * precision * recall / np.maximum(precision + recall, 1e-9)).max())


def smooth(n: int = 500, F: int = 8) -> np.ndarray:
    """All sensors move together, slowly, as pressure does."""
    rng = np.random.default_rng(0)
    wave = lfilter([0.01], [1.0, -1.88, 0.89], rng.normal(size=n))
    return np.asarray(1000 + 5 * wave[:, None] * rng.uniform(0.8, 1.2, F)) + 0.03 * rng.normal(
        size=(n, F)
    )


# ------------------------------------------------------------------- limits


def test_fewest_mistakes_are_those_of_all_limits() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        sound, glitches = rng.normal(size=30), rng.normal(2, 1, rng.integers(1, 20))
        lower, middle = fewest_mistakes(sound, glitches)

        def mistakes(s: float, a: np.ndarray = sound, b: np.ndarray = glitches) -> int:
            return int(np.sum(a > s) + np.sum(b <= s))

        every = [mistakes(s) for s in np.concatenate([sound, glitches])]
        assert mistakes(lower) == mistakes(middle) == min(every)
    assert fewest_mistakes(np.arange(5.0), np.zeros(0)) == (np.inf, np.inf)
    assert fewest_mistakes(np.array([0.0, 1.0]), np.array([5.0, 7.0])) == (1.0, 3.0)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_a_reading_is_rather_a_glitch_as_bayes_says(share: float) -> None:
    """Errors of Student's t, glitches anywhere in six standard deviations: mistakes are fewest."""
    rng = np.random.default_rng(0)
    n, sigma = 40_000, 0.05
    glitches = rng.random(n) < share
    errors = np.where(glitches, rng.uniform(-3, 3, n), sigma * rng.standard_t(2, n))
    s = suspicion(errors, np.full(n, sigma))
    limit = rather_glitches(s)
    share_above = np.mean(s > limit)
    assert limit == pytest.approx(
        np.log(6 / np.sqrt(8)) + np.log((1 - share_above) / share_above), abs=1e-3
    )

    def mistakes(at: float) -> int:
        return int(np.sum((s > at) & ~glitches) + np.sum((s <= at) & glitches))

    assert mistakes(limit) < 1.1 * mistakes(fewest_mistakes(s[~glitches], s[glitches])[1])


def test_without_glitches_nothing_is_rather_one() -> None:
    errors = np.random.default_rng(0).normal(size=40_000)
    assert rather_glitches(suspicion(errors, np.ones(40_000))) == np.inf


def test_few_glitches_stand_behind_a_gap_that_chance_does_not_leave() -> None:
    rng = np.random.default_rng(0)
    apart = found = 0
    for _ in range(20):
        sound = rng.exponential(size=4000)
        alone = Tail.learned(sound, sound)
        apart += alone.limit(0.001) > alone.level(0.001)
        glitches = 25 + rng.random(5)
        limit = Tail.learned(np.concatenate([sound, glitches]), sound).limit(0.001)
        found += sound.max() < limit < 25
        assert limit < 25
    assert apart <= 1
    assert found >= 16  # in the others more than expected lie below it


def test_glitches_of_a_small_table_are_flagged_and_nothing_else() -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        table = np.sin(np.arange(600)[:, None] / 12 + rng.random(8))
        table += 0.1 * rng.normal(size=(600, 8))
        wrong = np.zeros(table.shape, dtype=bool)
        table[::97, 5], wrong[::97, 5] = 4.0, True
        assert np.array_equal(cleaner().clean(table).flags, wrong)


def test_many_glitches_in_noise_hide_no_limit() -> None:
    """A fifth of all readings, none of which stands apart: near the best threshold of scores."""
    rng = np.random.default_rng(0)
    truth = planted_sensors(500, 12) + rng.normal(size=(500, 12))
    table, wrong = with_glitches(truth, 0.2)
    found = cleaner().clean(table)
    assert f(found.flags, wrong) > best_f(found.scores, wrong) - 0.05


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_glitches_that_stand_apart_take_no_sound_reading_with_them(share: float) -> None:
    table, wrong = with_glitches(planted_sensors(600, 8), share)
    flags = cleaner().clean(table).flags
    assert flags[wrong].mean() > 0.97
    assert flags[~wrong].mean() < 0.0005


# ------------------------------------------------------------------- live


def test_a_live_limit_is_between_sound_readings_and_glitches_that_stand_apart() -> None:
    sound, glitches = np.linspace(-3, 1, 5000), np.linspace(7, 12, 50)
    apart = Alarm.calibrated(sound, glitches, 0.001)
    assert apart.limit == pytest.approx(4.0)
    assert apart.likely <= 1.0  # what is trusted is sound beyond doubt
    assert Alarm.calibrated(sound, glitches[:2], 0.001).limit <= 1.0  # too few to tell


def test_a_column_that_has_changed_is_lively_before_it_is_trusted() -> None:
    """Six of its last eight readings are off: then it is errors that are large, not glitches."""
    errors = np.random.default_rng(0).uniform(0.2, 1.2, size=(60, 5))
    errors[30:, 2] = 40.0
    lively = activity(errors, np.ones(errors.shape), errors < 10, causal=True)
    assert lively[:36, 2].max() < 4
    assert (lively[36:, 2] > 40).all()
    assert np.delete(lively, 2, axis=1).max() < 4


@pytest.mark.filterwarnings("ignore:Nothing is known")
def test_a_sensor_that_comes_on_is_neither_flagged_nor_a_reason_to_miss_others() -> None:
    truth = smooth()
    table, wrong = with_glitches(truth, 0.02)
    wrong[:, 3], wrong[:250, 3] = False, False
    table[:, 3] = truth[:, 3]
    table[:250, 3] = np.nan
    flags = cleaner(causal=True).clean(table).flags
    assert not flags[250:300, 3].any()
    assert f(flags[100:], wrong[100:]) > 0.95


@pytest.mark.filterwarnings("ignore:Nothing is known")
@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_live_glitches_of_smooth_tables_are_found_as_by_the_median_before(share: float) -> None:
    """The median of the seven readings before is told the best threshold."""
    table, wrong = with_glitches(smooth(), share)
    flags = cleaner(causal=True).clean(table).flags
    before = np.median([np.roll(table, k, axis=0) for k in range(1, 8)], axis=0)
    away = np.abs(table - before)[100:]
    assert f(flags[100:], wrong[100:]) > best_f(away, wrong[100:]) - 0.02


@pytest.mark.parametrize("kind", ["smooth", "noisy", "drifting"])
def test_a_live_table_without_glitches_has_few_flags(kind: str) -> None:
    """One in a thousand is asked for."""
    rng = np.random.default_rng(0)
    noisy = planted_sensors(600, 10) + rng.normal(size=(600, 10))
    drifting = planted_sensors(600, 10) + np.linspace(0, 20, 600)[:, None] * rng.normal(size=10)
    table = {"smooth": smooth(600, 10), "noisy": noisy, "drifting": drifting}[kind]
    assert cleaner(causal=True).clean(table).flags[120:].mean() < 0.003


# ---------------------------------------------------------------------- columns that rest


def test_a_column_rests_if_it_leaves_its_value_to_one_side() -> None:
    rng = np.random.default_rng(0)
    rain = np.where(rng.random(400) < 0.7, 0.0, rng.gamma(1, 3, 400))
    sides = np.where(rng.random(400) < 0.1, rng.choice([-5.0, 5.0], 400), 0.0)
    often = np.where(rng.random(400) < 0.45, 0.0, rng.gamma(1, 3, 400))  # no rest: mostly not 0
    nine, eleven = np.zeros(400), np.zeros(400)
    nine[:9], eleven[:11] = 1, 1  # 2⁻⁸ and 2⁻¹⁰ by chance
    empty = np.full(400, np.nan)
    X = np.stack([rain, 10 - rain, sides, often, nine, eleven, np.zeros(400), empty], axis=1)
    rests = resting(X, np.isfinite(X), 0.001)
    assert rests.tolist() == [True, True, False, False, False, True, False, False]
    hidden = np.isfinite(X) & (rain == 0)[:, None]
    assert not resting(X, hidden, 0.001)[0]  # what is not allowed does not count


def test_rain_is_no_glitch() -> None:
    rng = np.random.default_rng(0)
    X = planted_sensors(800, 5)
    rain = np.where(rng.random(800) < 0.7, 0.0, rng.gamma(1, 3, 800))
    wrong = np.zeros(800, dtype=bool)
    wrong[100::100] = True
    Y = np.column_stack([X[:, :4], np.where(wrong, X[:, 4] + 15, X[:, 4]), rain])
    flags = TableCleaner(random_state=0, verbose=0).clean(Y).flags
    assert flags[wrong, 4].all()
    assert flags[:, 5].mean() < 0.005
    rain[300] = 500.0  # but no rain is like that
    Y[:, 5] = rain
    assert TableCleaner(random_state=0, verbose=0).clean(Y).flags[300, 5]
