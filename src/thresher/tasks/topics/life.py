"""Topics that are born, die, merge and split: what they carry from step to step."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from thresher.linalg import Array
from thresher.tasks.text.tfidf import TfIdf
from thresher.tasks.topics.births import candidate, learn, unlike
from thresher.tasks.topics.candidates import halves
from thresher.tasks.topics.changes import (
    TopicEvent,
    deaths,
    main_topics,
    mergers,
    split_chance,
)
from thresher.tasks.topics.growing import LivingWords, relaid
from thresher.tasks.topics.names import MOST_WORDS, topic_names
from thresher.tasks.topics.weights import shares_of, weighted
from thresher.tasks.topics.youth import Fresh, relearned, successors

HELD_OUT = 0.25
"""Of the documents of a step, what is kept from learning, for later steps to be compared with."""

REMEMBERED = 1000
"""Documents that were held out and are kept, the last; by judgement."""
_MOST_TOPICS = 200  # then none is born, so that memory is bounded; by judgement
_MOST_EVENTS = 1000  # that are remembered, the last
_FEWEST = 8  # documents about a topic that may tell of a split; by judgement
_N_TESTS = 5  # in a step: mergers, deaths twice, splits, births
_WORDS = 8


@dataclass(frozen=True)
class TopicLife:
    """Who the topics are, and the documents that a step is compared with.

    Attributes
    ----------
    past : CSR of shape (m, n_known)
        Counts of the last documents that were kept from learning.
    numbers, names : lists
        Of the topics, in the order of the atoms; neither is given twice.
    seed, n_steps, n_numbers : int
        What chance is drawn from, steps so far, numbers given so far.
    events : list of TopicEvent
        The last ones.
    young : CSR of shape (m, n_known), or None
        Counts of all documents that were learned from, while they are few and nothing has happened.
    n_begun : int
        How many of them the model last started from.
    """

    past: Any
    numbers: list[int]
    names: list[str]
    seed: int
    n_steps: int = 0
    n_numbers: int = 0
    events: list[TopicEvent] = field(default_factory=list)
    young: Any = None
    n_begun: int = 0

    @classmethod
    def begun(cls, names: list[str], n_known: int, seed: int) -> Self:
        """Of topics that were just learned; nothing has been held out yet."""
        K = len(names)
        empty: Any = sparse.csr_array((0, n_known))
        return cls(empty, list(range(K)), list(names), seed, 0, K)

    def order(self, n_documents: int) -> NDArray[np.intp]:
        """The documents of the next step in random order."""
        rng = np.random.default_rng([self.seed, 3, self.n_steps])
        return rng.permutation(n_documents)

    def relaid(self, kept: NDArray[np.intp], n_known: int) -> TopicLife:
        """For other known words: those of before that are kept, and new ones after them."""
        young = None if self.young is None else _widened(self.young[:, kept], n_known)
        return replace(self, past=_widened(self.past[:, kept], n_known), young=young)

    def grown_up(self) -> TopicLife:
        """No longer young: what is learned from now on is not kept."""
        return replace(self, young=None)

    def joined(self, groups: list[list[int]]) -> TopicLife:
        """Topics that were put together go by the first of each group; a new start has others."""
        return replace(
            self.grown_up(),
            numbers=[self.numbers[group[0]] for group in groups],
            names=[self.names[group[0]] for group in groups],
        )

    def after(self, held: Any, events: list[TopicEvent]) -> TopicLife:
        """When a step is over: its held out documents are of the past."""
        past: Any = sparse.vstack([self.past, held], format="csr")[-REMEMBERED:]
        told = [*self.events, *events][-_MOST_EVENTS:]
        return replace(self, past=past, n_steps=self.n_steps + 1, events=told)


class PendingStep:
    """A step of a living model, on copies: whoever asked for it adopts them at the end.

    Parameters
    ----------
    model, counter, tfidf, life
        Those of a `TopicModel`; they stay as they are.
    rate : float
        The chance of an event in a step that brings none.
    half_life : float
        Of word counts, if the vocabulary grows.
    name : str
    fresh : callable, optional
        Makes models without topics yet, for a stream that is young.
    most_young : int
        Documents up to which it is.
    """

    def __init__(
        self, model: Any, counter: Any, tfidf: TfIdf | None, life: TopicLife,
        rate: float, half_life: float, name: str, fresh: Fresh | None = None, most_young: int = 0,
    ) -> None:  # fmt: skip
        self.model, self.tfidf = copy.deepcopy(model), copy.deepcopy(tfidf)
        self.counter, self.life = counter, life
        self.level = rate / _N_TESTS
        self.half_life, self.name = half_life, name
        self.fresh, self.most_young = fresh, most_young
        self.events: list[TopicEvent] = []
        self._fresh: list[int] = []  # topics without a name yet
        self._dead: list[int] = []

    def take(self, documents: Any, learn: bool = True) -> Array:
        """Find what has changed, learn from the step, and give the shares of its documents.

        The shares are those before learning, of the topics that were left then.
        """
        counts = self._entered(documents)
        n = counts.shape[0]
        order = self.life.order(n)
        self._merge(counts)
        self._find_dead(counts)
        half, others = order[: (n + 1) // 2], order[(n + 1) // 2 :]
        n_held = min(len(others), int(np.ceil(HELD_OUT * n))) if n > 1 else 0
        held, rest = others[:n_held], others[n_held:]
        counts = self._read(counts, half, forget=False)
        if self.life.past.shape[0] and len(others) and learn:
            self._split(counts[half], counts[others])
            self._bear(counts[half], counts[others])
            if self._fresh:  # what is new may have hidden that something old has ended
                self._find_dead(counts[others])
        self._bury()
        shares = self.shares(counts)
        self._learn(counts[half])
        counts = self._read(counts, rest, forget=True)
        self._learn(counts[rest])
        self._grow_up(counts, np.concatenate([half, rest]))
        self._name()
        self.life = self.life.after(counts[held], self.events)
        return shares

    def weights(self, counts: Any) -> Any:
        """What the model learns from."""
        return weighted(self.tfidf, counts)

    def shares(self, counts: Any, model: Any = None) -> Array:
        """Shares of the topics; zero in documents without a known word."""
        return shares_of(self.model if model is None else model, self.weights(counts))

    # ------------------------------------------------------------------------ words

    def _entered(self, documents: Any) -> Any:
        """Counts of the documents; all their words are known from now on."""
        if not isinstance(self.counter, LivingWords):
            return self.counter.counts(documents)
        n_before = len(self.counter.table.words)
        self.counter, counts = self.counter.entered(documents)
        self.life = self.life.relaid(np.arange(n_before), counts.shape[1])
        self.tfidf = self.counter.tfidf()
        return counts

    def _read(self, counts: Any, rows: NDArray[np.intp], forget: bool) -> Any:
        """Count the words of some documents, which may enter the model; all counts again."""
        if not len(rows) and not forget:
            return counts
        if not isinstance(self.counter, LivingWords):
            if self.tfidf is not None and len(rows):
                self.tfidf.partial_fit(counts[rows])
            return counts
        learned = self.counter.learned(counts[rows], self.half_life, forget)
        self.counter, self.tfidf = learned.words, learned.words.tfidf()
        relaid(self.model, learned.origin)
        self.life = self.life.relaid(learned.kept, len(learned.kept))
        return counts[:, learned.kept]

    def _learn(self, counts: Any) -> None:
        if not counts.shape[0]:  # of a step of few documents nothing is left for this half
            return
        learn(self.model, self.weights(counts))

    def _grow_up(self, counts: Any, rows: NDArray[np.intp]) -> None:
        """Start anew from all documents, if they are twice as many; until they are too many."""
        if self.life.young is None or self.events or self.fresh is None:
            self.life = self.life.grown_up()
            return
        young: Any = sparse.vstack([self.life.young, counts[rows]], format="csr")
        n = young.shape[0]
        if n >= 2 * self.life.n_begun:
            self._relearn(self.weights(young), self.fresh)
            self.life = replace(self.life, n_begun=n)
        self.life = replace(self.life, young=young if n < self.most_young else None)

    def _relearn(self, X: Any, fresh: Fresh) -> None:
        """Topics that stay the same keep number and name; others are new."""
        model, life = relearned(self.model, fresh, X), self.life
        origin, same = successors(shares_of(self.model, X), shares_of(model, X))
        new = life.n_numbers + np.cumsum(~same) - 1
        numbers = np.where(same, np.array(life.numbers)[origin], new).tolist()
        names = [life.names[k] if kept else "" for k, kept in zip(origin, same, strict=True)]
        self._fresh += new[~same].tolist()
        n_numbers = life.n_numbers + int(np.count_nonzero(~same))
        self.model = model
        self.life = replace(life, numbers=numbers, names=names, n_numbers=n_numbers)

    # ------------------------------------------------------------------------ events

    def _merge(self, counts: Any) -> None:
        """Pairs of topics that documents now mix become one.

        What is unlike all that there was may seem to mix topics; it tells of births.
        """
        while self.life.past.shape[0] and len(self.life.numbers) > 1:
            now, before = self._usual_shares(counts)
            p_value, pair = mergers(now, before)
            if p_value > self.level:
                return
            first, second = sorted(pair, key=lambda topic: -now[:, topic].sum())
            self._tell("merged", (first, second), p_value)
            K = len(self.life.numbers)
            groups = [[k, second] if k == first else [k] for k in range(K) if k != second]
            self._join(groups)
            self._tell_words(len(self.events) - 1, [g[0] for g in groups].index(first))

    def _usual_shares(self, counts: Any) -> list[Array]:
        """Of documents of the step, and of earlier ones, that are not unlike the earlier ones."""
        tables = [self.weights(counts), self.weights(self.life.past)]
        usual = [~unlike(self.model, X, tables[1]) for X in tables]
        return [shares_of(self.model, X)[rows] for X, rows in zip(tables, usual, strict=True)]

    def _find_dead(self, counts: Any) -> None:
        """Topics that no document is about any more; at least one has to be left."""
        if not self.life.past.shape[0]:
            return
        p_values = deaths(self.shares(counts), self.shares(self.life.past))
        for topic in np.argsort(p_values, kind="stable"):
            number = self.life.numbers[topic]
            few = len(self._dead) + 1 == len(p_values)
            if p_values[topic] > self.level or few or number in self._fresh:
                return
            if number not in self._dead:
                self._tell("died", (int(topic),), float(p_values[topic]))
                self._dead.append(number)

    def _bury(self) -> None:
        """Forget dead topics, and the earlier documents about them, which would seem unexplained.

        Not before others are born: they are compared with documents that the dead explain.
        """
        gone = [k for k, number in enumerate(self.life.numbers) if number in self._dead]
        if not gone:
            return
        about = np.isin(main_topics(self.shares(self.life.past)), gone)
        self.life = replace(self.life, past=self.life.past[np.flatnonzero(~about)])
        self._join([[k] for k in range(len(self.life.numbers)) if k not in gone])

    def _split(self, half: Any, others: Any) -> None:
        """A topic whose documents used to mix two, and no longer do, becomes two."""
        X, now, before = (self.weights(counts) for counts in (half, others, self.life.past))
        main = main_topics(shares_of(self.model, X))
        K = len(self.life.numbers)
        alive = [k for k in range(K) if self.life.numbers[k] not in self._dead]
        tried = [k for k in alive if np.count_nonzero(main == k) >= _FEWEST]
        for topic in tried if len(self.life.numbers) < _MOST_TOPICS else []:
            trial = halves(self.model, topic, X[main == topic])
            S = shares_of(trial, now)
            p_value = len(tried) * split_chance(S, shares_of(trial, before), K - 1, K)
            if p_value > self.level:
                continue
            larger = [K - 1, K] if S[:, K - 1].sum() >= S[:, K].sum() else [K, K - 1]
            self._add(np.asarray(trial.components_[larger], dtype=np.float64))
            self._goes_on_as(topic)
            self._join([[k] for k in range(K + 2) if k != topic])
            self._tell("split", (K - 1, K), p_value)
            return  # others may follow in the next step: the atoms have been moved

    def _bear(self, half: Any, others: Any) -> None:
        """Topics of documents like which there were none, and turns that known topics take."""
        X, now, before = (self.weights(counts) for counts in (half, others, self.life.past))
        left = np.asarray(X.sum(axis=1)).ravel() > 0
        told = np.zeros(now.shape[0], dtype=bool)
        strange, main = unlike(self.model, now, before), main_topics(shares_of(self.model, now))
        while np.count_nonzero(left) > 1 and len(self.life.numbers) < _MOST_TOPICS:
            found = candidate(self.model, X, left, now, told, before)
            if found.p_value > self.level or not (found.here & left).any():
                return
            topics, n = np.unique(main[found.there], return_counts=True)
            if 2 * np.count_nonzero(strange[found.there]) > n.sum():
                self._add(found.atom)
                self._tell("born", (len(self.life.numbers) - 1,), found.p_value)
            elif 2 * n.max() > n.sum() and topics[n.argmax()] >= 0:
                self._tell("turned", (int(topics[n.argmax()]),), found.p_value)
                self.events[-1] = self.events[-1]._replace(words=self._words(found.atom[0], _WORDS))
            left, told = left & ~found.here, told | found.there

    # ------------------------------------------------------------------------ atoms

    def _add(self, atoms: Array) -> None:
        """New topics, numbered and not named yet."""
        self.model.grow(atoms=atoms)
        life, m = self.life, len(atoms)
        new = list(range(life.n_numbers, life.n_numbers + m))
        numbers, names = [*life.numbers, *new], [*life.names, *[""] * m]
        self.life = replace(life, numbers=numbers, names=names, n_numbers=life.n_numbers + m)
        self._fresh += new

    def _goes_on_as(self, topic: int) -> None:
        """The first of two topics that were just added is an old one, by number and name."""
        life, new = self.life, self.life.numbers[-2]
        numbers = [*life.numbers[:-2], life.numbers[topic], new]
        names = [*life.names[:-2], life.names[topic], ""]
        self.life = replace(life, numbers=numbers, names=names, n_numbers=life.n_numbers - 1)
        self._fresh.remove(new + 1)

    def _join(self, groups: list[list[int]]) -> None:
        self.model._join_atoms(groups)
        self.life = self.life.joined(groups)

    def _tell(self, kind: str, topics: tuple[int, ...], p_value: float) -> None:
        numbers = tuple(self.life.numbers[topic] for topic in topics)
        names = tuple(self.life.names[topic] for topic in topics)
        words = self._top_words(topics[-1], _WORDS)
        self.events.append(TopicEvent(self.name, kind, numbers, names, words, min(1.0, p_value)))

    def _tell_words(self, event: int, topic: int) -> None:
        self.events[event] = self.events[event]._replace(words=self._top_words(topic, _WORDS))

    def _top_words(self, topic: int, n: int) -> list[str]:
        return self._words(self.model.components_[topic], n)

    def _words(self, row: Array, n: int) -> list[str]:
        words = self.counter.words
        words = words if self.tfidf is None else words[self.tfidf.selected_]
        order = np.argsort(-row, kind="stable")[:n]
        return [str(words[f]) for f in order if row[f] > 0]

    def _name(self) -> None:
        """Names of new topics, after they have learned; they stay."""
        life = self.life
        taken = [*life.names, *(name for event in life.events for name in event.names)]
        for place, number in enumerate(life.numbers):
            if number not in self._fresh:
                continue
            words = self._top_words(place, MOST_WORDS)
            life.names[place] = topic_names([words], taken)[0]
            taken.append(life.names[place])
            for at, event in enumerate(self.events):
                if event.topics[-1] == number and event.kind in ("born", "split"):
                    names = (*event.names[:-1], life.names[place])
                    self.events[at] = event._replace(names=names, words=words[:_WORDS])


def _widened(counts: Any, width: int) -> Any:
    """With empty columns at the end."""
    table: Any = sparse.csr_array(counts)
    return sparse.csr_array(
        (table.data, table.indices, table.indptr), shape=(table.shape[0], width)
    )
