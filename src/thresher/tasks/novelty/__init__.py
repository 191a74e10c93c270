"""Documents that are unlike any before, and the topics that they begin."""

from thresher.tasks.novelty.detector import NovelDocumentDetector
from thresher.tasks.novelty.found import explained_steps

__all__ = ["NovelDocumentDetector", "explained_steps"]
