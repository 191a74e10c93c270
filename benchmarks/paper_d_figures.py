"""Figures 4–6 of paper D (Xue and Lau, 2021) and Theorem 3, on its synthetic streams.

Samples are ``y = xD`` with Bernoulli–Gaussian codes of density θ on a random orthogonal dictionary
of N atoms; all methods see the same batches of B and start from the same random dictionary. What is
shown is error (24), median and quartiles over trials.

* NoncvxSFW: Algorithm 2 as published (``solver="noncvx_sfw"``), and with p = 4 instead of 3.
* SFW: the baseline of the paper (``solver="sfw"``), which stays inside the ball; as in the authors'
  code, the error is that of its polar factor.
* ``auto``: this library's.

**4, 5, 6**: over B, N and θ. The paper does not print all its values; these hold those of the
authors' scripts. **noise**: the base setting with noise of standard deviation 0.05. **gap**: the
Frank–Wolfe gap of NoncvxSFW beside ``ln(t+2)/(t+3)^(1/4)``, the rate of Theorem 3, whose constant
is not stated: the curve is drawn through the first gap. The gap is exact, not estimated: given its
support, a code is normal, so expectations are sums over the 2^N supports.

    python benchmarks/paper_d_figures.py [--parts 4 5 6 noise gap] [--trials 100] [--steps 3000]
"""

from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from common import GREY, RESULTS, clock, command_line, machine, read_json, tidy, write_json
from matplotlib import pyplot as plt

from thresher import OnlineOrthogonalDictionary
from thresher.datasets import make_orthogonal_stream
from thresher.learning import Progress, random_orthogonal
from thresher.linalg import Array, polar
from thresher.metrics import orthogonal_error

METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "NoncvxSFW": {"solver": "noncvx_sfw"},
    "ℓ4 NoncvxSFW": {"solver": "noncvx_sfw", "p": 4},
    "SFW": {"solver": "sfw"},
}
COLOURS = dict(zip(METHODS, ("#119da4", "#d1495b", "#c98a1b", "#3066be"), strict=True))
BASE = {"B": 10, "N": 10, "theta": 0.3, "noise": 0.0}
FIGURES = {
    "4": ("batch size", "B", (1, 10, 50)),
    "5": ("size of the dictionary", "N", (10, 20, 50)),
    "6": ("share of codes that are not zero", "theta", (0.1, 0.3, 0.5)),
    "noise": ("noise", "noise", (0.05,)),
}
SYMBOLS = {"B": "B", "N": "N", "theta": "θ", "noise": "σ"}
RATE = "ln(t+2)/(t+3)^(1/4)"


def looks(n_steps: int) -> list[int]:
    """Steps at which something is measured: a logarithmic grid, and round numbers."""
    grid = {round(t) for t in np.geomspace(1, n_steps, 45)}
    return sorted(grid | {t for t in (30, 100, 300, 400, 600, 800, 1000, 3000) if t <= n_steps})


def dictionaries(options: dict[str, Any], setting: dict[str, Any], n_steps: int, seed: int) -> Any:
    """The true dictionary, and the learned one at each look."""
    B, N = int(setting["B"]), int(setting["N"])
    stream = make_orthogonal_stream(
        n_steps * B, N, setting["theta"], setting["noise"], random_state=seed
    )
    learner = OnlineOrthogonalDictionary(**options)._plan(N).common.learner
    D, weight = random_orthogonal(N, np.random.default_rng(seed)), np.ones(B)
    state = learner.begin(stream.data[:B], weight, D)
    wanted, found = set(looks(n_steps)), []
    for t in range(1, n_steps + 1):
        Y = stream.data[(t - 1) * B : t * B]
        D, state = learner.learn(
            state, learner.summarise(state, D, Y, weight), D, Progress(t, B, t * B, 1.0)
        )
        if t in wanted:
            found.append(D)
    return stream.dictionary, found


def quartiles(values: list[list[float]]) -> list[list[float]]:
    """Lower, median and upper, at each look."""
    found: list[list[float]] = np.quantile(np.array(values), (0.25, 0.5, 0.75), axis=0).tolist()
    return found


def curves(
    setting: dict[str, Any], methods: list[str], trials: int, n_steps: int
) -> dict[str, Any]:
    """Quartiles of the error of every method, and how many trials met the goal."""
    found: dict[str, Any] = {}
    for name in methods:
        options = METHODS[name]
        errors = []
        with clock() as spent:
            for seed in range(trials):
                truth, learned = dictionaries(options, setting, n_steps, seed)
                errors.append([orthogonal_error(truth, polar(D)) for D in learned])
        at = looks(n_steps)
        late = np.array(errors)[:, at.index(min(1000, n_steps))]
        found[name] = {
            "quartiles": quartiles(errors),
            "largest at 1000": float(late.max()),
            "share below 1e-10 at 1000": float(np.mean(late < 1e-10)),
            "microseconds a step": 1e6 * spent.wall / trials / n_steps,
        }
        medians = dict(zip(at, found[name]["quartiles"][1], strict=True))
        shown = {t: f"{medians[t]:.1e}" for t in (100, 400, 1000, 3000) if t in medians}
        print(f"  {name:14} {shown}, largest at 1000 {late.max():.1e}", flush=True)
    return found


@lru_cache(maxsize=1)
def supports(N: int, theta: float) -> tuple[Array, Array]:
    """All supports, and their probabilities."""
    b = np.array(list(product((0.0, 1.0), repeat=N)))
    n = b.sum(axis=1)
    return b, theta**n * (1 - theta) ** (N - n)


def exact_gap(truth: Array, D: Array, theta: float) -> float:
    """``‖∇‖_* + ⟨∇, D⟩`` of ``F = −E‖yDᵀ‖₃³``.

    With ``W = D D_trueᵀ``, a code given the support b is normal with variance ``‖w ∘ b‖²``, so
    ``F = −2√(2/π) Σ_w E_b ‖w ∘ b‖³``.
    """
    b, share = supports(len(D), theta)
    W = D @ truth.T
    lengths = np.sqrt((W * W) @ b.T)
    gradient = -6 * np.sqrt(2 / np.pi) * W * ((lengths * share) @ b)
    return float(np.linalg.norm(gradient, "nuc") + np.sum(gradient * W))


def gaps(trials: int, n_steps: int) -> dict[str, Any]:
    """Mean gap at each look, its least so far, and the slope over the second half."""
    values = []
    for seed in range(trials):
        truth, learned = dictionaries(METHODS["NoncvxSFW"], BASE, n_steps, seed)
        values.append([exact_gap(truth, D, BASE["theta"]) for D in learned])
    t, mean = np.array(looks(n_steps)), np.mean(values, axis=0)
    least = np.minimum.accumulate(mean)
    rate = np.log(t + 2) / (t + 3) ** 0.25
    late = t >= 100
    record = {
        "steps": t.tolist(),
        "mean": mean.tolist(),
        "rate": (rate * mean[0] / rate[0]).tolist(),
        "slope": float(np.polyfit(np.log(t[late]), np.log(least[late]), 1)[0]),
        "slope of the rate": float(np.polyfit(np.log(t[late]), np.log(rate[late]), 1)[0]),
        "largest ratio to the rate": float((least / (rate * mean[0] / rate[0])).max()),
    }
    print({k: v for k, v in record.items() if isinstance(v, float)})
    return record


# ----------------------------------------------------------------------------- pictures


def plain(axes: Any, title: str) -> None:
    axes.set(xscale="log", yscale="log", xlabel="step", title=title)
    tidy(axes)


def draw(title: str, panels: dict[str, Any], target: Path) -> None:
    """One panel for each value: medians, and quartiles as bands."""
    size = (4.4 * len(panels) + 0.4, 4.4)
    figure, grid = plt.subplots(
        1, len(panels), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for axes, (label, panel) in zip(grid[0], panels.items(), strict=True):
        for name, curve in panel["methods"].items():
            low, middle, high = (np.maximum(q, 1e-16) for q in curve["quartiles"])
            axes.plot(panel["steps"], middle, color=COLOURS[name], label=name, linewidth=1.8)
            axes.fill_between(
                panel["steps"], low, high, color=COLOURS[name], alpha=0.18, linewidth=0
            )
        plain(axes, f"{label} ({panel['trials']} trials)")
    grid[0, 0].set_ylabel("error (24)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    n_columns = 2 * min(2, len(panels))
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, frameon=False)
    figure.suptitle(title, fontsize="medium")
    figure.savefig(target, dpi=120)
    plt.close(figure)


def draw_gap(record: dict[str, Any], target: Path) -> None:
    figure, axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
    axes.plot(record["steps"], record["mean"], color="#d1495b", label="mean gap of NoncvxSFW")
    axes.plot(record["steps"], record["rate"], "--", color=GREY, label=f"∝ {RATE}")
    plain(axes, "Frank–Wolfe gap and the rate of Theorem 3")
    axes.legend(frameon=False)
    figure.savefig(target, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--parts", nargs="+", default=[*FIGURES, "gap"], choices=[*FIGURES, "gap"])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--values", type=float, nargs="+", help="only these values of a part")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    matplotlib.use("Agg")
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "paper_d_figures.json"
    record = read_json(file)
    record["machine"] = machine("thresher", "numpy", "scipy")
    for part in options.parts:
        if part == "gap":
            record["gap"] = gaps(options.trials, options.steps)
            draw_gap(record["gap"], options.out / "paper_d_gap.png")
        else:
            subject, name, values = FIGURES[part]
            panels = record.setdefault(part, {})
            for value in values:
                if options.values and value not in options.values:
                    continue
                label = f"{SYMBOLS[name]} = {value:g}"
                print(f"{part}: {label}", flush=True)
                sizes = options.trials, options.steps
                panel = {"trials": sizes[0], "steps": looks(sizes[1]), "methods": {}}
                before = panels.get(label, panel)  # methods that are not run anew stay
                if before["trials"] == sizes[0] and before["steps"] == panel["steps"]:
                    panel["methods"] = dict(before["methods"])
                panel["methods"] |= curves({**BASE, name: value}, options.methods, *sizes)
                panels[label] = panel
            ordered = [f"{SYMBOLS[name]} = {value:g}" for value in values]
            record[part] = {label: panels[label] for label in ordered if label in panels}
            title = f"Paper D: {subject} (otherwise B = 10, N = 10, θ = 0.3)"
            draw(title, record[part], options.out / f"paper_d_{part}.png")
        write_json(file, record, None)


if __name__ == "__main__":
    main()
