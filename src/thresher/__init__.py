"""Thresher learns parts from streams and sets the outliers aside.

Names are looked up on first use, so that ``import thresher`` is quick: it loads neither
scikit-learn nor the compiled kernels.
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher.engine import MannWhitneyDrift, StopAfter
    from thresher.estimators import (
        BatchNMF,
        Checkpoint,
        GoDec,
        L1Dictionary,
        ManhattanNMF,
        OnlineL1Dictionary,
        OnlineNMF,
        OnlineOrthogonalDictionary,
        OnlineRobustNMF,
        OnlineRobustPCA,
        RobustNMF,
        RobustPCA,
        Separation,
        SymmetricManhattanNMF,
        load,
        save,
    )
    from thresher.learning import frank_wolfe
    from thresher.streams import open as open
    from thresher.tasks.choice import Choice, choose
    from thresher.tasks.compression import SensorCodec
    from thresher.tasks.images import ImageDenoiser
    from thresher.tasks.novelty import NovelDocumentDetector
    from thresher.tasks.recognition import FaceRecognizer
    from thresher.tasks.segmentation import ImageSegmenter
    from thresher.tasks.sound import SoundSeparator
    from thresher.tasks.spectra import SpectralUnmixer
    from thresher.tasks.tables import TableCleaner
    from thresher.tasks.topics import TopicModel
    from thresher.tasks.video import VideoSeparator

__version__ = "0.1.0"

logging.getLogger("thresher").addHandler(logging.NullHandler())  # silent until asked

_HOMES = {
    "BatchNMF": "thresher.estimators",
    "Checkpoint": "thresher.estimators",
    "Choice": "thresher.tasks.choice",
    "FaceRecognizer": "thresher.tasks.recognition",
    "GoDec": "thresher.estimators",
    "ImageDenoiser": "thresher.tasks.images",
    "ImageSegmenter": "thresher.tasks.segmentation",
    "ManhattanNMF": "thresher.estimators",
    "NovelDocumentDetector": "thresher.tasks.novelty",
    "L1Dictionary": "thresher.estimators",
    "MannWhitneyDrift": "thresher.engine",
    "OnlineL1Dictionary": "thresher.estimators",
    "OnlineNMF": "thresher.estimators",
    "OnlineOrthogonalDictionary": "thresher.estimators",
    "OnlineRobustNMF": "thresher.estimators",
    "OnlineRobustPCA": "thresher.estimators",
    "RobustNMF": "thresher.estimators",
    "RobustPCA": "thresher.estimators",
    "SensorCodec": "thresher.tasks.compression",
    "Separation": "thresher.estimators",
    "SoundSeparator": "thresher.tasks.sound",
    "SpectralUnmixer": "thresher.tasks.spectra",
    "StopAfter": "thresher.engine",
    "SymmetricManhattanNMF": "thresher.estimators",
    "TableCleaner": "thresher.tasks.tables",
    "TopicModel": "thresher.tasks.topics",
    "VideoSeparator": "thresher.tasks.video",
    "choose": "thresher.tasks.choice",
    "frank_wolfe": "thresher.learning",
    "load": "thresher.estimators",
    "open": "thresher.streams",
    "save": "thresher.estimators",
}

# Without `open`: ``from thresher import *`` must not hide Python's own.
__all__ = [
    "BatchNMF",
    "Checkpoint",
    "Choice",
    "FaceRecognizer",
    "GoDec",
    "ImageDenoiser",
    "ImageSegmenter",
    "L1Dictionary",
    "ManhattanNMF",
    "MannWhitneyDrift",
    "NovelDocumentDetector",
    "OnlineL1Dictionary",
    "OnlineNMF",
    "OnlineOrthogonalDictionary",
    "OnlineRobustNMF",
    "OnlineRobustPCA",
    "RobustNMF",
    "RobustPCA",
    "SensorCodec",
    "Separation",
    "SoundSeparator",
    "SpectralUnmixer",
    "StopAfter",
    "SymmetricManhattanNMF",
    "TableCleaner",
    "TopicModel",
    "VideoSeparator",
    "__version__",
    "choose",
    "frank_wolfe",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'thresher' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_HOMES})
