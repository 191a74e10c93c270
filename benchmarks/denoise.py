"""Spoiled faces made clean: papers A and C, PSNR of `ImageDenoiser` beside its peers.

Faces of CBCL, ORL, Extended Yale B and CMU PIE, 120 of each, spoiled as in paper C: black squares,
salt and pepper, and Laplace noise on all pixels. `ImageDenoiser` has one setting for all, which was
chosen on ORL, CBCL and the first half of PIE's people; Yale B and PIE's other people were kept
back. Its peers have what is best for each set and kind of noise, chosen by the truth:
scikit-learn's NMF (number of parts), `RobustPCA` (λ), total variation (weight) and the median
filter (width) of scikit-image. With --methods only some are measured, and the others keep their
figures.

    THRESHER_DATA=folder python benchmarks/denoise.py [--sets yale_b ...] [--methods NMF ...]
"""

import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    RESULTS,
    Row,
    command_line,
    find_data_file,
    interleaved,
    machine,
    read_json,
    write_json,
)
from skimage.filters import median
from skimage.restoration import denoise_tv_chambolle
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from thresher import ImageDenoiser, OnlineRobustPCA
from thresher.datasets import image_noises, load_faces, occlude
from thresher.linalg import Array
from thresher.published.low_rank import default_weight, pursue

CHOSEN_ON = ("orl", "cbcl")
KEPT_BACK = ("yale_b", "pie")
CHOSEN_PEOPLE = 34  # of PIE's 68, the first: their faces are not among those that are measured
N_IMAGES = 120
NOISES = ("occlusion", "salt and pepper", "Laplace")
SMALL_SQUARE = 6  # on CBCL, which has 19 × 19 pixels; 10 on 32 × 32
PURSUIT_STEPS = 30

Clean = Callable[[Array], Array]


def images_of(name: str) -> Array:
    if name != "cbcl":
        faces = load_faces(name)
        first = CHOSEN_PEOPLE if name == "pie" else 0
        return faces.images[faces.labels >= first] / 255.0
    with np.load(find_data_file("cbcl_faces_19x19.npz"), allow_pickle=False) as stored:
        images: Array = stored["images"] / 255.0
    return images


def spoiled(images: Array, kind: str, seed: int) -> Array:
    rows, shape = images.reshape(len(images), -1), images.shape[1:]
    if kind == "occlusion" and min(shape) < 32:
        damaged = occlude(rows, shape, size=SMALL_SQUARE, seed=seed)
    else:
        damaged = image_noises(shape)[kind](rows, seed)
    return np.asarray(damaged).reshape(images.shape)


def psnr(found: Array, truth: Array) -> float:
    """Mean over the images, in decibels of the range one."""
    errors = ((np.clip(found, 0, 1) - truth) ** 2).reshape(len(truth), -1).mean(axis=1)
    return float(np.mean(-10 * np.log10(np.maximum(errors, 1e-10))))


def by_rows(work: Clean) -> Clean:
    return lambda images: work(images.reshape(len(images), -1)).reshape(images.shape)


def one_by_one(work: Clean) -> Clean:
    return lambda images: np.stack([work(image) for image in images])


def factorised(n_components: int) -> Clean:
    def run(rows: Array) -> Array:
        model = NMF(n_components, init="nndsvda", max_iter=100, random_state=0)
        return np.asarray(model.inverse_transform(model.fit_transform(rows)))

    return by_rows(run)


def pursued(times: float) -> Clean:
    def run(rows: Array) -> Array:
        weight = times * default_weight(rows.shape)
        *_, last = islice(pursue(rows, None, weight, 1e-6), PURSUIT_STEPS)
        return last.low_rank.product

    return by_rows(run)


def denoised(model: Any = None) -> Clean:
    return lambda images: np.asarray(
        ImageDenoiser(model, random_state=0, verbose=0).denoise(images).clean
    )


METHODS: dict[str, dict[str, Clean]] = {
    "spoiled": {"": lambda images: images},
    "ImageDenoiser": {"": denoised()},
    "ImageDenoiser(OnlineRobustPCA(8))": {
        "": denoised(OnlineRobustPCA(8, random_state=0, verbose=0))
    },
    "NMF": {f"K={K}": factorised(K) for K in (8, 16, 25, 50)},
    "RobustPCA": {f"{times} λ": pursued(times) for times in (1.0, 1.5, 2.0, 3.0)},
    "total variation": {
        f"weight={w}": one_by_one(lambda image, w=w: denoise_tv_chambolle(image, w))
        for w in (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
    },
    "median": {
        f"{w} × {w}": one_by_one(lambda image, w=w: median(image, np.ones((w, w))))
        for w in (3, 5)
    },
}  # fmt: skip


def measured(name: str, kind: str, seeds: int, methods: list[str]) -> Row:
    """PSNR of each method at its best setting, median and extremes over seeds."""
    images = images_of(name)
    jobs = {(m, s): work for m in methods for s, work in METHODS[m].items()}
    drawn = []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(images))[:N_IMAGES]
        drawn.append((images[order], spoiled(images[order], kind, seed)))
    found: dict[tuple[str, str], list[float]] = {}
    work = {key: (lambda pair, job=job: job(pair[1])) for key, job in jobs.items()}
    for key, (truth, _), clean, _ in interleaved(work, drawn):
        found.setdefault(key, []).append(psnr(clean, truth))
    row: Row = {"set": name, "noise": kind, "kept_back": name in KEPT_BACK}
    for method in methods:
        best = max(METHODS[method], key=lambda s: float(np.median(found[method, s])))
        values = found[method, best]
        row[method] = {
            "psnr": round(float(np.median(values)), 2),
            "least": round(min(values), 2),
            "largest": round(max(values), 2),
            "setting": best,
        }
    return row


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--sets", nargs="*", default=[*CHOSEN_ON, *KEPT_BACK])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--output", type=Path, default=RESULTS / "denoise.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    record: Row = {"machine": machine("scikit-learn", "scikit-image")}
    known = {(row["set"], row["noise"]): row for row in read_json(options.output).get("rows", [])}
    with threadpool_limits(1):
        for name in options.sets:
            for kind in NOISES:
                row = measured(name, kind, options.seeds, options.methods)
                known[name, kind] = known.get((name, kind), {}) | row
                record["rows"] = list(known.values())
                shown = {m: row[m]["psnr"] for m in options.methods}
                print(name, kind, shown, flush=True)
                write_json(options.output, record)


if __name__ == "__main__":
    main()
