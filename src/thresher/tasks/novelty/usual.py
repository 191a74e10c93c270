"""What is usual: how novel the documents of a step are, beside those before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array
from thresher.tasks.novelty.alarm import share_as_high
from thresher.tasks.novelty.emerging import EmergingTopic
from thresher.tasks.novelty.memory import Memory
from thresher.tasks.text.growing_words import GrowingWords
from thresher.tasks.text.records import Record

REMEMBERED = 2000  # documents; by judgement, enough to tell one in twenty to a tenth of itself
_BURST = 2.0  # times the false alarms to be expected: more are a new topic; by judgement
_MEASURABLE = 50  # scores that a quartile is taken of, at least; by judgement


class ScoredDocuments(NamedTuple):
    """The documents of a step, before anything is learned from them.

    Attributes
    ----------
    scores : array of shape (n,)
        The larger, the more novel.
    p_values : array of shape (n,)
        The chance of such a score for a document that is not novel.
    shift : float
        By how many standard deviations the whole step lies above what is usual.
    topics : list of EmergingTopic, optional
        Groups of documents that are new together, if they are found without marks.
    ranks : array of shape (n,)
        Shares of the documents before that are as novel: what `p_values` were made from.
    together : array of bool of shape (n,), optional
        Which documents belong to groups like none before; of the others no more are to be marked
        than chance would mark. None if no such groups are looked for.
    """

    scores: Array
    p_values: Array
    shift: float = 0.0
    topics: list[EmergingTopic] | None = None
    ranks: Array | None = None
    together: NDArray[np.bool_] | None = None


class ScoreReference(ABC):
    """What a detector knows of the scores of documents that are not novel."""

    from_all: bool
    """Whether all first documents can be learned from at once, none held out to be scored."""

    @abstractmethod
    def scores(self, memory: Memory, words: GrowingWords, weights: Any) -> Array:
        """Scores of some documents; nothing changes."""

    @abstractmethod
    def judged(self, memory: Memory, words: GrowingWords, weights: Any) -> ScoredDocuments:
        """The same with what they mean; nothing changes."""

    @abstractmethod
    def learned(
        self,
        words: GrowingWords,
        counts: Any,
        judged: ScoredDocuments | None,
        rate: float,
        records: Sequence[Record],
    ) -> ScoreReference:
        """After some documents; ``judged`` is None for those to start from."""

    def kept(self, columns: Any) -> ScoreReference:
        """Without the words that have left."""
        return self

    def similar(self, weights: Any, words: GrowingWords, count: int) -> list[tuple[Record, float]]:
        """Documents before that are most like one, and their cosines, if they are kept."""
        return []


def usual_share(marked: NDArray[np.bool_], values: Array, rate: float) -> NDArray[np.bool_]:
    """Which documents of a step tell what is usual.

    If far more are marked than chance would mark, most of these are novel indeed, and with them
    nothing novel would be marked for a long time. Then only as many are kept as false alarms were
    to be expected, those of the lowest values.
    """
    expected = rate * len(marked)
    kept = ~marked
    places = np.flatnonzero(marked)
    if len(places) > _BURST * expected:
        order = np.argsort(values[places], kind="stable")
        places = places[order[: int(np.ceil(expected))]]
    kept[places] = True
    return kept


class PastScores(ScoreReference):
    """The scores of the last documents, each as it came: for any memory.

    Scores fall as more is known, and old ones would make the rule too careful. How far they fell
    shows in the lower quartile of a step, which novel documents can only raise; what chance could
    do, twice its standard error, is left out.
    """

    from_all = False

    def __init__(self, past: Array | None = None) -> None:
        self.past = np.zeros(0) if past is None else past[-REMEMBERED:]

    def scores(self, memory: Memory, words: GrowingWords, weights: Any) -> Array:
        """Those of the memory."""
        return memory.scores(weights)

    def judged(self, memory: Memory, words: GrowingWords, weights: Any) -> ScoredDocuments:
        """Ranks among the scores before."""
        scores = memory.scores(weights)
        return ScoredDocuments(scores, self.p_values(scores))

    def p_values(self, scores: Array) -> Array:
        """Share of documents before that scored as high."""
        return share_as_high(self._comparable(scores), scores)

    def learned(
        self,
        words: GrowingWords,
        counts: Any,
        judged: ScoredDocuments | None,
        rate: float,
        records: Sequence[Record],
    ) -> PastScores:
        """Remember the scores of a step; the oldest are forgotten."""
        assert judged is not None, "scores of the start are learned as those of a step"
        scores = judged.scores
        kept = usual_share(judged.p_values <= rate, scores, rate)
        return PastScores(np.concatenate([self._comparable(scores), scores[kept]]))

    def _comparable(self, scores: Array) -> Array:
        """The scores before, as they would be by now."""
        if min(len(scores), len(self.past)) < _MEASURABLE:
            return self.past
        before, now = np.quantile(self.past, (0.25, 0.75)), np.quantile(scores, 0.25)
        spread = before[1] - before[0]
        chance = 2 * spread * np.sqrt(1 / len(scores) + 1 / len(self.past))
        return self.past - max(0.0, before[0] - now - chance)
