"""Codes by linearised ADMM.

Paper B: Kasiviswanathan, Wang, Banerjee, Melville, "Online l1-Dictionary Learning with Application
to Novel Document Detection", Appendix A.1, Algorithm 2.

    min over C >= 0 of  ||P - C D||_1 + lam ||C||_1

Letters: the paper puts documents in columns. Its P is P transposed here (rows are documents), its
A is D transposed (atoms in rows of D), its X is C transposed. E and rho are transposed too.
Psi_max(A) is the largest eigenvalue of A^T A (said in the proof of Lemma B.2), here of D D^T.

Readings:
- psi in the list of inputs is phi of the formulas (errata B.1).
- "to convergence" is not defined, and no number of iterations is given. Here a row stops when it
  meets both
      ||p - c D - e||_1          <= tol ||p||_1               (the constraint holds)
      max |phi (c_new - c)/kappa| <= tol max_k ||d_k||_1      (the codes are at rest)
  or after n_iter iterations. Both numbers are choices of this file. tol = 0 and a fixed n_iter
  give plain iterates. Rows are independent, so each row has its own stop (Algorithm 4 also codes
  one document at a time).
- E_(1) = P is never used: line 1 of the loop computes E before it is read.
- phi = 5, kappa = 1/Psi_max(A), gamma = 1.89 are printed. kappa Psi_max + gamma = 2.89 is outside
  the usual sufficient condition (< 2), yet converges, slowly (errata B.2).
- D = 0: kappa is not defined. Here kappa = 0, so the codes stay 0, which is the optimum for lam >=
  0.
- lam = 0.1 is recalled from the main paper and not verified: the appendix has no value.
- The iterates are not monotone. Before convergence the objective can lie above that of C = 0.
- phi has the unit 1/data. The paper's data are documents with ||p||_1 = 1.
"""

from typing import NamedTuple

import numpy as np


class CodesIterate(NamedTuple):
    i: int  # the paper's (i): 1 is the start
    C: np.ndarray  # n x K, X_(i)
    E: np.ndarray  # n x F, E_(i)
    rho: np.ndarray  # n x F, rho_(i)
    G: np.ndarray  # n x K, the gradient that led to this C (None at the start)
    active: np.ndarray  # n, rows that have not met their stop
    objective: np.ndarray  # n, ||p - c D||_1 + lam ||c||_1


def soft(x, a):
    return np.sign(x) * np.maximum(np.abs(x) - a, 0)


def psi_max(D):
    """Largest eigenvalue of D D^T (the same for C: of C^T C)."""
    return np.linalg.norm(D, 2) ** 2


def scores(P, C, D, lam):
    """The sparse coding objective of each document (the score of Algorithm 4)."""
    return np.abs(P - C @ D).sum(1) + lam * np.abs(C).sum(1)


def codes_iterates(P, D, lam=0.1, phi=5.0, gamma=1.89, kappa=None, n_iter=10000, tol=1e-6):
    """Algorithm 2. Yields the start and then one CodesIterate per iteration."""
    if kappa is None:
        kappa = 1 / psi_max(D) if D.any() else 0.0
    C, E, rho = (
        np.zeros((len(P), len(D))),
        P.copy(),
        np.zeros(P.shape),
    )  # Input line: X_(1), E_(1), rho_(1)
    active = np.ones(len(P), bool)
    yield CodesIterate(1, C, E, rho, None, active, scores(P, C, D, lam))
    for i in range(1, n_iter + 1):
        E_new = soft(P - C @ D + rho / phi, 1 / phi)  # Algorithm 2, loop line 1
        G = (C @ D + E_new - P - rho / phi) @ D.T  # line 2
        C_new = np.maximum(C - kappa * G - lam * kappa / phi, 0)  # line 3
        rho_new = rho + gamma * phi * (P - C_new @ D - E_new)  # line 4
        primal = np.abs(P - C_new @ D - E_new).sum(1) <= tol * np.abs(P).sum(1)
        dual = phi * np.abs(C_new - C).max(1) <= tol * kappa * np.abs(D).sum(1).max()
        move = active[:, None]  # stopped rows stay as they are
        C, E, rho = np.where(move, C_new, C), np.where(move, E_new, E), np.where(move, rho_new, rho)
        active = active & ~(primal & dual)
        yield CodesIterate(i + 1, C, E, rho, G, active, scores(P, C, D, lam))
        if not active.any():
            return


def codes(P, D, lam=0.1, **settings):
    """The codes at convergence (the last iterate of Algorithm 2)."""
    *_, last = codes_iterates(P, D, lam, **settings)
    return last.C


def sre(P, D, lam=0.1, **settings):
    """SRE(A) of the main paper: (1/N) min over C >= 0 of ||P - C D||_1 + lam ||C||_1."""
    return scores(P, codes(P, D, lam, **settings), D, lam).mean()
