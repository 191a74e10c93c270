"""Video: what moves is set aside from what stays."""

from thresher.tasks.video.results import Box, SceneChange, VideoSeparation, WatchedFrames, boxes
from thresher.tasks.video.separator import VideoSeparator

__all__ = ["Box", "SceneChange", "VideoSeparation", "VideoSeparator", "WatchedFrames", "boxes"]
