"""Signs, bounds and budgets of codes as features of their own, under the ℓ1 distance.

What a polyhedron asks of codes is an absolute value that they pay if they do not: an exact penalty,
which is never paid if its weight M exceeds every slope of the rest. So the simplex method, which
knows nonnegative codes and a linear price, knows them all.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thresher.encoding.problem import CodingProblem
from thresher.kernels.floors import TINY
from thresher.linalg import Array
from thresher.losses import L1Distance
from thresher.penalties import ElasticNet, Form, Regulariser


def lacks_polyhedron(form: Form) -> str | None:
    """What is missing for codes to be those of a linear program; None if they are."""
    flat = form.fully_declared and (form.row_constraint is None or form.row_constraint.gamma2 == 0)
    bounded = form.lower > -np.inf or form.upper == np.inf
    if form.row_constraint is not None and form.lower != 0:  # sums of absolute values
        return "nonnegative codes where their sum is limited"
    if flat and bounded and form.elastic and form.l2 == 0:
        return None
    return "codes between bounds or of limited sum, under an ℓ1 penalty at most"


@dataclass(frozen=True)
class Widened:
    """An ℓ1 problem in ``c' ≥ 0`` whose solution is that of another one over a polyhedron.

    ``c = l + c'`` for codes of at least l, and ``c = c'₁ − c'₂`` for those that have no bounds.
    With S above the slopes of the loss and of the penalty, features are added for

    - ``c ≤ u``:   ``2S[c − u]₊ = S(|c − u| + c − u)``, which is S in weight and S in price;
    - ``Σc ≤ r``:  the same of the sum;
    - ``Σc = r``:  ``2S|Σc − r|``;
    - ``λ|c|`` of codes that may be negative: a weight of λ on ``|c' − (−l)|``.
    """

    original: CodingProblem
    problem: CodingProblem
    X: Array
    weight: Array

    @classmethod
    def of(cls, problem: CodingProblem, X: Array, weight: Array) -> "Widened":
        """From samples and weights in float64; no weights are ones."""
        form, D, l1 = problem.regulariser.form, problem.D.astype(np.float64), 0.0
        K = len(D)
        weight = weight if len(weight) else np.ones(X.shape)
        if form.lower == -np.inf:
            both = CodingProblem(np.vstack([D, -D]), L1Distance(), Regulariser(ElasticNet(form.l1)))
            return cls(problem, both, X, weight)
        slope = float(weight.max()) * float(np.abs(D).sum(axis=1).max()) + form.l1
        slope, low = max(slope, TINY), form.lower
        eye, ones = np.eye(K), np.ones((K, 1))
        blocks: list[Array] = [D]
        values: list[Array] = [X - low * D.sum(axis=0)]
        weights: list[Array] = [weight]

        def add(block: Array, value: float, price: float) -> None:
            shape = (len(X), block.shape[1])
            blocks.append(block)
            values.append(np.full(shape, value))
            weights.append(np.full(shape, price))

        if low >= 0:
            l1 = form.l1
        elif form.l1:
            add(eye, -low, form.l1)
        if form.upper < np.inf:
            add(eye, form.upper - low, slope)
            l1 += slope
        if form.row_constraint is not None:
            tight = form.row_constraint.equality
            add(ones, form.row_constraint.radius, 2 * slope if tight else slope)
            l1 += 0.0 if tight else slope
        wider = CodingProblem(np.hstack(blocks), L1Distance(), Regulariser(ElasticNet(l1)))
        return cls(problem, wider, np.hstack(values), np.hstack(weights))

    def start(self, codes: Array | None) -> Any:
        """Codes of the original problem as codes of this one."""
        form = self.original.regulariser.form
        if codes is None:
            return None
        if form.lower == -np.inf:
            return np.hstack([np.maximum(codes, 0), np.maximum(-codes, 0)])
        return codes - form.lower

    def codes(self, found: Array) -> Array:
        """And back; what rounding left outside is brought in."""
        regulariser, K = self.original.regulariser, len(self.original.D)
        low = regulariser.form.lower
        C = found[:, :K] - found[:, K:] if low == -np.inf else found + low
        return regulariser.region.project(C)
