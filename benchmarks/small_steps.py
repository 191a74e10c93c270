"""What a tiny step costs: `partial_fit` of 6 × 56 samples, and `transform` of a single one.

There is little to compute, so this is the price of checks, choices, sums and records. Models take
turns, some hundred calls each, all of them warm; times are medians of the processor's.

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

ROWS, FEATURES, ATOMS, ROUNDS = 6, 56, 8, 5
MODELS: dict[str, Callable[..., Any]] = {
    "OnlineRobustNMF": lambda **given: OnlineRobustNMF(ATOMS, **given),
    "OnlineNMF": lambda **given: OnlineNMF(ATOMS, **given),
    "OnlineNMF, KL": lambda **given: OnlineNMF(ATOMS, divergence="kl", **given),
    "OnlineL1Dictionary": lambda **given: OnlineL1Dictionary(ATOMS, **given),
    "OnlineOrthogonalDictionary": OnlineOrthogonalDictionary,
}


def _time(work: Callable[[Any], Any], X: Any, rows: int, i: int) -> float:
    some = X[rows * i % len(X) :][:rows]
    started = time.process_time()
    work(some)
    return 1e3 * (time.process_time() - started)


def milliseconds(n_calls: int) -> dict[str, dict[str, float]]:
    """Medians of both calls, for every model."""
    X = np.random.default_rng(0).random((600, FEATURES))
    models = {name: make(random_state=0, verbose=0) for name, make in MODELS.items()}
    spent: dict[str, dict[str, list[float]]] = {name: {} for name in models}
    for call, rows in (("partial_fit", ROWS), ("transform", 1)):
        for _ in range(ROUNDS):
            for name, model in models.items():
                times = [_time(getattr(model, call), X, rows, i) for i in range(n_calls // ROUNDS)]
                spent[name].setdefault(call, []).extend(times[len(times) // 10 :])  # warm by then
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
