"""Measures of coded samples: the noise, the share of the data that is explained, the mass."""

from __future__ import annotations

import warnings
from dataclasses import astuple, dataclass
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.encoding import AutoEncoder, CodingProblem, Fit, PreparedEncoder, Rows, narrowed
from thresher.engine.state import StreamState
from thresher.linalg import Array, absolute_sums
from thresher.streams import Batch

if TYPE_CHECKING:
    from thresher.engine.method import Method

# Codes that are precise enough to learn from are not precise enough to measure noise: with missing
# values, or where samples are large compared with their noise, most of such a residual is the error
# of the code. How well the noise is measured with these: docs/guide/choices.md.
EXACT = AutoEncoder(1e-3, 100)
_MEASURED_ENTRIES = 1024  # of a block, at least if it has so many
_MEASURED_SHARE = 8  # every eighth sample, at least
_ENERGY_ROWS = 256  # that decide whether a fit warns; heuristic
# Heuristic, as shares of the squared size of the data (docs/guide/choices.md).
_EXPLAINED = 0.5
_NEGLIGIBLE = 1e-3


def residual_sizes(
    problem: CodingProblem,
    encode: PreparedEncoder,
    X: Any,
    weight: Array | None,
    sample_weight: Array | None,
    codes: Array,
) -> tuple[Array, Array]:
    """Return ``|x − y|`` of some entries of a block at exact codes, and the weight of each.

    ``encode`` is `EXACT`, prepared for the problem. Every eighth row is coded, or more where these
    have fewer than a thousand entries; ``codes`` are the start.
    """
    if Rows.of(X, weight).observed:
        return _sizes_by_part(problem, X, sample_weight, codes)
    n, F = X.shape
    step = max(1, min(_MEASURED_SHARE, n * F // _MEASURED_ENTRIES))
    some = slice(0, None, step)
    mask = None if weight is None else weight[some]
    C = encode(X[some], mask, np.ascontiguousarray(codes[some])).codes
    C = _without_outliers(problem, encode, X[some], mask, C)
    sizes, rows, weights = problem.fit(X[some], C, mask).residuals(_MEASURED_ENTRIES)
    if sample_weight is not None:
        weights = weights * sample_weight[some][rows]
    return sizes[weights > 0], weights[weights > 0]


def _sizes_by_part(
    problem: CodingProblem, X: Any, sample_weight: Array | None, codes: Array
) -> tuple[Array, Array]:
    """Return the same for stored entries, by groups of rows that are coded together."""
    sizes: list[Array] = [np.empty(0)]
    weights = list(sizes)
    for rows, narrow, x, w in narrowed(problem, X):
        given = None if sample_weight is None else sample_weight[rows]
        encode = EXACT.prepare(narrow, Rows.of(x, w))
        size, weight = residual_sizes(narrow, encode, x, w, given, codes[rows])
        sizes.append(size)
        weights.append(weight)
    return np.concatenate(sizes), np.concatenate(weights)


def _without_outliers(
    problem: CodingProblem, encode: PreparedEncoder, X: Any, weight: Array | None, C: Array
) -> Array:
    """Recode rows without their outliers, each of which biases a code by up to λ.

    Rows in which outliers are the majority keep their codes.
    """
    if Rows.of(X, weight).sparse:
        return C
    outlying = problem.loss.outliers(X, C @ problem.D, weight) != 0
    seen: Any = np.ones_like(outlying) if weight is None else weight > 0
    pulled = outlying.any(axis=1) & (2 * outlying.sum(axis=1) <= seen.sum(axis=1))
    if pulled.any():
        rest = (np.ones_like(X) if weight is None else weight)[pulled]
        rest = np.where(outlying[pulled], X.dtype.type(0), rest)
        C[pulled] = encode(X[pulled], rest, C[pulled]).codes
    return C


class UnexplainedWarning(UserWarning):
    """A fit left most of the squared size of the data unexplained because of sets or penalties."""


@dataclass(frozen=True)
class Energies:
    """Weighted sums over observed entries x and their predictions y; sums of parts add up.

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
    def of(cls, fit: Fit, sample_weight: Array | None) -> Energies:
        """Return those of a coded block; zeros for sparse rows, whose codes have any size."""
        by_row = fit.energies()
        if by_row is None:
            return cls()
        rows = [np.asarray(part, dtype=np.float64) for part in by_row]
        weights = np.ones(len(rows[0])) if sample_weight is None else sample_weight
        return cls(*(float(weights @ part) for part in rows))

    def __add__(self, other: Energies) -> Energies:
        """Merge two sums."""
        return Energies(*map(add, astuple(self), astuple(other)))

    @property
    def explained(self) -> float:
        """``1 − Σ(x − y)²/Σx²``: one for a perfect model, zero for none; it can be negative."""
        return (2 * self.cross - self.predicted) / self.data if self.data > 0 else 1.0

    @property
    def explained_at_best_size(self) -> float:
        """The same share for predictions multiplied by the best single factor."""
        if not (self.predicted > 0 and self.data > 0):
            return 0.0
        return self.cross / self.data * (self.cross / self.predicted)

    def warn_of_size(self, bounded: bool) -> None:
        """Warn if most of the data is unexplained because predictions have the wrong size.

        A low share alone is no reason to warn: topics explain little of a text. The size is the
        reason if larger predictions would explain most of the data (predictions that are too large
        may be intended, as under Itakura–Saito), or, where sets bound both codes and atoms, if
        predictions have less than half or more than twice the mass of the data. A model whose
        predictions are almost zero has a warning of its own.
        """
        if not self.explained < _EXPLAINED:
            return
        other_mass = bounded and not self.mass / 2 <= self.predicted_mass <= 2 * self.mass
        too_small = self.cross > self.predicted and self.explained_at_best_size >= _EXPLAINED
        if other_mass or too_small:
            warnings.warn(
                f"The model explains only {max(self.explained, 0.0):.0%} of the squared size of "
                "the data, as its predictions cannot have the size of the data: the sets or "
                "penalties of codes and atoms are too tight. Leave dictionary_set at 'auto', or "
                "bound either codes or atoms, not both.",
                UnexplainedWarning,
                stacklevel=4,
            )
        elif not self.predicted > _NEGLIGIBLE * self.data:
            warnings.warn(
                "The model predicts next to nothing: codes cost more than they explain. Lower "
                "code_penalty; where there is an outlier_weight, raise it.",
                UnexplainedWarning,
                stacklevel=4,
            )


def energies(method: Method, state: StreamState, batch: Batch) -> Energies:
    """Return the energies of some rows of a batch, coded as in learning."""
    batch = batch.glance()
    batch = batch.every(-(-batch.n_samples // _ENERGY_ROWS))
    problem, total, kind = method.problem(state), Energies(), method.rows(batch)
    if kind.sparse:  # their predictions are computed at the nonzeros only
        return total
    encode = method.encoder.prepare(problem, kind)
    for rows in method.blocks(batch):
        X, weight, _ = method.load(batch, rows, state.D.dtype)
        given = None if batch.sample_weight is None else batch.sample_weight[rows]
        total += Energies.of(problem.fit(X, encode(X, weight).codes, weight), given)
    return total


def mass_of(X: Any, weight: Array | None, sample_weight: Array | None) -> tuple[float, float]:
    """Return ``Σ w|x|`` and ``Σ w`` over the entries of a block, dense or CSR."""
    by_row = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    sizes, seen = absolute_sums(X, weight)
    return float(by_row @ sizes), float(by_row @ seen)
