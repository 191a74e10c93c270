"""Regions of pictures, from similarities of superpixels."""

from thresher.tasks.segmentation.segmenter import ImageSegmenter

__all__ = ["ImageSegmenter"]
