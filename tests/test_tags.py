"""What an estimator declares to scikit-learn is what it does: pipelines and checks go by it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import thresher
from thresher import (
    BatchNMF,
    FaceRecognizer,
    L1Dictionary,
    ManhattanNMF,
    NovelDocumentDetector,
    OnlineL1Dictionary,
    OnlineNMF,
    OnlineOrthogonalDictionary,
    OnlineRobustNMF,
    RobustNMF,
    SymmetricManhattanNMF,
    TopicModel,
)
from thresher.tasks.text.tfidf import TfIdf

MODELS = [
    BatchNMF(3, max_iter=3, verbose=0),
    FaceRecognizer(OnlineNMF(3), verbose=0),
    FaceRecognizer(method="projection", verbose=0),
    L1Dictionary(3, max_iter=3, verbose=0),
    ManhattanNMF(3, max_iter=3, verbose=0),
    OnlineL1Dictionary(3, verbose=0),
    OnlineNMF(3, verbose=0),
    OnlineOrthogonalDictionary(verbose=0),
    OnlineRobustNMF(3, verbose=0),
    RobustNMF(3, max_iter=3, verbose=0),
    SymmetricManhattanNMF(3, max_iter=3, verbose=0),
    TfIdf(),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


def accepts(model, X):
    """Whether a model learns from samples, or refuses them."""
    try:
        clone(model).fit(X, np.arange(X.shape[0]) % 3)
    except (ValueError, TypeError):
        return False
    return True


def counts(n=15):
    """Symmetric counts: samples, similarities and words alike."""
    half = np.random.default_rng(0).poisson(2.0, (n, n)).astype(float)
    return half + half.T + 1


@every_model
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tags_are_true(model):
    X, declared = counts(), get_tags(model).input_tags
    assert accepts(model, X)
    negative, missing = X.copy(), X.copy()
    negative[2, 3] = negative[3, 2] = -1.0
    missing[2, 3] = missing[3, 2] = np.nan
    assert declared.positive_only == (not accepts(model, negative))
    assert declared.allow_nan == accepts(model, missing)
    assert declared.sparse == accepts(model, sparse.csr_array(X))
    assert declared.pairwise == (not accepts(model, X[:12]))
    assert declared.two_d_array
    assert not declared.string


def test_topics_take_texts_and_counts_of_words_as_csr():
    declared = get_tags(TopicModel()).input_tags
    assert (declared.string, declared.sparse, declared.two_d_array) == (True, True, False)
    model = TopicModel(2, verbose=0, random_state=0)
    texts = ["red blue green", "blue green red", "iron nail bolt", "nail bolt iron"] * 3
    assert accepts(model, np.array(texts, dtype=object))


def test_novel_documents_are_texts_and_counts_of_words_as_csr():
    declared = get_tags(NovelDocumentDetector()).input_tags
    assert (declared.string, declared.sparse, declared.two_d_array) == (True, True, False)
    rows = np.random.default_rng(0).poisson(0.7, (60, 30)).astype(float)
    assert accepts(NovelDocumentDetector(random_state=0), sparse.csr_array(rows))


def test_whatever_transforms_declares_it():
    for name in thresher.__all__:
        kind = getattr(thresher, name)
        if isinstance(kind, type) and hasattr(kind, "get_params"):
            declared = get_tags(kind()).transformer_tags is not None
            assert declared == hasattr(kind, "transform"), name
