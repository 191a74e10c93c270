"""Online AODL, Baseline 3 of paper D: "Online Orthogonal Dictionary Learning Based on
Frank-Wolfe Method" (Xue, Lau).

Online alternating dictionary learning, reference [33] of the paper (Mairal, Bach, Ponce, Sapiro,
2009), on (23):

    min over D, c_t of  sum_t ||y_t - c_t D||^2 + lambda ||c_t||_1,   ||d_k||_2 <= 1 for every atom.

Letters: the paper's D is D transposed here (atoms in rows), its x_t is the row c_t. N x N in the
paper; any K x N here.

Readings:
- There is no orthogonal constraint: (23) has D in R^(N x N), and Section V-C says "no orthogonal
  restriction".
- (23) prints no constraint on D at all. Then it has no minimiser: c/a and a D have the same fit
  and an a-th of the penalty. [33] bounds the atoms by norm 1: so here. as_printed=True leaves D
  unbounded.
- (23) has no 1/2 before the square, so lambda here is twice the lambda of a solver of 1/2||.||^2 +
  lambda ||.||_1.
- lambda is not given (Table I has none): no default.
- "alternatively solves (23) in an online manner" is all the paper says, besides the name of a
  toolbox. The recursion is that of [33], whose text is not at hand: recalled, not looked up. Codes
  of the batch with D_{t-1}; A += C^T C, B += C^T Y; one sweep of block coordinate descent from
  D_{t-1}. No forgetting factor: (23) weighs all t alike.
- The codes are the exact minimisers: coordinate descent from 0, per row, until no optimality
  condition is missed by more than tol times max|2 D y|.
- An atom that no code has used (A_kk = 0) stays.
- D_0 "by the batch version" (Section V-C): batch_start(), full alternations on the first block, 20
  of them (Table I). Then A, B begin at 0.
- compress() is the code of Baseline 3 in Section V-C, with the dictionary after the step, D_t.
"""

from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    t: int
    C: np.ndarray  # codes of Y_t with D_{t-1}
    A: np.ndarray  # sum of C^T C
    B: np.ndarray  # sum of C^T Y
    D: np.ndarray  # D_t


def code_iterates(y, D, lam, tol=1e-12, max_sweeps=100_000):
    """Coordinate descent on ||y - c D||^2 + lam ||c||_1 from 0: yields c before every sweep."""
    c, sq = np.zeros(len(D)), (D**2).sum(axis=1)
    bound = tol * np.abs(2 * D @ y).max()
    for _ in range(max_sweeps):
        yield c.copy()
        grad = 2 * D @ (c @ D - y)
        miss = np.where(c != 0, np.abs(grad + lam * np.sign(c)), np.maximum(np.abs(grad) - lam, 0))
        if miss.max() <= bound:
            return
        for k in np.flatnonzero(sq):
            z = c[k] + D[k] @ (y - c @ D) / sq[k]
            c[k] = np.sign(z) * max(
                abs(z) - lam / (2 * sq[k]), 0
            )  # soft-threshold, (23) in c_k alone


def codes(Y, D, lam, **kwargs):
    """The last iterate of code_iterates for every row of Y."""
    return np.array([list(code_iterates(y, D, lam, **kwargs))[-1] for y in Y])


def dictionary_iterates(A, B, D, sweeps=1, as_printed=False):
    """Block coordinate descent on tr(D^T A D) - 2 tr(D^T B), ||d_k|| <= 1: D after every sweep."""
    D = D.copy()
    for _ in range(sweeps):
        for k in np.flatnonzero(np.diag(A)):
            D[k] += (B[k] - A[k] @ D) / A[k, k]
            if not as_printed:
                D[k] /= max(1.0, np.linalg.norm(D[k]))
        yield D.copy()


def dictionary(A, B, D, sweeps=1, as_printed=False):
    return list(dictionary_iterates(A, B, D, sweeps, as_printed))[-1]


def aodl(batches, D0, lam, sweeps=1, as_printed=False):
    """Yield one Step per batch."""
    D = np.asarray(D0, float)
    A, B = np.zeros((len(D), len(D))), np.zeros_like(D)
    for t, Y in enumerate(batches, start=1):
        C = codes(Y, D, lam)  # (23) in c
        A, B = A + C.T @ C, B + C.T @ Y
        D = dictionary(A, B, D, sweeps, as_printed)  # (23) in D
        yield Step(t, C, A, B, D)


def batch_start(Y0, D_init, lam, n_iter=20, sweeps=1, as_printed=False):
    """Section V-C, Initialization: codes and dictionary of one block in turn; the last D is D_0."""
    D = np.asarray(D_init, float)
    for t in range(1, n_iter + 1):
        C = codes(Y0, D, lam)
        A, B = C.T @ C, C.T @ Y0
        D = dictionary(A, B, D, sweeps, as_printed)
        yield Step(t, C, A, B, D)


def compress(Y, D, lam, eta0):
    """Section V-C: the eta0 largest entries (by absolute value, first wins a tie) of the code."""
    C = codes(Y, D, lam)
    drop = np.argsort(-np.abs(C), axis=1, kind="stable")[:, eta0:]
    np.put_along_axis(C, drop, 0.0, axis=1)
    return C
