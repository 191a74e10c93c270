"""What is sent of a model to those who work for it elsewhere."""

from copy import copy
from typing import Any

from thresher.engine import StreamMethod, StreamState
from thresher.estimators.agreed_names import names_agree
from thresher.streams import Batch

# What only this process needs, or was learned: neither checks samples nor makes methods.
_LEARNED = (
    "_state",
    "_position",
    "_seconds",
    "history_",
    "components_",
    "_calibrated_threshold",
    "_reading_scale",
    "_recent",
)


def without_company(model: Any) -> Any:
    """A copy of a model that works in one thread, in silence, and calls nobody back."""
    alone = copy(model)
    vars(alone).update(callbacks=None, verbose=0, n_jobs=1)
    vars(alone).pop("history_", None)
    return alone


class ModelRecipe:
    """Checks samples as a model does, and makes its method.

    Parameters travel, not parts: a worker makes the parts itself.
    """

    def __init__(self, model: Any, known: bool, in_order: bool) -> None:
        self._model = without_company(model)
        for name in _LEARNED:
            vars(self._model).pop(name, None)
        self._known, self._in_order = known, in_order

    def batch(self, rows: Any) -> Batch:
        """Checked samples; their names were compared where the model is."""
        model = self._model
        with names_agree(True):
            batch: Batch = model._batch(model._checked(rows, known=self._known), None, None)
        return batch

    def method(self, state: StreamState) -> StreamMethod:
        """The method of a state, in its unit."""
        method: StreamMethod = self._model._method_of(state, self._in_order)
        return method
