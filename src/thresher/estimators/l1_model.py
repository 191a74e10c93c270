"""What the models of paper B share: the ℓ1 distance, its codes and its score."""

from dataclasses import dataclass, replace
from typing import Any

from thresher.engine import Method
from thresher.engine.first_batch import is_mostly_zero
from thresher.estimators.divergence import DivergenceModel
from thresher.learning import FixedWeight, Forgetting
from thresher.linalg import Array
from thresher.losses import L1Distance
from thresher.solvers import DivergenceSolver
from thresher.streams import Batch

SEPARABLE = (
    "words occur with few atoms, so that curvatures differ from atom to atom; one for all of them "
    "makes steps that overshoot (docs/lab/l1_dictionary.md)"
)


@dataclass(frozen=True)
class NeedsDocuments:
    """What data must be like for separable quadratics to be the better statistics."""

    in_order: bool

    def __call__(self, batch: Batch) -> str | None:
        """From the first batch."""
        # In the order of time new words come, and they are followed faster by steps that
        # overshoot (measured: docs/lab/l1_dictionary.md).
        if self.in_order or not is_mostly_zero(batch):
            return "samples in random order whose entries are mostly zero"
        return None


class L1Model(DivergenceModel):
    """``min over D in S, C ≥ 0 of ‖P − C D‖₁ + λ‖C‖₁``: a divergence model with one divergence."""

    zero_weight: float

    divergence_parameter = None
    code_set = "nonnegative"

    @property
    def divergence(self) -> L1Distance:
        """The ℓ1 distance, with the weight of zeros."""
        return L1Distance(self.zero_weight)

    def _parts(self, n_components: int, solver: DivergenceSolver, forgetting: Forgetting) -> Method:
        method = super()._parts(n_components, solver, forgetting)
        if not solver.published:
            return method
        # As published: the distance itself, not smoothed.
        return replace(method, dictionary_loss=None, outlier_weight=FixedWeight(1.0))

    def _sample_scores(self, given: Any, X: Any, entry_weight: Any = None) -> Array:
        """``−(‖p − cD‖₁ + λ‖c‖₁)`` of every document, at its exact codes.

        A document is novel if this falls below −ζ (paper B, Algorithm 4). Zero codes are always
        possible, so that no document of sum one scores below −1.
        """
        return -self._objectives(X, entry_weight)
