"""Pictures as a folder of PNG files."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from thresher.streams.extras import needed
from thresher.streams.writing import About, Writer


class ImageWriter(Writer):
    """A file for each row, ``000000.png`` and on: every bit of bytes, of other numbers the sizes.

    The folder is a new one, and takes its name when all are written.
    """

    def __init__(self, path: Path, about: About) -> None:
        super().__init__(path, about)
        if about.shape is None or len(about.shape) not in (2, 3):
            raise ValueError(
                f"{path} is a folder of images, and the rows are no pictures; write them to .npy "
                "or .parquet."
            )
        self._images = needed("PIL.Image", "video", "Writing images")
        self._n = 0
        self.part.mkdir()

    def add(self, rows: Any) -> None:
        """Write pictures."""
        assert self.about.shape is not None
        pictures = np.rint(np.minimum(np.abs(rows), 255)).astype(np.uint8)
        for picture in pictures.reshape(len(rows), *self.about.shape):
            self._images.fromarray(picture).save(self.part / f"{self._n:06d}.png")
            self._n += 1

    def close(self) -> None:
        """All files are closed already."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None:
                os.replace(self.part, self.path)
        finally:
            shutil.rmtree(self.part, ignore_errors=True)
