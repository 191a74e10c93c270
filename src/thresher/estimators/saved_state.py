"""The state of an online model as arrays and JSON, and back."""

import dataclasses
from typing import Any, get_type_hints

import numpy as np

from thresher.engine import FeatureRange, StreamState
from thresher.learning import Statistics
from thresher.persistence import Contents

_FLOATS = ("float32", "float64")
_NO_NUMBERS = ("D", "average", "statistics", "seen", "watch")


def packed_state(state: StreamState) -> tuple[dict[str, Any], dict[str, Any]]:
    """All that a state knows, except what it knows of shifts."""
    arrays = {"dictionary": state.D, "average": state.average}
    for name, values in state.statistics.arrays().items():
        arrays[f"statistics.{name}"] = values
    if state.seen is not None:
        arrays |= {"seen.low": state.seen.low, "seen.high": state.seen.high}
    numbers = {
        field.name: getattr(state, field.name)
        for field in dataclasses.fields(state)
        if field.name not in _NO_NUMBERS
    }
    document = {
        "state": numbers,
        "statistics": type(state.statistics).__name__,
        "sums": {name: float(value) for name, value in state.statistics.numbers().items()},
    }
    return arrays, document


def unpacked_state(contents: Contents) -> StreamState:
    """What `packed_state` was given."""
    D = contents.array("dictionary", (None, None), _FLOATS)
    if not D.size:
        raise contents.error("the dictionary is empty")
    average = contents.array("average", D.shape, (D.dtype.name,))
    record = Contents({}, contents.record("state"), contents.name)
    hints = get_type_hints(StreamState)
    fields = {f.name: f for f in dataclasses.fields(StreamState) if f.name not in _NO_NUMBERS}
    numbers: dict[str, Any] = {}
    for name in record.document:
        if name == "method":
            numbers[name] = record.text(name)
            continue
        if name not in fields:
            raise contents.error(f"its state has a {name[:40]!r}, which this Thresher lacks")
        if hints[name] is not float:
            numbers[name] = record.flag(name) if hints[name] is bool else record.integer(name)
            continue
        value = numbers[name] = record.number(name)
        if value < 0 or (value == 0 and fields[name].default):
            raise contents.error(f"{name!r} is {value}, which it never is")
    if "seed" not in numbers:
        raise contents.error("'seed' is missing")
    statistics, seen = _statistics(contents, D.shape), _seen(contents, D.shape[1])
    state = StreamState(D=D, average=average, statistics=statistics, seen=seen, **numbers)
    units = np.array([state.unit, state.atom_unit, state.code_unit])
    with np.errstate(over="ignore", under="ignore"):
        units = units.astype(D.dtype)
    if not (np.isfinite(units) & (units > 0)).all():
        raise contents.error("its units are beyond the numbers of the dictionary")
    return state


def _seen(contents: Contents, n_features: int) -> FeatureRange | None:
    if "seen.low" not in contents.arrays:
        return None
    low, high = (
        contents.array(f"seen.{name}", (n_features,), finite=False) for name in ("low", "high")
    )
    known = low <= high
    bare = (low == np.inf) & (high == -np.inf)
    if not ((known & np.isfinite(low) & np.isfinite(high)) | bare).all():
        raise contents.error("the ranges that were seen make no sense")
    return FeatureRange(low, high)


def _statistics(contents: Contents, shape: tuple[int, int]) -> Statistics:
    name = contents.text("statistics")
    kinds = {Statistics, *subclasses_of(Statistics)}
    kind: Any = {kind.__name__: kind for kind in kinds}.get(name)
    if kind is None:
        raise contents.error(
            f"it has statistics named {name[:40]!r}, which this Thresher does not have"
        )
    lengths = {"K": shape[0], "F": shape[1], "f": shape[1]}
    given: dict[str, Any] = {}
    for field, letters in kind.AXES.items():
        values = contents.array(f"statistics.{field}", (None,) * len(letters))
        for letter, have in zip(letters, values.shape, strict=True):
            want = lengths.setdefault(letter, have)
            if have != want and not (letter == "f" and have == 1):
                raise contents.error(
                    f"the statistics {field!r} have the shape {values.shape}, which does not suit "
                    f"a dictionary of the shape {shape}"
                )
        given[field] = values
    sums = Contents({}, contents.record("sums"), contents.name)
    numbers = {f.name: f for f in dataclasses.fields(kind) if f.name not in kind.AXES}
    if unknown := sums.document.keys() - numbers.keys():
        raise contents.error(f"{name} have no {min(unknown)[:40]!r}")
    return kind(**given, **{field: sums.number(field) for field in numbers})


def subclasses_of(kind: type) -> set[type]:
    """All classes that derive from one, however far below."""
    below: set[type] = set(kind.__subclasses__())
    return below.union(*(subclasses_of(each) for each in below))
