"""The first column of a table, if it names the rows: kept letter by letter, in few bytes."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

_FORMATS = [(sep, spec) for sep in (" ", "T") for spec in ("minutes", "seconds", "milliseconds")]


def packed_labels(labels: list[str]) -> dict[str, Any]:
    """A start and a step, where these give all labels back exactly; else the labels."""
    for rule in (_numbers, _times):
        packed = rule(labels)
        if packed is not None and unpacked_labels(packed) == labels:
            return packed
    return {"labels": labels}


def unpacked_labels(packed: dict[str, Any]) -> list[str]:
    """The labels again."""
    if "labels" in packed:
        return list(packed["labels"])
    rows = range(packed["rows"])
    if "number" in packed:
        return [str(packed["number"] + i * packed["step"]) for i in rows]
    start, step = datetime.fromisoformat(packed["time"]), timedelta(microseconds=packed["step"])
    return [(start + i * step).isoformat(packed["sep"], packed["spec"]) for i in rows]


def _numbers(labels: list[str]) -> dict[str, Any] | None:
    try:
        start, then = int(labels[0]), int(labels[min(1, len(labels) - 1)])
    except (ValueError, IndexError):
        return None
    return {"number": start, "step": then - start, "rows": len(labels)}


def _times(labels: list[str]) -> dict[str, Any] | None:
    try:
        times = [datetime.fromisoformat(label) for label in labels[:2]]
    except ValueError:
        return None
    if not times:
        return None
    steps = [b - a for a, b in pairwise(times)] or [timedelta(0)]
    for sep, spec in _FORMATS:
        if times[0].isoformat(sep, spec) == labels[0]:
            step = round(steps[0] / timedelta(microseconds=1))
            start = times[0].isoformat()
            return {"time": start, "step": step, "sep": sep, "spec": spec, "rows": len(labels)}
    return None
