"""A `TopicModel` as arrays and a JSON document, for `thresher.save` and `thresher.load`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from thresher.estimators.base import DictionaryModel
from thresher.estimators.saving import packed, unpacked
from thresher.tasks.tfidf import TfIdf
from thresher.tasks.words import WordCounter, default_vectorizer

if TYPE_CHECKING:
    from thresher.tasks.topics import TopicModel

Model = TypeVar("Model", bound="TopicModel")

_PLAIN = ("n_components", "weighting", "n_words", "batch_size", "warm_up", "verbose")
_INNER = "model."


def pack_topics(model: TopicModel) -> tuple[dict[str, Any], dict[str, Any]]:
    """Words, document frequencies, and the factorisation."""
    if not hasattr(model, "model_"):
        raise ValueError("This model has not been fitted; there is nothing to save.")
    model._check_goes_on()
    if model.vectorizer is not None or not isinstance(model.model_, DictionaryModel):
        raise ValueError(
            "Only what this library made can be saved: the default vectoriser (or counts), and a "
            "model of Thresher. Save model.model_ by itself, or use joblib."
        )
    inner, document = packed(model.model_)
    arrays = {f"{_INNER}{name}": values for name, values in inner.items()}
    words = "\0".join(str(word) for word in model._counter.words)
    arrays["words"] = np.frombuffer(words.encode(), dtype=np.uint8)
    n_documents = None
    if model.tfidf_ is not None:
        tfidf, n_documents = model.tfidf_, model.tfidf_.n_documents_
        arrays |= {"frequency": tfidf.document_frequency_, "idf": tfidf.idf_}
        arrays["selected"] = tfidf.selected_
    seed = model.random_state
    return arrays, {
        "class": "TopicModel",
        "parameters": {name: getattr(model, name) for name in _PLAIN},
        "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
        "words_given": model.vocabulary is not None,
        "texts": model._counter.vectorizer is not None,
        "n_documents": n_documents,
        "model_given": model.model is not None,
        "model": document,
    }


def unpack_topics(kind: type[Model], arrays: dict[str, Any], document: dict[str, Any]) -> Model:
    """The model again; it goes on as if it had never been a file."""
    inner = {name.removeprefix(_INNER): V for name, V in arrays.items() if name.startswith(_INNER)}
    factoriser = unpacked(inner, document["model"], "this file")
    words = np.array(arrays["words"].tobytes().decode().split("\0"), dtype=object)
    vectorizer = None
    if document["texts"]:
        vectorizer = default_vectorizer(words if document["words_given"] else None)
        vectorizer.vocabulary_ = {word: column for column, word in enumerate(words)}
    model = kind(
        **document["parameters"],
        random_state=document["random_state"],
        vocabulary=list(words) if document["words_given"] else None,
        model=clone(factoriser) if document["model_given"] else None,
    )
    tfidf = None
    if document["n_documents"] is not None:
        tfidf = TfIdf(model.n_words)
        tfidf.n_documents_, tfidf.n_features_in_ = document["n_documents"], len(words)
        tfidf.document_frequency_, tfidf.idf_ = arrays["frequency"], arrays["idf"]
        tfidf.selected_ = arrays["selected"]
        tfidf._began_as = tfidf._identity()
    return model._adopt(WordCounter(words, vectorizer), tfidf, factoriser)
