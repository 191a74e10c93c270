"""Samples and their codes, and all that follows from them, in the user's units."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.encoding import CodingProblem, Encoding
from thresher.engine import StreamState
from thresher.linalg import Array, StoredBlock


@dataclass(frozen=True)
class CodedBlock:
    """Some samples and their codes; all that its methods give is in the user's units.

    Samples were divided by the unit of the state, and by ``divisor`` (n, 1), if any, before they
    were coded.
    """

    problem: CodingProblem
    X: Any
    weight: Array | None
    encoding: Encoding
    divisor: Array | None
    state: StreamState

    def codes(self) -> Array:
        """``C``."""
        return self._times(self.encoding.codes, self.state.code_unit)

    def prediction(self) -> Array:
        """``C D``."""
        return self._times(self.encoding.codes @ self.problem.D, self.state.unit)

    def outliers(self) -> Array:
        """What the loss sets aside."""
        prediction = self.encoding.codes @ self.problem.D
        stored = isinstance(self.X, StoredBlock)
        X, weight = self.X.dense() if stored else (self.X, self.weight)
        outliers = self.problem.loss.outliers(X, prediction, weight)
        return self._times(outliers, self.state.unit)

    def loss(self) -> Array:
        """Loss of every sample in double precision; of a divided sample, as it was divided."""
        losses = self.problem.fit(self.X, self.encoding.codes, self.weight).values()
        return losses.astype(np.float64) * self.state.loss_unit

    def objective(self) -> Array:
        """Loss of every sample plus what its codes cost."""
        cost = self.problem.regulariser.value(self.encoding.codes).astype(np.float64)
        return self.loss() + cost * self.state.loss_unit

    def _times(self, values: Array, unit: float) -> Array:
        if unit != 1:
            values = values * values.dtype.type(unit)
        return values if self.divisor is None else values * self.divisor
