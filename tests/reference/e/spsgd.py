"""Paper E, "Online Nonnegative Matrix Factorization with General Divergences", Algorithm 1: the
dictionary (SPSGD).

min over D in S of E_x[ min over c in T of d(x || c D) ]                    (4), (5)
D_t = Pi_S(D_(t-1) - eta_t G_t), G_t a subgradient at D_(t-1)               (11)
eta_t = a / (tau t + b)                                                     Section VIII-C

The paper's v, W, h are a row x of X, D transposed, and a row c of C; its C and H are S and T.

Order of one step: codes c_t from the old dictionary D_(t-1); the gradient at D_(t-1) with the new
codes; then D_t. t counts batches from 1 (the paper's N is without zero), so the first step is a /
(tau + b).

Readings:
- Section VIII-B enters tau samples "at each time" and does not say whether G_t is their sum or
  their mean: the mean (errata E.3).
- tau is the batch size in eta_t. If the batches are uneven, it is that of the first, unless given.
- The start D0 may be "any element of C": it is projected onto S, which changes nothing if it is
  one.
- Codes start anew at every sample (cold). Where is not stated: `starts`, one array per batch, or
  `codes.start`.
- The stop of the codes is not stated, see codes.py. `options` go to `codes`: tol, max_iter, delta,
  rule and so on.
- For l1 and l2 the plain subgradient of divergences.py is G_t, without smoothing.
- Units (errata E.3). eta_t has one, and a / b = 1 is far too long for data of the paper's size
  (entries to 4000): KL and squared l2 diverge; Huber, l1 and l2 end above their first loss (data
  of mean 100). The paper has no rule for the scale. Here the step is eta_t * scale, where `scale`
  is a number, None (the letter, 1), or a function (t, X, C, D, G, d) -> a number (or an array that
  broadcasts against D), called with D_(t-1), so that any rule can be put in. The default is
  `inverse_curvature`: 1 / max over features f of ||mean over the batch of w_if c_i^T c_i||_2, w
  the curvature of divergences.py. It looks at the batch that it scales, so that G_t times the step
  is no longer an unbiased estimate up to a constant (Lemma 3 needs that); a rule that looks at
  earlier batches only would be.
- Scaling the data by s then leaves D as it is, if the codes scale too, which Armijo's first step 1
  prevents. So the default `first_step` is `codes.scaled_first_step` here; `first_step=1` is the
  letter. Huber's alpha and Polyak's delta have the unit of the data and must be scaled by the
  caller, and eps <= c <= U must not bind.
- `as_printed=True` is the letter throughout: scale None, first_step 1, Algorithm 3 and S-1 as
  printed.
- The objective of Section VIII-D is 1/t sum over i <= t of d(x_i || c_i D_t), with the codes c_i
  as they were found: `empirical_loss`. It needs all samples, so the steps yield only the batch's
  mean loss at D_(t-1).
"""

from typing import NamedTuple

import numpy as np

from reference.e.codes import codes as solve_codes
from reference.e.codes import scaled_first_step, start
from reference.e.sets import project_dictionary


class Step(NamedTuple):
    t: int  # from 1
    C0: np.ndarray  # (n x K) start of the codes
    C: np.ndarray  # (n x K) codes of the batch for D_(t-1)
    loss: float  # mean over the batch of d(x || c D_(t-1))
    G: np.ndarray  # (K x F) mean gradient at D_(t-1)
    eta: float  # a / (tau t + b)
    scale: object  # the step is eta * scale
    D: np.ndarray  # (K x F) D_t


def inverse_curvature(t, X, C, D, G, d):
    if not G.any():
        return 0.0
    W = d.curvature(X, C @ D)
    return 1 / max(np.linalg.norm(C.T * W[:, f] @ C / len(X), 2) for f in range(X.shape[1]))


def spsgd(
    batches,
    D0,
    d,
    starts=None,
    a=2e4,
    b=2e4,
    tau=None,
    scale=inverse_curvature,
    first_step=scaled_first_step,
    eps=1e-8,
    U=1e8,
    codes=solve_codes,
    as_printed=False,
    **options,
):
    """Algorithm 1. batches: arrays (n x F) in the order of the stream. Yields a Step per batch."""
    if as_printed:
        scale, first_step = None, 1.0
    D = project_dictionary(D0, eps, as_printed)
    for t, X in enumerate(batches, 1):  # line 1
        tau = len(X) if tau is None else tau
        C0 = start(X, D, eps, U) if starts is None else starts[t - 1]
        C = codes(
            X, D, d, C0, eps=eps, U=U, first_step=first_step, as_printed=as_printed, **options
        )  # line 2, (10)
        loss = d.value(X, C @ D).mean()
        G = C.T @ d.gradient(X, C @ D) / len(X)  # in the subdifferential at D_(t-1)
        eta = a / (tau * t + b)  # Section VIII-C
        factor = scale(t, X, C, D, G, d) if callable(scale) else 1.0 if scale is None else scale
        D = project_dictionary(D - eta * factor * G, eps, as_printed)  # line 3, (11)
        yield Step(t, C0, C, loss, G, eta, factor, D)


def empirical_loss(X, C, D, d):
    """Section VIII-D2, with all samples so far and their codes."""
    return d.value(X, C @ D).mean()
