"""Algorithm 1 of paper D: "Online Orthogonal Dictionary Learning Based on
Frank-Wolfe Method" (Xue, Lau).

NoncvxSFW for a general problem (9):

    min over X in C of  F(X) = E_y[ f(X, y) ],   C convex and bounded, f smooth, not convex.

Letters: the paper's X is X here, its y_t^j is row j of Y_t. X may have any shape.

Readings:
- t starts at 1 and X_0, G_0 = 0 are given. So rho_1 = 4/sqrt(2) = 2.83 and gamma_1 = 2/3^(3/4) =
  0.88.
- rho_t > 1 for t < 15 (errata D.1): the average has negative weights there. It runs, so it stays
  as printed. gamma_t < 1 for all t >= 1, so X_t stays in C. (Counted from 0, gamma_0 = 1.19 would
  leave C.)
- The gradient of step t is taken at X_{t-1}, with the batch of step t, and is the mean over the
  rows of the batch.
- P in step 3 is "any operation with P[X] in C and F(P[X]) <= F(X)" (Section IV-A, below Algorithm
  1). Default: identity. The text there prints "P[X_t = (1 - gamma) ...]": the bracket is
  misplaced, step 3 of the box is meant.
- Sets. The paper names the trace norm ball and the l_p balls (Section IV-A, Step 2) and the unit
  spectral ball (Lemma 3); it writes down only the last. The others follow from the dual norm. The
  simplex is not in the paper. The radius is 1 in the paper, an argument here.
- (16) lacks a minus: the minimum is -||G||_* (errata D.2). The minimiser (17) is right.
- Ties: the first largest entry (l_1 ball, simplex), the first singular pair as LAPACK gives it
  (trace norm ball). A zero G gives 0 on the l_p balls and the trace norm ball. A singular G leaves
  (17) open on the spectral ball: LAPACK's UV^T.
- No stop rule is printed: the algorithm ends with the data.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    t: int
    rho: float
    gamma: float
    g: np.ndarray  # mean gradient of the batch at X_{t-1}
    G: np.ndarray  # averaged gradient G_t
    S: np.ndarray  # oracle's point S_t
    X: np.ndarray  # X_t


def rho_t(t):
    return 4 * (t + 1) ** -0.5


def gamma_t(t):
    return 2 * (t + 2) ** -0.75


def frank_wolfe(
    batches,
    X0,
    gradient: Callable,
    oracle: Callable,
    rho=rho_t,
    gamma=gamma_t,
    operation=lambda X: X,
):
    """Yield one Step per batch. gradient(X, y): of f at y. oracle(G): argmin over S of <G, S>."""
    X = np.asarray(X0, float)
    G = np.zeros_like(X)  # G_0 = 0
    for t, Y in enumerate(batches, start=1):
        g = sum(gradient(X, y) for y in Y) / len(Y)  # at X_{t-1}
        G = (1 - rho(t)) * G + rho(t) * g  # Algorithm 1, step 1
        S = oracle(G)  # Algorithm 1, step 2
        X = operation((1 - gamma(t)) * X + gamma(t) * S)  # Algorithm 1, step 3
        yield Step(t, rho(t), gamma(t), g, G, S, X)


def spectral_ball(G, radius=1.0):
    """||S||_2 <= radius: (17)."""
    U, _, Vt = np.linalg.svd(-G, full_matrices=False)
    return radius * U @ Vt


def trace_norm_ball(G, radius=1.0):
    """Sum of the singular values <= radius: the first singular pair of -G."""
    U, s, Vt = np.linalg.svd(-G, full_matrices=False)
    return radius * np.outer(U[:, 0], Vt[0]) * (s[0] > 0)


def lp_ball(G, p=2.0, radius=1.0):
    """Entrywise ||S||_p <= radius, 1 <= p <= inf. Holder's equality, 1/p + 1/q = 1."""
    if p == np.inf:
        return -radius * np.sign(G)
    top = np.abs(G).max()
    if top == 0:
        return np.zeros_like(G)
    if p == 1:
        S = np.zeros_like(G)
        k = np.unravel_index(np.argmax(np.abs(G)), G.shape)
        S[k] = -radius * np.sign(G[k])
        return S
    q = p / (p - 1)
    v = np.abs(G / top) ** (q - 1)  # |v_i|^p = |g_i|^q
    return -radius * np.sign(G) * v / (v**p).sum() ** (1 / p)


def simplex(G, radius=1.0):
    """S >= 0, sum = radius (not in the paper): all weight on the smallest entry."""
    S = np.zeros_like(G)
    S[np.unravel_index(np.argmin(G), G.shape)] = radius
    return S
