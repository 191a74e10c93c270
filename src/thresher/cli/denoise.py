"""``thresher denoise``: photographs without what does not belong to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.frame import ReportFile, made, seeded
from thresher.cli.pictures import opened_pictures
from thresher.cli.talk import Talk

_TARGET = "a new folder of PNG files, a video, or .npy"
_FEW = 8  # photographs: as many as the parts that are learned from them


def denoise(
    talk: Talk,
    folder: Annotated[
        Path, typer.Argument(help="A folder of photographs of one kind, all of one size.")
    ],
    clean: Annotated[Path, typer.Argument(help=f"Where to put them without damage: {_TARGET}.")],
    mask: Annotated[
        Path | None, typer.Option(help=f"Where to put what was replaced, in white: {_TARGET}.")
    ] = None,
    removed: Annotated[
        Path | None, typer.Option(help=f"Where to put what was taken away: {_TARGET}.")
    ] = None,
    color: Annotated[bool, typer.Option(help="Read colours; else brightness alone.")] = False,
    report: ReportFile = None,
    **parameters: Any,
) -> None:
    """Remove spots, occlusions and specks from photographs of one kind, and fill their gaps."""
    import thresher

    wanted = {"clean": clean, "mask": mask, "removed": removed}
    targets = {name: path for name, path in wanted.items() if path is not None}
    denoiser = made(thresher.ImageDenoiser, seeded(talk, parameters))
    source = opened_pictures(folder, color, "a folder of photographs of one kind")
    count = source.n_samples
    if count is not None and count <= _FEW:
        talk.note(
            f"{count} photographs are few to learn from: much of what they have in common may be "
            "chance."
        )
    denoiser.denoise(source, write=targets)
    height, width = denoiser.image_shape_[:2]
    talk.answer(photographs=count, height=height, width=width, **targets)
    talk.show(f"{count:,} photographs of {width} × {height} pixels.")
    for name, path in targets.items():
        talk.show(f"{name}: {path}")
    if report is not None:
        talk.write_report(denoiser._page(source), report)
