"""Word counts weighted by how telling a word is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from thresher.estimators.parameters import COUNT, KeepsParameters
from thresher.estimators.validation import as_matrix
from thresher.linalg import Array


def term_frequency(counts: Array) -> Array:
    """``1 + log v`` of counts v; a count below one counts as one."""
    damped: Array = 1 + np.log(np.maximum(counts, 1))
    return damped


def inverse_document_frequency(n_documents: float, frequency: Array) -> Array:
    """``log(n/n_j)`` of every word; for words that no document had, ``log(n + 1)``.

    The latter is the weight of a word that the document at hand alone has, had it been counted.
    """
    n, seen = max(n_documents, 1), frequency > 0
    idf: Array = np.log(n / np.where(seen, frequency, 1.0))
    idf[~seen] = np.log(n + 1)
    return idf


def tf_idf(counts: Any, idf: Array) -> Any:
    """Counts in CSR, without stored zeros, weighted; the result has the type of the counts."""
    weights = (term_frequency(counts.data) * idf[counts.indices]).astype(counts.dtype)
    weighted: Any = sparse.csr_array(
        (weights, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape
    )
    weighted.eliminate_zeros()  # words that all documents have
    return weighted


@dataclass(frozen=True)
class WordSums:
    """What tf-idf needs to know of many documents; sums add up.

    Attributes
    ----------
    n_documents : int
    frequency, damped : arrays of shape (F,)
        Documents that have the word, and the sum of its damped counts.
    """

    n_documents: int
    frequency: Array
    damped: Array

    @classmethod
    def of(cls, counts: Any) -> WordSums:
        """Of some documents, as canonical CSR."""
        n, width = counts.shape
        frequency = np.bincount(counts.indices, minlength=width).astype(np.float64)
        weights = term_frequency(counts.data)
        damped: Any = np.bincount(counts.indices, weights=weights, minlength=width)
        return cls(n, frequency, damped)

    def __add__(self, other: WordSums) -> WordSums:
        """Of both."""
        return WordSums(
            self.n_documents + other.n_documents,
            self.frequency + other.frequency,
            self.damped + other.damped,
        )


class TfIdf(KeepsParameters, TransformerMixin, BaseEstimator):
    r"""Weight counts of words by term frequency and inverse document frequency.

    The count :math:`v_{ij} > 0` of word j in document i becomes

    .. math:: (1 + \log v_{ij}) \, \log(n / n_j),

    where :math:`n_j` of n documents have the word; zeros stay zero. A word that all documents have
    weighs nothing.

    Parameters
    ----------
    n_words : int, optional
        Keep only so many words, those of the largest sum of weights over the documents; by default
        all.

    Attributes
    ----------
    n_documents_ : int
        n, the documents seen; a float if old ones count less.
    document_frequency_ : array of shape (F,)
        :math:`n_j`.
    idf_ : array of shape (F,)
        :math:`\log(n / n_j)`; for words that no document had, :math:`\log(n + 1)`, as if the
        document at hand had been counted.
    selected_ : array of int
        Columns that are kept, in their own order.

    Notes
    -----
    R. Zhao, V. Y. F. Tan and H. Xu, "Online nonnegative matrix factorization with general
    divergences", section VIII-E, where ``n_words`` is 1000. scikit-learn's ``TfidfTransformer``
    adds 1 to the logarithm, and has no `partial_fit`.

    `partial_fit` in batches gives the same weights as `fit` on all documents at once, because the
    frequencies add up. The choice of ``n_words`` is made on the first batch and stays, because
    models need their columns to stay; so make the first batch a large one.

    Examples
    --------
    >>> TfIdf().fit_transform([[1, 2], [1, 0]]).toarray().round(2)
    array([[0.  , 1.17],
           [0.  , 0.  ]])
    """

    n_documents_: float
    document_frequency_: Array
    idf_: Array
    selected_: NDArray[np.intp]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_words": [COUNT, None],
    }

    def __init__(self, n_words: int | None = None) -> None:
        self.n_words = n_words

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn document frequencies, and choose the words to keep.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, F)
            Counts: zero, or at least 1.
        y : ignored
        """
        self._learn(X, first=True)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add the documents of a batch to the frequencies; the first batch chooses the words."""
        self._learn(X, first=not hasattr(self, "selected_"))
        return self

    def transform(self, X: Any) -> Any:
        """Weights of the words that are kept, as CSR."""
        return self._weights(X)

    def _weights(self, X: Any) -> Any:
        """What `transform` gives, whatever `set_output` says."""
        check_is_fitted(self, "idf_")
        self._check_goes_on()
        counts = self._checked(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self._weigh(counts)

    def _fit_weights(self, X: Any) -> Any:
        """`fit` and the weights of the same documents, which are checked once."""
        return self._weigh(self._learn(X, first=True))

    def _weigh(self, counts: Any) -> Any:
        """Weights of checked counts."""
        if len(self.selected_) < counts.shape[1]:
            counts = counts[:, self.selected_]
        return tf_idf(counts, self.idf_[self.selected_])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns that are kept."""
        check_is_fitted(self, "idf_")
        if input_features is None:
            numbered = [f"x{column}" for column in range(len(self.idf_))]
            input_features = getattr(self, "feature_names_in_", numbered)
        return np.asarray(input_features, dtype=object)[self.selected_]

    def _learn(self, X: Any, first: bool) -> Any:
        """Learn from counts, and return them checked."""
        self._validate_params()
        if not first:
            self._check_goes_on()
        counts = self._checked(X)
        validate_data(self, X, reset=first, skip_check_array=True)
        self._add(WordSums.of(counts), first)
        return counts

    @classmethod
    def known(cls, n_documents: float, frequency: Array, selected: NDArray[np.intp]) -> TfIdf:
        """One whose document frequencies were counted elsewhere."""
        tfidf = cls()
        tfidf.n_features_in_ = len(frequency)
        tfidf.n_documents_, tfidf.document_frequency_ = n_documents, frequency
        tfidf.idf_ = inverse_document_frequency(n_documents, frequency)
        tfidf.selected_ = selected
        tfidf._began_as = tfidf._identity()
        return tfidf

    def fit_sums(self, sums: WordSums) -> Self:
        """Learn anew from sums over documents that are elsewhere."""
        self._validate_params()
        self.n_features_in_ = len(sums.frequency)
        return self._add(sums, first=True)

    def _add(self, sums: WordSums, first: bool) -> Self:
        self._began_as = self._identity()
        frequency = sums.frequency
        self.n_documents_ = sums.n_documents + (0 if first else self.n_documents_)
        self.document_frequency_ = frequency if first else self.document_frequency_ + frequency
        self.idf_ = inverse_document_frequency(self.n_documents_, self.document_frequency_)
        if first:
            # Stable: of words of equal weight, those that come first are kept.
            falling = np.argsort(-sums.damped * self.idf_, kind="stable")
            self.selected_ = np.sort(falling[: self.n_words])
        return self

    def _checked(self, X: Any) -> Any:
        """Counts as CSR without stored zeros or double entries; the input is left alone."""
        checked = as_matrix(
            X,
            self,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
        counts: Any = sparse.csr_array(checked)
        if not np.isfinite(counts.data).all():
            raise ValueError(
                "Input contains NaN or infinity, which are no counts; put zero where a document "
                "lacks a word."
            )
        if not counts.has_canonical_format or (counts.data == 0).any():
            counts = counts.copy()
            counts.sum_duplicates()
            counts.eliminate_zeros()
        if counts.data.size and counts.data.min() < 1:
            raise ValueError(
                "TfIdf weights counts, which are zero or at least 1: give raw counts, such as "
                "CountVectorizer makes. What is weighted already needs no TfIdf; give it to "
                "TopicModel with weighting=None."
            )
        return counts
