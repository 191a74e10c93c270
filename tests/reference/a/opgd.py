"""Online NMF with outliers, projected gradient (OPGD).

Paper A, "Online Nonnegative Matrix Factorization with Outliers": Algorithm 1 with the PGD coder
(13)-(17) and the PGD dictionary step (18)-(22).

Problem (8), with (5) and (6):
    min over D in S of E_x [ min over c >= 0, r in R of  1/2 ||x - c D - r||^2 + lam ||r||_1 ]
    S = {D >= 0, every atom ||d_k||_2 <= 1},  R = {|r_f| <= M}; M = inf is allowed.

Letters: rows are samples and atoms. The paper's W is D transposed, h is a row c of C, v is a row
x of X, r is a row of R, A is A (K x K), B is B transposed (K x F): A = mean c'c, B = mean c'(x -
r). Data are taken in their own unit; the defaults lam = 1/sqrt(F) and M = 1 suppose that every
sample has maximum 1 (VII-B3, VII-C).

Readings:
 1. Start of D. After (9), W_0 lies in S; VII-B1 draws it from U[0,1], which is not in S. Here D0
    is projected onto S first. as_printed: D0 is used as given (errata A.7).
 2. Starts of c and r. VII-B1: drawn anew at each time instant, like W_0. So C0 and R0 have one
    row per sample. They are used as given. No sample starts from the codes of another one.
 3. Stop (VII-B2). The text shows no bars around the relative change. Without them every decrease
    stops. Bars are lost elsewhere too, as in (14), so here the absolute change is meant. k = 1 is
    compared with the start.
 4. The stop of (37) is "similar": on its objective p_t. p_t is negative at the optimum, so the
    change is divided by |p_t|. as_printed: by p_t itself, so that a negative p_t stops at once
    (errata A.8).
 5. "k > kappa_max" would allow kappa_max + 1 iterations, "maximum number of iterations"
    kappa_max. Here kappa_max.
 6. 0/0 in the stop counts as no change.
 7. After (22) the step is kappa/L, but L is ||W||_2^2, defined below (14). The bound below (18)
    is ||A_t||_F, so that is used (errata A.6). as_printed: ||W_{t-1}||_2^2 (footnote 2). A = 0 or
    D = 0: no step.
 8. Mini-batch (VII-B3). All samples of a batch are coded with the same W_{t-1}, then one
    dictionary step follows. A and B are plain averages over all samples seen, each with the same
    weight, also if the last batch is smaller. Whether a batch stops as a whole is not said: here
    each sample stops alone.
 9. The batch size has a bound, 4e-4 N, and an example, 5e-5 N. The default is the example,
    rounded down, at least 1.
10. Nonnegative outliers (VI-A): R = {0 <= r <= M}. (14) is then the projection of soft(e) onto
    [0, M] (Lemma S-3).
"""

from typing import NamedTuple

import numpy as np


class CodeIterate(NamedTuple):
    k: int  # 0 is the start
    c: np.ndarray  # (K,)
    r: np.ndarray  # (F,)
    objective: float  # (6)


class DictIterate(NamedTuple):
    k: int  # 0 is the start
    D: np.ndarray  # (K, F)
    objective: float  # (18)


class Step(NamedTuple):
    t: int  # time instant, from 1
    n: int  # samples seen, with this batch
    C: np.ndarray  # (b, K) codes that entered A, B
    R: np.ndarray  # (b, F) outliers that entered B
    code_objective: np.ndarray  # (b,) (6) at the last iterate
    code_iterations: np.ndarray  # (b,)
    eta: float  # step size of the codes
    A: np.ndarray  # (K, K)
    B: np.ndarray  # (K, F)
    D: np.ndarray  # (K, F) new dictionary
    dict_objective: float  # (18) at D
    dict_iterations: int
    eta_dict: float  # step size of the dictionary


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


def code_iterates(x, D, c, r, eta, lam, M=1.0, nonnegative=False, tol=1e-3, max_iter=50):
    """Solve (9) for one sample x from (c, r). Yields the start and every iterate."""
    old = loss(x, D, c, r, lam)
    yield CodeIterate(0, c, r, old)
    for k in range(1, max_iter + 1):
        c = np.maximum(c - eta * (c @ D + r - x) @ D.T, 0)  # (15)
        r = np.clip(soft(x - c @ D, lam), 0 if nonnegative else -M, M)  # (16), (17)
        new = loss(x, D, c, r, lam)
        yield CodeIterate(k, c, r, new)
        if change(new, old) < tol:  # VII-B2
            return
        old = new


def code_step(D, kappa=0.7):
    L = np.linalg.norm(D, 2) ** 2  # below (14), footnote 2
    return kappa / L if L > 0 else 0.0


def code(x, D, c, r, eta, lam, **options):
    *_, last = code_iterates(x, D, c, r, eta, lam, **options)
    return last


def dict_objective(D, A, B):
    return 0.5 * np.sum(D * (A @ D)) - np.sum(D * B)  # (18)


def dict_step(A, D, kappa=0.7, as_printed=False):
    L = np.linalg.norm(D, 2) ** 2 if as_printed else np.linalg.norm(A)  # below (18); after (22)
    return kappa / L if L > 0 else 0.0


def dict_iterates(A, B, D, eta, project=project_l2, tol=1e-4, max_iter=200, as_printed=False):
    """Solve (12) from D. Yields the start and every iterate."""
    old = dict_objective(D, A, B)
    yield DictIterate(0, D, old)
    for k in range(1, max_iter + 1):
        D = project(D - eta * (A @ D - B))  # (21), (22)
        new = dict_objective(D, A, B)
        yield DictIterate(k, D, new)
        if change(new, old, signed=as_printed) < tol:  # VII-B2
            return
        old = new


def update_dict(A, B, D, eta, **options):
    *_, last = dict_iterates(A, B, D, eta, **options)
    return last


def start(rng, N, F, K):
    """VII-B1: U[0,1] for D0 and for the start of every sample."""
    return rng.uniform(size=(K, F)), rng.uniform(size=(N, K)), rng.uniform(size=(N, F))


def opgd(
    X,
    D0,
    C0,
    R0,
    tau=None,
    lam=None,
    M=1.0,
    nonnegative=False,
    project=project_l2,
    kappa=0.7,
    kappa_dict=0.7,
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
    coding = {"M": M, "nonnegative": nonnegative, "tol": code_tol, "max_iter": code_max_iter}
    learning = {"project": project, "tol": dict_tol, "max_iter": dict_max_iter}
    for t, i in enumerate(range(0, N, tau), start=1):
        x = X[i : i + tau]  # Algorithm 1, step 1
        eta = code_step(D, kappa)
        last = [  # step 2, (36)
            code(x[j], D, C0[i + j], R0[i + j], eta, lam, **coding) for j in range(len(x))
        ]
        k, C, R, objective = (np.array(field) for field in zip(*last, strict=True))
        A = (n * A + C.T @ C) / (n + len(x))  # step 3
        B = (n * B + C.T @ (x - R)) / (n + len(x))
        n += len(x)
        eta_dict = dict_step(A, D, kappa_dict, as_printed)
        new = update_dict(A, B, D, eta_dict, as_printed=as_printed, **learning)  # step 4, (37)
        D = new.D
        yield Step(t, n, C, R, objective, k, eta, A, B, D, new.objective, new.k, eta_dict)
