"""Online NMF with outliers, alternating direction method of multipliers (OADMM).

Paper A, "Online Nonnegative Matrix Factorization with Outliers": Algorithm 1 with the ADMM coder
(23)-(30) and the ADMM dictionary step (31)-(35).

Problem (8), with (5) and (6):
    min over D in S of E_x [ min over c >= 0, r in R of  1/2 ||x - c D - r||^2 + lam ||r||_1 ]
    S = {D >= 0, every atom ||d_k||_2 <= 1},  R = {|r_f| <= M}; M = inf is allowed.

Letters: rows are samples and atoms. The split variables keep the paper's letters, in rows: h, r
(free copies), u, q (feasible copies), alpha, beta (duals). The paper's W, Q, D are here W, Q,
Delta (K x F): free copy, feasible copy and dual of the dictionary. D is the dictionary that goes
on. The paper's v is x; A is A (K x K); B is B transposed (K x F): A = mean c'c, B = mean c'(x -
r). Data are taken in their own unit; the defaults lam = 1/sqrt(F) and M = 1 suppose that every
sample has maximum 1 (VII-B3, VII-C).

Readings:
 1. Which copy is the answer. Algorithm 1 says h_t, r_t and W_t. These are not feasible, and the
    objective at them can lie below the optimum. Here u, q enter A and B, Q is the new dictionary,
    and both stops look at these. as_printed: h, r and W in all these places (errata A.5).
 2. Start of D. After (9), W_0 lies in S; VII-B1 draws it from U[0,1], which is not in S. Here D0
    is projected onto S first. as_printed: D0 is used as given (errata A.7).
 3. Starts of the coder. VII-B1: h and r are drawn anew at each time instant, like W_0. Nothing is
    said of u, q, alpha, beta. Here u = h and q = r at the start, and the duals are 0. So h's
    start matters through u only. The starts are used as given.
 4. Starts of the dictionary step. VII-B1: W_{t-1}. (33) does not use the old W, so W_{t-1} is the
    start of Q (and of W). The dual is not mentioned: it starts at 0 at each time instant.
 5. (26) prints h. "Sequentially" before (25), and H+ in (S-13), say that it is the new one.
 6. (28) with nonnegative outliers (VI-A): only the projection changes, to [0, M]. (26) keeps its
    soft threshold.
 7. Stop (VII-B2). The text shows no bars around the relative change. Without them every decrease
    stops. Bars are lost elsewhere too, as in (14), so here the absolute change is meant. k = 1 is
    compared with the start. A rise of less than the tolerance stops as well.
 8. The stop of (37) is "similar": on its objective p_t, (18). p_t is negative at the optimum, so
    the change is divided by |p_t|. as_printed: by p_t itself, so that a negative p_t stops at
    once (errata A.8).
 9. "k > kappa_max" would allow kappa_max + 1 iterations, "maximum number of iterations"
    kappa_max. Here kappa_max.
10. 0/0 in the stop counts as no change.
11. Mini-batch (VII-B3). All samples of a batch are coded with the same W_{t-1}, then one
    dictionary step follows. A and B are plain averages over all samples seen, each with the same
    weight, also if the last batch is smaller. Whether a batch stops as a whole is not said: here
    each sample stops alone.
12. The batch size has a bound, 4e-4 N, and an example, 5e-5 N. The default is the example,
    rounded down, at least 1.
13. (S-5) is right; the line above it lacks a transpose in tr((B - D + rho Q) W). (24) and (S-2)
    write rho2 with and without tilde: the same number.
"""

from typing import NamedTuple

import numpy as np


class CodeIterate(NamedTuple):
    k: int  # 0 is the start
    h: np.ndarray  # (K,)
    r: np.ndarray  # (F,)
    u: np.ndarray  # (K,)
    q: np.ndarray  # (F,)
    alpha: np.ndarray  # (K,)
    beta: np.ndarray  # (F,)
    objective: float  # (6) at (u, q); as_printed at (h, r)


class DictIterate(NamedTuple):
    k: int  # 0 is the start
    W: np.ndarray  # (K, F)
    Q: np.ndarray  # (K, F)
    Delta: np.ndarray  # (K, F)
    objective: float  # (18) at Q; as_printed at W


class Step(NamedTuple):
    t: int  # time instant, from 1
    n: int  # samples seen, with this batch
    C: np.ndarray  # (b, K) codes that entered A, B: u; as_printed h
    R: np.ndarray  # (b, F) outliers that entered B: q; as_printed r
    h: np.ndarray  # (b, K) last iterates of the coder, rows of the batch
    r: np.ndarray
    u: np.ndarray
    q: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    code_objective: np.ndarray  # (b,)
    code_iterations: np.ndarray  # (b,)
    A: np.ndarray  # (K, K)
    B: np.ndarray  # (K, F)
    D: np.ndarray  # (K, F) new dictionary: Q; as_printed W
    W: np.ndarray  # last iterates of the dictionary step
    Q: np.ndarray
    Delta: np.ndarray
    dict_objective: float
    dict_iterations: int


def soft(x, a):
    return np.sign(x) * np.maximum(np.abs(x) - a, 0)


def project_l2(D):
    """(22), Lemma S-4: nonnegative, each row of norm at most 1."""
    D = np.maximum(D, 0)
    return D / np.maximum(1, np.linalg.norm(D, axis=1, keepdims=True))


def change(new, old, signed=False):
    """Relative change of an objective, VII-B2."""
    if new == old:
        return 0.0
    if old == 0:
        return np.inf
    return abs(new - old) / (old if signed else abs(old))


def loss(x, D, c, r, lam):
    return 0.5 * np.sum((x - c @ D - r) ** 2) + lam * np.sum(np.abs(r))  # (6)


def code_iterates(
    x,
    D,
    h,
    r,
    lam,
    M=1.0,
    nonnegative=False,
    rho1=1.0,
    rho2=1.0,
    tol=1e-3,
    max_iter=50,
    as_printed=False,
):
    """Solve (9) for one sample x from (h, r). Yields the start and every iterate."""
    u, q, alpha, beta = h, r, np.zeros_like(h), np.zeros_like(r)
    G = D @ D.T + rho1 * np.eye(len(D))
    old = loss(x, D, u, q, lam)
    yield CodeIterate(0, h, r, u, q, alpha, beta, old)
    for k in range(1, max_iter + 1):
        h = np.linalg.solve(G, (x - r) @ D.T + rho1 * u - alpha)  # (25)
        r = soft(rho2 * q + x - beta - h @ D, lam) / (1 + rho2)  # (26)
        u = np.maximum(h + alpha / rho1, 0)  # (27)
        q = np.clip(r + beta / rho2, 0 if nonnegative else -M, M)  # (28)
        alpha = alpha + rho1 * (h - u)  # (29)
        beta = beta + rho2 * (r - q)  # (30)
        new = loss(x, D, h, r, lam) if as_printed else loss(x, D, u, q, lam)
        yield CodeIterate(k, h, r, u, q, alpha, beta, new)
        if change(new, old) < tol:  # VII-B2
            return
        old = new


def code(x, D, h, r, lam, **options):
    *_, last = code_iterates(x, D, h, r, lam, **options)
    return last


def dict_objective(D, A, B):
    return 0.5 * np.sum(D * (A @ D)) - np.sum(D * B)  # (18)


def dict_iterates(A, B, D, project=project_l2, rho3=1.0, tol=1e-4, max_iter=200, as_printed=False):
    """Solve (12) from D. Yields the start and every iterate."""
    W, Q, Delta = D, D, np.zeros_like(D)
    G = A + rho3 * np.eye(len(A))
    old = dict_objective(D, A, B)
    yield DictIterate(0, W, Q, Delta, old)
    for k in range(1, max_iter + 1):
        W = np.linalg.solve(G, B - Delta + rho3 * Q)  # (33)
        Q = project(W + Delta / rho3)  # (34)
        Delta = Delta + rho3 * (W - Q)  # (35)
        new = dict_objective(W if as_printed else Q, A, B)
        yield DictIterate(k, W, Q, Delta, new)
        if change(new, old, signed=as_printed) < tol:  # VII-B2
            return
        old = new


def update_dict(A, B, D, **options):
    *_, last = dict_iterates(A, B, D, **options)
    return last


def start(rng, N, F, K):
    """VII-B1: U[0,1] for D0 and for the start of every sample."""
    return rng.uniform(size=(K, F)), rng.uniform(size=(N, K)), rng.uniform(size=(N, F))


def oadmm(
    X,
    D0,
    C0,
    R0,
    tau=None,
    lam=None,
    M=1.0,
    nonnegative=False,
    project=project_l2,
    rho1=1.0,
    rho2=1.0,
    rho3=1.0,
    code_tol=1e-3,
    code_max_iter=50,
    dict_tol=1e-4,
    dict_max_iter=200,
    as_printed=False,
):
    """Algorithm 1 over the rows of X in their order. Yields a Step per time instant."""
    N, F = X.shape
    K = len(D0)
    tau = max(1, N // 20000) if tau is None else tau  # VII-C: 5e-5 N
    lam = 1 / np.sqrt(F) if lam is None else lam  # VII-C
    D = D0 if as_printed else project(D0)
    A, B, n = np.zeros((K, K)), np.zeros((K, F)), 0
    coding = {"M": M, "nonnegative": nonnegative, "rho1": rho1, "rho2": rho2}
    coding |= {"tol": code_tol, "max_iter": code_max_iter, "as_printed": as_printed}
    learning = {"project": project, "rho3": rho3}
    learning |= {"tol": dict_tol, "max_iter": dict_max_iter, "as_printed": as_printed}
    for t, i in enumerate(range(0, N, tau), start=1):
        x = X[i : i + tau]  # Algorithm 1, step 1
        last = [  # step 2, (36)
            code(x[j], D, C0[i + j], R0[i + j], lam, **coding) for j in range(len(x))
        ]
        k, h, r, u, q, alpha, beta, objective = (
            np.array(field) for field in zip(*last, strict=True)
        )
        C, R = (h, r) if as_printed else (u, q)
        A = (n * A + C.T @ C) / (n + len(x))  # step 3
        B = (n * B + C.T @ (x - R)) / (n + len(x))
        n += len(x)
        new = update_dict(A, B, D, **learning)  # step 4, (37)
        D = new.W if as_printed else new.Q
        copies = new.W, new.Q, new.Delta
        coded = C, R, h, r, u, q, alpha, beta, objective, k
        yield Step(t, n, *coded, A, B, D, *copies, new.objective, new.k)
