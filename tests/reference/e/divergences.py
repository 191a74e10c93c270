"""Paper E, "Online Nonnegative Matrix Factorization with General Divergences" (Zhao, Tan, Xu): the
divergences.

d(x || y) of Section II-B and Tables I, II and III, with their (sub)gradients in the prediction y =
c D. The paper's v, W, h are a row x of X, D transposed, and a row c of C; its n is our F.

Each divergence is a `Divergence` of three functions of x and y, both (n x F), rows are samples:
value (n,), gradient (n x F), and curvature (n x F).

Readings:
- Squared l2. Table II has 1/2 ||x - y||^2, Section I has ||x - y||^2. This file has the half.
- Table I and II give values only. The gradients are derived here: Csiszar phi(u) - u phi'(u) with
  u = x / y, Bregman phi''(y) (y - x).
- l1 has the subgradient sign(y - x), so 0 at a tie. l2 has 0 at x = y. The paper takes "any
  element".
- Section II-B asks of a Csiszar generator only that it is convex with phi(1) = 0. If phi'(1) != 0,
  as for u log u, the printed sum y phi(x / y) is negative for some y, and not minimal at y = x:
  for u log u it is sum x log(x / y), which falls without end as y grows. `csiszar` is the letter.
  `centred` turns a generator into phi(u) - phi'(1) (u - 1), which differs by phi'(1) (sum x - sum
  y), and which Table I uses throughout (its KL has u log u - u + 1).
- Section II-B lets a Bregman generator act on whole vectors. `bregman` is for sums over the
  entries, `bregman_vector` for the rest. The paper asks for one derivative, its gradient in y
  needs two.
- Table I leaves out alpha = 0 and Table II gives the limits. Here alpha = 1 and beta = 0, 1 are
  the limits in the tables; alpha = 0 is the limit sum y log(y / x) - y + x.
- Remark 2 sets zeros of the data to "small positive numbers", not stated: `positive`, which needs
  the number. KL, alpha > 0 and beta > 0 are defined for x = 0 (0 log 0 = 0), and then no floor is
  needed (errata E.4).
- Huber's alpha is not stated (errata E.6): it has no default.
- curvature is not in the paper. It is the second derivative in y of the loss near y = x: exact for
  squared l2 and Mahalanobis (there the norm of A), an upper bound for Huber, phi''(1) / y for
  Csiszar, phi''(y) for Bregman. l1 and l2 have none; there it is that of the quadratic touching
  from above at the batch's mean residual. It is used for the scale of the dictionary steps only
  (errata E.3).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Divergence(NamedTuple):
    name: str
    value: Callable  # (x, y) -> (n,)
    gradient: Callable  # (x, y) -> (n x F), in y
    curvature: Callable  # (x, y) -> (n x F)
    parameter: object = None


def positive(X, floor):  # Remark 2, last sentence
    return np.where(X == 0, floor, X)


# Table III, robust metrics


def l1():
    def curvature(x, y):
        return np.ones_like(y) / np.mean(np.abs(x - y))

    return Divergence(
        "l1", lambda x, y: np.abs(x - y).sum(1), lambda x, y: np.sign(y - x), curvature
    )


def l2():
    def norm(x, y):
        return np.sqrt(((x - y) ** 2).sum(1))

    def gradient(x, y):
        e = norm(x, y)[:, None]
        return (y - x) / np.where(e > 0, e, 1)  # 0 at x = y

    return Divergence("l2", norm, gradient, lambda x, y: np.ones_like(y) / np.mean(norm(x, y)))


def huber(alpha):
    def value(x, y):
        u = np.abs(x - y)
        return np.where(u <= alpha, u**2 / 2, alpha * (u - alpha / 2)).sum(1)

    return Divergence(
        "huber",
        value,
        lambda x, y: np.clip(y - x, -alpha, alpha),
        lambda x, y: np.ones_like(y),
        alpha,
    )


# Table I, Csiszar f-divergences


def xlogy(x, y):  # 0 log y = 0
    return np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y)))


def kl():
    def value(x, y):
        return (xlogy(x, x / y) - x + y).sum(1)

    return Divergence("kl", value, lambda x, y: 1 - x / y, lambda x, y: 1 / y)


def alpha_divergence(alpha):
    if alpha == 1:
        return kl()
    if alpha == 0:
        return Divergence(
            "alpha",
            lambda x, y: (y * np.log(y / x) - y + x).sum(1),
            lambda x, y: np.log(y / x),
            lambda x, y: 1 / y,
            alpha,
        )

    def value(x, y):
        return (y * ((x / y) ** alpha - 1) - alpha * (x - y)).sum(1) / (alpha * (alpha - 1))

    return Divergence(
        "alpha", value, lambda x, y: (1 - (x / y) ** alpha) / alpha, lambda x, y: 1 / y, alpha
    )


def hellinger():  # alpha = 1/2
    return Divergence(
        "hellinger",
        lambda x, y: 2 * ((np.sqrt(x) - np.sqrt(y)) ** 2).sum(1),
        lambda x, y: 2 * (1 - np.sqrt(x / y)),
        lambda x, y: 1 / y,
    )


def csiszar(phi, dphi, d2phi_at_1=1.0):
    """phi and its derivative act on arrays; d2phi_at_1 is phi''(1)."""

    def gradient(x, y):
        u = x / y
        with np.errstate(all="ignore"):
            return phi(u) - np.where(
                u == 0, 0, u * dphi(u)
            )  # u phi'(u) -> 0 where phi(0) is finite

    return Divergence(
        "csiszar", lambda x, y: (y * phi(x / y)).sum(1), gradient, lambda x, y: d2phi_at_1 / y
    )


def centred(phi, dphi):
    """The generator with phi'(1) = 0: the arguments of `csiszar`."""
    slope = dphi(np.ones(1))[0]
    return (lambda u: phi(u) - slope * (u - 1)), (lambda u: dphi(u) - slope)


# Table II, Bregman divergences


def squared_l2():  # beta = 2
    return Divergence(
        "squared_l2",
        lambda x, y: ((x - y) ** 2).sum(1) / 2,
        lambda x, y: y - x,
        lambda x, y: np.ones_like(y),
    )


def itakura_saito():  # beta -> 0
    return Divergence(
        "is",
        lambda x, y: (np.log(y / x) + x / y - 1).sum(1),
        lambda x, y: (y - x) / y**2,
        lambda x, y: 1 / y**2,
    )


def beta_divergence(beta):
    if beta == 0:
        return itakura_saito()
    if beta == 1:
        return kl()

    def value(x, y):
        return (x**beta - y**beta - beta * y ** (beta - 1) * (x - y)).sum(1) / (beta * (beta - 1))

    return Divergence(
        "beta", value, lambda x, y: y ** (beta - 2) * (y - x), lambda x, y: y ** (beta - 2), beta
    )


def mahalanobis(A):
    A = (A + A.T) / 2  # only this part enters the value
    return Divergence(
        "mahalanobis",
        lambda x, y: ((x - y) @ A * (x - y)).sum(1) / 2,
        lambda x, y: (y - x) @ A,
        lambda x, y: np.ones_like(y) * np.linalg.norm(A, 2),
        A,
    )


def bregman(phi, dphi, d2phi):
    """phi and its two derivatives act on entries; the generator is the sum over them."""
    return Divergence(
        "bregman",
        lambda x, y: (phi(x) - phi(y) - dphi(y) * (x - y)).sum(1),
        lambda x, y: d2phi(y) * (y - x),
        lambda x, y: d2phi(y),
    )


def bregman_vector(phi, dphi, d2phi):
    """phi (F,) -> number, dphi (F,) -> (F,), d2phi (F,) -> (F x F), for one row."""

    def value(x, y):
        return np.array([phi(p) - phi(q) - dphi(q) @ (p - q) for p, q in zip(x, y, strict=True)])

    def gradient(x, y):
        return np.array([d2phi(q) @ (q - p) for p, q in zip(x, y, strict=True)])

    def curvature(x, y):
        return np.array([np.full(len(q), np.linalg.norm(d2phi(q), 2)) for q in y])

    return Divergence("bregman_vector", value, gradient, curvature)
