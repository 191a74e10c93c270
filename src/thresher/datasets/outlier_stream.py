"""The synthetic stream of "Online NMF with outliers", section VII-D1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .arguments import checked_float_type, given_or_drawn, require_positive, require_share

# Rows generated at a time. All arithmetic is done in float64 on one block, so that the values do
# not depend on the output dtype and the temporaries stay at a few megabytes for any n_samples.
BLOCK_ROWS = 1024


@dataclass(frozen=True, eq=False)
class OutlierStream:
    """A nonnegative data set with known factors and known outliers.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        What a method gets to see, ``clip(clean + outliers + noise, 0, 1)``.
    clean : ndarray of shape (n_samples, n_features)
        ``clip(codes @ dictionary, 0, 1)``, what a method should recover.
    outliers : ndarray of shape (n_samples, n_features)
        The outliers as drawn, *before* the data are clipped. Nonzero exactly on the support.
        Where clipping bites, ``data - clean`` is smaller in magnitude than ``outliers``.
    dictionary : ndarray of shape (n_components, n_features)
        The true atoms, one per row.
    codes : ndarray of shape (n_samples, n_components)
        The true codes.
    """

    data: NDArray[np.floating]
    clean: NDArray[np.floating]
    outliers: NDArray[np.floating]
    dictionary: NDArray[np.floating]
    codes: NDArray[np.floating]


def make_outlier_stream(
    n_samples: int = 20_000,
    n_features: int = 400,
    n_components: int = 49,
    *,
    contaminated: float = 0.7,
    density: float = 0.1,
    noise: float = 0.02,
    dictionary: ArrayLike | None = None,
    dtype: DTypeLike = np.float64,
    random_state: int | np.random.Generator | None = None,
) -> OutlierStream:
    r"""Draw nonnegative low-rank data with sparse outliers and Gaussian noise.

    .. math::

        X^\circ = \Pi_{[0,1]}(C^\circ D^\circ), \qquad
        X = \Pi_{[0,1]}(X^\circ + R^\circ + \sigma N),

    where the entries of :math:`C^\circ` and :math:`D^\circ` are half-normal,
    :math:`|\mathcal N(0, 1/K)|`, and those of :math:`N` standard normal. The rows of
    :math:`R^\circ` are zero except for :math:`\lfloor\nu n\rfloor` random ones, which are uniform
    on [-1, 1] on :math:`\lfloor\tilde\nu F\rfloor` random entries each.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        n, F and K. The paper has n = 100 000.
    contaminated : float
        Share :math:`\nu` of the samples that get outliers, in [0, 1].
    density : float
        Share :math:`\tilde\nu` of the entries of such a sample that are outliers, in [0, 1].
    noise : float
        Standard deviation :math:`\sigma` of the noise.
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
    OutlierStream
        ``data``, ``clean``, ``outliers``, ``dictionary`` and ``codes``.

    Notes
    -----
    Zhao and Tan, "Online nonnegative matrix factorization with outliers", section VII-D1, with
    two corrections:

    * The paper's :math:`\mathcal{HN}(1/\sqrt K)` makes :math:`1/\sqrt K` the *variance* of the
      underlying normal (footnote 8). Then :math:`C D` has mean :math:`2\sqrt K/\pi = 4.5`
      (K = 49) and every entry is clipped to 1. Here it is the *standard deviation*: the mean is
      :math:`2/\pi`, and 0.2 % of the entries are clipped.
    * The paper's noise has standard deviation 1, which drowns data in [0, 1]. Here it is the
      parameter ``noise``.

    Dictionary, codes, outliers and noise have their own random streams: changing, say, ``noise``
    leaves the others as they were.

    Examples
    --------
    >>> train = make_outlier_stream(1000, 30, 5, random_state=0)
    >>> test = make_outlier_stream(200, dictionary=train.dictionary, random_state=1)
    >>> test.data.shape
    (200, 30)
    """
    require_share("contaminated", contaminated)
    require_share("density", density)
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise is a standard deviation: give a finite number >= 0, not {noise}.")
    output_dtype = checked_float_type(dtype)
    require_positive("n_samples", n_samples)

    seeds = np.random.default_rng(random_state).integers(2**63, size=4)
    dictionary_rng, code_rng, outlier_rng, noise_rng = map(np.random.default_rng, seeds)

    atoms = given_or_drawn(
        dictionary,
        n_components,
        n_features,
        lambda K, F: _half_normal(dictionary_rng, K, F, K),
    )
    n_components, n_features = atoms.shape

    n_contaminated = floor_share(contaminated, n_samples)
    n_outliers_per_row = floor_share(density, n_features)
    is_contaminated = np.zeros(n_samples, dtype=bool)
    is_contaminated[outlier_rng.permutation(n_samples)[:n_contaminated]] = True

    codes = np.empty((n_samples, n_components), dtype=output_dtype)
    clean = np.empty((n_samples, n_features), dtype=output_dtype)
    outliers = np.empty_like(clean)
    data = np.empty_like(clean)
    for start in range(0, n_samples, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, n_samples))
        n_rows = rows.stop - rows.start
        block_codes = _half_normal(code_rng, n_rows, n_components, n_components)
        block_clean = np.clip(block_codes @ atoms, 0, 1)
        block_outliers = draw_outliers(
            outlier_rng, is_contaminated[rows], n_features, n_outliers_per_row
        )
        block_noise = noise * noise_rng.standard_normal((n_rows, n_features))

        codes[rows] = block_codes
        clean[rows] = block_clean
        outliers[rows] = block_outliers
        data[rows] = np.clip(block_clean + block_outliers + block_noise, 0, 1)

    return OutlierStream(data, clean, outliers, atoms.astype(output_dtype), codes)


def _half_normal(
    rng: np.random.Generator, n_rows: int, n_columns: int, n_components: int
) -> NDArray[np.float64]:
    """Absolute values of normals of standard deviation ``1 / sqrt(n_components)``."""
    return np.abs(rng.normal(0, n_components**-0.5, (n_rows, n_columns)))


def draw_outliers(
    rng: np.random.Generator,
    is_contaminated: NDArray[np.bool_],
    n_features: int,
    n_outliers_per_row: int,
) -> NDArray[np.float64]:
    """Rows of zeros; the contaminated ones are U[-1, 1] on a random support of the given size."""
    outliers = np.zeros((is_contaminated.size, n_features))
    contaminated_rows = np.flatnonzero(is_contaminated)
    # The positions of the smallest of i.i.d. keys are a uniformly random subset.
    keys = rng.random((contaminated_rows.size, n_features))
    support = np.argsort(keys, axis=1)[:, :n_outliers_per_row]
    outliers[contaminated_rows[:, np.newaxis], support] = rng.uniform(-1, 1, support.shape)
    return outliers


def floor_share(share: float, total: int) -> int:
    """``floor(share * total)``, immune to the rounding that makes ``0.29 * 100`` less than 29."""
    return int(np.floor(share * total + 1e-9 * total))
