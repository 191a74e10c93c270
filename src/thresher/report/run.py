"""How a page ends: what was chosen and why, how to make it again, and with which versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version

from .builder import Report

_PACKAGES = ("thresher", "numpy", "scipy", "scikit-learn", "numba")


def tell_run(
    report: Report,
    reasons: Sequence[tuple[str, str]],
    again: str,
    seconds: float | None = None,
) -> Report:
    """Tell of the run of a command, or of what was done in Python.

    Parameters
    ----------
    report : Report
        The page that it made.
    reasons : sequence of (str, str)
        What was chosen, and why.
    again : str
        The lines that repeat it.
    seconds : float, optional
        How long it took, with everything that was loaded for it.
    """
    if reasons:
        report.heading("What was chosen, and why").reasons(reasons)
    report.heading("Make it again").code(again, wrap=True)
    took = "" if seconds is None else f"{seconds:.1f} s in all, with everything that was loaded. "
    return report.footnote(took + versions())


def versions() -> str:
    """What was used, on which machine, and when."""
    used = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    now = datetime.now().astimezone()
    python = f"Python {platform.python_version()} on {platform.system()} ({platform.machine()})"
    return f"Made on {now:%Y-%m-%d at %H:%M %Z} with {used}; {python}."
