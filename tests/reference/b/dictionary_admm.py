"""Batch dictionary by linearised ADMM.

Paper B: Kasiviswanathan, Wang, Banerjee, Melville, "Online l1-Dictionary Learning with Application
to Novel Document Detection", Appendix A.1, Algorithm 3.

    min over D in S of  ||P - C D||_1,     S: D >= 0, ||d_k||_1 <= 1 for every atom

Letters: the paper's P, A, X are P, D, C transposed (documents and atoms are rows here). E and rho
are transposed too.

Readings:
- psi in the list of inputs is phi of the formulas (errata B.1).
- kappa is not given for this algorithm. Here 1/Psi_max(X), Psi_max the largest eigenvalue of C^T
  C, by analogy with Algorithm 2. phi = 5 and gamma = 1.89 are printed before Algorithm 2 only; the
  same values are used here.
- "to convergence" is not defined, and no number of iterations is given. Here one stop for the
  whole matrix, when
      ||P - C D - E||_1          <= tol ||P||_1
      max |phi (D_new - D)/kappa| <= tol max_k (sum of column k of C)
  or after n_iter iterations. Both numbers are choices of this file. (The projection couples the
  features of an atom, so there is no stop per feature.)
- Start: 0, or with warm starts the dictionary of the previous time step (text before Algorithm 3).
  Only A is warm: E and rho start from P and 0 in every call. D0 is an argument. E_(1) = P is never
  read.
- Pi_A(max{., 0}): clip at 0; then, only for an atom with sum > 1, project onto the simplex
  (errata B.6). Exact.
- C = 0: kappa is not defined. Here kappa = 0 and D stays. A column of C that is 0 leaves its atom
  where it is.
- The minimiser need not be unique.
"""

from typing import NamedTuple

import numpy as np

from reference.b.codes_admm import psi_max, soft


class DictionaryIterate(NamedTuple):
    i: int  # the paper's (i): 1 is the start
    D: np.ndarray  # K x F, A_(i)
    E: np.ndarray  # n x F, E_(i)
    rho: np.ndarray  # n x F, rho_(i)
    G: np.ndarray  # K x F, the gradient that led to this D (None at the start)
    objective: float  # ||P - C D||_1
    converged: bool


def project(D):
    """Pi_A: every row onto {d >= 0, sum d <= 1}."""
    D = np.maximum(D, 0)
    for k in np.flatnonzero(D.sum(1) > 1):
        u = np.sort(D[k])[::-1]
        excess = (np.cumsum(u) - 1) / np.arange(1, len(u) + 1)
        D[k] = np.maximum(D[k] - excess[u > excess][-1], 0)
    return D


def dictionary_iterates(P, C, D0=None, phi=5.0, gamma=1.89, kappa=None, n_iter=10000, tol=1e-6):
    """Algorithm 3. Yields the start and then one DictionaryIterate per iteration."""
    if kappa is None:
        kappa = 1 / psi_max(C) if C.any() else 0.0
    D = (
        np.zeros((C.shape[1], P.shape[1])) if D0 is None else D0.copy()
    )  # Input line: A_(1), or warm start
    E, rho = P.copy(), np.zeros(P.shape)  # E_(1), rho_(1)
    yield DictionaryIterate(1, D, E, rho, None, np.abs(P - C @ D).sum(), False)
    for i in range(1, n_iter + 1):
        E = soft(P - C @ D + rho / phi, 1 / phi)  # Algorithm 3, loop line 1
        G = C.T @ (C @ D + E - P - rho / phi)  # line 2
        D_new = project(np.maximum(D - kappa * G, 0))  # line 3
        rho = rho + gamma * phi * (P - C @ D_new - E)  # line 4
        primal = np.abs(P - C @ D_new - E).sum() <= tol * np.abs(P).sum()
        dual = phi * np.abs(D_new - D).max() <= tol * kappa * np.abs(C).sum(0).max()
        D = D_new
        yield DictionaryIterate(i + 1, D, E, rho, G, np.abs(P - C @ D).sum(), primal and dual)
        if primal and dual:
            return


def dictionary(P, C, D0=None, **settings):
    """The dictionary at convergence (the last iterate of Algorithm 3)."""
    *_, last = dictionary_iterates(P, C, D0, **settings)
    return last.D
