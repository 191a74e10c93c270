"""OL-Lef, the online peer for the IS divergence in paper E ([18], Lefevre, Bach, Fevotte).

min over D >= 0, atoms of sum 1, of E_x[ min over c >= 0 of d_IS(x || c D) ]
P <- rho P + D^2 * sum c^T (x / (c D)^2),   Q <- rho Q + sum c^T (1 / (c D)),   D = sqrt(P / Q)
with the codes c and the quotients at the old D; then atoms are rescaled to sum 1.

The paper's v, W, h are a row x of X, D transposed, and a row c of C.

Readings:
- Paper E prints no line of this algorithm. The sums are recalled from [18], not verified.
- Atoms are rescaled to sum 1, with P and Q alike: with s the atom's sum, D / s, P / s, Q * s. Only
  this keeps D = sqrt(P / Q), and it is what the sums would have been with D / s and c s
  throughout.
- The codes' solver is not stated: multiplicative updates with exponent 1/2 (multiplicative.py),
  `n_code` of them, from `codes.start` or `starts`.
- rho, a discount of the past, is recalled from [18]: 1.
- P and Q start at 0, so the first batch forgets all of D0 but its part in the majoriser. Both are
  arguments.
- Data must be positive: `divergences.positive` first. An entry with Q = 0 keeps its old value.
"""

from typing import NamedTuple

import numpy as np

from reference.e.codes import start
from reference.e.divergences import itakura_saito
from reference.e.multiplicative import code_steps


class Step(NamedTuple):
    t: int
    C: np.ndarray  # (n x K) codes for the old D
    P: np.ndarray  # (K x F) after rescaling
    Q: np.ndarray
    D: np.ndarray  # after rescaling
    loss: float  # batch mean at the old D


def ol_lef(batches, D0, P0=None, Q0=None, starts=None, rho=1.0, n_code=100):
    d, D = itakura_saito(), D0
    P = np.zeros_like(D0) if P0 is None else P0
    Q = np.zeros_like(D0) if Q0 is None else Q0
    for t, X in enumerate(batches, 1):
        C0 = start(X, D) if starts is None else starts[t - 1]
        *_, C = code_steps(X, D, d, C0, n_code)
        Y = C @ D
        loss = d.value(X, Y).mean()
        P = rho * P + D**2 * (C.T @ (X / Y**2))
        Q = rho * Q + C.T @ (1 / Y)
        D = np.sqrt(np.divide(P, Q, out=D**2, where=Q > 0))
        s = D.sum(1, keepdims=True)
        s[s == 0] = 1
        D, P, Q = D / s, P / s, Q * s
        yield Step(t, C, P, Q, D, loss)
