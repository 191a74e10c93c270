"""What a detector of novel documents says: of a time step, and of a single document."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.linalg import Array
from thresher.tasks.novelty.emerging import EmergingTopic
from thresher.tasks.text.records import Record


class NoveltyStep(NamedTuple):
    """What a detector says of the documents of a time step.

    Attributes
    ----------
    name : str
        The step: a date or a number.
    scores : array of shape (n,)
        The larger, the more novel.
    p_values : array of shape (n,)
        The chance of such a score for a document that is not novel.
    novel : array of bool
        The marks.
    topics : list of EmergingTopic
        Documents that are new together, the least likely groups first.
    shift : float
        By how many standard deviations the whole step, or too many of its documents, are more
        novel than chance allows: the stream has changed, a story has taken a turn, or much of the
        step is new without being alike. Marks are the most novel of the step then.
    start : bool
        Whether the detector began with this step; then nothing has a score or is marked.
    records : list of Record
        The documents, with their ids, titles, dates and texts.
    """

    name: str
    scores: Array
    p_values: Array
    novel: NDArray[np.bool_]
    topics: list[EmergingTopic]
    shift: float = 0.0
    start: bool = False
    records: list[Record] = []  # noqa: RUF012 (a default of a tuple, which nobody changes)


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
    similar : list of (Record, float)
        The documents before that are most like it, and their cosines, with ``keep_texts``.
    """

    score: float
    unexplained: list[tuple[str, float]]
    nearest: list[tuple[list[str], float]]
    similar: list[tuple[Record, float]] = []  # noqa: RUF012 (as above)
