"""Streams that change: false alarms, delays, and what is learned afterwards.

Three parts, each on data that no constant was chosen on (those were chosen on other planted data,
see docs/guide/drift.md):

- stationary: losses of models on streams that do not change, planted (ten seeds) and drawn at
  random from real data; how often each detector gives an alarm, beside what is promised.
- planted: six kinds of change in the stream of paper A; delay of each detector on the same losses,
  and the error to the clean samples 8,192 samples later, of a model that follows, of one that
  watches, and of one that starts at the change.
- real: traffic of Los Angeles (speeds) and of Abilene, in their order.

river's detectors have their defaults. Run it with ``pip install -e ".[dev]"``:

    python benchmarks/drift.py [--seeds 5] [--only planted]
"""

import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    RESULTS,
    Row,
    by_setting,
    command_line,
    data_folder,
    machine,
    read_json,
    write_json,
)
from river.drift import ADWIN, PageHinkley

from thresher import MannWhitneyDrift, OnlineNMF, OnlineRobustNMF
from thresher.datasets import make_outlier_stream
from thresher.linalg import Array
from thresher.metrics import relative_error

F, K, BATCH = 60, 8, 256
BEFORE, AFTER = 80, 32
KINDS = ("all", "some", "new", "scale", "noise", "outliers")
RATE = 0.01  # of the stationary part, where the promised 1e-4 would need a million batches
DETECTORS: dict[str, Callable[[], Any]] = {
    "MannWhitneyDrift": MannWhitneyDrift,
    f"MannWhitneyDrift({RATE})": lambda: MannWhitneyDrift(RATE),
    "ADWIN": ADWIN,
    "PageHinkley": PageHinkley,
    "PageHinkley(threshold=1)": lambda: PageHinkley(threshold=1.0),
}


class Recorder:
    """Keeps what detectors are fed with, and never gives an alarm."""

    drift_detected = False

    def __init__(self) -> None:
        self.losses: list[float] = []

    def update(self, x: float) -> None:
        """Keep one more."""
        self.losses.append(x)


def robust(forgetting: Any) -> Callable[..., Any]:
    return lambda **more: OnlineRobustNMF(K, forgetting=forgetting, verbose=0, n_jobs=1, **more)


def kullback_leibler(**more: Any) -> Any:
    return OnlineNMF(K, divergence="kl", verbose=0, n_jobs=1, **more)


MODELS: dict[str, Callable[..., Any]] = {
    "robust, half-life 2000": robust(2000.0),
    "robust": robust("auto"),
    "KL": kullback_leibler,
}


def losses_of(model: Any) -> list[float]:
    """What a `Recorder` has kept."""
    losses: list[float] = model._state.watch.detector.losses
    return losses


def alarms(name: str, losses: list[float]) -> list[int]:
    """Places at which a detector gives an alarm."""
    detector, places = DETECTORS[name](), []
    for place, loss in enumerate(losses):
        detector.update(loss)
        if detector.drift_detected:
            places.append(place)
    return places


# ------------------------------------------------------------------------------ stationary


def stationary_streams(seeds: int) -> Iterator[tuple[str, int, Iterator[Array]]]:
    def planted(seed: int) -> Iterator[Array]:
        D = make_outlier_stream(1, F, K, random_state=seed).dictionary
        rng = np.random.default_rng(seed)
        for _ in range(400):
            yield make_outlier_stream(128, dictionary=D, random_state=rng).data

    def drawn(X: Array, seed: int) -> Iterator[Array]:
        rng = np.random.default_rng(seed)
        for _ in range(400):
            yield X[rng.integers(len(X), size=64)]

    for seed in range(seeds):
        yield "planted", seed, planted(7000 + seed)
    for name, X in real_data().items():
        for seed in range(2):
            yield f"{name}, drawn at random", seed, drawn(X, seed)


def stationary(seeds: int) -> list[Row]:
    rows: list[Row] = []
    for name, seed, batches in stationary_streams(2 * seeds):
        model = robust(2000.0)(drift=Recorder(), random_state=seed)
        for X in batches:
            model.partial_fit(X)
        found = {one: len(alarms(one, losses_of(model))) for one in DETECTORS}
        rows.append({"data": name, "seed": seed, "batches": model.n_iter_, "alarms": found})
        print(rows[-1], flush=True)
    return rows


# --------------------------------------------------------------------------------- planted


class Planted:
    """The stream of paper A before and after a change."""

    def __init__(self, kind: str, D: Array, rng: np.random.Generator, counts: bool) -> None:
        self.rng, self.counts, self.scale = rng, counts, 3.0 if kind == "scale" else 1.0
        other = make_outlier_stream(1, F, K, random_state=rng).dictionary
        changed = {"all": other, "some": np.vstack([other[: K // 4], D[K // 4 :]])}
        self.D = changed.get(kind, np.vstack([D, other[:1]]) if kind == "new" else D)
        self.more: dict[str, float] = {}
        if kind == "noise":
            self.more = {"noise": 0.06}
        if kind == "outliers":
            self.more = {"density": 0.2}

    def draw(self, n: int = BATCH) -> tuple[Array, Array]:
        """Samples, and what is clean of them."""
        stream = make_outlier_stream(n, dictionary=self.D, random_state=self.rng, **self.more)
        if self.counts:
            clean = 10 * self.scale * stream.clean
            return self.rng.poisson(clean).astype(np.float64), clean
        return self.scale * stream.data, self.scale * stream.clean


def error(model: Any, stream: Planted) -> float:
    X, clean = deepcopy(stream).draw(2000)  # not those that come next in the stream
    if stream.counts:
        return relative_error(clean, model.inverse_transform(model.transform(X)))
    return relative_error(clean, model.separate(X).low_rank)


def planted(seed: int) -> Iterator[Row]:
    for name, make in MODELS.items():
        rng = np.random.default_rng(seed)
        D = make_outlier_stream(1, F, K, random_state=rng).dictionary
        stream = Planted("none", D, rng, name == "KL")
        follows = make(drift=Recorder(), random_state=seed)
        watches = make(drift="auto", random_state=seed)
        for _ in range(BEFORE):
            X, _ = stream.draw()
            follows.partial_fit(X)
            watches.partial_fit(X)
        for kind in KINDS[:4] if stream.counts else KINDS:
            changed = Planted(kind, D, np.random.default_rng(seed + 1), stream.counts)
            three = (deepcopy(follows), deepcopy(watches), make(random_state=seed))
            yield {"kind": kind, "model": name, "seed": seed} | after(changed, *three)


def after(stream: Planted, follows: Any, watches: Any, fresh: Any) -> Row:
    """Errors and delays, in batches, after a change."""
    for _ in range(AFTER):
        X, _ = stream.draw()
        for model in (follows, watches, fresh):
            model.partial_fit(X)
    delays: dict[str, int | None] = {}
    for name in DETECTORS:
        late = [place - BEFORE + 1 for place in alarms(name, losses_of(follows)) if place >= BEFORE]
        delays[name] = late[0] if late else None
    models = {"follows": follows, "watches": watches, "fresh": fresh}
    errors = {name: error(model, stream) for name, model in models.items()}
    return {"error": errors, "delay": delays, "events": listed(watches)}


def listed(model: Any) -> list[Any]:
    return [[event.samples, event.kind, event.statistic] for event in model.history_.events]


def summed_up(rows: list[Row]) -> list[Row]:
    """Medians over seeds, and delays in order (None is never)."""
    table = []
    for setting, mine in by_setting(rows, ["model", "kind"]):
        error = {
            name: round(float(np.median([row["error"][name] for row in mine])), 4)
            for name in mine[0]["error"]
        }
        delay = {name: [row["delay"][name] for row in mine] for name in DETECTORS}
        table.append(setting | {"error": error, "delay": delay})
    return table


# ------------------------------------------------------------------------------------ real


def real_data() -> dict[str, Array]:
    """Rows in the order of time; nothing without ``--data``."""
    folder = data_folder()
    if folder is None:
        return {}
    found = {}
    for name in ("los_loop_speed", "abilene_traffic"):
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            largest = max((file[key] for key in file.files), key=lambda array: array.size)
        found[name] = np.asarray(largest, dtype=np.float64).reshape(len(largest), -1)
    return found


def real() -> list[Row]:
    rows: list[Row] = []
    for name, X in real_data().items():
        follows, watches = (
            OnlineRobustNMF(K, drift=drift, random_state=0, verbose=0, n_jobs=1)
            for drift in (Recorder(), "auto")
        )
        ratios = []
        for start in range(0, len(X) - 15, 16):
            batch = X[start : start + 16]
            follows.partial_fit(batch)
            watches.partial_fit(batch)
            ratios.append(watches.history_[-1].loss / follows.history_[-1].loss)
        found = {one: alarms(one, losses_of(follows)) for one in DETECTORS}
        ratio = float(np.exp(np.mean(np.log(ratios))))
        row = {"data": name, "shape": X.shape, "batch": 16, "alarms": found}
        rows.append(row | {"loss_ratio": ratio, "events": listed(watches)})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="of each planted change")
    parser.add_argument("--only", choices=("stationary", "planted", "real"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    path = arguments.out / "drift.json"
    record = read_json(path) | {"machine": machine("numpy", "river")}
    if arguments.only in (None, "planted"):
        rows: list[Row] = []
        for seed in range(9000, 9000 + arguments.seeds):
            rows += planted(seed)
            record |= {"planted": rows, "planted_medians": summed_up(rows)}
            write_json(path, record)
    if arguments.only in (None, "stationary"):
        record["stationary"] = {"rate": RATE, "rows": stationary(arguments.seeds)}
        write_json(path, record)
    if arguments.only in (None, "real"):
        record["real"] = real()
        write_json(path, record)
    print(path)


if __name__ == "__main__":
    main()
