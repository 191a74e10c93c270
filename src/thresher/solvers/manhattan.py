"""Solvers of Manhattan NMF (paper C): who moves a factor while the other is held."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.learning.symmetric import manhattan_columns, manhattan_sweep
from thresher.linalg import Array
from thresher.manhattan import (
    LARGE,
    ExactRows,
    Half,
    HalfSolver,
    NesterovSmoothing,
    OptimalGradient,
    RankOneSweeps,
    RepeatedSweeps,
    TwoFactors,
)
from thresher.solvers.constants import AT_LEAST_0, COUNT, FLAG, POSITIVE, check_constants
from thresher.solvers.names import Published


@dataclass(frozen=True)
class FactorSolver:
    """What a solver of paper C stands for: who moves the factor of a half.

    ``xi`` is that of the paper's stop (4), in units of the mean ``|x|`` unless ``as_printed``;
    without one, ``tol`` ends a fit. ``rescales`` says that a method sees no more than the product
    of the factors, so that atoms may be brought to a length.
    """

    description: str
    choose: Callable[[Half], HalfSolver]
    quick_start: bool = False
    published: bool = True
    rescales: bool = True
    xi: float | None = None
    as_printed: bool = False

    def small_change(self, factors: TwoFactors) -> float | None:
        """The change of the objective per sample at which (4) holds."""
        if self.xi is None:
            return None
        unit = 1.0 if self.as_printed else factors.codes.mean_entry
        return self.xi * unit / float(factors.problem.sample_weight.sum())


def _best(half: Half) -> HalfSolver:
    # Small sparse data are expanded quickly, and sweeps know every weight.
    large = half.samples.shape[0] * half.samples.shape[1] > LARGE
    if large and half.is_sparse and ExactRows().requires(half) is None:
        return ExactRows()
    return RankOneSweeps() if RankOneSweeps().requires(half) is None else NesterovSmoothing()


@dataclass(frozen=True)
class RRI(Published[FactorSolver]):
    """Rank-one residual iteration (paper C, Algorithm 1), for codes and dictionary in turns.

    Parameters
    ----------
    epsilon : float
        ε of (8): a sweep over one factor that changes the objective of the whole matrix by no more
        is the last. In units of the mean ``|x|`` (errata C.4).
    xi : float
        ξ of (4): so with a round.
    as_printed : bool
        ε and ξ in the unit of the data.
    max_sweeps : int
        Bound on the sweeps over one factor; the paper has none.
    """

    name = "rri"
    epsilon: float = 0.1
    xi: float = 0.1
    as_printed: bool = False
    max_sweeps: int = 1000

    def __post_init__(self) -> None:
        check_constants(self, epsilon=AT_LEAST_0, xi=AT_LEAST_0, as_printed=FLAG, max_sweeps=COUNT)

    def made(self) -> FactorSolver:
        """Its parts."""
        sweeps = RepeatedSweeps(self.epsilon, self.as_printed, self.max_sweeps)

        def choose(half: Half) -> HalfSolver:
            reason = sweeps.requires(half)
            if reason is not None:
                raise ValueError(reason)
            return sweeps

        return FactorSolver(
            "sweeps over the entries of each factor (paper C, RRI)",
            choose,
            xi=self.xi,
            as_printed=self.as_printed,
        )


@dataclass(frozen=True)
class OGM(Published[FactorSolver]):
    """Nesterov's smoothing method (paper C, Algorithms 2 and 3).

    Parameters
    ----------
    lambda_0 : float
        ``λ_t = λ₀/(t + 1)`` rounds kinks off in round t; in units of ``mean|X|/mean(q)``, q the
        lengths of the columns of the other factor (errata C.4). In a box λ follows from ε.
    epsilon : float
        ε of (8) for Algorithm 2, in units of the mean ``|x|``; of (25) in a box.
    xi : float
        ξ of (4), likewise.
    centre : float, optional
        What the start counts in (20): 1 keeps it (errata C.3), 0 is as printed. None is 1, and 0
        ``as_printed``.
    monotone : bool
        The variant with the best of three points in line 5.
    by_row : bool
        (22) in place of (8): each row ends by itself, by its smoothed loss.
    as_printed : bool
        λ₀, ε and ξ in the unit of the data, and the centre 0.
    max_iter : int
        Bound on the iterations of Algorithm 2; the paper has none.
    """

    name = "ogm"
    lambda_0: float = 0.1
    epsilon: float = 0.1
    xi: float = 0.1
    centre: float | None = None
    monotone: bool = False
    by_row: bool = False
    as_printed: bool = False
    max_iter: int = 1000

    def __post_init__(self) -> None:
        check_constants(
            self,
            lambda_0=POSITIVE,
            epsilon=POSITIVE,
            xi=AT_LEAST_0,
            centre=AT_LEAST_0,
            monotone=FLAG,
            by_row=FLAG,
            as_printed=FLAG,
            max_iter=COUNT,
        )

    def made(self) -> FactorSolver:
        """Its parts; a half has a method of its own, which counts its rounds."""
        centre = 0.0 if self.as_printed else 1.0

        def choose(half: Half) -> HalfSolver:
            return OptimalGradient(
                self.lambda_0,
                self.epsilon,
                centre if self.centre is None else self.centre,
                self.monotone,
                self.by_row,
                self.as_printed,
                self.max_iter,
            )

        return FactorSolver(
            "Nesterov's smoothing method (paper C, OGM)",
            choose,
            rescales=False,
            xi=self.xi,
            as_printed=self.as_printed,
        )


@dataclass(frozen=True)
class SymmetricSolver:
    """What a solver of symmetric factorisation stands for: a sweep over X and H, in place.

    ``epsilon`` is that of the paper's stop (8), as ``xi`` of a `FactorSolver` is.
    """

    description: str
    sweep: Callable[[Any, Array], None]
    epsilon: float | None = None
    as_printed: bool = False

    def small_change(self, X: Any, n_samples: int) -> float | None:
        """The change of the objective at which (8) holds; X is CSR, its NaN are gaps."""
        if self.epsilon is None or self.as_printed:
            return self.epsilon
        gaps = np.isnan(X.data)
        known = n_samples**2 - int(gaps.sum())
        return self.epsilon * float(X.data[~gaps].sum()) / max(known, 1)


@dataclass(frozen=True)
class SymmetricRRI(Published[SymmetricSolver]):
    """Rank-one residual iteration for ``X ≈ H Hᵀ`` (paper C, (60)–(61)), column by column.

    Parameters
    ----------
    epsilon : float
        ε of (8): a sweep that changes the objective by no more is the last. In units of the mean
        similarity (errata C.4).
    as_printed : bool
        (61) as it stands: entries off the diagonal count once, and the diagonal is convex (errata
        C.6). ε in the unit of the data. The objective may rise.
    """

    name = "symmetric_rri"
    epsilon: float = 0.1
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_constants(self, epsilon=AT_LEAST_0, as_printed=FLAG)

    def made(self) -> SymmetricSolver:
        """Its parts."""

        def sweep(X: Any, H: Array) -> None:
            manhattan_columns(X, H, self.as_printed)

        return SymmetricSolver(
            "column by column, entry by entry (paper C, MahNMF-SYM)",
            sweep,
            self.epsilon,
            self.as_printed,
        )


SYMMETRIC_SOLVERS: dict[str, SymmetricSolver | Published[SymmetricSolver]] = {
    "auto": SymmetricSolver("row by row, entry by entry", manhattan_sweep),
    "symmetric_rri": SymmetricRRI(),
}

MANHATTAN_SOLVERS: dict[str, FactorSolver | Published[FactorSolver]] = {
    "auto": FactorSolver(
        "ADMM on both factors, then sweeps; exact rows of large sparse data",
        _best,
        quick_start=True,
        published=False,
    ),
    "rri": RRI(),
    "ogm": OGM(),
}
