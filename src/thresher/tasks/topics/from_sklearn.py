"""A model of topics from parts of scikit-learn, fitted or not."""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from thresher.tasks.text.words import WordCounter, names_of


def model_from(kind: Any, estimator: Any, parameters: dict[str, Any]) -> Any:
    """See `TopicModel.from_sklearn`."""
    piped = isinstance(estimator, Pipeline)
    steps = [part for _, part in estimator.steps] if piped else [estimator]
    counting = [part for part in steps if not _factorises(part)]
    factoriser = steps[-1] if _factorises(steps[-1]) else None
    if not counting or not hasattr(counting[0], "transform") or len(steps) - len(counting) > 1:
        raise ValueError(
            "Give a vectoriser, or a pipeline that begins with one and ends with at most one "
            "factorisation, such as make_pipeline(CountVectorizer(), TfidfTransformer(), NMF(10))."
        )
    plain = len(counting) == 1 and isinstance(counting[0], CountVectorizer)
    counts = plain and not isinstance(counting[0], TfidfVectorizer)
    vectorizer = counting[0] if len(counting) == 1 else make_pipeline(*counting)
    options = {"vectorizer": vectorizer, **parameters}
    if factoriser is not None:
        options = {"model": factoriser, **options}
    if factoriser is not None or not counts:
        options = {"weighting": None, **options}
    if not _is_fitted(counting[0]):
        return kind(**options)
    if factoriser is None or not _is_fitted(factoriser):
        if plain:  # its words stay; weights are learned anew
            columns = {word: int(place) for word, place in vectorizer.vocabulary_.items()}
            options["vectorizer"] = clone(vectorizer).set_params(vocabulary=columns)
        return kind(**options)
    model = kind(**options)
    model._check_parameters()
    parts = copy.deepcopy(vectorizer), copy.deepcopy(factoriser)
    words = names_of(parts[0], parts[1].components_.shape[1])
    return model._adopt(WordCounter(words, parts[0], plain), None, parts[1])


def _factorises(part: Any) -> bool:
    return hasattr(part, "get_params") and "n_components" in part.get_params(deep=False)


def _is_fitted(part: Any) -> bool:
    if isinstance(part, CountVectorizer):
        return hasattr(part, "vocabulary_")
    try:
        check_is_fitted(part)
    except NotFittedError:
        return False
    return True
