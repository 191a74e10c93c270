"""Topics of documents: text in, topics out."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from thresher.cluster import is_collection
from thresher.estimators import OnlineNMF
from thresher.estimators.parameters import (
    COUNT,
    MAY_CHANGE,
    SEED,
    SHARE,
    KeepsParameters,
)
from thresher.estimators.registry import FORGETTING
from thresher.estimators.results import Results, codes_like, comes_in_parts, refuse_single_reading
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.streams import as_source, is_stream
from thresher.streams.writing import About, write_results
from thresher.tasks.text.documents import batches_of, batches_of_stream, stream_of
from thresher.tasks.text.tfidf import TfIdf
from thresher.tasks.text.words import learn_words
from thresher.tasks.topics.checks import check_topics
from thresher.tasks.topics.collections import fit_collection, lazy_shares
from thresher.tasks.topics.file import pack_topics, unpack_topics
from thresher.tasks.topics.from_sklearn import model_from
from thresher.tasks.topics.growing import (
    GROW,
    WORD_HALF_LIFE,
    first_words,
    relaid,
)
from thresher.tasks.topics.life import TopicLife
from thresher.tasks.topics.measures import MeasuresTopics
from thresher.tasks.topics.shown import ShowsTopics
from thresher.tasks.topics.watching import WatchesTopics
from thresher.tasks.topics.weights import atoms_of, check_weights, explained_weights, weighted

# Heuristic.
_LEAST_BATCHES, _SMALLEST_BATCH = 16, 64
_STARTS_FOR_SHORT_LISTS = 4


class CodesDocuments:
    """`transform` and `fit_transform`, which scikit-learn does not wrap: streams give no frame."""

    batch_size: int
    components_: Array
    fit: Any
    get_feature_names_out: Any
    _check_goes_on: Any
    _shares: Any

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
            return self._shares_by_batch(stream_of(documents, self.batch_size), write)
        return codes_like(documents, self._shares(documents), self)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn, then return the shares of the same documents; see `transform`."""
        if comes_in_parts(X):
            refuse_single_reading(X)
        return self.fit(X, y, **fit_params).transform(X)

    def _shares_by_batch(self, stream: Any, write: Any) -> Any:
        source = as_source(stream)
        if source.batch_size is None and source.reader.uneven and not source.window:
            source = source.in_batches(1 << 62)  # each list as it comes
        source = source.sized(len(self.components_))
        shares = Results(source, lambda piece: codes_like(piece, self._shares(piece), self))
        if write is None:
            return shares
        return write_results(
            shares, write, About(list(self.get_feature_names_out())), source.reader.paths
        )


class TopicModel(
    WatchesTopics,
    MeasuresTopics,
    ShowsTopics,
    CodesDocuments,
    KeepsParameters,
    TransformerMixin,
    BaseEstimator,
):
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
    vocabulary : sequence of str, dict from words to columns, or "grow", optional
        The words to count; for documents that come as a table of counts, the word of each column.
        With "grow", words enter in `partial_fit` and `watch` when a second document has them, and
        leave when they are no longer used; tables are then read by the names of their columns.
    weighting : "tfidf" or None
        None takes counts as they are; so give it with a vectoriser that weights words itself.
    n_words : int, optional
        Keep only so many words, those of the largest tf-idf in all; by default all words.
    model : estimator, optional
        What factorises: anything with `fit`, `partial_fit`, `transform` and ``components_``; a copy
        of it is fitted. By default
        ``OnlineNMF(n_components, divergence="kl", dictionary_set="simplex")``.
    max_words : int
        Words that are known at a time, if the vocabulary grows; of more, the rarest leave.
    forgetting : "auto", None or float
        How the past counts in the default model, as in `OnlineNMF`, and in the counts of words of
        a vocabulary that grows, for which "auto" is a half-life of 10,000 documents.
    false_alarm_rate : float
        In `watch`, the chance of an event in a step in which the odds of topics change by no more
        than a factor of two.
    batch_size : int
        Documents that are learned from at a time. If a list or table is shorter than 16 batches,
        the default model takes a sixteenth of it, but at least 64, and the best of four starts:
        in few documents small steps find better topics, and a single start sometimes merges two.
    warm_up : int
        Documents of a stream that are held back to find the vocabulary; then they are learned from.
        In `watch`, a stream is young up to so many, and starts anew when they have doubled.
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
    In a stream the vocabulary stays, unless it may grow: it is given, or found in the first batch
    of `partial_fit` or the first ``warm_up`` documents of `fit`. Words that turn up later are then
    not counted. Document frequencies do follow the stream.

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
    _counter: Any
    _life: TopicLife | None = None
    _may_change = MAY_CHANGE - {"forgetting"}  # that of what factorises stays

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [COUNT],
        "n_words": [COUNT, None],
        "max_words": [COUNT],
        "false_alarm_rate": [SHARE],
        "forgetting": FORGETTING,
        "batch_size": [COUNT],
        "warm_up": [COUNT],
        "random_state": SEED,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int = 10,
        *,
        vectorizer: Any = None,
        vocabulary: Any = None,
        weighting: str | None = "tfidf",
        n_words: int | None = None,
        model: Any = None,
        max_words: int = 20_000,
        forgetting: Any = "auto",
        false_alarm_rate: float = 0.05,
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
        self.max_words = max_words
        self.forgetting = forgetting
        self.false_alarm_rate = false_alarm_rate
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

    @classmethod
    def from_sklearn(cls, estimator: Any, **parameters: Any) -> Self:
        """A model with the parts of a pipeline of scikit-learn, or with its vectoriser.

        Parameters
        ----------
        estimator : vectoriser, or Pipeline
            A pipeline begins with a vectoriser, may weight words, and may end with a
            factorisation. If all of it is fitted, so is the model, with the same topics; a
            ``CountVectorizer`` that is fitted alone keeps its words.
        **parameters
            Others of the model.
        """
        model: Self = model_from(cls, estimator, parameters)
        return model

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
        return self._fit_list(documents, _STARTS_FOR_SHORT_LISTS)

    def _fit_list(self, documents: Any, n_starts: int) -> Self:
        """`fit` of what is in memory, with so many starts if it is little."""
        counter, tfidf, _, weights = self._first_words(documents)
        model = self._new_model(weights.shape[0], n_starts)
        model.fit(weights)
        return self._adopt(counter, tfidf, model)

    def partial_fit(self, documents: Any, y: Any = None) -> Self:
        """Learn from one batch of documents; the first one finds the vocabulary, if none is given.

        With ``vocabulary="grow"`` words enter and leave first. What is refused changes nothing.

        Parameters
        ----------
        documents : sequence of str, or table of counts
        y : ignored
        """
        if not hasattr(self, "model_"):
            self._check_parameters()
            self._check_learns_in_batches()
            counter, tfidf, _, weights = self._first_words(documents)
            model = self._new_model()
            model.partial_fit(weights)
        elif self._grows:
            return self._partial_fit_growing(documents)
        else:
            self._check_goes_on()
            self._check_learns_in_batches()
            counter, model = self._counter, self.model_
            counts = counter.counts(documents)
            tfidf = copy.deepcopy(self.tfidf_)  # if the model refuses, nothing has changed
            if tfidf is not None:
                tfidf.partial_fit(counts)
            model.partial_fit(weighted(tfidf, counts))
        life = None if self._life is None else self._life.grown_up()
        return self._adopt(counter, tfidf, model, life)

    def _partial_fit_growing(self, documents: Any) -> Self:
        """`partial_fit` on copies, since a model of another width does not suit the old words."""
        self._check_goes_on()
        n_known, life = len(self._counter.words), self._life
        counter, counts = self._counter.entered(documents)
        learned = counter.learned(counts, self._word_half_life())
        tfidf, model = learned.words.tfidf(), copy.deepcopy(self.model_)
        relaid(model, learned.origin)
        model.partial_fit(weighted(tfidf, counts[:, learned.kept]))
        if life is not None:
            life = life.grown_up().relaid(np.arange(n_known), counts.shape[1])
            life = life.relaid(learned.kept, len(learned.kept))
        return self._adopt(learned.words, tfidf, model, life)

    # -------------------------------------------------------------- what documents are about

    def _shares_of(self, documents: Any) -> Array:
        """What `transform` gives, as one array, whatever `set_output` says."""
        check_is_fitted(self, "components_")
        self._check_goes_on()
        if not is_stream(documents):
            return self._shares(documents)
        blocks = [np.asarray(each) for each in self.transform(documents)]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.components_)))

    # -------------------------------------------------------------------- details

    def _check_parameters(self) -> None:
        self._validate_params()
        check_topics(self)

    def _check_learns_in_batches(self) -> None:
        if self.model is not None and not hasattr(self.model, "partial_fit"):
            raise ValueError(
                f"{type(self.model).__name__} has no partial_fit, so it cannot learn in batches; "
                "call fit with a list of all documents, or give a model that can, such as "
                "OnlineNMF or MiniBatchNMF."
            )

    @property
    def _grows(self) -> bool:
        return isinstance(self.vocabulary, str) and self.vocabulary == GROW

    def _word_half_life(self) -> float:
        """Of the counts of words in a vocabulary that grows."""
        if self.forgetting is None:
            return float("inf")
        return WORD_HALF_LIFE if isinstance(self.forgetting, str) else float(self.forgetting)

    def _first_words(self, documents: Any) -> tuple[Any, TfIdf | None, Any, Any]:
        """Return what counts words, what weights them, and the first documents by both."""
        counter: Any
        tfidf: TfIdf | None
        if self._grows:
            counter, tfidf, counts = first_words(documents, self.vectorizer, self.max_words)
            weights = weighted(tfidf, counts)
        else:
            counter, counts = learn_words(documents, self.vectorizer, self.vocabulary)
            tfidf = TfIdf(self.n_words) if self.weighting else None
            weights = weighted(None, counts) if tfidf is None else tfidf._fit_weights(counts)
        check_weights(counts, weights)
        return counter, tfidf, counts, weights

    def _new_model(
        self, n_documents: int | None = None, n_starts: int = _STARTS_FOR_SHORT_LISTS
    ) -> Any:
        if self.model is not None:
            return clone(self.model)
        batch_size = self.batch_size
        if n_documents is not None and n_documents < _LEAST_BATCHES * self.batch_size:
            batch_size = min(batch_size, max(_SMALLEST_BATCH, n_documents // _LEAST_BATCHES))
        else:
            n_starts = 1
        return OnlineNMF(
            self.n_components,
            divergence="kl",
            dictionary_set="simplex",
            batch_size=batch_size,
            n_starts=n_starts,
            forgetting=self.forgetting,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _fit_stream(self, documents: Iterable[Any]) -> Self:
        self._check_learns_in_batches()
        batches = batches_of_stream(documents, self.batch_size, self.warm_up)
        head = next(batches, None)
        if head is None:
            raise ValueError("The stream is empty; give it at least one document.")
        counter, tfidf, _, weights = self._first_words(head)
        model = self._new_model()
        for block in batches_of(weights, self.batch_size):
            model.partial_fit(block)
        self._adopt(counter, tfidf, model)
        for batch in batches:
            self.partial_fit(batch)
        return self

    def _adopt(self, counter: Any, tfidf: TfIdf | None, model: Any, life: Any = None) -> Self:
        """Take all of it over at once, so that an interrupt leaves the old model or the new one."""
        words = counter.words if tfidf is None else counter.words[tfidf.selected_]
        atoms = atoms_of(model, len(words))
        mass = atoms.sum(axis=1, keepdims=True)
        self.__dict__.update(
            _counter=counter,
            tfidf_=tfidf,
            model_=model,
            words_=words,
            components_=np.divide(atoms, mass, out=np.zeros_like(atoms), where=mass > 0),
            _life=life,
            _began_as=self._identity(),
        )
        return self

    def _shares(self, documents: Any) -> Array:
        return self._shares_of_weights(weighted(self.tfidf_, self._counter.counts(documents)))

    def _shares_of_weights(self, weights: Any) -> Array:
        explained = explained_weights(self.model_, weights)
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
