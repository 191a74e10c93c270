"""Measures and synthetic data of paper D: "Online Orthogonal Dictionary Learning Based on
Frank-Wolfe Method" (Xue, Lau).

Letters: the paper's D is D transposed here (atoms in rows), so its D_t^T D_true is D D_true^T.

Readings:
- ||.||_4^4 in (24) is entrywise: the sum of fourth powers. (24) is 0 at D_true with its rows
  permuted and signed.
- The gap (10) needs the gradient of the expectation, at the point before the step (g_t is at
  D_{t-1}). Over the spectral ball it is ||grad||_* + <grad, D>. Given a sample's mean
  gradient it is the gap of that sample.
- The paper has no measure of sparsity of given codes: theta is the share of nonzeros of the
  planted ones, and the objective is -||c||_3^3. Both are here; the share counts entries above tol,
  tol = 0 by default (no threshold is printed).
- The RMSE of Section V-C is relative: sqrt of a ratio of sums of squares, over all batches, the
  first block t = 0 included.
- The compression ratio floor(N / eta0) counts neither positions nor dictionaries (errata D.6).
"""

import numpy as np


def error(D, D_true):
    """(24)."""
    return abs(1 - ((D @ D_true.T) ** 4).sum() / len(D))


def fw_gap(grad, D):
    """(10) over the unit spectral ball: max over S of <-grad, S - D>."""
    return np.linalg.svd(grad, compute_uv=False).sum() + (grad * D).sum()


def fw_gap_general(grad, X, oracle):
    """(10) over any set with an oracle (see frank_wolfe.py)."""
    return (-grad * (oracle(grad) - X)).sum()


def objective(Y, D, p=3):
    """Mean over the rows of -||y D^T||_p^p: the sample version of (5)."""
    return -(np.abs(Y @ D.T) ** p).sum() / len(Y)


def sparsity(C, tol=0.0):
    """Share of entries with |c| > tol: the sample version of theta."""
    return (np.abs(C) > tol).mean()


def best_objective(N, theta):
    """Appendix B: the minimum -N gamma_1 theta of (5), gamma_1 = 2^(3/2)/sqrt(pi)."""
    return -N * theta * 2**1.5 / np.sqrt(np.pi)


def rmse(Y_hats, Ys):
    """Section V-C, item 4, over lists of batches."""
    return np.sqrt(
        sum(((H - Y) ** 2).sum() for H, Y in zip(Y_hats, Ys, strict=True))
        / sum((Y**2).sum() for Y in Ys)
    )


def compression_ratio(N, eta0):
    return N // eta0


def synthetic(rng, N=10, theta=0.3, B=10, L=3000):
    """Section V-B: D_true uniform on the group, codes Bernoulli-Gaussian; L batches of B rows."""
    U, _, Vt = np.linalg.svd(rng.standard_normal((N, N)))
    D_true = U @ Vt
    C = (rng.random((L, B, N)) < theta) * rng.standard_normal((L, B, N))
    return list(C @ D_true), D_true, C
