"""How well atoms were recovered, and how sparse they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment


def factor_match_score(true: ArrayLike, estimated: ArrayLike) -> float:
    r"""Mean absolute cosine between true atoms and their best one-to-one partners.

    .. math::

        \frac1K \max_\pi \sum_{k=1}^K
        \frac{|\langle d_k, \hat d_{\pi(k)} \rangle|}{\|d_k\|_2 \|\hat d_{\pi(k)}\|_2}

    Order, sign and positive scale of the atoms, which no factorisation can determine, do not
    matter.

    Parameters
    ----------
    true : array-like of shape (n_components, n_features)
        The K true atoms, one per row.
    estimated : array-like of shape (n_estimated, n_features)
        The estimated atoms. The number may differ: a true atom without a partner scores 0, and
        surplus estimated atoms cost nothing.

    Returns
    -------
    float
        Between 0 and 1; 1 if every true atom was found. A zero atom scores 0.
    """
    return float(matched_cosines(true, estimated).mean())


def matched_cosines(true: ArrayLike, estimated: ArrayLike) -> NDArray[np.float64]:
    """For each true atom the absolute cosine with its partner, as in `factor_match_score`.

    Returns
    -------
    array of shape (n_components,)
        Zero for an atom without a partner.
    """
    true_atoms = _unit_rows(true, "true")
    estimated_atoms = _unit_rows(estimated, "estimated")
    if true_atoms.shape[1] != estimated_atoms.shape[1]:
        raise ValueError(
            "true and estimated atoms must have the same number of features (columns), "
            f"but these have {true_atoms.shape[1]} and {estimated_atoms.shape[1]}."
        )
    cosines = np.minimum(np.abs(true_atoms @ estimated_atoms.T), 1.0)
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    found = np.zeros(len(true_atoms))
    found[rows] = cosines[rows, columns]
    return found


def hoyer_sparseness(X: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    r"""Hoyer's sparseness of every vector along an axis.

    .. math:: \frac{\sqrt n - \|x\|_1 / \|x\|_2}{\sqrt n - 1}

    Parameters
    ----------
    X : array-like
        For a dictionary, the default axis gives the sparseness of each atom.
    axis : int
        The axis along which the vectors lie; n is its length.

    Returns
    -------
    ndarray
        The shape of ``X`` without ``axis`` (0-dimensional for a vector). 1 if a single entry is
        nonzero, 0 if all have the same magnitude. Where the formula is 0/0, that is for a zero
        vector and for n = 1, the value is 0: such a vector has nothing to concentrate.

    Notes
    -----
    Hoyer, "Non-negative matrix factorization with sparseness constraints", JMLR 5 (2004),
    section 3.1.
    """
    magnitudes = np.abs(_real_finite(X, "X"))
    if not -magnitudes.ndim <= axis < magnitudes.ndim:
        raise ValueError(f"axis {axis} does not exist: X has {magnitudes.ndim} dimension(s).")
    length = magnitudes.shape[axis]
    if length == 0:
        raise ValueError("X has no entries along this axis: give vectors of length >= 1.")
    scaled = _over_largest(magnitudes, axis)
    l1_norm = scaled.sum(axis=axis)
    l2_norm = np.sqrt(np.square(scaled).sum(axis=axis))
    if length == 1:
        return np.zeros(l1_norm.shape)
    # A zero vector gets the ratio of a constant one, hence 0.
    root = np.sqrt(length)
    ratio = np.divide(l1_norm, l2_norm, out=np.full(l1_norm.shape, root), where=l2_norm > 0)
    return np.asarray(np.clip((root - ratio) / (root - 1), 0, 1))


def _unit_rows(atoms: ArrayLike, name: str) -> NDArray[np.float64]:
    """Rows divided by their ℓ2 norm; zero rows stay zero."""
    matrix = _real_finite(atoms, name)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(
            f"{name} must be a nonempty matrix with one atom per row, not of shape {matrix.shape}."
        )
    scaled = _over_largest(matrix, axis=1)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(np.divide(scaled, norms, out=np.zeros_like(scaled), where=norms > 0))


def _over_largest(vectors: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Divide vectors by their largest magnitude, so that their squares neither over- nor underflow.

    Zero vectors stay zero.
    """
    largest = np.abs(vectors).max(axis=axis, keepdims=True)
    return np.asarray(np.divide(vectors, largest, out=np.zeros_like(vectors), where=largest > 0))


def _real_finite(values: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.dtype.kind not in "buif":
        raise ValueError(f"{name} must be a dense array of real numbers, not of {array.dtype}.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite: leave out missing or infinite entries first.")
    return array
