"""Figures 12–14 of paper C (Guan, Tao, Luo and Shawe-Taylor): segments of the Berkeley images.

The paper shows ten images and counts nothing. Here every image is measured by the probabilistic
Rand index against all its human segmentations, and stands beside normalised cuts (scikit-learn's
spectral clustering) of the same similarities (62). ``rectangles`` cuts every image into the same
4 × 3 rectangles without looking at it: what the index gives for nothing. ``open`` is the similarity
without a radius and with δ_F = 0.15, for both methods.

The one job measures 30 images, at quick scale six.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from benchmarks.common import Row, by_setting, clock, find_data_file
from benchmarks.reproduce.jobs import Job, Scale, keep_picture
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans, SpectralClustering

from thresher import ImageSegmenter
from thresher.metrics import probabilistic_rand_index
from thresher.plotting import paint_boundaries

SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {},
    "paper, colour": {"features": "colour"},
    "open, colour": {"features": "colour", "feature_scale": 0.15, "radius": 1.0},
}
SEGMENTS = (3, 5)
DATA, SUPERPIXELS, SHOWN = "bsds500_30img.npz", 500, 4


def rectangles(shape: tuple[int, int]) -> NDArray[np.int64]:
    rows, columns = np.indices(shape)
    return 4 * (3 * rows // shape[0]) + 4 * columns // shape[1]


def by_k_means(rows: Any, n_clusters: int) -> Any:
    return KMeans(n_clusters, n_init=10, random_state=0).fit_predict(rows)


def measure(
    image: NDArray[np.uint8], truths: NDArray[np.uint8], n_superpixels: int
) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """Scores of every method on an image, and the segments of the paper's setting."""
    rows = []
    pictures = {}
    for setting, options in SETTINGS.items():
        with clock() as factorising:
            model = ImageSegmenter(
                3, n_superpixels=n_superpixels, random_state=0, verbose=0, **options
            ).fit(image)
        for k in SEGMENTS:
            found = {"SymmetricManhattanNMF": by_k_means(model.embedding_, k)}
            cuts = SpectralClustering(k, affinity="precomputed", random_state=0)
            with clock() as cutting:
                found["normalised cuts"] = cuts.fit_predict(model.similarity_)
            times = {"SymmetricManhattanNMF": factorising.wall, "normalised cuts": cutting.wall}
            for method, patches in found.items():
                labels = patches[model.superpixels_]
                score = probabilistic_rand_index(labels, truths)
                rows.append(
                    {
                        "setting": setting,
                        "method": method,
                        "segments": k,
                        "rand": score,
                        "seconds": times[method],
                    }
                )
                if setting == "paper":
                    pictures[f"{method}, {k}"] = paint_boundaries(image, labels, thickness=3)
    score = probabilistic_rand_index(rectangles(image.shape[:2]), truths)
    rows.append(
        {"setting": "-", "method": "rectangles", "segments": 12, "rand": score, "seconds": 0.0}
    )
    others = [
        probabilistic_rand_index(truth, [t for t in truths if t is not truth]) for truth in truths
    ]
    rows.append(
        {
            "setting": "-",
            "method": "humans, each against the others",
            "segments": None,
            "rand": float(np.mean(others)),
            "seconds": 0.0,
        }
    )
    return rows, pictures


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over the images, and how often the symmetric factorisation is ahead of the cuts."""
    settings = list(by_setting(rows, ("setting", "method", "segments")))
    out = []
    for setting, mine in settings:
        scores = np.array([row["rand"] for row in mine])
        line = {
            **setting,
            "rand": round(float(scores.mean()), 4),
            "standard_error": round(float(scores.std(ddof=1) / np.sqrt(len(scores))), 4),
            "seconds": round(float(np.mean([row["seconds"] for row in mine])), 2),
        }
        if setting["method"] == "SymmetricManhattanNMF":
            beside = {**setting, "method": "normalised cuts"}
            cuts = [row["rand"] for other, theirs in settings if other == beside for row in theirs]
            line["ahead_of_cuts"] = round(float(np.mean(scores > cuts)), 3)
            line["difference"] = round(float(np.mean(scores - cuts)), 4)
        out.append(line)
    return out


def segmented(n_images: int) -> Row:
    """Scores of some images."""
    with np.load(find_data_file(DATA), allow_pickle=False) as stored:
        images, truths = stored["images"], stored["segmentations"]
        counts = stored["n_segmentations"]
    rows: list[Row] = []
    shown: list[Row] = []
    for number in range(n_images):
        truth = truths[number][: counts[number]]
        found, pictures = measure(images[number], truth, SUPERPIXELS)
        rows += found
        if number < SHOWN:
            shown.append({"image": images[number], **pictures})
    columns = {name.replace(" ", "\n"): [one[name] for one in shown] for name in shown[0]}
    keep_picture("c figures_12_14", columns)
    return {"images": n_images, "superpixels": SUPERPIXELS, "summary": summary(rows)}


def jobs(scale: Scale) -> Iterator[Job]:
    yield Job("figures_12_14", partial(segmented, 6 if scale == "quick" else 30), (DATA,))


def tell(results: dict[str, Any]) -> None:
    """A table of all settings."""
    table = Table("setting", "method", "segments", "Rand index", "± s.e.", "ahead", "s",
                  title="Figures 12 to 14. Paper: mostly comparable with Ncuts")  # fmt: skip
    for line in results["summary"]:
        table.add_row(
            line["setting"],
            line["method"],
            str(line["segments"] or ""),
            f"{line['rand']:.3f}",
            f"{line['standard_error']:.3f}",
            f"{line['ahead_of_cuts']:.0%}" if "ahead_of_cuts" in line else "",
            f"{line['seconds']:.1f}",
        )
    Console(width=120).print(table)
