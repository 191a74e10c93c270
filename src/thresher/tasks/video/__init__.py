"""Video: what moves is set aside from what stays."""

from thresher.tasks.video.results import (
    BoundingBox,
    SceneChange,
    VideoSeparation,
    WatchedFrames,
    boxes,
)
from thresher.tasks.video.separator import VideoSeparator

__all__ = [
    "BoundingBox",
    "SceneChange",
    "VideoSeparation",
    "VideoSeparator",
    "WatchedFrames",
    "boxes",
]
