"""Thresher learns parts from streams and sets the outliers aside.

Names are looked up on first use, so that ``import thresher`` is quick: it loads neither
scikit-learn nor the compiled kernels.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher.engine import StopAfter
    from thresher.estimators import (
        BatchNMF,
        Checkpoint,
        OnlineNMF,
        OnlineOrthogonalDictionary,
        OnlineRobustNMF,
        RobustNMF,
        Separation,
        load,
        save,
    )
    from thresher.learning import frank_wolfe
    from thresher.tasks.topics import TopicModel

__version__ = "0.1.0"

_HOMES = {
    "BatchNMF": "thresher.estimators",
    "Checkpoint": "thresher.estimators",
    "OnlineNMF": "thresher.estimators",
    "OnlineOrthogonalDictionary": "thresher.estimators",
    "OnlineRobustNMF": "thresher.estimators",
    "RobustNMF": "thresher.estimators",
    "Separation": "thresher.estimators",
    "StopAfter": "thresher.engine",
    "TopicModel": "thresher.tasks.topics",
    "frank_wolfe": "thresher.learning",
    "load": "thresher.estimators",
    "save": "thresher.estimators",
}

__all__ = [
    "BatchNMF",
    "Checkpoint",
    "OnlineNMF",
    "OnlineOrthogonalDictionary",
    "OnlineRobustNMF",
    "RobustNMF",
    "Separation",
    "StopAfter",
    "TopicModel",
    "__version__",
    "frank_wolfe",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'thresher' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
