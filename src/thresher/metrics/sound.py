"""How well sources of sound were told apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def signal_to_distortion(true: ArrayLike, found: ArrayLike) -> float:
    r"""Signal-to-distortion ratio, in decibels: higher is better.

    .. math:: 10 \log_{10} \frac{\|s\|_2^2}{\|s - \hat s\|_2^2}

    Nothing is forgiven: a found source of another size or delay is distorted. (The ratio of BSS
    Eval filters the truth first, and is never lower.)

    Parameters
    ----------
    true, found : array-like of one shape
        Samples of a source.

    Returns
    -------
    float
        Infinite if both are equal, minus infinity if the truth is silent.

    Examples
    --------
    >>> round(signal_to_distortion([1.0, -1.0], [0.9, -0.9]), 3)
    20.0
    """
    s, e = np.asarray(true, dtype=np.float64), np.asarray(found, dtype=np.float64)
    if s.shape != e.shape:
        raise ValueError(f"true and found must have one shape, not {s.shape} and {e.shape}.")
    with np.errstate(divide="ignore"):
        ratio = 10 * (np.log10(np.sum(s**2)) - np.log10(np.sum((s - e) ** 2)))
    return float(ratio)
