"""What the models of paper B share: the ℓ1 distance, its codes and its score."""

from typing import Any, ClassVar

from thresher.estimators.divergence import DivergenceModel
from thresher.estimators.parameters import NONNEGATIVE
from thresher.linalg import Array
from thresher.losses import L1Distance


class L1Model(DivergenceModel):
    """``min over D in S, C ≥ 0 of ‖P − C D‖₁ + λ‖C‖₁``: a divergence model with one divergence."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DivergenceModel._parameter_constraints,
        "zero_weight": [NONNEGATIVE],
    }

    zero_weight: float

    divergence_parameter = None
    code_set = "nonnegative"

    @property
    def divergence(self) -> L1Distance:
        """The ℓ1 distance, with the weight of zeros."""
        return L1Distance(self.zero_weight)

    def _sample_scores(self, given: Any, X: Any, entry_weight: Any = None) -> Array:
        """``−(‖p − cD‖₁ + λ‖c‖₁)`` of every document, at its exact codes.

        A document is novel if this falls below −ζ (paper B, Algorithm 4). Zero codes are always
        possible, so that no document of sum one scores below −1.
        """
        return -self._objectives(X, entry_weight)
