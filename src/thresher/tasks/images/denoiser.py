"""Photographs of one kind in, clean photographs and what was removed out: papers A and C."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from thresher.estimators import OnlineRobustNMF, Separation
from thresher.estimators.parameters import POSITIVE, SEED, KeepsParameters
from thresher.estimators.reports import write_report
from thresher.estimators.results import Results, comes_in_parts, source_of
from thresher.estimators.saving import is_model, pack, packed_parameters, unpack, unpacked_model
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.streams import Source
from thresher.streams import open as open_source
from thresher.streams.writing import About, write_results
from thresher.tasks.images.cleaning import cleaned, said_of_rest
from thresher.tasks.images.pictures import Pictures
from thresher.tasks.images.spots import usual_medians

if TYPE_CHECKING:
    from thresher.report import Report

# Chosen on ORL and CBCL faces (docs/photographs.md): few parts cannot imitate damage, and a small
# outlier weight takes it for what it is.
_PARTS = 8
_PASSES = 10  # at most, over arrays and folders alike; heuristic
_SHARE = 0.15  # of the usual outlier weight, range/√F
# By judgement: photographs, and numbers in them, that tell how far places usually are from a model.
_LOOKED_AT = 100
_LOOKED_AT_NUMBERS = 2**24


class Denoised(NamedTuple):
    """Photographs taken apart: ``images = clean + removed``."""

    clean: Any
    """In the shape and the type of the images."""
    removed: Any
    """What was taken away, signed floats; zero where a pixel was sound, or missing."""
    mask: Any
    """Which pixels were replaced, (n, height, width) of bool; gaps are among them."""


class ImageDenoiser(KeepsParameters, BaseEstimator):
    """Remove what does not belong to photographs of one kind: spots, occlusions, shadows, gaps.

    A robust model learns what all of them have in common. In each, spots that are far from it
    (`spots.py`) and single pixels that are far from what it and their neighbours say (`points.py`)
    are replaced by what both say (`repair.py`). Pixels that are sound stay as they are, to the bit:
    noise on all pixels is not removed.

    Parameters
    ----------
    estimator : robust estimator, optional
        Anything with `fit`, `separate` and ``components_``: ``OnlineRobustPCA(20)``,
        ``RobustPCA()``, ``OnlineRobustNMF(10)``; it is cloned. By default `OnlineRobustNMF` with
        eight parts and a small outlier weight: few parts cannot imitate damage.
    threshold : float
        How many standard deviations of its picture's residual a damaged spot is off. Single pixels
        need none: those are replaced that are more probably damaged than not.
    random_state : int, RandomState or None
    verbose : int

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    image_shape_ : tuple of int
        Height and width (and 3) of a photograph.

    Examples
    --------
    >>> import numpy as np
    >>> from thresher import ImageDenoiser
    >>> rng = np.random.default_rng(0)
    >>> scenes = np.kron(rng.random((3, 4, 4)), np.ones((4, 4)))
    >>> clean = np.tensordot(rng.dirichlet(np.ones(3), 200), scenes, 1)
    >>> spoiled = np.where(rng.random(clean.shape) < 0.05, 1.0, clean)
    >>> found = ImageDenoiser(random_state=0, verbose=0).denoise(spoiled)
    >>> bool(np.abs(found.clean - clean).mean() < 0.2 * np.abs(spoiled - clean).mean())
    True
    """

    estimator_: Any
    image_shape_: tuple[int, ...]
    _usual: Array
    _n_usual: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [POSITIVE],
        "random_state": SEED,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        threshold: float = 2.7,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ learning

    def fit(self, images: Any, y: Any = None, mask: Any = None) -> Self:
        """Learn what photographs of a kind look like, damaged as they are.

        Parameters
        ----------
        images : array (n, height, width) or (n, height, width, 3), path, pattern, or source
            Bytes or floats; NaN marks missing pixels. A folder is read with `thresher.open`.
        y : ignored
        mask : array of bool (n, height, width), optional
            True where a pixel is missing.
        """
        self._check_parameters()
        given = _opened(images)
        if not comes_in_parts(given):
            pictures = Pictures.of(given, mask)
            _warn_if_alone(len(pictures.rows))
            model = self._new_estimator(pictures.rows, _PASSES).fit(pictures.rows)
            return self._adopt(model, pictures.shape)._with_usual(pictures)
        _refuse_mask(mask)
        source = source_of(given)
        shape = _shape_of(source)
        _warn_if_alone(source.n_samples)
        # What can be read again is read as often as an array: photographs are few.
        passes = None if source.reader.once else _PASSES
        model = self._new_estimator(next(iter(source.sized(_PARTS))), passes)
        whole = source if hasattr(model, "partial_fit") else source.load()
        self._adopt(model.fit(whole), shape)
        if source.reader.once:
            return self  # gone by
        batches = islice(source.sized(_PARTS), -(-_most_to_look_at(shape) // _PARTS))
        return self._with_usual(Pictures.from_rows(np.concatenate(list(batches)), shape))

    def partial_fit(self, images: Any, y: Any = None, mask: Any = None) -> Self:
        """Learn from some more photographs: one step of an online estimator."""
        begun = hasattr(self, "estimator_")
        if not begun:
            self._check_parameters()
        pictures = self._known(images, mask) if begun else Pictures.of(images, mask)
        model = self.estimator_ if begun else self._new_estimator(pictures.rows)
        if not hasattr(model, "partial_fit"):
            raise ValueError(
                f"{type(model).__name__} learns from all photographs at once; call fit, or take an "
                "online estimator such as OnlineRobustNMF(10)."
            )
        known = (self._usual, self._n_usual) if begun else None
        return self._adopt(model.partial_fit(pictures.rows), pictures.shape, known)._with_usual(
            pictures
        )

    # --------------------------------------------------------------------- verbs

    def denoise(self, images: Any, mask: Any = None, *, write: Any = None) -> Any:
        """Clean photographs, what was removed, and where.

        Photographs of `fit`, or others of the same kind; a denoiser that has not learned yet learns
        from them first. Each is cleaned by itself.

        Parameters
        ----------
        images, mask
            As in `fit`.
        write : mapping, optional
            Where to put ``clean``, ``removed`` and ``mask``, or some of them: new folders of PNG
            files (names without an ending), video, ``.npy``, or arrays.

        Returns
        -------
        Denoised, or an iterable of them
            Of a source or a folder, one for each batch. With ``write``, the paths by name.
        """
        given = _opened(images)
        if not hasattr(self, "estimator_"):
            self.fit(given, mask=mask)
        self._check_goes_on()
        if comes_in_parts(given):
            _refuse_mask(mask)
            return self._by_batch(source_of(given), write)
        found = self._cleaned(self._known(given, mask))
        if write is None:
            return found
        return write_results([_as_rows(found)], write, self._about(), ())

    def separate(self, images: Any, mask: Any = None) -> Separation:
        """What the model says of photographs, what it sets aside, and their codes.

        The first two in the shape of the images, as floats.
        """
        check_is_fitted(self, "estimator_")
        self._check_goes_on()
        pictures = self._known(images, mask)
        low_rank, outliers, codes = self.estimator_.separate(pictures.rows)
        shape = (-1, *self.image_shape_)
        return Separation(low_rank.reshape(shape), outliers.reshape(shape), codes)

    def report(self, path: str | Path, images: Any = None, mask: Any = None) -> Path:
        """Write a page about photographs before and after, and return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        images, mask
            Photographs to show, as in `denoise`; of many, six at equal distances are taken.
        """
        return write_report(self, self._page(images, mask), path, "denoise(images)")

    # ------------------------------------------------------------------- details

    def _page(self, images: Any = None, mask: Any = None) -> Report:
        check_is_fitted(self, "estimator_")
        # Pictures are drawn with matplotlib, which learning does not need.
        from thresher.tasks.images.report import photograph_report, some_of

        return photograph_report(self, None if images is None else some_of(_opened(images), mask))

    def _check_parameters(self) -> None:
        self._validate_params()
        needed = ("fit", "separate", "get_params")
        usable = all(hasattr(self.estimator, name) for name in needed)
        if self.estimator is not None and (isinstance(self.estimator, type) or not usable):
            raise ValueError(
                f"estimator={self.estimator!r} sets no outliers aside: it needs fit and separate, "
                "like OnlineRobustNMF(10) or RobustPCA(). Or leave it out."
            )

    def _new_estimator(self, rows: Any, passes: int | None = None) -> Any:
        """The given one, or the default for photographs such as these."""
        if self.estimator is not None:
            return clone(self.estimator)
        seen = rows[~np.isnan(rows)] if rows.dtype.kind == "f" else rows
        largest = float(np.quantile(seen, 0.99)) if seen.size else 0.0
        weight = _SHARE * largest / np.sqrt(rows.shape[1]) if largest > 0 else "auto"
        return OnlineRobustNMF(
            min(_PARTS, rows.shape[1]),
            outlier_weight=weight,
            n_passes=passes,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _adopt(
        self, model: Any, shape: tuple[int, ...], usual: tuple[Array, int] | None = None
    ) -> Self:
        self.estimator_, self.image_shape_ = model, tuple(shape)
        self._usual, self._n_usual = usual or (np.zeros((2, *shape), dtype=np.float32), 0)
        self._began_as = self._identity()
        return self

    def _with_usual(self, pictures: Pictures) -> Self:
        """Note how far places of some photographs are from the model; batches have their mean."""
        step = -(-len(pictures.rows) // _most_to_look_at(pictures.shape))
        stack = pictures.stack[::step]
        found = usual_medians(stack, said_of_rest(stack, self._says_of, self.threshold))
        if found is not None:
            self._n_usual += len(stack)
            share = np.float32(len(stack) / self._n_usual)
            self._usual = self._usual + share * (found.astype(np.float32) - self._usual)
        return self

    def _known(self, images: Any, mask: Any) -> Pictures:
        pictures = Pictures.of(images, mask)
        if pictures.shape != self.image_shape_:
            raise ValueError(
                f"These photographs have the shape {pictures.shape}, those that were learned from "
                f"{self.image_shape_}; scale them (thresher.open has size=), or call fit."
            )
        return pictures

    def _cleaned(self, pictures: Pictures) -> Denoised:
        stack = pictures.stack
        filled, wrong = cleaned(stack, self._says_of, self.threshold, self._usual)
        clean = np.clip(filled, *_limits(stack))
        removed = np.where(np.isnan(stack), 0, stack - clean)
        return Denoised(pictures.like(clean), removed, wrong)

    def _says_of(self, stack: Array) -> Array:
        """What the model says of pictures, of which what is NaN is hidden."""
        rows = stack.reshape(len(stack), -1)
        return np.asarray(self.estimator_.separate(rows).low_rank).reshape(stack.shape)

    def _by_batch(self, source: Source, write: Any) -> Any:
        shape = _shape_of(source)
        if shape != self.image_shape_:
            raise ValueError(
                f"This source has photographs of the shape {shape}, those that were learned from "
                f"{self.image_shape_}; give size= to thresher.open, or call fit."
            )
        sized = source.sized(_PARTS)
        batches = Results(sized, lambda rows: self._cleaned(Pictures.from_rows(rows, shape)))
        if write is None:
            return batches
        rows: Iterator[Denoised] = (_as_rows(found) for found in batches)
        return write_results(rows, write, self._about(), source.reader.paths)

    def _about(self) -> dict[str, About]:
        shape = self.image_shape_
        columns = [f"pixel{i}" for i in range(int(np.prod(shape)))]
        pictures = About(columns, shape)
        places = About(columns[: shape[0] * shape[1]], shape[:2])
        return {"clean": pictures, "removed": pictures, "mask": places}

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        if not hasattr(self, "estimator_"):
            raise NotFittedError("This denoiser has not been fitted; there is nothing to save.")
        inner, document = pack(self.estimator_)
        arrays = {f"model.{name}": values for name, values in inner.items()}
        arrays["image_shape"] = np.array(self.image_shape_, dtype=np.int64)
        arrays["usual"] = self._usual
        parameters = packed_parameters(self, arrays)
        return arrays, {"parameters": parameters, "model": document, "n_usual": self._n_usual}

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        denoiser: Self = unpacked_model(contents)
        model = unpack(contents.inner("model"))
        shape = tuple(int(side) for side in contents.array("image_shape", (None,), ("int64",)))
        pixels = model.components_.shape[1] if is_model(model) else -1
        if len(shape) not in (2, 3) or min(shape) < 1 or np.prod(shape, dtype=float) != pixels:
            raise contents.error(f"pictures of the shape {shape} do not suit its model")
        usual = contents.array("usual", (2, *shape), ("float32",))
        return denoiser._adopt(model, shape, (usual, contents.integer("n_usual")))


def _most_to_look_at(shape: tuple[int, ...]) -> int:
    return int(np.clip(_LOOKED_AT_NUMBERS // int(np.prod(shape)), 1, _LOOKED_AT))


def _opened(images: Any) -> Any:
    return open_source(images) if isinstance(images, str | Path) else images


def _warn_if_alone(n_photographs: int | None) -> None:
    if n_photographs == 1:
        warnings.warn(
            "One photograph alone is of no kind: nobody knows what it should look like, and little "
            "of what is wrong with it can be found. Learn from many, or take a median filter.",
            UserWarning,
            stacklevel=3,
        )


def _limits(stack: Any) -> tuple[Any, Any]:
    """Light is not negative, and in no photograph brighter than it was seen there."""
    rows = stack.reshape(len(stack), -1)
    shape = (-1, *[1] * (stack.ndim - 1))
    low = np.minimum(np.nan_to_num(np.fmin.reduce(rows, axis=1), nan=0.0), 0)
    high = np.nan_to_num(np.fmax.reduce(rows, axis=1), nan=np.inf)
    return low.reshape(shape), high.reshape(shape)


def _shape_of(source: Source) -> tuple[int, ...]:
    shape = source.sample_shape
    if shape is None or len(shape) not in (2, 3):
        raise ValueError(
            "The rows of this source are no pictures; open a folder of images or a video, or an "
            "array of the shape (n, height, width)."
        )
    return tuple(shape)


def _refuse_mask(mask: Any) -> None:
    if mask is not None:
        raise ValueError(
            "A mask cannot be matched to a source; call partial_fit and denoise with each batch "
            "and its mask instead."
        )


def _as_rows(found: Denoised) -> Denoised:
    """For files: bytes of a mask are black and white."""
    n = len(found.mask)
    mask = found.mask.reshape(n, -1).astype(np.uint8) * 255
    return Denoised(found.clean.reshape(n, -1), found.removed.reshape(n, -1), mask)
