"""What a loss can do, and what it declares of itself."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from thresher.linalg import Array
from thresher.losses.kinks import Kinks

if TYPE_CHECKING:
    from thresher.losses.envelope import Envelope


class Loss(ABC):
    """A loss of data x against a prediction y, summed over the entries of a row.

    Every method takes the data ``X``, the predictions ``Y`` and optionally the weights of the
    entries, all of shape (n, F). A weight of zero leaves an entry out: it is missing.

    Solvers never ask which loss it is. They ask for the declarations below, all of which have
    defaults that are safe: what a loss does not declare, nobody relies on.
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
    def convex_neighbour(self) -> "Loss":
        """Itself; of a loss that is not convex, a convex one whose codes are a good start."""
        if self.convex:
            return self
        raise ValueError(
            f"{self} is not convex and names no convex_neighbour, from whose codes to start; "
            "declare one, such as Huber(1.0) for a robust loss or KullbackLeibler() for a "
            "divergence."
        )

    @property
    def smooth(self) -> bool:
        """Whether the slope never jumps; losses with kinks need other solvers, and other proofs."""
        return True

    @property
    def kinks(self) -> Kinks | None:
        """Where the slope jumps, of a loss that is a weighted ℓ1 distance, squares beside it."""
        return None

    def rounded(self, width: float) -> "Loss":
        """The loss with its kinks rounded off where residuals are below ``width``."""
        return self

    @property
    def couples_features(self) -> bool:
        """Whether the slope at an entry depends on more than the residual there and its row's."""
        return False

    @property
    def knows_no_features(self) -> bool:
        """Whether all features cost the same, each by itself: some may be left out, or moved."""
        return False

    @property
    def positive_prediction(self) -> bool:
        """Whether the loss needs ``y > 0``."""
        return False

    @property
    def needs_nonnegative(self) -> bool:
        """Whether the loss means nothing where predictions are negative."""
        return self.positive_prediction

    @property
    def degree(self) -> float | None:
        """The p of ``loss(u·x, u·y) = u^p · loss.in_unit(u)(x, y)``, for every ``u > 0``.

        None if the loss knows no such law: data are then computed with in their own unit.
        """
        return None

    def in_unit(self, unit: float) -> "Loss":
        """The loss of data that are measured in ``unit``, but for the factor ``unit^degree``."""
        return self

    # ------------------------------------------------------- what faster methods know

    @property
    def simplest(self) -> "Loss":
        """The same loss as the part that says it in the fewest words."""
        return self

    @property
    def coded_like(self) -> "Loss":
        """A simpler loss with the same codes, where codes are not penalised."""
        return self

    @property
    def metric(self) -> Array | float | None:
        """The M of a loss that is ``½ (x − y) M (x − y)ᵀ``; a number stands for its multiple of I.

        With a matrix, entries have no weights.
        """
        return None

    @property
    def envelope(self) -> "Envelope | None":
        """Itself, if the loss is a square with outliers set aside, as paper A's solvers need it."""
        return None

    @property
    def entry_constants(self) -> tuple[float, float, float, float] | None:
        """The l1, l2, lower, upper of ``Σ min over r of ½(x − y − r)² + l1|r| + l2/2 r²``.

        With r between lower and upper, for losses that are such a sum.
        """
        return None

    @property
    def order(self) -> float | None:
        """The α of an α-divergence whose zeros cost ``y/α``; None for other losses."""
        return None

    @property
    def has_entry_curvature(self) -> bool:
        """Whether the loss is a sum over entries with `SeparableLoss.entry_curvature`."""
        return False

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
        """Both at once, for losses that can share the work."""
        return self.value(X, Y, weight), self.gradient(X, Y, weight)

    def split(self, X: Array, Y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """Nonnegative ∇⁺ and ∇⁻ with ``∇ = ∇⁺ − ∇⁻``, as multiplicative updates take them."""
        gradient = self.gradient(X, Y, weight)
        return np.maximum(gradient, 0), np.maximum(-gradient, 0)

    @abstractmethod
    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """``argmin over y of loss(x, y) + ‖y − v‖²/(2·step)``; ``step`` may differ by row."""

    def bend(self, X: Array, Y: Array) -> Array:
        """``|∇|/|x − y|`` of every entry: the curvature of a square that majorises there."""
        E, slope = np.abs(X - Y), np.abs(self.gradient(X, Y))
        return np.where(E > 0, slope / np.where(E > 0, E, 1), 0)

    @property
    def knows_bend(self) -> bool:
        """Whether `bend` is more than that quotient, which says nothing where data are met."""
        return False

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
        """The part of the residual that the loss sets aside, shape (n, F); zero by default."""
        return np.zeros_like(X)

    def check_features(self, n_features: int) -> None:
        """Refuse samples of a width that the loss is not for; by default any is fine."""
        return None

    def check_weight(self, weight: Array | None) -> None:
        """Refuse weights that the loss cannot use; by default any are fine."""
        return None
