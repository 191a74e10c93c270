"""Videos and folders of pictures, as commands are given them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thresher.cli.frame import WrongUseError, existing


def opened_pictures(path: Path, color: bool, wanted: str) -> Any:
    """A source of pictures; anything else is refused, and so is one picture alone.

    Parameters
    ----------
    path : Path
    color : bool
        Whether to read colours.
    wanted : str
        What to give instead.
    """
    import thresher
    from thresher.streams.columns import TextColumnsError

    try:
        source = thresher.open(existing(path), color=color)
    except TextColumnsError:
        source = None
    if source is None or source.sample_shape is None:
        raise WrongUseError(f"{path} has no pictures; give {wanted}.")
    if source.n_samples == 1:
        raise WrongUseError(f"{path} is one picture, which alone tells nothing; give {wanted}.")
    return source
