"""Batch models of paper B's detectors: dictionary first, and on from codes of the step before."""

from typing import Any

import numpy as np

from thresher.estimators.batch import BatchModel
from thresher.estimators.inputs import computing_dtype
from thresher.linalg import Array
from thresher.streams import Batch


class SparseCodingModel(BatchModel):
    """A batch model whose solver may be one that moves the dictionary first."""

    def _learning_codes(self, X: Any) -> Array:
        """Codes as the solver finds them while learning; those of `transform` are exact."""
        method, state = self._fitted_method(), self._state
        batch, problem = Batch(X), self._problem(computing_dtype(X))
        method.encoder.prepare(problem, method.rows(batch))
        parts = []
        for rows in method.blocks(batch):
            block, weight, _ = method.load(batch, rows, state.D.dtype)
            parts.append(method.encoder.encode(problem, block, weight).codes)
        return np.concatenate(parts)
