"""Ratings of MovieLens in time order: `RatingModel` beside means, biases and SciPy's sparse SVD.

Two cuts in time: ``cut`` learns from the first four fifths of all ratings, so that 85 % of the
others are of users who were never seen; ``users`` learns from the first four fifths of each user's.
``stream`` goes on from ``cut``: the last fifth is predicted 500 ratings at a time, each learned by
`partial_fit` before the next. Peers choose their constant (shrinkage of biases, rank of the SVD) on
the last fifth of what they learn from; `RatingModel` has none. The SVD sees ratings minus biases,
with zeros (the means) where there are none.

Spam: 5 % more users, who rate as many items as others do, popular ones more often: any number,
always 1 or always 5, an attack with random fillers, one with fillers at the items' means, and one
that praises the most popular. While the model was made, the first four were tried with one seed on
ratings inside the training part; ``bandwagon`` was not. Error is measured on honest users.

    THRESHER_DATA=folder python benchmarks/ratings.py
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, Row, command_line, machine, spread, write_json
from scipy import sparse
from scipy.sparse.linalg import svds
from threadpoolctl import threadpool_limits

from thresher import OnlineRobustNMF, RatingModel
from thresher.datasets import make_ratings
from thresher.datasets.files import find_data_file
from thresher.linalg import Array

SHAPE = (943, 1682)
SPAM = ("none", "random", "extreme", "attack", "average", "bandwagon")
SHRINKAGES = (1.0, 3.0, 5.0, 10.0, 20.0)
RANKS = (1, 2, 3, 5, 8, 12, 20)
Ratings = tuple[Any, Any, Array]


def movielens() -> Ratings:
    with np.load(find_data_file("movielens100k.npz"), allow_pickle=False) as stored:
        return (
            stored["user"].astype(int),
            stored["item"].astype(int),
            stored["rating"].astype(float),
        )


def first_part(users: Any, share: float, of_each: bool) -> Any:
    """Which ratings, in time order, are learned from."""
    if not of_each:
        return np.arange(len(users)) < share * len(users)
    counts, before = np.bincount(users), np.zeros(len(users))
    order = np.argsort(users, kind="stable")
    starts = np.cumsum(counts) - counts
    before[order] = np.arange(len(users)) - np.repeat(starts, counts)
    return before < np.floor(share * counts[users])


# ----------------------------------------------------------------------------------- spam


def spammed(given: Ratings, kind: str, seed: int) -> Ratings:
    if kind == "none":
        return given
    rng = np.random.default_rng(seed)
    users, items, values = given
    per_user, per_item = np.bincount(users), np.bincount(items, minlength=SHAPE[1])
    mean = (np.bincount(items, values, SHAPE[1]) + 5 * values.mean()) / (per_item + 5)
    target = rng.choice(np.flatnonzero(per_item >= 20), 10, replace=False)
    popular = np.argsort(-per_item)[:30]
    parts = [given]
    for number in range(round(0.05 * len(np.unique(users)))):
        size = min(int(rng.choice(per_user[per_user > 0])), 400)
        some = rng.choice(SHAPE[1], size, replace=False, p=per_item / per_item.sum())
        if kind == "random":
            said = rng.integers(1, 6, size)
        elif kind == "extreme":
            said = np.full(size, rng.choice([1, 5]))
        elif kind == "bandwagon":
            some = np.union1d(np.union1d(some[: size // 4], popular), target)
            said = np.where(np.isin(some, popular) | np.isin(some, target), 5, 3)
        else:
            some = np.union1d(some, target)
            center = 3.5 + 0 * some if kind == "attack" else mean[some]
            loose = 1.1 if kind == "attack" else 0.5
            said = np.rint(center + loose * rng.standard_normal(len(some))).clip(1, 5)
            said[np.isin(some, target)] = 1
        parts.append((np.full(len(some), SHAPE[0] + number), some, said.astype(float)))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore


# -------------------------------------------------------------------------------- methods


def user_means(given: Ratings, wanted: tuple[Any, Any]) -> Array:
    return _means(given[0], given[2], wanted[0])


def item_means(given: Ratings, wanted: tuple[Any, Any]) -> Array:
    return _means(given[1], given[2], wanted[1])


def _means(places: Any, values: Array, wanted: Any) -> Array:
    n = int(max(places.max(), wanted.max())) + 1
    counts, sums = np.bincount(places, minlength=n), np.bincount(places, values, n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), values.mean())[wanted]


def fitted_biases(given: Ratings, shrinkage: float, n: int) -> tuple[float, Array, Array]:
    """Alternating, each mean shrunk as if there were so many more ratings at zero."""
    users, items, values = given
    mean, a, b = float(values.mean()), np.zeros(n), np.zeros(SHAPE[1])
    for _ in range(20):
        left = values - mean - a[users]
        b = np.bincount(items, left, SHAPE[1]) / (
            np.bincount(items, minlength=SHAPE[1]) + shrinkage
        )
        left = values - mean - b[items]
        a = np.bincount(users, left, n) / (np.bincount(users, minlength=n) + shrinkage)
    return mean, a, b


def biases(given: Ratings, wanted: tuple[Any, Any], shrinkage: float) -> Array:
    n = int(max(given[0].max(), wanted[0].max())) + 1
    mean, a, b = fitted_biases(given, shrinkage, n)
    return mean + a[wanted[0]] + b[wanted[1]]


def sparse_svd(given: Ratings, wanted: tuple[Any, Any], rank: int) -> Array:
    users, items, values = given
    n = int(max(users.max(), wanted[0].max())) + 1
    mean, a, b = fitted_biases(given, 5.0, n)
    left = values - mean - a[users] - b[items]
    X = sparse.csr_array((left, (users, items)), shape=(n, SHAPE[1]))
    U, s, Vt = svds(X, rank, random_state=0)
    low_rank = np.einsum("nk,kn->n", (U * s)[wanted[0]], Vt[:, wanted[1]])
    return mean + a[wanted[0]] + b[wanted[1]] + low_rank


def rating_model(given: Ratings, wanted: tuple[Any, Any], **settings: Any) -> Array:
    model = RatingModel(random_state=0, verbose=0, **settings).fit(given)
    rating_model.found = model  # type: ignore[attr-defined]
    return model.predict(wanted)


def stored_nmf(given: Ratings, wanted: tuple[Any, Any]) -> Array:
    """The part below: nonnegative atoms of what is stored, Huber's loss, no biases."""
    n = int(max(given[0].max(), wanted[0].max())) + 1
    X = sparse.csr_array((given[2], given[:2]), shape=(n, SHAPE[1]))
    model = OnlineRobustNMF(3, missing="zeros", random_state=0, verbose=0, n_passes=10, tol=0)
    codes = model.fit(X).set_params(tol=1e-4).transform(X)
    return np.einsum("nk,kn->n", codes[wanted[0]], model.components_[:, wanted[1]])


def rmse(told: Array, truth: Array) -> float:
    return float(np.sqrt(np.mean((np.clip(told, 1, 5) - truth) ** 2)))


def at_best(method: Any, choices: Any, given: Ratings, wanted: Any, of_each: bool) -> Array:
    """With the constant that is best on the last fifth of what is learned from."""
    first = first_part(given[0], 0.8, of_each)
    inner: Any = tuple(column[first] for column in given)
    rest = tuple(column[~first] for column in given)
    errors = [rmse(method(inner, rest[:2], choice), rest[2]) for choice in choices]
    told: Array = method(given, wanted, choices[int(np.argmin(errors))])
    return told


def measured(data: Ratings, of_each: bool, kind: str, seed: int, with_nmf: bool) -> Row:
    learned = first_part(data[0], 0.8, of_each)
    honest: Any = tuple(column[learned] for column in data)
    given = spammed(honest, kind, seed)
    wanted, truth = (data[0][~learned], data[1][~learned]), data[2][~learned]
    methods = {
        "user means": lambda: user_means(given, wanted),
        "item means": lambda: item_means(given, wanted),
        "biases": lambda: at_best(biases, SHRINKAGES, given, wanted, of_each),
        "sparse SVD": lambda: at_best(sparse_svd, RANKS, given, wanted, of_each),
        "RatingModel, robust=False": lambda: rating_model(given, wanted, robust=False),
        "RatingModel": lambda: rating_model(given, wanted),
    }
    if with_nmf:
        methods["OnlineRobustNMF, missing='zeros'"] = lambda: stored_nmf(given, wanted)
    row: Row = {}
    for name, method in methods.items():
        start = time.perf_counter()
        row[name] = {"rmse": rmse(method(), truth), "seconds": time.perf_counter() - start}
    model = rating_model.found  # type: ignore[attr-defined]
    guilty = model.suspicious_users_ >= SHAPE[0]
    row["caught"] = int(guilty.sum())
    row["spammers"] = len(np.unique(given[0])) - len(np.unique(honest[0]))
    row["honest and suspected"] = int((~guilty).sum())
    row["ratings a second"] = len(given[0]) / row["RatingModel"]["seconds"]
    row["sweeps"] = model.n_iter_
    return row


def streamed(data: Ratings) -> Row:
    """Predict 500, learn them, go on; biases are fitted anew each time."""
    n = int(0.8 * len(data[0]))
    first: Any = tuple(column[:n] for column in data)
    model = RatingModel(random_state=0, verbose=0).fit(first)
    told: dict[str, list[Array]] = {"RatingModel": [], "biases": []}
    seconds = 0.0
    for start in range(n, len(data[0]), 500):
        users, items, values = (column[start : start + 500] for column in data)
        before: Any = tuple(column[:start] for column in data)
        told["RatingModel"].append(model.predict((users, items)))
        told["biases"].append(biases(before, (users, items), 5.0))
        begun = time.perf_counter()
        model.partial_fit((users, items, values))
        seconds += time.perf_counter() - begun
    row: Row = {name: rmse(np.concatenate(parts), data[2][n:]) for name, parts in told.items()}
    row["ratings a second"] = (len(data[0]) - n) / seconds
    return row


def scaling() -> list[Row]:
    """Ten times the users: how much longer a sweep takes."""
    rows = []
    for n_users in (1000, 10_000):
        made = make_ratings(n_users, 2000, 100 * n_users, 5, random_state=0)
        model = RatingModel(max_iter=5, tol=0, random_state=0, verbose=0)
        start = time.perf_counter()
        model.fit(made[:3])
        seconds = time.perf_counter() - start
        rows.append({"ratings": len(made.ratings), "seconds": seconds})
    return rows


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--spam", nargs="*", default=list(SPAM))
    parser.add_argument("--output", type=Path, default=RESULTS / "ratings.json")
    options = parser.parse_args()
    data = movielens()
    record: Row = {"machine": machine("scipy"), "rows": []}
    with threadpool_limits(1):
        for of_each in (True, False):
            for kind in options.spam:
                seeds = range(1000, 1000 + (1 if kind == "none" else options.seeds))
                rows = [measured(data, of_each, kind, seed, kind == "none") for seed in seeds]
                summary: Row = {"cut": "users" if of_each else "cut", "spam": kind}
                for name, value in rows[0].items():
                    values = [
                        row[name]["rmse"] if isinstance(value, dict) else row[name] for row in rows
                    ]
                    summary[name] = spread(values, 4 if isinstance(value, dict) else 0)
                print(summary, flush=True)
                record["rows"].append(summary)
                write_json(options.output, record)
        record["stream"] = streamed(data)
        print(record["stream"], flush=True)
        record["scaling"] = scaling()
        print(record["scaling"], flush=True)
    write_json(options.output, record)


if __name__ == "__main__":
    main()
