"""Documents that are unlike any before, and the topics that they begin."""

from thresher.tasks.novelty.detector import NovelDocumentDetector

__all__ = ["NovelDocumentDetector"]
