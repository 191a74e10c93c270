"""What is believed of users and items, given the others: normal distributions in closed form.

A user and an item are vectors ``u = (a, p)`` and ``v = (b, q)`` of a bias and K tastes, and a
rating is ``a + b + p·q`` with noise. Given what is believed of the items, the precision and the
mean of u follow from sums over the ratings of the user, with ``φ = (1, q)`` and ``t`` one over
the noise::

    Λ = diag(prior) + t Σ w E[φφᵀ],      Λ E[u] = t Σ w (E[φ] y − E[φ b]).

The sums are products of a sparse matrix of the weights with the moments of the items: the work
grows with the ratings.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.bundles import read_only
from thresher.kernels.sparse_rows import products_at
from thresher.linalg import Array

_ROWS = 4096  # whose matrices are in memory at a time; by judgement


class Beliefs(NamedTuple):
    """Means (n, 1 + K) and covariances (n, 1 + K, 1 + K) of users, or of items."""

    mean: Array
    cov: Array

    @classmethod
    def prior(cls, n: int, precision: Array) -> "Beliefs":
        """Of those who have not been seen."""
        cov = np.broadcast_to(np.diag(1 / precision), (n, len(precision), len(precision)))
        return cls(np.zeros((n, len(precision))), cov.copy())

    def with_more(self, n: int, precision: Array) -> "Beliefs":
        """With newcomers at the end, ``n`` in all."""
        new = Beliefs.prior(n - len(self.mean), precision)
        return Beliefs(np.concatenate([self.mean, new.mean]), np.concatenate([self.cov, new.cov]))

    def with_rows(self, rows: Any, others: "Beliefs") -> "Beliefs":
        """With other beliefs of some."""
        mean, cov = self.mean.copy(), self.cov.copy()
        mean[rows], cov[rows] = others.mean, others.cov
        return Beliefs(mean, cov)

    def centred(self, weight: Array) -> tuple["Beliefs", float]:
        """With biases whose mean is zero, and what that mean was."""
        total = float(weight.sum())
        center = float(weight @ self.mean[:, 0]) / total if total > 0 else 0.0
        mean = self.mean.copy()
        mean[:, 0] -= center
        return Beliefs(mean, self.cov), center

    def precision(self, weight: Array) -> Array:
        """One over the mean square of every entry: the prior under which these are likeliest."""
        squares = self.mean**2 + np.einsum("npp->np", self.cov)
        total = weight.sum()
        if not total > 0:
            return np.ones(self.mean.shape[1])
        return np.asarray(total / np.maximum(weight @ squares, 1e-9 * total))


class Ratings(NamedTuple):
    """Weights and weighted ratings of rows, in CSR of one pattern, and ``Σ w y²`` of each row."""

    weights: Any
    values: Any
    squares: Array


class Update(NamedTuple):
    """New beliefs of rows, with ``Σ w E[e²]`` of each."""

    beliefs: Beliefs
    errors: Array


def updated(rows: Ratings, others: Beliefs, precision: Array, noise: Array) -> Update:
    """Beliefs of all rows, given what is believed of ``others``; ``noise`` is t of every row."""
    phi, moments = _moments(others)
    parts = [
        _updated(
            Ratings(rows.weights[some], rows.values[some], rows.squares[some]),
            np.column_stack([phi, others.mean[:, 0]]),
            moments,
            precision,
            noise[some],
        )
        for start in range(0, len(noise), _ROWS)
        for some in (slice(start, start + _ROWS),)
    ]
    mean, cov, errors = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Update(Beliefs(mean, cov), errors)


def _moments(others: Beliefs) -> tuple[Array, Array]:
    """φ, and ``E[φφᵀ]`` above its diagonal, ``E[φ b]``, ``E[b²]`` in one row each."""
    mean, cov = others
    phi = mean.copy()
    phi[:, 0] = 1
    squares = phi[:, :, None] * phi[:, None, :]
    squares[:, 1:, 1:] += cov[:, 1:, 1:]
    with_bias = phi * mean[:, :1]
    with_bias[:, 1:] += cov[:, 1:, 0]
    upper = np.triu_indices(mean.shape[1])
    bias = mean[:, :1] ** 2 + cov[:, :1, 0]
    return phi, np.hstack([squares[:, upper[0], upper[1]], with_bias, bias])


def _updated(
    rows: Ratings, known: Array, moments: Array, precision: Array, noise: Array
) -> tuple[Array, Array, Array]:
    P = len(precision)
    i, j = np.triu_indices(P)
    sums, products = rows.weights @ moments, rows.values @ known
    G = np.empty((len(noise), P, P))
    G[:, i, j] = G[:, j, i] = sums[:, : len(i)]
    g = products[:, :P] - sums[:, len(i) : len(i) + P]
    cov = np.linalg.inv(noise[:, None, None] * G + np.diag(precision))
    mean = noise[:, None] * np.einsum("npq,nq->np", cov, g)
    without = rows.squares - 2 * products[:, P] + sums[:, -1]
    second = mean[:, :, None] * mean[:, None, :] + cov
    errors = without - 2 * np.einsum("np,np->n", mean, g) + np.einsum("npq,npq->n", G, second)
    return mean, cov, np.maximum(errors, 0)


def leverages(X: Any, users: Beliefs, items: Beliefs) -> tuple[Array, Array]:
    """``φᵀ Cov φ`` of the user and of the item of every stored entry of a CSR matrix.

    Times the precision of the rating it is the share of it that its own fit follows.
    """
    i, j = np.triu_indices(users.mean.shape[1])
    twice = np.where(i == j, 1.0, 2.0)
    packed = []
    for beliefs in (users, items):
        phi = beliefs.mean.copy()
        phi[:, 0] = 1
        packed.append((phi[:, i] * phi[:, j], twice * beliefs.cov[:, i, j]))
    (of_users, user_cov), (of_items, item_cov) = packed
    return _at(X, user_cov, of_items), _at(X, of_users, item_cov)


def told(X: Any, users: Beliefs, items: Beliefs) -> Array:
    """``a + b + p·q`` at every stored entry of a CSR matrix."""
    u, v = users.mean, items.mean
    ones = np.ones(len(u)), np.ones(len(v))
    left = np.column_stack([u[:, 0], ones[0], u[:, 1:]])
    return _at(X, left, np.column_stack([ones[1], v[:, 0], v[:, 1:]]))


def _at(X: Any, left: Array, right: Array) -> Array:
    products: Array = np.empty(len(X.data))
    places = X.indptr.astype(np.int32, copy=False), X.indices.astype(np.int32, copy=False)
    arrays = (*places, np.ascontiguousarray(left), np.ascontiguousarray(right))
    products_at(*map(read_only, arrays), products)
    return products
