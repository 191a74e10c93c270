"""What a model knows of shifts as arrays and JSON, and back."""

from typing import Any

from thresher.engine import MannWhitneyDrift, Rival, StreamState, Trial, Watch
from thresher.estimators.parts import NotSavableError
from thresher.estimators.saved_state import packed_state, unpacked_state
from thresher.persistence import Contents

_MOST_RIVALS = 2


def packed_watch(watch: Watch, arrays: dict[str, Any]) -> dict[str, Any]:
    """A record for a JSON document; the numbers that a detector remembers go to ``arrays``."""
    detector = watch.detector
    if type(detector) is not MannWhitneyDrift:
        raise NotSavableError(
            f"drift={watch.start!r} cannot be saved, as files hold no objects of other libraries; "
            "use drift='auto' or a thresher.MannWhitneyDrift, or keep the model with joblib."
        )
    arrays["watch.values"] = detector.values
    record: dict[str, Any] = {"alarm": detector.drift_detected, "p_value": detector.p_value}
    if watch.trial is None:
        return record
    record |= {"n_batches": watch.trial.n_batches, "replaced": watch.trial.replaced, "rivals": []}
    for number, rival in enumerate(watch.trial.rivals):
        more, document = packed_state(rival.state)
        arrays |= {f"watch.rival{number}.{name}": values for name, values in more.items()}
        record["rivals"].append({"wins": rival.wins, **document})
    return record


def rivals_of(state: StreamState) -> list[StreamState]:
    """The states that may take over."""
    trial = None if state.watch is None else state.watch.trial
    return [] if trial is None else [rival.state for rival in trial.rivals]


def unpacked_watch(contents: Contents, start: Any, state: StreamState) -> Watch:
    """What `packed_watch` was given, for the detector of the parameters."""
    record = contents.inner("watch")
    if type(start) is not MannWhitneyDrift:
        raise contents.error("it watches with a detector that no file can hold")
    watch = Watch.begun(start)
    try:
        watch.detector.recall(
            record.array("values", (None,)), record.flag("alarm"), record.number("p_value")
        )
    except ValueError as error:
        raise contents.error(error) from error
    if "rivals" not in record.document:
        return watch
    given = record.value("rivals")
    if not isinstance(given, list) or not 0 < len(given) <= _MOST_RIVALS:
        raise contents.error("a trial has one rival or two")
    rivals = tuple(_rival(record, place, one, state) for place, one in enumerate(given))
    trial = Trial(rivals, record.integer("n_batches"), record.flag("replaced"))
    return Watch(watch.start, watch.detector, trial)


def _rival(record: Contents, place: int, given: Any, state: StreamState) -> Rival:
    if not isinstance(given, dict):
        raise record.error(f"rival {place} is no record")
    one = Contents(record.inner_arrays(f"rival{place}"), given, record.name)
    rival = unpacked_state(one)
    alike = (rival.D.shape, rival.D.dtype, rival.unit, rival.method, type(rival.statistics)) == (
        state.D.shape,
        state.D.dtype,
        state.unit,
        state.method,
        type(state.statistics),
    )
    if not alike:
        raise record.error(f"rival {place} does not suit the dictionary")
    return Rival(rival, one.integer("wins"))
