"""What a model takes for usual, in a file: numbers, never the samples that they came from."""

from typing import Any

from thresher.estimators.usual import RecentSamples, Usual
from thresher.linalg import Array
from thresher.persistence import Contents


def pack_usual(model: Any, arrays: dict[str, Any], document: dict[str, Any]) -> None:
    """Scales that `calibrate` set, and what the last samples came to."""
    if hasattr(model, "_reading_scale"):
        arrays["reading_scale"] = model._reading_scale
    usual = model._usual_now() if model._flags_anomalies else None
    if usual is not None:
        document["usual_threshold"] = usual.threshold
        if usual.scales is not None:
            arrays["usual_scale"] = usual.scales


def unpack_usual(model: Any, contents: Contents, n_features: int) -> None:
    """What `pack_usual` was given."""
    if "reading_scale" in contents.arrays:
        model._reading_scale = _scales(contents, "reading_scale", n_features)
    if not model._flags_anomalies:
        return
    model._recent = RecentSamples()
    if "usual_threshold" in contents.document:
        threshold = contents.number("usual_threshold", finite=False)
        known = "usual_scale" in contents.arrays
        scales = _scales(contents, "usual_scale", n_features) if known else None
        model._recent = RecentSamples(usual=Usual(threshold, scales))


def _scales(contents: Contents, name: str, n_features: int) -> Array:
    scales: Array = contents.array(name, (n_features,), ("float64",))
    if not (scales > 0).all():
        raise contents.error("the scales of its readings are not all positive")
    return scales
