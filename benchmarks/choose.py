"""Whether `thresher.choose` finds the number of parts, and in what time.

``planted``: data with 3 to 35 parts, clean, noisy, and noisy with outliers; which number is chosen
of 2 to 39, under one mask. ``real``: tables and faces; the number that is chosen,
beside the one whose error is lowest when every number is fitted anew under the same masks
(``warm=False``), how far apart their errors are then, and the seconds of both.

    python benchmarks/choose.py planted
    python benchmarks/choose.py real --data folder
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from common import (
    RESULTS,
    by_setting,
    clock,
    command_line,
    find_data_file,
    machine,
    read_json,
    write_json,
)
from rich.console import Console

import thresher
from thresher.linalg import Array

PARTS = range(2, 40)
KINDS = ("clean", "noisy", "outliers")
N = 600


def planted(kind: str, n_parts: int, seed: int) -> Array:
    """Sparse parts and codes; noise of a tenth of the spread; 3 % of the entries far too large."""
    rng = np.random.default_rng(seed)
    F = max(40, 3 * n_parts)
    parts = rng.random((n_parts, F)) * (rng.random((n_parts, F)) < 0.3)
    X = (rng.gamma(1.0, size=(N, n_parts)) * (rng.random((N, n_parts)) < 0.5)) @ parts
    size = X.std()
    if kind != "clean":
        X = np.maximum(X + 0.1 * size * rng.standard_normal(X.shape), 0)
    if kind == "outliers":
        hit = rng.random(X.shape) < 0.03
        X[hit] += 5 * size * rng.random(int(hit.sum()))
    return X


def tables() -> Iterator[tuple[str, Array]]:
    """Real ones, some rows of each."""
    air = np.load(find_data_file("airly_krakow_2017.npz"))
    humidity = air["humidity"][::16].astype(np.float64)
    humidity[(humidity < 0) | (humidity > 100)] = np.nan
    yield "airly humidity", humidity[~np.isnan(humidity).all(axis=1)]
    yield "los loop", np.load(find_data_file("los_loop_speed.npz"))["speed"][::4].astype(np.float64)
    traffic = np.load(find_data_file("abilene_traffic.npz"))["traffic"]
    yield "abilene", traffic.reshape(len(traffic), -1)[::8].astype(np.float64)
    faces = np.load(find_data_file("cbcl_faces_19x19.npz"))
    name = next(key for key in faces.files if faces[key].ndim >= 2)
    images = faces[name].reshape(len(faces[name]), -1)
    yield "faces", images[:: max(1, len(images) // 400)].astype(np.float64) / 255


def model() -> Any:
    return thresher.OnlineRobustNMF(random_state=0, n_jobs=1, verbose=0)


def run_planted(seeds: range) -> Iterator[dict[str, Any]]:
    for seed in seeds:
        n_parts = int(np.random.default_rng(seed).integers(3, 36))
        for kind in KINDS:
            X = planted(kind, n_parts, seed)
            with clock() as spent:
                choice = thresher.choose(
                    model(), X, n_components=PARTS, n_masks=1, refit=False, verbose=0
                )
            found = choice.best_params_["n_components"]
            yield {
                "part": "planted",
                "kind": kind,
                "seed": seed,
                "parts": n_parts,
                "found": found,
                "cpu": round(spent.processor, 2),
            }


def run_real() -> Iterator[dict[str, Any]]:
    for name, X in tables():
        found = {}
        for warm in (True, False):
            with clock() as spent:
                choice = thresher.choose(
                    model(), X, n_components=PARTS, n_masks=2, warm=warm, refit=False, verbose=0
                )
            found[warm] = choice, spent.processor
        anew, warm_ = found[False][0], found[True][0]
        chosen = warm_.best_params_["n_components"]
        row = PARTS.index(chosen)
        yield {
            "part": "real",
            "data": name,
            "shape": list(X.shape),
            "found": chosen,
            "lowest anew": anew.best_params_["n_components"],
            "error": round(float(warm_.table_["error"][row]), 5),
            "error anew, lowest": round(float(anew.table_["error"].min()), 5),
            "error anew, at found": round(float(anew.table_["error"][row]), 5),
            "behind anew": round(float(anew.table_["behind"][row]), 5),
            "behind_error": round(float(anew.table_["behind_error"][row]), 5),
            "cpu": round(found[True][1], 2),
            "cpu anew": round(found[False][1], 2),
            "curve": np.round(warm_.table_["error"], 5).tolist(),
            "curve anew": np.round(anew.table_["error"], 5).tolist(),
        }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("part", choices=("planted", "real"))
    parser.add_argument("--seeds", type=int, nargs=2, default=(300, 310))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    console, path = Console(), RESULTS / f"choose_{given.part}.json"
    record = read_json(path) or {"rows": []}
    seeds = range(*given.seeds)
    rows = run_planted(seeds) if given.part == "planted" else run_real()
    for row in rows:
        console.print({key: value for key, value in row.items() if "curve" not in key})
        same = {"part", "kind", "seed", "data"}
        mine = {key: row[key] for key in same if key in row}
        record["rows"] = [r for r in record["rows"] if any(r.get(k) != v for k, v in mine.items())]
        record["rows"].append(row)
        record["machine"] = machine("thresher", "numpy", "scikit-learn")
        write_json(path, record)
    if given.part == "planted":
        for setting, mine in by_setting(record["rows"], ["kind"]):
            off = np.array([row["found"] - row["parts"] for row in mine])
            near = f"{np.mean(np.abs(off) <= 1):.0%} within one of {len(off)}"
            console.print(setting, near, "off by", off.tolist())


if __name__ == "__main__":
    main()
