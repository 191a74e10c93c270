r"""Principal component pursuit by the inexact augmented Lagrangian method.

.. math:: \min_{L, S} \|L\|_* + \lambda \|S\|_1, \qquad X = L + S

E. J. Candès, X. Li, Y. Ma, J. Wright, "Robust principal component analysis?", Journal of the ACM
58(3), 2011; Z. Lin, M. Chen, Y. Ma, "The augmented Lagrange multiplier method for exact recovery of
corrupted low-rank matrices", arXiv:1009.5055, 2010, Algorithm 5.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array, length
from thresher.low_rank.partial_svd import Decomposition, PartialSVD
from thresher.penalties.elastic_net import soft_threshold

_FIRST_PENALTY = 1.25  # μ₀‖X‖₂, and
_GROWTH = 1.5  # ρ, as in the code of Lin, Chen and Ma
DUAL_PER_PRIMAL = 100.0
"""The dual residual may be so many times the primal one: 1e-5 and 1e-7, as published."""
_EXACT = 0.1  # singular vectors are found to this share of the tolerance


class PursuitStep(NamedTuple):
    """Where the pursuit stands after a singular value decomposition."""

    low_rank: Decomposition
    outliers: Array
    dual: Array
    """Y: at the optimum a subgradient of both norms."""
    objective: float
    primal_residual: float
    """``‖X − L − S‖/‖X‖``."""
    dual_residual: float
    """``μ‖S − S_before‖/‖Y‖``."""


def default_weight(shape: tuple[int, ...], observed: float = 1.0) -> float:
    """``λ = 1/√max(n, F)``; of a share of the entries, ``1/√(share·max(n, F))`` (Theorem 1.2)."""
    return float(1 / np.sqrt(observed * max(shape)))


def pursue(
    X: Array, observed: NDArray[np.bool_] | None, weight: float, tol: float
) -> Iterator[PursuitStep]:
    """Steps of the pursuit, until both residuals are small.

    Published is a penalty μ that grows by the same factor in every step; it ends near a good point,
    not at the optimum. Here it grows where ``X = L + S`` is further off than the subgradients are,
    so that both conditions of optimality are met in the end.

    Parameters
    ----------
    X : array of shape (n, F)
        Anything where it was not observed.
    observed : array of bool of shape (n, F) or None
        Elsewhere the sparse part is free of charge, and takes what is left.
    weight : float
        λ.
    tol : float
        Of the primal residual; the dual one may be a hundred times that.
    """
    if observed is not None:
        X = np.where(observed, X, 0)
    size, svd = length(X), PartialSVD(X.shape, X.dtype)
    spectral = float(svd.estimate(X))
    if size == 0:
        yield _nothing(X)
        return
    Y = X / max(spectral, float(np.abs(X).max()) / weight)
    mu = _FIRST_PENALTY / spectral
    L, S = np.zeros_like(X), np.zeros_like(X)
    while True:
        target = X - L + Y / mu
        free = soft_threshold(target, weight / mu)
        S, before = free if observed is None else np.where(observed, free, target), S
        found = svd.above(X - S + Y / mu, 1 / mu, _EXACT * tol * size)
        found = found._replace(values=found.values - 1 / mu)
        L = found.product
        left = X - L - S
        Y += mu * left
        primal, dual = length(left) / size, mu * length(S - before) / length(Y)
        shown = S if observed is None else np.where(observed, S, 0)
        objective = float(found.values.sum()) + weight * float(np.abs(shown).sum())
        yield PursuitStep(found, shown, Y, objective, primal, dual)
        if primal <= tol and dual <= DUAL_PER_PRIMAL * tol:
            return
        if DUAL_PER_PRIMAL * primal > dual:
            mu *= _GROWTH


def _nothing(X: Array) -> PursuitStep:
    """What zeros come to."""
    none = Decomposition(X[:, :0], np.zeros(0, X.dtype), X[:0])
    return PursuitStep(none, np.zeros_like(X), np.zeros_like(X), 0.0, 0.0, 0.0)
