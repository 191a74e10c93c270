"""How well a grouping agrees with known labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import rand_score


def purity(labels: ArrayLike, clusters: ArrayLike) -> float:
    r"""Share of the samples that have the commonest label of their cluster.

    .. math:: \frac1n \sum_k \max_c |\{i : z_i = k,\; y_i = c\}|

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The true labels :math:`y`, numbers or names.
    clusters : array-like of shape (n_samples,)
        The cluster of each sample, :math:`z`; for topics, ``shares.argmax(axis=1)``.

    Returns
    -------
    float
        Above 0 and at most 1; at least the share of the commonest label. It can only grow when a
        cluster is split, so compare it at equal numbers of clusters only; scikit-learn's
        ``normalized_mutual_info_score`` charges for clusters.

    Notes
    -----
    C. D. Manning, P. Raghavan and H. Schütze, "Introduction to information retrieval", Cambridge
    University Press 2008, section 16.3.
    """
    pairs = _counts(labels, clusters)
    return float(pairs.max(axis=0).sum() / pairs.sum())


def clustering_accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    r"""Share of the samples whose cluster stands for their label, at the best one-to-one matching.

    .. math:: \max_\pi \frac1n \sum_i [\, y_i = \pi(z_i) \,]

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The true labels :math:`y`.
    clusters : array-like of shape (n_samples,)
        The cluster of each sample, :math:`z`. If there are more clusters than labels, some stand
        for no label.

    Returns
    -------
    float
        At most `purity`, for which two clusters may stand for the same label.

    Notes
    -----
    AC of W. Xu, X. Liu and Y. Gong, "Document clustering based on non-negative matrix
    factorization", SIGIR 2003, whose normalised mutual information is scikit-learn's
    ``normalized_mutual_info_score(labels, clusters, average_method="max")``. Both are the measures
    of paper C, Figures 10 and 11.
    """
    pairs = _counts(labels, clusters)
    matched = linear_sum_assignment(pairs, maximize=True)
    return float(pairs[matched].sum() / pairs.sum())


def probabilistic_rand_index(
    segmentation: ArrayLike, truths: Sequence[ArrayLike] | NDArray[Any]
) -> float:
    r"""Agreement of a segmentation with several true ones, over all pairs of pixels.

    .. math:: \binom n2^{-1} \sum_{i<j} \big( c_{ij} p_{ij} + (1 - c_{ij}) (1 - p_{ij}) \big)

    where :math:`c_{ij}` tells whether two pixels are in one segment, and :math:`p_{ij}` is the
    share of the true segmentations in which they are: the mean of the Rand indices with each.

    Parameters
    ----------
    segmentation : array-like of any shape
        A label for each pixel.
    truths : sequence of array-likes of that shape
        Segmentations, such as by several humans.

    Returns
    -------
    float
        Between 0 and 1. It is far from 0 for any segmentation: compare, do not read it by itself.

    Notes
    -----
    R. Unnikrishnan, C. Pantofaru and M. Hebert, "Toward objective evaluation of image segmentation
    algorithms", PAMI 29(6), 2007.
    """
    found = np.asarray(segmentation)
    others = [np.asarray(truth) for truth in truths]
    if not others or any(other.shape != found.shape for other in others):
        raise ValueError(
            f"truths needs one segmentation at least, and each of the shape {found.shape}; got "
            f"{[other.shape for other in others]}."
        )
    return float(np.mean([rand_score(other.ravel(), found.ravel()) for other in others]))


def _counts(labels: ArrayLike, clusters: ArrayLike) -> NDArray[np.int64]:
    """How many samples of each label (rows) are in each cluster (columns)."""
    true, found = np.asarray(labels), np.asarray(clusters)
    if true.ndim != 1 or true.shape != found.shape or true.size == 0:
        raise ValueError(
            "labels and clusters need one entry per sample each, "
            f"not the shapes {true.shape} and {found.shape}."
        )
    names, label = np.unique(true, return_inverse=True)
    groups, cluster = np.unique(found, return_inverse=True)
    pairs = np.bincount(label * len(groups) + cluster, minlength=len(names) * len(groups))
    return pairs.reshape(len(names), len(groups))
