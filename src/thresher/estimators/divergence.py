"""What the models of paper E share: the divergence, and the method that suits it."""

from typing import Any

import numpy as np

from thresher.engine import Specification
from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.registry import (
    frozen_mask,
    named_codes,
    named_dictionary_set,
    named_divergence,
    named_forgetting,
    named_penalty,
)
from thresher.linalg import is_only_stored, stored_values
from thresher.losses import Loss


class DivergenceModel(DictionaryEstimator):
    """A dictionary model whose loss is a divergence by name, or any `Loss`."""

    divergence: Any
    divergence_parameter: Any
    code_set: Any
    code_penalty: Any
    dictionary_set: Any
    dictionary_penalty: Any
    frozen_atoms: Any
    forgetting: Any = "auto"

    def _specification(self, n_components: int, in_order: bool = True) -> Specification:
        """Return the problem that the parameters describe."""
        divergence = named_divergence(self.divergence, self.divergence_parameter)
        return Specification(
            loss=divergence.loss,
            code_regulariser=named_codes(self.code_set, self.code_penalty),
            dictionary_set=named_dictionary_set(self.dictionary_set),
            dictionary_penalty=named_penalty("dictionary_penalty", self.dictionary_penalty),
            outlier_weight=divergence.threshold,
            dictionary_loss=divergence.dictionary_loss,
            forgetting=named_forgetting(self.forgetting),
            in_order=in_order,
            frozen=frozen_mask(self.frozen_atoms, n_components),
            only_stored=self.implicit_zeros == "missing",
        )

    def _check_missing(self, X: Any) -> None:
        values = stored_values(X)
        if is_only_stored(X) or np.isnan(np.add.reduce(values, None, np.float64)):
            loss = named_divergence(self.divergence, self.divergence_parameter).loss(1.0)
            loss.check_weight(np.zeros((1, 1)))  # a gap is an entry of weight zero

    @property
    def loss_(self) -> Loss:
        """The loss in use; a Huber threshold that comes from the data is in it."""
        return self.problem().loss
