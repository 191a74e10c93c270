"""The base class of published solvers, and the rules of their constants."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from math import isfinite
from numbers import Integral, Real
from typing import Any, ClassVar, get_args

import numpy as np


@dataclass(frozen=True)
class Rule:
    """A requirement of a constant: its wording in messages, and a test."""

    words: str
    holds: Callable[[Any], bool]


class Published:
    """A published solver, or a mode of a published detector: a frozen dataclass of constants.

    It is selected by name, or passed with other constants. Files store the constants.
    """

    name: ClassVar[str]
    """The name in ``solver=...``, states and files."""

    def __post_init__(self) -> None:
        """Refuse constants that violate their rule; None is allowed where it is the default."""
        constants: Any = self
        for one in fields(constants):
            value, rule = getattr(self, one.name), one.metadata["rule"]
            if not (value is None and one.default is None) and not rule.holds(value):
                raise ValueError(f"{self.name}({one.name}={value!r}) must be {rule.words}.")


def constant(default: Any, rule: Rule) -> Any:
    """A field of a published solver, with its default and its rule."""
    return field(default=default, metadata={"rule": rule})


def number(words: str, holds: Callable[[Any], bool], integer: bool = False) -> Rule:
    """A rule for finite numbers, or for integers; True is neither, and 2.0 is no integer."""
    kind: Any = Integral if integer else Real

    def both(value: Any) -> bool:
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        return is_number and _is_finite(value) and holds(value)

    return Rule(words, both)


def one_of(names: Any) -> Rule:
    """A rule for the names of a ``Literal``."""
    *others, last = map(repr, get_args(names))
    words = f"{', '.join(others)} or {last}"
    return Rule(words, lambda value: isinstance(value, str) and value in get_args(names))


POSITIVE = number("a positive number", lambda value: value > 0)
AT_LEAST_0 = number("a finite number, 0 or more", lambda value: value >= 0)
ABOVE_MINUS_1 = number("a number above -1", lambda value: value > -1)
SHARE = number("a number above 0, and at most 1", lambda value: 0 < value <= 1)
BETWEEN_0_AND_1 = number("a number between 0 and 1", lambda value: 0 < value < 1)
BELOW_1 = number("a number, 0 or more, and below 1", lambda value: 0 <= value < 1)
COUNT = number("a whole number, 1 or more", lambda value: value >= 1, integer=True)
COUNT_OR_0 = number("a whole number, 0 or more", lambda value: value >= 0, integer=True)
FLAG = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))


def _is_finite(value: Any) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # an integer above all floats
        return False
