"""OL-Guan, the online peer for squared l2 in paper E ([17], Guan, Tao, Luo, Yuan).

min over D in S of E_x[ min over c >= 0 of 1/2 ||x - c D||^2 ]

Per batch: nonnegative least squares codes for the old D; the batch enters a buffer of past samples
with their codes; then J steps of robust stochastic approximation ([51] of the paper) on D, each on
one sample of the buffer:
D_(k+1) = Pi_S(D_k - r_k c^T (c D_k - x)),   r_k = theta diam / (M sqrt(k)),   k = 1 .. J,
D_1 the old D, and the new D is the average sum r_k D_k / sum r_k, k = 1 .. J.

The paper's v, W, h are a row x of X, D transposed, and a row c of C.

Readings:
- Paper E prints no line of this algorithm. What is recalled of [17], not verified: nonnegative
  least squares, a few steps, a buffer of past samples, decreasing steps, averaged iterates. All
  constants here are choices: `buffer` samples, J = 20, theta = 0.1.
- diam is that of the set, sqrt(K F); M the largest gradient norm in the buffer at the old D, so
  that the step is free of the data's unit. The average is over the points where gradients were
  taken, the old D included.
- k starts from 1 at every batch. Whether the step goes on falling over batches is not stated;
  `step(t, k, samples, D)` with the old D is a rule of the caller's, `robust_step` the default.
- The sample of step k is drawn at random in [17] (recalled): `picks(t, k, m)` gives its place
  among the m in the buffer, the newest first, in turn, by default.
- The set: S of paper E. ([17] is recalled to have atoms on the simplex.) `project` is an argument.
- Codes are not recomputed for samples in the buffer.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from reference.e.sets import project_dictionary


class Step(NamedTuple):
    t: int
    C: np.ndarray  # (n x K) codes for the old D
    r: np.ndarray  # (J,) step sizes
    iterates: np.ndarray  # (J x K x F) D_1 .. D_J
    D: np.ndarray  # their average
    loss: float  # batch mean at the old D


def nnls_codes(X, D):
    return np.array([nnls(D.T, x)[0] for x in X])


def robust_step(t, k, samples, D, theta=0.1):
    M = max(np.linalg.norm(c) * np.linalg.norm(c @ D - x) for x, c in samples)
    return theta * np.sqrt(D.size / k) / M if M > 0 else 1.0  # M = 0: every gradient is 0


def rsa_steps(samples, D, J, step, picks, project, t=1):
    """samples: list of (x, c). Yields r_k, D_k, k = 1 .. J."""
    first = D
    for k in range(1, J + 1):
        r = step(t, k, samples, first)
        yield r, D
        x, c = samples[picks(t, k, len(samples))]
        D = project(D - r * np.outer(c, c @ D - x))


def ol_guan(
    batches,
    D0,
    buffer=100,
    J=20,
    step=robust_step,
    picks=lambda t, k, m: m - 1 - (k - 1) % m,
    project=project_dictionary,
):
    D, past = project(D0), []
    for t, X in enumerate(batches, 1):
        C = nnls_codes(X, D)
        loss = ((X - C @ D) ** 2).sum(1).mean() / 2
        past = (past + list(zip(X, C, strict=True)))[-buffer:]
        steps = rsa_steps(past, D, J, step, picks, project, t)
        r, iterates = map(np.array, zip(*steps, strict=True))
        D = np.tensordot(r, iterates, 1) / r.sum()
        yield Step(t, C, r, iterates, D, loss)
