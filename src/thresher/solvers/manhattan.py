"""Solvers of Manhattan NMF (paper C): who moves a factor while the other is held."""

from collections.abc import Callable
from dataclasses import dataclass

from thresher.manhattan import ExactRows, Half, HalfSolver, NesterovSmoothing, RankOneSweeps


@dataclass(frozen=True)
class FactorSolver:
    """What a solver of paper C stands for: who moves the factor of a half."""

    description: str
    choose: Callable[[Half], HalfSolver]
    quick_start: bool = False
    published: bool = True


_LARGE = 1 << 20


def _best(half: Half) -> HalfSolver:
    # Small sparse data are expanded quickly, and sweeps know every weight.
    large = half.samples.shape[0] * half.samples.shape[1] >= _LARGE
    if large and half.is_sparse and ExactRows().requires(half) is None:
        return ExactRows()
    return RankOneSweeps() if RankOneSweeps().requires(half) is None else NesterovSmoothing()


def _rri(half: Half) -> HalfSolver:
    reason = RankOneSweeps().requires(half)
    if reason is not None:
        raise ValueError(reason)
    return RankOneSweeps()


@dataclass(frozen=True)
class Smoothing:
    """Makes `NesterovSmoothing`, which counts rounds, anew for each half."""

    smoothing: float = 2.0
    monotone: bool = False

    def __call__(self, half: Half) -> HalfSolver:
        """The same for every half."""
        return NesterovSmoothing(self.smoothing, self.monotone)


def ogm(smoothing: float = 2.0, monotone: bool = False) -> FactorSolver:
    """The smoothing method of paper C; see `thresher.engine.NesterovSmoothing`.

    Give it to ``ManhattanNMF(solver=ogm(monotone=True))``.
    """
    return FactorSolver(
        "Nesterov's smoothing method (paper C, OGM)", Smoothing(smoothing, monotone)
    )


MANHATTAN_SOLVERS = {
    "auto": FactorSolver(
        "ADMM on both factors, then sweeps; exact rows of large sparse data",
        _best,
        quick_start=True,
        published=False,
    ),
    "rri": FactorSolver("one sweep over the entries of each factor (paper C, RRI)", _rri),
    "ogm": ogm(),
}
