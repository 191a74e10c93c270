"""Figures 16 to 19 of paper C (Guan, Tao, Luo and Shawe-Taylor): background, light and shadow.

A video of a hall is its background, of rank 2, and people; the faces of one person under 64 lights
are of rank 3, and shadows. The paper shows pictures only, beside robust PCA and GoDec. There is no
truth for either set, so what is measured is how sparse the rest is: the share of pixels that are
explained to within 5 of 255 grey levels, and the mean absolute rest. `GoDec` is told the rank, and
by default how many entries are outliers; `RobustPCA` finds its rank. The Frobenius norm
(scikit-learn) and `RobustNMF` are beside them. ``highway`` has frames whose moving pixels are
known: the best F1 score of any threshold on the rest.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from benchmarks.common import DATA_FILES, Row, clock, find_data_file
from benchmarks.reproduce.jobs import Job, Scale, keep_picture
from rich.console import Console
from rich.table import Table
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from thresher import GoDec, ManhattanNMF, RobustNMF, RobustPCA
from thresher.linalg import Array
from thresher.tasks.demo.foreground import best_f1, grey_levels  # as the demo: not public

VIDEOS = {
    "hall": ("i2r_hall_144x176.npz", 2),
    "face": (DATA_FILES["yale_b_192x168"], 3),
    "highway": ("cdnet_highway_120x160.npz", 2),
}
"""File and rank of each set."""
METHODS = (
    *("ManhattanNMF", "ManhattanNMF, rri", "RobustPCA", "GoDec", "RobustNMF"),
    "NMF, Frobenius",
)
MOVES, UNKNOWN = 255, 170  # of the highway; nobody can tell on which side of a border a pixel is


def images(name: str) -> tuple[Any, Any]:
    """Images, and which pixels move where that is known."""
    with np.load(find_data_file(VIDEOS[name][0]), allow_pickle=False) as stored:
        if name == "hall":
            return stored["frames"][stored["clip"] == 0], None
        if name == "face":
            return stored["images"][stored["labels"] == 0], None
        return stored["frames"][::6], stored["gt"][::6]


def made(method: str, rank: int) -> Any:
    """A model of a method."""
    ours = {"random_state": 0, "n_jobs": 1, "verbose": 0}
    return {
        "ManhattanNMF": lambda: ManhattanNMF(rank, **ours),
        "ManhattanNMF, rri": lambda: ManhattanNMF(rank, solver="rri", **ours),
        "RobustPCA": lambda: RobustPCA(verbose=0),
        "GoDec": lambda: GoDec(rank, random_state=0, verbose=0),
        "RobustNMF": lambda: RobustNMF(rank, **ours),
        "NMF, Frobenius": lambda: NMF(rank, init="nndsvda", max_iter=500, random_state=0),
    }[method]()


def low_rank_part(method: str, X: Array, rank: int) -> tuple[Array, int]:
    """What a method takes for the scene, and its rank."""
    model = made(method, rank).fit(X)
    if method in ("RobustPCA", "GoDec"):
        return model.separate(X).low_rank, len(model.components_)
    return model.inverse_transform(model.transform(X)), rank


def separation(name: str, method: str) -> Row:
    """One method on one set."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    shown, truth = images(name)
    X = shown.reshape(len(shown), -1) / 255.0
    with threadpool_limits(1), clock() as spent:
        scene, rank = low_rank_part(method, X, VIDEOS[name][1])
    rest = (255 * (X - scene)).reshape(shown.shape)
    row = {
        "rank": rank,
        "explained": round(float(np.mean(np.abs(rest) <= 5)), 4),
        "rest": round(float(np.mean(np.abs(rest))), 3),
        "seconds": round(spent.processor, 1),
    }
    step = len(shown) // 4
    columns = {
        "image": shown[::step][:4],
        f"{method},\nscene": 255 * scene.reshape(shown.shape)[::step][:4],
        "rest": np.abs(rest)[::step][:4],
    }
    keep_picture(f"c {name} {method}", columns)
    if truth is not None:
        known = truth != UNKNOWN
        row["best_f1"] = round(best_f1((truth == MOVES)[known], grey_levels(rest)[known]), 4)
    return row


def jobs(scale: Scale) -> Iterator[Job]:
    """Every method on every set; the same at both scales."""
    for name, (file, _) in VIDEOS.items():
        for method in METHODS:
            if method == "ManhattanNMF, rri" and scale == "quick":
                continue
            yield Job(f"figures_16_18/{name}/{method}", partial(separation, name, method), (file,))


def tell(results: dict[str, Any]) -> None:
    """A table of all sets."""
    table = Table("set", "method", "rank", "within 5 levels", "mean rest", "best F1", "s",
                  title="Figures 16 to 19")  # fmt: skip
    for job, row in results.items():
        _, name, method = job.split("/")
        shown = (f"{row['explained']:.1%}", f"{row['rest']:.2f}", str(row.get("best_f1", "")))
        table.add_row(name, method, str(row["rank"]), *shown, str(row["seconds"]))
    if table.rows:
        Console(width=110).print(table)
