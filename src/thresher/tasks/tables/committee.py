"""Each column from others of its row, by several small regressions whose mean is taken.

While a sensor is off for weeks, the others meet what they never saw, and one regression on all of
them errs far. Each member of a committee knows only some columns, drawn at random, those like the
column sooner than others; their errors are their own, and mostly cancel. The weights of a member
are a ridge regression's,

    w = (G + (λ/α) I)⁻¹ b,    G = Xᵀ X,  b = Xᵀ y,  centred, over rows where the column was read,

with the precisions α of the noise and λ of the weights that make what was read the most likely:

    γ = Σ_i α s_i / (λ + α s_i),    λ = γ / |w|²,    α = (n − γ) / |y − X w|²,

with the eigenvalues s of G (MacKay 1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_MEMBERS = 8  # of a committee; 16 did hardly better on humidity, dust and speeds
_COLUMNS = 20  # that a member knows; 10 and 30 did hardly worse
_ROUNDS = 30  # of finding λ and α
_ROWS = 1500  # to learn from, spread over the table
_LEAST = 1e-6  # so that columns that never change divide nothing


@dataclass(frozen=True)
class Committee:
    """Mean weights of all members: a column is ``offset + weights @ row``."""

    weights: Any  # F × F, CSR, zero on the diagonal
    offset: NDArray[Any]
    drawn: NDArray[Any]  # F × members × columns that one knows
    ridge: NDArray[Any]  # F × members: λ/α

    @classmethod
    def learned(
        cls, filled: NDArray[Any], trusted: NDArray[Any], before: Committee | None = None
    ) -> Committee:
        """From rows whose gaps are filled; a column is learned only where it was trusted.

        If a committee learned ``before`` from much the same rows, its members know the same
        columns, and have their ridges.
        """
        step = max(len(filled) // _ROWS, 1)
        filled, trusted = filled[::step], trusted[::step]
        n, F = filled.shape
        size = min(_COLUMNS, F - 1)
        gram, total = filled.T @ filled, filled.sum(0)
        drawn = _all_drawn(gram / n, total / n, size) if before is None else before.drawn
        G, b = np.empty((F, _MEMBERS, size, size)), np.empty((F, _MEMBERS, size))
        y, counts, means = np.empty((F, 1)), np.empty((F, 1)), np.empty((F, F))
        for j in range(F):
            away = filled[~trusted[:, j]]
            counts[j] = count = max(n - len(away), 1)
            means[j] = mean = (total - away.sum(0)) / count
            some = drawn[j]
            own = gram[j] - away[:, j] @ away - count * mean[j] * mean
            y[j], b[j] = max(own[j], 0.0), own[some]
            few, middle = away[:, some].transpose(1, 2, 0), mean[some]
            inner = gram[some[:, :, None], some[:, None, :]] - few @ few.transpose(0, 2, 1)
            G[j] = inner - count * middle[:, :, None] * middle[:, None, :]
        if before is None:
            w, ridge = likeliest_weights(G, b, y, counts)
        else:
            ridge = before.ridge
            w = np.linalg.solve(G + ridge[..., None, None] * np.eye(size), b[..., None])[..., 0]
        w = w / _MEMBERS
        rows = np.repeat(np.arange(F), _MEMBERS * size)
        weights = sparse.csr_array((w.ravel(), (rows, drawn.ravel())), shape=(F, F))
        each = means[np.arange(F)[:, None], drawn.reshape(F, -1)]
        guess = np.einsum("ji,ji->j", w.reshape(F, -1), each)
        return cls(weights, np.diagonal(means) - guess, drawn, ridge)

    def said(self, filled: NDArray[Any]) -> NDArray[Any]:
        """What the committees make of every entry of rows whose gaps are filled."""
        return np.asarray((self.weights @ filled.T).T + self.offset)


def likeliest_weights(
    G: NDArray[Any], b: NDArray[Any], y: NDArray[Any], n: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weights and λ/α at the likeliest α and λ, for many regressions at once; ``y`` is |y|²."""
    s, V = np.linalg.eigh(G)
    s = np.maximum(s, 0.0)
    q = np.einsum("...ij,...i->...j", V, b)
    y, n = np.maximum(y, _LEAST)[..., None], n[..., None]
    alpha, lam = n / y, np.ones(y.shape)
    for _ in range(_ROUNDS):
        known = alpha * s / (lam + alpha * s)
        w = alpha * q / (lam + alpha * s)
        gamma = known.sum(-1, keepdims=True)
        left = y - 2 * (w * q).sum(-1, keepdims=True) + (s * w * w).sum(-1, keepdims=True)
        lam = (gamma + _LEAST) / ((w * w).sum(-1, keepdims=True) + _LEAST)
        alpha = (np.maximum(n - gamma, 0.0) + _LEAST) / (np.maximum(left, 0.0) + _LEAST)
    ridge = lam / alpha
    return np.asarray(np.einsum("...ij,...j->...i", V, q / (ridge + s))), ridge[..., 0]


def _correlations(gram: NDArray[Any], mean: NDArray[Any]) -> NDArray[Any]:
    """Absolute values."""
    covariance = gram - np.outer(mean, mean)
    size = np.sqrt(np.maximum(np.diagonal(covariance), _LEAST))
    return np.asarray(np.abs(covariance) / np.outer(size, size))


def _all_drawn(gram: NDArray[Any], mean: NDArray[Any], size: int) -> NDArray[Any]:
    """For each column and member some columns, from mean products and means.

    The same rows give the same committee.
    """
    rng = np.random.default_rng(0)
    return np.array(
        [_drawn(alike, j, size, rng) for j, alike in enumerate(_correlations(gram, mean))]
    )


def _drawn(alike: NDArray[Any], j: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
    """For each member some columns without j, each as likely as it is like j.

    Drawn one after the other without putting back: those with the largest log p + Gumbel noise.
    """
    keys = np.log(alike + _LEAST) + rng.gumbel(size=(_MEMBERS, len(alike)))
    keys[:, j] = -np.inf
    return np.argpartition(-keys, size - 1, axis=1)[:, :size]
