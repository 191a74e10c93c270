"""Paper E, "Online Nonnegative Matrix Factorization with General Divergences": "Batch".

min over C >= 0, D >= 0 of sum over rows of d(x || c D)                     (1)
by multiplicative updates of C and D in turn.

The paper's V, W, H are X, D and C transposed. With Y = C D and a gradient in positive parts,
grad_y d = Q - P:   C <- C * ((P D^T) / (Q D^T))^e,   D <- D * ((C^T P) / (C^T Q))^e.

  beta (KL 1, IS 0, squared l2 2)   P = X Y^(beta-2), Q = Y^(beta-1),
                                    e = 1/(2-beta) below 1, 1/(beta-1) above 2, else 1
  alpha (Hellinger 1/2)             P = (X / Y)^alpha, Q = 1, e = 1/alpha
  l1, l2, Huber                     P = w X, Q = w Y, e = 1;
                                    w = 1/|x - y|, 1/||x - y||, min(1, alpha/|x - y|)
  Mahalanobis                       own form, below

Readings:
- The paper prints no multiplicative update, neither does its supplement (its S-equations are the
  proofs). Section VIII-A says that "all the batch algorithms have been derived based on the
  multiplicative updates (MU) in previous works" [5], [7], [8]. So every formula here is derived:
  each minimises a majoriser, and the loss cannot rise. That they are those of [5] (beta), [7] (l2)
  and [8] (Huber) is recalled, not verified. [5] to [8] do not cover l1 by their titles; it is
  built like l2.
- [5] is recalled to have the updates for beta < 1 and > 2 also without the exponent e:
  `exponent=1` gives that.
- l1 and l2 weights are infinite where the residual is 0: it is floored at `floor`, which has the
  unit of the data. The loss that cannot rise is then Huber's with alpha = floor, divided by floor,
  for l1 (per sample for l2).
- Order, starts, stop: not stated. C first, then D, weights computed anew for each; starts are
  arguments and must be positive; `n_iter` iterations, no other stop.
- (1) has no upper bound and no eps, unlike S and T: none here, and atoms are not rescaled.
- A quotient 0/0 leaves the entry as it is. An entry that is 0 stays 0.
- Mahalanobis: A = A+ - A- (entries), then with a = (positive part), n = (negative part), b: D <- D
  * (b + sqrt(b^2 + 4 a n)) / (2 a), a = C^T C D A+, n = C^T C D A-, b = C^T X A; for C: a = Y A+
  D^T, n = Y A- D^T, b = X A D^T. It is P/Q's rule if A >= 0.
- Any other Csiszar or Bregman generator has no such closed form here: an error.
"""

from typing import NamedTuple

import numpy as np


class Step(NamedTuple):
    k: int  # 0 is the start
    C: np.ndarray
    D: np.ndarray
    loss: float  # sum over rows, (1)


def parts(X, Y, d, floor=1e-10):
    """P, Q, e with grad_y d = Q - P (up to a positive constant)."""
    beta = {"is": 0, "kl": 1, "squared_l2": 2, "beta": d.parameter}.get(d.name)
    alpha = {"hellinger": 0.5, "alpha": d.parameter}.get(d.name)
    if beta is not None:
        return (
            X * Y ** (beta - 2.0),
            Y ** (beta - 1.0),
            1 / (2 - beta) if beta < 1 else 1 / (beta - 1) if beta > 2 else 1,
        )
    if alpha:  # alpha = 0 has no such form
        return (X / Y) ** alpha, np.ones_like(Y), 1 / alpha
    w = weights(X, Y, d, floor)
    return w * X, w * Y, 1


def weights(X, Y, d, floor=1e-10):
    e = np.abs(X - Y)
    if d.name == "l1":
        return 1 / np.maximum(e, floor)
    if d.name == "l2":
        return np.ones_like(Y) / np.maximum(np.linalg.norm(e, axis=1, keepdims=True), floor)
    if d.name == "huber":
        return d.parameter / np.maximum(e, d.parameter)
    raise ValueError(f"no multiplicative update for {d.name}")


def quotient(P, Q):
    return np.divide(P, Q, out=np.ones_like(P), where=Q > 0)


def update_codes(X, C, D, d, exponent=None, floor=1e-10):
    if d.name == "mahalanobis":
        plus, minus = np.maximum(d.parameter, 0), np.maximum(-d.parameter, 0)
        a, n, b = C @ D @ plus @ D.T, C @ D @ minus @ D.T, X @ d.parameter @ D.T
        return C * quotient(b + np.sqrt(b**2 + 4 * a * n), 2 * a)
    P, Q, e = parts(X, C @ D, d, floor)
    return C * quotient(P @ D.T, Q @ D.T) ** (e if exponent is None else exponent)


def update_dictionary(X, C, D, d, exponent=None, floor=1e-10):
    if d.name == "mahalanobis":
        plus, minus = np.maximum(d.parameter, 0), np.maximum(-d.parameter, 0)
        a, n, b = C.T @ C @ D @ plus, C.T @ C @ D @ minus, C.T @ X @ d.parameter
        return D * quotient(b + np.sqrt(b**2 + 4 * a * n), 2 * a)
    P, Q, e = parts(X, C @ D, d, floor)
    return D * quotient(C.T @ P, C.T @ Q) ** (e if exponent is None else exponent)


def code_steps(X, D, d, C0, n_iter, **options):
    """The codes alone, D fixed. Yields C after every update, the start first."""
    C = C0
    yield C
    for _ in range(n_iter):
        C = update_codes(X, C, D, d, **options)
        yield C


def multiplicative(X, C0, D0, d, n_iter, exponent=None, floor=1e-10):
    """Batch NMF. Yields a Step per iteration, the start first."""
    C, D = C0, D0
    yield Step(0, C, D, d.value(X, C @ D).sum())
    for k in range(1, n_iter + 1):
        C = update_codes(X, C, D, d, exponent, floor)
        D = update_dictionary(X, C, D, d, exponent, floor)
        yield Step(k, C, D, d.value(X, C @ D).sum())
