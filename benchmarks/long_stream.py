"""Long runs in constant memory: ten million samples learned from, 20 GB of Parquet there and back.

``samples``: 256 features in float32, made as they are read (some 10 GB in all), K 20, batches of
2048, through `OnlineRobustNMF`; resident memory and samples a second, all along the way. Samples
are made in the thread that reads ahead; how much of the processor that takes stands beside.

``parquet``: 256 float32 columns written to four files by the code behind ``write=``, and read back
by `thresher.open`. Around each file the disk's own speed is measured on as many bytes: plain
writes (with fsync) and plain reads, after the page cache has given the file up
(``posix_fadvise``). Shares are medians over the files, with the least and the largest; seconds of
the processor tell what is left of them when others use the machine.

    python benchmarks/long_stream.py samples [--samples 10000000]
    python benchmarks/long_stream.py parquet --folder scratch [--gigabytes 20]

Each part writes its own entry of ``results/long_stream.json``.
"""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, Row, clock, command_line, machine, read_json, spread, write_json

import thresher
from thresher.linalg import Array
from thresher.streams.writing import About, write_results  # writes a file of any length

F, K, BATCH = 256, 20, 2048
FILES = 4
BLOCK = 8 << 20  # bytes of a plain read or write
TARGET = RESULTS / "long_stream.json"


def resident() -> float:
    """Megabytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def most_resident() -> float:
    """The most that there ever were; the system keeps count, so nothing falls between two looks."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024 / 1e6


# -------------------------------------------------------------------------- ten million samples


def made(atoms: Array, number: int) -> Array:
    """A batch of parts, some noise, and outliers in one entry of a hundred."""
    rng = np.random.default_rng([1, number])
    X: Array = rng.standard_exponential((BATCH, K), dtype=np.float32) @ atoms
    X += 0.05 * rng.random(X.shape, dtype=np.float32)
    n = X.size // 100
    X.ravel()[rng.integers(X.size, size=n)] += 10 * rng.random(n, dtype=np.float32)
    return X


def learn_samples(n_samples: int) -> Row:
    """Memory and throughput of a long fit, looked at a hundred times."""
    atoms = np.random.default_rng(0).gamma(0.3, size=(K, F)).astype(np.float32)
    n_batches = -(-n_samples // BATCH)
    making = 0.0

    def stream() -> Iterator[Array]:
        nonlocal making
        for number in range(n_batches):
            start = time.thread_time()
            X = made(atoms, number)
            making += time.thread_time() - start
            yield X

    curve: list[Row] = []
    last = [0, time.perf_counter()]

    def look(step: Any) -> None:
        if step.row.samples - last[0] < n_batches * BATCH / 100:
            return
        now = time.perf_counter()
        speed = (step.row.samples - last[0]) / (now - last[1])
        curve.append(
            {
                "samples": step.row.samples,
                "megabytes": round(resident(), 1),
                "samples a second": round(speed),
                "loss": round(step.row.loss, 3),
            }
        )
        last[:] = [step.row.samples, now]

    model = thresher.OnlineRobustNMF(
        K, batch_size=BATCH, random_state=0, verbose=0, callbacks=[look]
    )
    with clock() as spent:
        model.fit(thresher.open(stream))
    speeds = [point["samples a second"] for point in curve]
    return {
        "samples": model.n_samples_seen_,
        "bytes": model.n_samples_seen_ * F * 4,
        "seconds": round(spent.wall, 1),
        "seconds of the processor": round(spent.processor, 1),
        "of these to make the samples": round(making, 1),
        "most megabytes": round(most_resident(), 1),
        "megabytes, first and last look": [curve[0]["megabytes"], curve[-1]["megabytes"]],
        "samples a second": spread(speeds, 0),
        "curve": curve,
    }


# ------------------------------------------------------------------------------ 20 GB of Parquet


def forget(path: Path) -> None:
    """Make the page cache give a file up, so that it is read from the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)  # only what is on the disk can be given up
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def numbers(n_batches: int, seed: int) -> Iterator[Array]:
    """Batches of random numbers, none like another; the generator is quicker than the disk."""
    rng = np.random.default_rng(seed)
    for _ in range(n_batches):
        yield rng.random((BATCH, F), dtype=np.float32)


def write_parquet(path: Path, n_batches: int, seed: int) -> None:
    names = [f"f{column}" for column in range(F)]
    write_results(numbers(n_batches, seed), path, About(names), ())
    forget(path)  # it is on the disk now


def write_plainly(path: Path, n_bytes: int) -> None:
    block = np.random.default_rng(0).bytes(BLOCK)
    with path.open("wb", buffering=0) as file:
        for start in range(0, n_bytes, BLOCK):
            file.write(block[: n_bytes - start])
        os.fsync(file.fileno())


def read_plainly(path: Path) -> None:
    room = bytearray(BLOCK)
    with path.open("rb", buffering=0) as file:
        while file.readinto(room):
            pass


def read_source(path: Path, batch_size: int) -> Array:
    """Sums of the columns, so that every number is looked at."""
    sums = np.zeros(F)
    for piece in thresher.open(path, batch_size=batch_size):
        sums += piece.sum(axis=0, dtype=np.float64)
    return sums


def there_and_back(folder: Path, gigabytes: float) -> Row:
    """Files written and read, the disk's own speed before and after each."""
    n_batches = round(gigabytes * 1e9 / FILES / (BATCH * F * 4))
    rounds = []
    for number in range(FILES):
        rounds.append(one_file(folder, n_batches, number))
        print(rounds[-1], flush=True)
    return {
        "gigabytes": round(sum(row["gigabytes"] for row in rounds), 2),
        "rows": n_batches * BATCH * FILES,
        "most megabytes": round(most_resident(), 1),
        "share of the disk, writing": spread([r["written"] / r["plain written"] for r in rounds]),
        "share of the disk, reading": spread([r["read"] / r["plain read"] for r in rounds]),
        "summary": {
            name: spread([row[name] for row in rounds], 1)
            for name in rounds[0]
            if name not in ("gigabytes", "megabytes resident")
        },
        "rounds": rounds,
    }


def one_file(folder: Path, n_batches: int, seed: int) -> Row:
    """Megabytes a second of a file and of the disk, and processor seconds of a gigabyte."""
    path, plain = folder / f"{seed}.parquet", folder / "plain.bin"
    row: Row = {}

    def speed(name: str, work: Callable[[], Any], file: Path) -> Any:
        with clock() as spent:
            result = work()
        size = file.stat().st_size
        row[name] = round(size / 1e6 / spent.wall, 1)
        row[f"{name}, processor seconds a GB"] = round(spent.processor / (size / 1e9), 2)
        return result

    try:
        speed("written", partial(write_parquet, path, n_batches, seed), path)
        speed("plain written", partial(write_plainly, plain, path.stat().st_size), plain)
        forget(path)
        speed("plain read", partial(read_plainly, path), path)
        forget(path)
        sums = speed("read", partial(read_source, path, 4096), path)
        size = path.stat().st_size
    finally:
        path.unlink(missing_ok=True)
        plain.unlink(missing_ok=True)
    expected = sum(X.sum(axis=0, dtype=np.float64) for X in numbers(n_batches, seed))
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    return row | {"gigabytes": size / 1e9, "megabytes resident": round(resident(), 1)}


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("part", choices=["samples", "parquet"])
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--folder", type=Path, help="where the Parquet files may lie for a while")
    given = parser.parse_args()
    if given.part == "samples":
        result = learn_samples(given.samples)
    elif given.folder is None:
        parser.error("--folder says where the files may lie; they are deleted afterwards")
    else:
        result = there_and_back(given.folder, given.gigabytes)
    print({name: value for name, value in result.items() if name not in ("curve", "rounds")})
    record = read_json(TARGET)
    write_json(TARGET, record | {given.part: result, "machine": machine("thresher", "pyarrow")})


if __name__ == "__main__":
    main()
