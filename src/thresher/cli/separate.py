"""``thresher separate``: what moves in a video."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.frame import ReportFile, WrongUseError, made, seeded
from thresher.cli.live.session import LOOPBACK, Address, LiveFlag, StayFlag, live_page
from thresher.cli.pictures import opened_pictures
from thresher.cli.talk import Talk

_TARGET = "a video (.mp4 for eyes, .mkv to the bit) or .npy"


def separate(
    talk: Talk,
    video: Annotated[Path, typer.Argument(help="A video file, or a folder of its frames.")],
    mask: Annotated[
        Path | None, typer.Option(help=f"Where to put what moves, in white: {_TARGET}.")
    ] = None,
    background: Annotated[
        Path | None, typer.Option(help=f"Where to put the scene without it: {_TARGET}.")
    ] = None,
    foreground: Annotated[
        Path | None, typer.Option(help=f"Where to put what moves alone: {_TARGET}.")
    ] = None,
    color: Annotated[bool, typer.Option(help="Read colours; else brightness alone.")] = False,
    report: ReportFile = None,
    live: LiveFlag = False,
    address: Address = LOOPBACK,
    stay: StayFlag = False,
    **parameters: Any,
) -> None:
    """Tell what moves in a video from what stays, while it is read, in constant memory."""
    import thresher

    wanted = {"mask": mask, "background": background, "foreground": foreground}
    targets = {name: path for name, path in wanted.items() if path is not None}
    if not targets and report is None and not live:
        raise WrongUseError(
            "Say what to write, such as --mask mask.mp4, --background empty.mp4 or --report "
            "page.html."
        )
    separator = made(thresher.VideoSeparator, seeded(talk, parameters))
    source = opened_pictures(video, color, "a video, or a folder of its frames")
    with _shown(talk, live, separator, video.name, address, stay):
        if targets:
            separator.separate(source, write=targets)
        else:
            for _ in separator.separate(source):
                pass
    _tell(talk, separator, targets)
    if report is not None:
        talk.write_report(separator._page(), report)


def _tell(talk: Talk, separator: Any, targets: dict[str, Path]) -> None:
    speed, changes = separator.frames_per_second_, [one.frame for one in separator.changes_]
    talk.answer(
        frames=separator.n_frames_seen_,
        frames_per_second=round(speed, 1),
        aligned=separator.n_aligned_,
        scene_changes=changes,
        **targets,
    )
    talk.show(f"{separator.n_frames_seen_:,} frames, {speed:,.0f} a second.")
    if separator.n_aligned_:
        talk.show(f"{separator.n_aligned_:,} of them were shifted back: the camera moved.")
    if changes:
        talk.show(f"The scene became another at frames {', '.join(map(str, changes))}.")
    for name, path in targets.items():
        talk.show(f"{name}: {path}")


@contextmanager
def _shown(
    talk: Talk, live: bool, separator: Any, name: str, address: str, stay: bool
) -> Iterator[None]:
    """With a live page, if that was asked for."""
    if not live:
        yield
        return
    from thresher.cli.live.shows.video import VideoShow

    page = live_page(talk, VideoShow(), name, "VideoSeparator", address=address, stay=stay)
    with page as watcher:
        separator.set_params(callbacks=[watcher])
        yield
