"""What the columns of a table have in common: factor analysis of rows with gaps.

A row is ``z = Λ f + e`` with K factors f ~ N(0, I) and errors e ~ N(0, diag ψ). Of a row with gaps,
only what was read counts, so that each pattern of gaps has its own, exact, answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from thresher.kernels.factor_rows import Loadings, expect, predict

_ROUNDS = 5  # of expectation and maximisation; more do no better in gaps
_MORE = 2  # rounds, from what was learned of much the same table
_STRIDE = 1.8  # steps of the rounds are so much longer: five are worth ten
_ROWS = 1500  # to learn from, spread over the table; more hardly change what is learned
_CLIP = 4.0
_LEAST = 1e-4  # of a column's variance that is its own: no column is known exactly


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
        Z, trusted = Z[::step], np.ascontiguousarray(trusted[::step])
        Z = np.where(trusted, np.clip(Z, -_CLIP, _CLIP), 0.0)
        F, K = Z.shape[1], n_factors
        w = trusted.astype(np.float64)
        goes_on = before is not None and before.loadings.shape == (F, K)
        factors = before if before is not None and goes_on else cls._started(Z, w, K)
        squares, counts = np.einsum("tj,tj->j", Z, Z), w.sum(0)
        for _ in range(_MORE if goes_on else _ROUNDS):
            codes, total, gone = factors.expected(Z, trusted)
            A = total - gone  # Σ_t E[f fᵀ] where column j was read
            B = Z.T @ codes
            L = np.linalg.solve(A + np.eye(K), B[:, :, None])[:, :, 0]
            left = squares - 2 * (L * B).sum(1) + np.einsum("jk,jkl,jl->j", L, A, L)
            own = np.maximum((left + 0.01) / (counts + 1.0), _LEAST)
            factors = factors._towards(L, own)
        return factors

    @classmethod
    def _started(cls, Z: NDArray[Any], w: NDArray[Any], K: int) -> Factors:
        """From the leading eigenvectors of the covariance of what was read together."""
        S = (Z.T @ Z) / np.maximum(w.T @ w, 1.0)
        F, whole = len(S), np.maximum(np.diag(S), _LEAST)
        values, vectors = eigh(S, subset_by_index=(F - K, F - 1))
        L = vectors * np.sqrt(np.maximum(values, 1e-6))
        return cls(L, np.maximum(whole - (L**2).sum(1), 0.05 * whole))

    def _towards(self, loadings: NDArray[Any], own: NDArray[Any]) -> Factors:
        """Beyond where a round leads; ψ on a scale of its logarithm, so that it stays positive."""
        L = self.loadings + _STRIDE * (loadings - self.loadings)
        return Factors(L, np.maximum(self.own * (own / self.own) ** _STRIDE, _LEAST))

    @cached_property
    def _for_kernels(self) -> Loadings:
        L = np.ascontiguousarray(self.loadings)
        gram = np.eye(L.shape[1]) + L.T @ (L / self.own[:, None])
        whole = np.linalg.inv(gram)
        moved = L @ whole
        by_factor = np.ascontiguousarray(L.T)
        return Loadings(L, by_factor, self.own, gram, whole, moved @ by_factor, moved)

    def expected(
        self, Z: NDArray[Any], trusted: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Each row's factors, and the sums of ``E[f fᵀ]`` of all rows and of each column's gaps.

        Z is zero where nothing was read.
        """
        told, (F, K) = self._for_kernels, self.loadings.shape
        codes = (Z / self.own) @ told.moved
        total, gone = np.zeros(K * K), np.zeros((F, K * K))
        expect(trusted, told, codes, total, gone)
        return codes, total.reshape(K, K), gone.reshape(F, K, K)

    def without_itself(self, Z: NDArray[Any], trusted: NDArray[Any]) -> Told:
        """Each entry from the others of its row, whether it was read itself or not.

        With ``Σ = Λ Λᵀ + diag ψ`` over the columns that were read, an entry that was read is
        predicted by ``z_j − (Σ⁻¹ z)_j / (Σ⁻¹)_jj``, with variance ``1 / (Σ⁻¹)_jj``: exactly what
        follows if it is left out.
        """
        Z = np.where(trusted, Z, 0.0)
        told = Told(np.empty(Z.shape), np.empty(Z.shape))
        predict(Z, np.ascontiguousarray(trusted), self._for_kernels, *told)
        return told
