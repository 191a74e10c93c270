"""Figures 2, 3 and S-1 to S-3 and Table VIII of paper E (Zhao, Tan and Xu).

**Figure 2**: the synthetic data of VIII-D1 (F = 200, K = K° = 40) with the noise of Table IV for
each divergence, objective over time. The paper puts the latest dictionary to the codes of all past
samples; here, the dictionaries of about a dozen times are evaluated after the fit, outside the
clock: the mean divergence of held-out samples, coded exactly, relative to that of the dictionary
which made the data. That is one yardstick for online and batch methods. Methods: ``auto`` (one pass
in batches of 256), ``majorised`` (the same encoder with ratios of sums, which ``auto`` takes for
sparse data; IS and KL only), ``spsgd`` (τ = 1e-4 N, a = b = 2e4, steps divided by the curvature:
errata E.3), the paper's peers with the same τ, and batch multiplicative updates. Huber's threshold,
which the paper leaves open, is 30 for every method and for the measure.

**Figures S-1 to S-3**: the same objective at the end, τ, K and a varied one at a time.

**Figure 3 and Table VIII**: faces of four subjects of Extended Yale B under 64 lights, 32 × 32.
Numbers from U(-255, 255) are added to 30 % of the pixels, clipped to [0, 255]; the contaminated
images are repeated and shuffled. All 64 are then coded with the final dictionary. Two measures,
because removing shadows is a departure from the clean image: ``psnr`` over pixels that are *not* in
shadow, and ``lift``, the mean of reconstruction / (median of the pixel over the subject's clean
images) over pixels in shadow: 0 is black, 1 as bright as that pixel usually is. Noise that is left
raises it too (it is 0.37 for the contaminated images), so compare it at equal ``psnr``. A pixel is
in shadow if it has less than a quarter of its median, which is at least 40; counted in images of at
least half the usual brightness, so that a dark image is not a shadow.

Time is processor time of one thread, because the machine is shared. A curve ends with its pass or
with its time.

    THRESHER_DATA=folder python benchmarks/paper_e_figures.py --out pictures
    THRESHER_DATA=folder python benchmarks/paper_e_figures.py --quick --parts figure_2

Faces may not be redistributed: the pictures of part ``faces`` stay out of the repository.
"""

import argparse
import time
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from common import RESULTS, Looks, command_line, machine, read_json, write_json
from rich.console import Console
from rich.table import Table

from thresher import BatchNMF, OnlineNMF
from thresher.datasets import load_faces, make_divergence_stream
from thresher.datasets.divergence_stream import DivergenceStream
from thresher.encoding import AutoEncoder, CodingProblem, RoughEncoder
from thresher.engine import Step
from thresher.linalg import Array
from thresher.losses import (
    AlphaDivergence,
    BetaDivergence,
    Huber,
    ItakuraSaito,
    KullbackLeibler,
    L1Distance,
    L2Distance,
    Loss,
    SquaredL2,
)
from thresher.plotting import frame_grid, to_png
from thresher.plotting.style import INK, empty_figure
from thresher.solvers import DivergenceSolver, spsgd

N_FEATURES, N_PLANTED, THRESHOLD = 200, 40, 30.0
FIRST_LOOK, LOOK_RATIO = 0.02, 1.8  # seconds; 13 looks reach 40 s
NEAR = 1.1  # within 10 % of the planted dictionary


@dataclass(frozen=True)
class Case:
    """A divergence, the noise of Table IV that suits it, and its peer."""

    title: str
    noise: str
    loss: Loss
    peer: str | None = None
    parameter: float | None = None


CASES = {
    "is": Case("Itakura–Saito", "is", ItakuraSaito(), "ol_lef"),
    "kl": Case("Kullback–Leibler", "kl", KullbackLeibler()),
    "squared_l2": Case("squared ℓ2", "squared_l2", SquaredL2(), "ol_guan"),
    "huber": Case("Huber", "outliers", Huber(THRESHOLD), "ol_wang", THRESHOLD),
    "l1": Case("ℓ1", "outliers", L1Distance()),
    "l2": Case("ℓ2", "outliers", L2Distance()),
}
MAJORISED = DivergenceSolver(
    "near-exact codes, majorised dictionary", RoughEncoder(), multiplicative=True
)
HUES = {
    "auto": "#c98a1b",
    "majorised": "#4f772d",
    "spsgd": "#d1495b",
    "peer": "#8f2d56",
    "mu": "#3066be",
}
BATCH = 256


@dataclass
class Watch:
    """A callback that keeps (seconds, samples, dictionary), now and then and last, and stops."""

    limit: float
    looks: Looks = field(default_factory=lambda: Looks(FIRST_LOOK, LOOK_RATIO))
    started: float = field(default_factory=time.process_time)

    def __call__(self, step: Step) -> bool:
        """Note a step."""
        seconds = time.process_time() - self.started
        self.looks.show(seconds, (seconds, step.row.samples, step.dictionary))
        return seconds >= self.limit


def canonical_batch(method: str, n_samples: int) -> int:
    return BATCH if method in ("auto", "majorised") else max(1, round(1e-4 * n_samples))


def fit(
    X: Array,
    method: str,
    divergence: str,
    seed: int,
    seconds: float,
    *,
    parameter: float | None = None,
    n_components: int = N_PLANTED,
    batch_size: int | None = None,
    a: float | None = None,
) -> tuple[Any, Watch]:
    """A fitted model and what was seen on the way."""
    watch = Watch(seconds)
    common = {
        "divergence": divergence,
        "divergence_parameter": parameter,
        "n_jobs": 1,
        "random_state": seed,
        "callbacks": (watch,),
        "verbose": 0,
    }
    if method == "mu":
        model: Any = BatchNMF(n_components, solver="mu", tol=1e-12, max_iter=10**6, **common)
    else:
        solver = {"majorised": MAJORISED, "spsgd": spsgd(**({} if a is None else {"a": a}))}
        size = canonical_batch(method, len(X)) if batch_size is None else batch_size
        common |= {"batch_size": size, "n_passes": 1}
        model = OnlineNMF(n_components, solver=solver.get(method, method), **common)
    return model.fit(X), watch


def level(D: Array, X: Array, loss: Loss) -> float:
    """Mean divergence of samples that are coded exactly."""
    problem = CodingProblem(np.ascontiguousarray(D, dtype=np.float64), loss)
    codes = AutoEncoder().encode(problem, X).codes
    return float(problem.objective(X, codes, None).mean())


@lru_cache(maxsize=1)
def make_data(
    noise: str, n_samples: int, n_held_out: int, seed: int
) -> tuple[DivergenceStream, DivergenceStream]:
    train = make_divergence_stream(n_samples, N_FEATURES, N_PLANTED, noise, random_state=seed)
    again = {"dictionary": train.dictionary, "random_state": seed + 1000}
    return train, make_divergence_stream(n_held_out, noise=noise, **again)


def measure(
    name: str, method: str, options: argparse.Namespace, seed: int, seconds: float, **changes: Any
) -> dict[str, Any]:
    """One curve: objective relative to the planted dictionary over seconds."""
    case = CASES[name]
    train, held_out = make_data(case.noise, options.samples, options.held_out, seed)
    model, watch = fit(train.data, method, name, seed, seconds, parameter=case.parameter, **changes)
    del model
    planted = level(train.dictionary, held_out.data, case.loss)
    taken = [(s, n, level(D, held_out.data, case.loss) / planted) for s, n, D in watch.looks.kept]
    at, samples, objective = zip(*taken, strict=True)
    near = next((s for s, _, value in taken if value <= NEAR), None)
    return {
        "seconds": [float(f"{s:.3g}") for s in at],
        "samples": samples,
        "relative": [float(f"{value:.5g}") for value in objective],
        "planted": planted,
        "near": near,
        "end": "time" if at[-1] >= seconds else "pass",
    }


# ------------------------------------------------------------------- Figure 2


def methods_of(case: Case) -> list[str]:
    other = "majorised" if isinstance(case.loss, AlphaDivergence | BetaDivergence) else None
    return [method for method in ("auto", other, "spsgd", case.peer, "mu") if method]


def figure_2(options: argparse.Namespace, record: dict[str, Any]) -> None:
    curves: dict[str, Any] = {}
    for name in options.divergences:
        case = CASES[name]
        curves[name] = {}
        for method in methods_of(case):
            runs = [
                measure(name, method, options, s, options.seconds) for s in range(options.seeds)
            ]
            curves[name][method] = runs
            ends = ", ".join(f"{run['relative'][-1]:.4f}" for run in runs)
            print(f"  {name} {method}: {runs[0]['seconds'][-1]:.1f} s, {ends}", flush=True)
        make_data.cache_clear()
    record["figure_2"] = {"samples": options.samples, "limit": options.seconds, "curves": curves}
    table = Table("divergence", "method", title=f"Figure 2, N = {options.samples}")
    for column in ("seconds", "samples", "end / planted", "seconds to 10 %", "ended by"):
        table.add_column(column, justify="right")
    for name, methods in curves.items():
        for method, runs in methods.items():
            first = runs[0]
            end = [run["relative"][-1] for run in runs]
            near = [run["near"] for run in runs if run["near"] is not None]
            table.add_row(
                CASES[name].title,
                method,
                f"{np.mean([run['seconds'][-1] for run in runs]):.1f}",
                str(first["samples"][-1]),
                f"{np.mean(end):.4f}" + (f" ± {np.std(end):.4f}" if len(end) > 1 else ""),
                f"{np.mean(near):.2f}" if len(near) == len(runs) else "–",
                first["end"],
            )
        table.add_section()
    Console(width=110).print(table)
    draw_curves(curves, options.out / "paper_e_figure_2.png")


def draw_curves(curves: dict[str, Any], target: Path) -> None:
    n_columns = min(3, len(curves))
    n_rows = -(-len(curves) // n_columns)
    figure = empty_figure(3.5 * n_columns, 2.7 * n_rows + 0.35)
    figure.patch.set(facecolor="white", alpha=1)
    figure.set_layout_engine("constrained")
    grid = np.atleast_1d(figure.subplots(n_rows, n_columns)).ravel()
    for axes in grid[len(curves) :]:
        axes.set_axis_off()
    for axes, (name, methods) in zip(grid, curves.items(), strict=False):
        for method, runs in methods.items():
            key = method if method in HUES else "peer"
            for number, run in enumerate(runs):
                axes.plot(
                    run["seconds"],
                    run["relative"],
                    "-o",
                    color=HUES[key],
                    linewidth=1.5,
                    markersize=2.5,
                    label=method if number == 0 else None,
                )
        axes.axhline(1, color=INK, linestyle=":")
        axes.set(xscale="log", yscale="log")
        style_axes(axes, CASES[name].title)
    for axes in grid[max(0, len(curves) - n_columns) : len(curves)]:
        axes.set_xlabel("seconds", color=INK)
    names = {**{key: key for key in HUES}, "peer": "ol_lef, ol_guan, ol_wang"}
    lines = [grid[0].plot([], [], "-o", color=HUES[key], markersize=3)[0] for key in names]
    figure.legend(
        lines,
        names.values(),
        loc="outside lower center",
        ncols=len(names),
        frameon=False,
        fontsize=8.5,
        labelcolor=INK,
    )
    figure.suptitle(
        "Held-out divergence over that of the planted dictionary", color=INK, fontsize=10
    )
    target.write_bytes(to_png(figure, 100))


def style_axes(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", color=INK, fontsize=10)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    low, high = axes.get_ylim()
    few = high / low < 12
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}" if few else "")
    axes.tick_params(which="both", colors=INK, labelsize=7.5, length=0)
    axes.grid(axis="y", which="both" if few else "major", color=INK, alpha=0.2, linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)


# ------------------------------------------------------- Figures S-1, S-2, S-3


def figures_s(options: argparse.Namespace, record: dict[str, Any]) -> None:
    """One parameter at a time around τ = 1e-3 N (256 for auto), K = 40, a = 2e4."""
    n = options.samples
    base = {"spsgd": max(1, n // 1000), "majorised": BATCH, "auto": BATCH}
    everything = ("auto", "majorised", "spsgd")
    sizes = [max(1, n // 10**4), max(1, n // 1000), n // 100]
    sweeps: dict[str, tuple[str, list[Any], tuple[str, ...]]] = {
        "S-1, τ": ("batch_size", sizes, everything),
        "S-2, K": ("n_components", [20, 40, 80], everything),
        "S-3, a": ("a", [2e3, 2e4, 2e5], ("spsgd",)),
    }
    known: dict[Any, dict[str, Any]] = {}
    found: dict[str, Any] = {title: {} for title in sweeps}
    for name in options.divergences:
        for title, (key, values, methods) in sweeps.items():
            for method in methods:
                if method == "majorised" and name not in ("is", "kl"):
                    continue
                ends = []
                for value in values:
                    usual = {"batch_size": base[method], "n_components": N_PLANTED, "a": 2e4}
                    changes = {**usual, key: value}
                    setting = name, method, *changes.values()
                    if setting not in known:
                        known[setting] = measure(
                            name, method, options, 0, options.seconds, **changes
                        )
                    run = known[setting]
                    ends.append(
                        {"value": value, **{k: run[k][-1] for k in ("seconds", "relative")}}
                    )
                found[title].setdefault(name, {})[method] = ends
                told = ", ".join(f"{e['value']:g}: {e['relative']:.4f}" for e in ends)
                print(f"  {title} {name} {method}: {told}", flush=True)
    record["figures_s"] = {"samples": n, "limit": options.seconds, "ends": found}
    for title, by_name in found.items():
        values = sweeps[title][1]
        table = Table("divergence", "method", title=f"{title}: end / planted, N = {n}")
        for value in values:
            table.add_column(f"{value:g}", justify="right")
        for name, by_method in by_name.items():
            for method, ends in by_method.items():
                table.add_row(CASES[name].title, method, *(f"{e['relative']:.4f}" for e in ends))
        Console(width=110).print(table)
    draw_sweeps(found, options.out / "paper_e_figures_s.png")


def draw_sweeps(found: dict[str, Any], target: Path) -> None:
    figure = empty_figure(10.5, 3.1)
    figure.patch.set(facecolor="white", alpha=1)
    figure.set_layout_engine("constrained")
    shades = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(CASES)))
    colours = dict(zip(CASES, shades, strict=True))
    styles = {"majorised": "-o", "auto": ":s", "spsgd": "--^"}
    for axes, (title, by_name) in zip(figure.subplots(1, 3), found.items(), strict=True):
        for name, by_method in by_name.items():
            for method, ends in by_method.items():
                x, y = [e["value"] for e in ends], [e["relative"] for e in ends]
                label = f"{name} {method}"
                axes.plot(x, y, styles[method], color=colours[name], lw=1.2, ms=3.5, label=label)
        axes.set(xscale="log", yscale="log")
        axes.axhline(1, color=INK, linestyle=":")
        style_axes(axes, f"{title} (end / planted)")
        axes.set_xticks(x, [f"{value:g}" for value in x])
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside right center", frameon=False, fontsize=7, labelcolor=INK
    )
    target.write_bytes(to_png(figure, 100))


# ---------------------------------------------------------- Figure 3, Table VIII

SHADOW, BRIGHT, LIT_IMAGE = 0.25, 40.0, 0.5
FACE_BATCH = 10  # 1e-4 N for the 96 000 images of the paper, whatever N is here
FACE_METHODS = ("auto", "spsgd", "ol_wang", "mu")


def load_subject(subject: int) -> Array:
    stored = load_faces("yale_b")
    images = stored.images[stored.labels == subject]
    return images.reshape(len(images), -1).astype(np.float64)


def contaminate(clean: Array, rng: np.random.Generator) -> Array:
    """Add U(-255, 255) to exactly 30 % of the pixels of every image, and clip."""
    n, F = clean.shape
    chosen = np.argsort(rng.random((n, F)), axis=1) < round(0.3 * F)
    return np.clip(clean + chosen * rng.uniform(-255, 255, (n, F)), 0, 255)


def shadows(clean: Array) -> tuple[Array, Array]:
    """Which pixels are in shadow, and the median of every pixel."""
    median = np.median(clean, axis=0)
    lit = clean.mean(axis=1, keepdims=True) >= LIT_IMAGE * median.mean()
    return (clean < SHADOW * median) & (median >= BRIGHT) & lit, median


def face_measures(images: Array, clean: Array) -> dict[str, float]:
    dark, median = shadows(clean)
    error = max(float(np.mean((np.clip(images, 0, 255) - clean)[~dark] ** 2)), 1e-9)
    ratio = (np.clip(images, 0, 255) / np.maximum(median, 1))[dark]
    return {"psnr": 10 * np.log10(255**2 / error), "lift": float(ratio.mean())}


def faces(options: argparse.Namespace, record: dict[str, Any]) -> None:
    results: dict[str, Any] = {}
    for K in options.face_components:
        shown: dict[str, list[Array]] = {}
        labels: list[str] = []
        for letter, subject in zip("ABCD", options.subjects, strict=False):
            clean = load_subject(subject)
            rng = np.random.default_rng(subject)
            noisy = contaminate(clean, rng)
            copies = [noisy if not options.fresh else contaminate(clean, rng)]
            copies += [
                contaminate(clean, rng) if options.fresh else noisy
                for _ in range(options.replicas - 1)
            ]
            X = rng.permutation(np.concatenate(copies))
            dark, _ = shadows(clean)
            images: dict[str, Array] = {"clean": clean, "contaminated": noisy}
            seconds, samples = {}, {}
            for method in FACE_METHODS:
                model, watch = fit(
                    X,
                    method,
                    "huber",
                    subject,
                    options.seconds,
                    parameter=options.face_threshold,
                    n_components=K,
                    batch_size=BATCH if method == "auto" else FACE_BATCH,
                )
                seconds[method], samples[method] = watch.looks.kept[-1][:2]
                images[method] = model.transform(noisy) @ model.components_
            for kind, values in images.items():
                row = face_measures(values, clean)
                if kind in seconds:
                    row |= {"seconds": seconds[kind], "samples": samples[kind]}
                results.setdefault(str(K), {}).setdefault(kind, {})[letter] = {
                    key: float(f"{value:.4g}") for key, value in row.items()
                }
                told = ", ".join(f"{key} {value:.3g}" for key, value in row.items())
                print(f"  K {K}, {letter}, {kind}: {told}", flush=True)
            # The images with most shadow, in thirds of the ranking: three lights.
            order = np.argsort(-dark.sum(axis=1))
            for place in order[[0, 4, 12]]:
                labels.append(f"{letter}")
                for kind, values in images.items():
                    shown.setdefault(kind, []).append(values[place].reshape(32, 32))
        figure = frame_grid(
            [np.stack(column) for column in shown.values()], list(shown), labels, separators=(2,)
        )
        (options.out / f"paper_e_faces_K{K}.png").write_bytes(to_png(figure, 90))
    record["faces_fresh" if options.fresh else "faces"] = {
        "replicas": options.replicas,
        "threshold": options.face_threshold,
        "limit": options.seconds,
        "results": results,
    }
    for K, by_kind in results.items():
        table = Table("images", title=f"Faces, K = {K}: seconds, PSNR (dB), lift; A to D")
        for column in ("seconds", "samples", "psnr", "lift"):
            table.add_column(column, justify="right")
        for kind, by_letter in by_kind.items():
            cells = []
            for key, form in (
                ("seconds", ".1f"),
                ("samples", ".0f"),
                ("psnr", ".1f"),
                ("lift", ".2f"),
            ):
                values = [row[key] for row in by_letter.values() if key in row]
                cells.append(" ".join(f"{value:{form}}" for value in values))
            table.add_row(kind, *cells)
        Console(width=120).print(table)


# ------------------------------------------------------------------------------


def warm_up(options: argparse.Namespace) -> None:
    """Compile what is compiled, outside the clock."""
    for name, case in CASES.items():
        train, held_out = make_data(case.noise, 300, 20, 0)
        for method in methods_of(case):
            fit(train.data, method, name, 0, 0.3, parameter=case.parameter)
        level(train.dictionary, held_out.data, case.loss)


def main() -> None:
    parser = command_line(__doc__)
    parts = {"figure_2": figure_2, "figures_s": figures_s, "faces": faces}
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--sweep-samples", type=int, default=10_000, help="for figures_s")
    parser.add_argument("--quick", action="store_true", help="10 000 samples")
    parser.add_argument("--divergences", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--held-out", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time for a curve")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--subjects", type=int, nargs="+", default=[0, 1, 4, 6])
    parser.add_argument("--replicas", type=int, default=156, help="the paper has 1500")
    parser.add_argument("--fresh", action="store_true", help="new noise for every copy (VIII-B)")
    parser.add_argument("--face-components", type=int, nargs="+", default=[40, 6])
    parser.add_argument("--face-threshold", type=float, default=5.0)
    parser.add_argument("--out", type=Path, default=Path("paper_e_pictures"))
    parser.add_argument("--json", type=Path, default=RESULTS / "paper_e_figures.json")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.quick:
        options.samples = 10_000
    warnings.simplefilter("ignore")
    warm_up(options)
    for part in options.parts:
        print(f"\n{part}", flush=True)
        record: dict[str, Any] = {}
        chosen = argparse.Namespace(**vars(options))
        if part == "figures_s":
            chosen.samples = options.sweep_samples
        parts[part](chosen, record)
        packages = ("thresher", "numpy", "scipy", "numba", "scikit-learn")
        kept = read_json(options.json) | {"machine": machine(*packages), **record}
        write_json(options.json, kept, None)


if __name__ == "__main__":
    main()
