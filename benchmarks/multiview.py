"""Table 2 and Figure 20 of paper C (Guan, Tao, Luo and Shawe-Taylor): several views of one thing.

Atoms run over all views at once, and each view has its own budget Σ_k ‖D[k, view]‖_∞ ≤ γ, (40): an
atom may be used by some views only. The paper's experiment bounds the dictionary alone, which has
no effect, for codes are free to grow; ``both bounded`` also has Σ_k ‖C[:, k]‖_∞ ≤ ½, about a
quarter of what codes take otherwise. Beside the Manhattan distance stand the Frobenius norm with
the penalties of (64), FLSS (63), whose factors have either sign, and the raw features. Every view
is scaled to the same ℓ1 norm per sample, samples to a mean squared length of one; weights of the
penalties are the paper's. News are mostly zeros, where the Manhattan distance prefers no code at
all; ``zeros 0.1`` gives them a tenth of the weight.

The paper's data (VOC Pascal 07, Mir Flickr with SIFT, Gist and Hue) are not used, so its figures
(mean average precision: .398 and .417 for the Manhattan distance, .353 and .369 for the Frobenius
norm, .322 and .320 for FLSS) only show its order. Ours: handwritten digits in five feature sets
(without the signed one), news stories in three sources. Half is learned from; a linear SVM for each
class on the codes is measured by its average precision on the other half. ``sparseness`` is (65) of
the features' weights over the atoms, mean over a view.

    THRESHER_DATA=folder python benchmarks/multiview.py
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, by_setting, clock, command_line, mean_and_std, write_json
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
from thresher.penalties import GroupNorm, Tikhonov
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


def models(K: int, groups: Any, n_samples: int, seed: int) -> dict[str, Any]:
    ball = GroupBall(1.0, groups, np.inf)
    common = {"random_state": seed, "n_jobs": 1, "verbose": 0, "tol": 1e-4}
    both = {"dictionary_set": ball, "code_set": GroupBall(0.5, None, np.inf, of_rows=True)}
    return {
        "Manhattan, dictionary bounded": ManhattanNMF(K, dictionary_set=ball, **common),
        "the same, zeros 0.1": ManhattanNMF(K, dictionary_set=ball, zero_weight=0.1, **common),
        "Manhattan, both bounded": ManhattanNMF(K, **both, **common),
        "the same, both, zeros 0.1": ManhattanNMF(K, zero_weight=0.1, **both, **common),
        "Frobenius (64)": BatchNMF(
            K,
            divergence="squared_l2",
            dictionary_set="nonnegative",
            dictionary_penalty=GroupNorm(1e-2 / n_samples, groups, np.inf),
            code_penalty=Tikhonov(1e-4),
            **common,
        ),
        "FLSS (63)": FLSS(K, groups, seed),
        "raw features": None,
    }


def precision(train: Array, y: Any, test: Array, truth: Any) -> float:
    """Mean over the classes of the average precision of a linear SVM."""
    classes = np.unique(y)
    svm = make_pipeline(StandardScaler(), LinearSVC(C=0.1, dual="auto", max_iter=5000))
    scores = svm.fit(train, y).decision_function(test)
    return float(average_precision_score(label_binarize(truth, classes=classes), scores))


def spoil(X: Array, share: float, seed: int) -> Array:
    """A share of the entries becomes as large as its feature ever gets."""
    hit = np.random.default_rng([seed, 9]).random(X.shape) < share
    return np.where(hit, X.max(axis=0), X)


def measure(name: str, K: int, seed: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    X, groups, labels = load(name)
    X = spoil(X, options.spoiled, seed)
    train, test, y, truth = train_test_split(
        X, labels, test_size=0.5, stratify=labels, random_state=seed
    )
    rows = []
    for method, model in models(K, groups, len(train), seed).items():
        if options.methods and method not in options.methods:
            continue
        row: dict[str, Any] = {"set": name, "method": method, "components": K, "seed": seed}
        with clock() as spent:
            if model is None:
                row["precision"] = precision(train, y, test, truth)
            else:
                with clock() as fit:
                    model.fit(train)
                row["fit_seconds"] = fit.wall
                codes = model.transform(train), model.transform(test)
                row["precision"] = precision(codes[0], y, codes[1], truth)
                sparse = hoyer_sparseness(model.components_, axis=0)
                row["sparseness"] = {
                    view: round(float(sparse[np.asarray(groups) == number].mean()), 3)
                    for number, view in enumerate(SETS[name][1])
                }
        row["seconds"] = spent.wall
        print(row, flush=True)
        rows.append(row)
    return rows


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--components", type=int, nargs="+", default=[20])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--methods", nargs="+", help="only these")
    parser.add_argument("--spoiled", type=float, default=0.0, help="share of wrong entries")
    parser.add_argument("--output", type=Path, default=RESULTS / "multiview.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = [
        row
        for name in options.sets
        for K in options.components
        for seed in range(options.seeds)
        for row in measure(name, K, seed, options)
    ]
    table = Table("set", "method", "K", "mean average precision", "sparseness (first split)", "s")
    summary = []
    for setting, mine in by_setting(rows, ("set", "method", "components")):
        line = {
            **setting,
            **mean_and_std(mine, "precision"),
            "sparseness": mine[0].get("sparseness", {}),
            "seconds": round(float(np.mean([row["seconds"] for row in mine])), 1),
        }
        summary.append(line)
        views = ", ".join(f"{view} {value}" for view, value in line["sparseness"].items())
        table.add_row(*map(str, setting.values()), f"{line['precision']:.3f}", views,
                      str(line["seconds"]))  # fmt: skip
    Console(width=130).print(table)
    document = {"seeds": options.seeds, "spoiled": options.spoiled, "summary": summary}
    write_json(options.output, document)


if __name__ == "__main__":
    main()
