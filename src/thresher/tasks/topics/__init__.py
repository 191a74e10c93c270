"""Topics of documents, learned as they come."""

from thresher.tasks.topics.model import TopicModel

__all__ = ["TopicModel"]
