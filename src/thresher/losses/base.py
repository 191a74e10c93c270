"""What a loss can do."""

from abc import ABC, abstractmethod

import numpy as np

from thresher.linalg import Array


class Loss(ABC):
    """A loss of data x against a prediction y, summed over the entries of a row.

    Every method takes the data ``X``, the predictions ``Y`` and optionally the weights of the
    entries, all of shape (n, F). A weight of zero leaves an entry out: it is missing.
    """

    @property
    def curvature(self) -> float:
        """Lipschitz constant of the gradient in the prediction, for entries of weight one."""
        return float("inf")

    @property
    def convex(self) -> bool:
        """Whether the loss is convex in the prediction; otherwise codes are critical points."""
        return True

    @property
    def smooth(self) -> bool:
        """Whether the slope never jumps; losses with kinks need other solvers, and other proofs."""
        return True

    def rounded(self, width: float) -> "Loss":
        """The loss with its kinks rounded off where residuals are below ``width``."""
        return self

    @property
    def degree(self) -> float | None:
        """The p of ``loss(u·x, u·y) = u^p · loss.in_unit(u)(x, y)``, for every ``u > 0``.

        None if the loss knows no such law: data are then computed with in their own unit.
        """
        return None

    def in_unit(self, unit: float) -> "Loss":
        """The loss of data that are measured in ``unit``, but for the factor ``unit^degree``."""
        return self

    @property
    def coded_like(self) -> "Loss":
        """A simpler loss with the same codes, where codes are not penalised."""
        return self

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

    @abstractmethod
    def value(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """Loss of every row, shape (n,)."""

    @abstractmethod
    def gradient(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """Derivative in the prediction, shape (n, F)."""

    def value_and_gradient(
        self, X: Array, Y: Array, weight: Array | None = None
    ) -> tuple[Array, Array]:
        """Both at once, for losses that can share the work."""
        return self.value(X, Y, weight), self.gradient(X, Y, weight)

    def split(self, X: Array, Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """Nonnegative ∇⁺ and ∇⁻ with ``∇ = ∇⁺ − ∇⁻``, as multiplicative updates take them."""
        gradient = self.gradient(X, Y, weight)
        return np.maximum(gradient, 0), np.maximum(-gradient, 0)

    @abstractmethod
    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """``argmin over y of loss(x, y) + ‖y − v‖²/(2·step)``; ``step`` may differ by row."""

    def outliers(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """The part of the residual that the loss sets aside, shape (n, F); zero by default."""
        return np.zeros_like(X)

    def check_features(self, n_features: int) -> None:
        """Refuse samples of a width that the loss is not for; by default any is fine."""
        return None

    def check_weight(self, weight: Array | None) -> None:
        """Refuse weights that the loss cannot use; by default any are fine."""
        return None
