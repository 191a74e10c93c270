"""SFW, Baseline 1 of paper D: "Online Orthogonal Dictionary Learning Based on
Frank-Wolfe Method" (Xue, Lau).

Stochastic Frank-Wolfe, reference [32] of the paper (Mokhtari, Hassani, Karbasi), on problem (5):

    min over ||D||_2 <= 1 of  E_y[ -||y D^T||_3^3 ].

Letters: the paper's D is D transposed here (atoms in rows), its y_t^j is row j of Y_t.

Readings:
- Section V-A only names the method. The constants rho_t = 4/(t+8)^(2/3), gamma_t = 2/(t+8), t from
  0, no outer polar, are the authors' code's. So rho_0 = 1 (the first G is the first gradient,
  G_{-1} does not matter) and gamma_0 = 1/4.
- Here "t" is the index of the batch from 0: the step takes D_t to D_{t+1}.
- D leaves the orthogonal group and stays in the ball. Nothing is projected, also not for the error
  (24).
- The oracle and its choice for a singular G are those of Algorithm 2 (errata D.3).
"""

from typing import NamedTuple

import numpy as np

from reference.d.noncvx_sfw import gradient, lmo


class Step(NamedTuple):
    t: int  # from 0
    rho: float
    gamma: float
    C: np.ndarray  # codes of the batch with the old D
    g: np.ndarray
    G: np.ndarray
    S: np.ndarray
    D: np.ndarray  # after the step


def rho_t(t):
    return 4 / (t + 8) ** (2 / 3)


def gamma_t(t):
    return 2 / (t + 8)


def sfw(batches, D0, p=3, rho=rho_t, gamma=gamma_t, rank_tol=1e-12, as_printed=False):
    """Yield one Step per batch."""
    D = np.asarray(D0, float)
    G = np.zeros_like(D)
    for t, Y in enumerate(batches):
        C = Y @ D.T
        g = gradient(Y, D, p)
        G = (1 - rho(t)) * G + rho(t) * g
        S = lmo(G, D, rank_tol, as_printed)
        D = (1 - gamma(t)) * D + gamma(t) * S
        yield Step(t, rho(t), gamma(t), C, g, G, S, D)
