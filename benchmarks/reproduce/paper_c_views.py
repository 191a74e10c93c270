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

A job is a method on a set, several splits. ``spoiled``: a tenth of the entries of the digits,
training and test, is as large as its feature ever gets.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from benchmarks.common import Row, clock, find_data_file, mean_and_std
from benchmarks.reproduce.jobs import Job, Scale
from rich.console import Console
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, label_binarize
from sklearn.svm import LinearSVC

from thresher import BatchNMF, ManhattanNMF
from thresher.linalg import Array
from thresher.metrics import hoyer_sparseness
from thresher.penalties import GroupNorm, Tikhonov
from thresher.sets import GroupBall
from thresher.sets.groups import largest_after  # for a peer: not public

SETS = {
    "digits": ("mfeat_6view.npz", ("pix", "fou", "fac", "zer", "mor")),
    "news": ("threesources_3view.npz", ("bbc", "guardian", "reuters")),
}
SEEDS = {"digits": 3, "news": 2}
N_ATOMS = 20
METHODS = (
    *("Manhattan, dictionary bounded", "the same, zeros 0.1", "Manhattan, both bounded"),
    *("the same, both, zeros 0.1", "Frobenius (64)", "FLSS (63)", "raw features"),
)
SLOW = METHODS[1:4]
PAPER = "Manhattan .398 and .417, Frobenius .353 and .369, FLSS .322 and .320 (VOC, Flickr)"


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


def measure(name: str, method: str, share: float, seed: int) -> Row:
    """One method on one split."""
    X, groups, labels = load(name)
    train, test, y, truth = train_test_split(
        spoil(X, share, seed), labels, test_size=0.5, stratify=labels, random_state=seed
    )
    model = models(N_ATOMS, groups, len(train), seed)[method]
    if model is None:
        return {"precision": precision(train, y, test, truth)}
    with clock() as spent:
        model.fit(train)
    codes = model.transform(train), model.transform(test)
    sparse = hoyer_sparseness(model.components_, axis=0)
    return {
        "fit_seconds": spent.wall,
        "precision": precision(codes[0], y, codes[1], truth),
        "sparseness": {
            view: round(float(sparse[np.asarray(groups) == number].mean()), 3)
            for number, view in enumerate(SETS[name][1])
        },
    }


def several(name: str, method: str, share: float, seeds: int) -> Row:
    """Means over the splits; sparseness is that of the first."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = [measure(name, method, share, seed) for seed in range(seeds)]
    line: Row = {"seeds": seeds, **mean_and_std(rows, "precision")}
    if "fit_seconds" in rows[0]:
        line |= mean_and_std(rows, "fit_seconds", 1) | {"sparseness": rows[0]["sparseness"]}
    return line


def jobs(scale: Scale) -> Iterator[Job]:
    """Every method on both sets; the slow ones on news only at paper scale."""
    for name, (file, _) in SETS.items():
        seeds = 1 if scale == "quick" else SEEDS[name]
        for method in METHODS:
            if scale == "quick" and name == "news" and method in SLOW:
                continue
            work = partial(several, name, method, 0.0, seeds)
            yield Job(f"table_2/{name}/{method}", work, (file,))
    for method in METHODS:
        if method not in SLOW:
            seeds = 1 if scale == "quick" else SEEDS["digits"]
            work = partial(several, "digits", method, 0.1, seeds)
            yield Job(f"table_2/digits_spoiled/{method}", work, (SETS["digits"][0],))


def tell(results: dict[str, Any]) -> None:
    """A table of all sets."""
    table = Table("set", "method", "mean average precision", "sparseness (first split)", "s",
                  title=f"Table 2 and Figure 20. Paper: {PAPER}")  # fmt: skip
    for job, row in results.items():
        _, name, method = job.split("/")
        views = ", ".join(f"{view} {value}" for view, value in row.get("sparseness", {}).items())
        seconds = str(row.get("fit_seconds", ""))
        table.add_row(name, method, f"{row['precision']:.3f}", views, seconds)
    if table.rows:
        Console(width=130).print(table)
