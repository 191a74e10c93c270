"""Learning a signed basis whose products, not whose scale, are penalised: online robust PCA."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thresher.engine.method import Method
from thresher.engine.state import StreamState, Summary
from thresher.linalg import Array
from thresher.penalties import Constrained, Tikhonov
from thresher.sets import Reals
from thresher.streams import Batch


@dataclass(frozen=True)
class BasisMethod(Method):
    r"""The basis costs ``λ₁²/2 ‖D‖²``, once for all samples, where codes cost ``½‖c‖²`` each.

    Published are λ₁ for both (Feng, Xu and Yan, (6)). What is learned depends on the product of the
    two weights only, since ``cD = (c/a)(aD)``; in this scale codes know no constant, and λ₁ has the
    unit of the data, as the outliers' λ₂ has.

    Parameters
    ----------
    ridge : float or None
        λ₁; None is λ₂, as published.
    """

    ridge: float | None = None

    def in_unit(self, unit: float) -> "BasisMethod | None":
        """λ₁ has the unit of the data."""
        there = super().in_unit(unit)
        if there is None or self.ridge is None:
            return there
        return replace(there, ridge=self.ridge / unit)

    def first_dictionary(
        self,
        batch: Batch,
        init: str | Array | None,
        n_components: int,
        dtype: np.dtype[Any],
        seed: int,
    ) -> Array:
        """Atoms with entries near one: codes of short atoms would cost more than they explain."""
        D = super().first_dictionary(batch, init, n_components, dtype, seed)
        given = init is not None and not isinstance(init, str)
        return D if given else D * dtype.type(np.sqrt(batch.X.shape[1]))

    def update(self, state: StreamState, batch: Batch, summary: Summary) -> StreamState:
        """The step of the method, with the λ₁ that λ₂ gives now."""
        ridge = self.threshold(state) if self.ridge is None else self.ridge
        now = replace(self, dictionary_regulariser=Constrained(Tikhonov(ridge**2), Reals()))
        return Method.update(now, state, batch, summary)

    def maintain_atoms(self, state: StreamState, batch: Batch) -> StreamState:
        """Leave unused directions as they are: the data do not need them."""
        return state
