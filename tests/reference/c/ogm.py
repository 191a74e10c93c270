"""Paper C, "MahNMF: Manhattan Non-negative Matrix Factorization", Algorithms 2 and 3 (Nesterov
smoothing).

Problem (1):  min over C >= 0, D >= 0 of  ||X - C D||_1. Algorithm 2 minimises, over C >= 0, the
smoothed loss (11), (15):
    f_lam(C) = max over |U| <= 1 of <C D - X, U> - lam/2 sum_if q_f U_if^2,
    q_f = ||column f of D||_2.

Letters: the paper has X ~ W^T H with samples in columns. Its X is our X transposed, W is D, H is
C transposed, m = F, r = K; Q is q in every row, U is U transposed, its D (the sum of q) is
q.sum(), D_2 = q.sum() / 2.

Readings ("default" against as_printed=True where both exist):
- (20) has centre 0, which forgets the start H_0. Default: centre H_0 (errata C.3); as_printed:
  0. With 0 and a small lambda, H_k shrinks by 2/((k+2)(k+3)) before Z grows, and (8) can stop it
  near C = 0.
- Line 6 sums gradients at H_k, (20) at h_i. Both modes follow (20) (errata C.2).
- q_f = 0: (14) divides by 0. Both modes take U = sign(-x), its limit (errata C.1). D = 0: no
  step.
- lambda_0 = .1, eps = .1, xi = .1 are absolute. Default: in the data's unit (errata C.4):
  lambda_t = .1/(t+1) times mean|X| / mean(q), so that the bound of Theorem 1 is .05/(t+1)
  ||X||_1; eps and xi times mean|X|.
- Line 8 says (8): the true loss of the whole matrix, and so do both modes. (22), which Theorem 2
  uses, is on f_lam for one sample: by_row takes that, one sample (row) at a time, eps times mean|x|
  of the row (1 if the row is zero); a row that stopped stays. All compare H_k and H_k+1.
- Line 10 returns H_k+1, though the theory is about Y_k. Both modes return H_k+1; Y_k is in the
  step.
- Monotone variant (text before Algorithm 3): Y_-1 is not defined, so k = 0 compares H_0 and Y'_0.
  The best matrix, or the best of each row by_row. A tie goes to the first of Y_k-1, H_k, Y'_k.
- Algorithm 3 prints t where lambda_t is meant, counts with k in line 2, and sets lambda_t (line
  5) after its use. Both modes: the solves of round t use lambda_t = lambda_0/(t+1), as Theorem 2
  says (errata C.2).
- eps_t of Algorithm 3: Theorem 2 asks eps_t <= n D lam_t / 2 (whole matrix; D lam_t / 2 for one
  row). Both modes take the smaller of this and eps.
- "D", the constant ||W^T||^2_{1,2} in L, is the valid bound sum q, not the tighter one of errata
  C.4. L is an argument.
- The paper has no limit on iterations: max_iter ends Algorithm 2, max_outer = 100 ("T <= 100")
  Algorithm 3.
"""

# ruff: noqa: E731, N815 - the paper's letters

from typing import NamedTuple

import numpy as np

from .rri import loss, unit


class Inner(NamedTuple):
    """One iteration of Algorithm 2."""

    k: int
    C: np.ndarray  # H_k
    U: np.ndarray
    gradient: np.ndarray
    Y: np.ndarray
    Z: np.ndarray
    C_next: np.ndarray  # H_k+1
    smooth: np.ndarray  # f_lam of each row at H_k
    smooth_next: np.ndarray  # at H_k+1
    running: np.ndarray  # rows that go on; of the others only C_next and smooth have a meaning


class Outer(NamedTuple):
    """One round of Algorithm 3."""

    t: int
    lam_C: float
    lam_D: float
    eps_C: float
    eps_D: float
    C: np.ndarray
    D: np.ndarray
    objective: float
    steps_C: int
    steps_D: int
    stop: bool  # (4)


def weights(D):
    return np.linalg.norm(D, axis=0)  # q_f = ||W^(i)||*_1


def row_unit(X):
    """mean|x| of each row; 1 for a zero row."""
    size = np.abs(X).mean(axis=1)
    return np.where(size > 0, size, 1)


def dual(E, q, lam):
    """U of (14) for E = C D - X."""
    inside = np.clip(E / np.where(q > 0, lam * q, 1), -1, 1)
    return np.where(q > 0, inside, np.sign(E))


def smoothed(E, q, lam):
    """f_lam of each row, (11) at its maximiser; equal to (15)."""
    U = dual(E, q, lam)
    return (E * U - lam / 2 * q * U**2).sum(axis=1)


def best(smooth, candidates, whole):
    """The candidate with the smallest f_lam, row by row or as a whole matrix."""
    values = np.array([smooth(c) for c in candidates])
    if whole:
        return candidates[np.argmin(values.sum(axis=1))]
    return np.array(candidates)[np.argmin(values, axis=0), np.arange(len(candidates[0]))]


def codes_steps(
    X, D, C0, lam, eps=0.1, as_printed=False, monotone=False, L=None, max_iter=1000, by_row=False
):
    """Algorithm 2. Yields an Inner for every k."""
    q = weights(D)  # line 1
    L = q.sum() / lam if L is None else L  # line 1
    centre = 0 if as_printed else C0
    smooth = lambda C: smoothed(C @ D - X, q, lam)
    C, Y, total = C0.astype(float), None, np.zeros(C0.shape)
    running = np.full(len(X), L > 0)
    for k in range(max_iter):  # line 2
        if not running.any():
            return
        U = dual(C @ D - X, q, lam)  # line 3
        gradient = U @ D.T  # line 4
        candidates = [C, np.maximum(0, C - gradient / L)]  # line 5, (19)
        if k > 0:
            candidates.insert(0, Y)
        Y = best(smooth, candidates, not by_row) if monotone else candidates[-1]
        total = total + (k + 1) / 2 * gradient
        Z = np.maximum(0, centre - total / L)  # line 6, (20)
        C_next = 2 / (k + 3) * Z + (k + 1) / (k + 3) * Y  # line 7, (21)
        C_next = np.where(running[:, None], C_next, C)
        before, after = smooth(C), smooth(C_next)
        if by_row:
            scale = 1 if as_printed else row_unit(X)
            running = running & (np.abs(before - after) > eps * scale)  # (22)
        else:
            change = abs(loss(X, C, D) - loss(X, C_next, D))
            running = running & (change > eps * unit(X, as_printed))  # line 8, (8)
        yield Inner(k, C, U, gradient, Y, Z, C_next, before, after, running)
        C = C_next


def codes(
    X, D, C0, lam, eps=0.1, as_printed=False, monotone=False, L=None, max_iter=1000, by_row=False
):
    """The last codes of Algorithm 2 (line 10), and the number of iterations."""
    C, k = C0, -1
    for step in codes_steps(X, D, C0, lam, eps, as_printed, monotone, L, max_iter, by_row):
        C, k = step.C_next, step.k
    return C, k + 1


def schedule(X, q, t, lam0, eps, as_printed, by_row=False):
    """lambda_t and eps_t of Algorithm 3 for a solve whose weights are q."""
    lam = lam0 / (t + 1)  # line 5
    if not as_printed and q.any():
        lam *= np.abs(X).mean() / q.mean()
    n = 1 if by_row else len(X)
    return lam, min(eps, n * q.sum() * lam / 2 / unit(X, as_printed))  # Theorem 2


def alternate(X, D0, C0, solve_C, solve_D, objective, lam0, eps, xi, as_printed, max_outer):
    """Algorithm 3 for two solvers (X, D, C, lam, eps) -> (C, steps); solve_D gets transposes."""
    C, D, old = C0, D0, objective(C0, D0)
    for t in range(max_outer):  # line 2
        lam_C, eps_C = schedule(X, weights(D), t, lam0, eps, as_printed)
        C, steps_C = solve_C(X, D, C, lam_C, eps_C)  # line 3
        lam_D, eps_D = schedule(X.T, weights(C.T), t, lam0, eps, as_printed)
        D, steps_D = solve_D(X.T, C.T, D.T, lam_D, eps_D)  # line 4
        D = D.T
        new = objective(C, D)
        stop = abs(old - new) <= xi * unit(X, as_printed)  # line 6, (4)
        yield Outer(t, lam_C, lam_D, eps_C, eps_D, C, D, new, steps_C, steps_D, stop)
        if stop:
            return
        old = new


def ogm(
    X,
    D0,
    C0,
    lam0=0.1,
    eps=0.1,
    xi=0.1,
    as_printed=False,
    monotone=False,
    max_iter=1000,
    max_outer=100,
):
    """Algorithm 3. Yields an Outer for every t."""
    solve = lambda X, D, C, lam, eps: codes(X, D, C, lam, eps, as_printed, monotone, None, max_iter)
    return alternate(
        X, D0, C0, solve, solve, lambda C, D: loss(X, C, D), lam0, eps, xi, as_printed, max_outer
    )
