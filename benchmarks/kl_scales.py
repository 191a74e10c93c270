"""KL fits of small matrices whose features have very different sizes, compared with batch updates.

Random matrices (20 to 2000 rows, 5 to 200 features of sizes 1e-3 to 1e3, gamma, Poisson, sparse and
log-normal entries, disjoint groups of features, K from 1 to 8) are fitted as dense arrays and as
CSR. Three figures are printed for each class: fits above the best rank-one fit (product of the
marginals), the loss relative to 150 multiplicative updates from a random start, and the loss of CSR
relative to dense input. A thousandth of the rank-one loss is added to both sides of a ratio, as
exact fits have a loss of zero.

    python benchmarks/kl_scales.py [--first 0] [--count 300]
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from thresher import BatchNMF, OnlineNMF

KINDS = ("gamma", "poisson", "groups", "sparse", "lognormal")


def matrix(seed: int) -> tuple[Any, int]:
    """A nonnegative matrix and the number of atoms to fit."""
    rng = np.random.default_rng(seed)
    n, F = rng.choice([20, 60, 200, 500, 1000, 2000]), rng.choice([5, 15, 30, 80, 200])
    rank, kind, decades = rng.integers(1, 9), rng.choice(KINDS), rng.choice([0, 1, 3])
    C, D = (
        rng.gamma(rng.choice([0.2, 1]), 1, (n, rank)),
        rng.random((rank, F)) ** rng.choice([1, 4]),
    )
    if kind == "groups":
        C = C.max(axis=1, keepdims=True) * (rng.integers(0, rank, n)[:, None] == np.arange(rank))
        D = D * (np.arange(F) % rank == np.arange(rank)[:, None])
    X = C @ D
    if kind == "poisson":
        X = rng.poisson(X * rng.choice([0.3, 3, 30])).astype(float)
    elif kind == "sparse":
        X = rng.poisson(0.2 * X) * rng.gamma(1, 1, X.shape)
    elif kind == "lognormal":
        X = X * rng.lognormal(0, 0.5, X.shape)
    X = X * 10.0 ** rng.uniform(-decades, decades, F)
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.uniform(-2, 2, (n, 1))
    return X, int(min(rng.integers(1, 9), F))


def divergence(X: Any, Y: Any) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float((np.where(X > 0, X * np.log(X / Y), 0) - X + Y).sum())


def multiplicative(X: Any, K: int, seed: int) -> float:
    """150 updates of Lee and Seung from a half-normal start."""
    rng, size = np.random.default_rng([seed, 1]), np.sqrt(X.mean() / K)
    C = size * np.abs(rng.standard_normal((len(X), K)))
    D = size * np.abs(rng.standard_normal((K, X.shape[1])))
    for _ in range(150):
        C *= (X / np.maximum(C @ D, 1e-300)) @ D.T / np.maximum(D.sum(axis=1), 1e-300)
        D *= C.T @ (X / np.maximum(C @ D, 1e-300)) / np.maximum(C.sum(axis=0)[:, None], 1e-300)
    return divergence(X, np.maximum(C @ D, 1e-300))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ratios: dict[str, list[float]] = {"online": [], "batch": []}
    csr: list[float] = []
    worse, seconds = dict.fromkeys(ratios, 0), dict.fromkeys(ratios, 0.0)
    for seed in range(options.first, options.first + options.count):
        X, K = matrix(seed)
        if not X.any():
            continue
        best = divergence(X, np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum())
        least = 1e-3 * best + 1e-9 * X.sum()
        reference = multiplicative(X, K, seed)

        def loss(kind: Any, given: Any, values: Any = X, K: int = K) -> float:
            model = kind(K, divergence="kl", random_state=0, verbose=0).fit(given)
            return divergence(values, model.transform(given) @ model.components_)

        for name, kind in (("online", OnlineNMF), ("batch", BatchNMF)):
            started = time.process_time()
            found = loss(kind, X)
            seconds[name] += time.process_time() - started
            worse[name] += found > 1.005 * best + 1e-6 * X.sum()
            ratios[name].append((found + least) / (reference + least))
            if name == "online":
                csr.append((loss(kind, sparse.csr_array(X)) + least) / (found + least))
    for name, values in ratios.items():
        median, high = np.quantile(values, [0.5, 0.95])
        print(f"{name}: {worse[name]} of {len(values)} above rank one, {seconds[name]:.0f} s")
        print(f"  relative to 150 updates: median {median:.3f}, 95th percentile {high:.3f}")
    print(f"CSR relative to dense: {min(csr):.4f} to {max(csr):.4f}")


if __name__ == "__main__":
    main()
