"""Topics followed through time: step by step, or of all documents at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from thresher.engine import ProgressBar
from thresher.linalg import Array
from thresher.tasks.text.documents import as_texts, is_table
from thresher.tasks.text.steps import document_steps, periods
from thresher.tasks.topics.changes import TopicEvent
from thresher.tasks.topics.growing import check_can_grow
from thresher.tasks.topics.life import HELD_OUT, PendingStep, TopicLife
from thresher.tasks.topics.timeline import TopicsOverTime

_STARTS = 16  # that a first step tries: its topics are what all others are compared with


class TopicStep(NamedTuple):
    """What a step says of the topics.

    Attributes
    ----------
    name : str
        A date, or a number.
    n_documents : int
    numbers : list of int
        The topics that live, by numbers that are never given twice.
    names : list of str
        Their names, which stay.
    shares : array of shape (n_topics,)
        Their mean shares in the documents of the step.
    events : list of TopicEvent
        What happened to topics.
    score : float
        `TopicModel.score` of the step before it was learned from; NaN of the first.
    start : bool
        Whether the model began with this step; then nothing happens to topics.
    """

    name: str
    n_documents: int
    numbers: list[int]
    names: list[str]
    shares: Array
    events: list[TopicEvent]
    score: float
    start: bool


class WatchesTopics:
    """`step`, `watch` and `topics_over_time`."""

    model: Any
    model_: Any
    tfidf_: Any
    random_state: Any
    false_alarm_rate: float
    verbose: int
    _counter: Any
    _life: TopicLife | None
    _adopt: Any
    _check_goes_on: Any
    _check_parameters: Any
    _shares: Any
    _names: Any
    _word_half_life: Any
    _fit_list: Any
    _new_model: Any
    warm_up: int
    score: Any

    @property
    def events_(self) -> list[TopicEvent]:
        """What happened to topics in the steps so far; the last thousand events."""
        return [] if self._life is None else list(self._life.events)

    def step(self, documents: Any, name: str | None = None) -> TopicStep:
        """Tell what the documents of a time step change, then learn from most of them.

        The first step, or the first after `fit`, only tells what is usual. A quarter of every step
        is kept from learning, for later steps to be compared with; of these documents the last
        1000 are kept, as counts of words. Later steps are tested for topics that merged, died,
        split, and were born or turned, in this order, and the model then has other topics. A step
        that is refused changes nothing.

        As long as fewer than ``warm_up`` documents were learned from and nothing has happened, they
        are kept, and topics start anew from all of them whenever they have doubled. A topic is then
        the same if most of its documents were about it before; others have new numbers and names.

        Parameters
        ----------
        documents : sequence of str, or table of counts
        name : str, optional
            By default the number of the step.
        """
        begun = hasattr(self, "model_")
        if not begun:
            self._check_parameters()
        check_can_grow(self.model)
        if not begun:
            return self._first_step(documents, name or "0")
        self._check_goes_on()
        score = self._score_of(documents)
        life = self._life or TopicLife.begun(self._names(), len(self._counter.words), self._seed())
        name = str(life.n_steps) if name is None else name
        start = not life.past.shape[0]
        taken = PendingStep(
            self.model_, self._counter, self.tfidf_, life,
            self.false_alarm_rate, self._word_half_life(), name, self._fresh_model, self.warm_up,
        )  # fmt: skip
        shares = taken.take(documents)
        self._adopt(taken.counter, taken.tfidf, taken.model, taken.life)
        return _told(taken.life, name, shares, taken.events, score, start)

    def watch(
        self,
        source: Any,
        size: int = 1000,
        *,
        text: str = "text",
        date_field: str | None = None,
        every: str = "week",
        follow: bool = False,
    ) -> Iterator[TopicStep]:
        """Go through a stream step by step, with `step`; the first one starts the model.

        Parameters
        ----------
        source : path, data frame, table of counts, list or iterator
            A file of JSON lines (may end in .gz), a data frame, records (dicts), texts, or counts.
        size : int
            Documents in a step, if there is no date.
        text, date_field : str
            Fields of the text and of the date; with a date, steps are days, weeks or months, and
            documents come in its order.
        every : {"day", "week", "month"}
        follow : bool
            Go on when the end of the file is reached, and wait for what is added to it.
        """
        self._check_parameters()
        steps = document_steps(
            source, size, text=text, date_field=date_field, every=every, follow=follow
        )
        with ProgressBar(f"{type(self).__name__}: documents", None, self.verbose > 0) as bar:
            seen = 0
            for each in steps:
                found = self.step(each.documents, each.name)
                seen += found.n_documents
                bar.update(seen, f"{len(found.names)} topics in {found.name}")
                yield found

    def topics_over_time(
        self, documents: Any, dates: Any = None, *, size: int = 1000, every: str = "week"
    ) -> TopicsOverTime:
        """Learn anew from documents in the order of time, and tell what came of the topics.

        Parameters
        ----------
        documents : sequence of str, or table of counts
        dates : sequence of dates, optional
            The date of every document (ISO strings, dates or datetime64), in any order.
        size : int
            Documents in a step, if no dates are given; the documents are then in order.
        every : {"day", "week", "month"}
            How long a step is, with dates.

        Returns
        -------
        TopicsOverTime
            Steps, shares and events, with ``plot()`` and ``to_dict()``.
        """
        self._check_parameters()
        rows = documents if is_table(documents) else as_texts(documents)
        named = periods(dates, _length(rows), every) if dates is not None else None
        for name in ("model_", "_life"):
            self.__dict__.pop(name, None)
        if named is None:
            return TopicsOverTime(list(self.watch(rows, size)))
        found = []
        with ProgressBar(f"{type(self).__name__}: documents", _length(rows), self.verbose > 0) as b:
            seen = 0
            for name in sorted(set(named)):
                found.append(self.step(_rows(rows, np.flatnonzero(named == name)), str(name)))
                seen += found[-1].n_documents
                b.update(seen, f"{len(found[-1].names)} topics in {name}")
        return TopicsOverTime(found)

    # ------------------------------------------------------------------- details

    def _first_step(self, documents: Any, name: str) -> TopicStep:
        """`fit` without what is held out, which is the past of the next step."""
        rows = documents if is_table(documents) else as_texts(documents)
        n, seed = _length(rows), self._seed()
        order = np.random.default_rng([seed, 3, 0]).permutation(n)
        n_held = min(n - 1, int(HELD_OUT * n))
        held = np.sort(order[:n_held])
        learned = _rows(rows, np.sort(order[n_held:]))
        self._fit_list(learned, _STARTS)
        life = TopicLife.begun(self._names(), len(self._counter.words), seed)
        if n < self.warm_up:
            life = replace(life, young=self._counter.counts(learned), n_begun=n - n_held)
        counts = self._counter.counts(_rows(rows, held)) if n_held else life.past
        self._life = life.after(counts, [])
        return _told(self._life, name, self._shares(rows), [], math.nan, True)

    def _fresh_model(self, n_documents: int) -> Any:
        return self._new_model(n_documents, _STARTS)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _score_of(self, documents: Any) -> float:
        """NaN if there is no known word."""
        try:
            return float(self.score(documents))
        except ValueError:
            return math.nan


def _told(
    life: TopicLife, name: str, shares: Array, events: list[TopicEvent], score: float, start: bool
) -> TopicStep:
    n = len(shares)
    mean = shares.mean(axis=0) if n else np.zeros(len(life.numbers))
    return TopicStep(name, n, list(life.numbers), list(life.names), mean, events, score, start)


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if is_table(rows) else len(rows)


def _rows(documents: Any, places: Any) -> Any:
    """Some of the documents, in the order of their places."""
    if not is_table(documents):
        return [documents[place] for place in places]
    return documents.iloc[places] if hasattr(documents, "iloc") else documents[places]
