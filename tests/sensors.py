"""Streams of sensors for tests, sent and decoded."""

from functools import cache
from pathlib import Path

import numpy as np

from thresher import SensorCodec


@cache
def made_stream(n=600, N=8, decimals=1, missing=0.1, seed=0):
    """A few common causes, noise of each sensor, and silence that lasts."""
    rng = np.random.default_rng(seed)
    causes = np.cumsum(rng.normal(size=(n, 2)), axis=0) @ rng.normal(size=(2, N))
    Y = 20 + causes + np.cumsum(0.2 * rng.normal(size=(n, N)), axis=0)
    Y = np.round(Y, decimals)
    silent = np.cumsum(rng.random((n, N)) < 0.02, axis=0) % round(1 / missing) == 0
    Y[silent] = np.nan
    return Y


def relative_error(decoded, Y):
    return np.sqrt(np.nansum((decoded - Y) ** 2) / np.nansum(Y**2))


def sent(codec, Y, size=100):
    encoder = codec.encoder(Y.shape[1])
    rows = (Y[i : i + size] for i in range(0, len(Y), size))
    return [packet for part in rows for packet in encoder.encode(part)], encoder


def decoded(packets, decoder=None):
    decoder = SensorCodec().decoder() if decoder is None else decoder
    found = [decoder.decode(packet) for packet in packets]
    assert all(one.problem is None for one in found)
    return np.vstack([one.rows for one in found if one.rows is not None])


def write_csv(path: Path, Y):
    """Tenths, with an hour in each row."""
    lines = ["time," + ",".join(f"s{j}" for j in range(Y.shape[1]))]
    for t, row in enumerate(Y):
        cells = ["" if np.isnan(v) else f"{v:.1f}" for v in row]
        lines.append(f"2024-05-{1 + t // 24:02d} {t % 24:02d}:00," + ",".join(cells))
    path.write_text("\n".join(lines) + "\n")


def planted_sensors(n: int = 400, F: int = 6, seed: int = 0, noise: float = 0.1) -> np.ndarray:
    """Two slow signals, mixed, with noise: each column knows its past and its neighbours."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)[:, None]
    signals = np.hstack([np.sin(t / 15), np.cumsum(rng.normal(size=(n, 1)), axis=0) / 8])
    return signals @ rng.normal(size=(2, F)) + noise * rng.normal(size=(n, F))
