"""Cubes and pixels in, pure spectra and their shares out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from thresher.estimators import Separation
from thresher.estimators.parameters import COUNT, SEED, KeepsParameters
from thresher.estimators.reports import write_report
from thresher.estimators.validation import as_matrix, computing_dtype, unmasked
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.tasks.spectra.bands import without_gaps
from thresher.tasks.spectra.file import pack_unmixer, unpack_unmixer
from thresher.tasks.spectra.kept import KeptPixels
from thresher.tasks.spectra.mixture import CODE_SETS, SceneMixture, learned

_SCALES = ("scene", "maximum")


class SpectralUnmixer(
    KeepsParameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    r"""Tell which pure spectra the pixels of a scene are made of, and the share of each.

    A pixel is a mixture in some light, with noise and outliers:

    .. math:: x = s \sum_k a_k e_k + r + \text{noise}, \qquad a \ge 0, \; \sum_k a_k = 1.

    End members :math:`e_k` are what the purest pixels have in common, light apart; where there are
    no pure pixels, the corners of the smallest simplex that holds all. Dead and noisy bands are
    left out and bridged; pixels that are no mixtures do not count; shares are coded with outliers
    set aside (`OnlineRobustNMF`).

    Parameters
    ----------
    n_components : int, optional
        End members; by default as many as stand out of the noise, which is a guess where the
        spectra of a kind vary much.
    shares : {"lit", "whole", "shade"}
        ``lit``: shares sum to one, whatever the light of the pixel. ``whole``: they sum to one,
        and the light is that of the scene. ``shade``: they sum to at most one, and what is missing
        is shade.
    scale : {"scene", "maximum"}
        How large end members are: such that shares sum to one in most pixels, or each with the
        maximum one, as reference data have them. It changes shares.
    volume : "auto" or bool
        Whether the smallest simplex tells the end members. ``auto``: if more than 15 % of the
        pixels lies outside of the purest ones' simplex, and it grows.
    random_state : int, RandomState or None
        Draws the pixels that are kept of more than 10,000.
    verbose : int

    Attributes
    ----------
    endmembers_ : array of shape (K, bands)
    bad_bands_ : array of bool of shape (bands,)
        Bands that were left out; end members have there what their neighbours say.
    has_pure_pixels_ : bool
        Whether end members are pixels, or else corners beyond them.
    outlier_weight_ : float
        From which size on a deviation of a value is an outlier.
    n_samples_seen_ : int
        Pixels that went by. Of more than 10,000 an even sample is kept, and end members are those
        of the sample: `partial_fit` takes a flight line piece by piece.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import SpectralUnmixer
    >>> rng = np.random.default_rng(0)
    >>> bands = np.linspace(0, 1, 60)[:, None]
    >>> pure = 0.2 + np.exp(-(((bands - [0.2, 0.5, 0.8]) / 0.2) ** 2)).T
    >>> cube = rng.dirichlet([0.3] * 3, (40, 40)) @ pure + 0.01 * rng.random((40, 40, 60))
    >>> unmixer = SpectralUnmixer(3).fit(cube)
    >>> unmixer.transform(cube).shape
    (40, 40, 3)
    """

    _kept: KeptPixels
    _learned: SceneMixture | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [COUNT, None],
        "random_state": SEED,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        shares: str = "lit",
        scale: str = "scene",
        volume: Any = "auto",
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.shares = shares
        self.scale = scale
        self.volume = volume
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the end members of a scene.

        Parameters
        ----------
        X : array of shape (height, width, bands) or (n, bands)
            NaN marks missing values. Negative ones, which corrections leave, count as zero.
        y : ignored
        """
        self._check_parameters()
        pixels = self._pixels(X)
        kept = self._first(pixels).with_more(_usable(pixels))
        mixture = self._mixture_of(kept)
        self._learn_features(X)
        return self._adopt(kept, mixture)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Look at some more pixels: the next piece of a flight line."""
        begun = hasattr(self, "_kept")
        if begun:
            self._check_goes_on()
        else:
            self._check_parameters()
        pixels = self._pixels(X, known=begun)
        kept = (self._kept if begun else self._first(pixels)).with_more(_usable(pixels))
        if not begun:
            self._learn_features(X)
        return self._adopt(kept, None)

    # --------------------------------------------------------------------- verbs

    def transform(self, X: Any) -> Any:
        """Shares of the end members in each pixel, (height, width, K) or (n, K).

        A pixel without any light, of which nothing can be told, has equal shares.
        """
        mixture = self._mixture()
        pixels = self._pixels(X, known=True)
        codes = np.asarray(mixture.coder.transform(pixels[:, ~mixture.bad]))
        return _like(X, self._shares(codes))

    def inverse_transform(self, shares: Any) -> Any:
        """Spectra of mixtures, in the light of the scene: ``shares @ endmembers_``."""
        mixture = self._mixture()
        codes = as_matrix(_flat(shares), self, dtype=[np.float64, np.float32])
        if codes.shape[1] != len(mixture.endmembers):
            raise ValueError(
                f"Shares have {len(mixture.endmembers)} columns, one for each end member; got "
                f"{codes.shape[1]}."
            )
        return _like(shares, codes @ mixture.endmembers.astype(codes.dtype))

    def separate(self, X: Any) -> Separation:
        """Take pixels apart: what the end members explain, outliers, and shares.

        ``low_rank`` is in the light of each pixel. Bad bands are outliers altogether.
        """
        mixture = self._mixture()
        pixels = self._pixels(X, known=True)
        good = ~mixture.bad
        found = mixture.coder.separate(pixels[:, good])
        codes = np.asarray(found.codes)
        low_rank = (codes @ mixture.endmembers).astype(codes.dtype)
        outliers = np.zeros_like(low_rank)
        outliers[:, good] = np.asarray(found.outliers)
        dead = pixels[:, mixture.bad] - low_rank[:, mixture.bad]
        outliers[:, mixture.bad] = np.where(np.isnan(dead), 0, dead)
        return Separation(*(_like(X, part) for part in (low_rank, outliers, self._shares(codes))))

    def score_samples(self, X: Any) -> Any:
        """Minus the loss of every pixel: the lower, the less it is a mixture of these spectra."""
        mixture = self._mixture()
        pixels = self._pixels(X, known=True)
        scores = np.asarray(mixture.coder.score_samples(pixels[:, ~mixture.bad]))
        return scores.reshape(X.shape[:2]) if _is_cube(X) else scores

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean loss of a pixel."""
        return float(np.mean(self.score_samples(X), dtype=np.float64))

    def report(self, path: str | Path, X: Any = None) -> Path:
        """Write a page that shows end members, and shares of a cube if it is given."""
        from thresher.tasks.spectra.report import unmixing_report

        return write_report(self, unmixing_report(self, X), path)

    # ---------------------------------------------------------- what was learned

    @property
    def endmembers_(self) -> Array:
        """Pure spectra, in rows."""
        return self._mixture().endmembers.copy()

    @property
    def components_(self) -> Array:
        """The same, by the name that it has in all estimators."""
        return self.endmembers_

    @property
    def bad_bands_(self) -> NDArray[np.bool_]:
        """Bands that were left out."""
        return self._mixture().bad.copy()

    @property
    def has_pure_pixels_(self) -> bool:
        """Whether end members are what the purest pixels have in common."""
        return not self._mixture().grown

    @property
    def outlier_weight_(self) -> float:
        """From which size on a deviation is an outlier, in the units of the data."""
        return float(self._mixture().coder.outlier_weight_)

    @property
    def n_samples_seen_(self) -> int:
        """Pixels that went by."""
        check_is_fitted(self)
        return self._kept.n_seen

    @property
    def _n_features_out(self) -> int:
        return len(self._mixture().endmembers)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_kept")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ------------------------------------------------------------------- details

    def _mixture(self) -> SceneMixture:
        """Found when it is first asked for, since pieces of a line come faster than that."""
        check_is_fitted(self)
        self._check_goes_on()
        if self._learned is None:
            self._learned = self._mixture_of(self._kept)
        return self._learned

    def _mixture_of(self, kept: KeptPixels) -> SceneMixture:
        return learned(kept.pixels, self.n_components, self.shares, self.scale, self.volume)

    def _shares(self, codes: Array) -> Array:
        if self.shares == "shade":
            return codes
        sums = codes.sum(axis=1, keepdims=True)
        even = np.full_like(codes, 1 / codes.shape[1])
        return np.divide(codes, sums, out=even, where=sums > 0)

    def _pixels(self, X: Any, known: bool = False) -> Array:
        """Rows of numbers, nonnegative."""
        flat = _flat(X)
        rows = as_matrix(flat, self, ensure_all_finite="allow-nan")
        if known:
            validate_data(self, flat, reset=False, skip_check_array=True)
        rows = rows.astype(computing_dtype(rows), copy=False)
        return np.maximum(rows, 0)

    def _first(self, pixels: Array) -> KeptPixels:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return KeptPixels.none(pixels, seed)

    def _learn_features(self, X: Any) -> None:
        validate_data(self, _flat(X), reset=True, skip_check_array=True)

    def _adopt(self, kept: KeptPixels, mixture: SceneMixture | None) -> Self:
        self.__dict__.update(_kept=kept, _learned=mixture, _began_as=self._identity())
        return self

    def _check_parameters(self) -> None:
        self._validate_params()
        for name, known in (("shares", tuple(CODE_SETS)), ("scale", _SCALES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r} must be one of {known}.")
        if self.volume != "auto" and not isinstance(self.volume, bool):
            raise ValueError(f"volume={self.volume!r} must be 'auto', True or False.")

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        return pack_unmixer(self)

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        return unpack_unmixer(contents)


def _is_cube(X: Any) -> bool:
    return getattr(X, "ndim", 2) == 3


def _flat(X: Any) -> Any:
    """Pixels of a cube in rows; anything else as it is."""
    X = unmasked(X)
    return X.reshape(-1, X.shape[2]) if _is_cube(X) else X


def _like(X: Any, rows: Array) -> Array:
    """As a cube, if pixels were one."""
    return rows.reshape(*X.shape[:2], rows.shape[1]) if _is_cube(X) else rows


def _usable(pixels: Array) -> Array:
    return without_gaps(pixels)
