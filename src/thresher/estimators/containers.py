"""Results in the container that `set_output` asks for, with the names and the index of the input.

scikit-learn does this for `transform`; here its adapters serve the other methods as well. Left
alone, samples come back as a frame of the library that they came in, and codes as arrays, as
everywhere in scikit-learn.
"""

from functools import partial
from typing import Any

from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.validation import _check_feature_names_in

from thresher.estimators.frames import columns_of, is_frame, like
from thresher.linalg import Array


def codes_like(X: Any, codes: Array, model: Any) -> Any:
    """Codes of samples: the index of the samples, a column for each atom."""
    adapter = _get_container_adapter("transform", model)
    if adapter is None:
        return codes
    return adapter.create_container(codes, X, model.get_feature_names_out)


def samples_like(X: Any, values: Array, model: Any) -> Any:
    """Something of the shape of samples: their index, and their columns if they have any."""
    names = columns_of(X) if is_frame(X) else partial(_check_feature_names_in, model)
    return _contained(values, X, names, model)


def samples_of(C: Any, samples: Array, model: Any) -> Any:
    """Samples that codes stand for: the index of the codes, the features that were learned."""
    return _contained(samples, C, partial(_check_feature_names_in, model), model)


def _contained(values: Array, original: Any, columns: Any, model: Any) -> Any:
    adapter = _get_container_adapter("transform", model)
    if adapter is not None:
        if not callable(columns) and not adapter.is_supported_container(original):
            columns = list(map(str, columns))  # names of pandas may be anything, others are strings
        return adapter.create_container(values, original, columns)
    if not is_frame(original):
        return values
    return like(original, values, columns() if callable(columns) else columns)
