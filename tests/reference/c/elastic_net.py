"""Paper C, "MahNMF: Manhattan Non-negative Matrix Factorization", section 4.4 (elastic net inducing
MahNMF) and Theorem 3.

Problem (58):  min over C >= 0, D >= 0 of  ||X - C D||_1 + alpha/2 ||X - C D||_F^2.

Letters: the paper's X is our X transposed, W is D, H is C transposed. Theorem 3 keeps the paper's
letters.

Readings:
- Algorithms 2 and 3 with gradient grad f_lam + alpha (C D - X) D^T and L = L_lam + alpha ||D
  D^T||_2 (text after (58)). Everything else, and all of its readings, as in ogm.py: centre,
  units, stop (8) on the objective (58).
- alpha has no published number, and has the unit 1/X. It is an argument without default.
- Theorem 3, as printed, asks for an i with f'_+(x_i) <= 0 and f'_-(x_i+1) > 0. If the minimum is
  at a kink there is no such i (errata C.5). Its proof asks f'_+(x_i+1) >= 0 and then forgets the
  upper end. Default: the first i with f'_+(x_i+1) >= 0, and d - k_i+1/2b clipped to [x_i, x_i+1];
  as_printed: the letter, nan if no i fits. (The proof's d - k_m+1/2b in med{} is d - k_i+1/2b.)
- Theorem 3 wants x_1 < ... < x_m. Equal points make empty pieces, which do no harm.
- The paper gives no RRI for (58). One variable has the form of Theorem 3 with a = w, x = z/w, b =
  alpha/2 sum w^2, d = sum z w / sum w^2 (errata C.5), so the sweeps of Algorithm 1 apply; max{0,
  .} as in (37). Sums over all f; an atom that is zero: the code stays.
"""

# ruff: noqa: E731, E741 - the paper's letters

import numpy as np

from . import ogm
from .rri import Row, unit


def objective(X, C, D, alpha):
    E = X - C @ D
    return np.abs(E).sum() + alpha / 2 * (E**2).sum()  # (58)


def theorem3(a, x, b, d, as_printed=False):
    """Minimiser of sum a_i |t - x_i| + b (t - d)^2 for a > 0, b > 0; x in any order."""
    order = np.argsort(x, kind="stable")
    x = np.concatenate([[-np.inf], x[order], [np.inf]])  # x_0 .. x_m+1
    k = -a.sum() + 2 * np.concatenate([[0], np.cumsum(a[order])])  # k[i] is the paper's k_i+1
    for i in range(len(k)):
        inner = d - k[i] / (2 * b)
        if as_printed:
            if 2 * b * (x[i] - d) + k[i] <= 0 and 2 * b * (x[i + 1] - d) + k[i] > 0:
                return max(x[i], inner)
        elif i == len(a) or 2 * b * (x[i + 1] - d) + k[i + 1] >= 0:  # f'_+(x_i+1), (39)
            return np.clip(inner, x[i], x[i + 1])
    return np.nan


def codes_steps(X, D, C0, lam, alpha, eps=0.1, as_printed=False, max_iter=1000):
    """Algorithm 2 for (58). Yields an Inner of ogm.py for every k; smooth has the squares too."""
    q = ogm.weights(D)
    L = q.sum() / lam + alpha * np.linalg.norm(D @ D.T, 2)  # L^(en)
    centre = 0 if as_printed else C0

    def smooth(C):
        E = C @ D - X
        return ogm.smoothed(E, q, lam) + alpha / 2 * (E**2).sum(axis=1)

    C, total, running = C0.astype(float), np.zeros(C0.shape), np.full(len(X), L > 0)
    for k in range(max_iter):
        if not running.any():
            return
        U = ogm.dual(C @ D - X, q, lam)
        gradient = U @ D.T + alpha * (C @ D - X) @ D.T
        Y = np.maximum(0, C - gradient / L)  # (19)
        total = total + (k + 1) / 2 * gradient
        Z = np.maximum(0, centre - total / L)  # (20)
        C_next = 2 / (k + 3) * Z + (k + 1) / (k + 3) * Y  # (21)
        C_next = np.where(running[:, None], C_next, C)
        before, after = smooth(C), smooth(C_next)
        change = abs(objective(X, C, D, alpha) - objective(X, C_next, D, alpha))
        running = running & (change > eps * unit(X, as_printed))  # (8)
        yield ogm.Inner(k, C, U, gradient, Y, Z, C_next, before, after, running)
        C = C_next


def codes(X, D, C0, lam, alpha, eps=0.1, as_printed=False, max_iter=1000):
    """The last codes, and the number of iterations."""
    C, k = C0, -1
    for step in codes_steps(X, D, C0, lam, alpha, eps, as_printed, max_iter):
        C, k = step.C_next, step.k
    return C, k + 1


def elastic_net(
    X, D0, C0, alpha, lam0=0.1, eps=0.1, xi=0.1, as_printed=False, max_iter=1000, max_outer=100
):
    """Algorithm 3 for (58). Yields an Outer of ogm.py for every t."""
    solve = lambda X, D, C, lam, eps: codes(X, D, C, lam, alpha, eps, as_printed, max_iter)
    value = lambda C, D: objective(X, C, D, alpha)
    return ogm.alternate(X, D0, C0, solve, solve, value, lam0, eps, xi, as_printed, max_outer)


def rri_codes_steps(X, D, C0, alpha, eps=0.1, as_printed=False):
    """Algorithm 1 on (58), each variable by Theorem 3. Yields a Row of rri.py for every (k, l)."""
    C, k, stop = C0.astype(float).copy(), 0, False
    old = objective(X, C, D, alpha)
    while not stop:
        for l, d in enumerate(D):
            Z = X - C @ D + np.outer(C[:, l], d)  # (5)
            C, w = C.copy(), d > 0
            if w.any():
                for j, z in enumerate(Z):
                    C[j, l] = max(
                        0, theorem3(d[w], z[w] / d[w], alpha / 2 * (d @ d), z @ d / (d @ d))
                    )
            new = objective(X, C, D, alpha)
            stop = l == len(D) - 1 and abs(new - old) <= eps * unit(X, as_printed)  # (8)
            yield Row(k, l, Z, C, new, stop)
        old, k = new, k + 1
