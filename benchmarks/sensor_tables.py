"""Tables through the sensor codec and its peers: bytes at a given error, and processor time.

- Kraków: temperature, humidity, pressure, PM2.5, twelve stations each, hourly, whole numbers;
  the same temperatures averaged over four stations, in tenths; Los Angeles: speeds; Abilene:
  traffic; series of the Numenta benchmark. ``--half 0`` has the stations and series on which the
  codec was made, ``--half 1`` those that were held out. ``generated`` is a random walk of twelve
  columns in tenths, of 8,760 rows.
- `SensorCodec` of effort 1, 2 and 3: `compress`, all bytes.
- *lzma*, *zstd*: rounded as coarsely as the error allows (whole steps where data lie on a grid),
  differences from row to row, column by column, missing values held, the mask packed apart; lzma of
  preset 9 extreme, zstd of level 19.
- *pcodec*: the same rounded integers, column by column, level 12, with its own differences.
- *SZ3*: values of float64 with missing ones held, in two dimensions, at the largest absolute error
  that keeps the root mean square error; without an error, there is none.
- ``--before FILE``: bytes and seconds of another version of the codec, as JSON by table, half and
  error, are compared.

    THRESHER_DATA=folder python benchmarks/sensor_tables.py [--half 0 1] [--only name]
"""

import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import RESULTS, clock, command_line, read_json, write_json

from thresher import SensorCodec
from thresher.datasets.files import find_data_file
from thresher.linalg import Array

ERRORS = (0.0, 0.01, 0.05)


def tables(half: int) -> Iterator[tuple[str, Array, Array, int]]:
    """Names, values, times in seconds, digits."""
    with np.load(find_data_file("airly_krakow_2017.npz"), allow_pickle=False) as z:
        hours = z["time"].astype("M8[s]").astype(np.int64)
        order = np.argsort(np.isnan(z["temperature"]).mean(axis=0), kind="stable")
        for quantity in ("temperature", "humidity", "pressure", "pm25"):
            Y = z[quantity].astype(np.float64)
            if quantity == "humidity":
                Y[(Y < 0) | (Y > 150)] = np.nan
            yield quantity, Y[:, order[half:24:2]], hours, 0
        T = z["temperature"].astype(np.float64)[:, order[:48]].reshape(-1, 12, 4)
        T = T if half == 0 else T.reshape(-1, 4, 12).transpose(0, 2, 1)
        known = ~np.isnan(T)
        mean = np.nan_to_num(T).sum(axis=2) / np.maximum(known.sum(axis=2), 1)
        tenths = np.where(known.any(axis=2), mean, np.nan)
        noise = np.random.default_rng(half).normal(0, 0.15, tenths.shape)
        yield "mean temperature", np.round(tenths + noise, 1), hours, 1
    with np.load(find_data_file("los_loop_speed.npz"), allow_pickle=False) as z:
        times = z["time"].astype("M8[s]").astype(np.int64)
        yield "los_loop", z["speed"].astype(np.float64)[:, half::2][:, :24], times, 4
    with np.load(find_data_file("abilene_traffic.npz"), allow_pickle=False) as z:
        times, Y = z["time"].astype("M8[s]").astype(np.int64), z["traffic"].reshape(4896, -1)
        Y = Y[:, Y.std(axis=0) > 0].astype(np.float64)
        Y = Y / np.sqrt(np.mean(Y**2, axis=0))  # one error for all would be none for most of them
        yield "abilene", Y[:, half::2][:, :24], times, 4
    with np.load(find_data_file("nab.npz"), allow_pickle=False) as z:
        for i in range(half * 3, 58, 8):
            part = slice(z["offsets"][i], z["offsets"][i + 1])
            name = "nab " + str(z["series_name"][i]).rpartition("/")[2].removesuffix(".csv")
            yield name, z["value"][part, None], z["time"][part].astype(np.int64), 4
    if half == 1:
        rng = np.random.default_rng(0)
        common = rng.normal(size=(8760, 3)).cumsum(axis=0) @ rng.normal(size=(3, 12))
        own = rng.normal(size=(8760, 12)).cumsum(axis=0)
        yield "generated", 100 + common + 0.3 * own, 3600 * np.arange(8760), 1


def relative_error(decoded: Array, Y: Array) -> float:
    return float(np.sqrt(np.nansum((decoded - Y) ** 2) / max(np.nansum(Y**2), 1e-300)))


def filled(Y: Array) -> Array:
    """Missing values take the column's last one, or its first."""
    known = ~np.isnan(Y)
    rows = np.maximum.accumulate(np.where(known, np.arange(len(Y))[:, None], 0), axis=0)
    rows = np.where(np.cumsum(known, axis=0) > 0, rows, known.argmax(axis=0))
    return np.nan_to_num(np.take_along_axis(Y, rows, axis=0))


def coarsest(keeps: Callable[[float], bool], low: float, high: float) -> float:
    """The largest value that keeps the error, to 0.5 %."""
    while high > 1.005 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


def best_step(Y: Array, error: float, spacing: float) -> float:
    """The coarsest multiple of the spacing that keeps the error."""
    if not error:
        return spacing
    size = float(np.sqrt(np.nanmean(Y**2)))

    def keeps(step: float) -> bool:
        return relative_error(np.rint(Y / step) * step, Y) <= error

    step = coarsest(keeps, 1e-3 * error * size, 10 * size)
    return max(spacing * np.floor(step / spacing), spacing) if step > spacing else step


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd", compression_level=19).compress(data, asbytes=True)
    return packed


def mask_bytes(Y: Array) -> int:
    """The changes of the mask, by zstd; part of what each peer takes."""
    M = np.isnan(Y)
    return len(zstd(np.packbits(np.diff(M, axis=0, prepend=False).T).tobytes())) if M.any() else 0


def differences(Q: Array) -> bytes:
    D = np.diff(Q, axis=0, prepend=0).T
    size = next(s for s in (1, 2, 4, 8) if np.abs(D).max() < 2 ** (8 * s - 1))
    return np.ascontiguousarray(D.astype(f"<i{size}")).tobytes()


Packed = tuple[int, float, float]
"""Bytes, and seconds of the processor to pack and to unpack."""


def timed(pack: Callable[[], Any], unpack: Callable[[Any], Any]) -> Packed:
    with clock() as packing:
        packed = pack()
    with clock() as unpacking:
        unpack(packed)
    size = len(packed) if isinstance(packed, bytes) else sum(map(len, packed))
    return size, packing.processor, unpacking.processor


def peers(Y: Array, error: float, spacing: float) -> dict[str, Packed]:
    """All peers on the same values."""
    from pcodec import ChunkConfig, standalone
    from pysz import sz, szConfig, szErrorBoundMode

    F, step = filled(Y), best_step(Y, error, spacing)
    Q, mask = np.rint(F / step).astype(np.int64), mask_bytes(Y)
    level = 9 | lzma.PRESET_EXTREME
    config, columns = ChunkConfig(compression_level=12), [np.ascontiguousarray(q) for q in Q.T]
    found = {
        "lzma": timed(lambda: lzma.compress(differences(Q), preset=level), lzma.decompress),
        "zstd": timed(
            lambda: zstd(differences(Q)),
            lambda data: pa.Codec("zstd").decompress(data, len(differences(Q))),
        ),
        "pcodec": timed(
            lambda: [standalone.simple_compress(q, config) for q in columns],
            lambda parts: [standalone.simple_decompress(part) for part in parts],
        ),
    }
    if error:

        def packed(bound: float) -> Any:
            how = szConfig()
            how.errorBoundMode = szErrorBoundMode.ABS
            how.absErrorBound = bound
            return sz.compress(np.ascontiguousarray(F), how)[0]

        def unpacked(data: Any) -> Any:
            return sz.decompress(data, np.float64, F.shape)[0]

        size = float(np.sqrt(np.nanmean(Y**2)))
        keeps = lambda bound: relative_error(unpacked(packed(bound)), Y) <= error  # noqa: E731
        bound = coarsest(keeps, 1e-3 * error * size, 10 * size)
        found["SZ3"] = timed(lambda: bytes(packed(bound)), lambda _: unpacked(packed(bound)))
    return {name: (n + mask, a, b) for name, (n, a, b) in found.items()}


def ours(Y: Array, error: float, effort: int) -> Packed:
    codec = SensorCodec(error=error, effort=effort)
    codec.compress(Y[:300])  # so that kernels are loaded
    result = timed(lambda: codec.compress(Y), SensorCodec.decompress)
    decoded = SensorCodec.decompress(codec.compress(Y))[0]
    assert relative_error(decoded, Y) <= error * (1 + 1e-9)
    return result


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--half", type=int, nargs="+", choices=(0, 1), default=[1])
    parser.add_argument("--only", default="")
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    before = json.loads(options.before.read_text()) if options.before else {}
    file = RESULTS / "sensor_tables.json"
    results = read_json(file)
    for half in options.half:
        for name, values, _, digits in tables(half):
            if options.only not in name:
                continue
            Y = np.round(values, digits)
            for error in ERRORS:
                row: dict[str, Any] = {"table": name, "half": half, "error": error}
                row |= {f"effort {e}": ours(Y, error, e) for e in (1, 2, 3)}
                row |= peers(Y, error, 10.0**-digits)
                then = before.get(f"{name}|{half}|{error:g}")
                if then is not None:
                    row["before"] = then["array"], then["encode"], then["decode"]
                print(row, flush=True)
                others = [r for r in results.get("tables", []) if _key(r) != _key(row)]
                results["tables"] = [*others, row]
                write_json(file, results)
    _summary(results["tables"])


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["table"], row["half"], row["error"]


def _summary(rows: list[dict[str, Any]]) -> None:
    """Print total bytes and seconds relative to those before, or to effort 2."""
    names = ("before", "effort 1", "effort 2", "effort 3", "lzma", "zstd", "pcodec", "SZ3")
    base = "before" if any("before" in row for row in rows) else "effort 2"
    for name in names:
        pairs = [(row[name], row[base]) for row in rows if name in row and base in row]
        if pairs:
            sums = [sum(p[0][i] for p in pairs) / sum(p[1][i] for p in pairs) for i in range(3)]
            worst = max(a[0] / b[0] for a, b in pairs)
            print(f"{name}: bytes {sums[0]:.3f} (worst row {worst:.2f}), encode {sums[1]:.3f}, "
                  f"decode {sums[2]:.3f} of {base}; {len(pairs)} rows")  # fmt: skip


if __name__ == "__main__":
    main()
