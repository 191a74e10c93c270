"""KL fits are as good as batch multiplicative updates, whatever the sizes of the features."""

import numpy as np
import pytest
from scipy import sparse

from thresher import BatchNMF, OnlineNMF


def divergence(X, Y):
    """Σ x log(x/y) − x + y; infinite where a positive entry has prediction zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(X > 0, X * np.log(X / Y), 0)
    return float((ratio - X + Y).sum())


def rank_one(X):
    """The optimum for K = 1: the product of the marginals."""
    return divergence(X, np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum())


def multiplicative(X, K, rng, iterations=150):
    """Lee and Seung's updates from a random start."""
    C, D = rng.random((len(X), K)), rng.random((K, X.shape[1])) * X.mean() / K
    for _ in range(iterations):
        C *= (X / np.maximum(C @ D, 1e-300)) @ D.T / D.sum(axis=1)
        D *= C.T @ (X / np.maximum(C @ D, 1e-300)) / np.maximum(C.sum(axis=0)[:, None], 1e-300)
    return divergence(X, np.maximum(C @ D, 1e-300))


def matrix(seed):
    """A nonnegative matrix of random shape, with features of sizes 1e-3 to 1e3, and its rank."""
    rng = np.random.default_rng([seed, 33])
    n, F, rank = rng.choice([30, 120, 400]), rng.choice([6, 15, 40]), rng.integers(1, 7)
    C, D = rng.gamma(1, 1, (n, rank)), rng.random((rank, F)) ** 2
    kind = seed % 4
    if kind == 1:  # disjoint groups of features
        C = C * (rng.integers(0, rank, n)[:, None] == np.arange(rank))
        D = D * (np.arange(F) % rank == np.arange(rank)[:, None])
    X = C @ D
    if kind == 2:
        X = rng.poisson(X * rng.choice([0.5, 5])).astype(float)
    if kind == 3:
        X = X * rng.lognormal(0, 0.5, X.shape)
    return X * 10.0 ** rng.uniform(-3, 3, F), int(min(rng.integers(1, 9), F))


def fitted(kind, X, K, values):
    model = kind(K, divergence="kl", random_state=0, verbose=0).fit(X)
    return divergence(values, model.transform(X) @ model.components_)


@pytest.mark.parametrize("kind", [OnlineNMF, BatchNMF])
def test_no_fit_is_worse_than_rank_one_or_far_from_batch_updates(kind):
    ratios = []
    for seed in range(16):
        X, K = matrix(seed)
        best = rank_one(X)
        loss = fitted(kind, X, K, X)
        assert loss <= 1.01 * best + 1e-6 * X.sum(), f"matrix({seed}), K={K}"
        # Exact fits have a loss of nothing: a thousandth of the rank-one loss counts as that.
        reference = multiplicative(X, K, np.random.default_rng(seed))
        ratios.append((loss + 1e-3 * best) / (reference + 1e-3 * best))
    assert np.median(ratios) <= 1.05
    assert np.quantile(ratios, 0.75) <= 1.2


@pytest.mark.parametrize("n", [100, 1000])
def test_one_atom_is_the_product_of_the_marginals(n):
    rng = np.random.default_rng(0)
    X = rng.gamma(1, 1, (n, 3)) @ rng.random((3, 15)) * 10.0 ** rng.uniform(-3, 3, 15)
    for kind in (OnlineNMF, BatchNMF):
        assert fitted(kind, X, 1, X) <= 1.01 * rank_one(X)


@pytest.mark.parametrize("seed", range(8))
def test_dense_and_csr_samples_of_the_same_values_give_the_same_fit(seed):
    X, K = matrix(seed)
    X[0, 0] = 0  # 99 % full CSR is learned as a dense array is
    for kind in (OnlineNMF, BatchNMF):
        dense, rows = fitted(kind, X, K, X), fitted(kind, sparse.csr_array(X), K, X)
        assert rows == pytest.approx(dense, rel=0.02, abs=1e-6 * X.sum())
