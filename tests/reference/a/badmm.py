"""Batch NMF with outliers, alternating direction method of multipliers (BADMM).

Paper A, "Online Nonnegative Matrix Factorization with Outliers": section S-2.D, updates
(S-12)-(S-20).

Problem (S-7):
    min over C >= 0, R in R~, D in S of  1/2 ||X - C D - R||_F^2 + lam ||R||_1,1
    S = {D >= 0, every atom ||d_k||_2 <= 1},  R~ = {|r_if| <= M}; M = inf is allowed.

Letters: rows are samples and atoms. The variables keep the paper's letters, transposed: H, R, W
are the free copies, U, Q, Psi the feasible ones, and the duals A, B, D are Alpha, Beta, Delta.
The paper's V is X. Data are taken in their own unit; the defaults lam = 1/sqrt(F) and M = 1
suppose that every sample has maximum 1 (VII-B3, VII-C).

Readings:
 1. Which copy is the answer: not said. The feasible ones are: codes U, outliers Q, dictionary Psi
    (errata A.5). Both sets are yielded, and the objective at both. Nothing in the iteration
    depends on this.
 2. (S-12) uses the free R and W of the round before, not Q and Psi.
 3. Start of W: U[0,1] (VII-B1), which is not in S. Here D0 is projected onto S first. as_printed:
    D0 is used as given (errata A.7).
 4. Starts: VII-B1 names only the dictionary and the codes. Here U = H = C0, Psi = W = D0, Q = R =
    R0, duals 0. C0 enters through U only. R0 is an argument; start() gives 0.
 5. Stop: none is published for the batch algorithms (VII-B2 is about (36) and (37)). The number
    of rounds is an argument.
 6. Penalties: footnote 11 takes those of the online algorithm, so rho1 = rho2 = rho3 = 1. The
    tildes mean nothing.
 7. The last argument of the Lagrangian in (S-11) is printed Psi; it is the dual D.
 8. (4) has the mean of the squares but lam on all of R. (S-7) has the sum of both, N times the
    loss (11). (S-7) is used.
 9. Nonnegative outliers (VI-A): only the projection in (S-16) changes, to [0, M]. (S-13) keeps
    its soft threshold.
"""

from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    k: int  # round; 0 is the start
    H: np.ndarray  # (N, K)
    R: np.ndarray  # (N, F)
    W: np.ndarray  # (K, F)
    U: np.ndarray  # (N, K) codes
    Q: np.ndarray  # (N, F) outliers
    Psi: np.ndarray  # (K, F) dictionary
    Alpha: np.ndarray  # (N, K) dual of H = U
    Beta: np.ndarray  # (N, F) dual of R = Q
    Delta: np.ndarray  # (K, F) dual of W = Psi
    objective: float  # (S-7) at (U, Q, Psi)
    objective_free: float  # (S-7) at (H, R, W)


def soft(x, a):
    return np.sign(x) * np.maximum(np.abs(x) - a, 0)


def project_l2(D):
    """(22), Lemma S-4: nonnegative, each row of norm at most 1."""
    D = np.maximum(D, 0)
    return D / np.maximum(1, np.linalg.norm(D, axis=1, keepdims=True))


def loss(X, D, C, R, lam):
    return 0.5 * np.sum((X - C @ D - R) ** 2) + lam * np.sum(np.abs(R))  # (S-7)


def start(rng, N, F, K):
    """VII-B1: U[0,1] for D0 and C0. R0 = 0."""
    return rng.uniform(size=(K, F)), rng.uniform(size=(N, K)), np.zeros((N, F))


def badmm(
    X,
    D0,
    C0,
    R0,
    rounds,
    lam=None,
    M=1.0,
    nonnegative=False,
    project=project_l2,
    rho1=1.0,
    rho2=1.0,
    rho3=1.0,
    as_printed=False,
):
    """Yields the start and a Step per round."""
    lam = 1 / np.sqrt(X.shape[1]) if lam is None else lam  # VII-C
    W = D0 if as_printed else project(D0)
    H, R, U, Q, Psi = C0, R0, C0, R0, W
    Alpha, Beta, Delta = np.zeros_like(H), np.zeros_like(R), np.zeros_like(W)
    eye = np.eye(len(W))
    objectives = loss(X, Psi, U, Q, lam), loss(X, W, H, R, lam)
    yield Step(0, H, R, W, U, Q, Psi, Alpha, Beta, Delta, *objectives)
    for k in range(1, rounds + 1):
        H = np.linalg.solve(W @ W.T + rho1 * eye, ((X - R) @ W.T + rho1 * U - Alpha).T).T  # (S-12)
        R = soft(rho2 * Q + X - Beta - H @ W, lam) / (1 + rho2)  # (S-13)
        W = np.linalg.solve(H.T @ H + rho3 * eye, H.T @ (X - R) - Delta + rho3 * Psi)  # (S-14)
        U = np.maximum(H + Alpha / rho1, 0)  # (S-15)
        Q = np.clip(R + Beta / rho2, 0 if nonnegative else -M, M)  # (S-16)
        Psi = project(W + Delta / rho3)  # (S-17)
        Alpha = Alpha + rho1 * (H - U)  # (S-18)
        Beta = Beta + rho2 * (R - Q)  # (S-19)
        Delta = Delta + rho3 * (W - Psi)  # (S-20)
        objectives = loss(X, Psi, U, Q, lam), loss(X, W, H, R, lam)
        yield Step(k, H, R, W, U, Q, Psi, Alpha, Beta, Delta, *objectives)
