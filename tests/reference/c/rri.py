"""Paper C, "MahNMF: Manhattan Non-negative Matrix Factorization", Algorithm 1 (rank-one residual
iteration).

Problem (1):  min over C >= 0, D >= 0 of  ||X - C D||_1  (sum of absolute entries).

Letters: the paper has X ~ W^T H with samples in columns. Its X is our X transposed, W is D, H is
C transposed, m = F, n = n, r = K. Its row l of H is our column C[:, l].

What is looped: for fixed D, Algorithm 1 sweeps l = 1..K (line 3), all samples at once in each
(line 8), and repeats the sweep (line 2) until (8), |f(D, C_k+1) - f(D, C_k)| <= eps = .1, f
summed over the *whole* matrix, checked once per sweep. Only then (3) does the same for D, from
the start D_t. The pair (2), (3) repeats until (4), the same test with xi = .1 on f(C_t, D_t).

Readings:
- Line 4 prints H_k(i) for all i != l. The text updates rows "successively", given the others, so
  rows i < l are the new ones (Gauss-Seidel). With the old ones the loss need not fall.
- Line 4 computes Z from X afresh for every l. This file does so too, and keeps no residual.
- Line 7 says "the sign of zeta"; the sign of its *slope* is meant (text around (7)). The slope
  starts at -sum(w) and grows by 2 w (text after Algorithm 1); the first slope >= 0 is taken, so
  an exact zero gives the leftmost minimiser.
- An atom that is zero leaves no breakpoints. The paper is silent: the codes stay as they are.
- The tolerances .1 are absolute (errata C.4). Default: .1 times mean|X|; as_printed=True: .1.
- (3) is "solved in a similar way": Algorithm 1 on X transposed, with C transposed as the
  dictionary.
- RRI stops at kinks that do not solve (2) (errata C.9). This file does not repair that.
"""

# ruff: noqa: B007, E741, N815 - the paper's letters

from typing import NamedTuple

import numpy as np


class Row(NamedTuple):
    """One pass of lines 4 to 8."""

    k: int  # sweep
    l: int  # atom
    Z: np.ndarray  # residual without atom l, (5)
    C: np.ndarray  # all codes after the update
    objective: float
    stop: bool  # (8) holds; can be true only for the last l


class Outer(NamedTuple):
    t: int
    C: np.ndarray
    D: np.ndarray
    objective: float
    sweeps_C: int
    sweeps_D: int
    stop: bool  # (4)


def loss(X, C, D):
    return np.abs(X - C @ D).sum()  # (1)


def unit(X, as_printed):
    """Unit of the tolerances."""
    return 1.0 if as_printed else np.abs(X).mean()


def weighted_median(z, w):
    """Leftmost minimiser over x of sum |w x - z|, (6) and (7), for w > 0."""
    p = z / w  # line 5
    order = np.argsort(p, kind="stable")  # line 6
    slope = -w.sum() + 2 * np.cumsum(w[order])  # slope to the right of each point, (7)
    return p[order[np.argmax(slope >= 0)]]  # line 7


def update_row(Z, d, c, upper=np.inf):
    """Lines 5 to 8 for one atom d. Z has one sample per row, c is the old column of codes."""
    w = d > 0  # line 1
    if not w.any():
        return c
    return np.array([np.clip(weighted_median(z[w], d[w]), 0, upper) for z in Z])  # line 8


def codes_steps(X, D, C0, eps=0.1, as_printed=False, upper=np.inf):
    """Algorithm 1. Yields a Row for every (k, l). upper = 1 gives the box of section 4.1."""
    C, k, stop = C0.astype(float).copy(), 0, False
    old = loss(X, C, D)
    while not stop:  # line 2
        for l in range(len(D)):  # line 3
            Z = X - C @ D + np.outer(C[:, l], D[l])  # line 4
            C = C.copy()
            C[:, l] = update_row(Z, D[l], C[:, l], upper)
            new = loss(X, C, D)
            stop = l == len(D) - 1 and abs(new - old) <= eps * unit(X, as_printed)  # line 10, (8)
            yield Row(k, l, Z, C, new, stop)
        old, k = new, k + 1


def codes(X, D, C0, eps=0.1, as_printed=False, upper=np.inf):
    """The last codes of Algorithm 1, and the number of sweeps."""
    for row in codes_steps(X, D, C0, eps, as_printed, upper):
        pass
    return row.C, row.k + 1


def rri(X, D0, C0, eps=0.1, xi=0.1, as_printed=False, upper=np.inf):
    """(2), (3) by Algorithm 1 until (4). Yields an Outer for every t."""
    C, D, t, stop = C0, D0, 0, False
    old = loss(X, C, D)
    while not stop:
        C, sweeps_C = codes(X, D, C, eps, as_printed, upper)  # (2), warm start
        D, sweeps_D = codes(X.T, C.T, D.T, eps, as_printed, upper)  # (3), warm start
        D = D.T
        new = loss(X, C, D)
        stop = abs(old - new) <= xi * unit(X, as_printed)  # (4)
        yield Outer(t, C, D, new, sweeps_C, sweeps_D, stop)
        old, t = new, t + 1
