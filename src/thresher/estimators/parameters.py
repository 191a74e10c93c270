"""Constraints on parameters, and which parameters may change once a model has learned.

Classes declare ``_parameter_constraints`` as in scikit-learn; the constraints that several share
stand here. scikit-learn checks them when a fit begins. Whatever changes after that is checked here.
"""

import math
from collections.abc import Iterator, Mapping
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    validate_parameter_constraints,
)


class Number(Interval):
    """An interval of finite numbers, without True and False, which Python counts as numbers."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is a number of the interval."""
        return is_number(val) and bool(super().is_satisfied_by(val))


class CallableList(HasMethods):
    """Callables in a list; an iterator is accepted unread, because reading would exhaust it."""

    def __init__(self) -> None:
        super().__init__("__iter__")

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is an iterable of callables."""
        return isinstance(val, Iterator) or (
            bool(super().is_satisfied_by(val)) and all(map(callable, val))
        )

    def __str__(self) -> str:
        return "a list of callables"


class Function(HasMethods):
    """A function or another callable, but not a class."""

    def __init__(self) -> None:
        super().__init__("__call__")

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value can be called, and is no class."""
        return bool(super().is_satisfied_by(val)) and not isinstance(val, type)

    def __str__(self) -> str:
        return "a function"


COUNT = Number(Integral, 1, None, closed="left")
WHOLE = Number(Integral, 0, None, closed="left")
REAL = Number(Real, None, None, closed="neither")
POSITIVE = Number(Real, 0, None, closed="neither")
NONNEGATIVE = Number(Real, 0, None, closed="left")
SHARE = Number(Real, 0, 1, closed="neither")
SEED = [Number(Integral, 0, 2**32 - 1, closed="both"), np.random.RandomState, None]
THREADS = [COUNT, Options(Integral, {-1}), None]
CALLBACKS = [CallableList(), None]


def check_argument(method: str, constraints: list[Any], **argument: Any) -> None:
    """Refuse an argument of a method that meets none of the constraints."""
    validate_parameter_constraints(dict.fromkeys(argument, constraints), argument, method)


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a value is a whole number; True and 2.0 are not."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number that a double holds; True is not."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def changed_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters that differ from their defaults."""
    defaults = signature(type(model)).parameters.values()
    return {
        each.name: value
        for each in defaults
        if repr(value := getattr(model, each.name)) != repr(each.default)
    }


# ------------------------------------------------------------------ what may change

MAY_CHANGE = frozenset(
    {
        # How exactly, how fast and how loudly the next call computes.
        *("tol", "max_iter", "code_tol", "code_max_iter", "n_jobs", "verbose", "callbacks"),
        # How much the past counts from now on, and what is read out of what was learned.
        *("forgetting", "n_nonzero", "threshold", "top_share", "false_alarm_rate", "fdr"),
        # How the next `fit` reads its data, and where it starts.
        *("batch_size", "n_passes", "n_starts", "shuffle", "warm_up", "random_state"),
    }
)
"""Parameters that may change between two calls, and take effect at once.

All others are part of what was learned: statistics were summed up under them, and codes mean
something only with them. If one of these changes, `partial_fit`, `resume`, `transform`, scores and
`save` refuse, until it is set back or `fit` is called.
"""


def fixed_parameters(model: Any, may_change: frozenset[str]) -> dict[str, Any]:
    """Return the parameters that may not change while a model learns, with those of estimators."""
    return {
        name: type(value) if hasattr(value, "get_params") else value
        for name, value in model.get_params().items()
        if name.rpartition("__")[2] not in may_change
    }


def refuse_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to continue under other fixed parameters than before."""
    names = [*before, *(now.keys() - before.keys())]
    other = [name for name in names if not _same_value(before.get(name), now.get(name))]
    if other:
        was, is_now = (
            ", ".join(f"{name}={values[name]!r}" for name in other if name in values)
            for values in (before, now)
        )
        raise ValueError(
            f"The model learned with {was}, and now has {is_now}; set it back to continue, or call "
            "fit to start again."
        )


class KeepsParameters:
    """A task that remembers the parameters it began to learn with."""

    _may_change = MAY_CHANGE
    _began_as: dict[str, Any]

    def _identity(self) -> dict[str, Any]:
        """Return the parameters that may not change while a model learns."""
        return fixed_parameters(self, self._may_change)

    def _check_goes_on(self) -> None:
        """Refuse to go on under other parameters than before, or under invalid ones."""
        self._validate_params()  # type: ignore[attr-defined]  # tasks are scikit-learn estimators
        refuse_changes(self._began_as, self._identity())


def _same_value(first: Any, second: Any) -> bool:
    """Whether two values of a parameter are equal; arrays entry by entry."""
    if first is second:
        return True
    if sparse.issparse(first) or sparse.issparse(second):
        alike = getattr(first, "shape", None) == getattr(second, "shape", None)
        return alike and not sparse.coo_array(first - second).count_nonzero()
    try:
        if isinstance(first, np.ndarray | list | tuple) or isinstance(second, np.ndarray):
            return np.array_equal(np.asarray(first), np.asarray(second))
        return bool(first == second)
    except (TypeError, ValueError):  # what cannot be compared is not the same
        return False
