"""Paper C, "MahNMF: Manhattan Non-negative Matrix Factorization", section 4.5 (symmetric MahNMF,
MahNMF-SYM).

Problem (59):  min over H >= 0 of  ||X - H H^T||_1,  X (n x n) symmetric, H (n x K).

Letters: H is as in the paper (it plays the part of C). c counts columns of H, j rows.

Order: column c = 1..K (60); within it j = 1..n, one variable at a time (61), with the newest
values of the others. Z = X - sum over i != c of H[:, i] H[:, i]^T is computed once per column: it
does not contain column c.

Readings:
- (61) has every off-diagonal entry once, (59) twice. Default: factor 2 (errata C.6); as_printed:
  factor 1.
- The paper assumes x^2 >= Z_jj and uses Theorem 3 with b = 1, d = 0, then (as in (37)) max{0, .}.
  For x^2 < Z_jj the diagonal term is concave. Default: the best of 0, all breakpoints z/h > 0,
  sqrt(Z_jj), and Theorem 3's point raised to sqrt(Z_jj) (errata C.6), the smallest if several
  are equal; this is the global minimum of one variable. as_printed: Theorem 3's point, clipped at
  0, whatever Z_jj is. Both use the corrected Theorem 3 (elastic_net.py): the letter has no answer
  at a kink.
- "normalizing X" does not make sum_i H_ji^2 >= X_jj true, and it is not tested.
- One pass over j for each column, then the next column, as in Algorithm 1. "(60) can be solved by
  successively updating each variable" could also mean passes until (60) converges.
- No stop is printed for this problem. (8) after each sweep over all columns, with eps = .1;
  default: times mean|X| (errata C.4). As printed the loss can rise, so max_sweeps ends it.
"""

from typing import NamedTuple

import numpy as np

from .elastic_net import theorem3


class Variable(NamedTuple):
    j: int
    value: float
    column: np.ndarray  # H[:, c] after the update


class Column(NamedTuple):
    k: int  # sweep
    c: int
    Z: np.ndarray  # (60)
    H: np.ndarray
    objective: float
    stop: bool  # (8); can be true only for the last c


def objective(X, H):
    return np.abs(X - H @ H.T).sum()  # (59)


def variable_loss(x, Z, h, j, factor):
    """(61) at x."""
    others = np.arange(len(h)) != j
    return abs(Z[j, j] - x**2) + factor * np.abs(Z[others, j] - h[others] * x).sum()


def variable(Z, h, j, as_printed=False):
    """The new H[j, c] by (61), h the present column."""
    factor = 1 if as_printed else 2
    used = (np.arange(len(h)) != j) & (h > 0)
    points = Z[used, j] / h[used]
    convex = max(0, theorem3(factor * h[used], points, 1, 0))
    if as_printed:
        return convex
    root = np.sqrt(max(0, Z[j, j]))
    candidates = np.sort(np.concatenate([[0, root, max(root, convex)], points[points > 0]]))
    return candidates[np.argmin([variable_loss(x, Z, h, j, factor) for x in candidates])]


def column_steps(Z, h, as_printed=False):
    """One pass over (60). Yields a Variable for every j."""
    for j in range(len(h)):
        h = h.copy()
        h[j] = variable(Z, h, j, as_printed)
        yield Variable(j, h[j], h)


def symmetric(X, H0, eps=0.1, as_printed=False, max_sweeps=1000):
    """Sweeps over all columns until (8). Yields a Column for every (k, c)."""
    H, old, stop = H0.astype(float), objective(X, H0), False
    for k in range(max_sweeps):
        for c in range(H.shape[1]):
            Z = X - H @ H.T + np.outer(H[:, c], H[:, c])  # (60)
            H = H.copy()
            for step in column_steps(Z, H[:, c], as_printed):
                H[:, c] = step.column
            new = objective(X, H)
            scale = 1 if as_printed else np.abs(X).mean()
            stop = c == H.shape[1] - 1 and abs(new - old) <= eps * scale  # (8)
            yield Column(k, c, Z, H, new, stop)
        if stop:
            return
        old = new
