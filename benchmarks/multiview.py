"""Table 2 and Figure 20 of paper C (Guan, Tao, Luo and Shawe-Taylor): several views of one thing.

Atoms run over all views at once, and each view has its own budget Σ_k ‖D[k, view]‖_∞ ≤ γ, (40): an
atom may be used by some views only. Beside the Manhattan distance stand the Frobenius norm with the
same set (the constraint form of (64)), FLSS (63), whose factors have either sign, and the raw
features. γ has no effect by itself, for codes are free to grow: it is one, and every view is scaled
to the same ℓ1 norm per sample instead of the paper's 1 % of the initial atoms. The weights of FLSS,
0.01, are for samples of mean squared length one. News are mostly zeros, where Manhattan distance
prefers no code at all; ``zeros 0.1`` gives them a tenth of the weight.

The paper's data (VOC Pascal 07, Mir Flickr with SIFT, Gist and Hue) are not used, so its figures
(mean average precision: .398 and .417 for the Manhattan distance, .353 and .369 for the Frobenius
norm, .322 and .320 for FLSS) only show its order. Ours: handwritten digits in five feature sets
(without the signed one), news stories in three sources. Half is learned from; a linear SVM for each
class on the codes is measured by its average precision on the other half. ``sparseness`` is (65) of
the features' weights over the atoms, mean over a view.

    THRESHER_DATA=folder python benchmarks/multiview.py
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, label_binarize
from sklearn.svm import LinearSVC

from thresher import BatchNMF, ManhattanNMF
from thresher.datasets.files import find_data_file
from thresher.linalg import Array
from thresher.metrics import hoyer_sparseness
from thresher.sets import GroupBall
from thresher.sets.groups import largest_after

SETS = {
    "digits": ("mfeat_6view.npz", ("pix", "fou", "fac", "zer", "mor")),
    "news": ("threesources_3view.npz", ("bbc", "guardian", "reuters")),
}


def load(name: str) -> tuple[Array, tuple[int, ...], Any]:
    """Features side by side, the view of each, and labels."""
    file, views = SETS[name]
    with np.load(find_data_file(file), allow_pickle=False) as stored:
        parts = [stored[view].astype(np.float64) for view in views]
        labels = stored["labels"]
    if name == "digits":  # features of very different ranges, counts of words alike
        parts = [part / np.maximum(part.max(axis=0), 1e-12) for part in parts]
    parts = [part / part.sum(axis=1).mean() for part in parts]
    groups = tuple(np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts]).tolist())
    X = np.hstack(parts)
    return X / np.sqrt(np.mean(np.sum(X**2, axis=1))), groups, labels


class FLSS:
    """(63) by proximal gradient steps in turns; λ = γ = 0.01 as in the paper."""

    def __init__(self, n_components: int, groups: Any, seed: int, rounds: int = 200) -> None:
        self.n_components, self.groups, self.seed, self.rounds = n_components, groups, seed, rounds

    def fit(self, X: Array) -> "FLSS":
        """Alternate, from random samples."""
        rng, n = np.random.default_rng(self.seed), len(X)
        D = X[rng.choice(n, self.n_components, replace=n < self.n_components)].copy()
        C = X @ np.linalg.pinv(D)
        labels = np.asarray(self.groups)
        for _ in range(self.rounds):
            step = n / (2 * np.linalg.norm(D @ D.T, 2))
            C = self._cut((C - step * 2 / n * (C @ D - X) @ D.T).T, 0.01 * step).T
            step = n / (2 * np.linalg.norm(C.T @ C, 2))
            D = D - step * 2 / n * C.T @ (C @ D - X)
            for view in np.unique(labels):
                D[:, labels == view] = self._cut(D[:, labels == view], 0.01 * step)
        self.components_ = D
        return self

    def transform(self, X: Array) -> Array:
        """Least-squares codes: the penalty of (63) couples samples, so new ones have none."""
        return np.asarray(X @ np.linalg.pinv(self.components_))

    @staticmethod
    def _cut(M: Array, weight: float) -> Array:
        """Proximal map of the largest magnitude of every row."""
        level = largest_after(np.abs(M), weight)
        return np.clip(M, -level, level)


def models(K: int, groups: Any, seed: int) -> dict[str, Any]:
    ball = GroupBall(1.0, groups, np.inf)
    common = {"dictionary_set": ball, "random_state": seed, "n_jobs": 1, "verbose": 0, "tol": 1e-4}
    return {
        "Manhattan, groups": ManhattanNMF(K, **common),
        "Manhattan, groups, zeros 0.1": ManhattanNMF(K, zero_weight=0.1, **common),
        "Frobenius, groups": BatchNMF(K, divergence="squared_l2", **common),
        "FLSS": FLSS(K, groups, seed),
        "raw features": None,
    }


def precision(train: Array, y: Any, test: Array, truth: Any) -> float:
    """Mean over the classes of the average precision of a linear SVM."""
    classes = np.unique(y)
    svm = make_pipeline(StandardScaler(), LinearSVC(C=0.1, dual="auto", max_iter=5000))
    scores = svm.fit(train, y).decision_function(test)
    return float(average_precision_score(label_binarize(truth, classes=classes), scores))


def measure(name: str, K: int, seed: int) -> list[dict[str, Any]]:
    X, groups, labels = load(name)
    train, test, y, truth = train_test_split(
        X, labels, test_size=0.5, stratify=labels, random_state=seed
    )
    rows = []
    for method, model in models(K, groups, seed).items():
        row: dict[str, Any] = {"set": name, "method": method, "components": K, "seed": seed}
        started = time.perf_counter()
        if model is None:
            row["precision"] = precision(train, y, test, truth)
        else:
            model.fit(train)
            row["precision"] = precision(model.transform(train), y, model.transform(test), truth)
            sparse = hoyer_sparseness(model.components_, axis=0)
            views = SETS[name][1]
            row["sparseness"] = {
                view: round(float(sparse[np.asarray(groups) == number].mean()), 3)
                for number, view in enumerate(views)
            }
        row["seconds"] = time.perf_counter() - started
        print(row, flush=True)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--components", type=int, nargs="+", default=[20])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results" / "multiview.json"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = [
        row
        for name in options.sets
        for K in options.components
        for seed in range(options.seeds)
        for row in measure(name, K, seed)
    ]
    table = Table("set", "method", "K", "mean average precision", "sparseness (first split)", "s")
    summary = []
    for key in dict.fromkeys((row["set"], row["method"], row["components"]) for row in rows):
        mine = [row for row in rows if (row["set"], row["method"], row["components"]) == key]
        values = [row["precision"] for row in mine]
        line = {
            "set": key[0],
            "method": key[1],
            "components": key[2],
            "precision": round(float(np.mean(values)), 4),
            "precision_std": round(float(np.std(values)), 4),
            "sparseness": mine[0].get("sparseness", {}),
            "seconds": round(float(np.mean([row["seconds"] for row in mine])), 1),
        }
        summary.append(line)
        views = ", ".join(f"{view} {value}" for view, value in line["sparseness"].items())
        table.add_row(key[0], key[1], str(key[2]), f"{line['precision']:.3f}", views,
                      str(line["seconds"]))  # fmt: skip
    Console(width=130).print(table)
    document = {"seeds": options.seeds, "summary": summary}
    options.output.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
