"""Documents, words and weights: what topics and novelty read alike."""

from thresher.tasks.text.tfidf import TfIdf

__all__ = ["TfIdf"]
