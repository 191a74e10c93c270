"""What parameters may be, by their names, and which of them may change while a model goes on.

One table for all estimators and tasks, since the same name means the same everywhere. None is fine
wherever it is the default.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from operator import attrgetter, is_
from typing import Any

import numpy as np
from scipy import sparse

Rule = Callable[[Any], str | None]
"""Tells what a value should be instead, or None if it is fine."""

_LARGEST_SEED = 2**32 - 1


def is_whole(value: Any, least: int = 1) -> bool:
    """Whether a value is a whole number; True and 2.0 are not."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number that a double holds; True is not."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _positive_whole(value: Any) -> str | None:
    return None if is_whole(value) else "a positive integer"


def _whole(value: Any) -> str | None:
    return None if is_whole(value, 0) else "a whole number, 0 or more"


def _positive(value: Any) -> str | None:
    return None if is_number(value) and value > 0 else "a positive number"


def _cardinality(value: Any) -> str | None:
    good = is_whole(value, 0) or (is_number(value) and 0 <= value < 1)
    return None if good else "a share of the entries below 1, or a whole number of them"


def _not_negative(value: Any) -> str | None:
    return None if is_number(value) and value >= 0 else "a finite number, 0 or more"


def _tolerance(value: Any) -> str | None:
    good = is_number(value) and value >= 0
    return None if good else "a finite number, 0 or more (0 never stops by it)"


def _number(value: Any) -> str | None:
    return None if is_number(value) else "a finite number"


def _share(value: Any) -> str | None:
    return None if is_number(value) and 0 < value < 1 else "a number between 0 and 1"


def _bound(value: Any) -> str | None:
    is_infinite = isinstance(value, Real) and value == np.inf
    good = is_infinite or (is_number(value) and value > 0)
    return None if good else "a positive number"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool | np.bool_) else "True or False"


def _verbosity(value: Any) -> str | None:
    good = isinstance(value, bool | np.bool_) or is_whole(value, 0)
    return None if good else "0 (silent) or 1 (a progress bar)"


def _threads(value: Any) -> str | None:
    good = is_whole(value) or (is_whole(value, -1) and value == -1)
    return None if good else "a positive number of threads, or -1 or None for all cores"


def _seed(value: Any) -> str | None:
    good = isinstance(value, np.random.RandomState) or value is np.random
    good = good or (is_whole(value, 0) and value <= _LARGEST_SEED)
    return None if good else f"an integer from 0 to {_LARGEST_SEED}, a RandomState, or None"


def _callbacks(value: Any) -> str | None:
    wanted = "a list of functions; put brackets around a single one"
    if not isinstance(value, Iterable):
        return wanted
    if isinstance(value, Iterator):  # reading it here would use it up
        return None
    return None if all(callable(each) for each in value) else wanted


def _implicit_zeros(value: Any) -> str | None:
    known = isinstance(value, str) and value in ("observed", "missing")
    return None if known else "'observed' or 'missing'"


def _numbers(value: Any) -> str | None:
    many = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
    return None if many and all(map(is_number, many)) else "a finite number, or a list of some"


RULES: dict[str, Rule] = {
    "align": _flag,
    "shadows": _flag,
    "batch_size": _positive_whole,
    "callbacks": _callbacks,
    "cardinality": _cardinality,
    "causal": _flag,
    "coverage": _share,
    "false_alarm_rate": _share,
    "fdr": _share,
    "feature_scale": _positive,
    "graph_weight": _not_negative,
    "keep_texts": _flag,
    "location_scale": _positive,
    "code_max_iter": _positive_whole,
    "code_tol": _tolerance,
    "max_iter": _positive_whole,
    "max_words": _positive_whole,
    "implicit_zeros": _implicit_zeros,
    "no_reading": _numbers,
    "n_components": _positive_whole,
    "n_frames": _positive_whole,
    "n_jobs": _threads,
    "n_neighbors": _positive_whole,
    "n_new_atoms": _whole,
    "n_nonzero": _positive_whole,
    "n_passes": _positive_whole,
    "n_segments": _positive_whole,
    "n_starts": _positive_whole,
    "n_superpixels": _positive_whole,
    "n_words": _positive_whole,
    "outlier_bound": _bound,
    "patience": _positive_whole,
    "radius": _positive,
    "random_state": _seed,
    "robust": _flag,
    "share": _share,
    "shuffle": _flag,
    "square_weight": _not_negative,
    "threshold": _number,
    "tol": _tolerance,
    "top_share": _share,
    "verbose": _verbosity,
    "warm_up": _positive_whole,
    "whiten": _flag,
    "zero_weight": _not_negative,
}


def check_parameters(model: Any) -> None:
    """Refuse parameters that are not what their names promise."""
    for name, default in defaults_of(model).items():
        value = getattr(model, name)
        if name in RULES and not (value is None and default is None):
            check_parameter(name, value, RULES[name], " or None" if default is None else "")


def check_parameter(name: str, value: Any, rule: Rule, also: str = "") -> None:
    """Refuse one value, with a sentence."""
    wanted = rule(value)
    if wanted is not None:
        also = "" if "None" in wanted else also
        raise ValueError(f"{name}={value!r} must be {wanted}{also}.")


def require_positive(name: str, value: Any) -> None:
    """Refuse a number of things that is no positive integer."""
    check_parameter(name, value, _positive_whole)


_DEFAULTS: dict[type, dict[str, Any]] = {}


def defaults_of(model: Any) -> dict[str, Any]:
    """Names and defaults of a model's parameters; looked up once, for it takes a while."""
    kind = type(model)
    if kind not in _DEFAULTS:
        parameters = inspect.signature(kind).parameters
        _DEFAULTS[kind] = {name: parameter.default for name, parameter in parameters.items()}
    return _DEFAULTS[kind]


_READERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


def values_of(model: Any) -> tuple[Any, ...]:
    """The values of a model's parameters, in the order of `defaults_of`."""
    kind = type(model)
    if kind not in _READERS:
        names = tuple(defaults_of(model))
        # One reading of all names is ten times as fast as one of each, but needs two of them.
        _READERS[kind] = (
            attrgetter(*names)
            if len(names) > 1
            else lambda one: tuple(getattr(one, name) for name in names)
        )
    return _READERS[kind](model)


def same_objects(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """Whether two tuples of parameters hold the very same objects."""
    return len(first) == len(second) and all(map(is_, first, second))


# ------------------------------------------------------------------ what may change

MAY_CHANGE = frozenset(
    {
        # How exactly, how fast and how loudly: the next call does as it is told.
        "tol",
        "max_iter",
        "code_tol",
        "code_max_iter",
        "n_jobs",
        "verbose",
        "callbacks",
        # How much the past counts from now on, and what is read out of what was learned.
        "forgetting",
        "n_nonzero",
        "threshold",
        "top_share",
        "false_alarm_rate",
        "fdr",
        # How the next `fit` reads its data, and where it starts.
        "batch_size",
        "n_passes",
        "n_starts",
        "shuffle",
        "warm_up",
        "random_state",
    }
)
"""Parameters that may change between two calls, and are honoured at once.

All others are part of what was learned: statistics were summed up under them, and codes mean
something only with them. If one of these changes, `partial_fit`, `resume`, `transform`, scores and
`save` refuse, until it is set back or `fit` starts anew.
"""


def fixed_parameters(model: Any, may_change: frozenset[str]) -> dict[str, Any]:
    """Return the parameters that may not change while a model learns, with those of parts."""
    fixed: dict[str, Any] = {}
    for name in sorted(defaults_of(model).keys() - may_change):
        value = getattr(model, name)
        fixed[name] = type(value) if _is_estimator(value) else value
        if _is_estimator(value):  # its own parameters can be set as well
            fixed |= {
                f"{name}__{key}": given
                for key, given in value.get_params().items()
                if key.rpartition("__")[2] not in may_change
            }
    return fixed


def refuse_changes(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse to go on under other fixed parameters than before."""
    names = [*before, *(now.keys() - before.keys())]
    other = [name for name in names if not same_value(before.get(name), now.get(name))]
    if other:
        was, is_now = (
            ", ".join(f"{name}={values[name]!r}" for name in other if name in values)
            for values in (before, now)
        )
        raise ValueError(
            f"What was learned so far belongs to {was}, and the model now has {is_now}; set it "
            "back to go on, or call fit to start anew."
        )


class KeepsParameters:
    """A task that remembers the parameters it began to learn with."""

    _may_change = MAY_CHANGE
    _began_as: dict[str, Any]

    def _identity(self) -> dict[str, Any]:
        """What may not change while a model goes on."""
        return fixed_parameters(self, self._may_change)

    def _check_goes_on(self) -> None:
        """Refuse to go on under other parameters than before, or under invalid ones."""
        check_parameters(self)
        refuse_changes(self._began_as, self._identity())


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def same_value(first: Any, second: Any) -> bool:
    """Whether two values of a parameter are equal; arrays entry by entry."""
    if first is second:
        return True
    if sparse.issparse(first) or sparse.issparse(second):
        alike = getattr(first, "shape", None) == getattr(second, "shape", None)
        return alike and np.array_equal(sparse.coo_array(first - second).data, [])
    try:
        if isinstance(first, np.ndarray | list | tuple) or isinstance(second, np.ndarray):
            return np.array_equal(np.asarray(first), np.asarray(second))
        return bool(first == second)
    except (TypeError, ValueError):  # what cannot be compared is not the same
        return False
