"""Paper C, "MahNMF: Manhattan Non-negative Matrix Factorization", section 4.1 (box-constrained
MahNMF, MahNMF-BC).

Problem (27):  min over 0 <= C <= 1, 0 <= D <= 1 of  ||X - C D||_1.

Letters: the paper's X is our X transposed, W is D, H is C transposed, r = K. q_f = ||column f of
D||_2, the paper's "D" is q.sum(), D_2 = q.sum() / 2, D_1 = K / 2. mu of a sample is a row here.

The stop is (25) on the dual function in closed form, for each sample on its own:
    gap = ||x - y D||_1 + x.mu - sum_k min(0, (mu D^T)_k) <= eps,
    mu the average of the U_i with weights 2 (i+1) / ((N+1)(N+2)).

Readings:
- (31) has centre 0. Default: centre H_0 (errata C.3), which leaves D_1 <= K/2; as_printed: 0.
- (29) prints f_lam where its gradient is meant; (31) is right.
- lambda: (25) is said to give lambda = eps / D_2. This spends all of eps on the first term, so
  the bound promises it for no N (the gap itself may still come there). The bound is least at
  lambda = eps / (2 D_2) = eps / q.sum() (errata C.4), the default; then N + 1 = 2 q.sum()
  sqrt(K) / eps iterations are enough (the printed N lacks 1/eps).
- So lambda follows from eps. lambda_t = lambda_0/(t+1) of Algorithm 3 is not used: with lambda_t
  D_2 > eps the gap need not come below eps. lam is an argument.
- eps = .1 is absolute. Default: .1 times mean|x| of the row, so that lambda and L differ from row
  to row; xi times mean|X|.
- "mu_lambda(h_i) is the solution of (21)": (14) is meant. < . , . >_1 in phi is the product of
  R^m.
- q_f = 0: U = sign(-x), or the gap keeps |x_f| (errata C.1).
- (25) is about y_N: both modes return y_N (Algorithm 2 would return H_N+1, for which nothing is
  shown).
- A sample that stopped keeps its Y, H, mu and gap. max_iter is not in the paper; with
  as_printed=True it can be needed.
- RRI for the box: line 8 of Algorithm 1 becomes med{0, 1, p}; all else is rri.py (functions
  rri_*, upper = 1).
"""

# ruff: noqa: B007, N815 - the paper's letters

from typing import NamedTuple

import numpy as np

from . import rri as rank_one
from .ogm import dual, loss, row_unit, weights


class Inner(NamedTuple):
    k: int
    C: np.ndarray  # H_k
    U: np.ndarray
    gradient: np.ndarray
    Y: np.ndarray
    Z: np.ndarray
    C_next: np.ndarray  # H_k+1
    mu: np.ndarray
    gap: np.ndarray  # of each row, at Y and mu
    running: np.ndarray


class Outer(NamedTuple):
    t: int
    C: np.ndarray
    D: np.ndarray
    objective: float
    steps_C: int
    steps_D: int
    stop: bool  # (4)


def duality_gap(X, D, Y, mu):
    """f(y) - phi(mu) of each row, left side of (25)."""
    phi = np.minimum(0, mu @ D.T).sum(axis=1) - (X * mu).sum(axis=1)
    return np.abs(X - Y @ D).sum(axis=1) - phi


def codes_steps(X, D, C0, eps=0.1, lam=None, as_printed=False, max_iter=10000):
    """Algorithm 2 with (30), (31). Yields an Inner for every k. lam may be one for each row."""
    q = weights(D)
    size = q.sum() or 1.0  # D = 0 has no gradient, so any L will do
    eps = np.full((len(X), 1), eps) * (1 if as_printed else row_unit(X)[:, None])
    if lam is None:
        lam = eps / (size / 2 if as_printed else size)  # after (25)
    L = size / lam
    centre = 0 if as_printed else C0
    C, Y, total, summed = C0.astype(float), C0, np.zeros(C0.shape), np.zeros(X.shape)
    mu, gap = np.zeros(X.shape), np.full(len(X), np.inf)
    running = np.ones(len(X), bool)
    for k in range(max_iter):
        if not running.any():
            return
        U = dual(C @ D - X, q, lam)  # (14)
        gradient = U @ D.T
        on = running[:, None]
        Y = np.where(on, np.clip(C - gradient / L, 0, 1), Y)  # (30)
        total = total + (k + 1) / 2 * gradient
        Z = np.clip(centre - total / L, 0, 1)  # (31)
        C_next = np.where(on, 2 / (k + 3) * Z + (k + 1) / (k + 3) * Y, C)  # (21)
        summed = summed + (k + 1) * U
        mu = np.where(on, 2 / ((k + 1) * (k + 2)) * summed, mu)  # after (25), N = k
        gap = np.where(running, duality_gap(X, D, Y, mu), gap)
        running = running & (gap > eps[:, 0])  # (25)
        yield Inner(k, C, U, gradient, Y, Z, C_next, mu, gap, running)
        C = C_next


def codes(X, D, C0, eps=0.1, lam=None, as_printed=False, max_iter=10000):
    """y_N of every row, and the number of iterations of the slowest."""
    for step in codes_steps(X, D, C0, eps, lam, as_printed, max_iter):
        pass
    return step.Y, step.k + 1


def box(X, D0, C0, eps=0.1, xi=0.1, as_printed=False, max_iter=10000, max_outer=100):
    """Alternation (2), (3) over the box until (4). Yields an Outer for every t."""
    C, D, old = C0, D0, loss(X, C0, D0)
    for t in range(max_outer):
        C, steps_C = codes(X, D, C, eps, None, as_printed, max_iter)
        D, steps_D = codes(X.T, C.T, D.T, eps, None, as_printed, max_iter)
        D = D.T
        new = loss(X, C, D)
        stop = abs(old - new) <= xi * (1 if as_printed else np.abs(X).mean())  # (4)
        yield Outer(t, C, D, new, steps_C, steps_D, stop)
        if stop:
            return
        old = new


def rri_codes_steps(X, D, C0, eps=0.1, as_printed=False):
    """Algorithm 1 with med{0, 1, p} in line 8. Yields a Row of rri.py for every (k, l)."""
    return rank_one.codes_steps(X, D, C0, eps, as_printed, upper=1)


def rri_box(X, D0, C0, eps=0.1, xi=0.1, as_printed=False):
    """(27) by Algorithm 1. Yields an Outer of rri.py for every t."""
    return rank_one.rri(X, D0, C0, eps, xi, as_printed, upper=1)
