"""Codec streams and files: lossless to the bit, and per-column bounds with silent sensors."""

from typing import Any

import numpy as np

from fuzz.packets import refused
from thresher import SensorCodec

COLUMNS = {
    "multiples of .1": lambda rng, n: rng.integers(-500, 500, n) * 0.1,
    "multiples of .01": lambda rng, n: np.cumsum(rng.integers(-5, 6, n)) * 0.01,
    "sums of .1": lambda rng, n: np.cumsum(np.full(n, 0.1)),
    "rounded": lambda rng, n: np.round(rng.normal(size=n), int(rng.integers(0, 6))),
    "thirds": lambda rng, n: rng.integers(-9, 9, n) / 3,
    "next to whole": lambda rng, n: np.nextafter(rng.integers(-9, 9, n), np.inf),
    "signed zeros": lambda rng, n: rng.choice([0.0, -0.0, 1.0], n),
    "zeros": lambda rng, n: np.full(n, rng.choice([0.0, -0.0])),
    "subnormal": lambda rng, n: rng.choice([5e-324, 0.0, 1.0, 2.2e-308], n),
    "magnitudes": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.integers(-20, 14, n),
    "huge": lambda rng, n: np.round(rng.normal(size=n) * 1e14),
    "noise": lambda rng, n: rng.normal(size=n),
    "tiny": lambda rng, n: rng.normal(size=n) * 1e-200,
}
"""Columns of hostile floats, by name."""

EXACT = list(COLUMNS)[:4] * 2 + list(COLUMNS)


def hostile_rows(rng: np.random.Generator, kinds: list[str], n: int) -> np.ndarray:
    """Columns of some kinds."""
    return np.stack([COLUMNS[kind](rng, n) for kind in kinds], axis=1)


def decoded_stream(codec: SensorCodec, Y: np.ndarray, size: int) -> np.ndarray:
    """Rows through packets, so many given to the edge at a time."""
    encoder, decoder = codec.encoder(Y.shape[1]), codec.decoder()
    found = []
    for start in range(0, len(Y), size):
        for packet in encoder.encode(Y[start : start + size]):
            result = decoder.decode(packet)
            assert result.problem is None, result.problem
            if result.rows is not None:
                found.append(result.rows)
    return np.vstack(found)


def assert_same_bits(values: np.ndarray, Y: np.ndarray) -> None:
    """The same numbers to the bit in the type of Y; NaN in the same places."""
    again = values.astype(Y.dtype)
    np.testing.assert_array_equal(np.isnan(again), np.isnan(Y))
    known = ~np.isnan(Y)
    assert again[known].tobytes() == Y[known].tobytes(), "some bits changed"


def lossless(rng: np.random.Generator) -> str:
    """What error=0 accepts comes back to the bit, from streams and from files."""
    kinds = [str(kind) for kind in rng.choice(EXACT, rng.integers(1, 4))]
    Y = hostile_rows(rng, kinds, int(rng.integers(1, 120)))
    with np.errstate(over="ignore"):
        Y = Y.astype(rng.choice([np.float64, np.float64, np.float32, np.float16]))
    if rng.random() < 0.3:
        Y[rng.random(Y.shape) < 0.3] = np.nan
    asked: dict[str, Any] = {"error": 0.0} if rng.random() < 0.7 else {"max_error": 0}
    effort = int(rng.integers(1, 4))
    codec = SensorCodec(batch_size=int(rng.integers(1, 50)), effort=effort, **asked)
    try:
        whole, _ = SensorCodec.decompress(codec.compress(Y))
        stream = decoded_stream(codec, Y, int(rng.integers(1, 40)))
    except ValueError as error:
        return refused(error)
    assert_same_bits(whole, Y)
    assert_same_bits(stream, Y)
    return "right"


def by_column(rng: np.random.Generator) -> str:
    """Each column keeps its own bound, whichever sensors are silent, at any size of packets."""
    n, N = int(rng.integers(1, 60)), int(rng.integers(1, 8))
    if rng.random() < 0.2:
        Y = hostile_rows(rng, [str(kind) for kind in rng.choice(list(COLUMNS), N)], n)
    else:
        Y = rng.normal(size=(n, N)) * 10.0 ** rng.integers(-2, 3, N)
        Y = np.cumsum(Y, axis=0) if rng.random() < 0.5 else Y
        Y = np.round(Y, int(rng.integers(0, 4))) if rng.random() < 0.5 else Y
    Y[rng.random(Y.shape) < rng.choice([0.0, 0.1, 0.5, 0.9])] = np.nan
    Y[:, rng.random(N) < 0.1] = np.nan
    choices = [0.0, 0.01, 0.1, 1.0, "1%", "5%", "20%"]
    error = [choices[i] for i in rng.choice(len(choices), N)]
    if rng.random() < 0.5:
        error = [e if e != 0.0 else 0.1 for e in error]
    codec = SensorCodec(error=error, batch_size=int(rng.choice([1, 1, 2, 7, 256])))
    try:
        values = decoded_stream(codec, Y, int(rng.choice([1, 3, 50])))
    except ValueError as refusal:
        return refused(refusal)
    np.testing.assert_array_equal(np.isnan(values), np.isnan(Y))
    for j, bound in enumerate(error):
        known = ~np.isnan(Y[:, j])
        if not known.any():
            continue
        size = np.sqrt(np.mean(np.square(values[known, j] - Y[known, j])))
        allowed = float(bound) if not isinstance(bound, str) else (
            float(bound[:-1]) / 100 * np.sqrt(np.mean(np.square(Y[known, j])))
        )  # fmt: skip
        assert size <= allowed * (1 + 1e-9), (j, bound, size, allowed)
    return "right"


FAMILIES = [lossless, by_column]
