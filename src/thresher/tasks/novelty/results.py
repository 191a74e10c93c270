"""What a detector of novel documents says: of a time step, and of a single document."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array
from thresher.tasks.novelty.emerging import EmergingTopic


class NoveltyStep(NamedTuple):
    """What a detector says of the documents of a time step.

    Attributes
    ----------
    name : str
        The step: a date or a number.
    scores : array of shape (n,)
        The larger, the more novel.
    p_values : array of shape (n,)
        Share of earlier documents that scored as high.
    novel : array of bool
        The marks.
    topics : list of EmergingTopic
        The novel documents in groups, the largest first.
    """

    name: str
    scores: Array
    p_values: Array
    novel: NDArray[np.bool_]
    topics: list[EmergingTopic]


class Explanation(NamedTuple):
    """Why a document is novel, or not.

    Attributes
    ----------
    score : float
    unexplained : list of (str, float)
        The words that nothing before explains, with their share of the document's weight.
    nearest : list of (list of str, float)
        The atoms nearest to it, by their first words, and how near: the cosine in ``auto``, the
        share of the explanation under a dictionary.
    """

    score: float
    unexplained: list[tuple[str, float]]
    nearest: list[tuple[list[str], float]]
