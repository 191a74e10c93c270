"""Paper C, "MahNMF: Manhattan Non-negative Matrix Factorization", section 4.3 (group sparse MahNMF,
MahNMF-GS).

Problem (40):  min over C >= 0, D >= 0 of ||X - C D||_1  subject to  g(D[:, rho].T) <= gamma_D for
every group of features, g(C[rho]) <= gamma_C for every group of samples;  (41): the same g as
penalties, eta_D sum_rho g(D[:, rho].T) + eta_C sum_rho g(C[rho]).   g(V) = sum_k ||V[:, k]||_p,
p = 2 or infinity.

Letters: the paper's X is our X transposed, W is D, H is C transposed. W^[rho] are columns of W,
||W^[rho]T||_1,p sums over the atoms (errata C). Here "codes" of one group are V (rows in the
group, one column per atom).

Readings:
- Groups do not overlap, and a group is a problem of its own (44), (53): it has its own Algorithm
  2 and its own stop. The groups must cover all rows: a row in no group would be plain (9).
- (45) prints f_lam for its gradient. (54)'s last bracket is a slip. The norms ||.||_1 in
  (54)-(57) are Frobenius norms.
- "(4.14)" is (49). Nonnegativity first, then project or shrink, as (50), (56), (57) say. This is
  exact.
- p = 2: the norms of the columns are projected onto the l1 ball, the columns rescaled. p =
  infinity (Quattoni): every column is cut at mu_k >= 0 with equal excess theta, or 0 if its sum
  is below theta; sum_k mu_k = gamma. mu_k is piecewise linear in theta, so both are found exactly
  by sorting and interpolation.
- (46), (48), (57) have centre 0. Default: centre H_0 (errata C.3); as_printed: 0. A start
  outside (42), (43) is not projected.
- Stop of one group: (8) on its true loss plus penalty. Default: eps times mean|X[rho]|; as_printed:
  eps absolute. lambda, eps_t and the outer stop as in ogm.py; (4)
  sees the penalties.
- q, and so L, is that of the whole dictionary: rows of one group do not change it.
- gamma, eta: one number, or one for each group. The experiments take (40), p = infinity, gamma_W
  of 1 % of g at the start (function start_gamma) and say nothing of H: None leaves a factor free.
"""

# ruff: noqa: B023, E731 - the paper's letters

from typing import NamedTuple

import numpy as np

from . import ogm
from .rri import unit


class Inner(NamedTuple):
    """One iteration for one group."""

    k: int
    C: np.ndarray  # H_k^[rho]
    U: np.ndarray
    gradient: np.ndarray
    Y: np.ndarray
    Z: np.ndarray
    C_next: np.ndarray
    smooth: float  # f_lam plus penalty at H_k
    smooth_next: float
    stop: bool


def norm1p(V, p):
    return np.linalg.norm(V, p, axis=0).sum()  # after (41)


def start_gamma(D0, groups, p=np.inf, share=0.01):
    """gamma_W of section 5.5, one for each group."""
    return [share * norm1p(D0[:, g].T, p) for g in groups]


def cuts(v):
    """Knots (theta, mu): cutting v >= 0 at mu removes theta in all. Linear in between."""
    v = np.append(-np.sort(-v), 0)
    theta = np.append(0, np.cumsum(v[:-1]) - np.arange(1, len(v)) * v[1:])
    return np.maximum.accumulate(theta), v


def project(V, gamma, p):
    """(49), (50): onto V >= 0, g(V) <= gamma."""
    V = np.maximum(0, V)
    if norm1p(V, p) <= gamma:
        return V
    if p == 2:
        norms = np.linalg.norm(V, axis=0)
        mu = np.append(-np.sort(-norms), 0)  # the norms lose mu each, until their sum is gamma
        kept = np.array([np.maximum(0, norms - m).sum() for m in mu])
        m = np.interp(gamma, kept, mu)
        return V * np.maximum(0, norms - m) / np.where(norms > 0, norms, 1)
    knots = [cuts(v) for v in V.T]
    thetas = np.sort(np.concatenate([t for t, _ in knots]))
    height = lambda theta: np.array([np.interp(theta, t, mu) for t, mu in knots])
    heights = np.array([height(theta).sum() for theta in thetas])
    theta = np.interp(gamma, heights[::-1], thetas[::-1])
    return np.minimum(V, height(theta))


def shrink(V, eta, p):
    """Minimiser over V' >= 0 of 1/2 ||V' - V||_F^2 + eta g(V'): the map in (56), (57)."""
    V = np.maximum(0, V)
    if p == 2:
        norms = np.linalg.norm(V, axis=0)
        return V * np.maximum(0, 1 - eta / np.where(norms > 0, norms, np.inf))
    return np.minimum(V, [np.interp(eta, *cuts(v)) for v in V.T])


def codes_steps(
    X, D, C0, lam, gamma=None, eta=None, p=np.inf, eps=0.1, as_printed=False, max_iter=1000
):
    """Algorithm 2 for one group: (47), (48) with gamma, (56), (57) with eta. Yields Inners."""
    q = ogm.weights(D)
    L = q.sum() / lam
    centre = 0 if as_printed else C0
    if gamma is not None:
        prox = lambda V, weight: project(V, gamma, p)
    else:
        prox = lambda V, weight: shrink(V, (eta or 0) * weight, p)
    penalty = lambda C: (eta or 0) * norm1p(C, p)
    smooth = lambda C: ogm.smoothed(C @ D - X, q, lam).sum() + penalty(C)
    C, total, stop = C0.astype(float), np.zeros(C0.shape), L == 0
    for k in range(max_iter):
        if stop:
            return
        U = ogm.dual(C @ D - X, q, lam)
        gradient = U @ D.T
        Y = prox(C - gradient / L, 1 / L)  # (47) or (56)
        total = total + (k + 1) / 2 * gradient
        Z = prox(centre - total / L, (k + 1) * (k + 2) / (4 * L))  # (48) or (57)
        C_next = 2 / (k + 3) * Z + (k + 1) / (k + 3) * Y  # (21)
        before, after = smooth(C), smooth(C_next)
        change = ogm.loss(X, C, D) + penalty(C) - ogm.loss(X, C_next, D) - penalty(C_next)
        stop = abs(change) <= eps * unit(X, as_printed)  # (8)
        yield Inner(k, C, U, gradient, Y, Z, C_next, before, after, stop)
        C = C_next


def codes(
    X, D, C0, lam, groups, gamma=None, eta=None, p=np.inf, eps=0.1, as_printed=False, max_iter=1000
):
    """(44) or (53) group after group. All codes, and the largest number of iterations."""
    C, most = C0.astype(float).copy(), 0
    for i, g in enumerate(groups):
        of_group = lambda v: None if v is None else np.broadcast_to(v, len(groups))[i]
        for step in codes_steps(
            X[g], D, C0[g], lam, of_group(gamma), of_group(eta), p, eps, as_printed, max_iter
        ):
            C[g], most = step.C_next, max(most, step.k + 1)
    return C, most


def penalties(V, groups, eta, p):
    """eta sum_rho g(V[rho]), as in (41)."""
    if eta is None:
        return 0.0
    return sum(
        e * norm1p(V[g], p) for g, e in zip(groups, np.broadcast_to(eta, len(groups)), strict=True)
    )


def group_sparse(
    X,
    D0,
    C0,
    groups_C,
    groups_D,
    gamma_C=None,
    gamma_D=None,
    eta_C=None,
    eta_D=None,
    p=np.inf,
    lam0=0.1,
    eps=0.1,
    xi=0.1,
    as_printed=False,
    max_iter=1000,
    max_outer=100,
):
    """Algorithm 3 for (40) (gamma) or (41) (eta). Yields an Outer of ogm.py for every t."""
    solve = lambda groups, gamma, eta: (
        lambda X, D, C, lam, eps: codes(
            X, D, C, lam, groups, gamma, eta, p, eps, as_printed, max_iter
        )
    )
    value = lambda C, D: (
        ogm.loss(X, C, D) + penalties(C, groups_C, eta_C, p) + penalties(D.T, groups_D, eta_D, p)
    )
    return ogm.alternate(
        X,
        D0,
        C0,
        solve(groups_C, gamma_C, eta_C),
        solve(groups_D, gamma_D, eta_D),
        value,
        lam0,
        eps,
        xi,
        as_printed,
        max_outer,
    )
