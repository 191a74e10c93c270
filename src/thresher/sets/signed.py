"""Balls of signed rows, one for every row; the ℓ∞ ball is ``Box(−r, r)``."""

from dataclasses import dataclass

import numpy as np

from thresher.linalg import Array
from thresher.sets.base import OracleSet, check_radius
from thresher.sets.simplex import project_rows_on_simplex


@dataclass(frozen=True)
class L2Ball(OracleSet):
    """Rows of Euclidean length at most ``radius``."""

    radius: float = 1.0

    nonnegative = False

    def __post_init__(self) -> None:
        check_radius("an ℓ2 ball", self.radius)

    def project(self, V: Array) -> Array:
        """Shorten rows that are too long."""
        length = np.linalg.norm(V, axis=1, keepdims=True)
        P: Array = V / np.maximum(length / self.radius, 1).astype(V.dtype)
        return P

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """``−r g/‖g‖`` in every row."""
        length = np.linalg.norm(G, axis=1, keepdims=True)
        S: Array = -self.radius * np.divide(G, length, out=np.zeros_like(G), where=length > 0)
        return S


@dataclass(frozen=True)
class L1Ball(OracleSet):
    """Rows whose absolute values sum to at most ``radius``."""

    radius: float = 1.0

    nonnegative = False

    def __post_init__(self) -> None:
        check_radius("an ℓ1 ball", self.radius)

    def project(self, V: Array) -> Array:
        """Project the absolute values of rows outside on the simplex; signs stay."""
        P = V.copy()
        outside = np.abs(V).sum(axis=1) > self.radius
        shrunk = project_rows_on_simplex(np.abs(V[outside]), self.radius)
        P[outside] = np.copysign(shrunk, V[outside])
        return P

    def minimise_linear(self, G: Array, near: Array | None = None) -> Array:
        """All weight of a row where ``|g|`` is largest, with the other sign."""
        S = np.zeros_like(G)
        rows, largest = np.arange(len(G)), np.abs(G).argmax(axis=1)
        S[rows, largest] = -self.radius * np.sign(G[rows, largest])
        return S
