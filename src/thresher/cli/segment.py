"""``thresher segment``: the parts of a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.frame import ReportFile, WrongUseError, existing, made, seeded
from thresher.cli.talk import Talk


def segment(
    talk: Talk,
    image: Annotated[Path, typer.Argument(help="A picture, such as a PNG or JPEG file.")],
    out: Annotated[
        Path,
        typer.Argument(
            help="What to write: a .png with the borders drawn in, or a .npy with the number of "
            "the segment of each pixel."
        ),
    ],
    report: ReportFile = None,
    **parameters: Any,
) -> None:
    """Cut a picture into segments that look alike and lie together."""
    import numpy as np

    from thresher import ImageSegmenter
    from thresher.persistence import checked_target

    if out.suffix not in (".png", ".npy"):
        raise WrongUseError(f"{out} must end in .png (a picture) or .npy (numbers).")
    checked_target(out)
    model = made(ImageSegmenter, seeded(talk, parameters))
    pixels = _pixels(existing(image))
    model.fit(pixels)
    n_patches = int(model.superpixels_.max()) + 1
    height, width = model.labels_.shape
    why = f"each pair of patches is compared, and {height * width:,} pixels would be too many"
    talk.choose("patches", n_patches, why)
    areas = np.bincount(model.labels_.ravel(), minlength=model.n_segments) / model.labels_.size
    talk.answer(height=height, width=width, patches=n_patches, areas=areas, target=out)
    _write(out, pixels, model.labels_)
    shares = ", ".join(f"{area:.0%}" for area in areas)
    talk.show(f"{width} × {height} pixels in {len(areas)} segments ({shares}): {out}")
    if report is not None:
        from thresher.tasks.segmentation.report import segment_report

        talk.write_report(segment_report(model, pixels), report)


def _pixels(path: Path) -> Any:
    import numpy as np
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(path) as file:
            upright = ImageOps.exif_transpose(file)
            grey = upright.mode in ("1", "L", "I", "I;16", "F", "LA")
            return np.asarray(upright.convert("L" if grey else "RGB"))
    except UnidentifiedImageError:
        raise ValueError(
            f"{path} is no picture that can be read; give a PNG, JPEG or TIFF file."
        ) from None


def _write(path: Path, pixels: Any, labels: Any) -> None:
    import io

    import numpy as np
    from PIL import Image

    from thresher.persistence import write_atomically
    from thresher.plotting import paint_boundaries

    target = io.BytesIO()
    if path.suffix == ".npy":
        np.save(target, labels)
    else:
        Image.fromarray(paint_boundaries(pixels, labels)).save(target, format="PNG")
    write_atomically(path, target.getvalue())
