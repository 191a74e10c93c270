"""A `NovelDocumentDetector` as arrays and a JSON document, for `thresher.save` and `load`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from thresher.estimators.saving import packed, unpacked
from thresher.tasks.alarm import Alarm
from thresher.tasks.directions import Directions
from thresher.tasks.fixed_terms import FixedTermsMemory
from thresher.tasks.growing_words import GrowingWords
from thresher.tasks.novelty_memory import DictionaryMemory, DirectionMemory

if TYPE_CHECKING:
    from thresher.tasks.novel_documents import NovelDocumentDetector

Detector = TypeVar("Detector", bound="NovelDocumentDetector")

_PLAIN = (
    "n_components",
    "mode",
    "n_new_atoms",
    "threshold",
    "top_share",
    "false_alarm_rate",
    "max_words",
    "verbose",
)
_INNER = "model."


def pack_detector(detector: NovelDocumentDetector) -> tuple[dict[str, Any], dict[str, Any]]:
    """Words with their frequencies, scores seen, and the memory."""
    if not hasattr(detector, "_memory"):
        raise ValueError("This detector has not seen a document; there is nothing to save.")
    detector._check_goes_on()
    if detector.vectorizer is not None:
        raise ValueError(
            "A vectoriser of one's own cannot be saved; set vectorizer=None before saving, and "
            "give it again after loading."
        )
    words, memory = detector._words, detector._memory
    text = "\0".join(words.words).encode()
    arrays = {
        "words": np.frombuffer(text, dtype=np.uint8),
        "frequency": words.frequency,
        "past": np.fromiter(detector._alarm.past, dtype=np.float64),
    }
    document: dict[str, Any] = {
        "class": "NovelDocumentDetector",
        "parameters": {name: getattr(detector, name) for name in _PLAIN},
        "n_words": len(words.words),
        "n_documents": words.n_documents,
        "n_steps": detector.n_steps_,
        "model_given": detector.model is not None,
    }
    if isinstance(memory, DirectionMemory):
        kept = memory.directions
        arrays["sums"] = kept.sums
        document["directions"] = {"seed": kept.seed, "n_steps": kept.n_steps}
        return arrays, document
    assert isinstance(memory, DictionaryMemory | FixedTermsMemory)
    if isinstance(memory, FixedTermsMemory):
        arrays["columns"] = memory.columns
    elif memory.documents is not None:
        raise ValueError(
            "This mode keeps every document, which no file is made for; use mode='auto' or "
            "mode='online', whose memory is bounded."
        )
    inner, document["model"] = packed(memory.model)
    if isinstance(memory, DictionaryMemory):
        options = ("n_new_atoms", "unit", "single")
        document["dictionary"] = {name: getattr(memory, name) for name in options}
    return arrays | {f"{_INNER}{name}": values for name, values in inner.items()}, document


def unpack_detector(
    kind: type[Detector], arrays: dict[str, Any], document: dict[str, Any]
) -> Detector:
    """The detector again; it goes on as if it had never been a file."""
    detector = kind(**document["parameters"])
    if "directions" in document:
        kept = Directions(arrays["sums"], detector.n_components, **document["directions"])
        detector._memory = DirectionMemory(kept)
    else:
        inner = {n.removeprefix(_INNER): V for n, V in arrays.items() if n.startswith(_INNER)}
        model = unpacked(inner, document["model"], "this file")
        if "columns" in arrays:
            terms = detector.n_components, arrays["columns"], document["n_words"]
            detector._memory = FixedTermsMemory(model, *terms)
        else:
            detector._memory = DictionaryMemory(model, **document["dictionary"])
        if document["model_given"]:
            detector.model = clone(model)
    names = arrays["words"].tobytes().decode().split("\0") if document["n_words"] else []
    detector._words = GrowingWords(
        None, detector.max_words, names, arrays["frequency"], document["n_documents"]
    )
    alarm = Alarm(detector.threshold, detector.top_share, detector.false_alarm_rate)
    alarm.past = deque(arrays["past"].tolist(), maxlen=alarm.past.maxlen)
    detector._alarm, detector.n_steps_ = alarm, document["n_steps"]
    return detector
