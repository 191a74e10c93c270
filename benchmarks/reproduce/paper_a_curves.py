"""Figures 1–6 of paper A (Zhao and Tan, 2017) on its synthetic stream, 10–15 on CBCL faces.

A job for each panel. The setting is VII-B to VII-D: F = 400, K = K° = 49, (ν, ν̃) = (0.7, 0.1),
τ = 5, κ = 0.7, ρ = 1, λ = 1/√F, M = 1, and the published solvers as they are, one pass; batch
methods hold all samples. ``auto``, online and batch, solves the same problem (same λ and M) with
its defaults: start from samples, forgetting, batches of 256. `make_outlier_stream` corrects two
slips of the data of VII-D1. Faces are those of `paper_a_faces`; a tenth of them is held out.

* Dashed, the objective as the method sees it, as in the paper. OPGD and OADMM: the surrogate
  (11). Online ``auto`` has none: the mean loss per sample so far. Batch: (S-7) per sample.
* Solid, what makes all methods comparable: the mean loss of 500 held-out samples, coded exactly
  (certificate 1e-4) with the dictionary of the time; an estimate of the expected loss.
* The clean error ½‖x° − cD‖² of those codes: (46) on held-out samples instead of past ones. For
  ONMF and ORPCA codes are those of their own problems, which have no λ, and no signs.

Dictionaries are kept at about 30 times on a logarithmic grid and evaluated after the fit, outside
the clock. A curve ends with its pass, when it settles (batch ``auto`` only), or with its time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache, partial
from typing import Any

import matplotlib
import numpy as np
from benchmarks.common import GREY, INK, Looks, Row, tidy
from benchmarks.reproduce import paper_a_faces as cbcl
from benchmarks.reproduce.jobs import FOLDER, Job, Scale
from benchmarks.reproduce.paper_a_methods import made
from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, NullLocator
from rich.console import Console
from rich.table import Table

from thresher import OnlineRobustNMF, RobustNMF, StopAfter, solvers
from thresher.datasets import make_outlier_stream
from thresher.encoding import AutoEncoder, CodingProblem
from thresher.engine import Pool, Step
from thresher.linalg import Array
from thresher.losses import Huber, SquaredL2
from thresher.metrics import mean_regret
from thresher.penalties import Regulariser, Tikhonov
from thresher.sets import Reals

N_FEATURES, N_PLANTED, N_HELD_OUT = 400, 49, 500
OUTLIER_BOUND = 1.0
FIRST_LOOK, LOOK_RATIO = 0.01, 1.28  # seconds; 30 looks reach 13 s
SIZES: dict[Scale, tuple[int, float]] = {"quick": (20_000, 6.0), "paper": (100_000, 60.0)}
"""Samples, and seconds for a curve."""

PUBLISHED_BATCH = {"tol": 0.0, "max_iter": 10**6}  # until time is up
METHODS: dict[str, dict[str, Any]] = {
    "OPGD": {"n_passes": 1},
    "OADMM": {"n_passes": 1},
    "online auto": {"n_passes": 1},
    "BPGD": PUBLISHED_BATCH,
    "BADMM": PUBLISHED_BATCH,
    "batch auto": {},
}
OTHERS = ("ONMF", "ORPCA")
BATCH_SIZES = {"OPGD": 5, "OADMM": 5, "online auto": 256, "ONMF": 5, "ORPCA": 5}
"""Methods that have none are batch methods."""
HUES = ("#d1495b", "#3066be", "#c98a1b", "#8f2d56", "#119da4", "#4f772d", "#6b7280", "#7c3aed")
COLOURS = dict(zip((*METHODS, *OTHERS), HUES, strict=True))
MEASURES = {"held_out_loss": "objective per sample", "clean_error": "held-out clean error"}


INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
FOR_LIGHT_AND_DARK = dict.fromkeys(INKED, INK) | {"savefig.transparent": True}


@dataclass(frozen=True)
class Run:
    """A method in a setting; by default the canonical one."""

    method: str
    batch_size: int | None
    n_components: int = N_PLANTED
    kappa: float = 0.7
    rho: float = 1.0
    outliers: tuple[float, float] = (0.7, 0.1)
    data: str = "synthetic"

    def solver(self) -> Any:
        """Its solver, with κ or ρ where it has one: the paper sets all κ, and all ρ, alike."""
        kappas = {"kappa": self.kappa, "kappa_dictionary": self.kappa}
        rhos = dict.fromkeys(("rho_1", "rho_2", "rho_3"), self.rho)
        constants = {"OPGD": kappas, "BPGD": kappas, "OADMM": rhos, "BADMM": rhos}
        if self.method not in constants:
            return "auto"
        return solvers.PUBLISHED[self.method.lower()](**constants[self.method])


Panels = dict[str, dict[str, Any]]
"""Runs, or what came of them, by panel and by entry of the legend."""


def canonical(method: str, **changes: Any) -> Run:
    return Run(method, **{"batch_size": BATCH_SIZES.get(method), **changes})


def every_method(**changes: Any) -> dict[str, Run]:
    return {method: canonical(method, **changes) for method in METHODS}


def every_online_method(**changes: Any) -> dict[str, Run]:
    online = ("OPGD", "OADMM", "online auto", *OTHERS)
    return {method: canonical(method, **changes) for method in online}


def sweep(methods: Iterable[str], symbol: str, name: str, values: Iterable[float]) -> Panels:
    """One panel for each method, one curve for each value of a parameter."""
    return {
        method: {f"{symbol} = {value:g}": canonical(method, **{name: value}) for value in values}
        for method in methods
    }


MORE = (0.8, 0.2), (0.9, 0.3)
TUNED = ("OPGD", "OADMM", "online auto")
SYNTHETIC: dict[int, tuple[str, Panels]] = {
    1: ("online against batch", {"": every_method(), "online": every_online_method()}),
    2: ("batch size τ", sweep(TUNED, "τ", "batch_size", (5, 10, 20, 40, 256))),
    3: (
        "number of atoms K",
        {f"K = {K}": every_method(n_components=K) for K in (25, 49, 100)}
        | {f"online, K = {K}": every_online_method(n_components=K) for K in (25, 100)},
    ),
    4: ("ADMM penalty ρ", sweep(("OADMM", "BADMM"), "ρ", "rho", (1, 10, 100, 1000))),
    5: ("step size κ", sweep(("OPGD", "BPGD"), "κ", "kappa", (0.1, 0.3, 0.5, 0.7, 0.9, 1))),
    6: ("more outliers", {f"(ν, ν̃) = {pair}": every_method(outliers=pair) for pair in MORE}),
}


def on_faces(panels: Panels) -> Panels:
    """The same runs on faces; K = 49 is in the first figure."""
    return {
        name: {label: replace(run, data="cbcl") for label, run in runs.items()}
        for name, runs in panels.items()
        if name != "K = 49"
    }


FIGURES = SYNTHETIC | {
    number + 9: (f"{subject}, CBCL", on_faces(panels))
    for number, (subject, panels) in SYNTHETIC.items()
}
SAID = {
    1: "online converges much faster than batch; OPGD and OADMM alike",
    2: "τ from 5 to 40 has very little effect",
    3: "the speed is insensitive to K",
    4: "the change with ρ is much less drastic for OADMM; it converges in less than 10 s",
    5: "the same of κ, OPGD and BPGD",
    6: "online still converges fast and steadily",
}
SAID |= {number + 9: f"as in Figure {number}" for number in SAID}


@dataclass
class Watch:
    """A callback that keeps (seconds, samples, objective, dictionary), now and then and last."""

    online: bool
    looks: Looks = field(default_factory=lambda: Looks(FIRST_LOOK, LOOK_RATIO))
    total: float = 0.0

    def __call__(self, step: Step) -> None:
        """Note a step."""
        row, before = step.row, self.looks.kept[-1][1] if self.looks.kept else 0
        self.total += row.loss * (row.samples - before)
        objective = self.total / row.samples if self.online else row.loss
        if not np.isnan(row.surrogate):
            objective = row.surrogate
        self.looks.show(row.seconds, (row.seconds, row.samples, objective, step.dictionary))


@dataclass(frozen=True)
class HeldOut:
    """Samples that nobody learned from, without outliers too, and the truth if there is one."""

    data: Array
    clean: Array
    dictionary: Array | None = None


def held_out_measures(D: Array, held_out: HeldOut, method: str = "") -> tuple[float, float]:
    """Mean loss and mean clean error of held-out samples, coded exactly."""
    weight = D.shape[1] ** -0.5
    loss: Any = Huber(weight, OUTLIER_BOUND)
    problem = CodingProblem(D, loss)
    if method == "ONMF":
        problem = CodingProblem(D, SquaredL2())
    elif method == "ORPCA":
        # The library's scale, in which codes cost ½‖c‖² (see `BasisMethod`).
        problem = CodingProblem(D, Huber(weight), Regulariser(Tikhonov(1.0), Reals()))
    codes = AutoEncoder().encode(problem, held_out.data).codes
    objective = problem.objective(held_out.data, codes, None)
    return float(objective.mean()), mean_regret(held_out.clean, codes @ D)


@lru_cache(maxsize=1)
def make_data(
    kind: str, samples: int, seed: int, nu: float, density: float
) -> tuple[Array, HeldOut]:
    if kind == "cbcl":
        faces = cbcl.clean_faces()
        apart = np.random.default_rng(seed).permutation(len(faces))
        kept, known = faces[apart[: len(faces) // 10]], faces[apart[len(faces) // 10 :]]
        copies = -(-samples // len(known))
        train, _ = cbcl.spoiled(known, copies, (nu, density), seed)
        test, which = cbcl.spoiled(kept, 2, (nu, density), seed + 1)
        return train[:samples], HeldOut(test, kept[which])
    shares = {"contaminated": nu, "density": density}
    stream = make_outlier_stream(samples, N_FEATURES, N_PLANTED, random_state=seed, **shares)
    again = {"dictionary": stream.dictionary, "random_state": seed + 1}
    other = make_outlier_stream(N_HELD_OUT, **again, **shares)
    return stream.data, HeldOut(other.data, other.clean, other.dictionary)


def model_of(run: Run, n_features: int, seed: int, callbacks: tuple[Any, ...]) -> Any:
    """The model of a run."""
    options = {"random_state": seed, "callbacks": callbacks, "verbose": 0}
    if run.method in OTHERS:
        return made(run.method, run.n_components, n_features, seed, callbacks=callbacks)
    online = run.batch_size is not None
    kind = OnlineRobustNMF if online else RobustNMF
    return kind(
        run.n_components,
        solver=run.solver(),
        outlier_weight=n_features**-0.5,
        outlier_bound=OUTLIER_BOUND,
        **options,
        **({"batch_size": run.batch_size} if online else {}),
        **METHODS[run.method],
    )


def measure(run: Run, samples: int, seed: int, seconds: float) -> Row:
    """Fit once, then evaluate the dictionaries that were kept."""
    data, held_out = make_data(run.data, samples, seed, *run.outliers)
    watch = Watch(online=run.batch_size is not None)
    model_of(run, data.shape[1], seed, (watch, StopAfter(seconds=seconds))).fit(data)
    *curve, dictionaries = zip(*watch.looks.kept, strict=True)
    planted = {}
    with Pool(None) as pool:
        pairs = pool.map(lambda D: held_out_measures(D, held_out, run.method), dictionaries)
        if held_out.dictionary is not None:
            truth = held_out_measures(held_out.dictionary, held_out)
            planted = {"planted": dict(zip(MEASURES, truth, strict=True))}
    measures = [dict(zip(MEASURES, pair, strict=True)) for pair in pairs]
    return {
        "run": asdict(run),
        "end": "time" if curve[0][-1] >= seconds else "pass" if watch.online else "settled",
        **dict(zip(("seconds", "samples", "objective"), curve, strict=True)),
        **{key: [at[key] for at in measures] for key in MEASURES},
        **planted,
    }


@cache
def warm_up() -> None:
    """Compile what is compiled, outside the clock."""
    for method in (*METHODS, *OTHERS):
        measure(canonical(method), 300, 0, 0.1)


def panel(runs: dict[str, Run], samples: int, seconds: float) -> Row:
    """The curves of a panel, one after the other."""
    warm_up()
    return {label: measure(run, samples, 0, seconds) for label, run in runs.items()}


def jobs(scale: Scale) -> Iterator[Job]:
    """A job for each panel of each figure."""
    for number, (_, panels) in FIGURES.items():
        for name, runs in panels.items():
            needs = (cbcl.DATA,) if number > len(SYNTHETIC) else ()
            yield Job(job_name(number, name), partial(panel, runs, *SIZES[scale]), needs)


def job_name(number: int, name: str) -> str:
    words = "".join(letter if letter.isalnum() or letter == "." else " " for letter in name)
    return f"figure_{number}/{'_'.join(words.split()) or 'all'}"


def tell(results: dict[str, Any]) -> None:
    """A table and a picture of each figure, with what the paper says of it."""
    for number, (subject, panels) in FIGURES.items():
        names = {name: job_name(number, name) for name in panels}
        curves = {name: results[job] for name, job in names.items() if job in results}
        if curves:
            title = f"Figure {number}, {subject}. Paper: {SAID[number]}"
            show(title, curves)
            draw(title, curves, number)


@matplotlib.rc_context(FOR_LIGHT_AND_DARK)
def draw(title: str, panels: Panels, number: int) -> None:
    """Objective above clean error for each panel; side by side if there is one panel only."""
    lone, labels = len(panels) == 1, list(dict.fromkeys(k for c in panels.values() for k in c))
    shape, size = ((1, 2), (10.5, 5)) if lone else ((2, len(panels)), (4.5 * len(panels), 7.4))
    share = {"sharex": True, "sharey": "none" if lone else "row", "squeeze": False}
    figure, grid = plt.subplots(*shape, figsize=size, layout="constrained", **share)
    shades = matplotlib.colormaps["viridis"](np.linspace(0, 0.88, len(labels)))
    colours = {name: COLOURS.get(name, shade) for name, shade in zip(labels, shades, strict=True)}
    for (panel, curves), column in zip(panels.items(), grid if lone else grid.T, strict=True):
        for axes, (key, name) in zip(column, MEASURES.items(), strict=True):
            for label, curve in curves.items():
                x, style = curve["seconds"], {"color": colours[label], "markersize": 3.2}
                axes.plot(x, curve[key], "-o", linewidth=1.8, label=label, **style)
                if key == "held_out_loss":
                    axes.plot(x, curve["objective"], "--", linewidth=1, **style)
            if "planted" in curve:
                axes.axhline(curve["planted"][key], color=GREY, linestyle=":")
            axes.set(xscale="log", yscale="log", title=f"{panel}: {name}" if panel else name)
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter("")
            axes.yaxis.set_major_formatter("{x:g}")
            tidy(axes)
    for axes in grid[-1]:
        axes.set_xlabel("seconds")
    corner = grid[0, 0]
    handles = [corner.plot([], [], "-o", color=colours[name])[0] for name in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    kinds = {"held out": "-o", "as the method sees it": "--", "planted dictionary": ":"}
    styles = [corner.plot([], [], kind, color=GREY, markersize=3.2)[0] for kind in kinds.values()]
    corner.legend(styles, kinds, frameon=False, fontsize="small")
    figure.suptitle(title, fontsize="medium")
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / f"paper_a_figure_{number}.png", dpi=130)
    plt.close(figure)


def show(title: str, panels: Panels) -> None:
    """One row for each curve, at its end."""
    table = Table("curve", title=title, title_justify="left")
    for column in ("seconds", "samples", "objective", "held out", "clean error", "ended by"):
        table.add_column(column, justify="right")
    for panel, curves in panels.items():
        for label, curve in curves.items():
            ends = [f"{curve[key][-1]:.4f}" for key in ("objective", *MEASURES)]
            spent = f"{curve['seconds'][-1]:.2f}", f"{curve['samples'][-1]}"
            table.add_row(f"{panel} {label}".strip(), *spent, *ends, curve["end"])
        if "planted" in curve:
            planted = [f"{value:.4f}" for value in curve["planted"].values()]
            table.add_row("planted dictionary", "", "", "", *planted, style="dim")
        table.add_section()
    Console(width=100).print(table)
