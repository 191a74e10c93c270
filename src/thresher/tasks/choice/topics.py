"""Topics: the factorisation inside, and how well their words go together."""

from typing import Any

import numpy as np
from sklearn.base import clone

from thresher.linalg import Array
from thresher.metrics import topic_coherence
from thresher.tasks.choice.candidates import Settings
from thresher.tasks.topics import TopicModel

_WORDS = 10  # of a topic that coherence looks at, as in `TopicModel.coherence`


def is_topic_model(estimator: Any) -> bool:
    """Whether documents come in, and not numbers."""
    return isinstance(estimator, TopicModel)


class Documents:
    """Documents as weights of words, and what factorises them."""

    def __init__(self, model: TopicModel, documents: Any) -> None:
        model._check_parameters()
        _, tfidf, counts, self.X = model._first_words(documents)
        self._counts = counts if tfidf is None else counts[:, tfidf.selected_]
        self._model = model
        self.learner = model._new_model(self.X.shape[0])

    def coherence(self, dictionaries: list[Array]) -> float:
        """Mean NPMI of the top words of the topics in all documents, over the masks."""
        means = [topic_coherence(atoms, self._counts, _WORDS).mean for atoms in dictionaries]
        return float(np.mean(means))

    def with_settings(self, settings: Settings) -> TopicModel:
        """The model of topics with settings of what factorises."""
        model: TopicModel = clone(self._model)
        if model.model is None and set(settings) == {"n_components"}:
            return model.set_params(**settings)
        return model.set_params(model=clone(self.learner).set_params(**settings))
