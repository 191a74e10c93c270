"""``thresher sample``: small files to try the other commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.frame import WrongUseError
from thresher.cli.talk import Talk


def _kinds(incomplete: str) -> list[tuple[str, str]]:
    from thresher.datasets.samples import KINDS

    return [(kind, KINDS[kind].about) for kind in KINDS if kind.startswith(incomplete)]


def sample(
    talk: Talk,
    kind: Annotated[
        str,
        typer.Argument(
            help="table, docs, photo, photographs, scene, sensors, tune or video; all for "
            "one of each.",
            autocompletion=_kinds,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write to.", file_okay=False)] = Path(),
) -> None:
    """Write a small file that the library makes, to try the other commands on.

    They are the same everywhere. A file that is there already, with other contents, is left
    alone.
    """
    from thresher.datasets.samples import KINDS, sample_files

    if kind != "all" and kind not in KINDS:
        raise WrongUseError(f"There is no sample {kind!r}; use one of {', '.join(KINDS)}, or all.")
    if not out.is_dir():
        raise WrongUseError(f"There is no folder {out}; make it first.")
    written = []
    for one in KINDS if kind == "all" else [kind]:
        try:
            files = sample_files(one)
        except ImportError as error:  # of an extra; the others need none
            if kind != "all":
                raise
            talk.note(str(error))
            continue
        written += [_written(out / name, content) for name, content in files.items()]
        talk.show(f"{out / KINDS[one].name}: {KINDS[one].about}.")
    talk.answer(files=written)


def _written(path: Path, content: bytes) -> Path:
    from thresher.persistence import write_atomically

    if path.exists() and path.read_bytes() != content:
        raise WrongUseError(f"{path} is there already, and is no sample; give another --out.")
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, content)
    return path
