"""A video: a street with cars and people, as a camera above it sees them."""

from __future__ import annotations

import io

from thresher.datasets.surveillance import make_surveillance_scene

_FRAMES = 150
_UNTIL_DUSK = 3000  # so many frames would be needed: light changes slowly


def video_file() -> bytes:
    """An AVI file in grey, to the bit (FFV1): it is small, and the same everywhere."""
    try:
        import av
    except ImportError:
        raise ImportError(
            "A video is written by PyAV, which is not installed: pip install 'thresher[video]'."
        ) from None
    target = io.BytesIO()
    frames = make_surveillance_scene(_UNTIL_DUSK, random_state=0).frames[:_FRAMES]
    with av.open(target, "w", format="avi", options={"fflags": "+bitexact"}) as file:
        stream = file.add_stream("ffv1", rate=25)
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:], "gray"
        for picture in frames:
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="gray")))
        file.mux(stream.encode(None))
    return target.getvalue()
