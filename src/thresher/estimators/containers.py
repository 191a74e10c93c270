"""Results in the container that `set_output` asks for, with the names and the index of the input.

scikit-learn does this for `transform`; here its adapters serve the other methods as well.
"""

from typing import Any

from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.validation import _check_feature_names_in

from thresher.linalg import Array


def codes_like(X: Any, codes: Array, model: Any) -> Any:
    """Codes of samples: the index of the samples, a column for each atom."""
    return _contained(codes, X, model.get_feature_names_out, model)


def samples_like(X: Any, values: Array, model: Any) -> Any:
    """Something of the shape of samples: their index, and their columns if they have any."""
    adapter = _get_container_adapter("transform", model)
    if adapter is not None and adapter.is_supported_container(X):
        return _contained(values, X, X.columns, model)
    return samples_of(X, values, model)


def samples_of(C: Any, samples: Array, model: Any) -> Any:
    """Samples that codes stand for: the index of the codes, the features that were learned."""
    return _contained(samples, C, lambda: _check_feature_names_in(model), model)


def _contained(values: Array, original: Any, columns: Any, model: Any) -> Any:
    adapter = _get_container_adapter("transform", model)
    return values if adapter is None else adapter.create_container(values, original, columns)
