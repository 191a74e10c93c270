"""Solvers of Manhattan NMF (paper C): who moves a factor while the other is held."""

from collections.abc import Callable
from dataclasses import dataclass

from thresher.manhattan import ExactRows, Half, HalfSolver, NesterovSmoothing, RankOneSweeps
from thresher.solvers.names import Published


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


@dataclass(frozen=True)
class RRI(Published[FactorSolver]):
    """One sweep over the entries of each factor (paper C, Algorithm 1)."""

    name = "rri"

    def made(self) -> FactorSolver:
        """Its parts."""

        def sweeps(half: Half) -> HalfSolver:
            reason = RankOneSweeps().requires(half)
            if reason is not None:
                raise ValueError(reason)
            return RankOneSweeps()

        return FactorSolver("one sweep over the entries of each factor (paper C, RRI)", sweeps)


@dataclass(frozen=True)
class OGM(Published[FactorSolver]):
    """The smoothing method of paper C; see `thresher.manhattan.NesterovSmoothing`."""

    name = "ogm"
    smoothing: float = 2.0
    monotone: bool = False

    def made(self) -> FactorSolver:
        """Its parts; a half has a method of its own, which counts its rounds."""
        return FactorSolver(
            "Nesterov's smoothing method (paper C, OGM)",
            lambda half: NesterovSmoothing(self.smoothing, self.monotone),
        )


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
