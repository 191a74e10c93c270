"""How good topics are, and how they would be as fewer."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from thresher.estimators.parameters import COUNT, check_argument, is_whole
from thresher.linalg import Array
from thresher.metrics import matched_cosines
from thresher.tasks.text.tfidf import TfIdf
from thresher.tasks.topics.merging import TopicMerge, groups_of, merges
from thresher.tasks.topics.weights import weighted

_LEAST = 1e-10  # probability of a word that no topic has


class TopicStability(NamedTuple):
    """Stability of every topic, shape (n_topics,), and their mean."""

    per_topic: NDArray[np.float64]
    mean: float


class MeasuresTopics:
    """`score`, `stability`, `hierarchy` and `reduce_topics`."""

    components_: Array
    model_: Any
    tfidf_: TfIdf | None
    random_state: Any
    _counter: Any
    _life: Any
    _adopt: Any
    _check_goes_on: Any
    _names: Any
    _shares_of_weights: Any

    def score(self, documents: Any, y: Any = None) -> float:
        r"""How well half of the words of a document foretell the others: higher is better.

        The mean over all words of :math:`\log \sum_k \theta_k d_{kj}`, weighted as the model
        weights them, where the shares :math:`\theta` come from every other word of the document
        and j is a word that they were not told. Each word is once among the told and once among
        the hidden ones. Models over the same words can be compared, whatever their topics.

        Parameters
        ----------
        documents : sequence of str, or table of counts
            Such as were not learned from.
        y : ignored
        """
        check_is_fitted(self, "components_")
        self._check_goes_on()
        weights = sparse.csr_array(weighted(self.tfidf_, self._counter.counts(documents)))
        if not weights.nnz:
            raise ValueError(
                "None of these documents has a known word, so nothing can be foretold; give others."
            )
        starts = np.repeat(weights.indptr[:-1], np.diff(weights.indptr))
        odd = (np.arange(weights.nnz) - starts) % 2 == 1
        total = 0.0
        for hidden in (odd, ~odd):
            told = weights.copy()
            told.data = np.where(hidden, 0.0, weights.data)
            told.eliminate_zeros()
            shares = self._shares_of_weights(told)
            rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))[hidden]
            foretold = _products(shares, self.components_, rows, weights.indices[hidden])
            total += float(weights.data[hidden] @ np.log(np.maximum(foretold, _LEAST)))
        return total / float(weights.data.sum())

    def stability(self, documents: Any, n_fits: int = 5) -> TopicStability:
        """How much of each topic is found again in half of the documents.

        The mean cosine between a topic and its partner among those that the same method finds in
        halves drawn at random, as `thresher.metrics.matched_cosines` pairs them.

        Parameters
        ----------
        documents : sequence of str, or table of counts
            Those that the topics were learned from, or others like them.
        n_fits : int
            How many halves are drawn.
        """
        check_is_fitted(self, "components_")
        self._check_goes_on()
        check_argument("stability", [COUNT], n_fits=n_fits)
        weights = weighted(self.tfidf_, self._counter.counts(documents))
        n, K = weights.shape[0], len(self.components_)
        if n < 4:
            raise ValueError(f"Halves of {n} documents say nothing; give four documents at least.")
        random = check_random_state(self.random_state)
        found = []
        for seed in random.randint(2**31 - 1, size=n_fits):
            rows = np.random.default_rng(seed).permutation(n)[: n // 2]
            again = clone(self.model_)
            given = {"n_components": K, "random_state": int(seed), "verbose": 0}
            again.set_params(**{k: v for k, v in given.items() if k in again.get_params()})
            found.append(matched_cosines(self.components_, again.fit(weights[rows]).components_))
        per_topic = np.mean(found, axis=0)
        return TopicStability(per_topic, float(per_topic.mean()))

    def hierarchy(self) -> list[TopicMerge]:
        """The order in which topics would be merged into one, the most alike first."""
        check_is_fitted(self, "components_")
        return merges(self.components_, self._usage(), self._names())

    def reduce_topics(self, n_topics: int) -> Self:
        """A model with fewer topics, by mergers of those most alike; this one stays as it is.

        Dictionary and statistics are those of topics that have always been one, so that the model
        goes on learning.

        Parameters
        ----------
        n_topics : int
        """
        check_is_fitted(self, "components_")
        self._check_goes_on()
        K = len(self.components_)
        if not is_whole(n_topics) or n_topics > K:
            raise ValueError(f"n_topics={n_topics!r} must be a whole number from 1 to {K}.")
        if not hasattr(self.model_, "grow"):
            raise ValueError(
                f"{type(self.model_).__name__} cannot merge its atoms; leave model= out, or give "
                "one that can, such as OnlineNMF."
            )
        groups = groups_of(self.hierarchy(), K, n_topics)
        other, model = copy.copy(self), copy.deepcopy(self.model_)
        model._join_atoms(groups)
        life = None if self._life is None else self._life.joined(groups)
        adopted: Self = other._adopt(self._counter, self.tfidf_, model, life)
        return adopted

    def _usage(self) -> Array:
        """Shares of the topics in what was learned from; equal, if the model does not tell."""
        K = len(self.components_)
        grows = hasattr(self.model_, "grow")
        return self.model_.usage_ if grows else np.full(K, 1 / K)


def _products(shares: Array, atoms: Array, rows: Any, columns: Any) -> Array:
    """``Σ_k θ_ik d_kj`` at some places, a topic at a time: no dense matrix of documents."""
    total = np.zeros(len(rows))
    for share, atom in zip(shares.T, atoms, strict=True):
        total += share[rows] * atom[columns]
    return total
