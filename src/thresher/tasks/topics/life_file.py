"""The life of topics as arrays and a JSON document."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.estimators.parts import PARAMETERS
from thresher.persistence import Contents, put_strings
from thresher.tasks.text.counts_file import documents_of
from thresher.tasks.topics.changes import KINDS, TopicEvent
from thresher.tasks.topics.life import REMEMBERED, TopicLife


def packed_life(life: TopicLife, arrays: dict[str, Any]) -> dict[str, Any]:
    """Puts arrays where they belong; what else there is to say."""
    arrays["life.numbers"] = np.array(life.numbers, dtype=np.int64)
    put_strings(arrays, "life.names", life.names)
    young = life.young
    return {
        "past": PARAMETERS.pack("life.past", life.past.astype(np.float64), arrays),
        "young": young
        if young is None
        else PARAMETERS.pack("life.young", young.astype(np.float64), arrays),
        "n_begun": life.n_begun,
        "seed": life.seed,
        "n_steps": life.n_steps,
        "n_numbers": life.n_numbers,
        "events": [event._asdict() for event in life.events],
    }


def unpacked_life(contents: Contents, n_known: int, n_topics: int) -> TopicLife:
    """The same again."""
    told = Contents(contents.arrays, contents.record("life"), contents.name)
    past = documents_of(told, "past", n_known)
    if past is None or past.shape[0] > REMEMBERED:
        raise contents.error("its earlier documents are missing, or too many")
    young = documents_of(told, "young", n_known)
    n_begun = 0 if young is None else told.integer("n_begun")
    if young is not None and not 0 < n_begun <= young.shape[0]:
        raise contents.error("its first documents are fewer than it says")
    n_numbers = told.integer("n_numbers")
    numbers = told.places("life.numbers", n_topics, max(1, n_numbers)).tolist()
    names = told.strings("life.names")
    if len(set(numbers)) != n_topics or len(names) != n_topics:
        raise contents.error(f"it has not {n_topics} topics with a name and a number each")
    given = told.value("events")
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise contents.error("its events are no list of records")
    events = [_event(Contents({}, one, contents.name)) for one in given]
    seed, n_steps = told.integer("seed"), told.integer("n_steps")
    return TopicLife(past, numbers, names, seed, n_steps, n_numbers, events, young, n_begun)


def _event(told: Contents) -> TopicEvent:
    kind, topics = told.text("kind"), told.value("topics")
    lists = [told.value(name) for name in ("names", "words")]
    plain = all(isinstance(one, list) and all(isinstance(x, str) for x in one) for one in lists)
    whole = isinstance(topics, list) and all(type(x) is int and x >= 0 for x in topics)
    if kind not in KINDS or not plain or not whole or len(lists[0]) != len(topics):
        raise told.error("an event of its topics makes no sense")
    names, words = lists
    step, p_value = told.text("step"), told.number("p_value")
    return TopicEvent(step, kind, tuple(topics), tuple(names), words, p_value)
