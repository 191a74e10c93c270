"""What the columns of a table have in common: factor analysis of rows with gaps.

A row is ``z = Λ f + e`` with K factors f ~ N(0, I) and errors e ~ N(0, diag ψ). Of a row with gaps,
only what was read counts, so that each pattern of gaps has its own, exact, answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 10  # of expectation and maximisation; by then loadings hardly move
_MORE = 3  # rounds, from what was learned of much the same table
_ROWS = 1500  # to learn from, spread over the table; more hardly change what is learned
_LEAST = 1e-4  # of a column's variance that is its own: no column is known exactly
_CHUNK = 2048  # rows at a time: the posteriors of a row are K × K


class Told(NamedTuple):
    """What the other columns say of each entry."""

    mean: NDArray[Any]
    variance: NDArray[Any]


@dataclass(frozen=True)
class Factors:
    """Loadings Λ (F × K) and the variance ψ (F) of what each column has for itself."""

    loadings: NDArray[Any]
    own: NDArray[Any]

    @classmethod
    def learned(
        cls, Z: NDArray[Any], trusted: NDArray[Any], n_factors: int, before: Factors | None = None
    ) -> Factors:
        """By expectation–maximisation from standardised columns.

        Each loading has a standard normal prior, which decides where a column has few readings.
        """
        step = max(len(Z) // _ROWS, 1)
        Z, trusted = Z[::step], trusted[::step]
        w = trusted.astype(np.float64)
        Z = np.where(trusted, np.clip(Z, -4.0, 4.0), 0.0)
        n, K = len(Z), n_factors
        goes_on = before is not None and before.loadings.shape == (Z.shape[1], K)
        factors = before if before is not None and goes_on else cls._started(Z, w, K)
        for _ in range(_MORE if goes_on else _ROUNDS):
            f, C, pattern = factors._posterior(Z, w)
            moments = (C[pattern] + f[:, :, None] * f[:, None, :]).reshape(n, K * K)
            A = (w.T @ moments).reshape(-1, K, K)  # Σ_t E[f fᵀ] where column j was read
            B = Z.T @ f
            L = np.linalg.solve(A + np.eye(K), B[:, :, None])[:, :, 0]
            left = (Z**2).sum(0) - 2 * (L * B).sum(1) + np.einsum("jk,jkl,jl->j", L, A, L)
            own = np.maximum((left + 0.01) / (w.sum(0) + 1.0), _LEAST)
            factors = cls(L, own)
        return factors

    @classmethod
    def _started(cls, Z: NDArray[Any], w: NDArray[Any], K: int) -> Factors:
        """From the leading eigenvectors of the covariance of what was read together."""
        S = (Z.T @ Z) / np.maximum(w.T @ w, 1.0)
        values, vectors = np.linalg.eigh(S)
        L = vectors[:, ::-1][:, :K] * np.sqrt(np.maximum(values[::-1][:K], 1e-6))
        return cls(L, np.maximum(np.diag(S) - (L**2).sum(1), 0.05))

    def _posterior(
        self, Z: NDArray[Any], w: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Mean of each row's factors; their covariance for each pattern of gaps; whose is which.

        ``C = (I + Λᵀ ψ⁻¹ Λ)⁻¹`` and ``f = C Λᵀ ψ⁻¹ z``, over the columns that were read.
        """
        K = self.loadings.shape[1]
        scaled = self.loadings / self.own[:, None]
        kinds, pattern = _patterns(w)
        products = (scaled[:, :, None] * self.loadings[:, None, :]).reshape(-1, K * K)
        C = np.linalg.inv((kinds @ products).reshape(-1, K, K) + np.eye(K))
        f = np.matmul(C[pattern], (Z @ scaled)[:, :, None])[:, :, 0]
        return f, C, pattern

    def without_itself(self, Z: NDArray[Any], trusted: NDArray[Any]) -> Told:
        """Each entry from the others of its row, whether it was read itself or not.

        With ``Σ = Λ Λᵀ + diag ψ`` over the columns that were read, an entry that was read is
        predicted by ``z_j − (Σ⁻¹ z)_j / (Σ⁻¹)_jj``, with variance ``1 / (Σ⁻¹)_jj``: exactly what
        follows if it is left out.
        """
        mean, variance = np.empty(Z.shape), np.empty(Z.shape)
        for start in range(0, len(Z), _CHUNK):
            rows = slice(start, start + _CHUNK)
            mean[rows], variance[rows] = self._told(Z[rows], trusted[rows])
        return Told(mean, variance)

    def _told(self, Z: NDArray[Any], trusted: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        L, own = self.loadings, self.own
        Z = np.where(trusted, Z, 0.0)
        f, C, pattern = self._posterior(Z, trusted.astype(np.float64))
        common = f @ L.T
        spread = np.einsum("pjk,jk->pj", np.matmul(L, C), L)[pattern]  # λ_jᵀ C λ_j
        precision = np.maximum(1 / own - spread / own**2, 1e-12)
        mean = np.where(trusted, Z - (Z - common) / (own * precision), common)
        return mean, np.where(trusted, 1 / precision, spread + own)


def _patterns(w: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The different rows of a table of zeros and ones, and which row is which of them."""
    packed = np.packbits(w.astype(bool), axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    return w[first], pattern.ravel()
