"""``thresher unmix``: pure spectra of a scene, and their shares in each pixel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.frame import ReportFile, WrongUseError, existing, made, seeded
from thresher.cli.talk import Talk


def unmix(
    talk: Talk,
    scene: Annotated[
        Path,
        typer.Argument(
            help="A .npy file of the shape (height, width, bands), or a table with pixels in rows."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Where to put the shares: a .npy file.")],
    endmembers: Annotated[
        Path | None, typer.Option(help="Where to put the pure spectra: a CSV file, one in a row.")
    ] = None,
    report: ReportFile = None,
    **parameters: Any,
) -> None:
    """Tell which pure spectra the pixels of a scene are made of, and the share of each."""
    import io

    import numpy as np

    import thresher
    from thresher.persistence import checked_target, write_atomically

    if out.suffix != ".npy":
        raise WrongUseError(f"{out} must end in .npy: shares are numbers.")
    targets = [out] if endmembers is None else [out, endmembers]
    for target in targets:
        checked_target(target)
    unmixer = made(thresher.SpectralUnmixer, seeded(talk, parameters))
    pixels = _pixels(existing(scene))
    unmixer.fit(pixels)
    spectra, shares = unmixer.endmembers_, unmixer.transform(pixels)
    if unmixer.n_components is None:
        talk.choose("n_components", len(spectra), "so many directions stand out of the noise")
    means = shares.reshape(-1, len(spectra)).mean(axis=0)
    bad = np.flatnonzero(unmixer.bad_bands_)
    content = io.BytesIO()
    np.save(content, shares)
    write_atomically(out, content.getvalue())
    if endmembers is not None:
        lines = [",".join(f"{value:.9g}" for value in spectrum) for spectrum in spectra]
        write_atomically(endmembers, ("\n".join(lines) + "\n").encode())
    pure = unmixer.has_pure_pixels_
    talk.answer(shares=out, mean_shares=means, bad_bands=bad, has_pure_pixels=pure)
    told = ", ".join(f"{mean:.0%}" for mean in means)
    talk.show(f"{len(spectra)} pure spectra, with mean shares of {told}: {out}")
    if len(bad):
        talk.show(f"Bad bands, which were left out: {', '.join(map(str, bad))}")
    if report is not None:
        from thresher.tasks.spectra.report import unmixing_report

        talk.write_report(unmixing_report(unmixer, pixels), report)


def _pixels(path: Path) -> Any:
    import numpy as np

    import thresher

    if path.suffix != ".npy":
        return thresher.open(path).load()
    try:
        return np.load(path, allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path} is no array of numbers: {error}.") from None
