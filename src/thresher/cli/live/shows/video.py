"""A video that is separated: the frame, the scene without what moves, and what moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.cli.live.pictures import picture
from thresher.cli.live.shows.base import Control, Fact, Show, set_parameter
from thresher.cli.live.views import parts_view
from thresher.tasks.video.results import WatchedFrames

_HELP = {
    "threshold": "How far a pixel has to be off to count as moving: larger finds less.",
    "patience": "Frames after which something that stands still belongs to the background.",
}
_LABELS = {"threshold": "Threshold k", "patience": "Patience, in frames"}


class VideoShow(Show):
    """`thresher.VideoSeparator`, by its callbacks."""

    unit = "frames"
    curve = "moving"
    sample_title = "The latest frame"
    parts_title = "The light of the scene, as it is learned"
    facts = (
        Fact("samples", "frames seen", "count"),
        Fact("rate", "frames a second", "count"),
        Fact("moving", "of the last frame moves", "share"),
        Fact("boxes", "things move in it", "count"),
        Fact("aligned", "frames were shifted back", "count"),
    )

    def __init__(self) -> None:
        self._white = 0.0
        self._told = 0

    def model(self, step: WatchedFrames) -> Any:
        """The separator."""
        return step.model

    def numbers(self, step: WatchedFrames) -> dict[str, Any]:
        """Of the last frame."""
        mask = step.separation.mask[-1]
        return {
            "samples": step.model.n_frames_seen_,
            "moving": float(mask.mean()),
            "boxes": len(step.separation._replace(mask=mask[np.newaxis]).boxes[0]),
            "aligned": step.model.n_aligned_,
        }

    def noticed(self, step: WatchedFrames) -> list[str]:
        """Scenes that became another."""
        changes = step.model.changes_
        new, self._told = changes[self._told :], len(changes)
        return [
            f"At frame {one.frame:,} the scene became another, and was begun anew." for one in new
        ]

    def view(self, step: WatchedFrames) -> dict[str, Any]:
        """The last frame, taken apart."""
        frame, background = step.frames[-1], step.separation.background[-1]
        self._white = max(self._white, float(frame.max()))
        mask = step.separation.mask[-1]
        said = [("As it came", frame), ("Background", background), ("What moves", mask)]
        pictures = [
            {"name": name, "source": picture(values, 1.0 if values is mask else self._white)}
            for name, values in said
        ]
        found: dict[str, Any] = {"sample": {"kind": "pictures", "pictures": pictures}}
        light = step.model.light_
        if light is not None:
            atoms = light.reshape(len(light), -1)
            shape = light.shape[1:] if light.shape[-1] == 3 else light.shape[1:3]
            found["parts"] = parts_view(atoms, None, shape)
        return found

    def controls(self, step: WatchedFrames) -> list[Control]:
        """Threshold and patience."""
        return [
            Control(name, _LABELS[name], text, str(getattr(step.model, name)))
            for name, text in _HELP.items()
        ]

    def change(self, step: WatchedFrames, name: str, value: Any) -> None:
        """Parameters that each batch of frames is judged by anew."""
        set_parameter(step.model, name, value)
