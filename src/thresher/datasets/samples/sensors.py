"""Sensors: thermometers around a house."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

_NAMES = ("cellar", "kitchen", "bath", "study", "attic", "porch", "garden", "greenhouse")
_ROWS = 960  # of a quarter of an hour each


def sensors_file() -> bytes:
    """A time and eight temperatures in a row, in tenths; some cells are empty."""
    rng = np.random.default_rng(2)
    day = np.arange(_ROWS) / 96
    sun = np.maximum(np.sin(2 * np.pi * (day - 0.29)), -0.35)
    weather = np.cumsum(rng.normal(scale=0.06, size=_ROWS))
    follows = np.array([0.05, 0.2, 0.2, 0.25, 0.7, 0.9, 1.0, 1.6])
    level = np.array([13.0, 21.5, 22.0, 20.5, 18.0, 15.0, 14.0, 19.0])
    values = level + np.outer(4.0 * sun + weather, follows)
    values += rng.normal(scale=0.05, size=values.shape)
    values = np.round(values, 1)
    values[rng.random(values.shape) < 0.01] = np.nan
    start = datetime(2026, 3, 2)
    lines = [",".join(("time", *_NAMES))]
    for number, row in enumerate(values):
        time = start + timedelta(minutes=15 * number)
        cells = ["" if np.isnan(value) else f"{value:.1f}" for value in row]
        lines.append(",".join([time.isoformat(timespec="minutes"), *cells]))
    return ("\n".join(lines) + "\n").encode()
