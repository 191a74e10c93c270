"""Topics of documents in Dask collections: counted, weighted and learned from where they are."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.linalg import Array
from thresher.tasks.text.tfidf import TfIdf, WordSums
from thresher.tasks.text.words import WordCounter, learn_words
from thresher.tasks.topics.weights import weighted


@dataclass(frozen=True)
class Weigher:
    """From the documents of a part to what a model learns from."""

    counter: WordCounter
    tfidf: TfIdf | None

    def __call__(self, documents: Any) -> Any:
        """Weights as CSR."""
        return weighted(self.tfidf, self.counter.counts(documents))


@dataclass(frozen=True)
class WordSumCounter:
    """From the documents of a part to the sums that tf-idf needs of all."""

    counter: WordCounter

    def __call__(self, documents: Any) -> WordSums:
        """Of these documents."""
        return WordSums.of(TfIdf()._checked(self.counter.counts(documents)))


@dataclass(frozen=True)
class Shares:
    """`TopicModel.transform` of the documents of a part."""

    model: Any

    def __call__(self, documents: Any) -> Array:
        """Shares of the topics."""
        return np.asarray(self.model._shares(documents))


def fit_collection(model: Any, documents: Any) -> tuple[WordCounter, TfIdf | None, Any]:
    """Words from the first documents (or as they are given), weights from all, then one fit."""
    from thresher.cluster.documents import by_part, first_documents, sum_of_parts

    head = first_documents(documents, model.warm_up)
    counter, _ = learn_words(head, model.vectorizer, model.vocabulary)
    tfidf = None
    if model.weighting:
        tfidf = TfIdf(model.n_words).fit_sums(sum_of_parts(documents, WordSumCounter(counter)))
    width = len(counter.words) if tfidf is None else len(tfidf.selected_)
    inner = model._new_model()
    inner.fit(by_part(documents, Weigher(counter, tfidf), width, thin=True))
    return counter, tfidf, inner


def lazy_shares(model: Any, documents: Any) -> Any:
    """Shares of the topics in every document, by the model as it is now; nothing is computed."""
    from thresher.cluster.documents import by_part

    return by_part(documents, Shares(deepcopy(model)), len(model.components_))
