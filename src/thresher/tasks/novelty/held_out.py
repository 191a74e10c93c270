r"""How novel documents are, beside how novel the last ones would be if they came now.

Two distances of a document :math:`x` from what is known: from the nearest direction of the memory,
and from its three nearest among the last documents,

.. math:: 1 - \max_k \cos(x, s_k), \qquad 1 - \tfrac13 \sum_{y \text{ near } x} \cos(x, y).

The last documents have the same two distances, each with itself taken out: of its direction,
:math:`s_k - y`, and of the documents. So they are as novel as they would be if they had not been
seen, and a new document that is like them is exchangeable with them, whatever the memory is and
however young. The score is the mean of both distances. The share of the last documents that score
as high is a p-value (conformal prediction).

Streams are not exchangeable altogether, and four things make p-values more careful, never less:

- documents whose nearest is one that was marked follow it: they are also compared with the last
  documents of which that is true;
- documents of a story that was known, and now grows, are also compared with those of the last
  documents that belong to it (`emerging`);
- new documents lie ahead of the old ones in time, so they are a little more novel than these all
  along. How small p-values were in the steps before tells by how much, those of new groups
  left out;
- a step can differ as a whole. That shows in its lower quartile, groups of documents that are new
  together (`emerging`) left out; all normal scores are lowered by what chance cannot explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from thresher.linalg import Array, block_slices
from thresher.tasks.novelty.alarm import MEASURABLE, share_as_high
from thresher.tasks.novelty.directions import unit_rows
from thresher.tasks.novelty.emerging import topics_beside
from thresher.tasks.novelty.memory import DirectionMemory, Memory
from thresher.tasks.novelty.recent import RecentDocuments, as_wide_as
from thresher.tasks.novelty.usual import ScoredDocuments, ScoreReference, usual_share
from thresher.tasks.text.growing_words import GrowingWords
from thresher.tasks.text.records import Record

_NEIGHBOURS = 3  # by judgement; one is worse on all corpora tried, ten about as good
_SMALLEST = 1e-6  # p-value that has a normal score
_QUARTILE = float(norm.ppf(0.25))
_ERROR = float(np.sqrt(0.25 * 0.75) / norm.pdf(_QUARTILE))  # of a quartile, times √n


class Yardstick:
    """Both distances, of new documents and of the last ones.

    Parameters
    ----------
    memory : DirectionMemory
    recent : CSR of shape (m, F)
        Weights of the last documents.
    marked : array of bool of shape (m,)
        Which of them were marked.
    """

    def __init__(self, memory: DirectionMemory, recent: Any, marked: Any) -> None:
        self.memory, self.rows, self.marked = memory, unit_rows(recent), marked
        far, nearest = self._near(self.rows, leave_out=True)
        far = np.where(np.diff(recent.indptr) > 0, far, 0.0)
        self.scores = (memory.left_out_scores(recent) + far) / 2
        self.follows = self._follow(nearest)

    def measure(self, weights: Any) -> tuple[Array, Any, Any]:
        """Scores of documents, which of them follow marked ones, and their unit rows."""
        rows = unit_rows(weights)
        far, nearest = self._near(rows[:, : self.rows.shape[1]])
        far = np.where(np.diff(weights.indptr) > 0, far, 0.0)
        scores = (self.memory.scores(weights) + far) / 2
        return scores, self._follow(nearest), rows

    def _follow(self, nearest: Any) -> Any:
        return np.where(nearest >= 0, self.marked[nearest], False) if len(self.marked) else None

    def _near(self, rows: Any, leave_out: bool = False) -> tuple[Array, Any]:
        """Mean distance from the nearest documents, and the place of the nearest of all."""
        known, n = self.rows.shape[0], rows.shape[0]
        count = min(_NEIGHBOURS, known - leave_out)
        distances, nearest = np.ones(n), np.full(n, -1)
        if count < 1:
            return distances, nearest
        for block in block_slices(n, known):
            cosines = (rows[block] @ self.rows.T).toarray()
            if leave_out:
                places = np.arange(block.start, block.stop)
                cosines[np.arange(len(places)), places] = -1
            nearest[block] = cosines.argmax(axis=1)
            best = np.partition(cosines, -count, axis=1)[:, -count:]
            distances[block] = 1 - best.mean(axis=1, dtype=np.float64)
        return distances, nearest


class HeldOut(ScoreReference):
    """The last documents, and how novel they would be if they came now."""

    from_all = True

    def __init__(self, recent: RecentDocuments | None = None) -> None:
        self.recent = RecentDocuments.none() if recent is None else recent
        self._prepared: tuple[Memory, Yardstick] | None = None

    def scores(self, memory: Memory, words: GrowingWords, weights: Any) -> Array:
        """The mean of both distances."""
        return self._yardstick(memory, words).measure(weights)[0]

    def judged(self, memory: Memory, words: GrowingWords, weights: Any) -> ScoredDocuments:
        """Scores, p-values, and groups that are new together."""
        yardstick = self._yardstick(memory, words)
        scores, follows, rows = yardstick.measure(weights)
        ranks = share_as_high(yardstick.scores, scores)
        if follows is not None and follows.any():
            alike = share_as_high(yardstick.scores[yardstick.follows], scores[follows])
            ranks[follows] = np.maximum(ranks[follows], alike)
        before = as_wide_as(yardstick.rows, rows.shape[1])
        beside = topics_beside(rows, scores, before, yardstick.scores, words.words)
        ranks = np.maximum(ranks, beside.among)
        p_values = np.maximum(ranks, self._by_ranks_before(ranks))
        shift = _shift(p_values[beside.alone])
        if shift > 0:
            p_values = np.maximum(p_values, norm.sf(_normal(p_values) - shift))
        return ScoredDocuments(scores, p_values, shift, beside.topics, ranks, beside.new)

    def learned(
        self,
        words: GrowingWords,
        counts: Any,
        judged: ScoredDocuments | None,
        rate: float,
        records: Sequence[Record],
    ) -> HeldOut:
        """With these documents among the last."""
        n = counts.shape[0]
        marked, ranks = np.zeros(n, dtype=bool), np.full(n, np.nan)
        if judged is not None:
            assert judged.ranks is not None
            assert judged.together is not None
            marked = judged.p_values <= rate
            kept = ~(marked & judged.together)
            if n < MEASURABLE:
                kept = usual_share(marked, judged.scores, rate)
            ranks[kept] = judged.ranks[kept]
        return HeldOut(self.recent.followed_by(counts, marked, ranks, records))

    def kept(self, columns: Any) -> HeldOut:
        """Without the words that have left."""
        return HeldOut(self.recent.keep(columns))

    def similar(self, weights: Any, words: GrowingWords, count: int) -> list[tuple[Record, float]]:
        """Of the last documents, if they are kept as they are."""
        if not self.recent.records:
            return []
        rows = unit_rows(words.weights(as_wide_as(self.recent.counts, len(words.words))))
        cosines = (rows @ unit_rows(weights)[:, : rows.shape[1]].T).toarray().ravel()
        best = np.argsort(-cosines, kind="stable")[:count]
        return [(self.recent.records[m], float(cosines[m])) for m in best if cosines[m] > 0]

    def _by_ranks_before(self, ranks: Array) -> Array:
        """Share of the ranks of the last documents that are as small; unknown ones are uniform."""
        n = len(self.recent.ranks)
        known = np.sort(self.recent.ranks[~np.isnan(self.recent.ranks)])
        if len(known) == 0:
            return ranks
        as_small = (np.searchsorted(known, ranks, side="right") + 1) / (len(known) + 1)
        return np.asarray((len(known) * as_small + (n - len(known)) * ranks) / n)

    def _yardstick(self, memory: Memory, words: GrowingWords) -> Yardstick:
        """Made once for a memory: the last documents have all to be compared with each other."""
        assert isinstance(memory, DirectionMemory)
        if self._prepared is None or self._prepared[0] is not memory:
            weights = words.weights(as_wide_as(self.recent.counts, len(words.words)))
            weights = weights[:, : memory.width]
            self._prepared = memory, Yardstick(memory, weights, self.recent.marked)
        return self._prepared[1]


def _normal(p_values: Array) -> Array:
    return np.asarray(norm.isf(np.clip(p_values, _SMALLEST, 1 - _SMALLEST)))


def _shift(p_values: Array) -> float:
    """How far the lower quartile lies above that of normal scores, beyond twice its error."""
    n = len(p_values)
    if n < MEASURABLE:
        return 0.0
    shift = np.quantile(_normal(p_values), 0.25) - _QUARTILE - 2 * _ERROR / np.sqrt(n)
    return max(0.0, float(shift))
