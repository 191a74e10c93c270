"""Nonnegative weights of a few predictors: many tiny quadratics, solved by enumeration."""

import numpy as np

from thresher.kernels.cholesky import factorise, solve
from thresher.kernels.compiling import kernel


@kernel
def choose(grams, sides, best):  # type: ignore[no-untyped-def]
    """Write the least of ``wᵀ G w / 2 − hᵀ w`` over w ≥ 0 for each G, which is positive definite.

    Where it is least, some weights are zero and the others solve their own equations. All others
    come first: if they have no negative weight, nothing is lower.
    """
    M = sides.shape[1]
    R, w, some = np.empty((M, M)), np.empty(M), np.empty(M + 1, np.int64)
    for g in range(len(sides)):
        G, h, lowest = grams[g], sides[g], 0.0
        best[g] = 0.0
        for chosen in range(2**M - 1, 0, -1):
            m = 0
            for a in range(M):
                some[m] = a
                m += (chosen >> a) & 1
            for a in range(m):
                for b in range(a, m):
                    R[a, b] = G[some[a], some[b]]
                w[a] = h[some[a]]
            factorise(R, m, 0.0)
            solve(R, m, w)
            value, lower = 0.0, True
            for a in range(m):
                value -= w[a] * h[some[a]] / 2
                lower = lower and w[a] >= 0
            if lower and value < lowest:
                lowest = value
                best[g] = 0.0
                for a in range(m):
                    best[g, some[a]] = w[a]
                if m == M:
                    break
