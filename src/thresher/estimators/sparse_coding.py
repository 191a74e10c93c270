"""Batch models of paper B's detectors: dictionary first, and on from codes of the step before."""

from typing import Any

import numpy as np

from thresher.engine import Alternation, Method, Pool
from thresher.estimators.batch import BatchModel
from thresher.estimators.inputs import computing_dtype
from thresher.linalg import Array
from thresher.published.l1_dictionary import DictionaryFirst
from thresher.streams import Batch


class SparseCodingModel(BatchModel):
    """A batch model whose solver may be one that moves the dictionary first."""

    def _alternation(
        self, method: Method, batch: Batch, pool: Pool, codes: Array | None
    ) -> Alternation:
        if not self._solver().dictionary_first:
            return super()._alternation(method, batch, pool, codes)
        state = self._state
        start = np.zeros((batch.n_samples, len(state.D))) if codes is None else codes
        start = start.astype(state.D.dtype)  # a copy: codes of users stay as they are
        problem, D, _ = self._problem_and_start(method, batch, start)
        return DictionaryFirst(problem, D, start, method.encoder, pool, cold=codes is None)

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
