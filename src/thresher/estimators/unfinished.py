"""Telling that a fit has come to its last round before it came to its end."""

import math
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

_WHAT_TO_DO = "raise max_iter, or tol if this is good enough."


def warn_unfinished(
    model: Any, missed: float, *, unit: str = "rounds", stacklevel: int = 3
) -> None:
    """Warn if a fit was ended by ``max_iter``.

    Parameters
    ----------
    model : estimator
        With ``max_iter`` and ``tol``; where that is 0, rounds are counted and no more is asked.
    missed : float
        How far it was from its end in the last round: there at one, infinite where nobody knows.
    unit : str
        What its rounds are called.
    stacklevel : int
        As in `warnings.warn`: the line of the user's that called `fit`.
    """
    if not missed > 1 or not model.tol > 0:
        return
    how_far = (
        f"{missed:.2g} times as far from its end as tol={model.tol:g} allows"
        if math.isfinite(missed)
        else f"too few to tell whether tol={model.tol:g} is met"
    )
    warnings.warn(
        f"{type(model).__name__} ended after max_iter={model.max_iter} {unit}, {how_far}; "
        + _WHAT_TO_DO,
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
