"""Batch NMF with outliers, projected gradient (BPGD).

Paper A, "Online Nonnegative Matrix Factorization with Outliers": section S-2.C, updates
(S-8)-(S-10).

Problem (S-7):
    min over C >= 0, R in R~, D in S of  1/2 ||X - C D - R||_F^2 + lam ||R||_1,1
    S = {D >= 0, every atom ||d_k||_2 <= 1},  R~ = {|r_if| <= M}; M = inf is allowed.

Letters: rows are samples and atoms. The paper's W is D transposed, H is C transposed, V is X
transposed, R is R transposed, G is G transposed. Data are taken in their own unit; the defaults
lam = 1/sqrt(F) and M = 1 suppose that every sample has maximum 1 (VII-B3, VII-C).

Readings:
 1. (S-8) uses R without plus: the R of the round before. It was made with the W before that
    round's (S-10), and it is not refreshed after W.
 2. (S-8) takes its step size from the old W, (S-10) from the new H. Each block takes one gradient
    step per round.
 3. Step sizes: S-2.C gives intervals, footnote 11 the values of the online algorithm. So eta_1 =
    0.7/||W||_2^2, eta_2 = 0.7/||H H'||_F. D = 0 or C = 0: no step.
 4. Start of D: U[0,1] (VII-B1), which is not in S. Here D0 is projected onto S first. as_printed:
    D0 is used as given (errata A.7).
 5. Start of R: VII-B1 names only the dictionary and the codes. R0 is an argument; start() gives
    0.
 6. Stop: none is published for the batch algorithms (VII-B2 is about (36) and (37)). The number
    of rounds is an argument.
 7. (4) has the mean of the squares but lam on all of R. (S-7) has the sum of both, N times the
    loss (11). (S-7) is used.
 8. Nonnegative outliers (VI-A): (S-9) projects onto [0, M] (Lemma S-3).
"""

from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    k: int  # round; 0 is the start
    C: np.ndarray  # (N, K)
    R: np.ndarray  # (N, F)
    D: np.ndarray  # (K, F)
    eta1: float  # step size of C in this round
    eta2: float  # step size of D in this round
    objective: float  # (S-7) after the round


def soft(x, a):
    return np.sign(x) * np.maximum(np.abs(x) - a, 0)


def project_l2(D):
    """(22), Lemma S-4: nonnegative, each row of norm at most 1."""
    D = np.maximum(D, 0)
    return D / np.maximum(1, np.linalg.norm(D, axis=1, keepdims=True))


def loss(X, D, C, R, lam):
    return 0.5 * np.sum((X - C @ D - R) ** 2) + lam * np.sum(np.abs(R))  # (S-7)


def step_size(kappa, L):
    return kappa / L if L > 0 else 0.0


def start(rng, N, F, K):
    """VII-B1: U[0,1] for D0 and C0. R0 = 0."""
    return rng.uniform(size=(K, F)), rng.uniform(size=(N, K)), np.zeros((N, F))


def bpgd(
    X,
    D0,
    C0,
    R0,
    rounds,
    lam=None,
    M=1.0,
    nonnegative=False,
    project=project_l2,
    kappa1=0.7,
    kappa2=0.7,
    as_printed=False,
):
    """Yields the start and a Step per round."""
    lam = 1 / np.sqrt(X.shape[1]) if lam is None else lam  # VII-C
    C, R, D = C0, R0, D0 if as_printed else project(D0)
    yield Step(0, C, R, D, np.nan, np.nan, loss(X, D, C, R, lam))
    for k in range(1, rounds + 1):
        eta1 = step_size(kappa1, np.linalg.norm(D, 2) ** 2)  # after (S-10)
        C = np.maximum(C - eta1 * (C @ D + R - X) @ D.T, 0)  # (S-8)
        R = np.clip(soft(X - C @ D, lam), 0 if nonnegative else -M, M)  # (S-9)
        eta2 = step_size(kappa2, np.linalg.norm(C.T @ C))  # after (S-10), Frobenius norm
        G = C.T @ (C @ D + R - X)  # after (S-10)
        D = project(D - eta2 * G)  # (S-10)
        yield Step(k, C, R, D, eta1, eta2, loss(X, D, C, R, lam))
