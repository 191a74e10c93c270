"""What a simple method does with the same data, beside what the library did."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from .builder import Report

Result = TypeVar("Result")


def tell_beside(
    report: Report, measures: Sequence[str], rows: Sequence[Sequence[str]], how: str
) -> Report:
    """Add a table of methods, the library's own first.

    Parameters
    ----------
    report : Report
    measures : sequence of str
        What is compared: quality, and seconds.
    rows : sequence of sequences of str
        The name of a method, and what it has for each measure.
    how : str
        What the simple method is, on how much of the data it ran, and what the measures mean.
    """
    report.heading("Beside a simple alternative")
    return report.table(["", *measures], rows, caption=how)


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What some work gives, and how many seconds it took."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started
