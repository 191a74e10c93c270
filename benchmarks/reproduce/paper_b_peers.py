"""Beside the methods of paper B on TDT2: ours, scikit-learn, nearest neighbours, and paper D's.

All see the same words with the same weights, (1 + log tf) log(n/df), document frequencies of the
steps before.

- ``auto``: `NovelDocumentDetector`, directions of constant memory.
- ``l1 auto``: `OnlineL1Dictionary`, exact codes; the published score. Also with zeros at a tenth.
- scikit-learn: `MiniBatchDictionaryLearning`, nonnegative, scored by its own objective.
- nearest neighbour: one minus the largest cosine with any document before, which keeps them all.
- orthogonal: `OnlineOrthogonalDictionary` on the 500 terms of largest weight in the first documents
  (paper D, example 2), by the detector's score and by the published one, what a tenth of the codes
  leaves out, the largest; ``auto`` and nearest neighbour on these terms alone, to compare.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from benchmarks.common import Row, clock, median_of
from benchmarks.reproduce.documents import (
    DATA,
    areas,
    by_detector,
    of_frequent_words,
    tdt2,
    truth,
    weighted,
)
from benchmarks.reproduce.jobs import Job, Scale
from sklearn.base import clone
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.preprocessing import normalize

from thresher import OnlineL1Dictionary, OnlineOrthogonalDictionary
from thresher.linalg import Array

SIZES = (50, 100, 150, 200)
SQUARE = 500
TERMS = {"nearest, 500 terms", "auto, 500 terms"}
ONCE = {"nearest neighbour", "nearest, 500 terms", "scikit-learn"}


def by_neighbours(X: Any, **options: Any) -> tuple[list[Array], list[float]]:
    scores, seconds = [], []
    for now, before in weighted(X):
        if before is None:
            continue
        with clock() as spent:
            scores.append(1 - (normalize(now) @ normalize(before).T).toarray().max(axis=1))
        seconds.append(spent.processor)
    return scores, seconds


def by_scikit_learn(X: Any, n_components: int, random_state: int) -> tuple[Any, list[float]]:
    model = MiniBatchDictionaryLearning(
        n_components,
        alpha=0.1,
        fit_algorithm="cd",
        transform_algorithm="lasso_cd",
        transform_alpha=0.1,
        positive_code=True,
        positive_dict=True,
        batch_size=256,
        random_state=random_state,
    )
    scores, seconds = [], []
    for now, before in weighted(X):
        dense = normalize(now).toarray().astype(np.float32)
        with clock() as spent:
            if before is not None:
                codes = model.transform(dense)
                residual = ((dense - codes @ model.components_) ** 2).sum(axis=1) / 2
                scores.append(residual + 0.1 * np.abs(codes).sum(axis=1))
            learn_in_batches(model, dense)
        if before is not None:
            seconds.append(spent.processor)
    return scores, seconds


def learn_in_batches(model: Any, rows: Array) -> None:
    for start in range(0, len(rows), 256):
        model.partial_fit(rows[start : start + 256])


def as_published(X: Any, model: Any, random_state: int) -> tuple[list[Array], list[float]]:
    """Paper D, example 2: code with the largest codes, score, then learn."""
    model = clone(model).set_params(random_state=random_state)
    scores, seconds = [], []
    for now, before in weighted(X):
        rows = normalize(now).toarray()
        with clock() as spent:
            if before is not None:
                scores.append(-model.score_samples(rows))
            learn_in_batches(model, rows)
        if before is not None:
            seconds.append(spent.processor)
    return scores, seconds


Method = Callable[..., tuple[list[Array], list[float]]]


def methods() -> Iterator[tuple[str, int, Method, dict[str, Any]]]:
    """Name, size, how, options."""
    yield "nearest neighbour", 0, by_neighbours, {}
    for size in SIZES:
        yield "auto", size, by_detector, {"n_components": size}
        exact = OnlineL1Dictionary(size, verbose=0, random_state=0)
        yield "l1 auto", size, by_detector, {"model": exact}
        lighter = OnlineL1Dictionary(size, zero_weight=0.1, verbose=0, random_state=0)
        yield "l1 auto, zeros .1", size, by_detector, {"model": lighter}
    yield "nearest, 500 terms", SQUARE, by_neighbours, {}
    yield "auto, 500 terms", SQUARE, by_detector, {"n_components": 100}
    for solver in ("auto", "noncvx_sfw"):
        square = OnlineOrthogonalDictionary(solver=solver, verbose=0)
        name = f"orthogonal {solver}"
        yield name, SQUARE, by_detector, {"n_components": SQUARE, "model": square}
        yield f"{name}, published", SQUARE, as_published, {"model": square}
    yield "scikit-learn", 200, by_scikit_learn, {"n_components": 200}


def heaviest(X: Any, count: int = SQUARE) -> Any:
    """The terms of largest weight in the first documents."""
    heavy = np.asarray(next(weighted(X))[0].sum(axis=0)).ravel()
    return X[:, np.sort(np.argsort(-heavy, kind="stable")[:count])]


def scored(name: str, how: Method, options: dict[str, Any], seeds: int) -> Row:
    """A method on all steps, from several seeds: areas of each, and their medians."""
    X, labels = tdt2()
    if name in TERMS or name.endswith("published"):
        X = heaviest(X)
    elif name == "scikit-learn":
        X = of_frequent_words(X)
    novel, results, spent = truth(labels), [], []
    for seed in range(seeds):
        more = {} if how is by_neighbours else {"random_state": seed}
        scores, seconds = how(X, **options, **more)
        results.append(areas(scores, novel))
        spent.append(float(np.median(seconds)))
    return medians(results) | {"seconds": spent, "results": results}


def medians(results: list[Row]) -> Row:
    """Medians over the seeds of every step, the mean and the pooled area."""
    steps = {step: float(np.median([r["steps"][step] for r in results])) for step in
             results[0]["steps"]}  # fmt: skip
    return {"steps": steps} | {key: median_of(results, key) for key in ("mean", "pooled")}


def jobs(scale: Scale) -> Iterator[Job]:
    """A row of the table each; at quick scale one size, one seed, and no slow peer."""
    quick = scale == "quick"
    for name, size, how, options in methods():
        if quick and (size not in (0, 50) or name in ONCE - {"nearest neighbour"}):
            continue
        seeds = 1 if quick or name in ONCE else 3
        where = f"k_{size}" if size else "all"
        work = partial(scored, name, how, options, seeds)
        yield Job(f"table_1/{name}/{where}", work, (DATA,))
