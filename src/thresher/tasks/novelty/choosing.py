"""How to cut documents into steps, if nobody says."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

from thresher.tasks.text.steps import EVERY, document_steps

_LARGEST = 1000  # documents; as `document_steps` has it
_STEPS = 10  # at least so many; by judgement


class Stepping(NamedTuple):
    """Arguments of `document_steps`, and the reason for them."""

    size: int
    date_field: str | None
    every: str
    why: str


def chosen_stepping(
    records: Sequence[Any], text: str, date_field: str | None, false_alarm_rate: float
) -> Stepping:
    """The finest steps in which usual scores can be told.

    To tell one document in 20 from the others, the detector starts from 40: so many, on average,
    are in the days, weeks or months of a date. Without a date it is a tenth of the documents.

    Parameters
    ----------
    records : sequence of dict or str
        All documents.
    text : str
        The field of their text.
    date_field : str, optional
        The field of their date; by default the first in which all are dates, in order.
    false_alarm_rate : float
        Of the detector.
    """
    enough = ceil(2 / false_alarm_rate)
    for field in [date_field] if date_field else _fields(records):
        lengths = {every: _lengths(records, text, field, every) for every in EVERY}
        if date_field is None and not all(lengths.values()):
            continue
        for every, sizes in lengths.items():
            if sizes and sum(sizes) >= enough * len(sizes) and len(sizes) > 1:
                mean = sum(sizes) / len(sizes)
                why = f"{mean:.0f} documents in a {every}, where {enough} tell what is usual"
                return Stepping(_LARGEST, field, every, why)
        if date_field is not None:
            return Stepping(_LARGEST, field, EVERY[-1], "there are few documents")
    n = len(records)
    size = max(min(n // _STEPS, _LARGEST), min(enough, n // 2), 1)
    size = ceil(n / max(n // size, 1))  # no step of a few documents is left over at the end
    return Stepping(size, None, EVERY[0], f"{n:,} documents in steps of equal size")


def _fields(records: Sequence[Any]) -> list[str]:
    first = records[0] if records else None
    return list(first) if isinstance(first, dict) else []


def _lengths(records: Sequence[Any], text: str, field: str, every: str) -> list[int]:
    """Documents in each step; none if the field has no dates, or not in order."""
    try:
        steps = document_steps(iter(records), text=text, date_field=field, every=every)
        return [len(step.documents) for step in steps]
    except ValueError:
        return []
