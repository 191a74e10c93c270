"""How a detector of novel documents begins, and how it goes on when words become too many."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thresher.tasks.novelty.memory import Memory, learned_from
from thresher.tasks.novelty.usual import ScoreReference
from thresher.tasks.text.growing_words import GrowingWords
from thresher.tasks.text.records import Record

_log = logging.getLogger(__name__)

_CALIBRATED = 0.2  # of the first documents, held out to learn usual scores; by judgement


def begun(
    empty: Callable[[int], Memory],
    usual: ScoreReference,
    words: GrowingWords,
    counts: Any,
    rate: float,
    records: Sequence[Record],
) -> tuple[Memory, ScoreReference]:
    """What is known after the documents to start from; ``words`` learns on the way.

    If usual scores can only be seen as they come, the last fifth of the documents (of few up to
    half) is scored before it is learned from.

    Parameters
    ----------
    empty : callable
        A memory of so many words that knows nothing.
    usual : ScoreReference
        That knows nothing.
    """
    n = counts.shape[0]
    # At a rate of one in twenty nothing can be marked before twenty scores are known.
    enough = int(np.ceil(2 / rate))
    held_out = 0 if usual.from_all else min(n // 2, max(int(_CALIBRATED * n), enough))
    first, last = counts[: n - held_out], counts[n - held_out :]
    words.learn(first)
    weights = words.weights(first)
    if weights.nnz == 0:
        raise ValueError(
            "There is no word in the documents to start from that tells them apart; give more, or "
            "other ones."
        )
    nothing = empty(weights.shape[1])
    memory = nothing.learned(weights)
    if usual.from_all:
        return without_rarest(memory, usual.learned(words, counts, None, rate, records), words)
    if held_out:
        judged = usual.judged(memory, words, words.weights(last))
        usual = usual.learned(words, last, judged, rate, records[n - held_out :])
        if nothing.begins_whole:  # what was learned so far only told which scores are usual
            words.learn(last)
            memory = nothing.learned(words.weights(counts))
        else:
            memory = learned_from(memory, words, last)
    return without_rarest(memory, usual, words)


def without_rarest(
    memory: Memory, usual: ScoreReference, words: GrowingWords
) -> tuple[Memory, ScoreReference]:
    """Let the rarest words leave, if there are too many."""
    kept = words.rarest()
    if kept is None:
        return memory, usual
    _log.info(
        "%d words are too many; the %d rarest leave", len(words.words), len(words.words) - len(kept)
    )
    words.keep(kept)
    return memory.keep(kept), usual.kept(kept)
