"""Paper E (Zhao, Tan and Xu): Figures 2, 3 and S-1 to S-3, Tables V to VIII, a job for each panel.

What is measured, and how, is told in `paper_e_synthetic`, `paper_e_faces` and `paper_e_topics`.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from benchmarks.common import DATA_FILES, INK
from benchmarks.reproduce import paper_e_synthetic as synthetic
from benchmarks.reproduce import paper_e_topics as topics
from benchmarks.reproduce.jobs import FOLDER, Job, Scale
from benchmarks.reproduce.paper_e_faces import SUBJECTS, faces
from benchmarks.reproduce.paper_e_synthetic import CASES
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from thresher.plotting import to_png

SIZES: dict[Scale, dict[str, Any]] = {
    "quick": {
        "curve": (20_000, 300, 4.0),
        "sweep": (3_000, 200, 1.0),
        "faces": (60, 3.0),
        "seeds": 1,
    },
    "paper": {
        "curve": (100_000, 1000, 60.0),
        "sweep": (10_000, 300, 10.0),
        "faces": (1500, 120.0),
        "seeds": 3,
    },
}
"""Samples, samples held out and seconds for a curve; copies of an image and seconds; seeds."""

SAID = {
    "figure_2": "online converges significantly faster than batch for all divergences; as fast as "
    "ol_wang, significantly faster than ol_lef and ol_guan",
    "figures_s": "τ, K and a make small or unnoticeable differences",
}
TABLE_8 = {  # seconds for A to D
    "spsgd": (67.86, 64.35, 76.45, 113.09),
    "ol_wang": (73.61, 88.22, 96.11, 152.38),
    "mu": (666.68, 512.49, 1270.45, 755.69),
}
HUES = {
    "auto": "#c98a1b",
    "majorised": "#4f772d",
    "spsgd": "#d1495b",
    "peer": "#8f2d56",
    "mu": "#3066be",
}


def jobs(scale: Scale) -> Iterator[Job]:
    """Every divergence of Figure 2 with every seed, its sweeps, and every subject of Figure 3."""
    size = SIZES[scale]
    for seed in range(size["seeds"]):
        for name in CASES:
            work = partial(synthetic.figure_2, name, *size["curve"], seed)
            yield Job(f"figure_2/{name}/seed_{seed}", work)
    for name in CASES:
        yield Job(f"figures_s/{name}", partial(synthetic.figures_s, name, *size["sweep"]))
    for K, fresh in ((40, False), (6, False), (40, True)):
        for letter in SUBJECTS:
            work = partial(faces, letter, K, fresh, *size["faces"])
            name = f"figure_3/K_{K}_{'new_noise' if fresh else 'copies'}/{letter}"
            yield Job(name, work, needs=(DATA_FILES["yale_b"],))
    yield from topics.jobs(scale)


def tell(results: dict[str, Any]) -> None:
    """Tables, pictures of the curves, and what the paper says."""
    curves: dict[str, Any] = {}
    sweeps: dict[str, Any] = {}
    subjects: dict[str, Any] = {}
    for job, result in results.items():
        kind, name, *rest = job.split("/")
        if kind == "tables_5_7":
            continue
        if kind == "figure_2":
            for method, run in result.items():
                curves.setdefault(name, {}).setdefault(method, []).append(run)
        elif kind == "figures_s":
            for title, methods in result.items():
                sweeps.setdefault(title, {})[name] = methods
        else:
            subjects.setdefault(name, {})[rest[0]] = result
    FOLDER.mkdir(parents=True, exist_ok=True)
    if curves:
        tell_curves(curves)
        draw_curves(curves, FOLDER / "paper_e_figure_2.png")
    if sweeps:
        tell_sweeps(sweeps)
        draw_sweeps(sweeps, FOLDER / "paper_e_figures_s.png")
    for name, by_letter in subjects.items():
        tell_faces(name, by_letter)
    topics.tell({job: row for job, row in results.items() if job.startswith("tables_5_7/")})


def tell_curves(curves: dict[str, Any]) -> None:
    table = Table("divergence", "method", title=f"Figure 2. Paper: {SAID['figure_2']}")
    for column in ("seconds", "samples", "end / planted", "seconds to 10 %", "ended by"):
        table.add_column(column, justify="right")
    for name, methods in curves.items():
        for method, runs in methods.items():
            end = [run["relative"][-1] for run in runs]
            near = [run["near"] for run in runs if run["near"] is not None]
            table.add_row(
                CASES[name].title,
                method,
                f"{np.mean([run['seconds'][-1] for run in runs]):.1f}",
                str(runs[0]["samples"][-1]),
                f"{np.mean(end):.4f}" + (f" ± {np.std(end):.4f}" if len(end) > 1 else ""),
                f"{np.mean(near):.2f}" if len(near) == len(runs) else "–",
                runs[0]["end"],
            )
        table.add_section()
    Console(width=110).print(table)


def tell_sweeps(sweeps: dict[str, Any]) -> None:
    for title, by_name in sweeps.items():
        table = Table("divergence", "method", title=f"{title}. Paper: {SAID['figures_s']}")
        first = next(iter(next(iter(by_name.values())).values()))
        for end in first:
            table.add_column(f"{end['value']:g}", justify="right")
        for name, by_method in by_name.items():
            for method, ends in by_method.items():
                table.add_row(CASES[name].title, method, *(f"{e['relative']:.4f}" for e in ends))
        Console(width=110).print(table)


def tell_faces(name: str, by_letter: dict[str, Any]) -> None:
    table = Table(
        "images", title=f"Figure 3 and Table VIII, {name}; subjects {' '.join(by_letter)}"
    )
    for column in ("seconds", "paper, seconds", "samples", "psnr", "lift"):
        table.add_column(column, justify="right")
    for kind in next(iter(by_letter.values())):
        rows = [result[kind] for result in by_letter.values()]

        def cells(key: str, form: str, rows: list[Any] = rows) -> str:
            return " ".join(f"{row[key]:{form}}" for row in rows if key in row)

        published = " ".join(f"{value:.0f}" for value in TABLE_8.get(kind, ()))
        seen = cells("seconds", ".1f"), published, cells("samples", ".0f")
        table.add_row(kind, *seen, cells("psnr", ".1f"), cells("lift", ".2f"))
    Console(width=130).print(table)


def empty_figure(width: float, height: float) -> Figure:
    """A transparent figure of a size in inches."""
    figure = Figure(figsize=(width, height), layout="none")
    figure.patch.set_alpha(0.0)
    return figure


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


def draw_sweeps(found: dict[str, Any], target: Path) -> None:
    figure = empty_figure(10.5, 3.1)
    figure.patch.set(facecolor="white", alpha=1)
    figure.set_layout_engine("constrained")
    shades = matplotlib.colormaps["viridis"](np.linspace(0, 0.9, len(CASES)))
    colours = dict(zip(CASES, shades, strict=True))
    styles = {"majorised": "-o", "auto": ":s", "spsgd": "--^"}
    for axes, (title, by_name) in zip(figure.subplots(1, 3), found.items(), strict=False):
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
