"""Weights of words follow their formula, at once and in batches."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from tasks.planted_documents import tf_idf
from thresher.tasks.text import TfIdf

LETTERS = list("abcdefghijkl")


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    return rng.poisson(np.geomspace(0.1, 3, 12), (60, 12))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_weights_are_those_of_the_formula(counts, form):
    X = TfIdf().fit_transform(form(counts))
    assert sparse.issparse(X)
    np.testing.assert_allclose(X.toarray(), tf_idf(counts, counts))


def test_words_of_the_largest_sum_are_kept_in_their_order(counts):
    weights = tf_idf(counts, counts)
    model = TfIdf(n_words=5).fit(counts)
    kept = np.sort(np.argsort(-weights.sum(axis=0))[:5])
    np.testing.assert_allclose(model.transform(counts).toarray(), weights[:, kept])
    names = model.get_feature_names_out(LETTERS)
    assert list(names) == [LETTERS[column] for column in kept]
    assert names.dtype == object
    chosen = model.selected_.copy()  # by the first batch
    np.testing.assert_array_equal(model.partial_fit(counts[:, ::-1]).selected_, chosen)


def test_batches_give_the_weights_of_the_whole(counts):
    whole, batches = TfIdf().fit(counts), TfIdf()
    for rows in (slice(0, 7), slice(7, 8), slice(8, 60)):
        batches.partial_fit(sparse.csr_array(counts[rows]))
    np.testing.assert_allclose(batches.idf_, whole.idf_)
    assert batches.n_documents_ == 60
    restarted = batches.fit(counts[:10])
    np.testing.assert_array_equal(restarted.idf_, TfIdf().fit(counts[:10]).idf_)


def test_unseen_words_weigh_more_than_any_other(counts):
    model = TfIdf().fit(np.column_stack([counts, np.zeros(60, dtype=int)]))
    assert model.idf_[-1] == pytest.approx(np.log(61))
    assert model.idf_[-1] > model.idf_[:-1].max()


def test_input_is_not_changed_and_float32_stays():
    X = sparse.csr_array(([2.0, 0.0, 3.0, 1.0], [1, 0, 0, 0], [0, 2, 4]), shape=(2, 3))
    X.has_canonical_format = False  # unsorted, a stored zero, a duplicate
    before = X.data.copy(), X.indices.copy()
    weighted = TfIdf().fit_transform(X.astype(np.float32))
    assert weighted.dtype == np.float32
    TfIdf().fit(X)
    np.testing.assert_array_equal(X.data, before[0])
    np.testing.assert_array_equal(X.indices, before[1])
    assert weighted.toarray()[1, 0] == pytest.approx((1 + np.log(4)) * np.log(2))


def test_it_works_in_a_pipeline():
    pipeline = make_pipeline(CountVectorizer(), clone(TfIdf(n_words=2)))
    assert pipeline.fit_transform(["one two", "two three", "four"]).shape == (3, 2)
    assert len(pipeline.get_feature_names_out()) == 2


@pytest.mark.parametrize(
    ("X", "options", "keyword"),
    [
        ([[0.5, 1.0]], {}, "counts"),
        ([[-1.0, 1.0]], {}, "counts"),
        ([[1, 2]], {"n_words": 0}, "n_words"),
        ([[1, 2, np.nan]], {}, "NaN"),
    ],
)
def test_wrong_input_is_refused(X, options, keyword):
    with pytest.raises(ValueError, match=keyword):
        TfIdf(**options).fit(X)


def test_refused_batches_leave_the_frequencies_as_they_were(counts):
    model = TfIdf().fit(counts)
    idf = model.idf_.copy()
    for bad in (counts[:, :3], counts / 10):
        with pytest.raises(ValueError):
            model.partial_fit(bad)
    np.testing.assert_array_equal(model.idf_, idf)
    assert model.n_documents_ == 60
