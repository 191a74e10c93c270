"""A program of a user, as strict as mypy can be: the types that the package ships must do."""

import numpy as np

from thresher import OnlineRobustNMF, Separation, StopAfter, TopicModel, load, save


def learn(samples: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """Learn from samples, take them apart, and tell how well they are explained."""
    model = OnlineRobustNMF(3, callbacks=[StopAfter(seconds=5.0)], random_state=0)
    model.fit(samples).calibrate(samples, 0.1)
    parts = model.separate(samples)
    assert isinstance(parts, Separation)
    flagged: int = int((model.predict(samples) == -1).sum())
    last: float = model.history_[-1].loss
    save(model, "model.thresher")
    load("model.thresher")
    return model.score(samples) + last + flagged + float(parts.low_rank.sum())


def names(texts: list[str]) -> list[str]:
    """Names of topics."""
    return [topic.name for topic in TopicModel(2).fit(texts).topics_]
