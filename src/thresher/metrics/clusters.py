"""How well a grouping agrees with known labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def purity(labels: ArrayLike, clusters: ArrayLike) -> float:
    r"""Share of the samples that have the commonest label of their cluster.

    .. math:: \frac1n \sum_k \max_c |\{i : z_i = k,\; y_i = c\}|

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        The true labels :math:`y`, numbers or names.
    clusters : array-like of shape (n_samples,)
        What each sample was given to, :math:`z`; for topics, ``shares.argmax(axis=1)``.

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
    true, found = np.asarray(labels), np.asarray(clusters)
    if true.ndim != 1 or true.shape != found.shape or true.size == 0:
        raise ValueError(
            "labels and clusters need one entry per sample each, "
            f"not the shapes {true.shape} and {found.shape}."
        )
    names, label = np.unique(true, return_inverse=True)
    groups, cluster = np.unique(found, return_inverse=True)
    pairs = np.bincount(cluster * len(names) + label, minlength=len(groups) * len(names))
    return float(pairs.reshape(len(groups), len(names)).max(axis=1).sum()) / true.size
