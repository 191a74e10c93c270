"""Models of papers E and B: dictionaries under a divergence, and under the ℓ1 distance."""

from typing import Any, ClassVar

import numpy as np

from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.parameters import NONNEGATIVE
from thresher.estimators.registry import LossTerms, named_divergence
from thresher.linalg import Array, is_only_stored
from thresher.losses import L1Distance, Loss


class DivergenceModel(DictionaryEstimator):
    """A dictionary model whose loss is a divergence by name, or any `Loss`."""

    divergence: Any
    divergence_parameter: Any

    def _loss_terms(self) -> LossTerms:
        return named_divergence(self.divergence, self.divergence_parameter)

    def _check_missing(self, X: Any) -> None:
        values = X.data if hasattr(X, "indptr") else X
        if is_only_stored(X) or np.isnan(np.add.reduce(values, None, np.float64)):
            # A missing value is an entry of weight zero.
            self._loss_terms().loss(1.0).check_weight(np.zeros((1, 1)))

    @property
    def loss_(self) -> Loss:
        """The loss in use; a Huber threshold that comes from the data is in it."""
        return self.problem().loss


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

    def _score_samples(self, given: Any, X: Any, entry_weight: Any = None) -> Array:
        """``−(‖p − cD‖₁ + λ‖c‖₁)`` of every document, at its exact codes.

        A document is novel if this falls below −ζ (paper B, Algorithm 4). Zero codes are always
        possible, so that no document of sum one scores below −1.
        """
        return -self._objectives(X, entry_weight)
