"""Figures 12–14 of paper C (Guan, Tao, Luo and Shawe-Taylor): segments of the Berkeley images.

The paper shows ten images and counts nothing. Here every image is measured by the probabilistic
Rand index against all its human segmentations, and stands beside normalised cuts (scikit-learn's
spectral clustering) of the same similarities (62). ``rectangles`` cuts every image into the same
4 × 3 rectangles without looking at it: what the index gives for nothing. ``open`` is the similarity
without a radius and with δ_F = 0.15, for both methods.

    THRESHER_DATA=folder python benchmarks/segmentation.py --pictures folder_for_pictures
"""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, by_setting, clock, command_line, write_json
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.cluster import SpectralClustering

import thresher
from thresher import ImageSegmenter
from thresher.datasets.files import find_data_file
from thresher.metrics import probabilistic_rand_index
from thresher.plotting import frame_grid, paint_boundaries, to_png
from thresher.tasks.segmentation.segmenter import cluster_rows

SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {},
    "paper, colour": {"features": "colour"},
    "open, colour": {"features": "colour", "feature_scale": 0.15, "radius": 1.0},
}
SEGMENTS = (3, 5)
SHOWN = 6


def rectangles(shape: tuple[int, int]) -> NDArray[np.int64]:
    rows, columns = np.indices(shape)
    return 4 * (3 * rows // shape[0]) + 4 * columns // shape[1]


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
            found = {"SymmetricManhattanNMF": cluster_rows(model.embedding_, k, 0)}
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


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--pictures", type=Path, help="folder for segmentation.png")
    parser.add_argument("--superpixels", type=int, default=500)
    parser.add_argument("--images", type=int, default=30)
    parser.add_argument("--output", type=Path, default=RESULTS / "segmentation.json")
    options = parser.parse_args()
    with np.load(find_data_file("bsds500_30img.npz"), allow_pickle=False) as stored:
        images, truths = stored["images"], stored["segmentations"]
        counts = stored["n_segmentations"]
    rows, shown = [], []
    for number in range(options.images):
        found, pictures = measure(
            images[number], truths[number][: counts[number]], options.superpixels
        )
        rows += found
        shown.append({"image": images[number], **pictures})
        print(f"{number + 1} of {options.images}", flush=True)

    table = Table("setting", "method", "segments", "Rand index", "± s.e.", "ahead", "s")
    for line in summary(rows):
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
    document = {
        "versions": {name: version(name) for name in ("numpy", "scikit-learn", "scikit-image")},
        "thresher": thresher.__version__,
        "python": platform.python_version(),
        "images": options.images,
        "superpixels": options.superpixels,
        "summary": summary(rows),
    }
    write_json(options.output, document)
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
        columns = list(shown[0])
        step = max(1, len(shown) // SHOWN)
        some = list(range(0, len(shown), step))[:SHOWN]
        figure = frame_grid(
            [np.stack([shown[n][column] for n in some]) for column in columns],
            [
                column.replace("normalised ", "normalised\n").replace(
                    "SymmetricManhattanNMF", "symmetric\nManhattan"
                )
                for column in columns
            ],
            [str(n) for n in some],
        )
        (options.pictures / "segmentation.png").write_bytes(to_png(figure))


if __name__ == "__main__":
    main()
