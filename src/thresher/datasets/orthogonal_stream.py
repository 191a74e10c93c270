"""The synthetic stream of "Online orthogonal dictionary learning", section V-B."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import require_positive, require_share


@dataclass(frozen=True, eq=False)
class OrthogonalStream:
    """Samples with sparse codes on a known orthogonal dictionary.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        ``codes @ dictionary`` and noise.
    dictionary : ndarray of shape (n_features, n_features)
        The true atoms, one per row.
    codes : ndarray of shape (n_samples, n_features)
        The true codes.
    """

    data: NDArray[np.float64]
    dictionary: NDArray[np.float64]
    codes: NDArray[np.float64]


def make_orthogonal_stream(
    n_samples: int = 30_000,
    n_features: int = 10,
    density: float = 0.3,
    noise: float = 0.0,
    *,
    dictionary: ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
) -> OrthogonalStream:
    r"""Draw samples with Bernoulli–Gaussian codes on an orthogonal dictionary.

    .. math:: y = x D + \sigma \epsilon, \qquad x_i = b_i g_i, \quad
              b_i \sim \mathrm{Ber}(\theta), \; g_i, \epsilon_i \sim \mathcal N(0, 1)

    Parameters
    ----------
    n_samples, n_features : int
        n and N; the paper has N = 10 and 3000 batches.
    density : float
        θ, the share of codes that are not zero.
    noise : float
        σ; the paper has none.
    dictionary : array-like of shape (N, N), optional
        An orthogonal matrix to use instead of drawing one uniformly.
    random_state : int, Generator or None
        Seed.

    Notes
    -----
    Y. Xue and V. K. N. Lau, section V-B1 and Theorem 1. Dictionary, codes and noise have their own
    random streams: changing ``noise`` leaves the others as they were.

    Examples
    --------
    >>> stream = make_orthogonal_stream(100, 5, random_state=0)
    >>> stream.data.shape
    (100, 5)
    """
    require_positive("n_samples", n_samples)
    require_share("density", density)
    if not noise >= 0:
        raise ValueError(f"noise={noise} must not be negative.")
    seeds = np.random.default_rng(random_state).integers(2**63, size=3)
    dictionary_rng, code_rng, noise_rng = map(np.random.default_rng, seeds)
    if dictionary is None:
        require_positive("n_features", n_features)
        # Signs of the diagonal make the factor of QR uniform on the group.
        Q, R = np.linalg.qr(dictionary_rng.standard_normal((n_features, n_features)))
        atoms = Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)
    else:
        atoms = np.array(dictionary, dtype=np.float64)
        n_features = len(atoms)
        if atoms.shape != (n_features, n_features) or not np.allclose(
            atoms @ atoms.T, np.eye(n_features), atol=1e-6
        ):
            raise ValueError("dictionary must be a square matrix with orthonormal rows.")
    shape = (n_samples, n_features)
    codes = code_rng.standard_normal(shape) * (code_rng.random(shape) < density)
    data = codes @ atoms + noise * noise_rng.standard_normal(shape)
    return OrthogonalStream(data, atoms, codes)
