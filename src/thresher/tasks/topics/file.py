"""A `TopicModel` as arrays and a JSON document, for `thresher.save` and `thresher.load`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from thresher.estimators.dictionary_estimator import DictionaryEstimator
from thresher.estimators.saving import pack, packed_parameters, unpack, unpacked_model
from thresher.persistence import Contents, put_strings
from thresher.tasks.text.growing_words import GrowingWords
from thresher.tasks.text.tfidf import TfIdf
from thresher.tasks.text.words import WordCounter, default_vectorizer
from thresher.tasks.topics.growing import LivingWords
from thresher.tasks.topics.life_file import packed_life, unpacked_life

if TYPE_CHECKING:
    from thresher.tasks.topics.model import TopicModel


def pack_topics(model: TopicModel) -> tuple[dict[str, Any], dict[str, Any]]:
    """Words, document frequencies, and the factorisation."""
    if not hasattr(model, "model_"):
        raise NotFittedError("This model has not been fitted; there is nothing to save.")
    model._check_goes_on()
    if model.vectorizer is not None or not isinstance(model.model_, DictionaryEstimator):
        raise ValueError(
            "Only what this library made can be saved: the default vectoriser (or counts), and a "
            "model of Thresher. Save model.model_ by itself, or use joblib."
        )
    inner, document = pack(model.model_)
    arrays = {f"model.{name}": values for name, values in inner.items()}
    put_strings(arrays, "words", model._counter.words)
    n_documents = None
    if model.tfidf_ is not None:
        tfidf, n_documents = model.tfidf_, model.tfidf_.n_documents_
        arrays |= {"frequency": tfidf.document_frequency_, "idf": tfidf.idf_}
        arrays["selected"] = tfidf.selected_.astype(np.int64)
    told = {
        "parameters": packed_parameters(model, arrays),
        "texts": model._counter.vectorizer is not None,
        "n_documents": n_documents,
        "model": document,
    }
    if model._life is not None:
        told["life"] = packed_life(model._life, arrays)
    return arrays, told


def unpack_topics(contents: Contents) -> TopicModel:
    """The model again; it goes on as if it had never been a file."""
    factoriser = unpack(contents.inner("model"))
    words = np.array(contents.strings("words"), dtype=object)
    if not isinstance(factoriser, DictionaryEstimator):
        raise contents.error("what it holds inside is no dictionary of words")
    model = unpacked_model(contents)
    if model._grows:
        return _growing(contents, model, words, factoriser)
    vectorizer = None
    if contents.flag("texts"):
        if len(set(words)) != len(words):
            raise contents.error("it has the same word twice")
        vectorizer = default_vectorizer(words if model.vocabulary is not None else None)
        vectorizer.vocabulary_ = {word: column for column, word in enumerate(words)}
    tfidf = None
    if contents.value("n_documents") is not None:
        tfidf = TfIdf(model.n_words)
        tfidf.n_documents_, tfidf.n_features_in_ = contents.integer("n_documents"), len(words)
        tfidf.document_frequency_ = contents.array("frequency", (len(words),))
        tfidf.idf_ = contents.array("idf", (len(words),))
        tfidf.selected_ = contents.places("selected", None, len(words))
        tfidf._began_as = tfidf._identity()
    width = len(words) if tfidf is None else len(tfidf.selected_)
    if factoriser.components_.shape[1] != width:
        raise contents.error(f"{width} words do not suit {factoriser.components_.shape[1]} columns")
    counter = WordCounter(words, vectorizer)
    return _adopted(contents, model, counter, tfidf, factoriser)


def _growing(contents: Contents, model: TopicModel, words: Any, factoriser: Any) -> TopicModel:
    """One whose vocabulary grows."""
    n = len(words)
    frequency, n_documents = contents.array("frequency", (n,)), contents.number("n_documents")
    selected = contents.places("selected", None, n)
    usual = n_documents >= 1 and (frequency >= 0).all() and (np.diff(selected) > 0).all()
    if len(set(words)) != n or not usual or factoriser.components_.shape[1] != len(selected):
        raise contents.error("its words do not suit their frequencies and columns")
    if not hasattr(factoriser, "grow"):
        raise contents.error("what it holds inside cannot make room for new words")
    in_use = np.zeros(n, dtype=bool)
    in_use[selected] = True
    table = GrowingWords(None, model.max_words, list(words), frequency, n_documents)
    counter = LivingWords(table, in_use)
    return _adopted(contents, model, counter, counter.tfidf(), factoriser)


def _adopted(
    contents: Contents, model: TopicModel, counter: Any, tfidf: Any, factoriser: Any
) -> TopicModel:
    life = None
    if contents.document.get("life") is not None:
        if not hasattr(factoriser, "grow"):
            raise contents.error("what it holds inside cannot make room for new topics")
        life = unpacked_life(contents, len(counter.words), len(factoriser.components_))
    adopted: TopicModel = model._adopt(counter, tfidf, factoriser, life)
    return adopted
