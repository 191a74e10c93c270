"""Samples as users have them, made a matrix: masks become gaps, other shapes get a sentence."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from thresher.cluster import is_collection
from thresher.estimators.frames import is_frame, numbers_of, refuse_lazy
from thresher.linalg import is_only_stored, with_gaps
from thresher.streams import Source

# float32 and float16, whole numbers of one and two bytes, and flags; to ask for names takes long.
_SMALL_TYPES = "feBbHh?"
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def computing_dtype(X: Any) -> np.dtype[Any]:
    """float32 for data that fit into it without loss, else float64."""
    return _FLOAT32 if X.dtype.char in _SMALL_TYPES else _FLOAT64


def dense_copy(X: Any) -> Any:
    """Checked samples as a dense array of their own, NaN in the gaps."""
    dtype = computing_dtype(X)
    return with_gaps(X, dtype) if is_only_stored(X) else np.array(X, dtype=dtype, order="C")


def is_plain(X: Any) -> bool:
    """Whether scikit-learn's checks could find nothing: on few samples they outlast the step."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and (X.dtype is _FLOAT64 or X.dtype is _FLOAT32)
        and X.size > 0
        and math.isfinite(np.add.reduce(X, None, _FLOAT64))
    )


def as_matrix(X: Any, estimator: Any, **checks: Any) -> Any:
    """An array of two dimensions, or CSR if ``checks`` accept it; NaN where an entry is masked.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix
    estimator : estimator
        Its name stands in error messages.
    **checks
        For scikit-learn's `check_array`.
    """
    X = unmasked(X)
    name = type(estimator).__name__
    if isinstance(X, Source):
        raise TypeError(
            f"{name} takes an array here, not a source: give one batch, or all samples with "
            "source.load(); models whose names begin with Online fit sources batch by batch."
        )
    if is_collection(X):
        raise TypeError(
            f"{name} takes an array here, not a Dask collection: give X.compute(), if it fits in "
            "memory; fit of models whose names begin with Online, and transform, take collections."
        )
    if isinstance(X, str | Path):
        raise TypeError(f"{name} takes samples, not a path; give thresher.open({str(X)!r}).")
    refuse_lazy(X, name)
    if is_frame(X):
        X = numbers_of(X, name)
    if isinstance(X, list | tuple):
        X = _from_lists(X, name)
    _check_dimensions(X, name)
    try:
        matrix = check_array(X, estimator=estimator, **checks)
    except OverflowError:
        raise ValueError(
            f"{name} takes numbers up to 1e308; some are larger, and float64 does not hold them. "
            "Scale them."
        ) from None
    if matrix.dtype.kind in "mM":
        raise ValueError(
            f"{name} takes numbers, not times; leave their columns out, or make them numbers "
            "first, such as seconds since a start."
        )
    return matrix


def unmasked(X: Any) -> Any:
    """Masked arrays with NaN in place of what is masked; anything else as it is."""
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.stack(X)
    if not isinstance(X, np.ma.MaskedArray):
        return X
    hidden = np.ma.getmaskarray(X)
    if not hidden.any() or X.dtype.kind not in "buif":
        return X.data
    plain = np.array(X.data, dtype=computing_dtype(X))
    plain[hidden] = np.nan
    return plain


def refuse_mask(name: str, value: Any) -> None:
    """Refuse a mask where a gap has no meaning."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} has masked entries; fill them first, with {name}.filled(...).")


def _from_lists(X: Any, name: str) -> Any:
    try:
        return np.asarray(X)
    except ValueError:
        raise ValueError(
            f"{name} takes one row for each sample, all of one length; these lists are ragged."
        ) from None


def _check_dimensions(X: Any, name: str) -> None:
    n_dimensions = getattr(X, "ndim", 2)
    if n_dimensions > 2:
        raise ValueError(
            f"Found array with dim {n_dimensions}, of the shape {X.shape}, while {name} takes one "
            "row for each sample. Reshape your data with X.reshape(len(X), -1): each frame, "
            "picture or block is then a row."
        )
    if n_dimensions == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead, of the shape {X.shape}. Reshape your data "
            "with X.reshape(1, -1) if it is one sample, or with X.reshape(-1, 1) if it is one "
            "feature."
        )
    if n_dimensions == 0:
        raise ValueError(
            f"Expected 2D array, got scalar array instead: {name} takes one row for each sample. "
            "Reshape your data with numpy.reshape(X, (1, 1)) if it is one number."
        )
