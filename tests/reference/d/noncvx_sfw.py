"""Algorithm 2 of paper D: "Online Orthogonal Dictionary Learning Based on
Frank-Wolfe Method" (Xue, Lau).

NoncvxSFW for the online orthogonal dictionary problem (5), p = 3, and its l_4 baseline (Section
V-A, Baseline 2), p = 4:

    min over ||D||_2 <= 1 of  E_y[ -||y D^T||_p^p ],   D square (N x N).

Letters: the paper's D is D transposed here (atoms in rows), its y_t^j is row j of Y_t, D^T y is
the row c = y D^T.

Readings:
- t starts at 1: rho_1 = 2.83, gamma_1 = 0.88. rho_t > 1 for t < 15 (errata D.1): as printed, it
  runs.
- Step 1 prints "D" with no index. Algorithm 1 has X_{t-1} there: the gradient is at D_{t-1}.
- The gradient of -||y D^T||_p^p by D is -p (|c|^(p-1) sign c)^T y. The factor p is kept; since G_0
  = 0, no D depends on it.
- Polar(A) = U V^T of the SVD of A. polar(-G_t) is one point of the oracle, not the only one, when
  G_t is singular: that happens while t B < N, or later if samples are 0 (errata D.3). The missing
  directions are filled with the choice nearest to D_{t-1}: S = U_1 V_1^T + U_0 polar(U_0^T D_{t-1}
  V_0) V_0^T, index 0 for singular values <= rank_tol times the largest. This is an SVD of -G_t
  too, so the printed line holds. as_printed=True takes whatever U V^T LAPACK returns. Full rank:
  the same.
- The outer Polar always has a regular argument if D_{t-1}, S_t are orthogonal, as gamma_t is never
  exactly 1/2.
- D_0 is "in the unit spectral ball"; how it is drawn is not said. start() draws it uniformly from
  the orthogonal group, as D_true is drawn (Section V-B). D_0 = 0 has no gradient (errata D.3).
- Section V-C starts from "the batch version of each scheme" on the first M_0 = 100 readings, 20
  iterations (Table I). Read as: Algorithm 2 with the same block in every step. The online stage
  then begins again with t = 1 and G_0 = 0; the paper is silent. As gamma_1 = 0.88, its first steps
  replace D_0 in the directions of their batches (in all, if S_t is LAPACK's).
- No whitening, centring, sign or scale step: the data enter as they are. (Theorem 1 needs y = c
  D_true, D_true orthogonal, c i.i.d. Bernoulli-Gaussian.) No stop rule.
- Lemma 4 (Polar does not raise F) is about the expectation. For the mean over a batch it can fail:
  y = f flat of norm 1, N = 100, X = v v^T + 0.001 (I - v v^T) with v along e_1 + f: F(X) = -0.178,
  F(Polar(X)) = -0.1.
"""

from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    t: int
    rho: float
    gamma: float
    C: np.ndarray  # codes Y_t D_{t-1}^T
    g: np.ndarray  # gradient of the batch at D_{t-1}
    G: np.ndarray  # G_t
    S: np.ndarray  # S_t
    D: np.ndarray  # D_t


def rho_t(t):
    return 4 * (t + 1) ** -0.5


def gamma_t(t):
    return 2 * (t + 2) ** -0.75


def start(rng, N):
    """An orthogonal matrix, uniform on the group."""
    return polar(rng.standard_normal((N, N)))


def polar(A):
    U, _, Vt = np.linalg.svd(A)
    return U @ Vt


def gradient(Y, D, p=3):
    """Mean over the rows of Y of the gradient of -||y D^T||_p^p by D."""
    C = Y @ D.T
    return -p * (np.abs(C) ** (p - 1) * np.sign(C)).T @ Y / len(Y)


def lmo(G, D, rank_tol=1e-12, as_printed=False):
    """argmin over ||S||_2 <= 1 of <G, S>, (17); of several, the orthogonal one nearest to D."""
    U, s, Vt = np.linalg.svd(-G)  # Algorithm 2, step 2
    r = int((s > rank_tol * s[0]).sum())
    if as_printed or r == len(s):
        return U @ Vt
    U0, V0t = U[:, r:], Vt[r:]
    return U[:, :r] @ Vt[:r] + U0 @ polar(U0.T @ D @ V0t.T) @ V0t


def step(t, Y, D, G, p=3, rho=rho_t, gamma=gamma_t, rank_tol=1e-12, as_printed=False):
    """Step t of Algorithm 2: from D_{t-1}, G_{t-1} and the batch Y_t."""
    g = gradient(Y, D, p)
    G = (1 - rho(t)) * G + rho(t) * g  # Algorithm 2, step 1
    S = lmo(G, D, rank_tol, as_printed)  # Algorithm 2, step 2
    D_new = polar((1 - gamma(t)) * D + gamma(t) * S)  # Algorithm 2, step 3
    return Step(t, rho(t), gamma(t), Y @ D.T, g, G, S, D_new)


def noncvx_sfw(batches, D0, p=3, rho=rho_t, gamma=gamma_t, rank_tol=1e-12, as_printed=False):
    """Yield one Step per batch."""
    D = np.asarray(D0, float)
    G = np.zeros_like(D)  # G_0 = 0
    for t, Y in enumerate(batches, start=1):
        s = step(t, Y, D, G, p, rho, gamma, rank_tol, as_printed)
        D, G = s.D, s.G
        yield s


def batch_start(Y0, D_init, n_iter=20, **kwargs):
    """Section V-C, Initialization: the same block n_iter times; the last D is D_0."""
    return noncvx_sfw([Y0] * n_iter, D_init, **kwargs)
