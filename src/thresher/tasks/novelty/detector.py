"""Novel documents in a stream: paper B, and a score to rely on."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from thresher.cluster import is_collection
from thresher.engine.progress import ProgressBar
from thresher.estimators.parameters import (
    COUNT,
    MAY_CHANGE,
    REAL,
    SEED,
    SHARE,
    WHOLE,
    KeepsParameters,
    check_argument,
)
from thresher.estimators.reports import write_report
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.tasks.novelty.alarm import AlertRule
from thresher.tasks.novelty.collections import lazy_scores
from thresher.tasks.novelty.emerging import emerging_topics
from thresher.tasks.novelty.explaining import explained
from thresher.tasks.novelty.file import pack_detector, unpack_detector
from thresher.tasks.novelty.found import FoundInStep
from thresher.tasks.novelty.held_out import HeldOut
from thresher.tasks.novelty.memory import Memory, learned_from
from thresher.tasks.novelty.modes import (
    MemorySettings,
    check_mode,
    check_model,
    memory_of,
    of_model,
)
from thresher.tasks.novelty.recent import RecentDocuments
from thresher.tasks.novelty.results import Explanation, NoveltyStep
from thresher.tasks.novelty.starting import begun, without_rarest
from thresher.tasks.novelty.usual import PastScores, ScoreReference
from thresher.tasks.text.growing_words import GrowingWords
from thresher.tasks.text.records import Record, check_records, records_of
from thresher.tasks.text.steps import DocumentStep, document_steps

_log = logging.getLogger(__name__)


class NovelDocumentDetector(KeepsParameters, BaseEstimator):
    r"""Tell which documents of a stream are about something that has not come up before.

    At each time step all documents are scored against what came before, the novel ones are marked,
    and then all are learned from. The vocabulary grows with the stream, and weights of words
    follow it: tf-idf :math:`x` with the document frequencies of the steps before.

    ``auto`` remembers the directions :math:`s_k` in which documents lie (spherical k-means, of
    constant size) and the last 2000 documents. Its score is the mean of two distances,

    .. math:: 1 - \max_k \cos(x, s_k), \qquad 1 - \tfrac13 \sum_{y \text{ near } x} \cos(x, y),

    from the nearest direction and from the three nearest documents: 0 is a copy, 1 has no word of
    what came before. The last documents have the same score, each as if it had not been seen, and
    a document is novel if at most
    ``false_alarm_rate`` of them score as high. Groups of documents that are new together are found
    besides, also where each alone could be chance.

    The other modes are those of paper B, with documents of unit ℓ1 length and the score

    .. math:: \min_{c \ge 0} \|x - cD\|_1 + \lambda \|c\|_1.

    Parameters
    ----------
    n_components : int
        Directions or atoms.
    mode : {"auto", "online", "batch_impl", "l2_batch"} or one of thresher.solvers
        ``online`` is `OnlineL1Dictionary` with the published OIADMM, started by the batch method
        on the first documents; ``batch_impl`` (Algorithm 4) and ``l2_batch`` (Algorithm 5) keep all
        documents and learn anew at every step, with ``n_new_atoms`` more atoms. Their constants,
        such as λ, are those of ``thresher.solvers.online``, ``batch_impl`` and ``l2_batch``.
    model : estimator, optional
        Any dictionary model of the library, instead of a mode; its loss is the score. With
        `partial_fit` it learns step by step, without it anew from all documents. Of
        `OnlineOrthogonalDictionary`, which cannot grow, ``n_components`` is the number of terms:
        those of largest weight in the documents to start from, and no others.
    n_new_atoms : int
        Atoms that a dictionary grows by at every step, started from its least explained documents;
        η = 10 as published for the batch modes.
    threshold, top_share, fdr, false_alarm_rate : float
        When a document is novel: if its score is above ``threshold``, if it is among the
        ``top_share`` of its step, if it belongs to those of which at most the share ``fdr`` is
        expected to be false, or (by default) if its p-value is at most ``false_alarm_rate``.
    vectorizer : scikit-learn vectoriser, optional
        How texts are cut into words; by default words of three letters at least, in lower case,
        without English stop words.
    max_words : int
        Size of the vocabulary; if there are more, the rarest leave.
    keep_texts : bool
        Keep the last 2000 documents as they are, with their ids, so that `explain` can show those
        that are most like another. They are then part of the file that `thresher.save` writes.
        Without it ``auto`` keeps only which words they have.
    random_state : int, RandomState or None
    verbose : int
        1 shows a progress bar on a terminal; 0 does not.

    Attributes
    ----------
    words_ : list of str
        The vocabulary.
    components_ : array of shape (K, n_words)
        Directions or atoms.
    n_documents_ : int
        Documents learned from.

    Examples
    --------
    >>> from thresher import NovelDocumentDetector
    >>> old = ["rain falls on the hills", "wind and rain in the north", "snow on northern hills"]
    >>> detector = NovelDocumentDetector(3, random_state=0).fit(old * 20)
    >>> step = detector.step([*old, "parliament votes on the new budget"])
    >>> step.novel.tolist()
    [False, False, False, True]
    """

    _may_change = MAY_CHANGE | {"vectorizer"}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [COUNT],
        "n_new_atoms": [WHOLE, None],
        "threshold": [REAL, None],
        "top_share": [SHARE, None],
        "false_alarm_rate": [SHARE],
        "fdr": [SHARE, None],
        "max_words": [COUNT],
        "keep_texts": ["boolean"],
        "random_state": SEED,
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        mode: Any = "auto",
        model: Any = None,
        n_new_atoms: int | None = None,
        threshold: float | None = None,
        top_share: float | None = None,
        false_alarm_rate: float = 0.05,
        fdr: float | None = None,
        vectorizer: Any = None,
        max_words: int = 100_000,
        keep_texts: bool = False,
        random_state: Any = None,
        verbose: int = 1,
    ) -> None:
        self.n_components = n_components
        self.mode = mode
        self.model = model
        self.n_new_atoms = n_new_atoms
        self.threshold = threshold
        self.top_share = top_share
        self.false_alarm_rate = false_alarm_rate
        self.fdr = fdr
        self.vectorizer = vectorizer
        self.max_words = max_words
        self.keep_texts = keep_texts
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ learning

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        return tags

    def fit(self, documents: Any, y: Any = None) -> Self:
        """Start from some documents, none of which counts as novel.

        With less than 20 documents nothing will be marked at first by the default rule: one in
        twenty cannot be told from so few. (Other modes than ``auto`` score the last fifth of the
        documents before they learn from it, and need twice as many.)

        Parameters
        ----------
        documents : list of str, pandas column, or table of counts
            In a table every column is a word, and later tables may have more columns.
        y : ignored
        """
        self._check_parameters()
        self._new_alarm()
        words = GrowingWords(self.vectorizer, self.max_words)
        counts, new = words.counts(documents)
        words.enter(new)
        usual, told = self._new_usual(), records_of(documents, 0)
        memory, usual = begun(self._new_memory, usual, words, counts, self.false_alarm_rate, told)
        return self._adopt(words, memory, usual, 0)

    def step(
        self, documents: Any, name: str | None = None, records: Sequence[Record] | None = None
    ) -> NoveltyStep:
        """Score the documents of a time step, mark the novel ones, then learn from all.

        Parameters
        ----------
        documents : list of str, pandas column, or table of counts
        name : str, optional
            By default the number of the step.
        records : list of Record, optional
            What is known of each document beside its words; by default its number in the stream,
            and its text.
        """
        words, alarm = self._current_words(), self._new_alarm()
        counts, new = words.counts(documents)
        known = records_of(documents, self.n_documents_) if records is None else records
        told = check_records(known, counts.shape[0])
        words.enter(new)
        weights = words.weights(counts)
        judged = self._usual.judged(self._memory, words, weights)
        novel = alarm.marks(judged.scores, judged.p_values, judged.together)
        shift = max(judged.shift, alarm.excess(judged.p_values, novel))
        marked = np.flatnonzero(novel)
        topics = judged.topics
        if topics is None:
            topics = emerging_topics(weights[marked], marked, words.words, judged.scores[marked])
        usual = self._usual.learned(words, counts, judged, self.false_alarm_rate, told)
        memory = learned_from(self._memory, words, counts)
        memory, usual = without_rarest(memory, usual, words)
        label = str(self.n_steps_) if name is None else name
        self._adopt(words, memory, usual, self.n_steps_ + 1)
        _log.info("Step %s: %d of %d documents are novel", label, len(marked), len(novel))
        topics = [topic._replace(records=[told[d] for d in topic.documents]) for topic in topics]
        return NoveltyStep(label, judged.scores, judged.p_values, novel, topics, shift, False, told)

    def _start(self, documents: Any, name: str, records: Sequence[Record]) -> NoveltyStep:
        """`fit`, told as a step in which nothing is novel."""
        self.fit(documents)
        told = check_records(records, self.n_documents_)
        n = len(told)
        return NoveltyStep(
            name, np.full(n, np.nan), np.ones(n), np.zeros(n, bool), [], 0.0, True, told
        )

    def watch(
        self,
        source: Any,
        size: int = 1000,
        *,
        text: str = "text",
        date_field: str | None = None,
        every: str = "day",
        id_field: str = "id",
        title_field: str = "title",
        follow: bool = False,
    ) -> Iterator[NoveltyStep]:
        """Go through a stream step by step; the first step starts the detector, if nothing has.

        Parameters
        ----------
        source : path, data frame, table of counts, list or iterator
            A file of JSON lines (may end in .gz), a data frame, records, texts, or counts.
        size : int
            Documents in a step, if there is no date.
        text, date_field, id_field, title_field : str
            Fields of the text, the date, the id and the title; with a date, steps are days, weeks
            or months.
        every : {"day", "week", "month"}
        follow : bool
            Go on when the end of the file is reached, and wait for what is added to it.
        """
        self._validate_params()
        label = f"{type(self).__name__}: documents"
        with ProgressBar(label, None, self.verbose > 0) as bar:
            seen = 0
            fields = {"text": text, "id_field": id_field, "title_field": title_field}
            steps = document_steps(
                source, size, date_field=date_field, every=every, follow=follow, **fields
            )
            for step in steps:
                seen += len(step.records)
                found = self.taken(step)
                bar.update(seen, f"{int(found.novel.sum())} novel in {found.name}")
                yield found

    def taken(self, step: DocumentStep) -> NoveltyStep:
        """What a step says: `step` of its documents, or `fit` if it is the first of all."""
        begins = not hasattr(self, "_memory")
        verb = self._start if begins else self.step
        return verb(step.documents, step.name, step.records)

    # --------------------------------------------------------------- what was found

    def novelty_scores(self, documents: Any) -> Any:
        """Scores of some documents, which are not learned from; the larger, the more novel.

        Of a Dask bag of texts, or a Dask array of counts, a Dask array that is not computed yet.
        """
        words = self._current_words()
        if is_collection(documents):
            return lazy_scores(self, documents)
        counts, _ = words.counts(documents)
        return self._usual.scores(self._memory, words, words.weights(counts))

    def explain(self, document: Any, n_words: int = 10, n_atoms: int = 3) -> Explanation:
        """Which words of a document nothing explains, and what is nearest to it.

        Parameters
        ----------
        document : str, or table of one row
        n_words, n_atoms : int
            How many of each are told.
        """
        check_argument("explain", [COUNT], n_words=n_words, n_atoms=n_atoms)
        return explained(
            self._memory, self._usual, self._current_words(), document, n_words, n_atoms
        )

    def report(self, path: str | Path, found: Sequence[FoundInStep] = ()) -> Path:
        """Write a page about novel documents, with their unexplained words marked.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        found : sequence of FoundInStep
            What `thresher.tasks.novelty.explained_steps` gave.
        """
        return write_report(self, self._page(found), path, "fit(texts)")

    def _page(self, found: Sequence[FoundInStep] = ()) -> Any:
        self._check_fitted()
        # Pictures are drawn with matplotlib, which learning does not need.
        from thresher.tasks.novelty.report import novelty_report

        return novelty_report(self, found)

    @property
    def words_(self) -> list[str]:
        """The vocabulary."""
        self._check_fitted()
        return self._words.words

    @property
    def components_(self) -> Array:
        """Directions or atoms, in rows."""
        self._check_fitted()
        return self._memory.atoms

    @property
    def n_documents_(self) -> int:
        """Documents learned from."""
        self._check_fitted()
        return self._words.n_documents

    # -------------------------------------------------------------------- details

    def _packed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """For `thresher.save`."""
        return pack_detector(self)

    @classmethod
    def _unpacked(cls, contents: Contents) -> Self:
        """For `thresher.load`."""
        return unpack_detector(contents)

    def _adopt(
        self, words: GrowingWords, memory: Memory, usual: ScoreReference, n_steps: int
    ) -> Self:
        """Take all of it over at once, so that an interrupt leaves the old state or the new one."""
        self.__dict__.update(
            _words=words,
            _memory=memory,
            _usual=usual,
            n_steps_=n_steps,
            _began_as=self._identity(),
        )
        return self

    def _current_words(self) -> GrowingWords:
        """A copy of the words that cuts texts by the current vectoriser."""
        self._check_fitted()
        self._check_goes_on()
        return self._words.copy(self.vectorizer)

    def _new_alarm(self) -> AlertRule:
        """The rule by the current parameters."""
        return AlertRule(self.threshold, self.top_share, self.false_alarm_rate, self.fdr)

    def _new_usual(self) -> ScoreReference:
        """What `auto` compares with are documents; others compare with the scores before."""
        if self.model is not None or self.mode != "auto":
            return PastScores()
        return HeldOut(RecentDocuments.none(self.keep_texts))

    def _new_memory(self, n_features: int) -> Memory:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings = MemorySettings(
            self.n_components, self.n_new_atoms, n_features, seed, self.verbose
        )
        given = self.model is not None
        return of_model(self.model, settings) if given else memory_of(self.mode, settings)

    def _check_parameters(self) -> None:
        self._validate_params()
        check_mode(self.mode)
        check_model(self.model, self.n_new_atoms)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_memory"):
            raise NotFittedError(
                "This detector has not seen a document yet; call fit with the documents to start "
                "from, or watch a stream."
            )
