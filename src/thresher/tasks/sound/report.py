"""The page about the parts of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thresher import __version__
from thresher.linalg import Array
from thresher.plotting import for_page, profile_panels
from thresher.report import Report
from thresher.tasks.sound.spectrogram import Spectrogram

if TYPE_CHECKING:
    from thresher.tasks.sound.separator import SoundSeparator

_FINEST = 300  # bars of a panel
_MOST_ONSETS = 60  # rows of the table


def sound_report(separator: SoundSeparator, codes: Array) -> Report:
    """Show the spectra of the parts, when they sound, and when they set in.

    Parameters
    ----------
    separator : SoundSeparator
    codes : array of shape (frames, K)
        How loud the parts are in a recording.
    """
    onsets, loudness = separator._onsets(codes), separator._loudness(codes)
    # Of parts that last, the spectrum of the whole.
    parts, frequencies = separator.model_.components_.sum(axis=1), separator.frequencies_
    K, gram = len(parts), Spectrogram(separator.window, separator.rate_)
    seconds = gram.n_samples(len(codes)) / separator.rate_
    report = Report(
        f"{K} parts of a recording",
        "Each has a sound of its own; together they are the recording.",
        f"Thresher {__version__} · sound",
    )
    report.facts(
        [
            (f"{seconds:.1f} s", f"at {separator.rate_:,} samples a second"),
            (str(K), "parts"),
            (str(len(onsets)), "onsets"),
        ]
    )
    titles = [f"part {k}, {peak:.0f} Hz" for k, peak in enumerate(separator.peaks_)]
    heard = max(2, int(np.flatnonzero(parts.max(axis=0) > 0.01 * parts.max()).max()) + 1)
    report.heading("Their spectra")
    highest = float(frequencies[heard - 1])
    pitches = _coarse(parts[:, :heard])
    report.picture(
        for_page(
            lambda: profile_panels(pitches, titles, along="frequency in Hz", ends=(0.0, highest))
        ),
        f"Spectra of {K} parts",
        f"From 0 to {highest:,.0f} Hz, each on its own scale, and its highest peak.",
    )
    report.heading("When they sound")
    # One below the other, so that what sounds together is in one line.
    courses = _coarse(loudness.T)
    report.picture(
        for_page(
            lambda: profile_panels(
                courses, titles, n_columns=1, along="seconds", ends=(0.0, seconds)
            )
        ),
        f"Loudness of {K} parts over time",
        f"From the beginning to the end, {seconds:.1f} s.",
    )
    rows = [[f"{o.time:.2f} s", str(o.part), f"{o.rise:.2f}"] for o in onsets[:_MOST_ONSETS]]
    if rows:
        report.heading("Onsets")
        report.table(["time", "part", "rise"], rows, caption="Rises as shares of a part's largest.")
    return report


def _coarse(rows: Any) -> Any:
    """At most so many columns, the largest of each group."""
    group = -(-rows.shape[1] // _FINEST)
    return np.maximum.reduceat(rows, np.arange(0, rows.shape[1], group), axis=1)
