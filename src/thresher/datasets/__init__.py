"""Synthetic data whose truth is returned with them, and loaders of files that the user has."""

from .divergence_stream import DivergenceStream, make_divergence_stream
from .orthogonal_stream import OrthogonalStream, make_orthogonal_stream
from .outlier_stream import OutlierStream, make_outlier_stream
from .surveillance import SurveillanceScene, make_surveillance_scene
from .text import TextCounts, load_text_counts

__all__ = [
    "DivergenceStream",
    "OrthogonalStream",
    "OutlierStream",
    "SurveillanceScene",
    "TextCounts",
    "load_text_counts",
    "make_divergence_stream",
    "make_orthogonal_stream",
    "make_outlier_stream",
    "make_surveillance_scene",
]
