"""The interface of losses: values, derivatives, and the declarations that solvers rely on."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from thresher.linalg import Array
from thresher.losses.nonsmooth import NonsmoothPoints

if TYPE_CHECKING:
    from thresher.losses.envelope import Envelope


class Loss(ABC):
    """A loss of data x against a prediction y, summed over the entries of a row.

    Every method takes the data ``X``, the predictions ``Y`` and optionally the weights of the
    entries, all of shape (n, F). A weight of zero leaves an entry out: it is missing.

    Solvers never test the class of a loss. They use the declarations below. All of them have safe
    defaults: no solver relies on a property that a loss does not declare.
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
        """A convex loss whose codes are a good start; itself, if the loss is convex."""
        if self.convex:
            return self
        raise ValueError(
            f"{self} is not convex and names no convex_surrogate, from whose codes to start; "
            "declare one, such as Huber(1.0) for a robust loss or KullbackLeibler() for a "
            "divergence."
        )

    smooth: bool = True
    """Whether the loss is differentiable; nonsmooth losses need other solvers."""

    @property
    def nonsmooth_points(self) -> NonsmoothPoints | None:
        """Where the slope jumps; for weighted ℓ1 distances, plus squares at most."""
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
        """Whether the loss needs ``y > 0``."""
        return False

    @property
    def needs_nonnegative_prediction(self) -> bool:
        """Whether the loss is defined for nonnegative predictions only."""
        return self.needs_positive_prediction

    @property
    def degree(self) -> float | None:
        """The p of ``loss(u·x, u·y) = u^p · loss.in_unit(u)(x, y)``, for every ``u > 0``.

        None if there is no such p: data are then computed with in their own unit.
        """
        return None

    def in_unit(self, unit: float) -> "Loss":
        """The loss of data that are measured in ``unit``, but for the factor ``unit^degree``."""
        return self

    # ------------------------------------------------------- for specialised methods

    @property
    def canonical(self) -> "Loss":
        """The same loss as an instance of its most specific class, such as `SquaredL2`."""
        return self

    @property
    def equivalent_for_codes(self) -> "Loss":
        """A simpler loss with the same optimal codes, where codes have no penalty."""
        return self

    @property
    def metric(self) -> Array | float | None:
        """The M of a loss that is ``½ (x − y) M (x − y)ᵀ``; a number stands for its multiple of I.

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
        """The α of an α-divergence whose zeros cost ``y/α``; None for other losses."""
        return None

    has_entry_curvature: bool = False
    """Whether the loss is a sum over entries with `SeparableLoss.entry_curvature`."""

    @property
    def stays_sparse(self) -> bool:
        """Whether the work for a sparse row can grow with its nonzeros."""
        return self.zero_slope is not None

    @property
    def zero_slope(self) -> float | None:
        """The s of ``loss(0, y) = s·y`` for y ≥ 0, if predicting where data are zero costs that.

        Then a sparse row is a problem on its own nonzeros (errata E.4).
        """
        return None

    @property
    def powers(self) -> tuple[float, float] | None:
        """The a and b of the majoriser of `thresher.learning.ratio`, for divergences that have it.

        In the prediction's scale t, at ``y = t·ỹ``, the loss lies below a function with slope
        ``∇⁺ t^b − ∇⁻ t^−a`` and touches it at ``t = 1``; ∇⁺ and ∇⁻ are those of `split`.
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
        """Nonnegative ∇⁺ and ∇⁻ with ``∇ = ∇⁺ − ∇⁻``, as multiplicative updates take them."""
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
