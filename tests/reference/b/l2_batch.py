"""L2-BATCH: the batch detector with squared loss.

Paper B: Kasiviswanathan, Wang, Banerjee, Melville, "Online l1-Dictionary Learning with Application
to Novel Document Detection", Appendix C, Algorithm 5.

    score of p:  min over c >= 0 of 1/2 ||p - c D||_2^2 + lam ||c||_1,  novel if > zeta
    learning:    min over D in S, C >= 0 of 1/2 ||P - C D||_F^2 + lam ||C||_1, all documents,
                 S: D >= 0, ||d_k||_2 <= 1

Letters: the paper's P_t, A_t, X are P, D, C transposed. P_[t] are all documents up to step t.

Order of one step t >= 1: score against A_t; mark; add eta atoms; append the documents; learn. No
codes are kept.

Readings:
- ||.||_2 is printed without square, but LARS solves the squared problem: 1/2 squared throughout,
  in the score too (errata B.8). as_printed=True: no square, norm per document in the score and
  one Frobenius norm for all documents in learning. There C = 0 is optimal if d_k.p <= lam ||P||_F
  for all k and p: with many documents nothing is learned.
- Units: with the square, lam has the unit of the data. Codes are 0 for every p with max_k d_k.p <=
  lam, and d_k.p <= ||p||_2, which is far below 1 for long documents with ||p||_1 = 1. Without the
  square, lam has no unit.
- "the LARS method [3]": [3] is not LARS but pathwise coordinate descent. The optimum is what
  counts. Here coordinate descent, c_k <- [c_k + (d_k.r - lam)/||d_k||^2]_+, until no code of a row
  moves by more than tol max_k |c_k| (row by row) or for `sweeps` sweeps. LARS would end at the
  same point (where it is unique).
- "non-negative sparse coding problem": no algorithm is given; the main paper names the package
  SPAMS. It is a black box, not convex. Here: codes as above and block coordinate descent on the
  atoms, d_k <- Pi(d_k + (B - A D)_k / A_kk), A = C^T C, B = C^T P, in turns. Atoms without codes
  stay. Stops: relative change of the objective <= rtol or `rounds` rounds; atoms: largest change
  <= tol or `sweeps` sweeps. All four are choices.
- Step 0 is not in Algorithm 5. Here as in batch_impl.py: learning on P_0 alone, from D0 (K atoms),
  no growth.
- Start of the learning: A_t and new atoms from data (eta documents with the largest scores),
  projected on S. The algorithm prints no start; eta = 10 quoted, lam = 0.1 recalled (for the l1
  problem), zeta not given.
"""

from typing import NamedTuple

import numpy as np

from reference.b.batch_impl import Round


class CodesIterate(NamedTuple):
    i: int  # sweep
    C: np.ndarray  # n x K
    active: np.ndarray  # n, rows that have not met their stop


class L2Step(NamedTuple):
    t: int
    scores: np.ndarray  # n_t (None at t = 0)
    novel: np.ndarray  # n_t bool (None at t = 0)
    C_new: np.ndarray  # n_t x k_t, codes of the scoring (None at t = 0)
    P: np.ndarray  # N_t x F, P_[t]
    D_start: np.ndarray  # k_{t+1} x F, A_t with its new atoms
    rounds: list  # of Round
    D: np.ndarray  # k_{t+1} x F, A_{t+1}
    C: np.ndarray  # N_t x k_{t+1}, X_[t]


def project(D):
    D = np.maximum(D, 0)
    return D / np.maximum(np.linalg.norm(D, axis=1, keepdims=True), 1)


def codes_iterates(P, D, lam=0.1, sweeps=10000, tol=1e-12, as_printed=False):
    """Coordinate descent.

    as_printed: ||r|| = min over sigma of (||r||^2/sigma + sigma)/2: lam sigma, sigma = ||r||.
    """
    A, B, C, active = D @ D.T, P @ D.T, np.zeros((len(P), len(D))), np.ones(len(P), bool)
    for i in range(1, sweeps + 1):
        weight = lam * np.linalg.norm(P - C @ D, axis=1) if as_printed else lam
        old, C = C, C.copy()
        for k in np.flatnonzero(np.diag(A) > 0):
            new = np.maximum(C[:, k] + (B[:, k] - C @ A[:, k] - weight) / A[k, k], 0)
            C[:, k] = np.where(active, new, C[:, k])  # stopped rows stay as they are
        active = active & (np.abs(C - old).max(1) > tol * C.max(1))
        yield CodesIterate(i, C, active)
        if not active.any():
            return


def codes(P, D, lam=0.1, **settings):
    """The last codes of codes_iterates."""
    *_, last = codes_iterates(P, D, lam, **settings)
    return last.C


def scores(P, C, D, lam, as_printed=False):
    fit = np.linalg.norm(P - C @ D, axis=1)
    return (fit if as_printed else fit**2 / 2) + lam * np.abs(C).sum(1)


def dictionary_iterates(P, C, D, sweeps=200, tol=1e-8):
    """Block coordinate descent on the atoms. Yields D after every sweep."""
    A, B = C.T @ C, C.T @ P
    for _ in range(sweeps):
        old, D = D, D.copy()
        for k in np.flatnonzero(np.diag(A) > 0):
            D[k] = project((D[k] + (B[k] - A[k] @ D) / A[k, k])[None])[0]
        yield D
        if np.abs(D - old).max() <= tol:
            return


def learn(P, D, lam=0.1, rounds=20, rtol=1e-4, sweeps=200, tol=1e-8, as_printed=False):
    """Non-negative sparse coding: dictionary and codes in turns, after codes for the start.

    Yields one Round per pass. as_printed: ||R||_F = min over sigma of (||R||_F^2/sigma + sigma)/2,
    so that each pass is the squared problem with lam sigma, sigma = ||R||_F of the pass before.
    """
    fit = np.linalg.norm
    sigma = fit(P) if as_printed else 1.0
    C = codes(P, D, lam * sigma)

    def total(C, D):
        return (fit(P - C @ D) if as_printed else fit(P - C @ D) ** 2 / 2) + lam * C.sum()

    old = total(C, D)
    for i in range(1, rounds + 1):
        *_, D = dictionary_iterates(P, C, D, sweeps, tol)
        sigma = fit(P - C @ D) if as_printed else 1.0
        C = codes(P, D, lam * sigma)
        objective = total(C, D)
        yield Round(i, D, C, objective)
        if abs(old - objective) <= rtol * old:
            return
        old = objective


def worst_documents(P, score, eta):
    return project(P[np.argsort(-score, kind="stable")[:eta]])


def l2_batch(
    batches,
    D0,
    zeta,
    lam=0.1,
    eta=10,
    rounds=20,
    rtol=1e-4,
    sweeps=200,
    tol=1e-8,
    new_atoms=worst_documents,
    as_printed=False,
):
    """Yields one L2Step per batch; the first batch is step 0."""
    D = project(D0)
    for t, P_t in enumerate(batches):
        if t == 0:
            score = novel = C_new = None
            P, D_start = P_t, D
        else:
            C_new = codes(P_t, D, lam, as_printed=as_printed)  # detection: x_j for every p_j
            score = scores(P_t, C_new, D, lam, as_printed)
            novel = score > zeta  # detection: mark
            D_start = np.vstack([D, new_atoms(P_t, score, eta)])  # k_{t+1} = k_t + eta
            P = np.vstack([P, P_t])  # P_[t]
        passes = list(learn(P, D_start, lam, rounds, rtol, sweeps, tol, as_printed))
        D, C = passes[-1].D, passes[-1].C
        yield L2Step(t, score, novel, C_new, P, D_start, passes, D, C)
