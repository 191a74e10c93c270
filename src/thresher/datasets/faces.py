"""Faces under many lights, from files that the user has."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .files import find_data_file

FILES = {
    "yale_b": "yaleb_32x32.npz",
    "yale_b_48x42": "yaleb_48x42.npz",
    "yale_b_192x168": "yaleb_192x168_3subj.npz",
    "pie": "pie_pose27_32x32.npz",
    "orl": "orl_32x32.npz",
}
"""File of each set."""


@dataclass(frozen=True, eq=False)
class Faces:
    """Images of faces, with the person in each.

    Attributes
    ----------
    images : ndarray of uint8, shape (n, height, width)
    labels : ndarray of int64, shape (n,)
        Number of the person.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of an image."""
        _, height, width = self.images.shape
        return height, width

    def rows(self) -> NDArray[np.float64]:
        """Images as rows of pixels between 0 and 1."""
        return self.images.reshape(len(self.images), -1) / 255.0


def load_faces(name: str, path: str | Path | None = None) -> Faces:
    """Load images of faces.

    The files are not part of the library, for their images belong to others.

    Parameters
    ----------
    name : {"yale_b", "yale_b_48x42", "yale_b_192x168", "pie", "orl"}
        Extended Yale B (2414 images of 38 people under 64 lights, 32 × 32, also 48 × 42; three
        people in full size), CMU PIE (pose 27: 68 people under 42 lights, 32 × 32) or ORL (40
        people, 10 images each, 32 × 32). The name of each file is in ``datasets.faces.FILES``.
    path : str or Path, optional
        The file, or the folder that has it; by default the folder that the environment variable
        ``THRESHER_DATA`` names.

    Notes
    -----
    A file holds ``images`` (n, height, width) in bytes and ``labels``; it is read without pickle.

    A. Georghiades, P. Belhumeur and D. Kriegman, "From few to many: illumination cone models for
    face recognition under variable lighting and pose", PAMI 23(6), 2001; T. Sim, S. Baker and M.
    Bsat, "The CMU pose, illumination, and expression database", PAMI 25(12), 2003; F. Samaria and
    A. Harter, "Parameterisation of a stochastic model for human face identification", WACV 1994.
    """
    if name not in FILES:
        raise ValueError(f"name={name!r} is not known; use one of {', '.join(map(repr, FILES))}.")
    file = find_data_file(FILES[name], path)
    try:
        with np.load(file, allow_pickle=False) as stored:
            images, labels = stored["images"], stored["labels"].astype(np.int64)
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{file} is not a set of faces: it needs the arrays images and labels in NumPy's npz "
            "format."
        ) from error
    if images.dtype != np.uint8 or images.ndim != 3 or labels.shape != images.shape[:1]:
        raise ValueError(
            f"{file} needs images of bytes in the shape (n, height, width) and a label for each; "
            f"these have the shapes {images.shape} and {labels.shape}."
        )
    return Faces(images, labels)
