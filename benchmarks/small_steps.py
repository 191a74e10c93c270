"""What a tiny step costs: `partial_fit` of 6 × 56 samples, and `transform` of a single one.

There is little to compute, so this is the price of checks, choices, sums and records. Models take
turns, call by call, all of them warm; times are medians of the processor's, in milliseconds.

    python benchmarks/small_steps.py [--calls 2000]
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import RESULTS, command_line, machine, write_json

from thresher import (
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
)

ROWS, FEATURES, ATOMS = 6, 56, 8
MODELS: dict[str, Callable[..., Any]] = {
    "OnlineRobustNMF": lambda **given: OnlineRobustNMF(ATOMS, **given),
    "OnlineNMF": lambda **given: OnlineNMF(ATOMS, **given),
    "OnlineNMF, KL": lambda **given: OnlineNMF(ATOMS, divergence="kl", **given),
    "OnlineL1Dictionary": lambda **given: OnlineL1Dictionary(ATOMS, **given),
    "OnlineOrthogonalDictionary": OnlineOrthogonalDictionary,
}


def milliseconds(n_calls: int) -> dict[str, dict[str, float]]:
    """Medians of both calls, for every model."""
    X = np.random.default_rng(0).random((600, FEATURES))
    models = {name: make(random_state=0, verbose=0) for name, make in MODELS.items()}
    spent: dict[str, dict[str, list[float]]] = {}
    for i in range(n_calls // 10 + n_calls):
        some = X[ROWS * i % len(X) :][:ROWS]
        for name, model in models.items():
            calls = {
                "partial_fit": (model.partial_fit, some),
                "transform": (model.transform, some[:1]),
            }
            for call, (work, samples) in calls.items():
                started = time.process_time()
                work(samples)
                took = 1e3 * (time.process_time() - started)
                if i >= n_calls // 10:  # before that, it gets warm
                    spent.setdefault(name, {}).setdefault(call, []).append(took)
    return {
        name: {call: round(float(np.median(took)), 3) for call, took in calls.items()}
        for name, calls in spent.items()
    }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    found = milliseconds(parser.parse_args().calls)
    for name, row in found.items():
        print(f"{name:28}" + "".join(f"   {call} {took:.3f} ms" for call, took in row.items()))
    record = {"machine": machine("numpy", "numba", "scikit-learn"), "milliseconds": found}
    write_json(RESULTS / "small_steps.json", record)


if __name__ == "__main__":
    main()
