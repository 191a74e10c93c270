"""Runs cases, and keeps what became of each."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairs import basis, checks, orthogonal, symmetric
from pairs.case import Trial
from pairs.covering import Case, Cover
from pairs.slots import labels

_OF_THEIR_OWN: dict[str, Callable[[Trial, Any], str]] = {
    **dict.fromkeys(("GoDec", "OnlineRobustPCA", "RobustPCA"), basis.check),
    "OnlineOrthogonalDictionary": orthogonal.check,
    "SymmetricManhattanNMF": symmetric.check,
}


@dataclass(frozen=True)
class Outcome:
    """``refused``, ``wrong``, or in a word how it ended well; and what was wrong."""

    kind: str
    detail: str = ""
    seconds: float = 0.0


def run(trial: Trial) -> Outcome:
    """Fit and check one case."""
    started = time.process_time()
    try:
        kind, detail = _run(trial), ""
    except Exception as error:
        kind = "wrong"
        detail = f"{type(error).__name__}: {error}\n{traceback.format_exc()[-3000:]}"
    return Outcome(kind, detail, round(time.process_time() - started, 3))


def _run(trial: Trial) -> str:
    model = trial.fitted()
    if model is None:
        return "refused"
    if trial.estimator in _OF_THEIR_OWN:
        return _OF_THEIR_OWN[trial.estimator](trial, model)
    return checks.check(checks.Fitted(trial, model))


@dataclass
class Matrix:
    """All cases of an estimator that were run, by their keys; more are run as they are asked for.

    What was run before, in another process, need not be run again.
    """

    estimator: str
    seed: int
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    tell: Callable[[Trial, Outcome], None] = lambda trial, outcome: None

    def cover(self) -> Cover:
        """The covering array, which runs every case that it tries."""
        rng = np.random.default_rng([self.seed, 0])
        return Cover(labels(self.estimator), self.accepts, rng)

    def accepts(self, case: Case) -> bool:
        """Whether `fit` takes a case; it is run and checked."""
        trial = Trial(self.estimator, case, self.seed)
        key = trial.key()
        if key not in self.outcomes:
            self.outcomes[key] = run(trial)
            self.tell(trial, self.outcomes[key])
        return self.outcomes[key].kind != "refused"
