"""Documents in Dask collections: topics and novelty, as lists and tables give them."""

import dask.array as da
import dask.bag as db
import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from thresher import NovelDocumentDetector, OnlineNMF, TopicModel
from thresher.tasks.text.tfidf import TfIdf, WordSums

rng = np.random.default_rng(0)
SUBJECTS = (
    ["cats", "purr", "dogs", "bark", "kittens", "sleep", "puppies", "play"],
    ["rain", "wind", "snow", "storm", "clouds", "thunder", "frost", "hail"],
    ["goals", "teams", "match", "players", "league", "coach", "cup", "referee"],
)
TEXTS = [" ".join(rng.choice(SUBJECTS[i % 3], 12)) for i in range(240)]
COUNTER = CountVectorizer()
COUNTS = sparse.csr_array(COUNTER.fit_transform(TEXTS))
WORDS = COUNTER.get_feature_names_out()
HOW = {"random_state": 0, "verbose": 0}


def test_a_bag_of_texts_has_the_topics_that_were_planted():
    texts = db.from_sequence(TEXTS, npartitions=5)
    model = TopicModel(3, batch_size=64, warm_up=100, **HOW).fit(texts)
    shares = model.transform(texts)
    assert shares.shape[1] == 3
    main = shares.compute().argmax(axis=1).reshape(-1, 3)  # subjects take turns
    assert len(set(main[0])) == 3
    assert (main == main[0]).mean() > 0.99
    np.testing.assert_allclose(shares.compute(), model.transform(TEXTS), atol=1e-9)


def test_a_table_of_counts_is_weighted_and_learned_as_in_memory():
    table = da.from_array(COUNTS.toarray(), chunks=(70, 9)).astype(float)
    how = HOW | {"batch_size": 64, "n_passes": 1, "shuffle": False}
    inner = OnlineNMF(3, divergence="kl", dictionary_set="simplex", **how)
    model = TopicModel(3, model=inner, vocabulary=list(WORDS), n_words=20)
    there, here = model.fit(table).components_.copy(), model.fit(COUNTS).components_
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-12)
    assert len(model.words_) == 20
    np.testing.assert_allclose(model.transform(table).compute(), model.transform(COUNTS), atol=1e-9)


def test_sums_of_words_add_up():
    first, rest = COUNTS[:100], COUNTS[100:]
    sums = WordSums.of(first) + WordSums.of(rest)
    parts, whole = TfIdf(9).fit_sums(sums), TfIdf(9).fit(COUNTS)
    np.testing.assert_allclose(parts.idf_, whole.idf_)
    np.testing.assert_array_equal(parts.selected_, whole.selected_)


def test_no_documents_get_a_sentence():
    with pytest.raises(ValueError, match="no documents"):
        TopicModel(3, **HOW).fit(db.from_sequence(TEXTS, npartitions=3).filter(lambda text: False))


def test_novelty_is_scored_where_documents_are():
    detector = NovelDocumentDetector(3, **HOW).fit(TEXTS[:120])
    new = [*TEXTS[120:], "zebras yodel"]
    scores = detector.novelty_scores(db.from_sequence(new, npartitions=3))
    expected = detector.novelty_scores(new)
    detector.step(new)  # a lazy score is that of the detector as it was
    np.testing.assert_allclose(scores.compute(scheduler="sync"), expected, atol=1e-9)
