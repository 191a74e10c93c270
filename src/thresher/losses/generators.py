"""User-defined divergences: Csiszár and Bregman, from a generator and its derivative."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thresher.linalg import Array
from thresher.losses.base import Loss, SeparableLoss
from thresher.losses.powers import KullbackLeibler

Function = Callable[[Array], Array]

_POINTS = np.geomspace(0.05, 20, 25)
_STEP = 1e-3  # relative; the error of fourth-order differences is then about 1e-10


def _difference(f: Function, u: Array) -> Array:
    """Derivative of f by fourth-order central differences with a relative step."""
    h = u * _STEP
    slope: Array = (f(u - 2 * h) - 8 * f(u - h) + 8 * f(u + h) - f(u + 2 * h)) / (12 * h)
    return slope


def _check_slope(generator: Function, derivative: Function) -> None:
    """Raise a ValueError if the derivative is not that of the generator."""
    values, slopes = (np.asarray(f(_POINTS), dtype=float) for f in (generator, derivative))
    for name, got in (("generator", values), ("derivative", slopes)):
        if got.shape != _POINTS.shape or not np.isfinite(got).all():
            raise ValueError(
                f"The {name} must map an array of positive numbers to finite numbers of the same "
                "shape; write it with NumPy functions."
            )
    expected = _difference(generator, _POINTS)
    scale = 1e-6 * (np.abs(expected) + np.abs(values) / _POINTS) + 1e-9
    wrong = np.abs(slopes - expected) > scale
    if wrong.any():
        u, got, slope = _POINTS[wrong][0], slopes[wrong][0], expected[wrong][0]
        raise ValueError(
            f"The derivative is not that of the generator: at {u:.3g} it is {got:.6g}, and the "
            f"numerical derivative of the generator is {slope:.6g}."
        )


def _check_convex(derivative: Function) -> None:
    """Raise a ValueError if the generator is not convex."""
    slopes = np.asarray(derivative(_POINTS), dtype=float)
    if (np.diff(slopes) < -1e-9 * np.abs(slopes[1:])).any():
        raise ValueError("The generator must be convex, so its derivative must not decrease.")


@dataclass(frozen=True)
class Csiszar(SeparableLoss):
    """``Σ y φ(x/y)`` for a convex φ with ``φ(1) = 0``; convex in y.

    Generators that differ by a multiple of u − 1 give the same divergence of samples with equal
    sums. In general, ``Σ y φ(x/y)`` is minimal at x = y only if ``φ′(1) = 0``; with ``u log u`` it
    is unbounded below. So the generator is centred, ``φ(u) − φ′(1)(u − 1)``; then ``u log u`` gives
    KL (errata E.8).

    Parameters
    ----------
    generator, derivative : callable
        φ and φ′, functions of arrays of positive numbers. The derivative is checked.
    """

    generator: Function
    derivative: Function

    degree = 1.0  # φ depends on ratios only
    needs_positive_prediction = True  # ``u = x/y``
    needs_positive_data = True  # φ may be undefined at zero

    def __post_init__(self) -> None:
        _check_slope(self.generator, self.derivative)
        _check_convex(self.derivative)
        at_one = float(self.generator(np.ones(1))[0])
        if abs(at_one) > 1e-8:
            raise ValueError(
                f"A Csiszár generator needs φ(1) = 0, so that the loss is 0 at x = y; got "
                f"{at_one:.3g}, subtract it from the generator."
            )

    @cached_property
    def _tilt(self) -> float:
        """``φ′(1)``, zero up to rounding."""
        slope = float(self.derivative(np.ones(1))[0])
        return slope if abs(slope) > 1e-8 else 0.0

    def entry_value(self, x: Array, y: Array) -> Array:
        """``y φ(u) − φ′(1)(x − y)``, ``u = x/y``."""
        value = y * self.generator(x / y)
        if self._tilt:
            value = value - self._tilt * (x - y)
        return np.asarray(value, dtype=y.dtype)

    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``φ(u) − u φ′(u) + φ′(1)``."""
        u = x / y
        slope = self.generator(u) - u * self.derivative(u) + self._tilt
        return np.asarray(slope, dtype=y.dtype)


@dataclass(frozen=True)
class Bregman(SeparableLoss):
    """``Σ φ(x) − φ(y) − φ′(y)(x − y)`` for a convex φ.

    Parameters
    ----------
    generator, derivative : callable
        φ and φ′, functions of arrays of positive numbers. The derivative is checked.
    second_derivative : callable, optional
        φ″; None: fourth-order differences of φ′.
    is_convex : bool
        Whether the divergence is convex in y. If so, a faster encoder is used.
    """

    generator: Function
    derivative: Function
    second_derivative: Function | None = None
    is_convex: bool = False

    needs_positive_prediction = True  # φ may be undefined at zero
    needs_positive_data = True  # φ may be undefined at zero

    def __post_init__(self) -> None:
        _check_slope(self.generator, self.derivative)
        _check_convex(self.derivative)
        if self.second_derivative is not None:
            _check_slope(self.derivative, self.second_derivative)

    @property
    def convex(self) -> bool:
        """As declared by ``is_convex``."""
        return self.is_convex

    @property
    def convex_surrogate(self) -> Loss:
        """KL, unless the divergence is declared convex."""
        return self if self.convex else KullbackLeibler()

    def entry_value(self, x: Array, y: Array) -> Array:
        """``φ(x) − φ(y) − φ′(y)(x − y)``."""
        value = self.generator(x) - self.generator(y) - self.derivative(y) * (x - y)
        return np.asarray(value, dtype=y.dtype)

    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``φ″(y)(y − x)``."""
        return self._second(y) * (y - x)

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """``φ″(y) y`` and ``φ″(y) x``."""
        second = self._second(y)
        return second * y, second * x

    def _second(self, y: Array) -> Array:
        if self.second_derivative is not None:
            return np.asarray(self.second_derivative(y), dtype=y.dtype)
        return np.asarray(_difference(self.derivative, y.astype(np.float64)), dtype=y.dtype)
