"""Checks of arguments that several data sets share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


def checked_dictionary(dictionary: ArrayLike) -> NDArray[np.float64]:
    """Atoms as a copy in float64."""
    atoms = np.array(dictionary, dtype=np.float64)
    if atoms.ndim != 2 or atoms.size == 0:
        raise ValueError(
            "dictionary must be a nonempty matrix of shape (n_components, n_features), "
            f"but its shape is {atoms.shape}."
        )
    if not np.isfinite(atoms).all() or (atoms < 0).any():
        raise ValueError("dictionary must be finite and nonnegative: remove NaNs and clip at 0.")
    return atoms


def given_or_drawn(
    dictionary: ArrayLike | None,
    n_components: int,
    n_features: int,
    draw: Callable[[int, int], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """The user's atoms, or else drawn ones: ``draw(n_components, n_features)``."""
    if dictionary is not None:
        return checked_dictionary(dictionary)
    require_positive("n_features", n_features)
    require_positive("n_components", n_components)
    return draw(n_components, n_features)


def require_share(name: str, value: float) -> None:
    """Refuse what is not between 0 and 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is a share: give a number between 0 and 1, not {value}.")


def require_positive(name: str, value: int) -> None:
    """Refuse sizes below 1."""
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}.")


def checked_float_type(dtype: DTypeLike) -> np.dtype[Any]:
    """One of the two types that synthetic data come in."""
    checked: np.dtype[Any] = np.dtype(dtype)
    if checked not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {checked}.")
    return checked
