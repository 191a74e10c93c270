"""Figure 3 and Table VIII of paper E (Zhao, Tan and Xu): shadows and noise on faces.

Faces of four subjects of Extended Yale B under 64 lights, 32 × 32. Numbers from U(-255, 255) are
added to 30 % of the pixels, clipped to [0, 255]; the contaminated images are repeated and shuffled,
alike (VIII-F) or each with new noise (VIII-B). All 64 are then coded with the final dictionary. Two
measures, because removing shadows is a departure from the clean image: ``psnr`` over pixels that
are *not* in shadow, and ``lift``, the mean of reconstruction / (median of the pixel over the
subject's clean images) over pixels in shadow: 0 is black, 1 as bright as that pixel usually is.
Noise that is left raises it too (it is 0.37 for the contaminated images), so compare it at equal
``psnr``. A pixel is in shadow if it has less than a quarter of its median, which is at least 40;
counted in images of at least half the usual brightness, so that a dark image is not a shadow.

Faces may not be redistributed: no picture is written.
"""

import numpy as np
from benchmarks.common import Row
from benchmarks.reproduce.paper_e_synthetic import BATCH, fit

from thresher.datasets import load_faces
from thresher.linalg import Array

SHADOW, BRIGHT, LIT_IMAGE = 0.25, 40.0, 0.5
FACE_BATCH = 10  # 1e-4 N for the 96 000 images of the paper, whatever N is here
THRESHOLD = 5.0  # grey levels; not stated
SUBJECTS = {"A": 0, "B": 1, "C": 4, "D": 6}
FACE_METHODS = ("auto", "spsgd", "ol_wang", "mu")


def load_subject(subject: int) -> Array:
    stored = load_faces("yale_b")
    images = stored.images[stored.labels == subject]
    return images.reshape(len(images), -1).astype(np.float64)


def contaminate(clean: Array, rng: np.random.Generator) -> Array:
    """Add U(-255, 255) to exactly 30 % of the pixels of every image, and clip."""
    n, F = clean.shape
    chosen = np.argsort(rng.random((n, F)), axis=1) < round(0.3 * F)
    return np.clip(clean + chosen * rng.uniform(-255, 255, (n, F)), 0, 255)


def shadows(clean: Array) -> tuple[Array, Array]:
    """Which pixels are in shadow, and the median of every pixel."""
    median = np.median(clean, axis=0)
    lit = clean.mean(axis=1, keepdims=True) >= LIT_IMAGE * median.mean()
    return (clean < SHADOW * median) & (median >= BRIGHT) & lit, median


def face_measures(images: Array, clean: Array) -> dict[str, float]:
    dark, median = shadows(clean)
    error = max(float(np.mean((np.clip(images, 0, 255) - clean)[~dark] ** 2)), 1e-9)
    ratio = (np.clip(images, 0, 255) / np.maximum(median, 1))[dark]
    return {"psnr": 10 * np.log10(255**2 / error), "lift": float(ratio.mean())}


def faces(letter: str, n_components: int, fresh: bool, n_copies: int, seconds: float) -> Row:
    """What every method makes of the images of a subject."""
    subject = SUBJECTS[letter]
    clean = load_subject(subject)
    rng = np.random.default_rng(subject)
    noisy = contaminate(clean, rng)
    copies = [
        (contaminate(clean, rng) if fresh else noisy).astype(np.float32) for _ in range(n_copies)
    ]
    X = rng.permutation(np.concatenate(copies))
    result = {"clean": face_measures(clean, clean), "contaminated": face_measures(noisy, clean)}
    for method in FACE_METHODS:
        model, watch = fit(
            X,
            method,
            "huber",
            subject,
            seconds,
            parameter=THRESHOLD,
            n_components=n_components,
            batch_size=BATCH if method == "auto" else FACE_BATCH,
        )
        spent, samples, _ = watch.looks.kept[-1]
        row = face_measures(model.transform(noisy) @ model.components_, clean)
        result[method] = row | {"seconds": spent, "samples": samples}
    return {
        kind: {key: float(f"{value:.4g}") for key, value in row.items()}
        for kind, row in result.items()
    }
