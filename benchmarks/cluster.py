"""What a round costs on a cluster: seconds, processor time and bytes, on one and two workers.

Samples are made by the workers and stay with them, so that coding is what is timed. One process
with one thread, one worker and two workers take turns, on rounds of several sizes; all of them end
with the same bits, which is checked. A fit has a start that is paid once, so a round is the
difference of fits of three passes and of one, over the rounds of two passes. Bytes are those that
this process sends and is sent: the dictionary, the sums, and the look at the samples, as packed.

    python benchmarks/cluster.py [--samples 524288] [--chunk 32768] [--repeats 5]
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.array as da
import numpy as np
from common import RESULTS, command_line, interleaved, machine, spread, write_json
from distributed import Client, LocalCluster, wait

import thresher.cluster.round as on_the_way  # its messages are counted
from thresher import (
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
)

FEATURES, ATOMS = 256, 20
ROUNDS, MOST_ROUNDS = (4096, 16384, 65536, 262144), 8
PASSES = (1, 3)
Row = dict[str, Any]


def made(block_info: Any = None, n_features: int = FEATURES, signed: bool = False) -> Any:
    """A chunk of samples, from its number alone: nonnegative mixtures and some outliers."""
    (start, stop), _ = block_info[None]["array-location"]
    parts = np.random.default_rng(0).random((ATOMS, n_features))
    rng = np.random.default_rng([1, start])
    X = rng.gamma(0.5, size=(stop - start, ATOMS)) @ parts + 0.05 * rng.random((1, n_features))
    X[rng.random(X.shape) < 0.02] += 5.0
    return (X - X.mean(axis=0) if signed else X).astype(np.float32)


def samples(n: int, chunk: int, **given: Any) -> Any:
    shape = (n, given.get("n_features", FEATURES))
    chunks = ((chunk,) * (n // chunk), (shape[1],))
    return da.map_blocks(
        made, dtype=np.float32, chunks=chunks, meta=np.empty((0, 0), "f4"), **given
    )


@contextmanager
def workers(count: int) -> Iterator[Client]:
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=count, **options) as cluster, Client(cluster) as client:
        yield client


def processor_time(client: Client) -> float:
    """Seconds of the processor that the workers have used."""
    return sum(client.run(time.process_time).values())


@contextmanager
def counted() -> Iterator[dict[str, list[int]]]:
    """Bytes of what is packed for the workers here, and of what comes back."""
    found: dict[str, list[int]] = {"sent": [], "received": []}
    packed, unpacked = on_the_way.packed, on_the_way.unpacked

    def sent(value: Any) -> bytes:
        whole = packed(value)
        found["sent"].append(len(whole))
        return whole

    def received(value: bytes) -> Any:
        found["received"].append(len(value))
        return unpacked(value)

    on_the_way.packed, on_the_way.unpacked = sent, received  # type: ignore[assignment]
    try:
        yield found
    finally:
        on_the_way.packed, on_the_way.unpacked = packed, unpacked


def seconds(n: int, chunk: int, repeats: int) -> list[Row]:
    """Fits by one process, by one worker and by two, in turns."""
    X = samples(n, chunk)
    here = X.compute(scheduler="sync")
    rows: list[Row] = []
    with workers(1) as one, workers(2) as two:
        kept = {client: client.persist(X) for client in (one, two)}
        wait(list(kept.values()))

        def fit(client: Client | None, batch_size: int, n_passes: int) -> Row:
            """One fit: its bits, and the processor time of the workers."""
            some = slice(0, min(n, MOST_ROUNDS * batch_size))
            model = OnlineRobustNMF(
                ATOMS, batch_size=batch_size, random_state=0, n_passes=n_passes, tol=0
            ).set_params(verbose=0, n_jobs=1, shuffle=client is not None)
            if client is None:
                model.fit(here[some])
                return {"bits": model.components_.tobytes(), "worker_cpu": 0.0}
            before = processor_time(client)
            with client.as_current():
                model.fit(kept[client][some])
            worker_cpu = processor_time(client) - before
            return {"bits": model.components_.tobytes(), "worker_cpu": worker_cpu}

        places: dict[str, Client | None] = {"one process": None, "1 worker": one, "2 workers": two}
        jobs = {
            (name, n_passes): lambda size, at=at, n_passes=n_passes: fit(at, size, n_passes)
            for name, at in places.items()
            for n_passes in PASSES
        }
        for size in ROUNDS:
            n_rounds = min(n // size, MOST_ROUNDS)
            turns = list(interleaved(jobs, [size] * (repeats + 1)))[
                len(jobs) :
            ]  # the first warms up
            for n_passes in PASSES:
                bits = {result["bits"] for (_, n), _, result, _ in turns if n == n_passes}
                assert len(bits) == 1
            rows += [
                {
                    "place": name,
                    "passes": n_passes,
                    "round": size,
                    "n_rounds": n_passes * n_rounds,
                    "seconds": spent.wall,
                    "cpu": spent.processor + result["worker_cpu"],
                    "worker_cpu": result["worker_cpu"],
                }
                for (name, n_passes), _, result, spent in turns
            ]
    return rows


def of_a_round(timed: list[Row], place: str, size: int, what: str) -> list[float]:
    """Seconds of one more round, turn by turn."""
    mine = [row for row in timed if row["round"] == size and row["place"] == place]
    short, long = ([row for row in mine if row["passes"] == n] for n in PASSES)
    more = long[0]["n_rounds"] - short[0]["n_rounds"]
    return [(b[what] - a[what]) / more for a, b in zip(short, long, strict=True)]


def bytes_of_rounds() -> list[Row]:
    """What travels in a round of each estimator, for rounds of two sizes."""
    models = {
        "OnlineRobustNMF": (OnlineRobustNMF(ATOMS), {}),
        "OnlineRobustNMF, mad": (OnlineRobustNMF(ATOMS, outlier_weight="mad"), {}),
        "OnlineNMF, KL": (OnlineNMF(ATOMS, divergence="kl"), {}),
        "OnlineL1Dictionary": (OnlineL1Dictionary(ATOMS), {}),
        "OnlineOrthogonalDictionary": (
            OnlineOrthogonalDictionary(),
            {"n_features": 64, "signed": True},
        ),
    }
    rows = []
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=2, processes=False, **options) as cluster, Client(cluster):
        for name, (model, given) in models.items():
            for batch_size in (4096, 8192):
                model.set_params(batch_size=batch_size, random_state=0, verbose=0)
                with counted() as found:
                    model.fit(samples(2 * batch_size, 4096, **given))
                rows.append(
                    {
                        "model": name,
                        "round": batch_size,
                        "dictionary": found["sent"][-1],
                        "look": found["received"][-2],
                        "sums": found["received"][-1],
                    }
                )
    return rows


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--samples", type=int, default=524288)
    parser.add_argument("--chunk", type=int, default=32768)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    found = bytes_of_rounds()
    for row in found:
        print(row)
    timed = seconds(given.samples, given.chunk, given.repeats)
    for size in ROUNDS:
        alone = of_a_round(timed, "one process", size, "seconds")
        for place in ("one process", "1 worker", "2 workers"):
            mine = of_a_round(timed, place, size, "seconds")
            cpu = 1e3 * float(np.median(of_a_round(timed, place, size, "cpu")))
            ratio = [a / b for a, b in zip(alone, mine, strict=True)]
            print(
                f"{size:6d} {place:12s} {1e3 * float(np.median(mine)):7.1f} ms and {cpu:7.1f} ms "
                f"of processors a round; speed {spread(ratio)}"
            )
    about = machine("numpy", "dask", "distributed") | {"features": FEATURES, "atoms": ATOMS}
    about["chunk"] = given.chunk
    record = {"machine": about, "seconds": timed, "bytes": found}
    write_json(RESULTS / "cluster.json", record)


if __name__ == "__main__":
    main()
