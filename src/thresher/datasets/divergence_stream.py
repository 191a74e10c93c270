"""The synthetic stream of "Online NMF with general divergences", section VIII-D1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .arguments import checked_float_type, given_or_drawn, require_positive
from .outlier_stream import BLOCK_ROWS, draw_outliers, floor_share

# All from paper E, VIII-D1 and Table IV.
_SCALE, _OFFSET = 5.0, 1.0  # σ and ϰ of the half-normal factors
_GAMMA_SHAPE = 1000.0
_GAUSSIAN_DEVIATION = 30.0
_OUTLIER_SIZE, _OUTLIER_DENSITY = 2000.0, 0.3
_LARGEST = 4000.0  # about four times the mean entry

_Block = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DivergenceStream:
    """A nonnegative data set with known factors, and noise that suits one divergence.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        What a method gets to see, between 0 and 4000.
    clean : ndarray of shape (n_samples, n_features)
        ``codes @ dictionary``, what a method should recover. It is not clipped.
    dictionary : ndarray of shape (n_components, n_features)
        The true atoms, one per row.
    codes : ndarray of shape (n_samples, n_components)
        The true codes.
    """

    data: NDArray[np.floating]
    clean: NDArray[np.floating]
    dictionary: NDArray[np.floating]
    codes: NDArray[np.floating]


def make_divergence_stream(
    n_samples: int = 100_000,
    n_features: int = 200,
    n_components: int = 40,
    noise: str = "kl",
    *,
    dictionary: ArrayLike | None = None,
    dtype: DTypeLike = np.float64,
    random_state: int | np.random.Generator | None = None,
) -> DivergenceStream:
    r"""Draw nonnegative low-rank data with the noise for which a divergence is the likelihood.

    .. math::

        X^\circ = C^\circ D^\circ, \qquad X = \Pi_{[0,\,4000]}(\bar X), \qquad
        \bar x_{ij} \sim p(\,\cdot \mid x^\circ_{ij}),

    where the entries of :math:`C^\circ` and :math:`D^\circ` are shifted half-normal,
    :math:`1 + |\mathcal N(0, 5^2)|`, so that :math:`x^\circ_{ij}` is 995 in the mean. The
    signal-to-noise ratio :math:`20 \log_{10}(\|X^\circ\| / \|\bar X - X^\circ\|)` is about 30 dB
    for all but the outliers.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        n, F and K. The paper has n = 100 000 and K = 40, and does not state F.
    noise : {"is", "kl", "squared_l2", "outliers"}
        ========== ======================================================================
        is         Gamma of shape 1000 and mean :math:`x^\circ`: multiplicative
        kl         Poisson of mean :math:`x^\circ`
        squared_l2 normal of mean :math:`x^\circ` and standard deviation 30
        outliers   for Huber, ℓ1 and ℓ2: :math:`x^\circ`, but with a uniform number from
                   [-2000, 2000] added to 30 % of the entries of every sample
        ========== ======================================================================
    dictionary : array-like of shape (n_components, n_features), optional
        Use these atoms instead of drawing them; ``n_features`` and ``n_components`` are then
        taken from its shape. For a held-out set, give the dictionary of the training set *and
        another seed*: with the same seed the codes would be the same too.
    dtype : float32 or float64
        Type of the returned arrays. The same seed gives the same values, rounded to this type.
    random_state : int, Generator or None
        Seed. A generator is advanced, so that two calls with it give different data.

    Returns
    -------
    DivergenceStream
        ``data``, ``clean``, ``dictionary`` and ``codes``.

    Notes
    -----
    R. Zhao, V. Y. F. Tan and H. Xu, "Online nonnegative matrix factorization with general
    divergences", section VIII-D1 and Table IV. The paper writes :math:`|\mathcal Q| = 0.3 F` for
    the outliers of all samples together; it is meant, and done here, for each sample.

    Dictionary, codes and noise have their own random streams: changing ``noise`` leaves the others
    as they were.

    Examples
    --------
    >>> train = make_divergence_stream(1000, 30, 5, "is", random_state=0)
    >>> test = make_divergence_stream(200, noise="is", dictionary=train.dictionary, random_state=1)
    >>> test.data.shape
    (200, 30)
    """
    if noise not in _NOISES:
        names = ", ".join(map(repr, _NOISES))
        raise ValueError(f"noise={noise!r} is not known; use one of {names}.")
    output_dtype = checked_float_type(dtype)
    require_positive("n_samples", n_samples)

    seeds = np.random.default_rng(random_state).integers(2**63, size=3)
    dictionary_rng, code_rng, noise_rng = map(np.random.default_rng, seeds)

    atoms = given_or_drawn(
        dictionary, n_components, n_features, partial(_shifted_half_normal, dictionary_rng)
    )
    n_components, n_features = atoms.shape

    codes = np.empty((n_samples, n_components), dtype=output_dtype)
    clean = np.empty((n_samples, n_features), dtype=output_dtype)
    data = np.empty_like(clean)
    for start in range(0, n_samples, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, n_samples))
        block_codes = _shifted_half_normal(code_rng, rows.stop - rows.start, n_components)
        block_clean = block_codes @ atoms
        codes[rows] = block_codes
        clean[rows] = block_clean
        data[rows] = np.clip(_NOISES[noise](noise_rng, block_clean), 0, _LARGEST)
    return DivergenceStream(data, clean, atoms.astype(output_dtype), codes)


def _shifted_half_normal(rng: np.random.Generator, n_rows: int, n_columns: int) -> _Block:
    return _OFFSET + np.abs(rng.normal(0, _SCALE, (n_rows, n_columns)))


def _gamma(rng: np.random.Generator, clean: _Block) -> _Block:
    return rng.gamma(_GAMMA_SHAPE, clean / _GAMMA_SHAPE)


def _poisson(rng: np.random.Generator, clean: _Block) -> _Block:
    return rng.poisson(clean).astype(np.float64)


def _gaussian(rng: np.random.Generator, clean: _Block) -> _Block:
    return rng.normal(clean, _GAUSSIAN_DEVIATION)


def _outliers(rng: np.random.Generator, clean: _Block) -> _Block:
    n_rows, n_features = clean.shape
    every_row = np.ones(n_rows, dtype=bool)
    n_outliers = floor_share(_OUTLIER_DENSITY, n_features)
    return clean + _OUTLIER_SIZE * draw_outliers(rng, every_row, n_features, n_outliers)


_NOISES: dict[str, Callable[[np.random.Generator, _Block], _Block]] = {
    "is": _gamma,
    "kl": _poisson,
    "squared_l2": _gaussian,
    "outliers": _outliers,
}
