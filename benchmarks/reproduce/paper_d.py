"""Paper D: figures 4 to 6, Theorem 3, Table II (section V-C), the compression scheme, time."""

from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from typing import Any

from benchmarks.reproduce import paper_d_sensors as sensors
from benchmarks.reproduce import paper_d_streams as streams
from benchmarks.reproduce.jobs import Job, Scale

TABLE_2 = {
    "ℓ3": (5.34, 4.43, 4.00, 3.72, 3.50, 3.30, 3.13, 2.97, 2.83, 2.44, 2.01, 1.33, 0.71),
    "ℓ4": (5.50, 4.55, 4.13, 3.85, 3.62, 3.43, 3.25, 3.09, 2.95, 2.56, 2.13, 1.46, 0.91),
    "AODL": (87.54, 87.4, 87.39, 87.33, 87.31, 87.3, 87.26, 87.24, 87.19, 87.18, 87.1, 86.98, 86.9),
}
"""In per cent. Milliseconds a step there: .88 (ℓ3), .89 (ℓ4), 3.3 (AODL)."""
MILLISECONDS = {"ℓ3": 0.88, "ℓ4": 0.89, "AODL": 3.3}
SPAMS = {"lasso cut": False, "pursuit": True}


def jobs(scale: Scale) -> Iterable[Job]:
    """Every curve, row and table; small ones for ``quick``."""
    quick = scale == "quick"
    for figure, (name, values) in streams.FIGURES.items():
        for value in values:
            large = value == 50 and name == "N"
            trials = (3 if large else 10) if quick else 30 if large else 100
            n_steps = 3000 if name == "B" and not quick else 1000
            for method in streams.METHODS:
                work = partial(streams.curve, method, {name: value}, trials, n_steps)
                yield Job(f"{figure}/{name}_{value:g}/{method}", work)
    yield Job("theorem_3", partial(streams.gaps, 10 if quick else 100, 1000 if quick else 3000))
    needs = (sensors.DATA,)
    n = 1400
    for method in sensors.MODELS:
        yield Job(f"table_2/{method}", partial(sensors.learned, method, n), needs)
    yield Job("table_2/principal directions, half-life 72", partial(sensors.principal, n), needs)
    if find_spec("spams") is not None:
        for weight in sensors.PENALTIES:
            for how, pursuit in SPAMS.items():
                work = partial(sensors.by_spams, weight, pursuit, n)
                yield Job(f"table_2/SPAMS, λ = {weight:g}, {how}", work, needs)
    for eta in (2, 4, 8):
        for threshold in (0.05, 0.1, 0.2):
            work = partial(sensors.airly, eta, threshold, 120 if quick else 8593)
            yield Job(f"compression/airly/eta_{eta}/threshold_{threshold:g}", work, needs)
    for threshold in (0.05, 0.1, 0.2):
        rows = sensors.three_sparse(120 if quick else 6000)
        work = partial(sensors.compressed, rows, 3, threshold)
        yield Job(f"compression/three_sparse/eta_3/threshold_{threshold:g}", work)
    for N, size in ((56, 12), (512, 22)):
        if not (quick and N == 512):
            blocks = 2 if quick else 60 if N == 56 else 4
            yield Job(f"time/N_{N}", partial(sensors.times, N, blocks, size), needs)


def tell(results: dict[str, Any]) -> None:
    """Measured beside published."""
    _tell_figures({name: row for name, row in results.items() if "quartiles" in row})
    if "theorem_3" in results:
        _tell_gap(results["theorem_3"])
    _tell_table({name: row for name, row in results.items() if name.startswith("table_2/")})
    _tell_bytes({name: row for name, row in results.items() if name.startswith("compression/")})
    for name, row in results.items():
        if name.startswith("time/"):
            print(f"\n{name}: plain NumPy takes {row['plain NumPy, milliseconds']:.2f} ms; ratios")
            for method, ratio in row["ratios"].items():
                print(f"  {method:40}{ratio:8.3f}")


def _tell_figures(rows: dict[str, Any]) -> None:
    if rows:
        print("\nMedian error (24). The paper: NoncvxSFW near 1e-3 after about 1000 steps.")
    for name, row in rows.items():
        medians = dict(zip(row["steps"], row["quartiles"][1], strict=True))
        steps = [t for t in (100, 400, 1000, 3000) if t in medians] or [row["steps"][-1]]
        print(f"  {name:36}" + "".join(f"{t:>7}: {medians[t]:.1e}" for t in steps))


def _tell_gap(row: Any) -> None:
    print("\nTheorem 3: mean Frank–Wolfe gap, and the rate through the first")
    for t, mean, rate in zip(row["steps"], row["mean"], row["rate"], strict=True):
        if t in (1, 30, 100, 300, 1000, 3000):
            print(f"  {t:6}{mean:10.4f}{rate:10.4f}")
    print(f"  slope {row['slope']:.2f}, of the rate {row['slope of the rate']:.2f}")


def _tell_table(rows: dict[str, Any]) -> None:
    for protocol in ("published", "causal") if rows else ():
        title = f"Table II, RMSE in per cent, {protocol}"
        print(f"\n{title:46}" + "".join(f"{k:>7}" for k in sensors.KEPT) + "     ms")
        shown = {
            f"paper, {name}": (values, MILLISECONDS[name])
            for name, values in TABLE_2.items()
            if protocol == "published"
        }
        shown |= {
            name.removeprefix("table_2/"): (row[protocol], row["milliseconds"])
            for name, row in rows.items()
        }
        for name, (values, milliseconds) in shown.items():
            print(f"{name:46}" + "".join(f"{v:7.2f}" for v in values) + f"{milliseconds:7.2f}")


def _tell_bytes(rows: dict[str, Any]) -> None:
    for name, row in rows.items():
        raw = row["values as doubles"]
        ratio = raw / row["by the paper's count"]
        print(f"\n{name}: {raw:,} bytes as doubles, {ratio:.1f} times fewer by the paper's count")
        for way, found in row["ways"].items():
            print(
                f"  {way:30}{found['bytes']:>12,} bytes ({raw / found['bytes']:6.1f}), "
                f"error {found['error']:.3f}, {found['dictionaries']} dictionaries"
            )
