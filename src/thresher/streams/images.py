"""Folders of images: a picture is a row."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thresher.streams.extras import needed
from thresher.streams.fingerprint import files_fingerprint
from thresher.streams.reader import Reader

_GRAY = ("L", "I", "F", "I;16", "I;16B", "I;16L")


class ImageReader(Reader):
    """Pictures of one size, in the order of their names, gray or in three colours.

    Parameters
    ----------
    paths : sequence of Path
    color : bool
    size : (height, width), optional
        Pictures are scaled to it; without it, all must be of one size.
    """

    jumps = True

    def __init__(
        self, paths: Sequence[Path], color: bool = False, size: tuple[int, int] | None = None
    ) -> None:
        self.paths, self._color, self._size = tuple(paths), color, size
        self.shape = self._picture(self.paths[0]).shape

    @property
    def n_rows(self) -> int:
        """Number of pictures."""
        return len(self.paths)

    @property
    def n_features(self) -> int:
        """Pixels, times three in colour."""
        assert self.shape is not None
        return int(np.prod(self.shape))

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """Pictures, flattened."""
        for at in range(start, len(self.paths), rows):
            yield np.stack([self._row(path) for path in self.paths[at : at + rows]])

    def _row(self, path: Path) -> Any:
        picture = self._picture(path)
        if self.shape is not None and picture.shape != self.shape:
            (height, width), (first_height, first_width) = picture.shape[:2], self.shape[:2]
            raise ValueError(
                f"{path} has {height} × {width} pixels, {self.paths[0].name} has {first_height} × "
                f"{first_width}; give size=(height, width) to scale them."
            )
        return picture.ravel()

    def _picture(self, path: Path) -> Any:
        images = needed("PIL.Image", "video", "An image")
        try:
            with images.open(path) as image:
                if self._color or image.mode not in _GRAY:
                    image = image.convert("RGB" if self._color else "L")
                if self._size is not None:
                    image = image.resize(self._size[::-1])
                return np.asarray(image)
        except OSError as error:
            raise ValueError(f"{path} is no image that can be read: {error}") from error

    def origin(self) -> str:
        """Names, sizes and checksums of the files, and how they are read."""
        return files_fingerprint(self.paths, self.shape or ())
