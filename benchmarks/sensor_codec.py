"""Sensor compression: bytes at a given error, beside zstd, zfp and fpzip; half-lives; damage.

Temperature, humidity and pressure of 56 sensors in Kraków, hourly, 8593 hours of 2017, a fifth to a
third missing. Humidity outside 0 to 150 is taken as missing, for all. The error is relative:
the root of the squared error over the squares, of observed values.

**table**: bytes at 1, 2 and 5 %. `SensorCodec.compress` is a file, heads and all. The others get
missing values filled with the sensor's last one, which suits them, and the mask apart, by zstd, in
its best layout of eight; their own heads are counted, nothing else.

- zstd, level 22: values rounded to the coarsest multiple of a step that keeps the error (whole
  steps and others), smallest integer type; rows or columns first, as they are, or differences over
  time, or over time and sensors, bytes of a number apart or together: the best of all.
- zfp (zfpy, fixed accuracy, 2-d): the largest tolerance that keeps the error, either order, either
  precision, rounded to whole numbers afterwards if that helps.
- fpzip: the lowest precision that keeps the error, and lossless on rounded values; either order.

**half_lives**: a stream in packets of 256 rows, with one half-life at a time and with ``auto``:
bytes, dictionaries included, at 10 and 20 %; and with ``n_nonzero``, beside the ⌊N/η₀⌋ of the
paper, for temperature. (The scheme of the paper itself is in ``benchmarks/reproduce``.)

**files**: bytes of files at 10 and 20 %, with dictionaries and without.

**fuzz**: over 10,000 damaged packets, half of them with a checksum that was made good.

**speed**: rows a second in packets of 256 rows, one thread.

    THRESHER_DATA=folder python benchmarks/sensor_codec.py [--parts …] [--data folder]
"""

import copy
import zlib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import fpzip
import numpy as np
import zfpy
import zstandard
from common import RESULTS, clock, command_line, read_json, write_json

from thresher import SensorCodec
from thresher.datasets.files import find_data_file
from thresher.linalg import Array
from thresher.testing import damaged

QUANTITIES = ("temperature", "humidity", "pressure")
ERRORS = (0.01, 0.02, 0.05)
HALF_LIVES: tuple[Any, ...] = ("no dictionary", 50, 200, 1000, 5000, "auto")


def sensors(quantity: str) -> Array:
    with np.load(find_data_file("airly_krakow_2017.npz"), allow_pickle=False) as z:
        Y = z[quantity].astype(np.float64)
    if quantity == "humidity":
        Y[(Y < 0) | (Y > 150)] = np.nan
    return Y


def relative_error(decoded: Array, Y: Array) -> float:
    return float(np.sqrt(np.nansum((decoded - Y) ** 2) / np.nansum(Y**2)))


def filled(Y: Array) -> Array:
    """Gaps take the sensor's last value, or its first."""
    known = ~np.isnan(Y)
    rows = np.maximum.accumulate(np.where(known, np.arange(len(Y))[:, None], 0), axis=0)
    first = known.argmax(axis=0)
    rows = np.where(np.cumsum(known, axis=0) > 0, rows, first)
    return np.nan_to_num(np.take_along_axis(Y, rows, axis=0))


# ------------------------------------------------------------------ competitors


def zstd(data: bytes) -> int:
    return len(zstandard.ZstdCompressor(level=22).compress(data))


def mask_bytes(Y: Array) -> int:
    M = np.isnan(Y)
    change, first = np.diff(M, axis=0), np.packbits(M[0]).size
    return min(
        zstd(content.tobytes()) + extra
        for A, extra in ((M, 0), (M.T, 0), (change, first), (change.T, first))
        for content in (np.packbits(A), np.ascontiguousarray(A))
    )


def smallest_integers(A: Array) -> Array:
    for dtype in (np.int8, np.int16, np.int32):
        if np.abs(A).max() <= np.iinfo(dtype).max:
            return A.astype(dtype)
    raise ValueError("too large")


def zstd_layouts(Q: Array) -> Iterator[Array]:
    over_time = np.diff(Q, axis=0, prepend=0)
    for A in (Q, over_time, np.diff(over_time, axis=1, prepend=0)):
        for order in (A, A.T):
            integers = np.ascontiguousarray(smallest_integers(order))
            yield integers
            if integers.itemsize > 1:
                yield np.ascontiguousarray(
                    integers.ravel().view(np.uint8).reshape(-1, integers.itemsize).T
                )


def coarsest(keeps: Callable[[float], bool], low: float, high: float) -> float:
    """The largest value that keeps the error, to 0.5 %."""
    while high > 1.005 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


def best_steps(Y: Array, error: float) -> list[float]:
    """The coarsest step, and the coarsest whole one."""

    def keeps(step: float) -> bool:
        return relative_error(np.rint(Y / step) * step, Y) <= error

    size = float(np.sqrt(np.nanmean(Y**2)))
    step = coarsest(keeps, 1e-3 * error * size, 10 * size)
    whole = next((s for s in range(int(1.5 * step) + 2, 0, -1) if keeps(s)), None)
    return [step] if whole is None else [step, float(whole)]


def zstd_bytes(Y: Array, error: float) -> int:
    F = filled(Y)
    return min(
        zstd(A.tobytes())
        for step in best_steps(Y, error)
        for A in zstd_layouts(np.rint(F / step).astype(np.int64))
    )


def zfp_bytes(Y: Array, error: float) -> int:
    size, best = float(np.sqrt(np.nanmean(Y**2))), 2**62
    for dtype in (np.float32, np.float64):
        for turned in (False, True):
            F = filled(Y).astype(dtype)
            F = np.ascontiguousarray(F.T if turned else F)

            def decoded(tolerance: float, F: Array = F, turned: bool = turned) -> Array:
                A = zfpy.decompress_numpy(zfpy.compress_numpy(F, tolerance=tolerance))
                return A.T if turned else A

            def keeps(tolerance: float, decoded: Callable[[float], Array] = decoded) -> bool:
                A = decoded(tolerance)
                return min(relative_error(A, Y), relative_error(np.rint(A), Y)) <= error

            tolerance = coarsest(keeps, 1e-3 * error * size, 100 * size)
            best = min(best, len(zfpy.compress_numpy(F, tolerance=tolerance)))
    return best


def fpzip_bytes(Y: Array, error: float) -> int:
    best = 2**62
    for turned in (False, True):
        F = filled(Y).astype(np.float32)
        F = np.ascontiguousarray(F.T if turned else F)
        for precision in range(2, 32):
            data = fpzip.compress(F, precision=precision, order="C")
            A = fpzip.decompress(data, order="C").reshape(F.shape)
            A = A.T if turned else A
            if min(relative_error(A, Y), relative_error(np.rint(A), Y)) <= error:
                best = min(best, len(data))
                break
        for step in best_steps(Y, error):
            rounded = np.rint(F / step).astype(np.float32)
            best = min(best, len(fpzip.compress(rounded, precision=0, order="C")))
    return best


# ------------------------------------------------------------------------ parts


def table() -> list[dict[str, Any]]:
    rows = []
    for quantity in QUANTITIES:
        Y = sensors(quantity)
        mask = mask_bytes(Y)
        for error in ERRORS:
            data, edge = SensorCodec(error=error).compress(Y)
            decoded, _ = SensorCodec.decompress(data)
            assert np.array_equal(np.isnan(decoded), np.isnan(Y))
            row = {
                "quantity": quantity,
                "error": error,
                "measured": relative_error(decoded, Y),
                "thresher": len(data),
                "packets": edge.n_packets_,
                "zstd": zstd_bytes(Y, error) + mask,
                "zfp": zfp_bytes(Y, error) + mask,
                "fpzip": fpzip_bytes(Y, error) + mask,
                "mask of the others": mask,
                "values as float32": 4 * Y.size,
            }
            rows.append(row)
            print(row, flush=True)
    return rows


class WithoutDictionaries(SensorCodec):
    """What the lattice does alone."""

    def half_lives(self) -> tuple[float | None, ...]:
        """None."""
        return ()


def streamed(Y: Array, codec: SensorCodec, reference: float | None) -> dict[str, Any]:
    edge, cloud, parts = codec.edge(Y.shape[1], reference=reference), codec.cloud(), []
    for start in range(0, len(Y), 256):
        for packet in edge.send(Y[start : start + 256]):
            received = cloud.receive(packet)
            assert received.problem is None
            parts += [] if received.values is None else [received.values]
    return {
        "bytes": sum(edge.n_bytes_.values()),
        "dictionary bytes": edge.n_bytes_["dictionary"],
        "dictionaries": edge.n_packets_["dictionary"],
        "batches by dictionary": edge.n_packets_["transform"],
        "error": relative_error(np.concatenate(parts), Y),
    }


def half_lives() -> list[dict[str, Any]]:
    rows = []
    for quantity in ("temperature", "humidity"):
        Y = sensors(quantity)
        size = float(np.sqrt(np.nanmean(Y**2)))
        settings: list[dict[str, Any]] = [{"error": e} for e in (0.1, 0.2)]
        if quantity == "temperature":
            settings += [{"error": 0.1, "n_nonzero": k} for k in (2, 4)]
        for setting in settings:
            for half_life in HALF_LIVES:
                if half_life == "no dictionary":
                    codec: SensorCodec = WithoutDictionaries(**setting)
                else:
                    codec = SensorCodec(**setting, forgetting=half_life)
                result = streamed(Y, codec, size)
                row = {"quantity": quantity, "asked": setting, "half_life": half_life, **result}
                row["ratio"] = 4 * Y.size / result["bytes"]
                if "n_nonzero" in setting:
                    row["ratio of the paper"] = Y.shape[1] // setting["n_nonzero"]
                rows.append(row)
                print(row, flush=True)
    return rows


def files() -> list[dict[str, Any]]:
    rows = []
    for quantity in ("temperature", "humidity"):
        Y = sensors(quantity)
        for error in (0.1, 0.2):
            data, edge = SensorCodec(error=error).compress(Y)
            without, _ = WithoutDictionaries(error=error).compress(Y)
            row = {"quantity": quantity, "error": error, "bytes": len(data)}
            row |= {"without dictionaries": len(without), "packets": edge.n_packets_}
            rows.append(row)
            print(row, flush=True)
    return rows


def fuzz(n: int = 10_600) -> dict[str, Any]:
    """Damage is harmless if the bytes are as before, or decode to the very same values."""
    rng = np.random.default_rng(0)
    Y = np.round(20 + np.cumsum(rng.normal(size=(480, 6)), axis=0), 1)
    Y[rng.random(Y.shape) < 0.1] = np.nan
    found = dict.fromkeys(("unchanged", "same values", "refused", "request", "wrong"), 0)
    for codec in (SensorCodec(error=0.02), SensorCodec(error=0.05, n_nonzero=2)):
        edge, cloud, truth = codec.edge(6), codec.cloud(), codec.cloud()
        sent = [packet for i in range(12) for packet in edge.send(Y[40 * i : 40 * i + 40])]
        for packet in sent:
            right = truth.receive(packet).values
            for i in range(n // (2 * len(sent)) + 1):
                data = damaged(packet, sent[rng.integers(len(sent))], rng)
                if i % 2 and len(data) >= 16:
                    data = data[:-4] + zlib.crc32(data[:-4]).to_bytes(4, "little")
                if data in sent:
                    found["unchanged"] += 1
                    continue
                trial = copy.deepcopy(cloud)
                try:
                    received = trial.receive(data)
                except ValueError:
                    found["refused"] += 1
                    continue
                if received.problem is not None:
                    found["request" if received.values is None else "wrong"] += 1
                else:
                    same = received.values is right or np.array_equal(
                        received.values, right, equal_nan=True
                    )
                    found["same values" if same else "wrong"] += 1
            cloud.receive(packet)
    print(found, flush=True)
    return found


def speed() -> list[dict[str, Any]]:
    rows = []
    for quantity, error in (("temperature", 0.02), ("humidity", 0.05), ("humidity", 0.2)):
        Y = sensors(quantity)
        for _ in range(2):  # the first time compiles
            edge, cloud = SensorCodec(error=error).edge(Y.shape[1]), SensorCodec().cloud()
            with clock() as sending:
                packets = edge.send(Y)
            with clock() as receiving:
                for packet in packets:
                    cloud.receive(packet)
        rows.append(
            {
                "quantity": quantity,
                "error": error,
                "edge rows/s": len(Y) / sending.wall,
                "cloud rows/s": len(Y) / receiving.wall,
            }
        )
        print(rows[-1], flush=True)
    return rows


PARTS: dict[str, Callable[[], Any]] = {
    "table": table,
    "half_lives": half_lives,
    "files": files,
    "fuzz": fuzz,
    "speed": speed,
}


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    file = RESULTS / "sensor_codec.json"
    results = read_json(file)
    for part in options.parts:
        print(part)
        results[part] = PARTS[part]()
        packages = ("constriction", "zstandard", "zfpy", "fpzip", "numpy")
        results["versions"] = {name: version(name) for name in packages}
        write_json(file, results)


if __name__ == "__main__":
    main()
