"""The α- and β-divergences, and their named members.

Both families have one convex generator (paper E, Tables I and II),

    φ_p(u) = (u^p − 1 − p(u − 1)) / (p(p − 1)),      u = x/y,

with the limits ``φ_1(u) = u log u − u + 1`` and ``φ_0(u) = u − 1 − log u``: the α-divergence is
``y φ_α(u)`` and the β-divergence ``y^β φ_β(u)``. With ``E_t = (u^t − 1)/t``, computed by `expm1`
without cancellation, and its limit ``log u`` at t = 0,

    φ_p(u) = (u E_{p−1} − (u − 1))/p = (E_p − (u − 1))/(p − 1);

the first form is stable near p = 1, the second near p = 0.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import kl_div

from thresher.linalg import Array
from thresher.losses.base import Loss, SeparableLoss
from thresher.losses.squared import SquaredL2

_LEAST_POWER = 1e-4  # below it, a step with the exponent 1/α would amplify rounding


def _check_order(name: str, value: Any) -> None:
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ValueError(f"{name} must be a finite number, such as 0.5 or 1; got {value!r}.")


def _ratio(x: Array, y: Array) -> Array:
    ratio: Array = x / np.maximum(y, np.finfo(y.dtype).tiny)
    return ratio


def _scaled_power(log_u: Array, t: float) -> Array:
    """``E_t = (u^t − 1)/t``, and ``log u`` at t = 0."""
    return log_u if t == 0 else np.expm1(t * log_u) / t


def _generator(u: Array, p: float) -> Array:
    """``φ_p(u)``; at ``u = 0`` its limit, 1/p for positive p."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_u = np.log(u)
        if abs(p - 1) <= 0.5:
            value = (u * _scaled_power(log_u, p - 1) - (u - 1)) / p
        else:
            value = (_scaled_power(log_u, p) - (u - 1)) / (p - 1)
    at_zero = 1 / p if p > 0 else np.inf
    return np.asarray(np.where(u > 0, value, at_zero), dtype=u.dtype)


def _power(u: Array, p: float) -> Array:
    """``u^p``, by cheaper operations for some p."""
    if p == 0:
        return np.ones_like(u)
    if p == 1:
        return u
    if p == 0.5:
        root: Array = np.sqrt(u)
        return root
    if p == -1:
        return 1 / u
    return np.asarray(u ** u.dtype.type(p))


@dataclass(frozen=True)
class AlphaDivergence(SeparableLoss):
    """``Σ y φ_α(x/y)``: Hellinger at α = ½, KL at α = 1, convex for every α (paper E, Table I)."""

    alpha: float

    degree = 1.0
    needs_positive_prediction = True  # ``u = x/y``

    def __post_init__(self) -> None:
        _check_order("α", self.alpha)

    @property
    def needs_positive_data(self) -> bool:
        """Whether α ≤ 0, or so small that the loss at zeros is infinite in practice."""
        return self.alpha < _LEAST_POWER

    @property
    def zero_slope(self) -> float | None:
        """``1/α`` for α > 0."""
        return 1.0 / self.alpha if self.alpha >= _LEAST_POWER else None

    @property
    def order(self) -> float | None:
        """α, if the loss at zeros is a multiple of the prediction."""
        return None if self.zero_slope is None else self.alpha

    @property
    def powers(self) -> tuple[float, float] | None:
        """The exponents of ``u^α``, in ∇⁻ for α > 0 and in ∇⁺ for α < 0."""
        if abs(self.alpha) < _LEAST_POWER:
            return None
        return (self.alpha, 0.0) if self.alpha > 0 else (0.0, -self.alpha)

    def entry_value(self, x: Array, y: Array) -> Array:
        """``y φ_α(x/y)``."""
        if self.alpha == 1:
            return np.asarray(kl_div(x, y), dtype=y.dtype)
        if self.alpha == 0.5:
            difference: Array = np.sqrt(x) - np.sqrt(y)
            return 2 * difference * difference
        return y * _generator(_ratio(x, y), self.alpha)

    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``(1 − u^α)/α``; ``−log u`` at α = 0."""
        u = _ratio(x, y)
        if self.alpha in (0.5, 1):
            slope: Array = (1 - _power(u, self.alpha)) / u.dtype.type(self.alpha)
            return slope
        with np.errstate(divide="ignore"):
            return -_scaled_power(np.log(u), self.alpha)

    def entry_curvature(self, x: Array, y: Array) -> Array:
        """``u^α/y``."""
        return _power(_ratio(x, y), self.alpha) / y

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """``1/α`` and ``u^α/α``; exchanged for α < 0."""
        if abs(self.alpha) < _LEAST_POWER:
            return super().entry_split(x, y)
        curved = _power(_ratio(x, y), self.alpha) / y.dtype.type(abs(self.alpha))
        constant = np.full_like(curved, 1 / abs(self.alpha))
        return (constant, curved) if self.alpha > 0 else (curved, constant)

    def entry_prox(self, v: Array, x: Array, t: Array) -> Array:
        """The closed form for KL, otherwise the default."""
        return _kl_prox(v, x, t) if self.alpha == 1 else super().entry_prox(v, x, t)


@dataclass(frozen=True)
class BetaDivergence(SeparableLoss):
    """``Σ y^β φ_β(x/y)``: Itakura–Saito at β = 0, KL at 1, ½ squared ℓ2 at 2 (paper E, Table II).

    It is convex for 1 ≤ β ≤ 2 only; otherwise codes and dictionaries are critical points
    (errata E.7).
    """

    beta: float

    def __post_init__(self) -> None:
        _check_order("β", self.beta)

    @property
    def degree(self) -> float:
        """β."""
        return float(self.beta)

    @property
    def canonical(self) -> Loss:
        """KL at β = 1, the square at β = 2."""
        return {1.0: KullbackLeibler(), 2.0: SquaredL2()}.get(float(self.beta), self)

    @property
    def convex(self) -> bool:
        """Whether β lies between 1 and 2."""
        return 1 <= self.beta <= 2

    @property
    def convex_surrogate(self) -> Loss:
        """KL."""
        return self if self.convex else KullbackLeibler()

    @property
    def curvature(self) -> float:
        """One for β = 2, otherwise unbounded."""
        return 1.0 if self.beta == 2 else float("inf")

    @property
    def needs_positive_prediction(self) -> bool:
        """Whether β < 2."""
        return self.beta < 2

    @property
    def needs_nonnegative_prediction(self) -> bool:
        """Whether powers of negative predictions are undefined: β ≠ 2."""
        return self.beta != 2

    @property
    def needs_positive_data(self) -> bool:
        """Whether β ≤ 0, or so small that the loss at zeros is infinite in practice."""
        return self.beta < _LEAST_POWER

    @property
    def zero_slope(self) -> float | None:
        """One for β = 1."""
        return 1.0 if self.beta == 1 else None

    @property
    def powers(self) -> tuple[float, float]:
        """The exponents of the convex terms; concave ones are replaced by their tangents."""
        return max(2 - self.beta, 0.0), max(self.beta - 1, 0.0)

    def entry_value(self, x: Array, y: Array) -> Array:
        """``y^β φ_β(x/y)``."""
        if self.beta == 1:
            return np.asarray(kl_div(x, y), dtype=y.dtype)
        if self.beta >= 2:  # y may be zero, and β is not near a limit
            b = self.beta
            power = _power(y, b - 1)
            return (_power(x, b) + ((b - 1) * y - b * x) * power) / (b * (b - 1))
        return _power(y, self.beta) * _generator(_ratio(x, y), self.beta)

    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``y^(β−2) (y − x)``."""
        if self.beta == 1:
            return 1 - _ratio(x, y)
        return _power(y, self.beta - 2) * (y - x)

    def entry_curvature(self, x: Array, y: Array) -> Array:
        """``y^(β−3) ((β − 1)y + (2 − β)x)``."""
        b = y.dtype.type(self.beta)
        return _power(y, self.beta - 3) * ((b - 1) * y + (2 - b) * x)

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """``y^(β−1)`` and ``x y^(β−2)``."""
        if self.beta == 1:
            return np.ones_like(y), _ratio(x, y)
        power = _power(y, self.beta - 2)
        return power * y, power * x

    def entry_prox(self, v: Array, x: Array, t: Array) -> Array:
        """Closed forms for KL and the square; nonconvex divergences have no proximal map."""
        if self.beta == 1:
            return _kl_prox(v, x, t)
        if self.beta == 2:
            return (v + t * x) / (1 + t)
        if not self.convex:
            raise ValueError(
                f"{self} is not convex and has no proximal map; use solver='auto', which "
                "minimises majorisers."
            )
        return super().entry_prox(v, x, t)


def _kl_prox(v: Array, x: Array, t: Any) -> Array:
    """The positive root of ``y² − (v − t)y − t x = 0``, without cancellation."""
    b = v - t
    root = np.sqrt(b * b + 4 * t * x)
    far = root + np.abs(b)
    small = 2 * t * x / np.where(far > 0, far, 1)
    return np.asarray(np.where(b > 0, far / 2, small))


def KullbackLeibler() -> AlphaDivergence:  # noqa: N802 - a factory with the name of a loss
    """``Σ x log(x/y) − x + y``, the likelihood of Poisson counts."""
    return AlphaDivergence(1.0)


def Hellinger() -> AlphaDivergence:  # noqa: N802
    """``2 Σ (√x − √y)²``."""
    return AlphaDivergence(0.5)


def ItakuraSaito() -> BetaDivergence:  # noqa: N802
    """``Σ x/y − log(x/y) − 1``, the likelihood of power spectra; not convex."""
    return BetaDivergence(0.0)
