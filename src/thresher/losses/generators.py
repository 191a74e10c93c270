"""User-defined divergences: Csiszár and Bregman, from a generator and its derivative."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thresher.linalg import Array
from thresher.losses.base import Loss
from thresher.losses.powers import KullbackLeibler
from thresher.losses.separable import SeparableLoss

Function = Callable[[Array], Array]

_POINTS = np.geomspace(0.05, 20, 25)
_STEP = 1e-3  # relative; fourth-order differences are then good to about 1e-10


def _difference(f: Function, u: Array) -> Array:
    """Derivative of f by fourth-order central differences with a relative step."""
    h = u * _STEP
    slope: Array = (f(u - 2 * h) - 8 * f(u - h) + 8 * f(u + h) - f(u + 2 * h)) / (12 * h)
    return slope


def _check_slope(generator: Function, derivative: Function) -> None:
    """Raise a ValueError if the derivative does not belong to the generator."""
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
        u, got, want = _POINTS[wrong][0], slopes[wrong][0], expected[wrong][0]
        raise ValueError(
            f"The derivative does not belong to the generator: at {u:.3g} it is {got:.6g}, while "
            f"the generator grows at the rate {want:.6g}."
        )


def _check_convex(derivative: Function) -> None:
    """Raise a ValueError if the generator is not convex."""
    slopes = np.asarray(derivative(_POINTS), dtype=float)
    if (np.diff(slopes) < -1e-9 * np.abs(slopes[1:])).any():
        raise ValueError("The generator is not convex: its derivative must never fall.")


@dataclass(frozen=True)
class Csiszar(SeparableLoss):
    """``Σ y φ(x/y)`` for a convex φ with ``φ(1) = 0``; convex in y.

    Generators that differ by a multiple of u − 1 stand for one divergence: between samples of one
    sum they agree. For others, ``Σ y φ(x/y)`` is least at x = y only if ``φ′(1) = 0``; with
    ``u log u`` as it is, it falls without end as y grows. So what counts here is the centred
    ``φ(u) − φ′(1)(u − 1)``, for which ``u log u`` is KL (errata E.8).

    Parameters
    ----------
    generator, derivative : callable
        φ and φ′, functions of arrays of positive numbers. A pair that does not fit is refused.
    """

    generator: Function
    derivative: Function

    degree = 1.0  # φ sees nothing but ratios
    needs_positive_prediction = True  # ``u = x/y``
    needs_positive_data = True  # φ may be undefined at zero

    def __post_init__(self) -> None:
        _check_slope(self.generator, self.derivative)
        _check_convex(self.derivative)
        at_one = float(self.generator(np.ones(1))[0])
        if abs(at_one) > 1e-8:
            raise ValueError(
                f"A Csiszár generator needs φ(1) = 0, or x = y would not have the loss 0; here it "
                f"is {at_one:.3g}. Subtract it."
            )

    @cached_property
    def _tilt(self) -> float:
        """``φ′(1)``; what is rounding is none."""
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
        φ and φ′, functions of arrays of positive numbers. A pair that does not fit is refused.
    second_derivative : callable, optional
        φ″; without it, fourth-order differences of φ′ serve.
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
