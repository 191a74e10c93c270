"""The adapters for river beside river's own detectors: seconds of a sample, and who finds more.

Two streams: Shuttle, which comes with river (nine sensors, 7 % of the samples odd; shifted by the
least reading of the first 200 and clipped at zero, since parts are nonnegative), and a planted one
(40 features, four parts, 5 % of the samples noise). Each sample is scored, then learned from.
Methods run interleaved, on other samples in each round; the area under the ROC curve leaves the
first 1000 samples out, in which nobody knows much. The adapters have four atoms, all else has its
defaults.

    pip install "thresher[river]"
    python benchmarks/river_adapter.py [--rounds 3] [--samples 4000]
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from common import RESULTS, Row, clock, command_line, interleaved, machine, spread, write_json
from river import anomaly, datasets, preprocessing
from sklearn.metrics import roc_auc_score

from thresher import OnlineRobustNMF
from thresher.river import RiverAnomalyDetector

WARM_UP = 1000
Stream = list[tuple[dict[str, float], int]]


def adapter(batch_size: int) -> Callable[[], Any]:
    def make() -> Any:
        model = OnlineRobustNMF(4, batch_size=batch_size, random_state=0, verbose=0)
        return RiverAnomalyDetector(model)

    return make


METHODS: dict[str, Callable[[], Any]] = {
    "adapter, batches of 1": adapter(1),
    "adapter, batches of 8": adapter(8),
    "adapter, batches of 32": adapter(32),
    "adapter, batches of 256": adapter(256),
    "HalfSpaceTrees": lambda: preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(seed=0),
    "LODA": lambda: preprocessing.StandardScaler() | anomaly.LODA(seed=0),
    "OneClassSVM": lambda: preprocessing.StandardScaler() | anomaly.OneClassSVM(),
}


def shuttle(n_samples: int, number: int) -> Stream:
    rows = list(islice(datasets.Shuttle(), number * n_samples, (number + 1) * n_samples))
    low = {name: min(x[name] for x, _ in rows[:200]) for name in rows[0][0]}
    return [({name: max(x[name] - low[name], 0.0) for name in x}, y) for x, y in rows]


def planted(n_samples: int, number: int) -> Stream:
    rng = np.random.default_rng(number)
    parts = rng.random((4, 40)) * (rng.random((4, 40)) < 0.4)

    def samples() -> Iterator[tuple[dict[str, float], int]]:
        for _ in range(n_samples):
            odd = rng.random() < 0.05
            x = rng.gamma(1.0, 0.5, 40) if odd else rng.gamma(1.0, size=4) @ parts
            x += 0.02 * rng.random(40)
            yield {f"f{j}": float(v) for j, v in enumerate(x)}, int(odd)

    return list(samples())


def scored(make: Callable[[], Any], stream: Stream) -> Row:
    """Microseconds of scoring and learning, and the area under the curve."""
    model, scores = make(), []
    learning = scoring = 0.0
    for x, _ in stream:
        with clock() as spent:
            scores.append(model.score_one(x))
        scoring += spent.wall
        with clock() as spent:
            model.learn_one(x)
        learning += spent.wall
    odd = [y for _, y in stream]
    return {
        "area": roc_auc_score(odd[WARM_UP:], scores[WARM_UP:]),
        "score_one": 1e6 * scoring / len(stream),
        "learn_one": 1e6 * learning / len(stream),
    }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=4000)
    given = parser.parse_args()
    record: Row = {"samples": given.samples, "rounds": given.rounds}
    for name, make in {"shuttle": shuttle, "planted": planted}.items():
        streams = [make(given.samples, number) for number in range(given.rounds)]
        jobs = {
            method: (lambda stream, build=build: scored(build, stream))
            for method, build in METHODS.items()
        }
        rows: dict[str, list[Row]] = {method: [] for method in METHODS}
        for method, _, result, _ in interleaved(jobs, streams):
            rows[method].append(result)
        record[name] = {}
        for method, found in rows.items():
            record[name][method] = {
                "area under the ROC curve": spread([row["area"] for row in found], 3),
                "score_one, µs": spread([row["score_one"] for row in found], 0),
                "learn_one, µs": spread([row["learn_one"] for row in found], 0),
            }
            print(name, method, record[name][method], flush=True)
    write_json(RESULTS / "river_adapter.json", record | {"machine": machine("thresher", "river")})


if __name__ == "__main__":
    main()
