"""Topics: documents in every form, planted topics found, streams, names, the report."""

import copy
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, MiniBatchNMF
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score

import thresher
from thresher import OnlineNMF, TopicModel
from thresher.metrics import purity
from thresher.plotting import bar_panels, share_bars, to_png
from thresher.tasks.text.documents import batches_of_stream
from thresher.tasks.text.tfidf import TfIdf

SUBJECTS = {
    "animals": ["horse", "sheep", "goose", "otter", "badger", "weasel", "falcon", "beetle"],
    "weather": [
        "rainfall",
        "thunder",
        "drizzle",
        "blizzard",
        "sunshine",
        "breeze",
        "cloud",
        "frost",
    ],
    "kitchen": ["saucepan", "ladle", "kettle", "whisk", "teapot", "grater", "skillet", "spoon"],
}
COMMON = ["something", "somewhat", "perhaps", "rather", "quite"]


def draw_documents(n: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Texts of one subject each, with a word of another and some that say nothing."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    pools = list(SUBJECTS.values())
    texts = []
    for label in labels:
        own = rng.choice(pools[label], 9)
        others = rng.choice(pools[rng.integers(3)], 1)
        texts.append(" ".join([*own, *others, *rng.choice(COMMON, 4)]))
    return texts, labels


def factoriser() -> MiniBatchNMF:
    options = {"beta_loss": "kullback-leibler", "max_iter": 500, "tol": 1e-3}
    return MiniBatchNMF(3, init="random", random_state=0, **options)


class OddVectorizer:
    """Counts nonsense, of shapes and names that do not fit together."""

    def __init__(self, names: int = 5, rows: int | None = None, later: int = 5) -> None:
        self.names, self.rows, self.later = names, rows, later

    def fit_transform(self, texts):
        return np.eye(len(texts) if self.rows is None else self.rows, 5) + 1

    def transform(self, texts):
        return np.ones((len(texts), self.later))

    def get_feature_names_out(self):
        return list("abcdefgh")[: self.names]


def model(**options) -> TopicModel:
    return TopicModel(model=factoriser(), **options)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return draw_documents(300)[0]


@pytest.fixture(scope="module")
def stream_of_texts() -> list[str]:
    return draw_documents(2000, seed=3)[0]


@pytest.fixture(scope="module")
def fitted(texts) -> TopicModel:
    return model().fit(texts)


def assert_planted_topics(found: TopicModel) -> None:
    tops = [set(words[:6]) for words in found.top_words()]
    for words in SUBJECTS.values():
        assert any(top <= set(words) for top in tops)


# ------------------------------------------------------------------------ what is found


def test_planted_topics_are_found(fitted):
    assert_planted_topics(fitted)
    held_out, labels = draw_documents(200, seed=1)
    main = fitted.transform(held_out).argmax(axis=1)
    assert purity(labels, main) > 0.95
    assert normalized_mutual_info_score(labels, main) > 0.8


def test_shares_sum_to_one_also_for_documents_without_a_known_word(fitted, texts):
    shares = fitted.transform([*texts[:20], "", "zyx"])
    assert shares.shape == (22, 3)
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[-2:], 1 / 3)


def test_shares_do_not_depend_on_the_scale_of_the_atoms(fitted, texts):
    class Rescaled:
        scales = np.array([0.01, 1.0, 500.0])

        def __init__(self, inner):
            self.inner, self.components_ = inner, inner.components_ * self.scales[:, np.newaxis]

        def transform(self, X):
            return self.inner.transform(X) / self.scales

    other = clone(fitted)._adopt(fitted._counter, fitted.tfidf_, Rescaled(fitted.model_))
    np.testing.assert_allclose(other.transform(texts[:9]), fitted.transform(texts[:9]))
    np.testing.assert_allclose(other.components_, fitted.components_)


def test_topics_are_distributions_over_words_with_distinct_names(fitted):
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1)
    assert fitted.components_.shape == (3, len(fitted.words_))
    for topic, row, words in zip(
        fitted.topics_, fitted.components_, fitted.top_words(), strict=True
    ):
        assert topic.words == words
        assert topic.name == ", ".join(words[:3])
        assert topic.weights == sorted(row, reverse=True)[: len(words)]
    assert len({topic.name for topic in fitted.topics_}) == 3


def test_names_of_like_topics_are_told_apart():
    counts = np.eye(5, dtype=int) + 1
    found = model(vocabulary=list("abcde"), weighting=None).fit(counts)
    like = [0.4, 0.3, 0.2, 0.1, 0.0]
    found.components_ = np.array([like, [0.4, 0.3, 0.2, 0.0, 0.1], like, [0.0] * 5, [0.0] * 5])
    names = [topic.name for topic in found.topics_]
    assert names == ["a, b, c", "a, b, c, e", "a, b, c, d", "no words", "no words (5)"]


def test_document_topics_name_the_largest_shares(fitted, texts):
    shares = fitted.transform(texts[:5])
    names = [topic.name for topic in fitted.topics_]
    for row, largest in zip(shares, fitted.document_topics(texts[:5], n=2), strict=True):
        assert [name for name, _ in largest] == [names[k] for k in np.argsort(-row)[:2]]
        assert [share for _, share in largest] == sorted(row, reverse=True)[:2]


def test_planted_topics_are_coherent(fitted):
    documents, _ = draw_documents(300, seed=2)
    coherence = fitted.coherence(documents, n_words=6)
    mixed = clone(fitted)._adopt(fitted._counter, fitted.tfidf_, fitted.model_)
    rng = np.random.default_rng(0)
    mixed.components_ = rng.permuted(fitted.components_, axis=1)
    assert coherence.per_topic.min() > mixed.coherence(documents, n_words=6).mean + 0.2


def test_weights_and_words_are_those_of_tfidf(texts):
    found = model(n_words=10).fit(texts)
    assert len(found.words_) == 10
    counts = found._counter.counts(texts)
    assert list(found.words_) == list(
        TfIdf(10).fit(counts).get_feature_names_out(found._counter.words)
    )
    assert found.coherence(texts).per_topic.shape == (3,)


# --------------------------------------------------------------------- documents in every form


def test_lists_columns_tables_and_frames_agree(fitted, texts):
    expected = fitted.transform(texts[:10])
    vectorizer = CountVectorizer(stop_words="english", min_df=2)
    counts = vectorizer.fit_transform(texts)
    words = vectorizer.get_feature_names_out()
    frame = pd.DataFrame(counts.toarray(), columns=words)
    for found, documents in (
        (model(), pd.Series(texts, index=range(7, 307))),
        (model(), np.array(texts)),
        (model(vectorizer=vectorizer), texts),
        (model(vocabulary=words), counts),
        (model(vocabulary=vectorizer.vocabulary_), sparse.csc_array(counts)),
        (model(vocabulary=list(words)), counts.toarray()),
        (model(vocabulary=words), texts),
        (model(), frame),
    ):
        shares = found.fit(documents).transform(documents[:10])
        np.testing.assert_allclose(shares, expected)
        assert list(found.words_) == list(fitted.words_)


def test_a_vectoriser_of_ones_own_may_weight_words_itself(texts):
    found = model(vectorizer=TfidfVectorizer(), weighting=None).fit(texts)
    assert_planted_topics(found)
    with pytest.raises(ValueError, match="raw counts"):
        model(vectorizer=TfidfVectorizer()).fit(texts)


def test_frames_come_out_with_topic_names(texts, tmp_path):
    found = model().set_output(transform="pandas").fit(texts)
    column = pd.Series(texts[:4], index=list("abcd"))
    shares = found.transform(column)
    assert list(shares.columns) == [topic.name for topic in found.topics_]
    assert list(shares.index) == list("abcd")
    assert found.report(tmp_path / "topics.html", texts).is_file()


@pytest.mark.parametrize(
    ("options", "documents", "message"),
    [
        ({}, "one text", "put brackets"),
        ({}, [], "no documents"),
        ({"vocabulary": list("abcde")}, sparse.csr_array((0, 5)), "no documents"),
        ({}, 7, "list of texts"),
        ({}, ["a text", None], "Document 1 is None"),
        ({}, [b"bytes"], "Document 0 is b'bytes'"),
        ({}, {"key": "a text"}, "such as its values"),
        ({}, np.array("a text"), "list of texts"),
        ({}, ["alone", "different"], "No word stands in two"),
        ({}, ["one document by itself"], "this is one document; give more"),
        ({"vocabulary": ["one"]}, ["one document"], "begin with more"),
        ({}, ["", " ", ""], "no word in these 3 documents"),
        ({}, ["the and of", "the of 12"], "no word in these 2 documents"),
        ({"vocabulary": ["Horse"]}, ["a horse", "two"], "in lower case"),
        ({"vocabulary": ["horse"]}, ["a cow", "two"], "None of the 1 words"),
        ({"vocabulary": list("ab")}, np.zeros((4, 2)), "None of the 2 words"),
        ({"vocabulary": list("ab")}, np.array([[1, np.nan], [0, 1]]), "put zero"),
        ({}, ["same words here", "same words here"], "tells these documents apart"),
        ({}, np.eye(3), "vocabulary="),
        ({}, pd.DataFrame({"text": ["one", "two"]}), "column of texts"),
        ({}, iter([]), "stream is empty"),
        ({}, iter([[], []]), "stream is empty"),
        ({}, iter([["a text"], ["another", None]]), "Document 2 is None"),
        ({}, iter(["a text", 7.5]), "Document 1 is 7.5"),
        ({"vocabulary": "abc"}, ["a b"], "list of words"),
        ({"vocabulary": 7}, ["a b"], "list of words"),
        ({"vocabulary": ["a", "b"]}, np.eye(3), "3 columns"),
        ({"vocabulary": ["a", "a"]}, np.eye(2), "each word once"),
        ({"vocabulary": ["a"], "vectorizer": CountVectorizer()}, ["a b"], "not both"),
        (
            {"vectorizer": HashingVectorizer(n_features=8)},
            ["one", "two"],
            "does not know",
        ),
        ({"vectorizer": CountVectorizer}, ["a b"], r"add brackets: CountVectorizer\(\)"),
        ({"vectorizer": "tfidf"}, ["a b"], "use scikit-learn's CountVectorizer"),
        ({"vectorizer": CountVectorizer()}, ["a text", None], "Document 1 is None"),
        ({"vectorizer": CountVectorizer(min_df=3)}, ["a b", "a b"], "change its options"),
        (
            {"vectorizer": CountVectorizer(stop_words="english")},
            ["the", "of"],
            "change its options",
        ),
        ({"vectorizer": OddVectorizer(names=3)}, ["a", "b"], "must name every column"),
        ({"vectorizer": OddVectorizer(rows=1)}, ["a", "b"], "one for each"),
        ({"model": MiniBatchNMF}, ["a b"], "add brackets"),
        ({"model": "nmf"}, ["a b"], "cannot factorise"),
        ({"model": NMF(3)}, iter(["a b"]), "call fit with a list"),
        ({"model": KMeans(1), "vocabulary": ["cat"]}, ["cat", "dog"], "no components_"),
        ({"weighting": "bm25"}, ["a"], "'tfidf' or None"),
        ({"weighting": None, "n_words": 5}, ["a"], "max_features"),
        ({"n_components": 0}, ["a"], "n_components"),
        ({"batch_size": 2.5}, ["a"], "batch_size"),
    ],
)
def test_wrong_documents_and_parameters_are_explained(options, documents, message):
    with pytest.raises(ValueError, match=message):
        TopicModel(**{"model": factoriser(), **options}).fit(documents)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([None], "Document 0 is None"),
        (["a text", float("nan")], "Document 1 is nan"),
        ([b"bytes"], "make it a string"),
        (iter([["a text"], [None]]), "Document 1 is None"),
        ("a text", "put brackets"),
        ([], "at least one"),
        (np.eye(3), "count the same words"),
    ],
)
def test_wrong_documents_are_explained_after_learning(fitted, documents, message):
    with pytest.raises(ValueError, match=message):
        list(fitted.transform(documents))  # streams are read when they are asked for


def test_what_is_no_text_is_told_by_its_number_in_the_whole_stream(fitted, texts):
    few = copy.deepcopy(fitted).set_params(batch_size=2)
    with pytest.raises(ValueError, match="Document 3 is None, not a text"):
        list(few.transform(iter([texts[:2], [texts[2], None]])))


def test_other_wrong_calls_are_explained(fitted, texts, tmp_path):
    with pytest.raises(ValueError, match="Document 0 is None"):
        fitted.coherence([None])
    with pytest.raises(ValueError, match="put brackets"):
        fitted.report(tmp_path / "topics.html", "a text")
    for call in (fitted.top_words, lambda n: fitted.document_topics(texts, n)):
        with pytest.raises(ValueError, match="n=-1"):
            call(-1)
    with pytest.raises(ValueError, match="no partial_fit"):
        TopicModel(model=NMF(3)).partial_fit(texts)
    odd = model(vectorizer=OddVectorizer(later=4), weighting=None).fit(texts)
    with pytest.raises(ValueError, match="counts 4 words in these documents, but 5"):
        odd.transform(texts)


def test_a_vectoriser_of_ones_own_may_take_other_things_than_strings(texts):
    tokens = [text.split() for text in texts]
    found = model(vectorizer=CountVectorizer(analyzer=list, min_df=2)).fit(tokens)
    assert_planted_topics(found)
    np.testing.assert_allclose(found.transform(tokens[:3]).sum(axis=1), 1)


def test_texts_are_refused_after_counts():
    found = model(vocabulary=list("abc")).fit(np.eye(3, dtype=int))
    with pytest.raises(ValueError, match="learned from counts"):
        found.transform(["a b"])


# ---------------------------------------------------------------------------------- streams


def test_a_generator_is_learned_from_once_and_like_its_batches(stream_of_texts):
    texts, taken = stream_of_texts, []

    def stream() -> Iterator[str]:
        for text in texts:
            taken.append(text)
            yield text

    streamed = model(batch_size=50, warm_up=100).fit(stream())
    assert taken == texts
    assert_planted_topics(streamed)
    assert streamed.tfidf_.n_documents_ == 2000

    # The same: words and frequencies of the first hundred, then batch by batch.
    again = model(batch_size=50, warm_up=100).fit(texts[i : i + 30] for i in range(0, 2000, 30))
    np.testing.assert_array_equal(again.components_, streamed.components_)
    counts = CountVectorizer(vocabulary=list(streamed._counter.words)).transform(texts)
    blocks = (counts[i : i + 75] for i in range(0, 2000, 75))
    of_counts = model(batch_size=50, warm_up=100, vocabulary=streamed._counter.words).fit(blocks)
    np.testing.assert_allclose(of_counts.components_, streamed.components_)
    shares = list(streamed.transform(iter(texts)))  # batch by batch
    assert [len(each) for each in shares] == [50] * 40
    np.testing.assert_allclose(np.concatenate(shares), streamed.transform(texts))


def test_partial_fit_keeps_the_vocabulary_and_counts_on(stream_of_texts):
    texts = stream_of_texts
    found = model().partial_fit(texts[:100])
    words = list(found.words_)
    for start in range(100, 2000, 50):
        found.partial_fit([*texts[start : start + 50], "newcomer newcomer", "newcomer"])
    assert list(found.words_) == words
    assert found.tfidf_.n_documents_ == 2000 + 2 * 38
    assert_planted_topics(found)


def _refuse(X):
    raise ValueError("refused")


def test_a_bad_batch_leaves_the_model_as_it_was(texts):
    found = model().partial_fit(texts[:100])
    before, n_documents = found.transform(texts[:5]), found.tfidf_.n_documents_
    for bad in ([], "text", np.eye(3)):
        with pytest.raises(ValueError):
            found.partial_fit(bad)
    learn, found.model_.partial_fit = found.model_.partial_fit, _refuse
    with pytest.raises(ValueError, match="refused"):
        found.partial_fit(texts[100:200])
    found.model_.partial_fit = learn
    np.testing.assert_array_equal(found.transform(texts[:5]), before)
    assert found.tfidf_.n_documents_ == n_documents


def test_fit_begins_anew(texts):
    found = model().partial_fit(texts[:100])
    np.testing.assert_array_equal(found.fit(texts).components_, model().fit(texts).components_)


def test_batches_have_the_sizes_asked_for():
    texts = [str(number) for number in range(23)]
    sizes = [len(batch) for batch in batches_of_stream(iter(texts), 4, 10)]
    assert sizes == [10, 4, 4, 4, 1]
    lumps = iter([texts[:3], texts[3:22], texts[22:]])
    assert [len(batch) for batch in batches_of_stream(lumps, 4, 10)] == sizes
    tables = iter([np.eye(3), np.ones((20, 3))])
    assert [batch.shape[0] for batch in batches_of_stream(tables, 4, 10)] == sizes
    with_gaps = iter([[], texts[:3], [], texts[3:], []])
    assert [len(batch) for batch in batches_of_stream(with_gaps, 4, 10)] == sizes
    tables = iter([np.empty((0, 3)), np.eye(3), np.empty((0, 3)), np.ones((20, 3))])
    assert [batch.shape[0] for batch in batches_of_stream(tables, 4, 10)] == sizes
    for mixed in (["a", np.eye(2)], [np.eye(2), np.eye(3)]):
        with pytest.raises(ValueError, match="stream"):
            list(batches_of_stream(iter(mixed), 4, 10))


def test_memory_does_not_grow_with_the_stream():
    class Nothing(MiniBatchNMF):
        """Learns nothing, so that only what documents take is measured."""

        def partial_fit(self, X, y=None, **ignored):
            self.components_ = np.ones((3, X.shape[1]))
            return self

    def peak(n_documents: int) -> int:
        pool, _ = draw_documents(50)
        stream = (pool[number % 50] + " " * (number % 7) for number in range(n_documents))
        tracemalloc.start()
        TopicModel(model=Nothing(3), batch_size=50, warm_up=100).fit(stream)
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    peak(200)
    assert peak(4000) < 1.5 * peak(400)


# -------------------------------------------------------------------------------- the default


def test_planted_topics_are_found_by_default(texts):
    found = TopicModel(3, random_state=0, verbose=0).fit(texts)
    assert_planted_topics(found)
    held_out, labels = draw_documents(200, seed=1)
    assert purity(labels, found.transform(held_out).argmax(axis=1)) > 0.95
    assert isinstance(found.model_, OnlineNMF)
    np.testing.assert_allclose(found.model_.components_.sum(axis=1), 1, rtol=1e-6)


def test_planted_topics_are_found_in_a_stream_by_default(stream_of_texts):
    options = {"batch_size": 100, "warm_up": 400, "random_state": 0, "verbose": 0}
    found = TopicModel(3, **options).fit(iter(stream_of_texts))
    assert_planted_topics(found)
    assert found.model_.n_samples_seen_ == found.tfidf_.n_documents_ == len(stream_of_texts)


@pytest.mark.parametrize(
    ("n_documents", "batch_size", "n_starts"), [(300, 64, 4), (1600, 100, 4), (2000, 110, 1)]
)
def test_short_lists_have_small_batches_and_several_starts(
    stream_of_texts, n_documents, batch_size, n_starts
):
    options = {"batch_size": 110, "random_state": 5, "verbose": 0}
    found = TopicModel(3, **options).fit(stream_of_texts[:n_documents])
    asked = found.model_.get_params()
    assert (asked["batch_size"], asked["n_starts"]) == (batch_size, n_starts)
    assert (asked["n_components"], asked["divergence"], asked["dictionary_set"]) == (
        3,
        "kl",
        "simplex",
    )
    assert (asked["random_state"], asked["verbose"]) == (5, 0)


@pytest.mark.parametrize("kind", ["texts", "vocabulary", "counts", "model"])
def test_a_saved_model_goes_on(kind, stream_of_texts, tmp_path):
    head, more = stream_of_texts[:300], stream_of_texts[300:400]
    options = {"random_state": 0, "verbose": 0, "n_words": 20}
    if kind == "vocabulary":
        options["vocabulary"] = [word for words in SUBJECTS.values() for word in words]
    if kind == "counts":
        counter = CountVectorizer().fit(head)
        options["vocabulary"] = counter.get_feature_names_out()
        head, more = counter.transform(head), counter.transform(more)
    if kind == "model":
        options["model"] = OnlineNMF(3, divergence="hellinger", random_state=0, verbose=0)
    found = TopicModel(3, **options).fit(head)
    thresher.save(found, tmp_path / "topics")
    again = thresher.load(tmp_path / "topics")
    np.testing.assert_array_equal(again.transform(more), found.transform(more))
    assert again.topics_ == found.topics_
    np.testing.assert_array_equal(
        again.partial_fit(more).components_, found.partial_fit(more).components_
    )
    assert again.fit(head).topics_ == clone(found).fit(head).topics_


def test_what_cannot_be_saved_is_explained(fitted, tmp_path):
    with pytest.raises(ValueError, match="not been fitted"):
        thresher.save(TopicModel(), tmp_path / "topics")
    with pytest.raises(ValueError, match="joblib"):
        thresher.save(fitted, tmp_path / "topics")


def test_the_given_model_is_copied(texts):
    given = factoriser()
    found = TopicModel(model=given).fit(texts)
    assert not hasattr(given, "components_")
    assert found.model_ is not given
    assert clone(found).get_params()["model"].get_params() == given.get_params()


def test_learning_does_not_load_matplotlib():
    code = (
        "import sys, thresher\nassert 'sklearn' not in sys.modules\nthresher.TopicModel\n"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


# ----------------------------------------------------------------------- report and pictures


def test_report_is_self_contained_and_escapes_documents(fitted, texts, tmp_path):
    path = fitted.report(tmp_path / "topics.html", [f"<script>{text}</script>" for text in texts])
    page = path.read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 3  # the typical document of each topic
    sources = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'>]{0,40})""", page)
    assert len(sources) == 2
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    for topic in fitted.topics_:
        assert page.count(topic.name) >= 3


def test_report_without_documents_shows_the_words(fitted, tmp_path):
    page = fitted.report(str(tmp_path / "topics.html")).read_text(encoding="utf-8")
    assert page.count("<img") == 1
    with pytest.raises(ValueError, match="more than once"):
        fitted.report(tmp_path / "other.html", iter(["a"]))
    assert not (tmp_path / "other.html").exists()


def test_report_of_counts_has_no_excerpts(fitted, texts, tmp_path):
    counts = fitted._counter.counts(texts)
    page = fitted.report(tmp_path / "topics.html", counts).read_text(encoding="utf-8")
    assert "typical document" not in page
    assert page.count("<img") == 2


def test_bar_panels_share_a_scale_and_have_a_panel_per_topic():
    figure = bar_panels(
        ["a", "b", "c", "d"], [["x", "y"], ["z"], [], ["w" * 80]], [[2, 1], [4], [], [1]]
    )
    assert len(figure.axes) == 4
    assert {axes.get_xlim() for axes in figure.axes} == {(0.0, 4.0)}
    assert [bar.get_width() for bar in figure.axes[0].patches] == [2, 1]
    assert all(axes.get_position().width > 0.1 for axes in figure.axes)
    assert to_png(figure).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="at least one panel"):
        bar_panels([], [], [])
    with pytest.raises(ValueError, match="one label"):
        bar_panels(["a"], [["x"]], [[1, 2]])


def test_share_bars_put_the_largest_on_top():
    (axes,) = share_bars(["small", "large", "x" * 200], [0.2, 0.7, 0.1]).axes
    assert [bar.get_width() for bar in axes.patches] == [0.7, 0.2, 0.1]
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == ["large", "small"]
    assert axes.get_position().width > 0.3
    with pytest.raises(ValueError, match="at least one"):
        share_bars([], [])
