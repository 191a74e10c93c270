"""Columns that name the rows, as files of version 2 have them in their heads."""

import re
from datetime import datetime, timedelta
from typing import Any

from thresher.tasks.compression.packet import PacketError

_SEPARATORS = (" ", "T")
_SPECS = ("minutes", "seconds", "milliseconds")
_LARGEST = 10**18  # by judgement


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
