"""Models as files: save, load, continue.

What `save` packs, it unpacks before it writes, so that nothing is written that `load` would refuse.
`load` uses nothing of a file before it has been checked.
"""

import importlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from thresher.engine import (
    FeatureRange,
    History,
    MannWhitneyDrift,
    Position,
    Rival,
    StreamState,
    Trial,
    Watch,
)
from thresher.estimators.calibration import Calibration, RecentSamples
from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.parts import PARAMETERS
from thresher.estimators.registry import named_detector
from thresher.learning import Statistics
from thresher.linalg import Array
from thresher.persistence import (
    Contents,
    FileError,
    NotSavableError,
    Serialiser,
    build,
    put_strings,
    read_file,
    write_file,
)

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
            packed[name] = PARAMETERS.pack(place, value, arrays)
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
            given[name] = PARAMETERS.unpack(value, contents)
    hints = get_type_hints(kind.__init__)
    known = [name for name in kind._get_param_names() if name not in _NOT_SAVED]
    hints = {name: hints.get(name, Any) for name in known}
    model = build(kind, given, hints, contents)
    try:
        model._check_parameters()
    except (TypeError, ValueError, OverflowError) as error:
        raise contents.error(f"its parameters do not work: {error}") from error
    return model


# -------------------------------------------------------------------- what was learned


@dataclass(frozen=True)
class SavedDetector:
    """What the drift detector of a state remembers."""

    values: Array
    drift_detected: bool
    p_value: float


@dataclass(frozen=True)
class FittedState:
    """Everything that a dictionary model has learned; calibration is numbers, never samples.

    Attributes
    ----------
    state : StreamState
        Without its drift detection, which is in ``detector`` and ``trial``.
    position, seconds, history, events
        Progress of the fit.
    threshold, entry_scale
        Set by `calibrate`.
    calibration : Calibration or None
        The default calibration, measured on recent samples.
    """

    state: StreamState
    position: Position
    seconds: float
    history: Array
    events: Array
    threshold: float | None
    entry_scale: Array | None
    calibration: Calibration | None
    detector: SavedDetector | None
    trial: Trial | None

    def check_fields(self) -> None:
        """Raise ValueError unless the parts suit each other."""
        F, learned = self.state.D.shape[1], self.calibration
        for scales in (self.entry_scale, None if learned is None else learned.scales):
            if scales is not None and not (_is_float64(scales, (F,)) and (scales > 0).all()):
                raise ValueError(f"the scales of {F} columns must be {F} positive numbers")
        for values in (self.history, self.events):
            if values.dtype != np.float64 or values.ndim != 2:
                raise ValueError("history must be a matrix of float64")
        if not np.isfinite(self.seconds):
            raise ValueError(f"seconds is {self.seconds}")
        state = _identity(self.state)
        if self.trial is not None and any(
            _identity(rival.state) != state for rival in self.trial.rivals
        ):
            raise ValueError("a rival does not suit the dictionary")

    def watch(self, start: Any) -> Watch | None:
        """Return the drift detection of the state, for the detector of the parameters."""
        if self.detector is None:
            return None
        if type(start) is not MannWhitneyDrift:
            raise ValueError("its drift detector is one that no file can hold")
        watch, saved = Watch.begun(start), self.detector
        watch.detector.recall(saved.values, saved.drift_detected, saved.p_value)
        return replace(watch, trial=self.trial)


def _is_float64(values: Array, shape: tuple[int, ...]) -> bool:
    return values.dtype == np.float64 and values.shape == shape


def _identity(state: StreamState) -> tuple[Any, ...]:
    """What states have in common that may replace each other."""
    return state.D.shape, state.D.dtype, state.unit, state.method, type(state.statistics)


def subclasses_of(kind: type) -> set[type]:
    """All classes that derive from one, directly or not."""
    below: set[type] = set(kind.__subclasses__())
    return below.union(*(subclasses_of(each) for each in below))


def _state_serialiser() -> Serialiser:
    """Return the serialiser of learned states; learners of users may define statistics."""
    kinds = (FittedState, SavedDetector, StreamState, FeatureRange, Position, Calibration)
    all_kinds = (*kinds, Trial, Rival, Statistics, *subclasses_of(Statistics))
    return Serialiser({kind.__name__: kind for kind in all_kinds})


def is_model(estimator: Any) -> bool:
    """Whether an estimator is one of the library's, or derived from one: what `save` can save."""
    return isinstance(estimator, DictionaryEstimator)


def packed(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A dictionary model: its parameters and what it has learned."""
    if not hasattr(model, "_state"):
        raise NotFittedError("This model has not been fitted; there is nothing to save.")
    model = model._with_changes()  # or the file would tie what was learned to other parameters
    watch = model._state.watch
    fitted = FittedState(
        state=replace(model._state, watch=None),
        position=model._position,
        seconds=model._seconds,
        history=model.history_.to_array(),
        events=model.history_.events_to_array(),
        threshold=model._calibrated_threshold,
        entry_scale=model._calibrated_scale,
        calibration=model._model().calibration,
        detector=None if watch is None else _saved_detector(watch),
        trial=None if watch is None else watch.trial,
    )
    arrays: dict[str, Any] = {}
    document = {
        "parameters": packed_parameters(model, arrays),
        "fitted": _state_serialiser().pack("fitted", fitted, arrays),
    }
    pack_features(model, arrays)
    return arrays, document


def _saved_detector(watch: Watch) -> SavedDetector:
    detector = watch.detector
    if type(detector) is not MannWhitneyDrift:
        raise NotSavableError(
            f"drift={watch.start!r} cannot be saved, as files hold no objects of other libraries; "
            "use drift='auto' or a thresher.MannWhitneyDrift, or keep the model with joblib."
        )
    return SavedDetector(detector.values, detector.drift_detected, detector.p_value)


def unpacked(contents: Contents) -> Any:
    """A dictionary model from what `packed` gave."""
    model = unpacked_model(contents)
    saved: FittedState = _state_serialiser().unpack_as(
        FittedState, contents.value("fitted"), contents
    )
    F = saved.state.D.shape[1]
    size = getattr(model, "n_components", None)
    if size and size > len(saved.state.D):
        raise contents.error(f"n_components={size}, and the dictionary has {len(saved.state.D)}")
    model._reset()
    model._seconds = saved.seconds
    model._calibrated_threshold, model._calibrated_scale = saved.threshold, saved.entry_scale
    if saved.calibration is not None and model._flags_outliers:
        model._recent = RecentSamples(calibration=saved.calibration)
    unpack_features(model, contents, F)
    try:
        model.history_ = History.from_array(saved.history)
        model.history_.note_array(saved.events)
        state = replace(
            saved.state, watch=saved.watch(named_detector(getattr(model, "drift", None)))
        )
        model._state = state
        fitted = model._fitted_to(state)
        rivals = () if saved.trial is None else saved.trial.rivals
        for one in (state, *(rival.state for rival in rivals)):
            model._check_learned(fitted, one)
        model._adopt(fitted, saved.position)
    except ValueError as error:
        raise contents.error(error) from error
    if not np.isfinite(model.components_).all():
        raise contents.error("the dictionary is too large for its type")
    return model


# ------------------------------------------------------------- what several models have


def unpacked_history(contents: Contents) -> History:
    """The steps of a fit."""
    try:
        return History.from_array(contents.array("history", (None, None), finite=False))
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
