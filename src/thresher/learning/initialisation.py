"""Initial atoms of a dictionary, from samples of the first batch or at random.

Medians are for the ℓ1 distance. The mean of some documents has all of their words and is not close
to any of them, so zero codes are often optimal. Their median has the words of more than half of
them, and minimises the sum of distances.
"""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.learning.outlier_weight import RangeWeight
from thresher.linalg import Array, evenly
from thresher.sets import ConvexSet

_MAX_ENTRIES = 1 << 18  # a subset of so many entries measures their range
_MAX_MEDIANS = 5.0  # of signed data: 3.4 standard deviations of a normal distribution
_CLUSTERING_STEPS = 5  # of medians; heuristic


def initial_atoms(
    kind: str,
    n_components: int,
    X: Array,
    weight: Array | None,
    sample_weight: Array,
    region: ConvexSet,
    rng: np.random.Generator,
    mean: Array | None = None,
    length: float | None = None,
) -> Array:
    """Make ``n_components`` feasible atoms.

    Parameters
    ----------
    kind : {"samples", "k-means++", "mean", "uniform", "half-normal"}
        Samples of the first batch, their mean with a tenth of noise, or random entries as
        published (paper A, VII-B1). Nearly equal atoms separate slowly, but are better for
        sparse samples, because a few documents contain few of the words.
    X : array of shape (n, F)
        The first batch, missing entries zero.
    weight : array of shape (n, F) or None
        Entry weights, zero where missing.
    sample_weight : array of shape (n,)
        Samples of weight zero are never chosen.
    region : ConvexSet
        Atoms are projected onto it: the published start is not feasible (errata A.7).
    mean : array of shape (F,), optional
        The mean sample, if it is known from more samples than these.
    length : float, optional
        Length of the atoms, where codes are bounded and cannot scale them to the samples.
    """
    F = X.shape[1]
    if kind == "uniform":
        atoms: Array = rng.random((n_components, F))
    elif kind == "half-normal":
        atoms = np.abs(rng.standard_normal((n_components, F)))
    elif kind == "mean":
        mean = mean_sample(X, weight, sample_weight) if mean is None else mean
        mean = mean + 1e-2 * (mean.mean() if mean.any() else 1.0)
        atoms = mean * (0.9 + 0.1 * rng.random((n_components, F))) / np.linalg.norm(mean)
    elif kind == "k-means++":
        atoms = _seeds(
            n_components, _fill_missing(X.astype(np.float64), weight), sample_weight, rng
        )
    elif kind == "samples":
        atoms = _spread_samples(n_components, X, weight, sample_weight, rng)
        atoms = np.abs(atoms) if region.nonnegative else atoms
    else:
        raise ValueError(
            f"init={kind!r} is not known; use 'samples', 'uniform', 'half-normal' or an array."
        )
    if length is not None:
        atoms *= length / np.sqrt(np.mean(np.einsum("kf,kf->k", atoms, atoms)))
    return region.project(atoms)


def sample_length(X: Array, sample_weight: Array) -> float:
    """Root mean square length of samples; one if all are zero."""
    X = X.astype(np.float64)
    length = np.sqrt(np.average(np.einsum("nf,nf->n", X, X), weights=sample_weight))
    return float(length) if length > 0 else 1.0


def mean_sample(X: Array, weight: Array | None, sample_weight: Array) -> Array:
    """Mean sample, with missing entries imputed by means of features."""
    filled = _fill_missing(X.astype(np.float64), weight)
    mean: Array = sample_weight @ filled / sample_weight.sum()
    return mean


def positive_atoms(atoms: Array, mean: Array) -> Array:
    """Mix a tenth of the mean sample into every atom, for losses that need ``cD > 0``.

    Multiplicative steps could not leave zero.
    """
    mean = mean + 1e-3 * (mean.mean() if mean.any() else 1.0)
    sizes = atoms.sum(axis=1, keepdims=True)
    mixed: Array = 0.9 * atoms + 0.1 * sizes * mean / mean.sum()
    return mixed


def _seeds(n_components: int, X: Array, sample_weight: Array, rng: np.random.Generator) -> Array:
    """Choose samples far from each other: greedy k-means++ under the KL divergence.

    With profiles ``p = .9 x/Σx + .1 m``, m the mean profile, a sample is drawn with probability
    proportional to its weighted divergence from the nearest profile chosen so far,
    ``min_k Σ_f x_f log(p_f/p_kf)``. Only ``L = log(p/(.1 m))`` matters, which is zero where x is.
    Of ``2 + log K`` such candidates, the one that leaves the smallest sum of divergences is kept
    (as in scikit-learn's k-means). Duplicates of a sample have divergence zero, so disjoint groups
    of features get an atom each. Samples are sorted along a random direction first, so that neither
    their order nor their repetition matters.
    """
    order = np.argsort(X @ rng.standard_normal(X.shape[1]), kind="stable")
    X, sample_weight = X[order], sample_weight[order]
    np.maximum(X, 0, out=X)
    mass = X.sum(axis=1)
    mean = sample_weight @ X
    if not mean.any():
        return rng.random((n_components, X.shape[1]))
    mean = mean + 1e-3 * mean.mean()
    by_row, by_feature = 9 / np.where(mass > 0, mass, 1), mean.sum() / mean
    rows: Any = X
    if np.count_nonzero(X) < X.size / 4:
        rows = sparse.csr_array(X)
        L: Any = rows.copy()
        L.data *= np.repeat(by_row, np.diff(rows.indptr)) * by_feature[rows.indices]
        np.log1p(L.data, out=L.data)
    else:
        L = X * by_row[:, None]
        L *= by_feature
        np.log1p(L, out=L)
    n_trials = 2 + int(np.log(n_components))
    nearest = np.full(len(X), np.inf)
    own: Array = np.asarray((rows * L).sum(axis=1))
    rounding = 1e-12 * sample_weight * mass
    chosen: list[int] = []
    thinned = np.ones((n_components, X.shape[1]))
    for k in range(n_components):
        odds = sample_weight * mass if not chosen else nearest
        if not odds.any():  # all samples are chosen; equal atoms would stay equal
            odds, thinned[k] = sample_weight, rng.random(X.shape[1])
        cumulated = np.cumsum(odds)
        quantiles = rng.random(n_trials) * cumulated[-1]
        trials = np.searchsorted(cumulated, quantiles, side="right").clip(max=len(X) - 1)
        logs = L[trials] if rows is X else L[trials].toarray()
        far = sample_weight[:, None] * (own[:, None] - rows @ logs.T)
        far = np.minimum(nearest[:, None], np.where(far > rounding[:, None], far, 0))
        best = int(np.argmin(far.sum(axis=0)))
        chosen.append(int(trials[best]))
        nearest = far[:, best]
    atoms: Array = thinned * X[chosen] / np.where(mass > 0, mass, 1)[chosen, None]
    empty = ~atoms.any(axis=1)
    atoms[empty] = mean / mean.sum()
    return atoms


def _spread_samples(
    n_components: int,
    X: Array,
    weight: Array | None,
    sample_weight: Array,
    rng: np.random.Generator,
) -> Array:
    """Choose samples spread along a random direction, thinned at random, of unit length.

    Sorted by their projection on a random direction, samples are taken at equal distances in
    cumulated weight: a sample of weight two is chosen exactly like two equal samples, in any order
    of the rows. Samples are far more similar to each other than components, and alternating
    methods stay near such a start. So every entry is multiplied by a uniform random number, which
    keeps the support of a sample and makes atoms different.
    """
    X = _fill_missing(X.astype(np.float64), weight)
    # After scaling to unit length, an anomaly far beyond the range would dominate its sample.
    some = evenly(X.shape, _MAX_ENTRIES)
    sizes, weights = np.abs(X.ravel()[some]), sample_weight[some // X.shape[1]]
    largest = RangeWeight().measure(sizes, weights)
    if X.min() < 0:  # signed data: gross errors in many entries, or values spread around zero
        largest = min(largest, _MAX_MEDIANS * RangeWeight(0.5).measure(sizes, weights))
    X = np.clip(X, -largest, largest)
    order = np.argsort(X @ rng.standard_normal(X.shape[1]), kind="stable")
    cumulated = np.cumsum(sample_weight[order], dtype=np.float64)
    quantiles = (np.arange(n_components) + rng.random(n_components)) / n_components
    weights = rng.permutation(quantiles) * cumulated[-1]
    chosen = order[np.searchsorted(cumulated, weights, side="right")]
    thinned = X[chosen] * rng.random((n_components, X.shape[1]))
    # Samples of zeros give no direction: such atoms are random.
    empty = ~thinned.any(axis=1)
    thinned[empty] = rng.random((int(empty.sum()), X.shape[1]))
    atoms: Array = thinned / np.linalg.norm(thinned, axis=1, keepdims=True)
    return atoms


def _fill_missing(X: Array, weight: Array | None) -> Array:
    """Impute missing entries by the mean of the observed entries of their feature."""
    if weight is None:
        return X
    observed = weight > 0
    counts = observed.sum(axis=0)
    means = np.where(counts > 0, (X * observed).sum(axis=0) / np.maximum(counts, 1), 0.0)
    return np.where(observed, X, means)


# ---------------------------------------------------------------------- medians


def median_atoms(
    n_components: int, X: Any, sample_weight: Array, rng: np.random.Generator
) -> Array:
    """Make atoms that are medians of clusters of documents, with entries that sum to one.

    Clusters start from documents drawn one by one, with probabilities that decrease with their
    similarity to those drawn before; a document belongs to the atom with the largest cosine. A
    cluster whose median is zero is represented by its medoid.

    Parameters
    ----------
    X : CSR of shape (n, F)
        Nonnegative documents of any length; the cost is proportional to their nonzeros.
    sample_weight : array of shape (n,)
        Documents of weight zero are ignored.
    """
    documents = sparse.csr_array(X, dtype=np.float64)
    sums = np.asarray(documents.sum(axis=1)).ravel()
    kept = np.flatnonzero((sums > 0) & (sample_weight > 0))
    if not kept.size:
        return _sum_to_one(rng.random((n_components, X.shape[1])))
    documents = sparse.csr_array(sparse.diags_array(1 / sums[kept]) @ documents[kept])
    weights = sample_weight[kept].astype(np.float64)
    unit = _unit(documents)
    seeds = _spread(n_components, unit, weights, rng)
    groups = documents[seeds]
    for _ in range(_CLUSTERING_STEPS):
        cosines = (unit @ _unit(groups).T).toarray()
        nearest = np.where(cosines.max(axis=1) > 0, cosines.argmax(axis=1), -1)
        found = [
            _centre(documents[nearest == k], unit[nearest == k], weights[nearest == k])
            for k in range(len(seeds))
        ]
        # An empty cluster keeps its atom.
        rows = [groups[[k]] if row is None else row for k, row in enumerate(found)]
        groups = sparse.csr_array(sparse.vstack(rows))
    atoms: Array = groups.toarray()
    if len(atoms) < n_components:  # too few documents: copies, thinned at random
        more = atoms[rng.integers(len(atoms), size=n_components - len(atoms))]
        atoms = np.concatenate([atoms, more * rng.random(more.shape)])
    return _sum_to_one(atoms)


def _sum_to_one(rows: Array) -> Array:
    shares: Array = rows / rows.sum(axis=1, keepdims=True)
    return shares


def _unit(rows: Any) -> Any:
    """Rows of Euclidean length one."""
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / lengths) @ rows)


def _spread(count: int, unit: Any, weights: Array, rng: np.random.Generator) -> list[int]:
    """Indices of at most ``count`` dissimilar rows.

    Rows are sorted by their content, so that neither their order nor repetition matters: a row of
    weight two is drawn exactly like two equal rows.
    """
    order = np.argsort(unit @ rng.standard_normal(unit.shape[1]), kind="stable")
    chosen: list[int] = []
    far = np.ones(len(weights))
    for quantile in rng.random(count):
        cumulated = np.cumsum((weights * far)[order])
        if not cumulated[-1] > 1e-9 * weights.sum():
            break  # all documents are represented
        place = np.searchsorted(cumulated, quantile * cumulated[-1], side="right")
        chosen.append(int(order[min(place, len(order) - 1)]))
        cosine = (unit @ unit[[chosen[-1]]].T).toarray().ravel()
        far = np.minimum(far, np.maximum(1 - cosine, 0))
    return chosen


def _centre(documents: Any, unit: Any, weights: Array) -> Any:
    """The median of some documents, or their medoid if it is zero; None without documents."""
    if not len(weights):
        return None
    median = weighted_median(documents, weights)
    if median.nnz:
        return median
    total = unit.T @ weights
    return documents[[int(np.argmax(unit @ total))]]


def weighted_median(rows: Any, weights: Array) -> Any:
    """The weighted median of every column of sparse nonnegative rows, as a sparse row.

    It is the largest value that rows of more than half of the weight reach; so it is zero in
    columns that are zero in half of the rows, which are skipped.
    """
    half = weights.sum() / 2
    seen = (rows != 0).T @ weights
    columns = np.flatnonzero(seen > half)
    values = rows[:, columns].toarray()
    falling = np.argsort(-values, axis=0, kind="stable")
    reached = np.cumsum(weights[falling], axis=0) > half
    place = np.take_along_axis(falling, reached.argmax(axis=0)[None], axis=0)
    median = np.take_along_axis(values, place, axis=0)[0]
    shape = (1, rows.shape[1])
    return sparse.csr_array((median, (np.zeros(len(columns), dtype=int), columns)), shape=shape)
