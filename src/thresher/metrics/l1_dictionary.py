"""Measures of paper B: what is lost to the best fixed dictionary, and how well one fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ROWS = 256  # dense at a time; by judgement


def regret(
    batches: Sequence[Any], codes: Sequence[ArrayLike], dictionaries: Sequence[ArrayLike], best: Any
) -> NDArray[np.float64]:
    r"""What a sequence of dictionaries has lost to one fixed dictionary, after every batch.

    .. math:: R(t) = \sum_{s \le t} \|P_s - C_s D_s\|_1 - \|P_s - C_s D^*\|_1

    Codes are the same for both: R(T) of paper B, Theorem B.5, without the error of the codes, which
    is not bounded.

    Parameters
    ----------
    batches : sequence of T arrays or CSR matrices of shape (n, F)
    codes : sequence of T arrays of shape (n, K)
    dictionaries : sequence of T arrays of shape (K, F)
        :math:`D_s` as it was *before* it saw batch s.
    best : array-like of shape (K, F)
        :math:`D^*`, a minimiser of the sum over all batches in the same set.

    Returns
    -------
    ndarray of shape (T,)
    """
    if not len(batches) == len(codes) == len(dictionaries):
        raise ValueError(
            f"Give codes and a dictionary for every batch: there are {len(batches)} batches, "
            f"{len(codes)} codes and {len(dictionaries)} dictionaries."
        )
    steps = [
        l1_losses(P, C, D).sum() - l1_losses(P, C, best).sum()
        for P, C, D in zip(batches, codes, dictionaries, strict=True)
    ]
    return np.cumsum(np.asarray(steps, dtype=np.float64))


def regret_bound(n_steps: int, tau: float, phi: float, best_norm: float) -> float:
    r""":math:`\Phi \|D^*\|_F \sqrt{T/\tau}`: Theorem B.5 as its proof has it, twice as printed.

    For OIADMM from :math:`D = 0` and a zero dual, with constant :math:`\tau \le 1/(2
    \lambda_{\max}(C_t^\top C_t))` and :math:`\beta = (\Phi/\|D^*\|_F)\sqrt{\tau T}`. Started at
    another dictionary, take :math:`\|D^* - D_0\|_F` for the norm.

    Parameters
    ----------
    n_steps : int
        T.
    tau : float
    phi : float
        Φ, bound on the Frobenius norm of subgradients of :math:`\|P_t - C_t D\|_1` in its residual;
        at most :math:`\sqrt{nF}`.
    best_norm : float
        The norm of D*, at most :math:`\sqrt K` for atoms that sum to at most one.
    """
    return phi * best_norm * float(np.sqrt(n_steps / tau))


def violation_bound(
    n_steps: int, tau: float, phi: float, best_norm: float, best_loss: float
) -> float:
    r"""Theorem B.6: what the accumulated squared violation of OIADMM cannot exceed.

    .. math:: \frac{2\|D^*\|_F^2}{\tau} + \frac{4\Upsilon\|D^*\|_F}{\Phi\sqrt\tau}\sqrt T

    Parameters
    ----------
    n_steps, tau, phi, best_norm
        As in `regret_bound`.
    best_loss : float
        Υ, the largest :math:`\|P_t - C_t D^*\|_1` of a batch.
    """
    first = 2 * best_norm**2 / tau
    return first + 4 * best_loss * best_norm / phi * float(np.sqrt(n_steps / tau))


def sparse_reconstruction_error(
    X: Any, codes: ArrayLike, dictionary: ArrayLike, code_penalty: float = 0.1
) -> float:
    r"""Mean over the documents of :math:`\|p - cD\|_1 + \lambda\|c\|_1`: SRE of paper B, section 5.

    Parameters
    ----------
    X : array-like or CSR of shape (n, F)
        Documents.
    codes : array-like of shape (n, K)
        The best codes, such as those of ``OnlineL1Dictionary.transform``: the measure is that of
        the dictionary alone if they are.
    dictionary : array-like of shape (K, F)
    code_penalty : float
        λ.
    """
    costs = code_penalty * np.abs(np.asarray(codes, dtype=np.float64)).sum(axis=1)
    return float(np.mean(l1_losses(X, codes, dictionary) + costs))


def l1_losses(X: Any, codes: ArrayLike, dictionary: ArrayLike) -> NDArray[np.float64]:
    r""":math:`\|p - cD\|_1` of every row; sparse rows are expanded a few at a time."""
    C = np.asarray(codes, dtype=np.float64)
    D = np.asarray(dictionary, dtype=np.float64)
    rows: Any = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    if C.ndim != 2 or D.ndim != 2 or rows.shape != (len(C), D.shape[1]) or C.shape[1] != len(D):
        raise ValueError(
            f"Samples (n, F), codes (n, K) and dictionary (K, F) do not match: the shapes are "
            f"{rows.shape}, {C.shape} and {D.shape}."
        )
    losses = np.empty(len(C))
    for start in range(0, len(C), _ROWS):
        some = slice(start, start + _ROWS)
        block = rows[some].toarray() if hasattr(rows, "toarray") else rows[some]
        losses[some] = np.abs(block - C[some] @ D).sum(axis=1)
    return losses
