"""Topics of documents, learned as they come."""

from thresher.tasks.topics.changes import TopicEvent
from thresher.tasks.topics.model import TopicModel
from thresher.tasks.topics.timeline import TopicsOverTime
from thresher.tasks.topics.watching import TopicStep

__all__ = ["TopicEvent", "TopicModel", "TopicStep", "TopicsOverTime"]
