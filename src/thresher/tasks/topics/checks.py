"""Which parameters of a model of topics go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thresher.tasks.topics.growing import check_can_grow

if TYPE_CHECKING:
    from thresher.tasks.topics.model import TopicModel


def check_topics(model: TopicModel) -> None:
    """Refuse parameters that do not suit each other."""
    if model.weighting not in ("tfidf", None):
        raise ValueError(f"weighting={model.weighting!r} is not known; use 'tfidf' or None.")
    if model.weighting is None and model.n_words is not None:
        raise ValueError(
            "n_words chooses by tf-idf, which weighting=None turns off; leave n_words out, and "
            "use CountVectorizer(max_features=...) instead."
        )
    if model._grows and (model.weighting is None or model.n_words is not None):
        raise ValueError(
            "vocabulary='grow' weighs words by how many documents have them; leave weighting "
            "and n_words out, and use max_words to bound the vocabulary."
        )
    if model._grows and model.forgetting != "auto" and callable(model.forgetting):
        raise ValueError(
            f"forgetting={model.forgetting!r} must be a half-life in documents, 'auto' or None, "
            "since words are forgotten by it."
        )
    if isinstance(model.model, type):
        name = model.model.__name__
        raise ValueError(f"model={name} is a class; add brackets: {name}().")
    needed = ("fit", "transform", "get_params")
    if model.model is not None and not all(hasattr(model.model, name) for name in needed):
        raise ValueError(
            f"model={model.model!r} cannot factorise: it needs fit, transform and get_params, "
            "like an estimator of Thresher or scikit-learn. Or leave it out."
        )
    if model._grows:
        check_can_grow(model.model)
