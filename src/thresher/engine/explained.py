"""How much of the data a model explains, and whether it is its size that is wrong."""

import warnings
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from thresher.encoding import Fit
from thresher.linalg import Array, StoredBlock

# By judgement, as shares of the squared size of the data (docs/guide/choices.md).
_MOST = 0.5
_NOTHING = 1e-3


class UnexplainedWarning(UserWarning):
    """A fit left most of the squared size of the data unexplained, for lack of room."""


@dataclass(frozen=True)
class Energies:
    """Sums over entries that were seen, y the prediction; they add up.

    Attributes
    ----------
    data, cross, predicted : float
        ``Σ x²``, ``Σ xy`` and ``Σ y²``.
    mass, predicted_mass : float
        ``Σ x`` and ``Σ y``.
    """

    data: float = 0.0
    cross: float = 0.0
    predicted: float = 0.0
    mass: float = 0.0
    predicted_mass: float = 0.0

    @classmethod
    def of(cls, fit: Fit, sample_weight: Array | None) -> "Energies":
        """Those of a coded block, entries and samples weighted.

        None are taken of sparse rows, whose codes have any size.
        """
        energies = fit.energies()
        if energies is None:
            return cls()
        rows = [np.asarray(part, dtype=np.float64) for part in energies]
        weights = np.ones(len(rows[0])) if sample_weight is None else sample_weight
        return cls(*(float(weights @ part) for part in rows))

    @classmethod
    def later(cls, fit: Any, sample_weight: Array | None) -> Callable[[], "Energies"]:
        """The same when somebody asks; of the batch, whose rows may be a view, nothing is held."""
        if isinstance(fit.X, StoredBlock):  # which is a copy
            return partial(cls.of, fit, sample_weight)
        if hasattr(fit.X, "indptr"):
            return cls
        X = fit.X if fit.X.flags.owndata else fit.X.copy()
        return partial(cls.of, replace(fit, X=X), sample_weight)

    def __add__(self, other: "Energies") -> "Energies":
        """Merge two sums."""
        return Energies(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def explained(self) -> float:
        """``1 − Σ(x − y)²/Σx²``: one for a perfect model, zero for none; it can be negative."""
        return (2 * self.cross - self.predicted) / self.data if self.data > 0 else 1.0

    @property
    def explained_at_best_size(self) -> float:
        """The same if all predictions were multiplied by the one number that is best."""
        if not (self.predicted > 0 and self.data > 0):
            return 0.0
        return self.cross / self.data * (self.cross / self.predicted)

    def warn_of_size(self, bounded: bool) -> None:
        """Warn if most is unexplained, and the size of the predictions is to blame.

        How well a few parts explain data is up to the data, and no reason to warn: topics explain
        little of a text. It is the size if the same predictions would explain most once they are
        made larger (too large may well be meant: so are those of Itakura–Saito), or, where sets
        bound both codes and atoms, if they have less than half or more than twice the mass of the
        data. There is another warning for a model that predicts next to nothing.
        """
        if not self.explained < _MOST:
            return
        other_mass = bounded and not self.mass / 2 <= self.predicted_mass <= 2 * self.mass
        too_small = self.cross > self.predicted and self.explained_at_best_size >= _MOST
        if other_mass or too_small:
            warnings.warn(
                f"The model explains only {max(self.explained, 0.0):.0%} of the squared size of "
                "the data, as its predictions cannot have the size of the data: the sets or "
                "penalties of codes and atoms are too tight. Leave dictionary_set at 'auto', or "
                "bound either codes or atoms, not both.",
                UnexplainedWarning,
                stacklevel=4,
            )
        elif not self.predicted > _NOTHING * self.data:
            warnings.warn(
                "The model predicts next to nothing: codes cost more than they explain. Lower "
                "code_penalty; where there is an outlier_weight, raise it.",
                UnexplainedWarning,
                stacklevel=4,
            )


def mass_of(X: Any, weight: Array | None, sample_weight: Array | None) -> tuple[float, float]:
    """``Σ w|x|`` and ``Σ w`` over the entries of a block, dense or CSR."""
    by_row = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    if isinstance(X, StoredBlock):
        rows, weights = np.repeat(by_row, np.diff(X.values.indptr)), X.entry_weights()
        weights = rows * weights.astype(np.float64)
        return float(np.abs(X.values.data) @ weights), float(weights.sum())
    if weight is None:
        sizes, seen = abs(X).sum(axis=1, dtype=np.float64), np.full(len(by_row), X.shape[1])
    else:
        sizes = np.einsum("nf,nf->n", np.where(weight > 0, np.abs(X), 0), weight, dtype=np.float64)
        seen = weight.sum(axis=1, dtype=np.float64)
    return float(by_row @ np.asarray(sizes)), float(by_row @ seen)
