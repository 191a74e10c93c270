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
    """Take a recording apart into notes, drums or other sounds, however long it is."""
    import thresher
    from thresher.tasks.sound.audio import recording_of, sound_source
    from thresher.tasks.sound.separator import write_parts

    if out.exists():
        raise WrongUseError(f"{out} is there already; give a folder that is not.")
    separator = made(thresher.SoundSeparator, seeded(talk, parameters))
    source = sound_source(existing(recording))  # however long it is
    separator.fit(source)
    files, codes = write_parts(out, separator, recording_of(source, None))
    onsets = separator._onsets(codes)
    peaks = separator.peaks_
    talk.answer(parts=files, peaks=peaks, onsets=[list(onset) for onset in onsets])
    for number, (file, peak) in enumerate(zip(files, peaks, strict=True)):
        times = ", ".join(f"{onset.time:.2f}" for onset in onsets if onset.part == number)
        sets_in = f"sets in at {times} s" if times else "never sets in"
        talk.show(f"{file}: highest at {peak:.0f} Hz; {sets_in}")
    if report is not None:
        from thresher.tasks.sound.report import sound_report

        talk.write_report(sound_report(separator, codes), report)
