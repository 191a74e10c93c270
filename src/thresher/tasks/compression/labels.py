"""Columns that name the rows: kept letter by letter, in few bytes where they are regular."""

import re
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from thresher.tasks.compression.packet import PacketError

_SEPARATORS = (" ", "T")
_SPECS = ("minutes", "seconds", "milliseconds")
_LARGEST = 10**18  # by judgement


def packed_labels(labels: list[str]) -> dict[str, Any]:
    """A start and a step, where these give all labels back exactly; else the labels."""
    for rule in (_numbers, _times):
        packed = rule(labels)
        if packed is not None and unpacked_labels(packed, len(labels)) == labels:
            return packed
    escaped = (label.replace("\\", "\\\\").replace("\n", "\\n") for label in labels)
    return {"labels": "\n".join(escaped)}


def unpacked_labels(packed: Any, n_rows: int) -> list[str]:
    """The labels again; `PacketError` if these are none, or not so many."""
    match packed:
        case {"labels": str(text)} if text.count("\n") + 1 == n_rows:
            return [re.sub(r"\\(.)", _unescaped, label) for label in text.split("\n")]
        case {"number": int(first), "step": int(step)} if max(abs(first), abs(step)) < _LARGEST:
            return [str(first + i * step) for i in range(n_rows)]
        case {"time": str(time), "step": int(step), "sep": sep, "spec": spec} if (
            sep in _SEPARATORS and spec in _SPECS
        ):
            try:
                start, by = datetime.fromisoformat(time), timedelta(microseconds=step)
                return [(start + i * by).isoformat(sep, spec) for i in range(n_rows)]
            except (ValueError, OverflowError):
                pass
    raise PacketError("The head of the file has labels that make no sense; get it again.")


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def _numbers(labels: list[str]) -> dict[str, Any] | None:
    try:
        start, then = int(labels[0]), int(labels[min(1, len(labels) - 1)])
    except (ValueError, IndexError):
        return None
    fits = max(abs(start), abs(then - start)) < _LARGEST
    return {"number": start, "step": then - start} if fits else None


def _times(labels: list[str]) -> dict[str, Any] | None:
    try:
        times = [datetime.fromisoformat(label) for label in labels[:2]]
        steps = [b - a for a, b in pairwise(times)] or [timedelta(0)]
    except (ValueError, TypeError):  # TypeError: a zone in one of the two
        return None
    for sep in _SEPARATORS:
        for spec in _SPECS:
            if times and times[0].isoformat(sep, spec) == labels[0]:
                step = round(steps[0] / timedelta(microseconds=1))
                return {"time": times[0].isoformat(), "step": step, "sep": sep, "spec": spec}
    return None
