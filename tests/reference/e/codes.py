"""Paper E, "Online Nonnegative Matrix Factorization with General Divergences", Algorithms 2 and 3:
the codes.

min over c in T of d(x || c D)                                             (10), with d and T fixed
by projected (sub)gradient steps c <- Pi_T(c - beta g), g = grad_y d(x || c D) D^T          (12)

The paper's v, W, h are a row x of X, D transposed, and a row c of C. Every row is solved, and
stops, by itself.

Readings:
- Algorithm 2 starts with k := 0 and computes h^k from h^(k-1): it must be k := 1, h^0 is the
  input.
- Algorithm 3 is given h^k, but (12) needs the step at h^(k-1): the step is found where the
  gradient is taken.
- The stop of Algorithm 2 is "some convergence criterion" (errata E.1), nothing more: no number,
  for no rule. Here, for Armijo and constant steps: |d_(k-1) - d_k| <= tol d_(k-1), tol = 1e-6. For
  Polyak's steps, which are not monotone, a step that does not improve never ends the row: it ends
  if the best value fell by less than delta over the last `patience` = 100 steps (delta is all that
  Section V-C promises), or if g = 0. Both: after max_iter = 2000 steps.
- The start is "any point in H": an argument. `start` is this file's choice, the same number in
  every entry, such that c D and x have the same sum (it has the unit of the data, and needs no
  random numbers).
- Algorithm 3 (errata E.1). The letter tries the unprojected point c - xi g, where KL and IS may be
  undefined; the test is then false, so a NaN is accepted. (In Matlab, which the authors used, the
  logarithm of a negative number is complex, and ">" compares real parts.) And it lets the last
  step, gamma^(q+1), through untested. Here: c+ = Pi_T(c - xi g), accepted if d(c+) <= d(c) + alpha
  <g, c+ - c>, for xi = gamma^0 .. gamma^(q+1) times the first step; if none passes, c stays, and
  that ends the row. `as_printed=True` is the letter.
- Algorithm 3 prints "alpha in (0, 0.5), gamma in (0, 1)"; Section V-C gives 0.01 and 0.1, and q =
  10: "i <= q" makes 11 tests (i = 0 .. 10) and at most 11 cuts.
- xi^0 = 1 has a unit (codes per gradient), so the codes depend on the unit of the data. On large
  data the first steps are far too short, and a relative stop ends them
  near the start. `first_step` is 1, as printed, or another number, or a function (x, c, g, D, d)
  -> number, for a rule of the caller's. `scaled_first_step`, ten times the inverse curvature, is
  one that makes the codes scale with the data.
- The constant step 1/L: L is not printed. For Huber and squared l2 it is ||D||_2^2 (one
  row's curvature in the prediction is at most 1).
- l2 uses Armijo's rule (Section V-C). Its minimisers are those of squared l2 (errata E.6).
- The modified Polyak step is not printed, only cited, with delta_tol = 0.01: beta = (d(c) - d_best
  + delta) / ||g||^2, d_best the least loss so far, that at c included. delta has the unit of the
  data (errata E.3). Algorithm 2 outputs the "final" vector, but the guarantee of Section V-C is on
  the lim inf, so `codes` returns the best; every step yields both. With a constant delta a step
  that improves gains about delta at most, so it takes some (d(start) - d(optimum)) / delta steps.
  (An adaptive delta with delta_tol as its floor has the same guarantee; that the cited texts have
  it too is recalled, not verified. Here it is constant.)
- Which rule for which divergence: Section V-C names Huber and squared l2 for constant steps, l1
  for Polyak's, and Armijo's for "all the continuously differentiable" and l2.
"""

from typing import NamedTuple

import numpy as np

from reference.e.sets import project_codes


class CodeStep(NamedTuple):
    k: int  # 0 is the start
    c: np.ndarray  # (K,)
    value: float  # d(x || c D)
    g: np.ndarray  # (sub)gradient at the previous c; None at the start
    beta: float  # step size; 0 if the row stays, None at the start
    best: np.ndarray  # the c of least value so far
    best_value: float


def start(X, D, eps=1e-8, U=1e8):
    return project_codes(np.repeat(X.sum(1, keepdims=True), len(D), axis=1) / D.sum(), eps, U)


def rule_of(d):  # Section V-C
    return {"huber": "constant", "squared_l2": "constant", "l1": "polyak"}.get(d.name, "armijo")


def scaled_first_step(x, c, g, D, d):
    return 10 / np.linalg.norm(D * d.curvature(x[None], (c @ D)[None]) @ D.T, 2)


def loss(x, c, D, d):
    with np.errstate(all="ignore"):  # an unprojected c may give a NaN
        return d.value(x[None], (c @ D)[None])[0]


def armijo(x, c, g, D, d, eps, U, first_step, alpha, gamma, q, as_printed):  # Algorithm 3
    """The step size and the new code; as_printed also if the test fails to the end."""
    xi = first_step(x, c, g, D, d) if callable(first_step) else first_step
    for i in range(q + 2):  # i = 0 .. q tested, q + 1 the last cut
        new = project_codes(c - xi * g, eps, U)
        if as_printed:
            fails = loss(x, c - xi * g, D, d) > loss(x, c, D, d) - alpha * xi * (
                g @ g
            )  # false for a NaN
            if not fails or i == q + 1:
                return xi, new
        elif loss(x, new, D, d) <= loss(x, c, D, d) + alpha * (g @ (new - c)):
            return xi, new
        xi = gamma * xi
    return 0.0, c


def code_steps(
    x,
    D,
    d,
    c0,
    rule=None,
    eps=1e-8,
    U=1e8,
    tol=1e-6,
    max_iter=2000,
    first_step=1.0,
    alpha=0.01,
    gamma=0.1,
    q=10,
    delta=0.01,
    patience=100,
    L=None,
    as_printed=False,
):
    """Algorithm 2 for one row x (F,), from c0 (K,). Yields every iterate, the start first."""
    rule = rule or rule_of(d)
    L = np.linalg.norm(D, 2) ** 2 if L is None and rule == "constant" else L
    c = project_codes(c0, eps, U)
    value = loss(x, c, D, d)
    best, best_value, bests = c, value, [value]
    yield CodeStep(0, c, value, None, None, best, best_value)
    for k in range(1, max_iter + 1):
        g = d.gradient(x[None], (c @ D)[None])[0] @ D.T  # at h^(k-1)
        if not g.any():
            return
        if rule == "armijo":
            beta, c = armijo(x, c, g, D, d, eps, U, first_step, alpha, gamma, q, as_printed)
        else:
            beta = 1 / L if rule == "constant" else (value - best_value + delta) / (g @ g)
            c = project_codes(c - beta * g, eps, U)  # (12)
        old, value = value, loss(x, c, D, d)
        if value < best_value:
            best, best_value = c, value
        bests.append(best_value)
        yield CodeStep(k, c, value, g, beta, best, best_value)
        if rule == "polyak":
            if k >= patience and bests[k - patience] - best_value < delta:
                return
        elif abs(old - value) <= tol * abs(old):
            return


def codes(X, D, d, C0=None, **options):
    """The codes (n x K) of all rows: the best iterate of Polyak's steps, the last of the others."""
    C0 = start(X, D) if C0 is None else C0
    rule = options.get("rule") or rule_of(d)
    C = np.empty((len(X), len(D)))
    for i, x in enumerate(X):
        *_, step = code_steps(x, D, d, C0[i], **options)
        C[i] = step.best if rule == "polyak" else step.c
    return C
