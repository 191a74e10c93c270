"""Tables through the sensor codec, files and streams, beside plain ways: bytes at a given error.

Every table has a time column, which is counted for all: the codec's own file of the CSV table, and
for the others the smallest of lzma, zstd and bz2 of the times as they are written, of their ticks,
of differences and of differences of these.

- Kraków: temperature, humidity, pressure, PM2.5, twelve stations each, hourly, whole numbers;
  the same temperatures averaged over four stations, in tenths; Los Angeles: speeds; Abilene:
  traffic; series of the Numenta benchmark. ``--half 0`` has the stations and series on which the
  codec was made, ``--half 1`` those that were kept back.
- **file**: `thresher compress` of the CSV file, all bytes. **stream**: packets of 256 rows with
  their times, all bytes, frames and all.
- *quantised deltas*: the coarsest even rounding that keeps the error (whole steps where data lie on
  a grid), each column by its best predictor (the value, differences, second differences, each also
  beside the column to the left), missing values held, the mask apart; rows or columns first, bytes
  of a number together or apart, of which the three that deflate best are tried; the smallest of
  lzma (raw, three settings), bz2, and zstd 22.
- In a stream these get packets of 256 rows: each packed by itself, or zstd over the whole stream,
  flushed at each packet; no frame, no number, no checksum, and times and mask packed as a whole
  file. **framed** is what a stream of them needs at least: 4 bytes of length and number and 4 of
  CRC-32 for each packet, and mask and times packet by packet. What lzma makes of the whole file
  stands beside, though it is no stream.
- Streams again with ``edge(reference=…)``, the root mean square of all values, which the packers
  know; and with ``edge(patience=4096)``.
- zstd and lzma: the CSV file. zfp and fpzip: as in ``sensor_codec.py``, with mask and times.

    THRESHER_DATA=folder python benchmarks/sensor_tables.py [--half 0|1] [--only name]
"""

import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from common import RESULTS, clock, command_line, read_json, write_json
from sensor_codec import coarsest, filled, fpzip_bytes, mask_bytes, relative_error, zfp_bytes
from thresher.tasks.compression.grid import GRIDS, grid_of
from thresher.tasks.compression.lossless.packing import packed

from thresher import SensorCodec
from thresher.datasets.files import find_data_file
from thresher.linalg import Array
from thresher.tasks.compression.files import compress_file
from thresher.tasks.compression.plain import _best_order, _differences, _smallest

ERRORS = (0.01, 0.05)
ROWS, FRAME, PATIENCE = 256, 8, 4096


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


def csv(Y: Array, times: Array, digits: int) -> bytes:
    texts = np.datetime_as_string(times.astype("M8[s]"))
    lines = ["time," + ",".join(f"s{j}" for j in range(Y.shape[1]))]
    for time, row in zip(texts, Y, strict=True):
        lines.append(",".join([time, *("" if np.isnan(v) else f"{v:.{digits}f}" for v in row)]))
    return ("\n".join(lines) + "\n").encode()


def zstd(data: bytes) -> int:
    return len(zstandard.ZstdCompressor(level=22, write_content_size=False).compress(data))


def smallest(data: bytes) -> int:
    return min(zstd(data), len(packed(data)) - 1)


def time_bytes(times: Array) -> int:
    text = "\n".join(np.datetime_as_string(times.astype("M8[s]"))).encode()
    kinds = [text, times.tobytes(), np.diff(times, prepend=0).tobytes()]
    return min(map(smallest, [*kinds, np.diff(times, 2, prepend=[0, 0]).tobytes()]))


def steps(Y: Array, error: float) -> list[float]:
    """The coarsest step that keeps the error, and the coarsest multiple of the grid."""

    def keeps(step: float) -> bool:
        return relative_error(np.rint(Y / step) * step, Y) <= error

    size = float(np.sqrt(np.nanmean(Y**2)))
    step = coarsest(keeps, 1e-3 * error * size, 10 * size)
    spacing = GRIDS[grid_of(Y[~np.isnan(Y)])].spacing
    if not spacing:
        return [step]
    most = min(int(1.5 * step / spacing) + 2, 400)
    whole = next((k for k in range(most, 0, -1) if keeps(k * spacing)), None)
    return [step] if whole is None else [step, whole * spacing]


def layouts(Q: Array) -> Iterator[Array]:
    best = np.array([_best_order(Q, j) for j in range(Q.shape[1])], np.uint8)
    for orders in (best, np.ones_like(best), np.zeros_like(best)):
        R = _differences(Q, orders)
        for A in (R, R.T):
            small = _smallest(A)
            yield small
            if small.itemsize > 1:
                yield small.reshape(-1).view(np.uint8).reshape(-1, small.itemsize).T.copy()


def packet_extra(Y: Array, times: Array) -> int:
    """Frames, and mask and times packet by packet; those that go on as before take nothing."""
    present = np.diff(~np.isnan(Y), axis=0, prepend=True)
    changes, size = np.diff(times, 2, prepend=[0, 0]), 0
    for i in range(0, len(Y), ROWS):
        block, ticks = present[i : i + ROWS], changes[i : i + ROWS]
        masks = [np.packbits(A).tobytes() for A in (block, block.T)]
        size += FRAME + (min(map(smallest, masks)) if block.any() else 0)
        size += smallest(ticks.tobytes()) if ticks.any() else 0
    return size


def quantised(Y: Array, error: float) -> dict[str, int]:
    """Bytes of the file, and of a stream, by the best of all layouts."""
    F, found = filled(Y), dict[str, list[int]]()
    for step in steps(Y, error):
        Q = np.rint(F / step).astype(np.int64)
        likely = sorted(layouts(Q), key=lambda A: len(zlib.compress(A.tobytes(), 1)))[:3]
        for A in likely:
            found.setdefault("file, lzma", []).append(len(packed(A.tobytes())) - 1)
            found.setdefault("file, zstd", []).append(zstd(A.tobytes()))
        best = np.array([_best_order(Q, j) for j in range(Q.shape[1])], np.uint8)
        R = _differences(Q, best)
        blocks = [_smallest(R[i : i + ROWS]) for i in range(0, len(R), ROWS)]
        for each in (blocks, [np.ascontiguousarray(b.T) for b in blocks]):
            found.setdefault("stream, packets", []).append(sum(smallest(b.tobytes()) for b in each))
            flushed = zstandard.ZstdCompressor(level=22).compressobj()
            size = 0
            for block in each:
                size += len(flushed.compress(block.tobytes()))
                size += len(flushed.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
            found.setdefault("stream, zstd flushed", []).append(size)
    return {name: min(sizes) for name, sizes in found.items()}


def ours(Y: Array, times: Array, digits: int, error: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "a.csv", Path(folder) / "a.thr"
        source.write_bytes(csv(Y, times, digits))
        with clock() as taken:
            report = compress_file(source, target, SensorCodec(error=error))
    return {
        "thresher, file": report.n_bytes,
        "its times": sum(report.label_bytes),
        "error of the file": report.errors.relative,
        "seconds": taken.processor,
        **our_streams(Y, times, error),
    }


def our_streams(Y: Array, times: Array, error: float) -> dict[str, Any]:
    size = float(np.sqrt(np.nanmean(Y**2)))
    stream, off = streamed(Y, times, error)
    return {
        "thresher, stream": stream,
        "error of the stream": off,
        "thresher, stream, reference": streamed(Y, times, error, reference=size)[0],
        "thresher, stream, patience": streamed(Y, times, error, patience=PATIENCE)[0],
        "thresher, stream, both": streamed(Y, times, error, reference=size, patience=PATIENCE)[0],
    }


def streamed(Y: Array, times: Array, error: float, **how: Any) -> tuple[int, float]:
    """Bytes of all packets, and the error of what comes of them."""
    edge, cloud = SensorCodec(error=error).edge(Y.shape[1], **how), SensorCodec().cloud()
    packets = list[bytes]()
    for i in range(0, len(Y), ROWS):
        packets += edge.send(Y[i : i + ROWS], times=times[i : i + ROWS])
    packets += edge.flush()
    received = [cloud.receive(packet) for packet in packets]
    assert all(r.problem is None for r in received)
    values = np.vstack([r.values for r in received if r.values is not None])
    return sum(map(len, packets)), relative_error(values, Y)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--half", type=int, choices=(0, 1), default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--streams", action="store_true", help="all but our streams stay")
    parser.add_argument("--plain-only", action="store_true", help="leave out zfp and fpzip")
    options = parser.parse_args()
    file = RESULTS / "sensor_tables.json"
    results = read_json(file)
    for name, values, times, digits in tables(options.half):
        if options.only not in name:
            continue
        Y = np.round(values, digits)
        whole = csv(Y, times, digits)
        extra = {"mask": mask_bytes(Y) if np.isnan(Y).any() else 0, "times": time_bytes(times)}
        for error in ERRORS:
            row: dict[str, Any] = {"table": name, "half": options.half, "error": error, **extra}
            known = [r for r in results.get("tables", []) if _key(r) == _key(row)]
            if options.streams and known:
                row = known[0] | our_streams(Y, times, error)
                streams = [row[f"quantised, stream, {k}"] for k in ("packets", "zstd flushed")]
                framed = min(streams) - row["mask"] - row["times"] + packet_extra(Y, times)
                row["quantised, stream, framed"] = framed
                _kept(file, results, row)
                continue
            row |= ours(Y, times, digits, error)
            more = sum(extra.values())
            peers = quantised(Y, error)
            row |= {f"quantised, {k}": v + more for k, v in peers.items()}
            streams = [v for k, v in peers.items() if k.startswith("stream")]
            row["quantised, stream, framed"] = min(streams) + packet_extra(Y, times)
            if not options.plain_only:
                row |= {"zfp": zfp_bytes(Y, error) + more, "fpzip": fpzip_bytes(Y, error) + more}
            row |= {"CSV, zstd": zstd(whole), "CSV, lzma": len(packed(whole)) - 1}
            _kept(file, results, row)


def _kept(file: Path, results: dict[str, Any], row: dict[str, Any]) -> None:
    print(row, flush=True)
    others = [r for r in results.get("tables", []) if _key(r) != _key(row)]
    results["tables"] = [*others, row]
    write_json(file, results)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["table"], row["half"], row["error"]


if __name__ == "__main__":
    main()
