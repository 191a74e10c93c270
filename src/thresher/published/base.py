"""What published solvers share: their base class, and rules for their constants."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

Made = TypeVar("Made")

AS_PUBLISHED = "it was asked for by name, and keeps to what was published"


class Published(ABC, Generic[Made]):
    """A solver as it was published: a frozen dataclass of its constants.

    Given as ``solver=``, by name or with other constants. Files keep the constants, and nothing of
    what is made from them.
    """

    name: ClassVar[str]
    """What users, states and files call it."""

    @abstractmethod
    def made(self) -> Made:
        """What it stands for: who finds codes, and who moves the dictionary."""


def listed(names: Iterable[str]) -> str:
    """``'a', 'b' or 'c'``."""
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}"


@dataclass(frozen=True)
class Rule:
    """What a constant must be, in words, and what holds of such values alone."""

    words: str
    holds: Callable[[Any], bool]


def number(words: str, holds: Callable[[Any], bool], whole: bool = False) -> Rule:
    """A rule for finite numbers, or whole ones: True is none, and 2.0 is not whole."""
    kind: Any = Integral if whole else Real

    def both(value: Any) -> bool:
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        return is_number and _is_finite(value) and holds(value)

    return Rule(words, both)


def one_of(*choices: str) -> Rule:
    """A rule for names."""
    return Rule(listed(choices), lambda value: isinstance(value, str) and value in choices)


POSITIVE = number("a positive number", lambda value: value > 0)
AT_LEAST_0 = number("a finite number, 0 or more", lambda value: value >= 0)
ABOVE_MINUS_1 = number("a number above -1", lambda value: value > -1)
SHARE = number("a number above 0, and at most 1", lambda value: 0 < value <= 1)
BETWEEN_0_AND_1 = number("a number between 0 and 1", lambda value: 0 < value < 1)
BELOW_1 = number("a number, 0 or more, and below 1", lambda value: 0 <= value < 1)
COUNT = number("a whole number, 1 or more", lambda value: value >= 1, whole=True)
COUNT_OR_0 = number("a whole number, 0 or more", lambda value: value >= 0, whole=True)
FLAG = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))


def check_constants(constants: Any, **rules: Rule) -> None:
    """Refuse constants of a solver that break their rule; None is fine where it is the default."""
    for name, rule in rules.items():
        value = getattr(constants, name)
        if value is None and getattr(type(constants), name) is None:
            continue
        if not rule.holds(value):
            raise ValueError(f"{constants.name}({name}={value!r}) must be {rule.words}.")


def _is_finite(value: Any) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # an integer above all floats
        return False
