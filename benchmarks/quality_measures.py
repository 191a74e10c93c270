"""Measures of `quality.py`: one function each, in the table `MEASURES`.

A measure runs an estimator or a task on the data of one seed. It returns its figures by name and
the processor seconds of the work itself, without data and evaluation. A measure that ``needs``
files runs only where the data folder has them; all others draw their data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from alarms import Step, cut, loaded, without_dates
from choose import planted as planted_components
from common import find_data_file, kl_divergence, timed
from denoise import images_of, spoiled
from denoise import psnr as mean_psnr
from planted_video import planted as planted_video
from scipy import sparse
from scipy.ndimage import gaussian_filter
from sklearn.base import clone
from sklearn.metrics import normalized_mutual_info_score, roc_auc_score
from sklearn.preprocessing import normalize
from sound import best_match
from spectra import MADE, mixed_bands, mixed_pixels, samson, share_error
from tables import line, planted_gaps
from topics import bbc
from video import scores as mask_scores

import thresher as th
from thresher.datasets import (
    load_faces,
    load_text_counts,
    make_divergence_stream,
    make_orthogonal_stream,
    make_outlier_stream,
    make_spectral_scene,
    make_surveillance_scene,
    occlude,
    salt_and_pepper,
)

# The drum machine is data of the command `thresher sample`, which has no public function.
from thresher.datasets.samples.drums import RATE, drum_samples
from thresher.linalg import Array
from thresher.metrics import (
    clustering_accuracy,
    factor_match_score,
    orthogonal_error,
    probabilistic_rand_index,
    psnr,
    purity,
    relative_error,
    sparse_reconstruction_error,
    spectral_angles,
    support_scores,
)

AIR, ROADS = "airly_krakow_2017.npz", "los_loop_speed.npz"
BBC, BBC_TEXTS = "bbc_news.npz", "bbc_news.jsonl.gz"
CBCL, YALE_B = "cbcl_faces_19x19.npz", "yaleb_32x32.npz"
BSDS, HIGHWAY = "bsds500_30img.npz", "cdnet_highway_120x160.npz"
TDT2, NEWSGROUPS = "tdt2_top30_dated.npz", "20newsgroups_counts.npz"


Result = tuple[dict[str, float], float]


@dataclass(frozen=True)
class Figure:
    """How to read a number: which direction is better, or the value that it should have."""

    better: str | float
    unit: str


@dataclass(frozen=True)
class Measure:
    """A function of the seed, with what it returns and what it needs."""

    run: Callable[[int], Result]
    figures: dict[str, Figure]
    seeds: int
    needs: tuple[str, ...]


MEASURES: dict[str, Measure] = {}
ERROR = Figure("lower", "relative error")
F1 = Figure("higher", "F1")
PSNR = Figure("higher", "dB")
SHARE = Figure("higher", "share")
RATIO = Figure("lower", "ratio to linear interpolation")


def add(
    name: str,
    run: Callable[..., Result],
    *arguments: Any,
    figures: dict[str, Figure],
    seeds: int = 5,
    needs: tuple[str, ...] = (),
) -> None:
    """Add a function to the table; the seed is its last argument."""
    MEASURES[name] = Measure(partial(run, *arguments), figures, seeds, needs)


def seeded(model: Any, seed: int) -> Any:
    """Set what all runs have in common, where the estimator has it."""
    known = model.get_params()
    wanted = {"verbose": 0, "random_state": seed}
    return clone(model).set_params(**{name: wanted[name] for name in wanted if name in known})


# ---------------------------------------------------------------------------- estimators


class Split(NamedTuple):
    """Samples to learn from, held-out samples, and their truth."""

    train: Any
    test: Any
    clean: Array
    dictionary: Array | None = None
    support: Array | None = None


def with_outliers(seed: int, n: int = 1500) -> Split:
    made = make_outlier_stream(n + 300, 80, 8, random_state=seed)
    test = slice(n, None)
    support = made.outliers[test] != 0
    return Split(made.data[:n], made.data[test], made.clean[test], made.dictionary, support)


def with_noise_of(noise: str, seed: int, n: int = 1000) -> Split:
    made = make_divergence_stream(n + 250, 60, 6, noise, random_state=seed)
    return Split(made.data[:n], made.data[n:], made.clean[n:], made.dictionary)


def low_rank_plus_sparse(seed: int, n: int = 300) -> Split:
    rng = np.random.default_rng(seed)
    clean = rng.standard_normal((n + 100, 5)) @ rng.standard_normal((5, 60))
    support = rng.random(clean.shape) < 0.05
    X = clean + 0.02 * rng.standard_normal(clean.shape) + support * rng.uniform(-9, 9, clean.shape)
    return Split(X[:n], X[n:], clean[n:], None, support[n:])


def reconstruction(model: Any, data: Callable[[int], Split], seed: int) -> Result:
    """Error to clean held-out samples, atoms found, and entries found to be outliers."""
    split, model = data(seed), seeded(model, seed)
    _, spent = timed(model.fit, split.train)
    found = model.inverse_transform(model.transform(split.test))
    row = {"error": relative_error(split.clean, found)}
    if split.dictionary is not None:
        row["atoms"] = factor_match_score(split.dictionary, model.components_)
    if split.support is not None and hasattr(model, "separate"):
        outliers = model.separate(split.test).outliers
        row["outliers"] = support_scores(split.support, outliers, threshold=0.1).f1
    return row, spent["cpu"]


ATOMS = {"error": ERROR, "atoms": Figure("higher", "cosine")}
OUTLIERS = {"error": ERROR, "outliers": F1}
for robust in (th.OnlineRobustNMF(8), th.RobustNMF(8)):
    name = type(robust).__name__
    add(name, reconstruction, robust, with_outliers, figures=ATOMS | OUTLIERS)
add("ManhattanNMF", reconstruction, th.ManhattanNMF(8), with_outliers, figures=ATOMS)
for low_rank in (th.OnlineRobustPCA(5), th.RobustPCA(), th.GoDec(5)):
    name = type(low_rank).__name__
    add(name, reconstruction, low_rank, low_rank_plus_sparse, figures=OUTLIERS)
for divergence in ("squared_l2", "kl", "is"):
    with_its_noise = partial(with_noise_of, divergence)
    for kind in (th.OnlineNMF, th.BatchNMF):
        name, model = f"{kind.__name__}, {divergence}", kind(6, divergence=divergence)
        add(name, reconstruction, model, with_its_noise, figures=ATOMS)


def imputation(model: Any, data: Callable[[int], Split], seed: int) -> Result:
    """Error on a fifth of the entries, which are missing."""
    split, model = data(seed), seeded(model, seed)
    rng = np.random.default_rng(seed)
    missing, hidden = (rng.random(part.shape) < 0.2 for part in (split.train, split.test))
    _, spent = timed(model.fit, np.where(missing, np.nan, split.train))
    found = model.impute(np.where(hidden, np.nan, split.test))
    return {"error": relative_error(split.clean[hidden], found[hidden])}, spent["cpu"]


name, model = "OnlineRobustNMF, missing values", th.OnlineRobustNMF(8)
add(name, imputation, model, with_outliers, figures={"error": ERROR})
name, model = "OnlineNMF, kl, missing values", th.OnlineNMF(6, divergence="kl")
add(name, imputation, model, partial(with_noise_of, "kl"), figures={"error": ERROR})


def documents(seed: int, n: int = 1500, late: int = 0) -> tuple[Any, Array]:
    """Counts of 1,000 words and the topic of each document; the last topics enter late."""
    rng = np.random.default_rng(seed)
    topics = 0.4 * rng.dirichlet(np.full(1000, 0.03), 8) + 0.6 * rng.dirichlet(np.full(1000, 0.1))
    start = np.zeros(8)
    start[8 - late :] = 0.2 + 0.6 * np.arange(late) / max(late, 1)
    time = np.arange(n) / n
    labels = np.array([rng.choice(np.flatnonzero(start <= t)) for t in time])
    counts = [rng.multinomial(rng.poisson(60) + 5, topics[label]) for label in labels]
    return sparse.csr_array(np.array(counts, dtype=float)), labels


def l1_dictionary(model: Any, data: Callable[[int], Any], seed: int) -> Result:
    """Error of the best codes on held-out documents: the measure of paper B."""
    X, model = normalize(data(seed), "l1"), seeded(model, seed)
    cutoff = X.shape[0] * 3 // 4
    _, spent = timed(model.fit, X[:cutoff])
    test = X[cutoff:]
    error = sparse_reconstruction_error(test, model.transform(test), model.components_)
    return {"error": error}, spent["cpu"]


def shuffled_bbc(seed: int) -> Any:
    counts = load_text_counts("bbc_news").counts.astype(float)
    return counts[np.random.default_rng(seed).permutation(counts.shape[0])]


def drawn_documents(seed: int) -> Any:
    return documents(seed, 800)[0]


L1_ERROR = {"error": Figure("lower", "sparse reconstruction error")}
for kind in (th.OnlineL1Dictionary, th.L1Dictionary):
    add(kind.__name__, l1_dictionary, kind(8), drawn_documents, figures=L1_ERROR)
name, model = "OnlineL1Dictionary, BBC News", th.OnlineL1Dictionary(20)
add(name, l1_dictionary, model, shuffled_bbc, figures=L1_ERROR, seeds=3, needs=(BBC,))


def orthogonal_dictionary(seed: int) -> Result:
    made = make_orthogonal_stream(10_000, 10, noise=0.1, random_state=seed)
    model = seeded(th.OnlineOrthogonalDictionary(), seed)
    _, spent = timed(model.fit, made.data)
    return {"error": orthogonal_error(made.dictionary, model.components_)}, spent["cpu"]


def symmetric_clusters(seed: int) -> Result:
    """Clusters of similarities, a tenth of which are random."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=200)
    W = np.where(labels[:, None] == labels, 0.7, 0.2) + 0.3 * rng.random((200, 200))
    W = np.triu(np.where(rng.random(W.shape) < 0.1, rng.random(W.shape), W))
    model = seeded(th.SymmetricManhattanNMF(4), seed)
    codes, spent = timed(model.fit_transform, W + np.triu(W, 1).T)
    return {"accuracy": clustering_accuracy(labels, codes.argmax(axis=1))}, spent["cpu"]


def damaged_faces(model: Any, seed: int) -> Result:
    """PSNR of held-out faces, learned from and coded with salt and pepper on a tenth of them."""
    images = images_of("cbcl").reshape(2429, -1)
    clean = images[np.random.default_rng(seed).permutation(len(images))[:750]]
    X, model = salt_and_pepper(clean, seed=seed), seeded(model, seed)
    _, spent = timed(model.fit, X[:600])
    found = model.inverse_transform(model.transform(X[600:]))
    return {"PSNR": psnr(clean[600:], found)}, spent["cpu"]


def divergence_of_texts(model: Any, seed: int) -> Result:
    """Mean KL divergence of held-out documents."""
    X, model = shuffled_bbc(seed), seeded(model, seed)
    X = X[:, np.argsort(-X.sum(axis=0))[:3000]]
    _, spent = timed(model.fit, X[:1700])
    test = X[1700:].tocsr()
    divergence = kl_divergence(test, model.transform(test), model.components_)
    return {"divergence": divergence}, spent["cpu"]


def number_of_components(kind: str, seed: int) -> Result:
    true = int(np.random.default_rng(seed).integers(3, 16))
    X, model = planted_components(kind, true, seed), seeded(th.OnlineRobustNMF(n_jobs=1), seed)
    given = {"n_components": range(2, 20), "n_masks": 1, "refit": False, "verbose": 0}
    choice, spent = timed(partial(th.choose, model, X, **given))
    return {"off by": abs(choice.best_params_["n_components"] - true)}, spent["cpu"]


ORTHOGONAL = {"error": Figure("lower", "error (24) of paper D")}
add("OnlineOrthogonalDictionary", orthogonal_dictionary, figures=ORTHOGONAL)
add("SymmetricManhattanNMF", symmetric_clusters, figures={"accuracy": SHARE})
for kind in (th.OnlineRobustNMF, th.RobustNMF, th.OnlineRobustPCA, th.ManhattanNMF):
    name = f"{kind.__name__}, CBCL faces"
    add(name, damaged_faces, kind(25), figures={"PSNR": PSNR}, seeds=3, needs=(CBCL,))
KL = {"divergence": Figure("lower", "KL")}
for kind in (th.OnlineNMF, th.BatchNMF):
    name, model = f"{kind.__name__}, kl, BBC News", kind(10, divergence="kl")
    add(name, divergence_of_texts, model, figures=KL, seeds=3, needs=(BBC,))
for noise in ("noisy", "outliers"):
    off_by = {"off by": Figure("lower", "components")}
    add(f"choose, {noise}", number_of_components, noise, figures=off_by)


# --------------------------------------------------------------------------------- video


class Video(NamedTuple):
    """Frames, what moves in them, and which pixels count."""

    frames: Any
    truth: Any
    known: Any = None


def street(change: str, seed: int) -> Video:
    """The scene of the README: as it is, shaken, with a sudden change of light, or a stop."""
    scene, rng = make_surveillance_scene(300, random_state=seed), np.random.default_rng(seed)
    frames, truth = scene.frames.copy(), scene.foreground.copy()
    if change == "sudden light":
        frames[150:] = (0.65 * frames[150:]).astype(np.uint8)
    if change == "stopped object":
        block = rng.integers(80, 250, (12, 16))
        for t in range(90, 280):  # it comes in, stays for 100 frames, and goes on
            left = min(t - 90, 40) + max(t - 230, 0)
            place = t, slice(58, 70), slice(left, min(left + 16, 96))
            frames[place], truth[place] = block[:, : 96 - left], True
    if change == "shake":
        path = np.clip(np.cumsum(rng.integers(-1, 2, (300, 2)), axis=0), -4, 4)
        for t, shift in enumerate(path):
            frames[t] = np.roll(frames[t], shift, (0, 1))
            truth[t] = np.roll(truth[t], shift, (0, 1))
    return Video(frames, truth)


def highway(seed: int) -> Video:
    data = np.load(find_data_file(HIGHWAY))
    part = slice(100 * seed, 100 * seed + 400)
    return Video(data["frames"][part], data["gt"][part] == 255, data["gt"][part] != 170)


def real_scene(effect: str, seed: int) -> Video:
    """Objects that cross the scene of an I2R clip, another for each seed."""
    clip = ("hall", "mall", "escalator", "bootstrap")[seed % 4]
    return Video(*planted_video(clip, effect, seed, n_frames=200))


def masks(data: Callable[[int], Video], seed: int) -> Result:
    """F on the last 80 % of the frames, and scene changes, of which there are none."""
    video, model = data(seed), seeded(th.VideoSeparator(), seed)
    found, spent = timed(model.separate, video.frames)
    return {
        "F": mask_scores(video.truth, found.mask, video.known)["F"],
        "scene changes": len(model.changes_),
    }, spent["cpu"]


MASKS = {"F": F1, "scene changes": Figure("lower", "count")}
I2R = ("i2r_hall_144x176.npz", "i2r_shoppingmall_128x160.npz", "i2r_escalator_130x160.npz",
       "i2r_bootstrap_120x160.npz", BSDS)  # fmt: skip
for change in ("still", "shake", "sudden light", "stopped object"):
    add(f"VideoSeparator, street, {change}", masks, partial(street, change), figures=MASKS)
add("VideoSeparator, highway", masks, highway, figures=MASKS, seeds=3, needs=(HIGHWAY,))
for effect in ("still", "shake", "sway", "water", "light"):
    name, scene = f"VideoSeparator, I2R, {effect}", partial(real_scene, effect)
    add(name, masks, scene, figures=MASKS, seeds=4, needs=I2R)


# --------------------------------------------------------------------- images and faces


def drawn_pictures(seed: int, n: int = 120) -> Array:
    """Mixtures of five smooth pictures of 32 × 32 pixels."""
    rng = np.random.default_rng(seed)
    layers = gaussian_filter(rng.standard_normal((5, 32, 32)), (0, 4, 4))
    layers = (layers - layers.min()) / np.ptp(layers)
    return np.tensordot(rng.dirichlet(np.ones(5), n), layers, 1)


def face_pictures(name: str, seed: int) -> Array:
    images = images_of(name)
    return images[np.random.default_rng(seed).permutation(len(images))[:120]]


def denoising(data: Callable[[int], Array], kind: str, seed: int) -> Result:
    truth, model = data(seed), seeded(th.ImageDenoiser(), seed)
    found, spent = timed(model.denoise, spoiled(truth, kind, seed))
    return {"PSNR": mean_psnr(np.asarray(found.clean), truth)}, spent["cpu"]


for damage in ("occlusion", "salt and pepper"):
    add(f"ImageDenoiser, {damage}", denoising, drawn_pictures, damage, figures={"PSNR": PSNR})
    for faces, file in (("yale_b", YALE_B), ("pie", "pie_pose27_32x32.npz")):
        name, images = f"ImageDenoiser, {faces}, {damage}", partial(face_pictures, faces)
        add(name, denoising, images, damage, figures={"PSNR": PSNR}, seeds=3, needs=(file,))


def people(seed: int) -> tuple[Array, Array]:
    """Ten pictures of each of 15 people under smooth lights."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(15), 10)
    faces, lights = (gaussian_filter(rng.standard_normal((15, 24, 24)), (0, s, s)) for s in (2, 8))
    X = 0.5 + 0.15 * (faces / faces.std())[who]
    X += 0.04 * np.tensordot(rng.standard_normal((150, 15)), lights / lights.std(), 1)
    return np.clip(X + 0.05 * rng.standard_normal(X.shape), 0, 1).reshape(150, -1), who


def yale_people(seed: int) -> tuple[Array, Array]:
    faces = load_faces("yale_b")
    rows = np.isin(faces.labels, np.random.default_rng(seed).permutation(38)[:12])
    return faces.images[rows].reshape(int(rows.sum()), -1) / 255.0, faces.labels[rows]


def recognition(data: Callable[[int], tuple[Array, Array]], seed: int) -> Result:
    """Accuracy on held-out pictures with an occluded square."""
    X, who = data(seed)
    side = int(np.sqrt(X.shape[1]))
    known = np.random.default_rng(seed).random(len(X)) < 0.5
    test = occlude(X[~known], (side, side), size=side // 3, seed=seed)
    model = seeded(th.FaceRecognizer(), seed)
    found, spent = timed(lambda: model.fit(X[known], who[known]).predict(test))
    return {"accuracy": float(np.mean(found == who[~known]))}, spent["cpu"]


ACCURACY = {"accuracy": SHARE}
add("FaceRecognizer", recognition, people, figures=ACCURACY)
add("FaceRecognizer, yale_b", recognition, yale_people, figures=ACCURACY, seeds=3, needs=(YALE_B,))


def segmentation(image: Array, truths: Any, seed: int) -> tuple[float, float]:
    model = seeded(th.ImageSegmenter(5, n_superpixels=400), seed)
    found, spent = timed(model.fit_predict, image)
    return probabilistic_rand_index(found, truths), spent["cpu"]


def segmented_mosaic(seed: int) -> Result:
    """Five noisy cells around random points."""
    rng = np.random.default_rng(seed)
    points, grid = 60 * rng.random((5, 2)), np.moveaxis(np.mgrid[:60, :60], 0, -1)
    cells = np.linalg.norm(grid[:, :, None] - points, axis=-1).argmin(axis=-1)
    image = rng.permutation(np.linspace(0.1, 0.9, 5))[cells] + 0.05 * rng.standard_normal((60, 60))
    index, seconds = segmentation(np.clip(image, 0, 1), cells[None], seed)
    return {"Rand index": index}, seconds


def segmented_photographs(seed: int) -> Result:
    """Three other photographs for each seed."""
    with np.load(find_data_file(BSDS)) as z:
        rows = range(3 * seed, 3 * seed + 3)
        n = z["n_segmentations"]
        images, people_say = z["images"][: 3 * seed + 3], z["segmentations"][: 3 * seed + 3]
    found = [segmentation(images[i], people_say[i][: n[i]], seed) for i in rows]
    index, seconds = np.mean(found, axis=0)
    return {"Rand index": float(index)}, float(seconds)


RAND = {"Rand index": SHARE}
add("ImageSegmenter", segmented_mosaic, figures=RAND, seeds=3)
add("ImageSegmenter, BSDS500", segmented_photographs, figures=RAND, seeds=4, needs=(BSDS,))


# -------------------------------------------------------------------------------- tables


def sensor_table(seed: int) -> Array:
    """Twelve columns that follow the day, the week and the weather, with noise."""
    rng = np.random.default_rng(seed)
    hours = np.arange(1500)
    weather = gaussian_filter(np.cumsum(rng.standard_normal((1500, 2)), axis=0), (3, 0))
    weather -= gaussian_filter(weather, (200, 0))
    courses = [np.sin(2 * np.pi * hours / 24), np.cos(2 * np.pi * hours / 168)]
    factors = np.column_stack([*courses, *(weather / weather.std(axis=0)).T])
    X = factors @ rng.normal(0, 1, (4, 12)) + 0.2 * rng.standard_normal((1500, 12))
    return np.asarray(20 + rng.uniform(0.5, 3, 12) * X)


def road_speeds(seed: int) -> Array:
    """A week of 16 roads in Los Angeles, others for each seed."""
    roads = np.random.default_rng(99).permutation(207)[16 * seed : 16 * seed + 16]
    return np.asarray(np.load(find_data_file(ROADS))["speed"][:, roads].astype(float))


def temperatures(seed: int) -> Array:
    """Two months of the sensors in Kraków that report most, other months for each seed."""
    X = np.load(find_data_file(AIR))["temperature"].astype(float)
    X[(X < -35) | (X > 45)] = np.nan
    X = X[2000 + 1200 * seed :][:1200]
    X = X[:, np.argsort(np.isnan(X).mean(axis=0), kind="stable")[:16]]
    return X[:, np.isfinite(X).mean(axis=0) > 0.5]


def table_scale(X: Array) -> Array:
    scale = np.nanstd(X, axis=0)
    return np.where(scale > 0, scale, 1.0)


def spikes(data: Callable[[int], Array], seed: int) -> Result:
    """Spikes of 3 to 8 standard deviations on 0.1 % of the readings, at the default rate."""
    X, rng = data(seed), np.random.default_rng(seed)
    wrong = (rng.random(X.shape) < 0.001) & np.isfinite(X)
    size = rng.choice([-1, 1], X.shape) * rng.uniform(3, 8, X.shape) * table_scale(X)
    found, spent = timed(seeded(th.TableCleaner(), seed).clean, np.where(wrong, X + size, X))
    ranks = np.where(np.isfinite(X), np.nan_to_num(found.scores), -np.inf)
    return {
        "recall": float(found.flags[wrong].mean()),
        "recall of the highest scores": float(
            (ranks[wrong] >= np.sort(ranks, axis=None)[-2 * int(wrong.sum())]).mean()
        ),
    }, spent["cpu"]


def untouched(data: Callable[[int], Array], seed: int) -> Result:
    """Share of readings that are flagged where none was changed."""
    X = data(seed)
    n = int(np.isfinite(X).sum())
    row, seconds = {}, 0.0
    for name, rate, causal in FALSE_ALARMS:
        model = seeded(th.TableCleaner(false_alarm_rate=rate, causal=causal), seed)
        found, spent = timed(model.clean, X)
        row[name] = float(found.flags.sum() / n)
        seconds += spent["cpu"]
    return row, seconds


FALSE_ALARMS = [
    *((f"flagged at {rate:g}", rate, False) for rate in (1e-4, 1e-3, 1e-2)),
    ("flagged at 0.001, causal", 1e-3, True),
]


def missing_values(data: Callable[[int], Array], kind: str, seed: int) -> Result:
    """Error of what is filled in, over that of linear interpolation."""
    X, rng = data(seed), np.random.default_rng(seed)
    if kind == "all sensors":
        hidden = np.zeros(X.shape, bool)
        for start in rng.choice(len(X) // 100 - 1, 3, replace=False):
            hidden[100 * start + 50 : 100 * start + 100] = True
        hidden &= np.isfinite(X)
    elif kind == "blocks of 10":
        starts = rng.random(X.shape) < 0.005
        runs = np.stack([np.roll(starts, k, axis=0) for k in range(10)])
        hidden = runs.any(axis=0) & np.isfinite(X)
    else:
        hidden = planted_gaps(X, 0.05, "scattered", rng)
    Y, scale = np.where(hidden, np.nan, X), table_scale(X)
    found, spent = timed(seeded(th.TableCleaner(), seed).clean, Y)
    empty = np.isnan(found.table) & hidden
    straight = line(Y)
    filled = np.where(empty, straight, found.table)
    inside = (found.lower <= X) & (found.upper >= X)
    error, of_line = (np.sqrt(np.mean(((Z - X) / scale)[hidden] ** 2)) for Z in (filled, straight))
    return {
        "error": float(error / of_line),
        "left missing": float(empty.sum() / hidden.sum()),
        "covered": float(inside[hidden & ~empty].mean()),
    }, spent["cpu"]


TABLES: dict[str, tuple[Callable[[int], Array], tuple[str, ...]]] = {
    "generated": (sensor_table, ()),
    "Los Angeles": (road_speeds, (ROADS,)),
    "temperature": (temperatures, (AIR,)),
}
RECALL = {"recall": SHARE, "recall of the highest scores": SHARE}
FILLED = {"error": RATIO, "left missing": Figure("lower", "share"), "covered": Figure(0.9, "share")}
FLAGGED = {name: Figure(rate, "share") for name, rate, _ in FALSE_ALARMS}
for table, (data, needs) in TABLES.items():
    name = f"TableCleaner, {table}"
    add(f"{name}, spikes", spikes, data, figures=RECALL, needs=needs)
    add(f"{name}, untouched", untouched, data, figures=FLAGGED, needs=needs)
    for kind in ("scattered", "blocks of 10", "all sensors"):
        add(f"{name}, {kind}", missing_values, data, kind, figures=FILLED, needs=needs)


def compression(data: Callable[[int], Array], parameters: dict[str, Any], seed: int) -> Result:
    """Bytes, and whether what is decompressed keeps the bound."""
    X = np.round(data(seed), 1)
    packed, spent = timed(th.SensorCodec(**parameters).compress, X)
    decoded, _ = th.SensorCodec.decompress(packed[0])
    rounding = 1e-12 * np.nanmax(np.abs(X))  # tenths are not exact in binary
    if "max_error" in parameters:
        within = np.nanmax(np.abs(decoded - X)) <= parameters["max_error"] + rounding
    else:
        error = np.sqrt(np.nansum((decoded - X) ** 2) / np.nansum(X**2))
        within = error <= max(parameters["error"], 1e-12)
    return {
        "bytes": len(packed[0]) / np.isfinite(X).sum(),
        "within the bound": float(within),
    }, spent["cpu"]


CODECS = {"lossless": {"error": 0}, "2 %": {"error": 0.02}, "at most 0.5": {"max_error": 0.5}}
PACKED = {"bytes": Figure("lower", "bytes per reading"), "within the bound": SHARE}
for table, (data, needs) in TABLES.items():
    for setting, parameters in CODECS.items():
        name = f"SensorCodec, {table}, {setting}"
        add(name, compression, data, parameters, figures=PACKED, seeds=3, needs=needs)


# ----------------------------------------------------------------------------- documents


def entering_topics(seed: int) -> list[Step]:
    X, labels = documents(seed, 1500, late=3)
    return cut(X, labels, np.arange(1500) // 150)


def shortened_tdt2(seed: int) -> list[Step]:
    """A third of the documents, in the order of time."""
    X, labels, _ = loaded(TDT2)
    rows = np.sort(np.random.default_rng(seed).permutation(len(labels))[:3000])
    return cut(X[rows], labels[rows], np.arange(3000) // 500)


def shortened_newsgroups(seed: int) -> list[Step]:
    """Every fifth step of 500 documents."""
    return without_dates(NEWSGROUPS, "enter", 500, seed)[::5]


def entering_bbc(seed: int) -> list[Step]:
    return without_dates(BBC, "enter", 200, seed)


def novelty(data: Callable[[int], list[Step]], seed: int) -> Result:
    """Documents whose topic has not occurred in a step before."""
    (first, labels), *steps = data(seed)
    detector = seeded(th.NovelDocumentDetector(), seed)
    known, new, seconds, found = set(labels.tolist()), [], 0.0, []
    detector.fit(first)
    for X, labels in steps:
        new.append(~np.isin(labels, list(known)))
        known |= set(labels.tolist())
        step, spent = timed(detector.step, X)
        found.append(step)
        seconds += spent["cpu"]
    truth = np.concatenate(new)
    flags = np.concatenate([step.novel for step in found])
    return {
        "AUC": float(roc_auc_score(truth, np.concatenate([step.scores for step in found]))),
        "AUC of p-values": float(
            roc_auc_score(truth, -np.concatenate([step.p_values for step in found]))
        ),
        "false alarms": float(flags[~truth].mean()),
        "found": float(flags[truth].mean()),
    }, seconds


NOVELTY = {
    "AUC": Figure("higher", "AUC"),
    "AUC of p-values": Figure("higher", "AUC"),
    "false alarms": Figure(0.05, "share"),
    "found": SHARE,
}
ARCHIVES: dict[str, tuple[Callable[[int], list[Step]], tuple[str, ...]]] = {
    "generated": (entering_topics, ()),
    "TDT2": (shortened_tdt2, (TDT2,)),
    "BBC News": (entering_bbc, (BBC,)),
    "20 Newsgroups": (shortened_newsgroups, (NEWSGROUPS,)),
}
for archive, (steps, needs) in ARCHIVES.items():
    name = f"NovelDocumentDetector, {archive}"
    add(name, novelty, steps, figures=NOVELTY, seeds=3, needs=needs)


def topics(model: Any, train: Any, test: Any, labels: Array) -> Result:
    """Coherence of the topics, and agreement with labels, on documents that were held out."""
    _, spent = timed(model.fit, train)
    main = model.transform(test).argmax(axis=1)
    return {
        "coherence": model.coherence(test).mean,
        "purity": purity(labels, main),
        "NMI": float(normalized_mutual_info_score(labels, main)),
    }, spent["cpu"]


def drawn_topics(seed: int) -> Result:
    X, labels = documents(seed)
    model = seeded(th.TopicModel(8, vocabulary=[f"w{j}" for j in range(X.shape[1])]), seed)
    return topics(model, X[:1000], X[1000:], labels[1000:])


def bbc_topics(seed: int) -> Result:
    texts = bbc()
    labels = np.concatenate([[c] * len(texts[c]) for c in texts])
    order = np.random.default_rng(seed).permutation(len(labels))
    shuffled = [[text for c in texts for text in texts[c]][i] for i in order]
    model = seeded(th.TopicModel(5), seed)
    return topics(model, shuffled[:1500], shuffled[1500:], labels[order][1500:])


def reports(new: bool, seed: int) -> tuple[list[str], list[str]]:
    """Ten weeks of reports on five subjects; perhaps a sixth in the last two weeks."""
    rng = np.random.default_rng(seed)
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words = ["".join(rng.choice(syllables, 3)) for _ in range(180)]
    texts, dates = [], []
    for day in range(70):
        for _ in range(12):
            late = new and day >= 56 and rng.random() < 0.12
            subject = 5 if late else int(rng.integers(5))
            chosen = np.r_[rng.integers(20, size=8) + 20 * subject, rng.integers(120, 180, 6)]
            texts.append(" ".join(words[i] for i in chosen))
            dates.append((date(2026, 3, 2) + timedelta(days=day)).isoformat())
    return texts, dates


def new_subject(vocabulary: str | None, seed: int) -> Result:
    """Whether it is reported when it begins; other events; events where there is none."""
    row, seconds = {}, 0.0
    for new in (True, False):
        model = seeded(th.TopicModel(5, vocabulary=vocabulary), seed)
        texts, dates = reports(new, seed)
        found, spent = timed(partial(model.topics_over_time, texts, dates, every="week"))
        seconds += spent["cpu"]
        late = found.steps[-2].name
        born = [e for e in found.events if e.kind == "born" and e.step >= late]
        if new:
            row |= {"found": float(bool(born)), "others": len(found.events) - bool(born)}
        else:
            row["without"] = len(found.events)
    return row, seconds


TOPICS = {
    "coherence": Figure("higher", "NPMI"),
    "purity": SHARE,
    "NMI": Figure("higher", "NMI"),
}
EVENTS = Figure("lower", "events")
NEW_SUBJECT = {"found": SHARE, "others": EVENTS, "without": EVENTS}
add("TopicModel, generated", drawn_topics, figures=TOPICS)
add("TopicModel, BBC News", bbc_topics, figures=TOPICS, seeds=3, needs=(BBC_TEXTS,))
# The command `thresher topics` lets the vocabulary grow; with the default no event was ever found.
add("TopicModel, new subject, growing words", new_subject, "grow", figures=NEW_SUBJECT)
add("TopicModel, new subject", new_subject, None, figures=NEW_SUBJECT, seeds=3)


# --------------------------------------------------------------------- spectra and sound


def unmixing(scene: Any, damage: Callable[[Array, int], Array] | None, seed: int) -> Result:
    """Endmembers of a scene with damage, and their shares in the scene without."""
    cube = scene.cube if damage is None else damage(scene.cube, seed)
    model = seeded(th.SpectralUnmixer(len(scene.endmembers)), seed)
    _, spent = timed(model.fit, cube)
    return {
        "angle": float(spectral_angles(scene.endmembers, model.endmembers_).mean()),
        "share error": share_error(scene, model.endmembers_),
    }, spent["cpu"]


def drawn_scene(name: str, damage: Any, seed: int) -> Result:
    return unmixing(make_spectral_scene(40, 40, **MADE[name], random_state=seed), damage, seed)


def samson_scene(seed: int) -> Result:
    return unmixing(samson(), mixed_pixels, seed)


SPECTRA = {"angle": Figure("lower", "radians"), "share error": Figure("lower", "RMS")}
SCENES = {"three kinds": mixed_pixels, "five, noisy": None, "no pure pixels": None,
          "dark": mixed_bands}  # fmt: skip
for name, damage in SCENES.items():
    add(f"SpectralUnmixer, {name}", drawn_scene, name, damage, figures=SPECTRA, seeds=3)
add("SpectralUnmixer, Samson", samson_scene, figures=SPECTRA, seeds=3, needs=("samson.npz",))


def separated_sound(sources: Array, rate: int, window: int, seed: int) -> Result:
    """Signal-to-distortion ratio of the best match of components and sources."""
    model = seeded(th.SoundSeparator(3, window=window, n_frames=8), seed)
    mixture = sources.sum(axis=0)
    found, spent = timed(lambda: model.fit(mixture, rate=rate).separate(mixture, rate=rate))
    return {"SDR": float(np.mean(best_match(sources, found.parts)))}, spent["cpu"]


def drawn_drums(seed: int) -> Result:
    return separated_sound(drum_samples(seed), RATE, 1024, seed)


def recorded_drums(seed: int) -> Result:
    with np.load(find_data_file("drums_808.npz")) as data:
        sources, rate = data["sources"] / 32768, int(data["sample_rate"])
    return separated_sound(sources, rate, 2048, seed)


SDR = {"SDR": Figure("higher", "dB")}
add("SoundSeparator, generated", drawn_drums, figures=SDR)
add("SoundSeparator, drums_808", recorded_drums, figures=SDR, seeds=3, needs=("drums_808.npz",))
