"""The unit of computation: measured once, so that nothing depends on the unit of the data.

Squares of very large or very small numbers leave the range of floats, that of float32 soon. So
samples are divided by a power of two near their typical size, which costs no precision, and what
users see is multiplied back. Published solvers compute with the data as they are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from thresher.learning import weighted_quantile
from thresher.linalg import Array, evenly, is_sparse, load_block, range_of_powers
from thresher.streams import Batch

# Heuristic: a median needs no more, and the unit is a power of two anyway.
_MEASURED_ENTRIES = 4096
_MEASURED_ROWS = 256

OVERFLOW = (
    "The samples are too large or too small to compute with in their precision: squares overflow "
    "or vanish. Rescale the data, pass float64, or mark glitches as missing (NaN)."
)


@contextmanager
def translate_linalg_errors() -> Iterator[None]:
    """Raise a ValueError about the samples where a matrix cannot be inverted or decomposed.

    Used around a block, or as a decorator of a function.
    """
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise ValueError(OVERFLOW) from error


def typical_size(batch: Batch) -> float:
    """Median size of the observed entries that are not zero; zero if there are none."""
    some = batch.every(-(-batch.n_samples // _MEASURED_ROWS))
    X, sample_weight = some.X, some.sample_weight
    if batch.is_sparse_without_gaps or (batch.only_stored and batch.entry_weight is None):
        values: Array = np.abs(X.data.astype(np.float64))
        given = np.ones(some.n_samples) if sample_weight is None else sample_weight
        weights = np.repeat(given, np.diff(X.indptr))
    else:
        dense, weight = load_block(X, slice(None), np.dtype(np.float64), some.entry_weight)
        values, weights = entries(np.abs(dense), weight, sample_weight, _MEASURED_ENTRIES)
    seen = (values > 0) & (weights > 0)
    return weighted_quantile(values[seen], weights[seen], 0.5)


def entries(
    values: Array, weight: Array | None, sample_weight: Array | None, limit: int
) -> tuple[Array, Array]:
    """Some observed entries of a block, evenly spread, each with its weight."""
    some = evenly(values.shape, limit)
    sw = np.ones(len(values)) if sample_weight is None else sample_weight
    weights, taken = sw[some // values.shape[1]], values.ravel()[some]
    if weight is not None:
        weights = weights * weight.ravel()[some]
    positive = weights > 0
    return taken[positive], weights[positive]


def unit_of(size: float) -> float:
    """The power of two nearest to a size; one if there is nothing to measure."""
    return float(2.0 ** np.round(np.log2(size))) if size > 0 else 1.0


def check_unit(unit: float, degree: float, n_features: int, dtype: np.dtype[Any]) -> None:
    """Refuse data whose losses, or codes, no float can hold."""
    single, double = np.finfo(dtype), np.finfo(np.float64)
    least, most = float(single.tiny), float(single.max) / max(n_features, 1)
    exponent = degree * np.log2(unit)
    if not (least <= unit <= most and np.log2(double.tiny) <= exponent < np.log2(double.max)):
        raise ValueError(_beyond(unit))


def needs_double(batch: Batch, unit: float) -> bool:
    """Whether some samples are so small beside the unit that single precision loses them."""
    X: Any = batch.X
    least = range_of_powers(np.dtype(np.float32))[0] * unit
    if is_sparse(X):
        sizes = np.abs(X.data)
        if sizes.size == 0 or sizes.min() >= least:
            return False
        largest = abs(X).max(axis=1).toarray()
    else:
        largest = np.fmax.reduce(np.abs(X), axis=1)  # which looks past the gaps
    return bool(((largest > 0) & (largest < least)).any())


def check_size(size: float, dtype: np.dtype[Any], power: int = 2) -> None:
    """Refuse data whose squares, or other powers, would lose their precision as they are."""
    least, most = range_of_powers(dtype, power)
    if size > 0 and not least <= size <= most:
        raise ValueError(_beyond(size))


def check_largest(batch: Batch, unit: float, dtype: np.dtype[Any], power: int = 2) -> None:
    """Refuse entries whose squares, or other powers, overflow in the unit of the others."""
    X: Any = batch.X
    if X.dtype.kind != "f":
        return
    if is_sparse(X):
        low, high = np.fmin.reduce(X.data, initial=0.0), np.fmax.reduce(X.data, initial=0.0)
    elif batch.entry_weight is None:
        low, high = batch.column_range
    else:  # what is missing may be anything
        low, high = Batch(np.where(batch.entry_weight > 0, X, 0)).column_range
    largest = float(max(np.max(high, initial=0.0), -np.min(low, initial=0.0)))
    if largest / unit > range_of_powers(dtype, power)[1]:
        raise ValueError(
            f"An entry of {largest:.0e} is too large or too small to compute with among the "
            "others: its square overflows. Mark glitches as missing (NaN), clip them, or pass "
            "float64."
        )


def _beyond(size: float) -> str:
    return (
        f"The samples are of size {size:.0e}, too large or too small to compute with in their "
        "precision: squares overflow or vanish. Rescale the data, or pass float64."
    )
