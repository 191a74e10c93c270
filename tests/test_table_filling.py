"""What fills a table: fast ways give what plain ones do, and intervals hold in long gaps."""

import numpy as np
import pytest
from scipy.stats import norm

from thresher import TableCleaner
from thresher.tasks.tables.committee import Committee
from thresher.tasks.tables.correlation import Correlation
from thresher.tasks.tables.factors import Factors
from thresher.tasks.tables.kriging import kriged
from thresher.tasks.tables.limits import natural_limits

# ------------------------------------------------------------------- the same as plain ways


@pytest.mark.parametrize("n_gaps", [0, 1, 3, 4, 8, 11, 12])
def test_rows_with_few_and_many_gaps_are_told_alike(n_gaps: int) -> None:
    """Three factors of twelve columns; up to three gaps are few."""
    rng = np.random.default_rng(n_gaps)
    factors = Factors(rng.normal(size=(12, 3)), 0.05 + rng.random(12))
    sigma = factors.loadings @ factors.loadings.T + np.diag(factors.own)
    Z, trusted = rng.normal(size=(3, 12)), np.ones((3, 12), dtype=bool)
    for row in (0, 2):  # the second of them comes after a whole row
        trusted[row, rng.permutation(12)[:n_gaps]] = False
    told = factors.without_itself(Z, trusted)
    for t, j in np.ndindex(3, 12):
        others = np.flatnonzero(trusted[t] & (np.arange(12) != j))
        weights = np.linalg.solve(sigma[np.ix_(others, others)], sigma[others, j])
        assert told.mean[t, j] == pytest.approx(weights @ Z[t, others], abs=1e-9)
        assert told.variance[t, j] == pytest.approx(sigma[j, j] - weights @ sigma[others, j])


def neighbours(good: np.ndarray, t: int, period: int, causal: bool) -> list[int]:
    """Two readings on each side, or four before; and the nearest one or more periods away."""
    before = np.flatnonzero(good[:t])[::-1]
    after = t + 1 + np.flatnonzero(good[t + 1 :])
    near = [*before[:4]] if causal else [*before[:2], *after[:2]]
    for stride in (-period, period)[: 1 if causal else 2] if period else ():
        away = [p for p in (t + stride, t + 2 * stride, t + 3 * stride) if 0 <= p < len(good)]
        there = [p for p in away if good[p]]
        if there and there[0] not in near:
            near.append(there[0])
    return [int(place) for place in near]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("period", [0, 2, 12])
@pytest.mark.parametrize("even", [True, False])
def test_kriging_solves_the_equations_of_every_entry(causal: bool, period: int, even: bool) -> None:
    """Whether all around it was read or not; a column without correlation tells nothing."""
    rng = np.random.default_rng(period)
    n, ranges = 60, np.array([3.0, 40.0])
    times = np.arange(n) * 1.0 if even else np.cumsum(rng.integers(1, 4, n)) * 1.0
    weights = np.zeros((3, 8 if period else 4))
    weights[0, [0, 3]], weights[2, [1, -1]] = (0.5, 0.4), (0.3, 0.6)
    correlation = Correlation(weights, ranges, float(period))
    U, trusted = rng.normal(size=(n, 3)), rng.random((n, 3)) > 0.15
    found = kriged(U, trusted, times, correlation, causal)
    later = kriged(U, trusted, times, correlation, causal, first=25)
    for part, again in zip(found, later, strict=True):
        np.testing.assert_allclose(part[25:], again, rtol=1e-12)
    assert not found.mean[:, 1].any()
    for t, j in np.ndindex(n, 3):
        near = neighbours(trusted[:, j], t, period, causal)
        if j == 1 or not near:
            continue
        d = times[near] - times[t]
        R = correlation.of_column(j, d[:, None] - d)
        np.fill_diagonal(R, 1 + 1e-6)
        r = correlation.of_column(j, d)
        w = np.linalg.solve(R, r)
        assert found.mean[t, j] == pytest.approx(w @ U[near, j], abs=1e-8)
        assert found.left[t, j] == pytest.approx(np.clip(1 - w @ r, 1e-6, 1), abs=1e-8)


def test_a_committee_that_goes_on_keeps_its_members_and_their_ridges() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 26)) + 0.3 * rng.normal(size=(300, 26))
    trusted = rng.random(rows.shape) > 0.1
    first = Committee.learned(rows, trusted)
    same = Committee.learned(rows, trusted, first)
    np.testing.assert_allclose(same.weights.toarray(), first.weights.toarray(), atol=1e-9)
    np.testing.assert_allclose(same.offset, first.offset, atol=1e-9)
    fewer = trusted & (rng.random(rows.shape) > 0.2)
    then = Committee.learned(rows, fewer, first)
    for j in (0, 7):
        read, mean = rows[fewer[:, j]], np.zeros(26)
        away = read - read.mean(0)
        for some, ridge in zip(first.drawn[j], first.ridge[j], strict=True):
            X = away[:, some]
            G = X.T @ X + ridge * np.eye(len(some))
            mean[some] += np.linalg.solve(G, X.T @ away[:, j]) / len(first.drawn[j])
        np.testing.assert_allclose(then.weights.toarray()[j], mean, atol=1e-8)
        assert then.offset[j] == pytest.approx(read[:, j].mean() - read.mean(0) @ mean)


def test_a_limit_is_met_when_all_visits_but_stop_there() -> None:
    """By the formula, visit after visit, for each column; gaps do not end a visit."""
    rng = np.random.default_rng(5)
    guess = 3 * np.sin(np.arange(400)[:, None] / 7 + np.arange(4)) + 5
    X = guess + 0.3 * rng.normal(size=guess.shape)
    X[:, 2] = np.minimum(X[:, 2], 6.5 + 0.01 * rng.random(400))
    trusted, spread = rng.random(X.shape) > 0.1, np.full(X.shape, 0.3)
    trusted[:, 3] = False
    off = np.sort(((X - guess) / spread)[trusted])
    chances = []
    for j in range(3):
        x, g = X[trusted[:, j], j], guess[trusted[:, j], j]
        stays = np.searchsorted(off, (x.max() - g) / 0.3, side="right") / len(off)
        p, lowest, upper = 1.0, 1.0, x >= np.median(x)
        for now, chance in zip([*upper, False], [*stays, 1.0], strict=True):
            p, lowest = (p, min(lowest, chance)) if now else (p * lowest, 1.0)
        chances.append(p)
    like = np.full(4, -1)
    for rate in (0.5 * min(chances), 1.5 * min(chances), 1.5 * max(chances)):
        _, high = natural_limits(X, trusted, guess, spread, like, rate)
        assert list(np.isfinite(high[:3])) == [p < rate for p in chances]
        assert high[3] == np.inf
    assert np.argmin(chances) == 2


# ------------------------------------------------------------------- intervals


def test_intervals_hold_in_long_gaps_of_quiet_and_of_noisy_columns() -> None:
    """A column that its row tells exactly has narrower intervals, though its gap is as long."""
    rng = np.random.default_rng(0)
    n, F = 700, 24
    factors = np.cumsum(rng.normal(size=(n, 2)), axis=0) / 8
    noise = np.where(np.arange(F) % 2, 1.0, 0.1)
    X = factors @ rng.normal(size=(2, F)) + noise * rng.normal(size=(n, F))
    gaps = np.zeros(X.shape, dtype=bool)
    for j in range(16):
        start = int(rng.integers(0, n - 100))
        gaps[start : start + 100, j] = True
    found = TableCleaner(random_state=0).clean(np.where(gaps, np.nan, X))
    inside = (found.lower <= X) & (found.upper >= X)
    half = (found.upper - found.lower) / 2
    quiet, loud = (gaps & (np.arange(F) % 2 == odd) for odd in (0, 1))
    assert 0.85 < inside[gaps].mean() < 0.95
    assert inside[quiet].mean() > 0.9
    assert inside[loud].mean() > 0.75
    assert half[quiet].mean() < 0.4 * half[loud].mean()
    assert half[loud].mean() == pytest.approx(norm.ppf(0.95), rel=0.25)
