"""Figure 7 and Table II of paper D: temperatures of 56 sensors, compressed; time per step.

Airly's hourly readings, Krakow 2017; missing ones are the mean over the sensors of that hour. The
first 100 samples start the dictionary (20 iterations of the batch version), then come 1400 batches
of 6. RMSE is ``√(Σ‖y − ŷ‖² / Σ‖y‖²)`` with the η₀ largest codes of every sample.

* **published** protocol: a batch is coded with the dictionary that was just learned from it, and
  the first 100 samples count, coded with the dictionary that they started.
* **causal**: a batch is coded with the dictionary before it; the first 100 do not count.

Methods: NoncvxSFW with p = 3 and 4; ``auto`` with a half-life of 72 hours and without; principal
directions of discounted second moments, half-life 72 hours; SPAMS, online ℓ1 dictionary learning
(23), codes by the lasso and cut to η₀ as in the paper, and by orthogonal matching pursuit, λ the
best of a grid.

**speed**: time of a step on 6 samples over that of NoncvxSFW in plain NumPy (two SVDs), once the
step alone and once as `partial_fit`, with its checks and records; interleaved in blocks of steps,
median ratio, N = 56 (readings) and N = 512 (Gaussian samples with decaying spectrum).

    THRESHER_DATA=folder python benchmarks/paper_d_sensors.py [--parts table speed] [--data folder]
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from common import RESULTS, clock, command_line, interleaved, machine, read_json, tidy, write_json
from matplotlib import pyplot as plt

from thresher import OnlineOrthogonalDictionary
from thresher.datasets.files import find_data_file
from thresher.learning import Progress, principal_directions
from thresher.learning.sparsity import keep_largest, left_out
from thresher.linalg import Array, polar

KEPT = (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 17, 25, 35)
FIRST, BATCH, N_BATCHES, HALF_LIFE = 100, 6, 1400, 72
PUBLISHED = {
    "ℓ3": (5.34, 4.43, 4.00, 3.72, 3.50, 3.30, 3.13, 2.97, 2.83, 2.44, 2.01, 1.33, 0.71),
    "ℓ4": (5.50, 4.55, 4.13, 3.85, 3.62, 3.43, 3.25, 3.09, 2.95, 2.56, 2.13, 1.46, 0.91),
}
"""Table II, in per cent. Milliseconds a step there: .88 (ℓ3), .89 (ℓ4), 3.3 (SPAMS)."""
MODELS: dict[str, dict[str, Any]] = {
    "NoncvxSFW": {"solver": "noncvx_sfw"},
    "ℓ4 NoncvxSFW": {"solver": "noncvx_sfw", "p": 4},
    "auto": {},
    "auto, half-life 72": {"forgetting": HALF_LIFE},
}


def readings() -> tuple[Array, Any]:
    """Samples in rows, gaps filled by the mean over sensors, and their hours."""
    with np.load(find_data_file("airly_krakow_2017.npz"), allow_pickle=False) as z:
        Y, hours = z["temperature"].astype(np.float64), z["time"]
    return np.where(np.isnan(Y), np.nanmean(Y, axis=1, keepdims=True), Y), hours


def batches(Y: Array) -> list[Array]:
    end = FIRST + BATCH * N_BATCHES
    return [Y[s : s + BATCH] for s in range(FIRST, end, BATCH)]


def by_codes(Y: Array, D: Array) -> Array:
    """What orthogonal atoms leave out, for every η₀."""
    found: Array = left_out(Y @ D.T).sum(axis=0)[np.array(KEPT) - 1]
    return found


def through(
    Y: Array, D: Array, step: Callable[[Array], Array], left: Callable[[Array, Array], Array]
) -> dict[str, Any]:
    """RMSE in per cent in both protocols, and milliseconds of a step."""
    squares = float(np.sum(Y[:FIRST] ** 2))
    published, causal, total, spent = left(Y[:FIRST], D), np.zeros(len(KEPT)), 0.0, []
    for batch in batches(Y):
        total += float(np.sum(batch * batch))
        causal = causal + left(batch, D)
        with clock() as now:
            D = step(batch)
        spent.append(now.wall)
        published = published + left(batch, D)
    return {
        "published": (100 * np.sqrt(published / (squares + total))).tolist(),
        "causal": (100 * np.sqrt(causal / total)).tolist(),
        "milliseconds": 1e3 * float(np.median(spent)),
    }


def learned(Y: Array, options: dict[str, Any]) -> dict[str, Any]:
    """A model of the library."""
    model = OnlineOrthogonalDictionary(random_state=0, verbose=0, n_jobs=1, **options)
    start = model.partial_fit(Y[:FIRST]).components_
    return through(Y, start, lambda batch: model.partial_fit(batch).components_, by_codes)


def principal(Y: Array) -> dict[str, Any]:
    """Principal directions with a half-life; each sample is discounted on its own."""
    f, S = 0.5 ** (1 / HALF_LIFE), np.zeros((Y.shape[1],) * 2)

    def step(batch: Array) -> Array:
        nonlocal S
        weight = f ** np.arange(len(batch) - 1, -1, -1)
        S = f ** len(batch) * S + (batch * weight[:, None]).T @ batch
        return principal_directions(S)

    return through(Y, step(Y[:FIRST]), step, by_codes)


def by_spams(Y: Array, weight: float, pursuit: bool) -> dict[str, Any]:
    """Online ℓ1 dictionary learning; atoms in columns, as SPAMS has them."""
    import spams

    common = {"lambda1": weight, "mode": 2, "numThreads": 1, "verbose": False, "clean": False}
    start = polar(np.random.default_rng(0).standard_normal((Y.shape[1],) * 2))
    D, state = spams.trainDL(
        np.asfortranarray(Y[:FIRST].T),
        return_model=True,
        D=np.asfortranarray(start),
        iter=20,
        batchsize=FIRST,
        **common,
    )

    def step(batch: Array) -> Array:
        nonlocal D, state
        D, state = spams.trainDL(
            np.asfortranarray(batch.T),
            return_model=True,
            model=state,
            D=D,
            iter=1,
            batchsize=BATCH,
            **common,
        )
        return np.asarray(D)

    def left(Y: Array, D: Array) -> Array:
        data, atoms = np.asfortranarray(Y.T), np.asfortranarray(D)
        if pursuit:
            codes = [spams.omp(data, atoms, L=k, numThreads=1).toarray().T for k in KEPT]
        else:
            C = spams.lasso(data, D=atoms, lambda1=weight, mode=2, numThreads=1).toarray().T
            codes = [keep_largest(C, k) for k in KEPT]
        return np.array([np.sum((Y - C @ D.T) ** 2) for C in codes])

    return {"lambda": weight, **through(Y, np.asarray(D), step, left)}


def best_spams(Y: Array, pursuit: bool) -> dict[str, Any]:
    tried = [by_spams(Y, weight, pursuit) for weight in (0.01, 0.1, 1.0)]
    return min(tried, key=lambda found: float(np.log(found["causal"]).mean()))


def part_table(Y: Array, record: dict[str, Any]) -> None:
    rows: dict[str, Any] = {}
    for name, options in MODELS.items():
        rows[name] = learned(Y, options)
    rows["principal directions, half-life 72"] = principal(Y)
    try:
        rows["SPAMS, lasso cut"] = best_spams(Y, False)
        rows["SPAMS, pursuit"] = best_spams(Y, True)
    except ImportError:
        print("SPAMS is not installed; left out.")
    record["table"] = rows
    for protocol in ("published", "causal"):
        print(f"\n{protocol:36}" + "".join(f"{k:>7}" for k in KEPT) + "     ms")
        if protocol == "published":
            for name, values in PUBLISHED.items():
                print(f"paper, {name:29}" + "".join(f"{v:7.2f}" for v in values))
        for name, row in rows.items():
            values = "".join(f"{v:7.2f}" for v in row[protocol])
            print(f"{name:36}{values}{row['milliseconds']:7.2f}")
    ours = np.array(rows["auto, half-life 72"]["causal"])
    bar = np.array(rows["principal directions, half-life 72"]["causal"])
    record["largest ratio to principal directions"] = float((ours / bar).max())
    print("auto over principal directions:", np.round(ours / bar, 3))


# -------------------------------------------------------------------------------- speed


class PlainNumpy:
    """Algorithm 2, two SVDs a step: what the published method costs without this library."""

    def __init__(self, D: Array) -> None:
        self.D, self.G, self.t = D, np.zeros(D.shape), 0

    def partial_fit(self, Y: Array) -> None:
        """One step."""
        self.t += 1
        rho, gamma = 4 * (self.t + 1) ** -0.5, 2 * (self.t + 2) ** -0.75
        C = Y @ self.D.T
        self.G = (1 - rho) * self.G - rho * 3 / len(Y) * (np.abs(C) * C).T @ Y
        U, _, Vt = np.linalg.svd(-self.G)
        U, _, Vt = np.linalg.svd((1 - gamma) * self.D + gamma * U @ Vt)
        self.D = U @ Vt


class LearnerAlone:
    """What a model does with a batch, without checks of input and without a history."""

    def __init__(self, model: OnlineOrthogonalDictionary) -> None:
        method, state = model._plan(len(model.components_)).common, model._state
        self.learner, self.forgetting = method.learner, method.forgetting
        self.D, self.statistics = state.D, state.statistics
        self.step, self.seen = state.n_steps, state.weight_seen

    def partial_fit(self, Y: Array) -> None:
        """One step."""
        n = float(len(Y))
        self.step, self.seen = self.step + 1, self.seen + n
        progress = Progress(self.step, n, self.seen, self.forgetting(n, self.seen))
        sums = self.learner.summarise(self.statistics, self.D, Y, np.ones(len(Y)))
        self.D, self.statistics = self.learner.learn(self.statistics, sums, self.D, progress)


def learn_block(model: Any, block: list[Array]) -> None:
    for batch in block:
        model.partial_fit(batch)


def part_speed(Y: Array, record: dict[str, Any]) -> None:
    """Steps are timed in blocks, as dictionaries do not turn at every one."""
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((4000, 512)) * np.arange(1, 513) ** -0.5
    wide = wide @ polar(rng.standard_normal((512, 512)))
    found = record.setdefault("speed", {})
    for data, n_blocks, size in ((Y, 60, 12), (wide, 4, 22)):
        N = data.shape[1]
        first = max(FIRST, N)
        models: dict[str, Any] = {"plain NumPy": PlainNumpy(np.eye(N))}
        for name, options in MODELS.items():
            model = OnlineOrthogonalDictionary(
                random_state=0, verbose=0, n_jobs=1, init="pca", **options
            ).partial_fit(data[:first])
            models[f"{name}, the step"] = LearnerAlone(model)
            models[f"{name}, partial_fit"] = model
        starts = range(first, first + BATCH * size * n_blocks, BATCH * size)
        blocks = [[data[s + BATCH * i :][:BATCH] for i in range(size)] for s in starts]
        jobs = {name: partial(learn_block, model) for name, model in models.items()}
        spent: dict[str, list[float]] = {name: [] for name in models}
        for name, _, _, now in interleaved(jobs, blocks):
            spent[name].append(now.wall / size)
        base = np.array(spent["plain NumPy"])
        found[f"N = {N}"] = {
            "plain NumPy, milliseconds": 1e3 * float(np.median(base)),
            **{
                name: float(np.median(np.array(times) / base))
                for name, times in spent.items()
                if name != "plain NumPy"
            },
        }
        print(f"N = {N}:", json.dumps(found[f"N = {N}"], indent=1, ensure_ascii=False))


def draw_readings(Y: Array, hours: Any, target: Path) -> None:
    """Figure 7."""
    figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    axes.plot(hours, Y, linewidth=0.3, alpha=0.5)
    axes.plot(hours, Y.mean(axis=1), color="black", linewidth=0.5)
    axes.set(ylabel="°C", title="56 sensors, gaps filled; the mean in black")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(target, dpi=120)
    plt.close(figure)


def draw_table(rows: dict[str, Any], target: Path) -> None:
    """Both protocols, RMSE over η₀."""
    figure, pair = plt.subplots(1, 2, figsize=(10.5, 4.6), sharey=True, layout="constrained")
    for axes, protocol in zip(pair, ("published", "causal"), strict=True):
        for name, row in rows.items():
            style = "--s" if name.startswith("principal") else "-o"
            axes.plot(KEPT, row[protocol], style, markersize=3, label=name)
        if protocol == "published":
            axes.plot(KEPT, PUBLISHED["ℓ3"], "k:", label="NoncvxSFW as printed")
        axes.set(yscale="log", xlabel="codes kept", title=f"{protocol} protocol")
        tidy(axes)
    pair[0].set_ylabel("RMSE, per cent")
    handles, labels = pair[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(target, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument(
        "--parts", nargs="+", choices=["table", "speed"], default=["table", "speed"]
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    matplotlib.use("Agg")
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "paper_d_sensors.json"
    record = read_json(file)
    record["machine"] = machine("thresher", "numpy", "scipy")
    Y, hours = readings()
    if "table" in options.parts:
        draw_readings(Y, hours, options.out / "paper_d_7.png")
        part_table(Y, record)
        draw_table(record["table"], options.out / "paper_d_table_2.png")
    if "speed" in options.parts:
        part_speed(Y, record)
    write_json(file, record)


if __name__ == "__main__":
    main()
