"""Which codes count how much: the gradients of functions that sparse codes make large.

Each is ``w(|c|) ∘ c`` with weights that rise with ``|c|``. On the orthogonal group codes keep the
length of their sample, so what favours large entries favours sparse codes (paper D, figure 3).
"""

import numpy as np

from thresher.linalg import Array

_RANK_POWER = 1.5


def power_gradient(C: Array, p: int) -> Array:
    """``|c|^(p−2) ∘ c``: the gradient of ``‖c‖_p^p / p``."""
    size = np.abs(C)
    weighted: Array = size ** (p - 2) * C
    return weighted


def cubes_by_length(C: Array) -> Array:
    """``|c| ∘ c / ‖c‖``: cubes, but a sample counts by the square of its length, as in a variance.

    Without the division few long samples decide.
    """
    length = np.linalg.norm(C, axis=1, keepdims=True)
    weighted: Array = np.divide(np.abs(C) * C, length, out=np.zeros_like(C), where=length > 0)
    return weighted


def ranked(C: Array) -> Array:
    """``j^(−3/2) c`` for the j-th largest code of a sample.

    This is the gradient of ``½ Σ_k a_k ‖k largest codes‖²`` with falling ``a_k > 0``: maximising it
    minimises what compression to the k largest codes leaves out, averaged over k.
    """
    order = np.argsort(-np.abs(C), axis=1, kind="stable")
    weights = np.empty(C.shape)
    weights.flat[order + C.shape[1] * np.arange(len(C))[:, None]] = rank_weights(C.shape[1])
    return weights * C


def rank_weights(n: int) -> Array:
    """``j^(−3/2)``, j = 1 … n."""
    weights: Array = np.arange(1.0, n + 1) ** -_RANK_POWER
    return weights


def left_out(C: Array) -> Array:
    """Squares of every sample that the k largest codes leave out, k = 1 … N, shape (n, N)."""
    rising = np.sort(C * C, axis=1)
    rising[:, 1:] = np.cumsum(rising[:, :-1], axis=1)
    rising[:, 0] = 0
    return rising[:, ::-1]


def keep_largest(C: Array, k: int, lengths: Array | None = None) -> Array:
    """``T_k`` of paper D, V-C: the k largest codes of every sample; zero elsewhere.

    For atoms that are not of one length, the k largest contributions ``|c_j| ‖d_j‖``.
    """
    if k >= C.shape[1]:
        return C.copy()
    size = np.abs(C) if lengths is None else np.abs(C) * lengths
    places = np.argpartition(size, -k, axis=1)[:, -k:] + C.shape[1] * np.arange(len(C))[:, None]
    kept = np.zeros_like(C)
    kept.flat[places] = C.flat[places]
    return kept
