"""Topics and novelty of hostile documents: empty, strange, endless, without a known word."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from fuzz import draws
from fuzz.checks import Unchanged, near, refusal, refused_or, same_bits
from thresher import NovelDocumentDetector, TopicModel, load, save
from thresher.solvers import batch_impl, online

Rng = np.random.Generator
_WORDS = """rain wind snow storm cloud river sea ice sun cats dogs birds fish horse vote party
budget court judge law tax music song piano drum engine wheel road train"""


def _document(rng: Rng, words: list[str]) -> str:
    return " ".join(rng.choice(words, size=int(rng.integers(1, 15))))


def _strange(rng: Rng) -> str:
    return draws.one_of(
        rng,
        "",
        "   \t\n",
        "the and of",
        "a",
        "\x00\x00rain\x00",
        "x" * int(rng.integers(1, 50_000)),
        "snow " * 2000,
        "Ærøskøbing naïve 雨 雪 風 🌧️🌨️ дождь",
        "\u202erain\u202c \ufeffwind",
        "e\u0301te\u0301 e\u0301te\u0301",
        "1234567 1e300 nan inf",
        "<script>alert('rain')</script>",
        'rain\r\nwind,"snow"',
        "\ud7ff\ue000\U0010ffff",
    )


def documents(rng: Rng, hostile: float = 0.3) -> list[str]:
    """Texts about a few things, some of them strange."""
    parts = np.array_split(rng.permutation(_WORDS.split()), int(rng.integers(1, 4)))
    texts = [
        _strange(rng) if rng.random() < hostile else _document(rng, list(draws.one_of(rng, *parts)))
        for _ in range(int(rng.integers(1, 40)))
    ]
    return texts


def _through_a_file(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder) / "model.thresher")
        return load(Path(folder) / "model.thresher")


def _topic_model(rng: Rng) -> TopicModel:
    return TopicModel(
        int(rng.integers(1, 5)),
        weighting=draws.one_of(rng, "tfidf", "tfidf", None),
        batch_size=int(rng.integers(2, 30)),
        warm_up=int(rng.integers(1, 40)),
        random_state=int(rng.integers(100)),
        verbose=0,
    )


def topics_of_strange_documents(rng: Rng) -> str:
    """Topics are distributions, shares sum to one, rows stand alone, files keep all of it."""
    model = _topic_model(rng)
    texts = documents(rng, draws.one_of(rng, 0.0, 0.3, 1.0))
    with Unchanged(texts):
        learned = refused_or(lambda: _learn_topics(model, texts, rng))
    if learned is None:
        assert not hasattr(model, "components_"), "A refused fit left half a model."
        return "refused"
    D = model.components_
    sums = D.sum(axis=1)
    assert np.isfinite(D).all(), "A topic is not finite."
    assert (D >= 0).all(), "A topic has negative shares."
    assert (np.isclose(sums, 1) | (sums == 0)).all(), "A topic does not sum to one."
    assert D.shape[1] == len(model.words_) == len(set(model.words_)), "Words and columns differ."
    new = documents(rng, 0.5)
    with Unchanged(model):
        shares = model.transform(new)
        named = model.document_topics(new, 1)
    assert (shares >= 0).all(), "A share is negative."
    near(shares.sum(axis=1), np.ones(len(new)), 1e-6, "A sum of shares")
    i = int(rng.integers(len(new)))
    near(model.transform([new[i]])[0], shares[i], 1e-3, "The shares of a document alone")
    assert np.isclose(named[i][0][1], shares[i].max()), "The largest topic is not the first."
    equal = 1 / len(D)
    near(model.transform([""])[0], np.full(len(D), equal), 1e-9, "The shares of no words")
    same_bits(_through_a_file(model).transform(new), shares, "The shares after loading")
    return "right"


def _learn_topics(model: TopicModel, texts: list[str], rng: Rng) -> TopicModel:
    kind = draws.one_of(rng, "list", "stream", "batch")
    if kind == "stream":
        return model.fit(text for text in texts)
    return model.fit(texts) if kind == "list" else model.partial_fit(texts)


def tables_are_texts(rng: Rng) -> str:
    """Counts of words give what the texts give, sparse, dense and in floats."""
    texts = documents(rng, 0.1)
    vectorizer = CountVectorizer(token_pattern=r"[a-z]{2,}")
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError:  # there is no word
        return "refused"
    model = _topic_model(rng).set_params(vectorizer=vectorizer)
    if refused_or(lambda: model.fit(texts)) is None:
        return "refused"
    table = draws.one_of(
        rng, counts, counts.toarray(), counts.astype(float), sparse.csc_array(counts)
    )
    words = vectorizer.get_feature_names_out()
    other = clone(model).set_params(vectorizer=None, vocabulary=list(words)).fit(table)
    near(other.components_, model.components_, 1e-9, "The topics")
    near(other.transform(table), model.transform(texts), 1e-9, "The shares")
    return "right"


def wrong_documents_are_refused(rng: Rng) -> str:
    """What is neither text nor counts is refused, before and after learning."""
    texts = documents(rng, 0.0) + ["rain wind snow", "rain wind ice"] * 3
    model: Any = draws.one_of(
        rng, _topic_model(rng), NovelDocumentDetector(3, random_state=0, verbose=0)
    )
    fitted = rng.random() < 0.6
    if fitted:
        model.fit(texts)
    bad: dict[str, Any] = {
        "one text": "rain and wind",
        "numbers": [1, 2, 3],
        "a number": 3,
        "nothing": None,
        "mixed": ["rain", None, 3],
        "bytes": [b"rain", b"wind"],
        "negative counts": -np.ones((3, 4)),
        "infinite counts": np.full((3, 4), np.inf),
        "counts that are missing": np.full((3, 4), np.nan),
        "nested": [["rain"], ["wind"]],
        "complex": np.ones((3, 4)) * 1j,
    }
    name = draws.one_of(rng, "fit", "partial_fit", "transform", "step", "novelty_scores")
    needs = name in ("transform", "step", "novelty_scores")
    if not hasattr(model, name) or (needs and not fitted):
        name = "fit"
    with Unchanged(model):
        refusal(lambda: getattr(model, name)(bad[draws.one_of(rng, *bad)]))
    return "refused"


def novelty_of_strange_documents(rng: Rng) -> str:
    """Scores are finite, marks follow them, looking changes nothing, files keep all of it."""
    few = {"iterations": 50, "rounds": 3}
    mode = draws.one_of(rng, "auto", "auto", online(**few), batch_impl(**few), "l2_batch")
    model = NovelDocumentDetector(
        int(rng.integers(1, 6)),
        mode=mode,
        n_new_atoms=draws.one_of(rng, None, 1),
        max_words=draws.one_of(rng, 100_000, 10),
        random_state=int(rng.integers(100)),
        verbose=0,
        **draws.one_of(rng, {}, {"top_share": 0.2}, {"threshold": 0.5}),
    )
    start = documents(rng, 0.1)
    if refused_or(lambda: model.fit(start)) is None:
        assert not hasattr(model, "_memory"), "A refused fit left half a model."
        return "refused"
    for _ in range(int(rng.integers(1, 4))):
        texts = documents(rng, 0.5)
        with Unchanged(model):
            scores = model.novelty_scores(texts)
            model.explain(texts[0])
        again = _through_a_file(model)
        step, other = model.step(texts), again.step(texts)
        same_bits(step.scores, scores, "The scores of a step")
        same_bits(other.scores, step.scores, "The scores after loading")
        assert np.isfinite(scores).all(), "Scores are not finite."
        assert ((step.p_values >= 0) & (step.p_values <= 1)).all(), "No p-values."
        assert step.novel.shape == (len(texts),), "A mark for each document."
        if model.threshold is not None:
            same_bits(step.novel, scores > model.threshold, "The marks")
        same_bits(again.components_, model.components_, "The memory after loading")
    return "right"


FAMILIES = [
    topics_of_strange_documents,
    tables_are_texts,
    wrong_documents_are_refused,
    novelty_of_strange_documents,
]
