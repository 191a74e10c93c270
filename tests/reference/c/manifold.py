"""Paper C, "MahNMF: Manhattan Non-negative Matrix Factorization", section 4.2 (manifold regularized
MahNMF, MahNMF-M).

Problem (33):  min over C >= 0, D >= 0 of  ||X - C D||_1 + beta/2 tr(C^T L_G C),   L_G = diag(S 1)
- S, S (n x n) the symmetric similarities of the samples, zero on the diagonal.

Letters: the paper's X is our X transposed, W is D, H is C transposed, L^(G) is L_G.

Readings:
- "Lipschitz continuous with constant L^(G)" and L^(M) = L + beta L^(G): the spectral norm
  ||L_G||_2 is meant.
- (35) sums gradients at H_k. Default: at H_i, and centre H_0 (errata C.2, C.3); as_printed: the
  letter of (35), that is (k+1)(k+2)/4 times the gradient at H_k, and centre 0.
- L_G couples the samples, so the stop is (8) on the objective (33). D is solved by Algorithm 2
  (ogm.py), in the same mode.
- beta has no published number. It is an argument without default.
- The adjacent graph is not specified ("a few of its nearest neighbors"): S is an argument.
- (37) by Theorem 3: a = w, x = z/w, b = beta/2 sum_a S_aj, d = sum_a S_aj c_a / sum_a S_aj. It
  agrees with (36): both count every pair once with beta/2. The text takes the minimum "from the
  piecewise point set"; Theorem 3's minimum need not be one of these points. The variables are
  updated one by one (end of section 4.2): for each l, samples in order.
- (37) without neighbours (sum S = 0) is (6): weighted median. An atom that is zero leaves only
  the second term: d.
- "If Z contains all zero": start both factors at small values such as 1e-10, an instruction for
  the caller's start.
- RRI's stop is (8) with the objective (33); units as in rri.py.
"""

# ruff: noqa: E731, E741 - the paper's letters

import numpy as np

from . import ogm
from .elastic_net import theorem3
from .rri import Row, unit, weighted_median


def laplacian(S):
    return np.diag(S.sum(axis=1)) - S


def objective(X, C, D, S, beta):
    return ogm.loss(X, C, D) + beta / 2 * np.trace(C.T @ laplacian(S) @ C)  # (33)


def codes_steps(X, D, C0, lam, S, beta, eps=0.1, as_printed=False, max_iter=1000):
    """Algorithm 2 with (34), (35). Yields an Inner of ogm.py for every k; smooth is one number."""
    q, G = ogm.weights(D), laplacian(S)
    L = q.sum() / lam + beta * np.linalg.norm(G, 2)  # L^(M)
    smooth = lambda C: ogm.smoothed(C @ D - X, q, lam).sum() + beta / 2 * np.trace(C.T @ G @ C)
    C, total, running = C0.astype(float), np.zeros(C0.shape), L > 0
    for k in range(max_iter):
        if not running:
            return
        U = ogm.dual(C @ D - X, q, lam)
        gradient = U @ D.T + beta * G @ C  # after (35)
        Y = np.maximum(0, C - gradient / L)  # (34)
        total = total + (k + 1) / 2 * gradient
        if as_printed:
            Z = np.maximum(0, -(k + 1) * (k + 2) / 4 * gradient / L)  # (35)
        else:
            Z = np.maximum(0, C0 - total / L)
        C_next = 2 / (k + 3) * Z + (k + 1) / (k + 3) * Y  # (21)
        before, after = smooth(C), smooth(C_next)
        change = abs(objective(X, C, D, S, beta) - objective(X, C_next, D, S, beta))
        running = change > eps * unit(X, as_printed)  # (8)
        yield ogm.Inner(k, C, U, gradient, Y, Z, C_next, before, after, running)
        C = C_next


def codes(X, D, C0, lam, S, beta, eps=0.1, as_printed=False, max_iter=1000):
    """The last codes, and the number of iterations."""
    C, k = C0, -1
    for step in codes_steps(X, D, C0, lam, S, beta, eps, as_printed, max_iter):
        C, k = step.C_next, step.k
    return C, k + 1


def manifold(
    X, D0, C0, S, beta, lam0=0.1, eps=0.1, xi=0.1, as_printed=False, max_iter=1000, max_outer=100
):
    """Algorithm 3 for (33). Yields an Outer of ogm.py for every t."""
    solve_C = lambda X, D, C, lam, eps: codes(X, D, C, lam, S, beta, eps, as_printed, max_iter)
    solve_D = lambda X, D, C, lam, eps: ogm.codes(
        X, D, C, lam, eps, as_printed, False, None, max_iter
    )
    value = lambda C, D: objective(X, C, D, S, beta)
    return ogm.alternate(X, D0, C0, solve_C, solve_D, value, lam0, eps, xi, as_printed, max_outer)


def variable(z, d, c, s, beta, old):
    """(37): one code, given the residual z, the atom d, all codes c and similarities s."""
    w = d > 0
    b = beta / 2 * s.sum()
    if b == 0:
        return max(0, weighted_median(z[w], d[w])) if w.any() else old
    return max(0, theorem3(d[w], z[w] / d[w], b, s @ c / s.sum()))


def rri_codes_steps(X, D, C0, S, beta, eps=0.1, as_printed=False):
    """Algorithm 1 on (36), (37). Yields a Row of rri.py for every (k, l)."""
    C, k, stop = C0.astype(float).copy(), 0, False
    old = objective(X, C, D, S, beta)
    while not stop:
        for l, d in enumerate(D):
            Z = X - C @ D + np.outer(C[:, l], d)  # (5)
            C = C.copy()
            for j in range(len(X)):
                C[j, l] = variable(Z[j], d, C[:, l], S[j], beta, C[j, l])
            new = objective(X, C, D, S, beta)
            stop = l == len(D) - 1 and abs(new - old) <= eps * unit(X, as_printed)  # (8)
            yield Row(k, l, Z, C, new, stop)
        old, k = new, k + 1
