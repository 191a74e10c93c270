"""A call that is refused leaves the model as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

from thresher.engine import Callback, History, Step, any_stops


@dataclass
class Attempt:
    """A call in progress: ``keep`` says whether what it has learned stays if it fails."""

    keep: bool = False

    def stops(self, callbacks: list[Callback], step: Step) -> bool:
        """Ask the callbacks. One that fails is no reason to lose what was learned."""
        before, self.keep = self.keep, True
        answer = any_stops(callbacks, step)
        self.keep = before
        return answer


@contextmanager
def unchanged_if_refused(model: Any) -> Iterator[Attempt]:
    """Give a model its attributes back if what is done inside raises an error.

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
