"""Errors of hidden entries: rows are kept from learning, and entries of these from coding."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thresher.linalg import Array
from thresher.tasks.choice.candidates import Settings, made, same_but_for_parts
from thresher.tasks.choice.warm import warm_settings

GROUPS = 10
"""Into which the rows of a mask are put, to tell how errors vary; by judgement."""
_LEAST_BATCHES, _SMALLEST_BATCH = 16, 32  # of a pass, and of rows; by judgement
_FEWEST, _OF = 3, 6  # finalists at least, and one in so many; by judgement
_HIDINGS = 3  # of the same rows; chosen on planted data
_FOLDS = 5  # no mask keeps more than a fifth of the rows from learning; by judgement


class Tried(NamedTuple):
    """What came of a candidate under a mask."""

    errors: Array
    """Mean absolute error of hidden entries in each group of rows; NaN of a group without any."""
    atoms: Array
    seconds: float
    model: Any


def masks(X: Any, n_masks: int, rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
    """Rows to learn from, and rows to hide entries of; no row is hidden twice."""
    n = X.shape[0]
    if n < 2 * n_masks:
        raise ValueError(
            f"{n} samples are too few for n_masks={n_masks}: each mask needs two of its own. Give "
            "more samples, or fewer masks."
        )
    folds = np.array_split(rng.permutation(n), max(_FOLDS, n_masks))
    folds = [fold for fold in folds if len(fold)]
    for fold in folds[:n_masks]:
        learn = np.setdiff1d(np.arange(n), fold)
        yield X[learn], X[fold]


def tried(
    estimator: Any,
    candidates: list[Settings],
    learn: Any,
    test: Any,
    share: float,
    seed: int,
    warm: bool,
    done: Callable[[], None],
) -> list[Tried]:
    """Every candidate under one mask.

    If ``warm``, where only the number of parts rises, a fit starts from the atoms of the one
    before.
    """
    results: list[Tried] = []
    before: Any = None
    for place, settings in enumerate(candidates):
        started = time.perf_counter()
        model = made(estimator, settings, **_small_batches(estimator, settings, learn.shape[0]))
        if warm and place > 0 and same_but_for_parts(candidates[place - 1], settings):
            rng = np.random.default_rng([seed, place])
            model.set_params(**(warm_settings(model, before, learn, rng) or {}))
        with warnings.catch_warnings():  # the one that is chosen will say so, if it is refitted
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(learn)
            errors = group_errors(model, test, share, seed)
        before = model
        results.append(Tried(errors, model.components_, time.perf_counter() - started, model))
        done()
    return results


def better(one: Tried, other: Tried) -> Tried:
    """The fit of the lower error, with the seconds of both."""
    lower = min(one, other, key=lambda each: float(np.nanmean(each.errors)))
    return lower._replace(seconds=one.seconds + other.seconds)


def finalists(candidates: list[Settings], errors: Array) -> list[int]:
    """Candidates that may be the best, of which one fit that started from others is not enough.

    A sixth of them, three at the least: those whose errors, averaged with the numbers of parts
    beside them, are lowest.
    """
    n, smooth = len(candidates), errors.copy()
    for place in range(n):
        beside = [
            other
            for other in (place - 1, place, place + 1)
            if 0 <= other < n and same_but_for_parts(candidates[place], candidates[other])
        ]
        smooth[place] = errors[beside].mean()
    return sorted(np.argsort(smooth, kind="stable")[: max(_FEWEST, n // _OF)].tolist())


def _small_batches(estimator: Any, settings: Settings, n_samples: int) -> Settings:
    """A batch size that lets fits settle: those that have not like spare parts."""
    given = (estimator.get_params(deep=False) | settings).get("batch_size")
    if given is None or "batch_size" in settings:
        return {}
    return {"batch_size": min(given, max(_SMALLEST_BATCH, n_samples // _LEAST_BATCHES))}


def group_errors(model: Any, test: Any, share: float, seed: int) -> Array:
    """Mean absolute errors of hidden entries in groups of rows; entries are hidden several times.

    A fit costs more than to code a few rows again.
    """
    counts, sums = np.zeros(GROUPS), np.zeros(GROUPS)
    for hiding in range(_HIDINGS):
        rng = np.random.default_rng([seed, hiding])
        rows, errors = model._entry_errors(test, share, rng)
        groups = rows * GROUPS // test.shape[0]
        counts += np.bincount(groups, minlength=GROUPS)
        sums += np.bincount(groups, errors, minlength=GROUPS)
    return np.divide(sums, counts, out=np.full(GROUPS, np.nan), where=counts > 0)
