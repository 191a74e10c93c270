"""Novelty of documents in Dask collections, scored where they are."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from thresher.linalg import Array


@dataclass(frozen=True)
class Scores:
    """`NovelDocumentDetector.novelty_scores` of the documents of a part."""

    detector: Any

    def __call__(self, documents: Any) -> Array:
        """The larger, the more novel."""
        scores: Array = self.detector.novelty_scores(documents)
        return scores


def lazy_scores(detector: Any, documents: Any) -> Any:
    """A score for every document, by the detector as it is now; nothing is computed yet."""
    from thresher.cluster.documents import by_part

    return by_part(documents, Scores(deepcopy(detector)))
