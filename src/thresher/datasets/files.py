"""Where to find data files that do not come with the library."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "THRESHER_DATA"
"""The environment variable that names the folder of data files."""


def find_data_file(name: str, path: str | Path | None = None) -> Path:
    """Path of a data file.

    Parameters
    ----------
    name : str
        Name of the file.
    path : str or Path, optional
        The file itself, or the folder that has it; by default the folder that the environment
        variable ``THRESHER_DATA`` names.
    """
    place = path if path is not None else os.environ.get(VARIABLE)
    if not place:
        raise FileNotFoundError(
            f"{name} does not come with the library: set the environment variable {VARIABLE} to "
            "the folder that has it, or give path=."
        )
    found = Path(place).expanduser()
    if found.is_dir():
        found = found / name
    if not found.is_file():
        told = "the path that was given" if path is not None else f"what {VARIABLE} says"
        raise FileNotFoundError(
            f"There is no {found}: put {name} there, or change {told} to the folder that has it."
        )
    return found
