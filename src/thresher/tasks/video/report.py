"""Report on a video: its background, scene changes, and how the light was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thresher import __version__
from thresher.estimators.reports import add_history
from thresher.plotting import for_page, frame_grid
from thresher.report import Report
from thresher.tasks.video.light import lit

if TYPE_CHECKING:
    from thresher.tasks.video.separator import VideoSeparator

_MAX_CHANGES = 20  # scene changes that are listed


def video_report(separator: VideoSeparator) -> Report:
    """Show the background of a video and the events that were detected.

    Parameters
    ----------
    separator : VideoSeparator
        That has seen frames.
    """
    separator._check_begun()
    scene, n_frames = separator._scene, separator.n_frames_seen_
    height, width = separator._shape[:2]
    report = Report(
        f"Background of {n_frames:,} frames",
        "Each frame was compared with the scene learned from the frames before it."
        if separator.causal
        else "All frames were read twice: to learn the scene, and to compare them with it.",
        f"Thresher {__version__} · video",
    )
    report.facts(_facts(separator, n_frames))
    last = lit(scene.detail, scene.light.predicted(scene.light.first[np.newaxis])[0], scene.side)
    report.heading("Background")
    report.picture(
        for_page(lambda: frame_grid([_bytes(last[np.newaxis, :height, :width])], [""], [""])),
        "The scene without moving objects",
        "The scene as it was estimated last.",
    )
    _show_changes(report, [one.frame for one in separator.changes_])
    estimator = scene.light.estimator
    if hasattr(estimator, "history_"):
        add_history(report, estimator.history_, estimator.tol)
        cells = estimator.components_.shape[1] // scene.detail.shape[2]
        report.paragraph(
            f"{type(estimator).__name__} models the light of the scene, from the means of "
            f"{cells:,} square cells in every second frame."
        )
    return report


def _facts(separator: VideoSeparator, n_frames: int) -> list[tuple[str, str]]:
    height, width = separator._shape[:2]
    facts = [(f"{n_frames:,}", f"frames of {width} × {height} pixels")]
    if np.isfinite(separator.frames_per_second_):
        speed = f"{separator.frames_per_second_:,.0f}"
        facts.append((speed, "frames per second, including reading and writing"))
    facts.append((f"{len(separator.changes_):,}", "scene changes"))
    if separator.n_aligned_:
        facts.append((f"{separator.n_aligned_:,}", "frames aligned after camera motion"))
    return facts


def _show_changes(report: Report, frames: list[int]) -> None:
    if not frames:
        return
    listed = ", ".join(f"{number:,}" for number in frames[-_MAX_CHANGES:])
    last = f"the last {_MAX_CHANGES} of them " if len(frames) > _MAX_CHANGES else ""
    report.paragraph(
        f"Scene changes were detected, {last}after frames {listed}; there the background was "
        "re-initialised."
    )


def _bytes(levels: NDArray[np.generic]) -> NDArray[np.uint8]:
    found = np.asarray(np.rint(np.clip(levels, 0, 255)), dtype=np.uint8)
    return found[..., 0] if found.shape[-1] == 1 else found
