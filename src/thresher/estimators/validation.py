"""Validation of samples: any container becomes a matrix; masked entries become missing values."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from thresher.cluster import is_collection
from thresher.estimators.frames import is_frame, numbers_of, refuse_lazy
from thresher.linalg import Array, is_only_stored, stored_values, with_gaps
from thresher.streams import Source

# Type codes of float32, float16, integers of one and two bytes, and bool. Comparing codes is
# faster than comparing names.
_SMALL_TYPES = "feBbHh?"
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def computing_dtype(X: Any) -> np.dtype[Any]:
    """Return float32 for data that fit into it without loss, else float64."""
    return _FLOAT32 if X.dtype.char in _SMALL_TYPES else _FLOAT64


def dense_copy(X: Any) -> Any:
    """Return checked samples as a new dense array, NaN where an entry is missing."""
    dtype = computing_dtype(X)
    return with_gaps(X, dtype) if is_only_stored(X) else np.array(X, dtype=dtype, order="C")


def is_plain(X: Any) -> bool:
    """Whether X is a finite float matrix, so that scikit-learn's slower checks can be skipped."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and (X.dtype is _FLOAT64 or X.dtype is _FLOAT32)
        and X.size > 0
        and math.isfinite(np.add.reduce(X, None, _FLOAT64))
    )


def as_matrix(X: Any, estimator: Any, **checks: Any) -> Any:
    """Return X as a two-dimensional array, or as CSR if ``checks`` accept it.

    Masked entries become NaN.

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
    if getattr(X, "ndim", 2) > 2:
        raise ValueError(
            f"Found array of shape {X.shape}, while {name} takes one row for each sample. Reshape "
            "your data with X.reshape(len(X), -1): each frame, image or block is then a row."
        )
    try:
        matrix = check_array(X, estimator=estimator, **checks)
        if matrix.dtype.kind == "O":  # lists of integers beyond 64 bits
            matrix = matrix.astype(np.float64)
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
    """Return masked arrays with NaN at masked entries; anything else unchanged."""
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
    """Refuse a masked array where missing values have no meaning."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} has masked entries; fill them first, with {name}.filled(...).")


def refuse_negative(X: Any, name: str) -> None:
    """Refuse negative entries of checked samples; missing values are ignored."""
    values = stored_values(X)
    smallest = np.minimum.reduce(values, None, initial=0)
    if np.isnan(smallest):  # fmin is slower, and ignores missing values
        smallest = np.fmin.reduce(values, axis=None)
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed to {name}: its parts are nonnegative. Shift the data, "
            "clip them at zero, or use OnlineOrthogonalDictionary, which takes either sign."
        )


def checked_entry_weight(X: Any, entry_weight: Any, only_flags: bool) -> Array | None:
    """Return entry weights, or flags of observed entries, as an array of the shape of samples."""
    if entry_weight is None:
        return None
    refuse_mask("entry_weight", entry_weight)
    weight: Array = check_array(
        entry_weight, dtype=[np.float64, np.float32], input_name="entry_weight"
    )
    if weight.shape != X.shape or (weight < 0).any():
        raise ValueError(
            f"entry_weight must be nonnegative and of the shape of the data, {X.shape}; got "
            f"the shape {weight.shape}."
        )
    if only_flags and not np.isin(weight, (0, 1)).all():
        raise ValueError("entry_weight must be 0 (missing) or 1 (observed) for this model.")
    return weight


def checked_codes(C: Any, X: Any, n_atoms: int) -> Array:
    """Return given codes of some samples as an array."""
    codes: Array = check_array(C, dtype=computing_dtype(X))
    if codes.shape != (X.shape[0], n_atoms):
        raise ValueError(
            f"{X.shape[0]} samples have codes of shape ({X.shape[0]}, {n_atoms}); got "
            f"{codes.shape}."
        )
    return codes


def numbers_in_rows(name: str, given: Any) -> Array:
    """Return a parameter as a new array of numbers in rows."""
    refuse_mask(name, given)
    try:
        rows = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        rows = np.zeros(0)
    if rows.ndim != 2:
        raise ValueError(f"{name} must be an array of numbers in rows, got {given!r}.")
    return rows


def checked_rows(
    name: str, given: Any, shape: tuple[int | None, int | None], nonnegative: bool
) -> Array:
    """Return a parameter as a finite array of a shape, in which None is any length."""
    rows = numbers_in_rows(name, given)
    fits = all(want in (None, have) for want, have in zip(shape, rows.shape, strict=True))
    if not fits or not np.isfinite(rows).all() or (nonnegative and (rows < 0).any()):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(
            f"{name} must be a finite{', nonnegative' * nonnegative} array of shape ({sizes}); got "
            f"an array of shape {rows.shape}."
        )
    return rows
