"""Pictures as video, written by PyAV."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from thresher.streams.extras import needed
from thresher.streams.writing import About, Writer

_RATE = 25.0  # frames in a second, if the source has no rate; by convention


class VideoWriter(Writer):
    """A frame for each row: sizes of its numbers, rounded, at most 255.

    ``.mkv`` keeps every bit of them (FFV1); ``.mp4`` and others are for eyes (H.264).
    """

    def __init__(self, path: Path, about: About) -> None:
        super().__init__(path, about)
        if about.shape is None or len(about.shape) not in (2, 3):
            raise ValueError(
                f"{path} is a video, and the rows are no pictures; write them to .npy or .parquet."
            )
        self._av = needed("av", "video", "Writing video")
        self._file: Any = self._av.open(str(self.part), "w")
        height, width = about.shape[:2]
        self._kind = "rgb24" if len(about.shape) == 3 else "gray"
        exact = path.suffix.lower() == ".mkv"
        rate = Fraction(about.rate or _RATE).limit_denominator(1001)
        self._stream = self._file.add_stream("ffv1" if exact else "libx264", rate=rate)
        self._stream.height, self._stream.width = height, width
        if not exact:
            self._stream.options = {"crf": "18"}  # eyes see no loss; by convention
        even = height % 2 == 0 and width % 2 == 0
        usual = "yuv420p" if even else "yuv444p"  # half as many colours need even sides
        exactly = "gray" if self._kind == "gray" else "bgr0"
        self._stream.pix_fmt = exactly if exact else usual

    def add(self, rows: Any) -> None:
        """Write frames."""
        assert self.about.shape is not None
        pictures = np.rint(np.minimum(np.abs(rows), 255)).astype(np.uint8)
        for picture in pictures.reshape(len(rows), *self.about.shape):
            frame = self._av.VideoFrame.from_ndarray(picture, format=self._kind)
            self._file.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Write what the encoder holds."""
        self._file.mux(self._stream.encode(None))
        self._file.close()
