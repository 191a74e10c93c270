"""Forgetting rules: the factor by which old statistics are discounted when a batch arrives.

Factors depend on numbers of samples, so that the batches into which a stream is divided, in `fit`
or in `partial_fit`, make no difference.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol


class Forgetting(Protocol):
    """A rule for the discount of old statistics."""

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """Factor for the old statistics; ``n_seen`` counts the ``n_batch`` new samples too."""


@dataclass(frozen=True)
class PlainAverage:
    """No forgetting: the plain average of paper A."""

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """One."""
        return 1.0


@dataclass(frozen=True)
class PowerForgetting:
    """``(1 − b/n)^ω``: a sample from when the stream was half as long has the weight ``2^−ω``.

    Early samples were coded with poor dictionaries and fade. The window, a share of about
    ``1/(ω + 1)`` of the stream, keeps growing, so that the average still converges (errata A.2).
    With ω = 0 it is the plain average.
    """

    omega: float = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.omega, Real) or not 0 <= self.omega < float("inf"):
            raise ValueError(f"omega={self.omega!r} must be a finite number, 0 or more.")

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """``(1 − b/n)^ω``."""
        return float(max(0.0, 1.0 - n_batch / n_seen) ** self.omega) if n_seen > 0 else 1.0


@dataclass(frozen=True)
class HalfLife:
    """Exponential forgetting: weights halve after ``samples`` more samples, for data that drift."""

    samples: float

    def __post_init__(self) -> None:
        if not isinstance(self.samples, Real) or not self.samples > 0:
            raise ValueError(
                f"A half-life must be a positive number of samples; got {self.samples!r}."
            )

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """``2^(−b/half-life)``."""
        return float(2.0 ** (-n_batch / self.samples))


@dataclass(frozen=True)
class CustomForgetting:
    """A user's function, whose factors are validated to lie between 0 and 1."""

    function: Callable[[float, float], Any]

    def __call__(self, n_batch: float, n_seen: float) -> float:
        """The factor of the function."""
        factor = self.function(n_batch, n_seen)
        if not isinstance(factor, Real) or not 0 <= float(factor) <= 1:
            raise ValueError(
                f"The function given as forgetting returned {factor!r} for a batch of {n_batch:g} "
                f"of {n_seen:g} samples; it must return the factor of old statistics, from 0 to 1."
            )
        return float(factor)
