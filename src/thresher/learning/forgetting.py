"""How fast a stream forgets: the factor by which old statistics count when a batch arrives.

Everything is measured in samples, so cutting the same stream into other batches, in `fit` or in
`partial_fit`, means the same.
"""

from dataclasses import dataclass
from typing import Protocol


class Forgetting(Protocol):
    """A schedule: how much the past still counts."""

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """Factor for the old statistics; ``n_seen`` counts the ``n_batch`` new samples too."""


@dataclass(frozen=True)
class PlainAverage:
    """Never forget: the average of paper A."""

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """One."""
        return 1.0


@dataclass(frozen=True)
class PowerForgetting:
    """``(1 − b/n)^ω``: a sample seen when the stream was half as long counts ``2^−ω``.

    Early samples were coded with poor dictionaries; this lets them fade while the window, a share
    of about ``1/(ω + 1)`` of the stream, keeps growing, so that the average still converges
    (errata A.2). With ω = 0 it is the plain average.
    """

    omega: float = 10.0

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """``(1 − b/n)^ω``."""
        return float(max(0.0, 1.0 - n_batch / n_seen) ** self.omega) if n_seen > 0 else 1.0


@dataclass(frozen=True)
class HalfLife:
    """After ``samples`` more samples the past counts half: for data that drift."""

    samples: float

    def __post_init__(self) -> None:
        if not self.samples > 0:
            raise ValueError(f"A half-life must be a positive number of samples: {self.samples}.")

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """``2^(−b/half-life)``."""
        return float(2.0 ** (-n_batch / self.samples))
