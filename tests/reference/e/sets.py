"""Paper E, "Online Nonnegative Matrix Factorization with General Divergences": the sets of (4) and
(5), Section S-1.

S = { D (K x F): 0 <= d_kf <= 1, every feature's column sums to at least eps }   the paper's C
T = { c (K): eps <= c_k <= U }                                                   the paper's H

Readings:
- S-1 tests ||W_i:||_1 < eps before clipping, so that a column of large negative
  entries passes and is clipped to 0. And it projects onto "the probability simplex", of radius 1,
  which is not the nearest point. Here: clip to [0, 1]; if the clipped column sums to less than
  eps, project the unclipped one onto the simplex of radius eps. Its entries are <= eps < 1.
  `as_printed=True` is the letter (errata E.2).
- S-1 calls the other case "straightforward": clipping to [0, 1].
- Remark 2: eps = 1e-8 and U = 1e8 throughout, and both eps may be dropped where d allows zeros:
  eps = 0 here.
"""

import numpy as np


def project_simplex(v, radius):
    """The nearest point to v (K,) with entries >= 0 and sum radius ([82] of the paper)."""
    v = v - v.max()  # same answer, keeps a small radius exact
    u = np.sort(v)[::-1]
    theta = (np.cumsum(u) - radius) / np.arange(1, len(v) + 1)
    return np.maximum(v - theta[np.nonzero(u > theta)[0][-1]], 0)


def project_dictionary(D, eps=1e-8, as_printed=False):
    P = np.clip(D, 0, 1)
    for f in range(D.shape[1]):  # rows i of the paper's W
        if as_printed:
            if np.abs(D[:, f]).sum() < eps:
                P[:, f] = project_simplex(D[:, f], 1)
        elif P[:, f].sum() < eps:
            P[:, f] = project_simplex(D[:, f], eps)
    return P


def project_codes(c, eps=1e-8, U=1e8):
    return np.clip(c, eps, U)
