"""What the models of paper B share: the ℓ1 distance, its codes and its score."""

from dataclasses import replace
from typing import Any

from thresher.engine import OnlineMethod
from thresher.estimators.divergence import DivergenceModel
from thresher.estimators.solvers import DivergenceSolver
from thresher.learning import DiagonalLearner, FixedWeight, Forgetting
from thresher.linalg import Array
from thresher.losses import L1Distance


def with_documents(method: OnlineMethod) -> OnlineMethod:
    """Let the method learn by a separable surrogate where it is the better one."""
    return replace(method, majorised=replace(method, learner=DiagonalLearner()))


class L1Model(DivergenceModel):
    """``min over D in S, C ≥ 0 of ‖P − C D‖₁ + λ‖C‖₁``: a divergence model with one divergence."""

    zero_weight: float

    divergence_parameter = None
    code_set = "nonnegative"

    @property
    def divergence(self) -> L1Distance:
        """The ℓ1 distance, with the weight of zeros."""
        return L1Distance(self.zero_weight)

    def _parts(
        self, n_components: int, solver: DivergenceSolver, forgetting: Forgetting
    ) -> OnlineMethod:
        method = super()._parts(n_components, solver, forgetting)
        if solver.learner == "auto":
            return method
        # As published: the distance itself, kinks and all.
        return replace(method, dictionary_loss=None, outlier_weight=FixedWeight(1.0))

    def score_samples(self, X: Any, entry_weight: Any = None) -> Array:
        """``−(‖p − cD‖₁ + λ‖c‖₁)`` of every document, at its exact codes.

        A document is novel if this falls below −ζ (paper B, Algorithm 4). Zero codes are always
        possible, so that no document of sum one scores below −1.
        """
        return -self.objective_samples(X, entry_weight)
