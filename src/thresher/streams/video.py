"""Video files and cameras, read by PyAV: a frame is a row.

A camera is read as a file is, but for its name and that it neither ends nor comes again.
"""

import sys
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from thresher.streams.extras import needed
from thresher.streams.fingerprint import files_fingerprint
from thresher.streams.reader import Reader

_SEEKS = ("matroska", "mp4")
_CAMERAS = {
    "linux": ("v4l2", "/dev/video{}"),
    "darwin": ("avfoundation", "{}"),
    "win32": ("dshow", "video={}"),
}


class VideoReader(Reader):
    """Frames in the order in which they are shown, gray or in three colours.

    Parameters
    ----------
    path : Path or str
        A file, a device or an address.
    color : bool
    size : (height, width), optional
        Frames are scaled to it.
    device : str, optional
        The format of PyAV that reads devices.
    live : bool
        Whether frames that have passed are gone.
    """

    def __init__(
        self,
        path: Path | str,
        color: bool = False,
        size: tuple[int, int] | None = None,
        device: str | None = None,
        live: bool = False,
    ) -> None:
        self._path, self._color, self._size, self._device = str(path), color, size, device
        self.live = self.once = live
        self.paths = (path,) if isinstance(path, Path) else ()
        with self._open() as container:
            # Other formats seek to where they please, and tell times that do not fit.
            self.jumps = not live and any(kind in container.format.name for kind in _SEEKS)
            stream = container.streams.video[0]
            height, width = size or (stream.height, stream.width)
            self.shape = (height, width, 3) if color else (height, width)
            self.rate = float(stream.average_rate) if stream.average_rate else None

    @cached_property
    def _times(self) -> tuple[list[int], list[int]]:
        """When frames, and when whole pictures among them, are shown, in units of the stream.

        Packets tell, nothing is decoded; empty if some do not tell.
        """
        with self._open() as container:
            packets = [p for p in container.demux(video=0) if p.size and not p.is_discard]
            if any(packet.pts is None for packet in packets):
                return [], []
            times = sorted(packet.pts for packet in packets)
            return times, sorted(packet.pts for packet in packets if packet.is_keyframe)

    @property
    def n_rows(self) -> int | None:
        """Number of frames."""
        return None if self.live else len(self._times[0]) or None

    @property
    def n_features(self) -> int:
        """Pixels, times three in colour."""
        assert self.shape is not None
        return int(np.prod(self.shape))

    def read(self, start: int, rows: int) -> Iterator[Any]:
        """Frames, flattened; from the middle, on from the last whole picture before it."""
        held: list[Any] = []
        for frame in self._frames(start):
            held.append(self._row(frame))
            if len(held) == rows:
                yield np.stack(held)
                held = []
        if held:
            yield np.stack(held)

    def _frames(self, start: int) -> Iterator[Any]:
        with self._open() as container:
            if start and self.jumps and start < len(self._times[0]):
                times, keys = self._times
                # Frames before a whole picture may need those after it: begin one picture earlier.
                key = keys[max(bisect_right(keys, times[start]) - 2, 0)]
                container.seek(key, stream=container.streams.video[0])
                for frame in container.decode(video=0):
                    if frame.pts is not None and frame.pts >= times[start]:
                        yield frame
                return
            yield from islice(container.decode(video=0), start, None)

    def _row(self, frame: Any) -> Any:
        height, width = self.shape[:2] if self.shape else (0, 0)
        kind = "rgb24" if self._color else "gray"
        if self._size is None and (frame.height, frame.width) != (height, width):
            raise ValueError(
                f"{self._path} has frames of {frame.height} × {frame.width} pixels after some of "
                f"{height} × {width}; give size=(height, width) to scale them."
            )
        return frame.reformat(width, height, kind).to_ndarray().reshape(-1)

    def _open(self) -> Any:
        av = needed("av", "video", "Video")
        try:
            container = av.open(self._path, format=self._device)
        except av.error.FFmpegError as error:
            raise ValueError(f"{self._path} is no video that can be read: {error}") from error
        if not container.streams.video:
            container.close()
            raise ValueError(f"{self._path} has no pictures, only sound.")
        container.streams.video[0].thread_type = "AUTO"
        return container

    def origin(self) -> str:
        """Size and checksum of the file, and how it is read; nothing of what is live."""
        return files_fingerprint(self.paths, self.shape or ()) if self.paths else ""


def camera_reader(name: str, color: bool, size: tuple[int, int] | None) -> VideoReader:
    """A camera of this machine, ``camera:0``, or one with an address."""
    if not name.startswith("camera:"):
        return VideoReader(name, color, size, live=True)
    device, pattern = _CAMERAS.get(sys.platform, _CAMERAS["linux"])
    return VideoReader(pattern.format(name[7:] or 0), color, size, device, live=True)
