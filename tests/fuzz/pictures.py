"""Images, faces, similarities, orthogonal dictionaries and Frank–Wolfe steps."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from fuzz import draws
from fuzz.checks import Unchanged, near, refusal, refused_or, same_bits
from thresher import (
    FaceRecognizer,
    ImageSegmenter,
    ManhattanNMF,
    SymmetricManhattanNMF,
    frank_wolfe,
)
from thresher.sets import Box, L1Ball, L2Ball, NuclearBall, Simplex, SpectralBall

Rng = np.random.Generator


# ------------------------------------------------------------------------ images


def _image(rng: Rng) -> Any:
    height, width = (int(size) for size in rng.integers(1, 24, 2))
    shape = draws.one_of(rng, (height, width), (height, width), (height, width, 3))
    image = rng.random(shape) * draws.one_of(rng, 0.01, 0.3, 1.0)
    image[: height // 2] = draws.one_of(rng, 0.0, 0.9, 1.0)
    if rng.random() < 0.3:
        return (image * 255).astype(np.uint8)
    return image.astype(draws.one_of(rng, np.float64, np.float32))


def segments_cover_the_image(rng: Rng) -> str:
    """Every pixel has a segment, in the order of appearance, and patches are never cut."""
    image = _image(rng)
    model = ImageSegmenter(
        int(rng.integers(1, 5)),
        n_components=int(rng.integers(1, 6)),
        n_superpixels=int(rng.integers(1, 120)),
        features=draws.one_of(rng, "brightness", "colour"),
        radius=draws.one_of(rng, None, 1.0, 0.05),
        random_state=int(rng.integers(100)),
        verbose=0,
    )
    with Unchanged(image):
        if refused_or(lambda: model.fit(image)) is None:
            assert not hasattr(model, "labels_"), "A refused fit left half a model."
            return "refused"
    labels, patches = model.labels_, model.superpixels_
    assert labels.shape == patches.shape == image.shape[:2], "Labels have another shape."
    found, first = np.unique(labels, return_index=True)
    same_bits(found, np.arange(len(found)), "The numbers of the segments")
    assert first[0] == 0, "The first pixel is not in the first segment."
    assert len(found) <= model.n_segments, "There are more segments than asked for."
    for patch in np.unique(patches):
        assert len(np.unique(labels[patches == patch])) == 1, "A patch was cut."
    assert np.isfinite(model.embedding_).all(), "The embedding is not finite."
    return "right"


def wrong_images_are_refused(rng: Rng) -> str:
    """Gaps, infinities and what is no image."""
    image = rng.random((8, 9))
    missing, infinite = image.copy(), image.copy()
    missing[2, 3], infinite[2, 3] = np.nan, np.inf
    bad: dict[str, Any] = {
        "missing": missing,
        "infinite": infinite,
        "negative": image - 0.5,
        "too bright": image * 300,
        "a row": image[0],
        "many": np.stack([image] * 2)[None],
        "four colours": rng.random((4, 4, 7)),
        "empty": image[:0],
        "text": np.full((3, 3), "a"),
        "nothing": None,
        "complex": image * 1j,
    }
    model = ImageSegmenter(2, random_state=0, verbose=0)
    if rng.random() < 0.5:
        model.fit(image)
    with Unchanged(model):
        refusal(lambda: model.fit(bad[draws.one_of(rng, *bad)]))
    return "refused"


def faces_get_known_names(rng: Rng) -> str:
    """Names are those that were given; pictures that were seen, and are told apart, keep theirs."""
    n, K = int(rng.integers(1, 20)), int(rng.integers(1, 4))
    F = int(rng.integers(K, 30))  # with fewer, atoms are no basis: codes and names have ties
    X = np.eye(K)[np.arange(n) % K] @ (rng.random((K, F)) + np.eye(K, F))
    X *= 1 + rng.random((n, 1))
    names = draws.one_of(rng, np.arange(K), np.array(list("abcd")), np.array([True, False] * 2))
    y = names[np.arange(n) % K]
    method = draws.one_of(rng, "codes", "projection")
    if method == "codes" and rng.random() < 0.3:
        X[rng.random(X.shape) < 0.1] = np.nan
    model = FaceRecognizer(
        ManhattanNMF(K, max_iter=20, random_state=0, verbose=0),
        method=method,
        n_neighbors=draws.one_of(rng, 1, 1, 3),
        verbose=0,
    )
    with Unchanged(X, y):
        if refused_or(lambda: model.fit(X, y)) is None:
            return "refused"
        found = model.predict(X)
    assert np.isin(found, y).all(), "A name was made up."
    alone = np.concatenate([model.predict(X[i : i + 1]) for i in range(n)])
    same_bits(alone, found, "The names of pictures alone")
    return "right"


# ------------------------------------------------------------------ similarities


def _similarities(rng: Rng, n: int) -> np.ndarray:
    H = rng.random((n, 2)) * (rng.random((n, 2)) < 0.7)
    X = H @ H.T + 0.05 * rng.random((n, n))
    X = (X + X.T) / 2
    kind = rng.integers(5)
    if kind == 0:
        X[:] = 0
    elif kind == 1:
        X[X < 0.3] = 0
    elif kind == 2:
        gaps = rng.random((n, n)) < 0.2
        X[gaps | gaps.T] = np.nan
    elif kind == 3:
        X[0] = X[:, 0] = 0
    return X


def embeddings_are_optimal_entry_by_entry(rng: Rng) -> str:
    """The objective is what the history says, never rises, and no entry of H can be bettered."""
    n = int(rng.integers(1, 15))
    X = _similarities(rng, n)
    model = SymmetricManhattanNMF(
        int(rng.integers(1, 4)),
        init=draws.one_of(rng, "squared_l2", "random"),
        tol=1e-12,
        max_iter=300,
        random_state=int(rng.integers(100)),
        verbose=0,
    )
    with Unchanged(X):
        H = model.fit_transform(draws.one_of(rng, X, X.tolist(), sparse.csr_array(X)))
    assert np.isfinite(H).all(), "The embedding is not finite."
    assert (H >= 0).all(), "The embedding is not feasible."

    def objective(H: Any) -> float:
        return float(np.nansum(np.abs(X - H @ H.T)))

    scale = np.nansum(np.abs(X)) + 1e-12
    losses = np.array([row.loss for row in model.history_])
    assert (np.diff(losses) <= 1e-9 * scale).all(), "The objective rises."
    value = objective(H)
    assert abs(losses[-1] * n - value) <= 1e-6 * scale, "The history tells another objective."
    if model.n_iter_ == model.max_iter:
        return "right"
    for _ in range(20):
        i, k = int(rng.integers(n)), int(rng.integers(H.shape[1]))
        other = H.copy()
        other[i, k] = max(0.0, H[i, k] + rng.standard_normal() * 10.0 ** rng.uniform(-4, 0))
        assert objective(other) >= value - 1e-6 * scale, "An entry of H can be bettered."
    return "right"


def scale_of_similarities_does_not_matter(rng: Rng) -> str:
    """Similarities times four to the k give an embedding times two to the k."""
    n = int(rng.integers(2, 12))
    X = _similarities(rng, n)
    power = int(rng.integers(-49, 50))
    model = SymmetricManhattanNMF(2, random_state=0, verbose=0)
    H = model.fit_transform(X)
    near(model.fit_transform(X * 4.0**power) / 2.0**power, H, 1e-6, "The embedding")
    return "right"


def wrong_similarities_are_refused(rng: Rng) -> str:
    """Not square, not symmetric, negative, infinite."""
    n = int(rng.integers(2, 10))
    X = rng.random((n, n))
    X = X + X.T
    asymmetric, negative, infinite = X.copy(), X.copy(), X.copy()
    asymmetric[0, 1] += 1
    negative[0, 1] = negative[1, 0] = -1
    infinite[0, 1] = infinite[1, 0] = np.inf
    bad = {
        "asymmetric": asymmetric,
        "negative": negative,
        "infinite": infinite,
        "not square": X[:-1],
        "a row": X[0],
        "empty": X[:0, :0],
        "text": np.full((n, n), "a"),
    }
    model = SymmetricManhattanNMF(2, random_state=0, verbose=0)
    if rng.random() < 0.7:
        model.fit(X)
    with Unchanged(model):
        if rng.random() < 0.2:
            model.set_params(init=-np.ones((n, 2)))
            refused_or(lambda: refusal(lambda: model.fit(X)))
            model.set_params(init="squared_l2")
        else:
            refusal(lambda: model.fit(bad[draws.one_of(rng, *bad)]))
    return "refused"


# ------------------------------------------------------------------- orthogonal


def orthogonal_dictionaries_are_orthogonal(rng: Rng) -> str:
    """Atoms are orthonormal, codes are products, what is kept is the largest, scores add up."""
    n, N = int(rng.integers(1, 60)), int(rng.integers(1, 9))
    X = rng.standard_normal((n, N)) * (rng.random((n, N)) < 0.5) * 10.0 ** rng.integers(-20, 21)
    model = draws.orthogonal(rng, N).set_params(whiten=False)
    if rng.random() < 0.3:
        draws.with_published_solver(model, rng)
    if refused_or(lambda: model.fit(X)) is None:
        return "refused"
    D = model.components_
    if model.solver not in ("sfw", "aodl"):
        near(D @ D.T, np.eye(N), 1e-8, "The Gram matrix")
    codes = model.transform(X)
    kept = N if model.n_nonzero is None else model.n_nonzero
    assert (np.count_nonzero(codes, axis=1) <= kept).all(), "More codes are kept than asked for."
    if model.solver in ("sfw", "aodl"):
        return "right"
    whole = X @ D.T
    least = -np.sort(-np.abs(whole), axis=1)[:, :kept]
    near(-np.sort(-np.abs(codes), axis=1)[:, :kept], least, 1e-6, "The largest codes")
    if model.n_nonzero is not None:
        left = ((X - codes @ D) ** 2).sum(axis=1) / 2
        unit = (X**2).sum(axis=1) + 1e-300
        gap = np.abs(-model.score_samples(X) - left) / unit
        assert gap.max() <= 1e-6, "Scores are not what codes leave out."
    return "right"


def frank_wolfe_stays_inside(rng: Rng) -> str:
    """Every point lies in its set, and for a convex loss the gap bounds the distance to go."""
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    radius = float(10 ** rng.uniform(-3, 3))
    region = draws.one_of(
        rng,
        Box(-radius, radius),
        L1Ball(radius),
        L2Ball(radius),
        NuclearBall(radius),
        SpectralBall(radius),
        Simplex(),
    )
    target = rng.standard_normal((n, m)) * radius
    start = region.project(rng.standard_normal((n, m)))

    def loss(X: Any) -> float:
        return float(((X - target) ** 2).sum() / 2)

    seen = []
    end = frank_wolfe(
        lambda X, t: X - target,
        region,
        start,
        averaging=lambda t: 1.0,
        step=lambda t: 2 / (t + 2),
        n_steps=200,
        callback=lambda state: seen.append((state.X, state.gap)),
    )
    best = loss(region.project(target))
    for (X, _), (_, gap) in pairwise(seen):
        assert region.contains(X, 1e-6), "A point lies outside."
        assert loss(X) - best <= gap * (1 + 1e-6) + 1e-9 * (1 + loss(X)), "The gap bounds nothing."
    assert loss(end.X) <= loss(start) + 1e-9 * (1 + loss(start)), "The loss rose."
    with Unchanged(start):
        refusal(lambda: frank_wolfe(lambda X, t: X * np.nan, region, start, n_steps=3))
        refusal(lambda: frank_wolfe(lambda X, t: X, region, start + 10 * radius + 10))
    return "right"


FAMILIES = [
    segments_cover_the_image,
    wrong_images_are_refused,
    faces_get_known_names,
    embeddings_are_optimal_entry_by_entry,
    scale_of_similarities_does_not_matter,
    wrong_similarities_are_refused,
    orthogonal_dictionaries_are_orthogonal,
    frank_wolfe_stays_inside,
]
