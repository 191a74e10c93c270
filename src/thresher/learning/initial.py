"""Where the atoms of a dictionary start."""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.learning.outlier_weight import RangeWeight
from thresher.linalg import Array, evenly
from thresher.sets import ConvexSet

_ENTRIES = 1 << 18  # that tell how large entries are: of more, some
_SEVERAL = 5.0  # times the median: 3.4 standard deviations of a normal


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
        published (paper A, VII-B1). Atoms that start nearly equal part slowly, and better where
        samples are sparse: a few documents know few of the words.
    X : array of shape (n, F)
        The first batch, missing entries zero.
    weight : array of shape (n, F) or None
        Entry weights, zero where missing.
    sample_weight : array of shape (n,)
        Samples of weight zero are never chosen.
    region : ConvexSet
        Atoms are projected onto it: the published start is not feasible (errata A.7).
    mean : array of shape (F,), optional
        The mean sample, if it is known of more samples than these.
    length : float, optional
        How long atoms are to be, where codes are bounded and cannot take the size of samples.
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
    """Root of the mean square length of samples; one if all are zero."""
    X = X.astype(np.float64)
    length = np.sqrt(np.average(np.einsum("nf,nf->n", X, X), weights=sample_weight))
    return float(length) if length > 0 else 1.0


def mean_sample(X: Array, weight: Array | None, sample_weight: Array) -> Array:
    """The mean of samples, as far as their entries were seen."""
    filled = _fill_missing(X.astype(np.float64), weight)
    mean: Array = sample_weight @ filled / sample_weight.sum()
    return mean


def positive_atoms(atoms: Array, mean: Array) -> Array:
    """Mix a tenth of the mean sample into every atom, for losses that need ``cD > 0``.

    Their steps multiply, so that an entry which starts at zero stays there.
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
        if not odds.any():  # every sample is chosen already; equal atoms would stay equal
            odds, thinned[k] = sample_weight, rng.random(X.shape[1])
        cumulated = np.cumsum(odds)
        marks = rng.random(n_trials) * cumulated[-1]
        trials = np.searchsorted(cumulated, marks, side="right").clip(max=len(X) - 1)
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
    """Choose samples spread along a random direction, thin them out, and make them unit length.

    Sorted by their projection on a random direction, samples are taken at equal distances in
    cumulated weight: a sample of weight two is chosen exactly like two equal samples, in any order
    of the rows. Whole samples resemble each other far more than parts do, and an alternating
    method cannot leave such a start; so every entry is multiplied by a uniform number, which keeps
    where a sample is bright and makes atoms different.
    """
    X = _fill_missing(X.astype(np.float64), weight)
    # A glitch far beyond the range of the data would be all that remains of a sample.
    some = evenly(X.shape, _ENTRIES)
    sizes, weights = np.abs(X.ravel()[some]), sample_weight[some // X.shape[1]]
    largest = RangeWeight().measure(sizes, weights)
    if X.min() < 0:  # signed data have gross errors on many entries, or are spread about zero
        largest = min(largest, _SEVERAL * RangeWeight(0.5).measure(sizes, weights))
    X = np.clip(X, -largest, largest)
    order = np.argsort(X @ rng.standard_normal(X.shape[1]), kind="stable")
    cumulated = np.cumsum(sample_weight[order], dtype=np.float64)
    marks = (np.arange(n_components) + rng.random(n_components)) / n_components
    chosen = order[np.searchsorted(cumulated, rng.permutation(marks) * cumulated[-1], side="right")]
    thinned = X[chosen] * rng.random((n_components, X.shape[1]))
    # A sample of zeros says nothing about a part; such an atom starts anywhere.
    empty = ~thinned.any(axis=1)
    thinned[empty] = rng.random((int(empty.sum()), X.shape[1]))
    atoms: Array = thinned / np.linalg.norm(thinned, axis=1, keepdims=True)
    return atoms


def _fill_missing(X: Array, weight: Array | None) -> Array:
    """Put the mean of the observed entries of a feature where an entry is missing."""
    if weight is None:
        return X
    observed = weight > 0
    counts = observed.sum(axis=0)
    means = np.where(counts > 0, (X * observed).sum(axis=0) / np.maximum(counts, 1), 0.0)
    return np.where(observed, X, means)
