"""Errors in the order of time: every batch is foretold before it is learned from."""

import time
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from thresher.estimators.results import comes_in_parts, source_of
from thresher.tasks.choice.candidates import Settings, made
from thresher.tasks.choice.held_out import GROUPS, Tried

_FIRST = 0.1  # of the batches, in which all models are new and none is judged; by judgement


def batches_of(X: Any, estimator: Any) -> Iterable[Any]:
    """The samples in their order, in batches of the model's."""
    size = getattr(estimator, "batch_size", 256)
    if comes_in_parts(X):
        return iter(source_of(X).sized(10, size))
    rows = estimator._checked(X, known=False)
    return (rows[start : start + size] for start in range(0, rows.shape[0], size))


def tried_in_order(
    estimator: Any, candidates: list[Settings], X: Any, share: float, seed: int, bar: Any
) -> list[Tried]:
    """Every candidate on one pass, side by side.

    Of every batch some entries are hidden, and told by models that have not seen it; then all
    learn from the whole batch. Groups of errors are stretches of time.
    """
    if not hasattr(estimator, "partial_fit"):
        raise ValueError(
            f"{type(estimator).__name__} does not learn in the order of time, so forgetting cannot "
            "be chosen for it; use a model with partial_fit, such as OnlineRobustNMF."
        )
    models = [made(estimator, settings) for settings in candidates]
    seconds = np.zeros(len(models))
    means: list[list[float]] = [[] for _ in models]
    weights: list[int] = []
    seen = 0
    for number, batch in enumerate(batches_of(X, estimator)):
        for place, model in enumerate(models):
            started = time.perf_counter()
            if number:
                rng = np.random.default_rng([seed, number])
                _, errors = model._entry_errors(batch, share, rng)
                means[place].append(float(errors.mean()))
                if place == 0:
                    weights.append(len(errors))
            model.partial_fit(batch)
            seconds[place] += time.perf_counter() - started
        seen += batch.shape[0]
        bar.update(seen)
    if len(weights) < 2:
        raise ValueError(
            "To choose forgetting, samples are read in three batches at least; give more of them, "
            "or an estimator with a smaller batch_size."
        )
    judged = slice(int(_FIRST * len(weights)), None)
    parts = np.array_split(np.arange(len(weights))[judged], min(GROUPS, len(weights[judged])))
    errors = [
        np.array([np.average(np.take(row, part), weights=np.take(weights, part)) for part in parts])
        for row in means
    ]
    return [
        Tried(error, model.components_, float(took), deepcopy(model))
        for error, model, took in zip(errors, models, seconds, strict=True)
    ]
