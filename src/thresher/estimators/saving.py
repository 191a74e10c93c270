"""Models as files: save, load, go on.

What `save` packs, it unpacks again before it writes, so that nothing is written that `load` would
refuse; and `load` believes nothing of a file before it has been checked.
"""

import dataclasses
import importlib
import json
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from thresher.engine import History, Position, StreamState
from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.parts import NotSavableError, made, packed_value, unpacked_value
from thresher.estimators.registry import named_detector
from thresher.estimators.saved_calibration import pack_calibration, unpack_calibration
from thresher.estimators.saved_state import packed_state, subclasses_of, unpacked_state
from thresher.estimators.saved_watch import packed_watch, rivals_of, unpacked_watch
from thresher.persistence import Contents, FileError, put_strings, read_file, write_file

_NOT_SAVED = ("callbacks",)


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model to one file: arrays and JSON, a version and a checksum, no pickle.

    The write is atomic, goes through links, and keeps the mode of a file that is there. Callbacks
    are not saved, nor is a ``random_state`` that is not a number: the seed that was drawn from it
    is part of the model.
    """
    arrays, document = pack(model)
    as_read = json.loads(json.dumps(document))
    unpack(Contents(arrays, as_read, "This model"))
    write_file(path, arrays, document)


def load(path: str | Path) -> Any:
    """Read a model that `save` or a checkpoint wrote; it goes on as if it had never stopped.

    A `thresher.persistence.FileError` (a ValueError) says what is wrong with a file that is
    damaged, forged, or not ours. No code from the file is run, whoever wrote it (SECURITY.md).
    """
    arrays, document = read_file(path)
    return unpack(Contents(arrays, document, str(path)))


def check_savable(model: Any) -> None:
    """Refuse, before a run, a model that could not be saved after it."""
    arrays: dict[str, Any] = {}
    document = {"class": _name_of(model), "parameters": packed_parameters(model, arrays)}
    unpacked_model(Contents(arrays, json.loads(json.dumps(document)), "This model"))


# ------------------------------------------------------------------------- any model


def pack(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Everything that a fitted model knows, as arrays and a JSON document."""
    name = _name_of(model)
    arrays, document = packed(model) if isinstance(model, DictionaryEstimator) else model._packed()
    return arrays, {"class": name, **document}


def unpack(contents: Contents) -> Any:
    """A model from what `pack` gave."""
    kind = _kind(contents)
    try:
        return (
            unpacked(contents)
            if issubclass(kind, DictionaryEstimator)
            else kind._unpacked(contents)
        )
    except RecursionError:
        raise contents.error("one thing is inside another without end") from None


def _name_of(model: Any) -> str:
    kind = type(model)
    if _known_kind(kind.__name__) is not kind:
        raise NotSavableError(
            f"{kind.__name__} is not a model of Thresher, or not the only one of this name, so no "
            "file could tell what it is; save the model of Thresher inside it, or use joblib."
        )
    return kind.__name__


def _kind(contents: Contents) -> Any:
    name = contents.text("class")
    kind = _known_kind(name)
    if kind is None:
        raise FileError(
            f"{contents.name} holds a {name[:60]!r}, which this Thresher does not have; install a "
            "newer one, or import the class first if it is your own."
        )
    return kind


def _known_kind(name: str) -> Any:
    """A public class of the library, or a user's own that extends one; None for anything else."""
    library = importlib.import_module("thresher")  # it also names what stands above this layer
    if name in library.__all__:
        kind = getattr(library, name)
        savable = isinstance(kind, type) and issubclass(kind, BaseEstimator)
        return kind if savable else None
    own = [
        kind
        for kind in subclasses_of(DictionaryEstimator)
        if kind.__name__ == name and not kind.__module__.startswith("thresher.")
    ]
    return own[0] if len(own) == 1 else None


# ------------------------------------------------------------------------ parameters


def packed_parameters(
    model: Any, arrays: dict[str, Any], prefix: str = "parameter"
) -> dict[str, Any]:
    """Parameters of a model for a JSON document; those that are arrays go to ``arrays``."""
    packed: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        place = f"{prefix}.{name}"
        if name == "random_state" and not isinstance(value, int | np.integer):
            packed[name] = None
        elif isinstance(value, BaseEstimator):
            inside = packed_parameters(value, arrays, place)
            packed[name] = {"estimator": _name_of(value), "parameters": inside}
        elif name not in _NOT_SAVED:
            packed[name] = packed_value(place, value, arrays)
    return packed


def unpacked_model(contents: Contents, is_inside: bool = False) -> Any:
    """A model with the parameters that a file gives it, before it has learned anything.

    Tasks take a model as a parameter; one that ``is_inside`` takes none, however a file nests them.
    """
    kind = _kind(contents)
    given = {}
    for name, value in contents.record("parameters").items():
        if isinstance(value, dict) and "estimator" in value and not is_inside:
            inside = {"class": value["estimator"], "parameters": value.get("parameters")}
            given[name] = unpacked_model(Contents(contents.arrays, inside, contents.name), True)
        else:
            given[name] = unpacked_value(value, contents)
    hints = get_type_hints(kind.__init__)
    known = [name for name in kind._get_param_names() if name not in _NOT_SAVED]
    hints = {name: hints.get(name, Any) for name in known}
    model = made(kind, given, hints, contents)
    try:
        model._check_parameters()
    except (TypeError, ValueError, OverflowError) as error:
        raise contents.error(f"its parameters do not work: {error}") from error
    return model


# -------------------------------------------------------------------- what was learned


def is_model(estimator: Any) -> bool:
    """Whether an estimator is one of the library's, or derived from one: what `save` can save."""
    return isinstance(estimator, DictionaryEstimator)


def packed(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A dictionary model: its state, its history, and where it stands."""
    if not hasattr(model, "_state"):
        raise NotFittedError("This model has not been fitted; there is nothing to save.")
    model = model._with_changes()  # or the file would tie what was learned to other parameters
    state: StreamState = model._state
    arrays, document = packed_state(state)
    arrays["history"] = model.history_.to_array()
    if model.history_.events:
        arrays["events"] = model.history_.events_to_array()
    pack_features(model, arrays)
    if state.watch is not None:
        document["watch"] = packed_watch(state.watch, arrays)
    document |= {
        "parameters": packed_parameters(model, arrays),
        "position": dataclasses.asdict(model._position),
        "seconds": model._seconds,
        "threshold": model._calibrated_threshold,
    }
    pack_calibration(model, arrays, document)
    return arrays, document


def unpacked(contents: Contents) -> Any:
    """A dictionary model from what `packed` gave."""
    model = unpacked_model(contents)
    state = unpacked_state(contents)
    if "watch" in contents.document:
        start = named_detector(getattr(model, "drift", None))
        state = dataclasses.replace(state, watch=unpacked_watch(contents, start, state))
    model._reset()
    model.history_ = unpacked_history(contents)
    model._seconds = contents.number("seconds")
    unpack_features(model, contents, state.D.shape[1])
    if contents.value("threshold") is not None:
        model._calibrated_threshold = contents.number("threshold", finite=False)
    unpack_calibration(model, contents, state.D.shape[1])
    position = _position(Contents({}, contents.record("position"), contents.name))
    if (model_size := getattr(model, "n_components", None)) and model_size > len(state.D):
        raise contents.error(f"n_components={model_size}, and the dictionary has {len(state.D)}")
    try:
        model._state = state
        fitted = model._fitted_to(state)
        for one in (state, *rivals_of(state)):
            model._check_learned(fitted, one)
        model._adopt(fitted, position)
    except ValueError as error:
        raise contents.error(error) from error
    if not np.isfinite(model.components_).all():
        raise contents.error("the dictionary is too large for its type")
    return model


def _position(record: Contents) -> Position:
    given: dict[str, Any] = {}
    for name, hint in get_type_hints(Position).items():
        if hint is int:
            given[name] = record.integer(name)
        elif hint is float:
            given[name] = record.number(name, finite=False)
        else:
            origin = record.record(name)
            given[name] = {str(key): str(value) for key, value in origin.items()}
    return Position(**given)


# ------------------------------------------------------------- what several models have


def unpacked_history(contents: Contents) -> History:
    """The steps of a fit."""
    values = contents.array("history", (None, None), finite=False)
    try:
        history = History.from_array(values)
        if "events" in contents.arrays:
            history.note_array(contents.array("events", (None, 3), finite=False))
        return history
    except ValueError as error:
        raise contents.error(error) from error


def pack_features(model: Any, arrays: dict[str, Any]) -> None:
    """Names of the features, if they have any."""
    if hasattr(model, "feature_names_in_"):
        put_strings(arrays, "feature_names", model.feature_names_in_)


def unpack_features(model: Any, contents: Contents, n_features: int) -> None:
    """Width and names of the features."""
    model.n_features_in_ = n_features
    if "feature_names" in contents.arrays:
        names = contents.strings("feature_names")
        if len(names) != n_features:
            raise contents.error(f"{len(names)} names do not suit {n_features} features")
        model.feature_names_in_ = np.array(names, dtype=object)
