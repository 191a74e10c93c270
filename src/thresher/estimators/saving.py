"""Models as files: save, load, go on."""

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import numpy as np

from thresher.engine import History, Position, StreamState
from thresher.estimators.base import DictionaryModel
from thresher.estimators.registry import PARTS
from thresher.learning import Statistics
from thresher.persistence import read_file, write_file

_NOT_SAVED = ("callbacks",)


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model to one file: arrays and JSON, a version and a checksum, no pickle.

    The write is atomic. Callbacks are not saved, nor is a ``random_state`` that is not a number:
    the seed that was drawn from it is part of the model.
    """
    pack = getattr(model, "_packed", None)  # models around a model pack themselves
    write_file(path, *(packed(model) if pack is None else pack()))


def packed(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Everything that a fitted model knows, as arrays and a JSON document."""
    if not hasattr(model, "_state"):
        raise ValueError("This model has not been fitted; there is nothing to save.")
    model._check_goes_on()  # or the file would tie what was learned to other parameters
    state: StreamState = model._state
    arrays = {
        "dictionary": state.D,
        "average": state.average,
        "history": model.history_.to_array(),
    }
    for name, values in state.statistics.arrays().items():
        arrays[f"statistics.{name}"] = values
    if hasattr(model, "feature_names_in_"):
        names = "\0".join(model.feature_names_in_).encode()
        arrays["feature_names"] = np.frombuffer(names, dtype=np.uint8)
    numbers = {
        field.name: getattr(state, field.name)
        for field in dataclasses.fields(state)
        if field.name not in ("D", "average", "statistics")
    }
    document = {
        "class": type(model).__name__,
        "parameters": packed_parameters(model, arrays),
        "state": numbers,
        "statistics": type(state.statistics).__name__,
        "sums": state.statistics.numbers(),
        "position": dataclasses.asdict(model._position),
        "seconds": model._seconds,
        "threshold": getattr(model, "threshold_", None),
    }
    return arrays, document


def load(path: str | Path) -> Any:
    """Read a model that `save` or a checkpoint wrote; it goes on as if it had never stopped."""
    arrays, document = read_file(path)
    # What stands above this layer is found by its public name.
    kind = getattr(importlib.import_module("thresher"), document["class"], None)
    unpack = getattr(kind, "_unpacked", None)
    return unpacked(arrays, document, path) if unpack is None else unpack(arrays, document)


def unpacked(arrays: dict[str, Any], document: dict[str, Any], path: str | Path) -> Any:
    """A model from what `packed` gave."""
    models = {kind.__name__: kind for kind in _subclasses(DictionaryModel)}
    kind = models.get(document["class"])
    if kind is None:
        raise ValueError(
            f"{path} holds a {document['class']}, which this Thresher does not have; install a "
            "newer one."
        )
    model = kind(**unpacked_parameters(arrays, document["parameters"]))
    statistics_kind = {kind.__name__: kind for kind in _subclasses(Statistics)}
    sums = {name: arrays[f"statistics.{name}"] for name in _names(arrays, "statistics.")}
    statistics = statistics_kind[document["statistics"]](**sums, **document["sums"])
    state = StreamState(
        D=arrays["dictionary"],
        average=arrays["average"],
        statistics=statistics,
        **document["state"],
    )
    model.history_ = History.from_array(arrays["history"])
    model._seconds = document["seconds"]
    model._began_as = model._identity()
    model.n_features_in_ = state.D.shape[1]
    if "feature_names" in arrays:
        names = arrays["feature_names"].tobytes().decode().split("\0")
        model.feature_names_in_ = np.array(names, dtype=object)
    if document["threshold"] is not None:
        model.threshold_ = document["threshold"]
    model._adopt(state, Position(**document["position"]))
    return model


def packed_parameters(model: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a model for a JSON document; those that are arrays go to ``arrays``."""
    return {
        name: _to_json(f"parameter.{name}", value, arrays)
        for name, value in model.get_params(deep=False).items()
        if name not in _NOT_SAVED
    }


def unpacked_parameters(arrays: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters from what `packed_parameters` gave."""
    return {name: _from_json(value, arrays) for name, value in parameters.items()}


def _names(arrays: dict[str, Any], prefix: str) -> list[str]:
    return [name.removeprefix(prefix) for name in arrays if name.startswith(prefix)]


def _to_json(name: str, value: Any, arrays: dict[str, Any]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.integer | np.floating | np.bool_):
        return value.item()
    if type(value).__name__ in PARTS:
        fields = {
            f.name: _to_json(f"{name}.{f.name}", getattr(value, f.name), arrays)
            for f in dataclasses.fields(value)
        }
        return {"part": type(value).__name__, "fields": fields}
    if isinstance(value, np.ndarray | list | tuple):
        arrays[name] = np.asarray(value)
        return {"array": name}
    if name == "parameter.random_state":
        return None
    raise ValueError(
        f"{name.removeprefix('parameter.')}={value!r} cannot be saved; use a part of the library "
        "or a number, or set it to None before saving and again after loading."
    )


def _from_json(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, dict) and "array" in value:
        return arrays[value["array"]]
    if isinstance(value, dict):
        fields = {name: _from_json(field, arrays) for name, field in value["fields"].items()}
        return PARTS[value["part"]](**fields)
    return value


def _subclasses(kind: type) -> set[type]:
    below: set[type] = set(kind.__subclasses__())
    return below.union(*(_subclasses(each) for each in below))
