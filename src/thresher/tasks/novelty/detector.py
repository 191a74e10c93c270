"""Novel documents in a stream: paper B, and a score to rely on."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from thresher.cluster import is_collection
from thresher.engine.progress import ProgressBar
from thresher.estimators.parameters import (
    MAY_CHANGE,
    KeepsParameters,
    check_parameters,
    require_positive,
)
from thresher.estimators.reporting import write_page
from thresher.linalg import Array
from thresher.persistence import Contents
from thresher.tasks.novelty.alarm import Alarm
from thresher.tasks.novelty.collections import lazy_scores
from thresher.tasks.novelty.emerging import emerging_topics
from thresher.tasks.novelty.file import pack_detector, unpack_detector
from thresher.tasks.novelty.found import FoundInStep
from thresher.tasks.novelty.growing_words import GrowingWords
from thresher.tasks.novelty.memory import Memory, learned_from, without_rarest
from thresher.tasks.novelty.modes import MemorySettings, check_mode, is_square, memory_of, of_model
from thresher.tasks.novelty.results import Explanation, NoveltyStep
from thresher.tasks.novelty.steps import document_steps

_log = logging.getLogger(__name__)

_CALIBRATED = 0.2  # of the first documents, held out to learn usual scores; by judgement


class NovelDocumentDetector(KeepsParameters, BaseEstimator):
    r"""Tell which documents of a stream are about something that has not come up before.

    At each time step all documents are scored against what came before, the novel ones are marked,
    and then all are learned from. The vocabulary grows with the stream, and weights of words
    follow it: tf-idf :math:`x` with the document frequencies of the steps before.

    ``auto`` remembers the directions in which documents lie (spherical k-means, of constant size)
    and scores

    .. math:: 1 - \max_k \cos(x, s_k).

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
    threshold, top_share, false_alarm_rate : float
        When a document is novel: if its score is above ``threshold``, if it is among the
        ``top_share`` of its step, or (by default) if at most ``false_alarm_rate`` of the documents
        before scored as high.
    vectorizer : scikit-learn vectoriser, optional
        How texts are cut into words; by default words of three letters at least, in lower case,
        without English stop words.
    max_words : int
        Size of the vocabulary; if there are more, the rarest leave.
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
        vectorizer: Any = None,
        max_words: int = 100_000,
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
        self.vectorizer = vectorizer
        self.max_words = max_words
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ learning

    def fit(self, documents: Any, y: Any = None) -> Self:
        """Start from some documents, none of which counts as novel.

        A fifth of them, the last (of few documents up to half), is scored before it is learned
        from, which tells what scores are usual. With 40 documents or less nothing will be marked at
        first by the default rule: one in twenty cannot be told from so few.

        Parameters
        ----------
        documents : list of str, pandas column, or table of counts
            In a table every column is a word, and later tables may have more columns.
        y : ignored
        """
        self._check_parameters()
        alarm = self._new_alarm()
        words = GrowingWords(self.vectorizer, self.max_words)
        counts, new = words.counts(documents)
        words.enter(new)
        n = counts.shape[0]
        # At a rate of one in twenty nothing can be marked before twenty scores are known.
        enough = int(np.ceil(2 / self.false_alarm_rate))
        held_out = min(n // 2, max(int(_CALIBRATED * n), enough))
        first, last = counts[: n - held_out], counts[n - held_out :]
        words.learn(first)
        weights = words.weights(first)
        if weights.nnz == 0:
            raise ValueError(
                "There is no word in the documents to start from that tells them apart; give more, "
                "or other ones."
            )
        nothing = self._new_memory(weights.shape[1])
        memory = nothing.learned(weights)
        if held_out:
            alarm.learn(memory.scores(words.weights(last)))
            if nothing.begins_whole:  # what was learned so far only told which scores are usual
                words.learn(last)
                memory = without_rarest(nothing.learned(words.weights(counts)), words)
            else:
                memory = learned_from(memory, words, last)
        return self._adopt(words, memory, alarm, 0)

    def step(self, documents: Any, name: str | None = None) -> NoveltyStep:
        """Score the documents of a time step, mark the novel ones, then learn from all.

        Parameters
        ----------
        documents : list of str, pandas column, or table of counts
        name : str, optional
            By default the number of the step.
        """
        words, alarm = self._current_words(), self._new_alarm(self._alarm)
        counts, new = words.counts(documents)
        weights = words.weights(counts)
        scores = self._memory.scores(weights)
        p_values, novel = alarm.p_values(scores), alarm.marks(scores)
        words.enter(new)
        marked = np.flatnonzero(novel)
        topics = emerging_topics(weights[marked], marked, words.words, scores[marked])
        alarm.learn(scores)
        memory = learned_from(self._memory, words, counts)
        label = str(self.n_steps_) if name is None else name
        self._adopt(words, memory, alarm, self.n_steps_ + 1)
        _log.info("Step %s: %d of %d documents are novel", label, len(marked), len(scores))
        return NoveltyStep(label, scores, p_values, novel, topics)

    def watch(
        self,
        source: Any,
        size: int = 1000,
        *,
        text: str = "text",
        date_field: str | None = None,
        every: str = "day",
    ) -> Iterator[NoveltyStep]:
        """Go through a stream step by step; the first step starts the detector, if nothing has.

        Parameters
        ----------
        source : path, data frame, table of counts, list or iterator
            A file of JSON lines (may end in .gz), a data frame, records, texts, or counts.
        size : int
            Documents in a step, if there is no date.
        text, date_field : str
            Fields of the text and of the date; with a date, steps are days, weeks or months.
        every : {"day", "week", "month"}
        """
        check_parameters(self)
        label = f"{type(self).__name__}: documents"
        with ProgressBar(label, None, self.verbose > 0) as bar:
            seen = 0
            steps = document_steps(source, size, text=text, date_field=date_field, every=every)
            for name, documents in steps:
                seen += documents.shape[0] if hasattr(documents, "shape") else len(documents)
                if not hasattr(self, "_memory"):
                    self.fit(documents)
                else:
                    found = self.step(documents, name)
                    bar.update(seen, f"{int(found.novel.sum())} novel in {name}")
                    yield found
                bar.update(seen)

    # --------------------------------------------------------------- what was found

    def novelty_scores(self, documents: Any) -> Any:
        """Scores of some documents, which are not learned from; the larger, the more novel.

        Of a Dask bag of texts, or a Dask array of counts, a Dask array that is not computed yet.
        """
        words = self._current_words()
        if is_collection(documents):
            return lazy_scores(self, documents)
        counts, _ = words.counts(documents)
        return self._memory.scores(words.weights(counts))

    def explain(self, document: Any, n_words: int = 10, n_atoms: int = 3) -> Explanation:
        """Which words of a document nothing explains, and what is nearest to it.

        Parameters
        ----------
        document : str, or table of one row
        n_words, n_atoms : int
            How many of each are told.
        """
        require_positive("n_words", n_words)
        require_positive("n_atoms", n_atoms)
        words = self._current_words()
        counts, new = words.counts([document] if isinstance(document, str) else document)
        if counts.shape[0] != 1:
            raise ValueError(f"explain takes one document at a time; got {counts.shape[0]}.")
        weights = words.weights(counts)
        score = float(self._memory.scores(weights)[0])
        names = [*words.words, *new]
        total = float(weights.sum())
        left = (weights.toarray() - self._memory.explained(weights))[0]
        order = np.argsort(-left, kind="stable")[:n_words]
        unexplained = [(names[f], float(left[f] / total)) for f in order if left[f] > 0]
        near = self._memory.nearness(weights)[0]
        tops = np.argsort(-near, kind="stable")[:n_atoms]
        nearest = [(self._top_words(int(k)), float(near[k])) for k in tops if near[k] > 0]
        return Explanation(score, unexplained, nearest)

    def report(self, path: str | Path, found: Sequence[FoundInStep] = ()) -> Path:
        """Write a page about novel documents, with their unexplained words marked.

        Parameters
        ----------
        path : str or Path
            The HTML file; it needs nothing else.
        found : sequence of FoundInStep
            What `thresher.tasks.novelty.explained_steps` gave.
        """
        return write_page(self, self._page(found), path, "fit(texts)")

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

    def _adopt(self, words: GrowingWords, memory: Memory, alarm: Alarm, n_steps: int) -> Self:
        """Take all of it over at once, so that an interrupt leaves the old state or the new one."""
        self.__dict__.update(
            _words=words,
            _memory=memory,
            _alarm=alarm,
            n_steps_=n_steps,
            _began_as=self._identity(),
        )
        return self

    def _current_words(self) -> GrowingWords:
        """A copy of the words that cuts texts by the current vectoriser."""
        self._check_fitted()
        self._check_goes_on()
        return self._words.copy(self.vectorizer)

    def _new_alarm(self, before: Alarm | None = None) -> Alarm:
        """The rule by the current parameters, with a copy of the scores before."""
        alarm = Alarm(self.threshold, self.top_share, self.false_alarm_rate)
        if before is not None:
            alarm.past = deque(before.past, maxlen=before.past.maxlen)
        return alarm

    def _top_words(self, atom: int, n: int = 5) -> list[str]:
        row = self._memory.atoms[atom]
        return [self._words.words[f] for f in np.argsort(-row, kind="stable")[:n] if row[f] > 0]

    def _new_memory(self, n_features: int) -> Memory:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings = MemorySettings(
            self.n_components, self.n_new_atoms, n_features, seed, self.verbose
        )
        given = self.model is not None
        return of_model(self.model, settings) if given else memory_of(self.mode, settings)

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_mode(self.mode)
        needed = ("fit", "transform", "objective_samples", "grow")
        if is_square(self.model):
            if self.model.whiten or self.n_new_atoms:
                raise ValueError(
                    "An orthogonal dictionary of documents has one atom for each term: leave out "
                    "whiten and n_new_atoms, and give the number of terms as n_components."
                )
        elif self.model is not None and (
            isinstance(self.model, type) or not all(hasattr(self.model, name) for name in needed)
        ):
            raise ValueError(
                f"model={self.model!r} cannot score documents; give a dictionary model of the "
                "library, such as OnlineNMF(100, divergence='kl'), or leave it out."
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "_memory"):
            raise ValueError(
                "This detector has not seen a document yet; call fit with the documents to start "
                "from, or watch a stream."
            )
