"""What a page shows of a sample and of the parts: pictures, rows, profiles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from thresher.cli.live.pictures import picture
from thresher.linalg import Array

# All by judgement.
_COLUMNS = 24  # of a table that are shown one by one
_POINTS = 240  # of a profile
_PARTS = 12
_BARS = 6  # features that are named for a part
_PART_PIXELS = 120


def sample_view(
    x: Array,
    explained: Array,
    outliers: Array | None,
    names: Sequence[str] | None,
    shape: tuple[int, ...] | None,
    white: float,
) -> dict[str, Any]:
    """A sample beside what the parts say of it, and what was set aside.

    Parameters
    ----------
    x, explained : arrays of shape (F,)
        NaN where an entry is missing.
    outliers : array of shape (F,), optional
        Without them, what is left over is shown.
    names : sequence of str, optional
        Of the features.
    shape : tuple, optional
        Of a sample that is a picture.
    white : float
        The brightest value of pictures.
    """
    left, aside = (x - explained, "Left over") if outliers is None else (outliers, "Outliers")
    said: dict[str, str] = {}
    if outliers is not None:
        seen = ~np.isnan(x)
        share = np.count_nonzero(outliers[seen]) / max(int(seen.sum()), 1)
        said["said"] = f"{share:.1%} of its {'pixels' if shape else 'entries'} are set aside."
    return {**said, **_drawn(x, explained, left, aside, names, shape, white)}


def _drawn(
    x: Array,
    explained: Array,
    left: Array,
    aside: str,
    names: Sequence[str] | None,
    shape: tuple[int, ...] | None,
    white: float,
) -> dict[str, Any]:
    if shape is not None:
        pictures = [("As it came", x), ("Background", explained), (aside, np.abs(left))]
        return {
            "kind": "pictures",
            "pictures": [
                {"name": name, "source": picture(values.reshape(shape), white)}
                for name, values in pictures
            ],
        }
    if len(x) <= _COLUMNS:
        labels = names if names is not None else [str(number) for number in range(1, len(x) + 1)]
        rows = zip(labels, x.tolist(), explained.tolist(), left.tolist(), strict=True)
        return {
            "kind": "row",
            "heads": ["Column", "As it came", "Explained", aside],
            "rows": [[str(name), *values] for name, *values in rows],
        }
    return {
        "kind": "profile",
        "lines": [
            {"name": "As it came", "values": _thinned(x)},
            {"name": "Explained", "values": _thinned(explained)},
            {"name": aside, "values": _thinned(left)},
        ],
        "features": len(x),
    }


def parts_view(
    atoms: Array, names: Sequence[str] | None, shape: tuple[int, ...] | None
) -> dict[str, Any]:
    """The parts as they are now: pictures, their heaviest columns, or profiles."""
    shown = atoms[:_PARTS]
    titles = [f"Part {number}" for number in range(1, len(shown) + 1)]
    view: dict[str, Any] = {"count": len(atoms), "shown": len(shown)}
    if shape is not None:
        drawn = [np.abs(atom).reshape(shape) for atom in shown]
        pictures = [
            {"name": title, "source": picture(atom, float(atom.max()), _PART_PIXELS)}
            for title, atom in zip(titles, drawn, strict=True)
        ]
        return {"kind": "pictures", "pictures": pictures, **view}
    if names is None and atoms.shape[1] > _COLUMNS:
        lines = [
            {"name": title, "values": _thinned(atom)}
            for title, atom in zip(titles, shown, strict=True)
        ]
        return {"kind": "profiles", "profiles": lines, **view}
    labels = names if names is not None else [str(n) for n in range(1, atoms.shape[1] + 1)]
    parts = [
        {"name": title, "bars": heaviest(atom, labels)}
        for title, atom in zip(titles, shown, strict=True)
    ]
    return {"kind": "bars", "parts": parts, **view}


def heaviest(atom: Array, names: Sequence[str]) -> list[tuple[str, float]]:
    """Names and weights of the largest entries, relative to the largest."""
    sizes = np.abs(atom)
    top = np.argsort(-sizes, kind="stable")[:_BARS]
    most = float(sizes[top[0]]) if len(top) else 0.0
    return [(str(names[f]), float(atom[f]) / most) for f in top if sizes[f] > 0]


def _thinned(values: Array) -> list[float | None]:
    """At most so many points: of each stretch the entry that is furthest from zero."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) > _POINTS:
        edges = np.linspace(0, len(values), _POINTS + 1).astype(int)
        stretches = [values[a:b] for a, b in pairwise(edges)]
        values = np.array([part[np.argmax(np.abs(np.nan_to_num(part)))] for part in stretches])
    return [float(f"{value:.4g}") for value in values.tolist()]
