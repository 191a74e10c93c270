"""A table: bicycles that were counted on roads."""

from __future__ import annotations

import numpy as np

_DAYS = 35
_ROADS = {
    "commute": ("north_bridge", "station_road", "mill_lane", "harbour_street", "ring_east",
                "ring_west", "tunnel", "market_street"),
    "leisure": ("river_path", "park_loop", "lake_shore", "forest_track", "old_railway",
                "hill_road", "beach_walk", "zoo_gate"),
    "students": ("campus_gate", "library", "south_bridge", "sports_field", "chapel_street",
                 "dormitory", "canteen", "observatory"),
}  # fmt: skip


def table_file() -> bytes:
    """A row for each hour, a column for each road; NaN are empty cells.

    Each hour is a mixture of three habits. A counter that fails counts five hundred.
    """
    rng = np.random.default_rng(1)
    hour = np.arange(24 * _DAYS)
    clock, weekday = hour % 24, hour // 24 % 7 < 5
    habits = np.stack(
        [
            (_hump(clock, 8, 1.2) + _hump(clock, 17, 1.5)) * np.where(weekday, 1.0, 0.15),
            _hump(clock, 15, 3.0) * np.where(weekday, 0.3, 1.0),
            (_hump(clock, 10, 1.5) + 0.7 * _hump(clock, 22, 2.0)) * np.where(weekday, 0.8, 0.5),
        ],
        axis=1,
    )
    names = [name for group in _ROADS.values() for name in group]
    shares = 0.06 * rng.random((3, len(names)))
    for row, group in enumerate(_ROADS.values()):
        for name in group:
            shares[row, names.index(name)] = 0.5 + rng.random()
    weather = 0.7 + 0.6 * rng.random((len(hour), 3))
    counts = rng.poisson(60 * (habits * weather) @ shares).astype(float)
    counts[rng.random(counts.shape) < 0.005] = 500.0
    counts[rng.random(counts.shape) < 0.03] = np.nan
    lines = [",".join(names)]
    lines += [",".join("" if np.isnan(v) else f"{v:.0f}" for v in row) for row in counts]
    return ("\n".join(lines) + "\n").encode()


def _hump(clock: np.ndarray, middle: float, width: float) -> np.ndarray:
    """How busy it is around an hour of the day, which follows the one before."""
    away = np.abs(clock - middle)
    return np.asarray(np.exp(-0.5 * (np.minimum(away, 24 - away) / width) ** 2))
