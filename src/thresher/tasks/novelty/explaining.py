"""Why a document is novel, or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.tasks.novelty.memory import Memory
from thresher.tasks.novelty.results import Explanation
from thresher.tasks.novelty.usual import ScoreReference
from thresher.tasks.text.growing_words import GrowingWords

_WORDS_OF_AN_ATOM = 5


def explained(
    memory: Memory,
    usual: ScoreReference,
    words: GrowingWords,
    document: Any,
    n_words: int,
    n_atoms: int,
) -> Explanation:
    """Words of a document that nothing explains, and what is nearest to it."""
    counts, new = words.counts([document] if isinstance(document, str) else document)
    if counts.shape[0] != 1:
        raise ValueError(f"explain takes one document at a time; got {counts.shape[0]}.")
    weights = words.weights(counts)
    score = float(usual.scores(memory, words, weights)[0])
    names = [*words.words, *new]
    total = float(weights.sum())
    left = (weights.toarray() - memory.explained(weights))[0]
    order = np.argsort(-left, kind="stable")[:n_words]
    unexplained = [(names[f], float(left[f] / total)) for f in order if left[f] > 0]
    near = memory.nearness(weights)[0]
    tops = np.argsort(-near, kind="stable")[:n_atoms]
    nearest = [(_top_words(memory, words, int(k)), float(near[k])) for k in tops if near[k] > 0]
    return Explanation(score, unexplained, nearest, usual.similar(weights, words, n_atoms))


def _top_words(memory: Memory, words: GrowingWords, atom: int) -> list[str]:
    row = memory.atoms[atom]
    order = np.argsort(-row, kind="stable")[:_WORDS_OF_AN_ATOM]
    return [words.words[f] for f in order if row[f] > 0]
