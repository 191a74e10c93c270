"""Gaps and glitches planted in real tables: TableCleaner beside what people use today.

Gaps of 1, 5 and 20 % are scattered, in blocks of 6 to 72 rows, or whole sensors that are off for a
quarter of the time. Errors are root mean squares in standard deviations of the column. Glitches are
2 to 6 of them, up or down, on 1, 5 and 20 % of the readings. Peers: a line between neighbours,
IterativeImputer with 20 nearest columns, KNNImputer (the best of 3, 5 and 10 neighbours), an
iterative SVD (the best of 2, 5, 10 and 20 parts, and of rows as they are or with those before and
after); a rolling median of seven and IsolationForest (fitted to a window of seven readings),
whose thresholds are chosen on the truth. TableCleaner has its defaults, its false alarms as stated.

Gaps are planted with one seed; TableCleaner is measured with five besides, and so is
IterativeImputer where sensors are off for 1 %. With --again only it is
run, beside figures of peers that are known, and IterativeImputer for its time.

With no look ahead (``causal=True``), gaps of 5 % are filled beside the last reading carried on, and
glitches looked for beside the median of the seven readings before, its threshold chosen on the
truth; the first fifth of the rows, in which it has hardly learned, does not count.

Humidity, dust (PM10 in Kraków) and the first half of the loops in Los Angeles were looked at, and
constants chosen on their first 1,000 rows, and on pressure. The others were kept back.

With --nab: windowed anomalies of nab.npz. A series' highest scores are taken, one for each 1,000
readings, none within 50 of another; F is that of these alarms, a window that has one being found,
an alarm outside of all windows being false.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import common
import numpy as np
from scipy.ndimage import median_filter
from sklearn.ensemble import IsolationForest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.metrics import precision_recall_curve

from thresher import TableCleaner
from thresher.linalg import Array

SHARES = (0.01, 0.05, 0.2)
SEEDS = 5  # of gaps, over which TableCleaner is measured besides


def tables(folder: Any) -> dict[str, Array]:
    air = np.load(folder / "airly_krakow_2017.npz")
    humidity, temperature = air["humidity"].astype(float), air["temperature"].astype(float)
    humidity[(humidity < 0) | (humidity > 100)] = np.nan
    temperature[(temperature < -35) | (temperature > 45)] = np.nan
    pressure = air["pressure"].astype(float)
    pressure[(pressure < 87_000) | (pressure > 108_500)] = np.nan  # what was ever measured
    dust = air["pm10"].astype(float)
    dust[dust < 0] = np.nan
    speed = np.load(folder / "los_loop_speed.npz")["speed"].astype(float)
    traffic = np.load(folder / "abilene_traffic.npz")["traffic"].astype(float)
    found = {
        "humidity": humidity[2000:],
        "dust": dust[2000:],
        "los angeles a": speed[:, :104],
        "temperature": temperature[2000:],
        "pressure": pressure[2000:],
        "los angeles b": speed[:, 104:],
        "abilene": traffic.reshape(len(traffic), -1),
    }
    return {name: X[:, np.isfinite(X).mean(0) > 0.5] for name, X in found.items()}


def planted_gaps(X: Array, share: float, kind: str, rng: np.random.Generator) -> Any:
    n, F = X.shape
    gaps = np.zeros((n, F), dtype=bool)
    if kind == "scattered":
        gaps = rng.random((n, F)) < share
    while gaps.mean() < share and kind != "scattered":
        length = int(rng.integers(6, 73)) if kind == "blocks" else n // 4
        start, j = int(rng.integers(1 - length, n)), int(rng.integers(F))
        gaps[max(start, 0) : start + length, j] = True
    return gaps & np.isfinite(X)


def planted_glitches(X: Array, share: float, scale: Array) -> tuple[Array, Any]:
    rng = np.random.default_rng(1)
    wrong = (rng.random(X.shape) < share) & np.isfinite(X)
    off = rng.choice([-1, 1], X.shape) * rng.uniform(2, 6, X.shape) * scale
    return np.where(wrong, X + off, X), wrong


# ------------------------------------------------------------------------------- peers


def line(Y: Array) -> Array:
    filled, rows = Y.copy(), np.arange(len(Y))
    for j in range(Y.shape[1]):
        read = np.isfinite(Y[:, j])
        if read.any():
            filled[:, j] = np.interp(rows, rows[read], Y[read, j])
    return filled


def iterative_svd(Y: Array, n_parts: int, n_rounds: int = 40) -> Array:
    centre, scale = np.nanmean(Y, 0), np.nanstd(Y, 0)
    scale[~(scale > 0)] = 1.0
    read = np.isfinite(Y)
    Z = np.where(read, (Y - centre) / scale, 0.0)
    for _ in range(n_rounds):
        U, S, V = np.linalg.svd(Z, full_matrices=False)
        Z = np.where(read, Z, (U[:, :n_parts] * S[:n_parts]) @ V[:n_parts])
    return np.asarray(Z * scale + centre)


def with_lags(Y: Array) -> Array:
    none = np.full((1, Y.shape[1]), np.nan)
    return np.hstack([Y, np.vstack([none, Y[:-1]]), np.vstack([Y[1:], none])])


def fillers(F: int) -> dict[str, list[Callable[[Array], Array]]]:
    """By name, settings of which the best is told, as chosen on the truth."""
    return {
        "line": [line],
        "IterativeImputer": [
            lambda Y: IterativeImputer(n_nearest_features=20, random_state=0).fit_transform(Y)
        ],
        "KNNImputer": [
            lambda Y, k=k: KNNImputer(n_neighbors=k, weights="distance").fit_transform(Y)
            for k in (3, 5, 10)
        ],
        "iterative SVD": [lambda Y, k=k: iterative_svd(Y, k) for k in (2, 5, 10, 20)]
        + [lambda Y, k=k: iterative_svd(with_lags(Y), k)[:, :F] for k in (5, 10, 20)],
    }


# --------------------------------------------------------------------------- measuring


class Cell:
    """A table with gaps, and what they hide."""

    def __init__(self, X: Array, kind: str, share: float, seed: int = 0) -> None:
        scale = np.nanstd(X, 0)
        gaps = planted_gaps(X, share, kind, np.random.default_rng(seed))
        gaps[:, scale == 0] = False
        Y = np.where(gaps, np.nan, X)
        there = np.isfinite(Y).any(0)
        self.spoiled, self.truth = Y[:, there], X[:, there]
        self.gaps, self.scale = gaps[:, there], scale[there]

    def rms(self, made: Array) -> float:
        """How far off it is in the gaps, in standard deviations of the columns."""
        return float(np.sqrt(np.mean((((made - self.truth) / self.scale)[self.gaps]) ** 2)))

    def cleaned(self) -> common.Row:
        """What TableCleaner makes of it."""
        found, spent = common.timed(TableCleaner(random_state=0).clean, self.spoiled)
        empty = np.isnan(found.table) & self.gaps
        filled = np.where(empty, np.nanmedian(self.spoiled, 0), found.table)
        inside = (found.lower <= self.truth) & (found.upper >= self.truth)
        return {
            "TableCleaner": self.rms(filled),
            "TableCleaner cpu": spent["cpu"],
            "covered": float(inside[self.gaps & ~empty].mean()),
            "left empty": int(empty.sum()),
        }


def gap_rows(name: str, X: Array) -> Iterator[common.Row]:
    for kind in ("scattered", "blocks", "sensors"):
        for share in SHARES:
            cell = Cell(X, kind, share)
            row: common.Row = {"table": name, "rows": len(X), "gaps": kind, "share": share}
            row |= cell.cleaned()
            for peer, settings in fillers(cell.spoiled.shape[1]).items():
                errors, seconds = [], []
                for setting in settings:
                    made, spent = common.timed(setting, cell.spoiled)
                    errors.append(cell.rms(made))
                    seconds.append(spent["cpu"])
                row |= {peer: min(errors), f"{peer} cpu": seconds[int(np.argmin(errors))]}
            yield row | seeds_of(X, kind, share, row)


def seeds_of(X: Array, kind: str, share: float, first: common.Row) -> common.Row:
    """The same cell with gaps elsewhere: one draw of few gaps is mostly luck."""
    rows = [first] + [Cell(X, kind, share, seed).cleaned() for seed in range(1, SEEDS)]
    errors, inside = ([row[what] for row in rows] for what in ("TableCleaner", "covered"))
    return {
        "TableCleaner, all seeds": float(np.sqrt(np.mean(np.square(errors)))),
        "covered, all seeds": float(np.mean(inside)),
    } | imputer_seeds(X, kind, share)


def imputer_seeds(X: Array, kind: str, share: float) -> common.Row:
    """IterativeImputer where a single draw tells least: one or two sensors that are off."""
    if kind != "sensors" or share > SHARES[0]:
        return {}
    errors, imputer = [], fillers(0)["IterativeImputer"][0]
    for seed in range(SEEDS):
        cell = Cell(X, kind, share, seed)
        errors.append(cell.rms(imputer(cell.spoiled)))
    return {"IterativeImputer, all seeds": float(np.sqrt(np.mean(np.square(errors))))}


def again(row: common.Row, X: Array) -> common.Row:
    """A cell whose peers are known, as they were; TableCleaner is run again.

    IterativeImputer is timed again beside it, where 5 % are gaps.
    """
    cell = Cell(X, row["gaps"], row["share"])
    row = row | cell.cleaned()
    if row["share"] == SHARES[1]:
        _, spent = common.timed(fillers(0)["IterativeImputer"][0], cell.spoiled)
        row |= {"IterativeImputer cpu": spent["cpu"]}
        row |= {"share of its time": row["TableCleaner cpu"] / spent["cpu"]}
    return row | seeds_of(X, row["gaps"], row["share"], row)


def carried(Y: Array) -> Array:
    """The last reading; in front of the first, the median."""
    there = np.isfinite(Y)
    last = np.maximum.accumulate(np.where(there, np.arange(len(Y))[:, None], -1), axis=0)
    values = Y[np.maximum(last, 0), np.arange(Y.shape[1])]
    return np.where(last >= 0, values, np.nanmedian(Y, 0))


def causal_rows(name: str, X: Array) -> Iterator[common.Row]:
    scale = np.nanstd(X, 0)
    scale[scale == 0] = 1.0
    for kind in ("scattered", "blocks"):
        gaps = planted_gaps(X, 0.05, kind, np.random.default_rng(0))
        gaps[: len(X) // 5] = False  # it learns as it goes
        Y = np.where(gaps, np.nan, X)
        found, spent = common.timed(TableCleaner(causal=True, random_state=0).clean, Y)
        line_on = carried(Y)
        filled = np.where(np.isnan(found.table), line_on, found.table)
        inside = (found.lower <= X) & (found.upper >= X)
        late = slice(len(X) // 5, None)
        yield {
            "table": name,
            "rows": len(X),
            "causal gaps": kind,
            "share": 0.05,
            "TableCleaner": float(np.sqrt(np.mean(((filled - X) / scale)[gaps] ** 2))),
            "carried on": float(np.sqrt(np.mean(((line_on - X) / scale)[gaps] ** 2))),
            "covered": float(inside[gaps].mean()),
            "flagged": float(found.flags[late].sum() / np.isfinite(Y[late]).sum()),
            "TableCleaner cpu": spent["cpu"],
        }


def causal_glitch_rows(name: str, X: Array) -> Iterator[common.Row]:
    scale = np.nanstd(X, 0)
    scale[scale == 0] = 1.0
    late = np.arange(len(X)) >= len(X) // 5
    for share in SHARES:
        Y, wrong = planted_glitches(X, share, scale)
        found, spent = common.timed(TableCleaner(causal=True, random_state=0).clean, Y)
        filled = line(Y)
        before = [np.roll(filled, k, axis=0) for k in range(1, 8)]
        away = np.abs(Y - np.median(before, axis=0)) / scale
        read = np.isfinite(X) & late[:, None]
        hits = (found.flags & wrong & read).sum()
        yield {
            "table": name,
            "rows": len(X),
            "causal glitches": share,
            "TableCleaner": float(2 * hits / ((found.flags & read).sum() + (wrong & read).sum())),
            "TableCleaner, best threshold": best_f(found.scores[read], wrong[read]),
            "recall": float(hits / (wrong & read).sum()),
            "false alarms": float((found.flags & ~wrong & read).sum() / (read & ~wrong).sum()),
            "median before, best threshold": best_f(away[read], wrong[read]),
            "TableCleaner cpu": spent["cpu"],
        }


def best_f(scores: Array, wrong: Any) -> float:
    precision, recall, _ = precision_recall_curve(wrong, scores)
    return float((2 * precision * recall / np.maximum(precision + recall, 1e-9)).max())


def isolation(filled: Array, scale: Array) -> Array:
    """Scores of windows of seven readings, relative to their median, columns together."""
    Z = (filled - median_filter(filled, (7, 1))) / scale
    padded = np.pad(Z, ((3, 3), (0, 0)), mode="edge")
    windows = np.stack([padded[k : k + len(Z)] for k in range(7)], axis=-1).reshape(-1, 7)
    forest = IsolationForest(random_state=0).fit(windows[:: max(len(windows) // 50_000, 1)])
    return np.asarray(-forest.score_samples(windows).reshape(Z.shape))


def glitch_rows(name: str, X: Array) -> Iterator[common.Row]:
    scale, read = np.nanstd(X, 0), np.isfinite(X)
    scale[scale == 0] = 1.0
    for share in SHARES:
        Y, wrong = planted_glitches(X, share, scale)
        found, spent = common.timed(TableCleaner(random_state=0).clean, Y)
        hits = (found.flags & wrong).sum()
        filled = line(Y)
        median, median_spent = common.timed(lambda F: median_filter(F, (7, 1)), filled)
        forest, forest_spent = common.timed(isolation, filled, scale)
        yield {
            "table": name,
            "rows": len(X),
            "glitches": share,
            "TableCleaner": float(2 * hits / (found.flags.sum() + wrong.sum())),
            "TableCleaner, best threshold": best_f(found.scores[read], wrong[read]),
            "recall": float(hits / wrong.sum()),
            "false alarms": float((found.flags & ~wrong).sum() / (read & ~wrong).sum()),
            "rolling median, best threshold": best_f(
                (np.abs(Y - median) / scale)[read], wrong[read]
            ),
            "IsolationForest, best threshold": best_f(forest[read], wrong[read]),
            "TableCleaner cpu": spent["cpu"],
            "rolling median cpu": median_spent["cpu"],
            "IsolationForest cpu": forest_spent["cpu"],
        }


# --------------------------------------------------------------------------------- nab


def alarms(scores: Array) -> list[int]:
    """The highest scores, one for each 1,000 readings, none within 50 of another."""
    left, chosen = scores.copy(), []
    for _ in range(max(len(scores) // 1000, 1)):
        place = int(np.argmax(left))
        chosen.append(place)
        left[max(place - 50, 0) : place + 51] = -np.inf
    return chosen


def nab_rows(folder: Any, n_series: int | None) -> Iterator[common.Row]:
    z = np.load(folder / "nab.npz")
    methods: dict[str, Callable[[Array], Array]] = {
        "TableCleaner": lambda v: TableCleaner(random_state=0).clean(v).scores[:, 0],
        "rolling median": lambda v: np.abs(v - median_filter(v, (7, 1)))[:, 0],
        "IsolationForest": lambda v: isolation(v, np.array([v.std() or 1.0]))[:, 0],
    }
    found = {name: [0, 0] for name in methods}
    n_windows = 0
    for number in range(len(z["series_name"]))[:n_series]:
        rows = slice(z["offsets"][number], z["offsets"][number + 1])
        value, inside = z["value"][rows][:, None], z["in_anomaly_window"][rows]
        window = np.cumsum(np.diff(np.concatenate([[0], inside.astype(int)])) == 1) * inside
        n_windows += int(window.max(initial=0))
        for name, method in methods.items():
            places = alarms(np.nan_to_num(method(value), posinf=1e9))
            found[name][0] += len({int(window[p]) for p in places if inside[p]})
            found[name][1] += sum(not inside[p] for p in places)
    for name, (hit, false) in found.items():
        precision, recall = hit / max(hit + false, 1), hit / max(n_windows, 1)
        f = 2 * precision * recall / max(precision + recall, 1e-9)
        yield {"method": name, "windows": n_windows, "found": hit, "false alarms": false, "F": f}


PARTS = {  # by a key of its rows
    "glitches": glitch_rows,
    "causal glitches": causal_glitch_rows,
    "causal gaps": causal_rows,
    "gaps": gap_rows,
}


def main() -> None:
    parser = common.command_line(__doc__)
    parser.add_argument("--rows", type=int, default=2000, help="of each table, from its beginning")
    parser.add_argument("--only", nargs="*", help="names of tables")
    parser.add_argument("--again", action="store_true", help="gaps, with peers as they were")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), help="of it all")
    parser.add_argument("--nab", action="store_true", help="windowed anomalies instead")
    parser.add_argument("--series", type=int, help="the first so many of nab.npz")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    folder = common.data_folder()
    TableCleaner().clean(np.random.default_rng(0).random((200, 4)))  # compiles, if need be
    target = common.RESULTS / ("tables_nab.json" if given.nab else "tables.json")
    kept = json.loads(target.read_text())["rows"] if target.exists() and given.only else []
    old = [row for row in kept if row.get("table") in (given.only or ())]
    old = [row for row in old if any(part in row for part in given.parts)]
    rows: list[common.Row] = [row for row in kept if row not in old]
    if given.again:
        known = tables(folder)
        rows = json.loads(target.read_text())["rows"]
        for number, row in enumerate(rows):
            if "gaps" in row and (not given.only or row["table"] in given.only):
                rows[number] = again(row, known[row["table"]][: row["rows"]])
                print(rows[number], flush=True)
                target.write_text(json.dumps({"rows": rows}, indent=1))
    elif given.nab:
        for row in nab_rows(folder, given.series):
            print(row, flush=True)
            rows.append(row)
    else:
        for name, X in tables(folder).items():
            if given.only and name not in given.only:
                continue
            for part in given.parts:
                for row in PARTS[part](name, X[: given.rows]):
                    print(
                        {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()},
                        flush=True,
                    )
                    rows.append(row)
    target.write_text(json.dumps({"rows": rows}, indent=1))


if __name__ == "__main__":
    main()
