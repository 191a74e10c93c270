"""What every fit needs: a refused call leaves the model unchanged, an unfinished fit warns."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from thresher.engine import Callback, History, Step, any_stops


@dataclass
class Attempt:
    """A call in progress; ``keep`` is whether the learned state stays if the call fails."""

    keep: bool = False

    def stops(self, callbacks: list[Callback], step: Step) -> bool:
        """Whether a callback ends the fit. If a callback raises, the learned state is kept."""
        before, self.keep = self.keep, True
        answer = any_stops(callbacks, step)
        self.keep = before
        return answer


@contextmanager
def unchanged_if_refused(model: Any) -> Iterator[Attempt]:
    """Restore the attributes of a model if the block raises an error.

    An interrupt is not an error: what was learned until then stays.
    """
    before = {
        name: copy(value) if isinstance(value, History) else value
        for name, value in vars(model).items()
    }
    attempt = Attempt()
    try:
        yield attempt
    except Exception:
        if not attempt.keep:
            vars(model).clear()
            vars(model).update(before)
        raise


def warn_unconverged(
    model: Any, missed: float, *, unit: str = "rounds", stacklevel: int = 3
) -> None:
    """Warn if a fit was ended by ``max_iter``.

    Parameters
    ----------
    model : estimator
        With ``max_iter`` and ``tol``. With ``tol=0`` there is no warning.
    missed : float
        The stopping criterion over its tolerance in the last iteration; infinite if unknown.
    unit : str
        What the iterations are called.
    stacklevel : int
        As in `warnings.warn`: the line of the user's that called `fit`.
    """
    if not missed > 1 or not model.tol > 0:
        return
    how_far = (
        f"{missed:.2g} times as far from its end as tol={model.tol:g} allows"
        if math.isfinite(missed)
        else f"too few to decide whether tol={model.tol:g} is met"
    )
    warnings.warn(
        f"{type(model).__name__} ended after max_iter={model.max_iter} {unit}, {how_far}; raise "
        "max_iter, or tol if this is good enough.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
