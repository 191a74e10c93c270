"""Short names of topics."""

from collections.abc import Sequence
from typing import NamedTuple

_WORDS_IN_NAME = 3  # by judgement
MOST_WORDS = 4 * _WORDS_IN_NAME


class Topic(NamedTuple):
    """A topic: a short name, its top words, and the share of the topic that each word makes up."""

    name: str
    words: list[str]
    weights: list[float]


def topic_names(tops: Sequence[Sequence[str]], taken: Sequence[str] = ()) -> list[str]:
    """Each topic by its first words; as many more as it takes to tell two topics apart.

    Parameters
    ----------
    tops : sequence of sequences of str
        The top words of every topic, at most `MOST_WORDS`, best first.
    taken : sequence of str
        Names that others have.
    """
    names: list[str] = list(taken)
    for number, words in enumerate(tops, len(names)):
        length = _WORDS_IN_NAME
        while length < len(words) and ", ".join(words[:length]) in names:
            length += 1
        name = ", ".join(words[:length]) or "no words"
        names.append(f"{name} ({number + 1})" if name in names else name)
    return names[len(taken) :]
