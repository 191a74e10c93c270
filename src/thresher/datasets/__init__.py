"""Synthetic data with known ground truth: clean part, outliers and noise are all returned."""

from .outlier_stream import OutlierStream, make_outlier_stream
from .surveillance import SurveillanceScene, make_surveillance_scene

__all__ = [
    "OutlierStream",
    "SurveillanceScene",
    "make_outlier_stream",
    "make_surveillance_scene",
]
