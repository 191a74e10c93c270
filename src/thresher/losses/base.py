"""What a loss can do."""

from abc import ABC, abstractmethod

from thresher.linalg import Array


class Loss(ABC):
    """A convex loss of data x against a prediction y, summed over the entries of a row.

    Every method takes the data ``X``, the predictions ``Y`` and optionally the weights of the
    entries, all of shape (n, F). A weight of zero leaves an entry out: it is missing.
    """

    @property
    @abstractmethod
    def curvature(self) -> float:
        """Lipschitz constant of the gradient in the prediction, for entries of weight one."""

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

    @abstractmethod
    def prox(self, V: Array, X: Array, step: float | Array, weight: Array | None = None) -> Array:
        """``argmin over y of loss(x, y) + ‖y − v‖²/(2·step)``; ``step`` may differ by row."""

    @abstractmethod
    def outliers(self, X: Array, Y: Array, weight: Array | None = None) -> Array:
        """The part of the residual that the loss sets aside, shape (n, F)."""

    def check_weight(self, weight: Array | None) -> None:
        """Refuse weights that the loss cannot use; by default any are fine."""
        return None
