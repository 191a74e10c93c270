"""OL-Wang, the online peer for the Huber loss in paper E ([8], Wang, Wang, Yeung).

min over D in S of E_x[ min over c >= 0 of sum_f h_alpha(x_f - (c D)_f) ]   h_alpha of Table III
Codes by multiplicative updates c <- c * ((w x) D^T) / ((w (c D)) D^T), w = min(1, alpha / |x - c
D|), for the old D; then D <- Pi_S(D - step G), G = mean c^T clip(c D - x, alpha) at the old D,
with a constant step.

The paper's v, W, h are a row x of X, D transposed, and a row c of C.

Readings:
- Paper E prints no line of this algorithm; Remark 6 says that [8] has a constant step. The rest,
  "multiplicative codes, projected stochastic gradient with a constant step", is recalled from [8],
  not verified.
- The step is not stated and has a unit, 1 / (data unit)^2: no default. alpha: not stated, no
  default (errata E.6).
- The number of code updates is not stated: `n_code` = 100, from `codes.start` or `starts`. Sum or
  mean over a batch: the mean.
- The set: S of paper E ([8] is recalled to have atoms in the l2 ball, and a sparsity penalty on
  codes, left out here).
"""

from typing import NamedTuple

import numpy as np

from reference.e.codes import start
from reference.e.divergences import huber
from reference.e.multiplicative import code_steps
from reference.e.sets import project_dictionary


class Step(NamedTuple):
    t: int
    C: np.ndarray  # (n x K) codes for the old D
    G: np.ndarray  # (K x F) at the old D
    D: np.ndarray
    loss: float  # batch mean at the old D


def ol_wang(batches, D0, alpha, step, starts=None, n_code=100, project=project_dictionary):
    d, D = huber(alpha), project(D0)
    for t, X in enumerate(batches, 1):
        C0 = start(X, D) if starts is None else starts[t - 1]
        *_, C = code_steps(X, D, d, C0, n_code)
        loss = d.value(X, C @ D).mean()
        G = C.T @ d.gradient(X, C @ D) / len(X)
        D = project(D - step * G)
        yield Step(t, C, G, D, loss)
