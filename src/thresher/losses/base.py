"""The interface of losses: values, derivatives, declared properties, and sums over entries."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.kernels.floors import FLOOR
from thresher.linalg import Array

if TYPE_CHECKING:
    from thresher.losses.envelope import Envelope


_ROOT_STEPS = 60


def weigh_zeros(x: Array, values: Array, weight: float) -> Array:
    """Multiply values by the weight where data are zero."""
    return values if weight == 1 else np.where(x == 0, values * values.dtype.type(weight), values)


@dataclass(frozen=True)
class NonsmoothPoints:
    """Nonsmooth points of ``Σ b|x − y| + b·square/2 (x − y)²``: the slope jumps by 2b at ``y = x``.

    b is the weight of the entry, times ``zero_weight`` where data are exactly zero.
    """

    zero_weight: float = 1.0
    square: float = 0.0

    def bounds(self, X: Array, weight: Array | None = None) -> Array | None:
        """The b of every entry, shape (n, F); None if all are one."""
        if weight is None and self.zero_weight == 1:
            return None
        return weigh_zeros(X, np.ones_like(X) if weight is None else weight, self.zero_weight)


class Loss(ABC):
    """A loss of data x against a prediction y, summed over the entries of a row.

    Every method takes the data ``X``, the predictions ``Y`` and optionally the weights of the
    entries, all of shape (n, F). An entry of weight zero is missing, and is excluded.

    Solvers never test the class of a loss. They use the declarations below, which have safe
    defaults: no solver assumes a property that a loss does not declare.
    """

    # -------------------------------------------------------------------- shape

    @property
    def curvature(self) -> float:
        """Lipschitz constant of the gradient in the prediction, for entries of weight one."""
        return float("inf")

    @property
    def convex(self) -> bool:
        """Whether the loss is convex in the prediction; otherwise codes are critical points."""
        return True

    @property
    def convex_surrogate(self) -> "Loss":
        """A convex loss for initial codes; itself, if the loss is convex."""
        if self.convex:
            return self
        raise ValueError(
            f"{self} is not convex and has no convex_surrogate for initial codes; "
            "declare one, such as Huber(1.0) for a robust loss or KullbackLeibler() for a "
            "divergence."
        )

    smooth: bool = True
    """Whether the loss is differentiable; nonsmooth losses need other solvers."""

    @property
    def nonsmooth_points(self) -> NonsmoothPoints | None:
        """Points where the slope jumps, of weighted ℓ1 distances plus squares; otherwise None."""
        return None

    def smoothed(self, width: float) -> "Loss":
        """A differentiable approximation, quadratic where residuals are below ``width``."""
        return self

    couples_features: bool = False
    """Whether the slope at an entry depends on more than the residual there and its row's."""

    @property
    def exchangeable_features(self) -> bool:
        """Whether the loss is a sum of one function over the features, in any order."""
        return False

    @property
    def needs_positive_prediction(self) -> bool:
        """Whether the loss requires ``y > 0``."""
        return False

    @property
    def needs_nonnegative_prediction(self) -> bool:
        """Whether the loss is defined for nonnegative predictions only."""
        return self.needs_positive_prediction

    @property
    def degree(self) -> float | None:
        """The p of ``loss(u·x, u·y) = u^p · loss.in_unit(u)(x, y)``, for every ``u > 0``.

        None if there is no such p; then computations are in the unit of the data.
        """
        return None

    def in_unit(self, unit: float) -> "Loss":
        """The loss of data in multiples of ``unit``, without the factor ``unit^degree``."""
        return self

    # ------------------------------------------------------- for specialised methods

    @property
    def canonical(self) -> "Loss":
        """The same loss as an instance of its most specific class, such as `SquaredL2`."""
        return self

    @property
    def equivalent_for_codes(self) -> "Loss":
        """A simpler loss with the same optimal codes, if codes have no penalty."""
        return self

    @property
    def metric(self) -> Array | float | None:
        """The M of a loss ``½ (x − y) M (x − y)ᵀ``; a number is a multiple of the identity.

        With a matrix, entries have no weights.
        """
        return None

    @property
    def envelope(self) -> "Envelope | None":
        """Itself, if the loss is a squared loss with outliers (paper A)."""
        return None

    entry_constants: tuple[float, float, float, float] | None = None
    """The l1, l2, lower, upper of ``Σ min over r of ½(x − y − r)² + l1|r| + l2/2 r²``.

    With r between lower and upper, for losses that are such a sum.
    """

    @property
    def order(self) -> float | None:
        """The α of an α-divergence with the loss ``y/α`` at zeros; None for other losses."""
        return None

    has_entry_curvature: bool = False
    """Whether the loss is a sum over entries with `SeparableLoss.entry_curvature`."""

    @property
    def stays_sparse(self) -> bool:
        """Whether the cost of a sparse row can be proportional to its nonzeros."""
        return self.zero_slope is not None

    @property
    def zero_slope(self) -> float | None:
        """The s of a loss with ``loss(0, y) = s·y`` for y ≥ 0; otherwise None.

        Then a sparse row is a problem on its own nonzeros (errata E.4).
        """
        return None

    @property
    def powers(self) -> tuple[float, float] | None:
        """The a and b of the majoriser of `thresher.learning.ratio`, for divergences that have it.

        As a function of the scale t of the prediction, ``y = t·ỹ``, the loss is majorised by a
        function with the slope ``∇⁺ t^b − ∇⁻ t^−a``, with equality at ``t = 1``; ∇⁺ and ∇⁻ are
        those of `split`.
        """
        return None

    # ------------------------------------------------------------------- values

    @abstractmethod
    def value(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """Loss of every row, shape (n,)."""

    @abstractmethod
    def gradient(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """Derivative in the prediction, shape (n, F)."""

    def value_and_gradient(
        self, X: Array, Y: Array, weight: Array | None = None
    ) -> tuple[Array, Array]:
        """`value` and `gradient`, computed together where that saves work."""
        return self.value(X, Y, weight), self.gradient(X, Y, weight)

    def split(self, X: Array, Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """Nonnegative ∇⁺ and ∇⁻ with ``∇ = ∇⁺ − ∇⁻``, for multiplicative updates."""
        gradient = self.gradient(X, Y, weight)
        return np.maximum(gradient, 0), np.maximum(-gradient, 0)

    @abstractmethod
    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """``argmin over y of loss(x, y) + ‖y − v‖²/(2·step)``; ``step`` may differ by row."""

    def irls_weights(self, X: Array, Y: Array) -> Array:
        """``|∇|/|x − y|`` of every entry, as in iteratively reweighted least squares (IRLS).

        A quadratic of this curvature through the residual majorises the loss.
        """
        E, slope = np.abs(X - Y), np.abs(self.gradient(X, Y))
        return np.where(E > 0, slope / np.where(E > 0, E, 1), 0)

    defines_irls_weights: bool = False
    """Whether `irls_weights` is defined where residuals are zero, too."""

    def row_curvatures(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """A bound on the curvature of every row's loss, shape (n,); one if there is none.

        The largest weight of an entry counts.
        """
        bound = X.dtype.type(self.curvature if np.isfinite(self.curvature) else 1)
        if weight is None:
            return np.full(len(X), bound)
        largest = weight.max(axis=1, initial=0)
        return np.where(largest > 0, largest, 1) * bound

    def outliers(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """The outliers r that the loss separates from residuals, shape (n, F); default zero."""
        return np.zeros_like(X)

    def check_features(self, n_features: int) -> None:
        """Raise a ValueError if the loss is not for so many features; by default it is."""
        return None

    def check_weight(self, weight: Array | None) -> None:
        """Raise a ValueError for entry weights that the loss cannot use; default none."""
        return None


class SeparableLoss(Loss):
    """``Σ_f w_f d(x_f, y_f)``.

    Subclasses define d and its slope in y, for arrays of any shape within the domain. This class
    handles weights, missing values and floors. Everything else has a default.
    """

    has_entry_curvature = True
    exchangeable_features = True  # d is the same for all features

    @property
    def needs_positive_data(self) -> bool:
        """Whether d needs ``x > 0``."""
        return False

    @abstractmethod
    def entry_value(self, x: Array, y: Array) -> Array:
        """``d(x, y)``."""

    @abstractmethod
    def entry_gradient(self, x: Array, y: Array) -> Array:
        """``∂d/∂y``."""

    def entry_curvature(self, x: Array, y: Array) -> Array:
        """``∂²d/∂y²``, by default from a finite difference; it only accelerates `entry_prox`."""
        h = np.sqrt(np.finfo(y.dtype).eps) * np.maximum(np.abs(y), np.finfo(y.dtype).tiny)
        curvature: Array = (self.entry_gradient(x, y + h) - self.entry_gradient(x, y)) / h
        return curvature

    def entry_split(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Nonnegative parts ``∇⁺, ∇⁻`` of the slope."""
        gradient = self.entry_gradient(x, y)
        return np.maximum(gradient, 0), np.maximum(-gradient, 0)

    def entry_irls_weights(self, x: Array, y: Array) -> Array:
        """``|∂d/∂y|/|x − y|``; zero where the residual is zero."""
        e, slope = np.abs(x - y), np.abs(self.entry_gradient(x, y))
        return np.where(e > 0, slope / np.where(e > 0, e, 1), 0)

    def entry_prox(self, v: Array, x: Array, t: Array) -> Array:
        """``argmin over y of t·d(x, y) + (y − v)²/2``, by default the root of its slope.

        For convex d that falls left of x and rises right of it, the root lies between v and x.
        """
        with np.errstate(all="ignore"):  # slopes may be infinite at the ends
            return _root(self, v, x, t)

    # ----------------------------------------------------------- from the above

    def floor(self, X: Array, weight: Array | None = None) -> Array:
        """The number to add to entries that must be positive, shape (n, F) or (n, 1).

        Zeros need no floor where they cost a multiple of the prediction.
        """
        if not (self.needs_positive_prediction or self.needs_positive_data):
            return np.zeros((len(X), 1), dtype=X.dtype)
        seen = X if weight is None else np.where(weight > 0, X, 0)
        largest: Array = np.maximum.reduce(seen, 1, keepdims=True, initial=0)
        # A row whose squares underflow has no scale of its own: its floor is that of the unit one,
        # so that predictions that are small compared with other samples cost it nothing.
        least = np.sqrt(np.finfo(X.dtype).tiny)
        floor = np.where(largest > least, largest, 1).astype(X.dtype, copy=False)
        floor = floor * X.dtype.type(FLOOR)
        return floor if self.zero_slope is None else floor * (X > 0)

    def within(self, X: Array, Y: Array, weight: Array | None) -> tuple[Array, Array]:
        """Data and predictions, moved into the domain of d."""
        floor = self.floor(X, weight)
        x = X + floor if self.needs_positive_data else X
        y = np.maximum(Y, 0) + floor if self.needs_positive_prediction else Y
        return x, y

    def value(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``Σ w d`` of every row."""
        values = self.entry_value(*self.within(X, Y, weight))
        total: Array = _weighted(values, weight).sum(axis=1, dtype=X.dtype)
        return total

    def gradient(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """``w ∂d/∂y``."""
        return _weighted(self.entry_gradient(*self.within(X, Y, weight)), weight)

    def split(self, X: Array, Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """``w ∇⁺, w ∇⁻``."""
        positive, negative = self.entry_split(*self.within(X, Y, weight))
        return _weighted(positive, weight), _weighted(negative, weight)

    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """Entry by entry, with the step times the weight; where that is zero, the entry stays."""
        floor = self.floor(X, weight)
        x = X + floor if self.needs_positive_data else X
        t: Any = np.asarray(step, dtype=X.dtype)
        t = np.broadcast_to(t, X.shape) if weight is None else t * weight
        Y = self.entry_prox(V + floor, x, t) - floor
        return Y if weight is None else np.where(weight > 0, Y, V)


def _weighted(values: Array, weight: Array | None) -> Array:
    # Missing entries may hold NaN or infinities: replace their values instead of multiplying by 0.
    return values if weight is None else np.where(weight > 0, values * weight, 0)


def _root(loss: SeparableLoss, v: Array, x: Array, t: Array) -> Array:
    """Solve ``y − v + t ∂d(x, y) = 0`` between v and x by Newton steps that stay in a bracket."""
    low, high = np.minimum(v, x), np.maximum(v, x)
    if loss.needs_positive_prediction:
        low = np.maximum(low, x.dtype.type(FLOOR / 10) * high)
    # Where data are zero, the slope may be positive down to the least prediction.
    high = np.where(low - v + t * loss.entry_gradient(x, low) >= 0, low, high)
    y: Array = high.copy()
    for _ in range(_ROOT_STEPS):
        slope = y - v + t * loss.entry_gradient(x, y)
        right = slope >= 0
        low, high = np.where(right, low, y), np.where(right, y, high)
        curvature = 1 + t * loss.entry_curvature(x, y)
        step = slope / np.where(curvature > 0, curvature, 1)
        new = y - step
        # Outside the bracket halve it, in the logarithm where it spans decades, as next to zero.
        wide = (low > 0) & (high > 4 * low)
        middle = np.where(wide, np.sqrt(np.abs(low * high)), (low + high) / 2)
        new = np.where((new >= low) & (new <= high) & np.isfinite(new), new, middle)
        converged = np.abs(new - y) <= 16 * np.finfo(x.dtype).eps * np.abs(new)
        y = new
        if converged.all():
            break
    return np.where(t > 0, y, v).astype(x.dtype)
