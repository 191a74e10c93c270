"""What there is to choose from: settings of an estimator, in the order in which to try them."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

Settings = dict[str, Any]


def all_settings(estimator: Any, given: dict[str, Any]) -> list[Settings]:
    """Every combination of values; the numbers of parts are innermost, and rise."""
    known = estimator.get_params(deep=False)
    for name in given:
        if name not in known:
            raise ValueError(
                f"{type(estimator).__name__} has no parameter {name!r}; its parameters are "
                f"{', '.join(sorted(known))}."
            )
    if not given:
        raise ValueError(
            "There is nothing to choose from; give values, such as n_components=range(2, 20)."
        )
    values = {name: _values(name, value) for name, value in given.items()}
    if "n_components" in values:
        values["n_components"] = sorted(set(values.pop("n_components")))
    combinations = [dict(zip(values, one, strict=True)) for one in product(*values.values())]
    for settings in combinations:  # better known before the work than in its middle
        made(estimator, settings)
    return combinations


def made(estimator: Any, settings: Settings, **more: Any) -> Any:
    """A silent clone with some settings, which are checked."""
    quiet = {"verbose": 0} if "verbose" in estimator.get_params(deep=False) else {}
    model = clone(estimator).set_params(**quiet, **settings, **more)
    if hasattr(model, "_check_parameters"):
        model._check_parameters()
    return model


def same_but_for_parts(one: Settings, other: Settings) -> bool:
    """Whether two settings differ in the number of parts alone."""
    rest = [{k: v for k, v in each.items() if k != "n_components"} for each in (one, other)]
    return all(rest[0][name] is rest[1][name] for name in rest[0])


def _values(name: str, given: Any) -> list[Any]:
    """A single value is a list of one."""
    single = isinstance(given, str) or given is None or not isinstance(given, Iterable)
    values = [given] if single else list(given)
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not values:
        raise ValueError(f"{name} has no values to choose from; give at least one.")
    return values
