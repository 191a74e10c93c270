"""Verbs on Dask collections: nothing is computed before somebody asks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_feature_names_in, validate_data

from thresher.estimators.agreed_names import names_agree
from thresher.estimators.by_batch import OF_A_SAMPLE
from thresher.estimators.inputs import computing_dtype
from thresher.estimators.recipe import without_company

_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True)
class VerbOf:
    """A verb of a model as it is now, for rows whose names were compared."""

    model: Any
    verb: str
    options: dict[str, Any]

    def __call__(self, rows: Any) -> Any:
        """Arrays, whatever `set_output` says: frames are made of them where there were frames."""
        with names_agree(True):
            result = getattr(self.model, self.verb)(rows, **self.options)
        return tuple(map(np.asarray, result)) if isinstance(result, tuple) else np.asarray(result)


def lazily(model: Any, verb: str, X: Any, options: dict[str, Any]) -> list[Any]:
    """The results of a verb on a collection: one, or as many as `separate` has."""
    from thresher.cluster import lazy  # needs dask, which is there if a collection is

    head = lazy.head_of(X)
    dense = verb in ("separate", "impute", "reading_scores") and model.implicit_zeros == "observed"
    if sparse.issparse(head) and dense:
        raise TypeError(
            f"{verb} gives dense arrays of the size of the data; make the blocks dense first, with "
            "X.map_blocks(lambda block: block.toarray())."
        )
    model._check_goes_on()
    validate_data(model, head, reset=False, skip_check_array=True)
    dtype = _computing_dtype(head)
    if verb in OF_A_SAMPLE:
        outcomes = [lazy.ResultSpec(None, OF_A_SAMPLE[verb])]
    else:
        codes = lazy.ResultSpec(list(model.get_feature_names_out()), dtype)
        names = head.columns if hasattr(head, "columns") else _check_feature_names_in(model)
        samples = lazy.ResultSpec(list(names), dtype)
        kinds = {"transform": [codes], "separate": [samples, samples, codes]}
        outcomes = kinds.get(verb, [samples])
    return lazy.lazily(X, VerbOf(without_company(model), verb, options), outcomes)


def _computing_dtype(head: Any) -> np.dtype[Any]:
    """What samples are computed with; columns of a frame in what holds all of them."""
    if not hasattr(head, "columns"):
        return computing_dtype(head)
    plain = all(isinstance(kind, np.dtype) for kind in head.dtypes)
    return computing_dtype(head.to_numpy()) if plain else _DOUBLE
