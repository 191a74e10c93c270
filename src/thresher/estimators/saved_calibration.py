"""The calibration of a model in a file: numbers, never the samples that they were measured on."""

from typing import Any

from thresher.estimators.calibration import Calibration, RecentSamples
from thresher.linalg import Array
from thresher.persistence import Contents


def pack_calibration(model: Any, arrays: dict[str, Any], document: dict[str, Any]) -> None:
    """Scales that `calibrate` set, and the default calibration on recent samples."""
    if model._calibrated_scale is not None:
        arrays["entry_scale"] = model._calibrated_scale
    calibration = model._model().calibration
    if calibration is not None:
        document["default_threshold"] = calibration.threshold
        if calibration.scales is not None:
            arrays["default_scale"] = calibration.scales


def unpack_calibration(model: Any, contents: Contents, n_features: int) -> None:
    """Undo `pack_calibration`."""
    if "entry_scale" in contents.arrays:
        model._calibrated_scale = _scales(contents, "entry_scale", n_features)
    if not model._flags_outliers:
        return
    if "default_threshold" in contents.document:
        threshold = contents.number("default_threshold", finite=False)
        known = "default_scale" in contents.arrays
        scales = _scales(contents, "default_scale", n_features) if known else None
        model._recent = RecentSamples(calibration=Calibration(threshold, scales))


def _scales(contents: Contents, name: str, n_features: int) -> Array:
    scales: Array = contents.array(name, (n_features,), ("float64",))
    if not (scales > 0).all():
        raise contents.error("the scales of its columns are not all positive")
    return scales
