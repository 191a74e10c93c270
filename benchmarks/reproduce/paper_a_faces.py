"""Tables I, IV and V and Figure 7 of paper A: salt and pepper on the faces of CBCL.

The 2429 faces, each divided by its largest pixel, p times over in random order; outliers of VII-D1
on a share ν of the samples and ν̃ of their pixels, new ones for every copy, clipped to [0, 1].
PSNR is (48): codes of the time when a sample came by, and the last dictionary; and once more with
samples coded anew on what was learned, (47), which is all that batch methods have. Seconds are
processor time of one thread, all methods side by side in one job.

* ``table_1``: K = 49. At quick scale p is 2; the three settings with p = 50, as published, are the
  jobs ``table_1/whole_stream``, of OPGD and ``auto`` alone, and ``table_1/auto_alone``, of three
  seeds of ``auto``.
* ``table_4``: the same with K = 25 and 100; its seconds are Table V.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from benchmarks.common import Row, find_data_file
from benchmarks.reproduce.jobs import Job, Scale, keep_picture
from benchmarks.reproduce.paper_a_methods import METHODS, TAU, Learned, learned

# The outliers of `make_outlier_stream`, for faces: not public alone.
from thresher.datasets.outlier_stream import draw_outliers, floor_share
from thresher.linalg import Array

DATA = "cbcl_faces_19x19.npz"
SHAPE = (19, 19)
SETTINGS = {1: (0.7, 0.1), 2: (0.8, 0.2), 3: (0.9, 0.3)}
COPIES: dict[Scale, int] = {"quick": 2, "paper": 50}
SEEDS: dict[Scale, int] = {"quick": 2, "paper": 10}
LIMIT: dict[Scale, float] = {"quick": 40.0, "paper": 3600.0}
"""Seconds for a method on one stream."""
ANEW = 5000  # samples of the stream that are coded anew
GOALS = {1: 24.3, 2: 24.1, 3: 23.6}
"""What ``auto`` should reach on the whole stream, in decibels."""


def clean_faces() -> Array:
    """Every face, divided by its largest pixel."""
    with np.load(find_data_file(DATA), allow_pickle=False) as stored:
        faces = stored["images"].reshape(len(stored["images"]), -1).astype(np.float64)
    return np.asarray(faces / faces.max(axis=1, keepdims=True))


def spoiled(faces: Array, copies: int, setting: tuple[float, float], seed: int) -> Any:
    """The stream, and which face each sample is."""
    rng = np.random.default_rng([seed, 48])
    stream = rng.permutation(np.tile(np.arange(len(faces)), copies))
    nu, density = setting
    hit = np.zeros(len(stream), dtype=bool)
    hit[rng.permutation(len(stream))[: floor_share(nu, len(stream))]] = True
    count, X = floor_share(density, faces.shape[1]), faces[stream]
    for start in range(0, len(X), 4096):
        rows = slice(start, start + 4096)
        X[rows] = np.clip(X[rows] + draw_outliers(rng, hit[rows], faces.shape[1], count), 0, 1)
    return X, stream


def decibels(error: float) -> float:
    return float(-10 * np.log10(error))


def measured(found: Learned, X: Array, faces: Array, stream: Array) -> Row:
    """Seconds and PSNR of a method."""
    some = slice(0, ANEW)
    error = np.mean((found.reconstructed(X[some]) - faces[stream[some]]) ** 2)
    row = {"seconds": found.seconds, "psnr_anew": decibels(float(error))}
    if found.codes is not None:
        row["psnr"] = decibels(found.past_error(faces, stream))
        row["share"] = sum(len(rows) for rows, _ in found.codes.found) / len(X)
    return row


def table(
    methods: tuple[str, ...], K: int, setting: int, copies: int, seed: int, limit: float
) -> Row:
    """All methods on one stream; each starts from its own draw, with the same seed."""
    faces = clean_faces()
    X, stream = spoiled(faces, copies, SETTINGS[setting], seed)
    rows: Row = {"copies": copies, "tau": TAU, "rank_one": rank_one(faces)}
    for method in methods:
        rows[method] = measured(learned(method, X, K, seed, limit), X, faces, stream)
    return rows


def seeds_of_auto(setting: int, copies: int, seeds: int) -> Row:
    """``auto`` alone, on as many streams and from as many starts."""
    return {
        f"seed_{seed}": table(("online auto",), 49, setting, copies, seed, np.inf)["online auto"]
        for seed in range(seeds)
    }


def rank_one(faces: Array) -> float:
    """PSNR of the best fit of rank one: what any method should exceed."""
    U, s, V = np.linalg.svd(faces, full_matrices=False)
    return decibels(float(np.mean((faces - s[0] * np.outer(U[:, 0], V[0])) ** 2)))


def atoms(seed: int, copies: int, limit: float) -> Row:
    """Figure 7: the atoms of every method on setting 1, in bytes, and what can be said of them.

    A local atom lives on few pixels: its sparseness is Hoyer's, (√F − ‖d‖₁/‖d‖₂)/(√F − 1). A noisy
    one is rough: mean |difference of neighbours| over mean |pixel|.
    """
    faces = clean_faces()
    X, _ = spoiled(faces, copies, SETTINGS[1], seed)
    rows: Row = {}
    shown: dict[str, Array] = {}
    for method in METHODS:
        D = learned(method, X, 49, seed, limit).model.components_
        images = np.abs(D).reshape(-1, *SHAPE)
        largest = images.max(axis=(1, 2), keepdims=True) + 1e-12
        shown[method] = (images / largest)[:8]
        root = np.sqrt(D.shape[1])
        norms = np.linalg.norm(D, axis=1) + 1e-12
        hoyer = (root - np.abs(D).sum(axis=1) / norms) / (root - 1)
        rough = np.abs(np.diff(images, axis=1)).mean() + np.abs(np.diff(images, axis=2)).mean()
        rows[method] = {
            "sparseness": float(np.mean(hoyer)),
            "roughness": float(rough / images.mean() / 2),
            "negative": float(np.mean(D < -1e-9)),
        }
    keep_picture("a figure_7", shown, limits=(0.0, 1.0))
    return rows


def jobs(scale: Scale) -> Iterator[Job]:
    """A job for each setting, number of atoms and seed; and Figure 7."""
    copies, limit, needs = COPIES[scale], LIMIT[scale], (DATA,)
    for setting in SETTINGS if scale == "quick" else ():
        work = partial(table, ("OPGD", "online auto"), 49, setting, 50, 0, 1e4)
        yield Job(f"table_1/whole_stream/setting_{setting}", work, needs)
        work = partial(seeds_of_auto, setting, 50, 3)
        yield Job(f"table_1/auto_alone/setting_{setting}", work, needs)
    for K in (49, 25, 100):
        for seed in range(1 if scale == "quick" and K != 49 else SEEDS[scale]):
            for setting in SETTINGS:
                work = partial(table, METHODS, K, setting, copies, seed, limit)
                name = "table_1" if K == 49 else f"table_4/K_{K}"
                yield Job(f"{name}/setting_{setting}/seed_{seed}", work, needs)
    yield Job("figure_7", partial(atoms, 0, copies, limit), needs)
