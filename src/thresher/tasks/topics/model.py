"""Topics of documents: text in, topics out."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from thresher.cluster import is_collection
from thresher.estimators import OnlineNMF
from thresher.estimators.by_batch import ReadsSources
from thresher.estimators.parameters import KeepsParameters, check_parameters, require_positive
from thresher.estimators.reporting import write_page
from thresher.linalg import Array
from thresher.metrics import TopicCoherence, topic_coherence
from thresher.persistence import Contents
from thresher.streams import is_stream
from thresher.tasks.text.documents import batches_of, batches_of_stream, stream_of
from thresher.tasks.text.tfidf import TfIdf
from thresher.tasks.text.words import WordCounter, learn_words
from thresher.tasks.topics.collections import fit_collection, lazy_shares
from thresher.tasks.topics.file import pack_topics, unpack_topics
from thresher.tasks.topics.names import MOST_WORDS, Topic, topic_names
from thresher.tasks.topics.weights import atoms_of, first_weights, weighted

# Starts are measured in docs/lab/topics.md, batches are by judgement.
_LEAST_BATCHES, _SMALLEST_BATCH = 16, 64
_STARTS_FOR_SHORT_LISTS = 4


class TopicModel(ReadsSources, KeepsParameters, TransformerMixin, BaseEstimator):
    r"""Find the topics of documents, from a list, a table of counts, or a stream without end.

    Documents become tf-idf weights :math:`x`, which are nonnegative mixtures of topics,

    .. math:: x \approx c D, \qquad c \ge 0,\quad D \ge 0,\quad \sum_j d_{kj} = 1,

    in the sense of the Kullback–Leibler divergence: a topic is a distribution over words.

    Parameters
    ----------
    n_components : int
        Number of topics K. Ignored if ``model`` is given.
    vectorizer : scikit-learn vectoriser, optional
        What counts words; a copy of it is fitted. By default a ``CountVectorizer`` for English:
        lower case, words of three letters at least that stand in two documents at least, no stop
        words.
    vocabulary : sequence of str, or dict from words to columns, optional
        The words to count; for documents that come as a table of counts, the word of each column.
    weighting : "tfidf" or None
        None takes counts as they are; so give it with a vectoriser that weights words itself.
    n_words : int, optional
        Keep only so many words, those of the largest tf-idf in all; by default all words.
    model : estimator, optional
        What factorises: anything with `fit`, `partial_fit`, `transform` and ``components_``; a copy
        of it is fitted. By default
        ``OnlineNMF(n_components, divergence="kl", dictionary_set="simplex")``.
    batch_size : int
        Documents that are learned from at a time. If a list or table is shorter than 16 batches,
        the default model takes a sixteenth of it, but at least 64, and the best of four starts:
        in few documents small steps find better topics, and a single start sometimes merges two
        (docs/lab/topics.md).
    warm_up : int
        Documents of a stream that are held back to find the vocabulary; then they are learned from.
    random_state : int, RandomState or None
        Seed of the default model.
    verbose : int
        1 shows a progress bar on a terminal for anything that takes over two seconds; 0 does not.

    Attributes
    ----------
    components_ : array of shape (K, n_words_used)
        Share of each word in each topic; rows sum to one (a topic that no document uses is zero).
    words_ : array of str
        The words of its columns.
    topics_ : list of Topic
        Name, top eight words and their shares, for each topic.
    model_ : estimator
        What factorised; for the default, ``model_.history_`` tells how it went.
    tfidf_ : TfIdf or None
        Document frequencies so far.

    Notes
    -----
    In a stream the vocabulary must stay: it is given, or found in the first batch of `partial_fit`
    or the first ``warm_up`` documents of `fit`. Words that turn up later are not counted. Document
    frequencies do follow the stream.

    R. Zhao, V. Y. F. Tan and H. Xu, "Online nonnegative matrix factorization with general
    divergences", section VIII-E (with ``n_words=1000``).

    Examples
    --------
    >>> from thresher import TopicModel
    >>> pets, skies = "cats purr and dogs bark at cats", "rain and wind, then snow and wind"
    >>> model = TopicModel(2, random_state=0).fit([pets, skies] * 20)
    >>> sorted(model.top_words(4)[model.transform([pets]).argmax()])
    ['bark', 'cats', 'dogs', 'purr']
    """

    components_: Array
    words_: NDArray[np.object_]
    model_: Any
    tfidf_: TfIdf | None
    _counter: WordCounter

    def __init__(
        self,
        n_components: int = 10,
        *,
        vectorizer: Any = None,
        vocabulary: Any = None,
        weighting: str | None = "tfidf",
        n_words: int | None = None,
        model: Any = None,
        batch_size: int = 512,
        warm_up: int = 2000,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.vectorizer = vectorizer
        self.vocabulary = vocabulary
        self.weighting = weighting
        self.n_words = n_words
        self.model = model
        self.batch_size = batch_size
        self.warm_up = warm_up
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ learning

    def fit(self, documents: Any, y: Any = None) -> Self:
        """Learn topics anew.

        Parameters
        ----------
        documents : sequence of str, table of counts, or iterator
            Texts (a list, a pandas column), or a row of counts for each document (CSR, array, data
            frame), or a stream of either, one by one or in batches, which is read once and never
            held as a whole; or a Dask bag of texts, or Dask array of counts, in one pass.
        y : ignored
        """
        self._check_parameters()
        if is_collection(documents):
            return self._adopt(*fit_collection(self, documents))
        if is_stream(documents):
            return self._fit_stream(documents)
        counter, counts = learn_words(documents, self.vectorizer, self.vocabulary)
        tfidf = self._new_tfidf(counts)
        weights = first_weights(tfidf, counts)
        model = self._new_model(weights.shape[0])
        model.fit(weights)
        return self._adopt(counter, tfidf, model)

    def partial_fit(self, documents: Any, y: Any = None) -> Self:
        """Learn from one batch of documents; the first one finds the vocabulary, if none is given.

        Parameters
        ----------
        documents : sequence of str, or table of counts
        y : ignored
        """
        if not hasattr(self, "model_"):
            self._check_parameters()
            self._check_learns_in_batches()
            counter, counts = learn_words(documents, self.vectorizer, self.vocabulary)
            tfidf = self._new_tfidf(counts)
            model = self._new_model()
            model.partial_fit(first_weights(tfidf, counts))
        else:
            self._check_goes_on()
            self._check_learns_in_batches()
            counter, model = self._counter, self.model_
            counts = counter.counts(documents)
            tfidf = copy.deepcopy(self.tfidf_)  # if the model refuses, nothing has changed
            if tfidf is not None:
                tfidf.partial_fit(counts)
            model.partial_fit(weighted(tfidf, counts))
        return self._adopt(counter, tfidf, model)

    # --------------------------------------------------------------- what was found

    @property
    def topics_(self) -> list[Topic]:
        """Name, top eight words and their shares, for each topic."""
        words, names = self.top_words(), self._names()
        weights = [sorted(row, reverse=True)[:8] for row in self.components_.tolist()]
        return [
            Topic(name, top, share[: len(top)])
            for name, top, share in zip(names, words, weights, strict=True)
        ]

    def top_words(self, n: int = 8) -> list[list[str]]:
        """The words that weigh most in each topic, best first; words of no weight are left out."""
        check_is_fitted(self, "components_")
        require_positive("n", n)
        tops = []
        for row in self.components_:
            order = np.argsort(-row, kind="stable")[:n]
            tops.append([str(word) for word in self.words_[order[row[order] > 0]]])
        return tops

    def transform(self, documents: Any, *, write: Any = None) -> Any:
        """Share of each topic in each document.

        Parameters
        ----------
        documents : sequence of str, table of counts, source or iterator
            As for `fit`.
        write : path or array, optional
            Where to put the shares, batch by batch, as in `OnlineNMF.transform`.

        Returns
        -------
        shares : array of shape (n, K), of a Dask collection a lazy one
            Rows sum to one. A document without a known word has equal shares of all topics. Of a
            stream, an iterable of such arrays; with ``write``, what was written to.
        """
        check_is_fitted(self, "components_")
        self._check_goes_on()
        if is_collection(documents):
            return lazy_shares(self, documents)
        if write is not None or is_stream(documents):
            return self._by_batch("transform", stream_of(documents, self.batch_size), write)
        return self._shares(documents)

    def _shares_of(self, documents: Any) -> Array:
        """What `transform` gives, as one array, whatever `set_output` says."""
        check_is_fitted(self, "components_")
        self._check_goes_on()
        if not is_stream(documents):
            return self._shares(documents)
        blocks = [np.asarray(each) for each in self.transform(documents)]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.components_)))

    def document_topics(self, documents: Any, n: int = 3) -> list[list[tuple[str, float]]]:
        """Names and shares of the largest topics of each document, largest first."""
        require_positive("n", n)
        names = self._names()
        return [
            [(names[topic], float(row[topic])) for topic in np.argsort(-row, kind="stable")[:n]]
            for row in self._shares_of(documents)
        ]

    def coherence(self, documents: Any, n_words: int = 10) -> TopicCoherence:
        """How much the top words of topics keep company in documents, from -1 to 1.

        Parameters
        ----------
        documents : sequence of str, or table of counts
            Preferably not those that the topics were learned from.
        n_words : int
            Words of each topic that count.

        Returns
        -------
        TopicCoherence
            ``per_topic`` and ``mean``; see `thresher.metrics.topic_coherence`.
        """
        check_is_fitted(self, "components_")
        return topic_coherence(self.components_, self._counts(documents), n_words)

    def _counts(self, documents: Any) -> Any:
        """How often the words of the topics stand in documents."""
        counts = self._counter.counts(documents)
        return counts if self.tfidf_ is None else counts[:, self.tfidf_.selected_]

    def report(self, path: str | Path, documents: Any = None) -> Path:
        """Write a page with pictures of the topics, and return its path.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        documents : sequence of str, or table of counts, optional
            If given, the page also tells how large the topics are in them, how coherent, and which
            documents are typical.
        """
        return write_page(self, self._page(documents), path, "fit(documents)")

    def _page(self, documents: Any = None) -> Any:
        check_is_fitted(self, "components_")
        # Pictures are drawn with matplotlib, which learning does not need.
        from thresher.tasks.topics.report import topic_report

        return topic_report(self, documents)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the topics, for data frames."""
        return np.array(self._names(), dtype=object)

    # -------------------------------------------------------------------- details

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.weighting not in ("tfidf", None):
            raise ValueError(f"weighting={self.weighting!r} is not known; use 'tfidf' or None.")
        if self.weighting is None and self.n_words is not None:
            raise ValueError(
                "n_words chooses by tf-idf, which weighting=None turns off; leave n_words out, and "
                "use CountVectorizer(max_features=...) instead."
            )
        if isinstance(self.model, type):
            name = self.model.__name__
            raise ValueError(f"model={name} is a class; add brackets: {name}().")
        needed = ("fit", "transform", "get_params")
        if self.model is not None and not all(hasattr(self.model, name) for name in needed):
            raise ValueError(
                f"model={self.model!r} cannot factorise: it needs fit, transform and get_params, "
                "like an estimator of Thresher or scikit-learn. Or leave it out."
            )

    def _check_learns_in_batches(self) -> None:
        if self.model is not None and not hasattr(self.model, "partial_fit"):
            raise ValueError(
                f"{type(self.model).__name__} has no partial_fit, so it cannot learn in batches; "
                "call fit with a list of all documents, or give a model that can, such as "
                "OnlineNMF or MiniBatchNMF."
            )

    def _new_tfidf(self, counts: Any) -> TfIdf | None:
        return TfIdf(self.n_words).fit(counts) if self.weighting else None

    def _new_model(self, n_documents: int | None = None) -> Any:
        if self.model is not None:
            return clone(self.model)
        batch_size, n_starts = self.batch_size, 1
        if n_documents is not None and n_documents < _LEAST_BATCHES * self.batch_size:
            batch_size = min(batch_size, max(_SMALLEST_BATCH, n_documents // _LEAST_BATCHES))
            n_starts = _STARTS_FOR_SHORT_LISTS
        return OnlineNMF(
            self.n_components,
            divergence="kl",
            dictionary_set="simplex",
            batch_size=batch_size,
            n_starts=n_starts,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _fit_stream(self, documents: Iterable[Any]) -> Self:
        self._check_learns_in_batches()
        batches = batches_of_stream(documents, self.batch_size, self.warm_up)
        head = next(batches, None)
        if head is None:
            raise ValueError("The stream is empty; give it at least one document.")
        counter, counts = learn_words(head, self.vectorizer, self.vocabulary)
        tfidf = self._new_tfidf(counts)
        model = self._new_model()
        for block in batches_of(first_weights(tfidf, counts), self.batch_size):
            model.partial_fit(block)
        self._adopt(counter, tfidf, model)
        for batch in batches:
            self.partial_fit(batch)
        return self

    def _adopt(self, counter: WordCounter, tfidf: TfIdf | None, model: Any) -> Self:
        words = counter.words if tfidf is None else counter.words[tfidf.selected_]
        atoms = atoms_of(model, len(words))
        self._counter, self.tfidf_, self.model_, self.words_ = counter, tfidf, model, words
        self._began_as = self._identity()
        mass = atoms.sum(axis=1, keepdims=True)
        self.components_ = np.divide(atoms, mass, out=np.zeros_like(atoms), where=mass > 0)
        return self

    def _shares(self, documents: Any) -> Array:
        weights = weighted(self.tfidf_, self._counter.counts(documents))
        codes = np.asarray(self.model_.transform(weights), dtype=np.float64)
        # The weight that a topic explains in a document, whatever the scale of the atoms.
        explained = codes * np.asarray(self.model_.components_, dtype=np.float64).sum(axis=1)
        total = explained.sum(axis=1, keepdims=True)
        equal = np.full_like(explained, 1 / explained.shape[1])
        return np.asarray(np.divide(explained, total, out=equal, where=total > 0))

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        return pack_topics(self)

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        return unpack_topics(contents)

    def _names(self) -> list[str]:
        return topic_names(self.top_words(MOST_WORDS))
