"""Manhattan factorisation of a stream that does not fit: `OnlineNMF(divergence="l1")`.

Paper C has no online method. Faces (Yale B, 32 × 32, grey levels in [0, 1]) come again and again,
each time with new salt and pepper on a tenth of the pixels, in batches of 256 that are made when
they are asked for. The stream is ten times as large as the memory that may hold samples. The batch
method gets as many samples as fit there, the online one all of them, once. What counts is the mean
ℓ1 distance of held-out noisy faces from their exact codes, per pixel, and that of the prediction
from the clean faces. The batch method on *all* samples stands beside them as what could be had with
ten times the memory. Streams are taken to be in order, so by default little is forgotten; these are
not, and ω = 30 forgets faster.

    THRESHER_DATA=folder python benchmarks/manhattan_stream.py [--samples 20000] [--components 20]
"""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, clock, command_line, median_of, write_json

from thresher import ManhattanNMF, OnlineNMF
from thresher.datasets import load_faces, salt_and_pepper
from thresher.learning import PowerForgetting
from thresher.linalg import Array

BATCH = 256


def batches(clean: Array, n: int, seed: int) -> Iterator[Array]:
    rng = np.random.default_rng(seed)
    for start in range(0, n, BATCH):
        rows = clean[rng.integers(len(clean), size=min(BATCH, n - start))]
        yield salt_and_pepper(rows, seed=rng).astype(np.float32)


def measured(model: Any, noisy: Array, clean: Array) -> dict[str, float]:
    prediction = model.inverse_transform(model.transform(noisy))
    return {
        "loss per pixel": float(np.abs(noisy - prediction).mean()),
        "error per pixel": float(np.abs(clean - prediction).mean()),
    }


def learned(work: Any) -> tuple[Any, dict[str, float]]:
    """The model, its seconds, and how far memory rose above what was there before."""
    tracemalloc.start()
    with clock() as spent:
        model = work()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return model, {"seconds": spent.processor, "peak MB": peak}


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--all", action="store_true", help="the batch method on all samples too")
    parser.add_argument("--json", type=Path, default=RESULTS / "manhattan_stream.json")
    options = parser.parse_args()
    faces = load_faces("yale_b")
    images = faces.images.reshape(len(faces.images), -1).astype(np.float32) / 255
    order = np.random.default_rng(0).permutation(len(images))
    clean, test = images[order[300:]], images[order[:300]]
    noisy = salt_and_pepper(test, seed=1).astype(np.float32)
    common = {"verbose": 0, "n_jobs": 1}
    for model in (OnlineNMF(2, divergence="l1", **common), ManhattanNMF(2, **common)):
        measured(model.fit(noisy), noisy, test)  # compiled outside the clock
    rows: dict[str, list[dict[str, float]]] = {}
    n = options.samples
    for seed in range(options.seeds):

        def online(forgetting: Any, seed: int = seed, n: int = n) -> Any:
            model = OnlineNMF(options.components, divergence="l1", forgetting=forgetting,
                              random_state=seed, **common)  # fmt: skip
            return model.fit(batches(clean, n, seed))

        def batch(part: int, seed: int = seed) -> Any:
            held = np.concatenate(list(batches(clean, part, seed)))
            return ManhattanNMF(options.components, random_state=seed, **common).fit(held)

        jobs = {
            "online": lambda: online("auto"),
            "online, ω = 30": lambda: online(PowerForgetting(30)),
            "batch, a tenth": lambda: batch(n // 10),
        }
        if options.all:
            jobs["batch, all"] = lambda: batch(n)
        for name, job in jobs.items():
            model, spent = learned(job)
            row = {**spent, **measured(model, noisy, test)}
            rows.setdefault(name, []).append(row)
            print(name, json.dumps(row), flush=True)
    record = {
        "samples": options.samples,
        "components": options.components,
        "stream MB": options.samples * images.shape[1] * 4 / 2**20,
        "results": rows,
    }
    write_json(options.json, record)
    for name, each in rows.items():
        line = ", ".join(f"{key} {median_of(each, key):.4g}" for key in each[0])
        print(f"{name:16} {line}")


if __name__ == "__main__":
    main()
