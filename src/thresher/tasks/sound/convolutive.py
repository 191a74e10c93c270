r"""Parts that last some windows: each is a short spectrogram, sounded at some moments.

.. math:: \Lambda_{tf} = \sum_k \sum_{l < L} c_{t-l,k} \, d_{klf}

Spectra of a recording, V, are explained in the divergence :math:`d(V | \Lambda)`, Kullback–Leibler
or Itakura–Saito, by steps that never make it worse: each minimises a function that lies above the
divergence and touches it. With R and Q the negative and the positive half of its slope in Λ,

.. math::
    c_{tk} \leftarrow c_{tk} \Big( \frac{\sum_{lf} R_{t+l,f} \, d_{klf}}
    {\sum_{lf} Q_{t+l,f} \, d_{klf}} \Big)^{1/a}, \qquad
    d_{klf} \leftarrow d_{klf} \Big( \frac{\sum_t c_{t-l,k} R_{tf}}{\sum_t c_{t-l,k} Q_{tf}}
    \Big)^{1/a}

with R = V/Λ, Q = 1, a = 1 for Kullback–Leibler and R = V/Λ², Q = 1/Λ, a = 2 for Itakura–Saito.
With L = 1 it is plain factorisation.

P. Smaragdis, "Convolutive speech bases and their application to supervised speech separation",
2007; C. Févotte, J. Idier, "Algorithms for nonnegative matrix factorization with the
β-divergence", 2011.
"""

from __future__ import annotations

import numpy as np

from thresher.linalg import Array

POWERS = {"kl": 1, "is": 2}
"""Of each divergence: of the size of a spectrum that it is for; and a, as above."""
_LEAST = 1e-15  # divisors stay above it; spectra are of size one


def divergence_of(V: Array, model: Array, divergence: str) -> float:
    """How far the model is from positive spectra."""
    ratio = V / model
    if divergence == "kl":
        return float(np.sum(V * np.log(ratio) - V + model, dtype=np.float64))
    return float(np.sum(ratio - np.log(ratio) - 1, dtype=np.float64))


def laid_out(C: Array, L: int) -> Array:
    """Codes of the last L windows beside each window, (T, K L)."""
    T, K = C.shape
    side = np.zeros((T, K, L), dtype=C.dtype)
    for lag in range(min(L, T)):
        side[lag:, :, lag] = C[: T - lag]
    return side.reshape(T, K * L)


def gathered(products: Array, L: int) -> Array:
    """The transpose of `laid_out`: what the next L windows say of the codes of each, (T, K)."""
    T = len(products)
    side = products.reshape(T, -1, L)
    total: Array = side[:, :, 0].copy()
    for lag in range(1, min(L, T)):
        total[: T - lag] += side[lag:, :, lag]
    return total


def model_of(C: Array, D: Array) -> Array:
    """Λ of codes (T, K) and parts (K, L, F)."""
    K, L, F = D.shape
    model: Array = laid_out(C, L) @ D.reshape(K * L, F)
    return model


def better_codes(V: Array, C: Array, D: Array, divergence: str) -> Array:
    """Codes after a step."""
    K, L, F = D.shape
    flat = D.reshape(K * L, F)
    R, Q = _halves(V, model_of(C, D), divergence)
    up = gathered(R @ flat.T, L)
    if Q is None:  # ones
        down = gathered(np.broadcast_to(flat.sum(axis=1), (len(V), K * L)), L)
    else:
        down = gathered(Q @ flat.T, L)
    return C * _root(up / (down + _LEAST), divergence)


def slopes_of_parts(V: Array, C: Array, D: Array, divergence: str) -> tuple[Array, Array]:
    """Σ c R, of the shape of D, and Σ c Q, which may have one column for all frequencies."""
    side = laid_out(C, D.shape[1])
    R, Q = _halves(V, model_of(C, D), divergence)
    up = (side.T @ R).reshape(D.shape)
    down = side.sum(axis=0)[:, None] if Q is None else side.T @ Q
    return up, down.reshape(*D.shape[:2], -1)


def better_parts(V: Array, C: Array, D: Array, divergence: str) -> Array:
    """Parts after a step."""
    up, down = slopes_of_parts(V, C, D, divergence)
    return D * _root(up / (down + _LEAST), divergence)


def _halves(V: Array, model: Array, divergence: str) -> tuple[Array, Array | None]:
    """R and Q; None stands for ones."""
    model += V.dtype.type(_LEAST)
    if divergence == "kl":
        return np.divide(V, model, out=model), None
    Q = np.divide(1, model, out=model)
    return V * Q * Q, Q


def _root(ratio: Array, divergence: str) -> Array:
    return ratio if divergence == "kl" else np.sqrt(ratio)
