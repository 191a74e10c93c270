"""``thresher sound``: a recording, taken apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli.frame import ReportFile, WrongUseError, existing, made, seeded
from thresher.cli.talk import Talk


def sound(
    talk: Talk,
    recording: Annotated[Path, typer.Argument(help="A WAV or FLAC file.")],
    out: Annotated[Path, typer.Argument(help="A new folder, for a WAV file of each part.")],
    report: ReportFile = None,
    **parameters: Any,
) -> None:
    """Take a recording apart into notes or other sounds that have a spectrum each."""
    import thresher
    from thresher.tasks.sound.separator import separate_to

    if out.exists():
        raise WrongUseError(f"{out} is there already; give a folder that is not.")
    separator = made(thresher.SoundSeparator, seeded(talk, parameters))
    separator.fit(existing(recording))
    onsets = separator.onsets(recording)
    out.mkdir()
    files = separate_to(out, separator, recording)
    peaks = separator.frequencies_[separator.parts_.argmax(axis=1)]
    talk.answer(parts=files, peaks=peaks, onsets=[list(onset) for onset in onsets])
    for number, (file, peak) in enumerate(zip(files, peaks, strict=True)):
        times = ", ".join(f"{onset.time:.2f}" for onset in onsets if onset.part == number)
        talk.show(f"{file}: highest at {peak:.0f} Hz; sets in at {times} s")
    if report is not None:
        from thresher.tasks.sound.report import sound_report

        talk.write_report(sound_report(separator, recording), report)
