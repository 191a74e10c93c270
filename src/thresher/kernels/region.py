"""Constraint sets of codes, row by row: bounds of every entry, or a joint constraint.

The constraint of a row is ``γ₁Σc + γ₂/2 Σc² ≤ 1`` for nonnegative entries, with equality
where it is ``tight``; without a constraint both γ are zero. The simplex and balls are such sets.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import helper


class Region(NamedTuple):
    """The set of the codes, and their penalty ``l1 Σ|c| + l2/2 ‖c‖²``."""

    tight: Any  # flags
    plain: Any  # whether codes are nonnegative, and free otherwise
    l1: Any  # numbers of the type of the codes
    l2: Any
    lower: Any  # may be −∞
    upper: Any  # may be ∞
    gamma1: Any
    gamma2: Any
    rounding: Any  # what counts as equal, relatively

    @classmethod
    def of(cls, dtype: np.dtype[Any], form: Any) -> "Region":
        """That of a regulariser in numbers."""
        constraint = form.row_constraint
        gammas = (0.0, 0.0) if constraint is None else (constraint.gamma1, constraint.gamma2)
        numbers = (form.l1, form.l2, form.lower, form.upper, *gammas, 4 * np.finfo(dtype).eps)
        tight = constraint is not None and bool(constraint.equality)
        return cls(tight, bool(form.is_orthant), *map(dtype.type, numbers))


@helper
def project(v, region):  # type: ignore[no-untyped-def]
    """The member of the set that is nearest to v, in place.

    With a joint constraint it is ``[v − μγ₁]₊/(1 + μγ₂)``; if j entries stay positive, with sums S₁
    and S₂ of values and squares, μ solves ::

        (γ₂² + jγ₁²γ₂/2) μ² + (2γ₂ + jγ₁²) μ + 1 − γ₁S₁ − γ₂S₂/2 = 0.

    Entries that it makes vanish drop out, until none does. That only raises μ, as such entries
    spend less than nothing. μ is a double: rounded to single, it would move large rows out.
    """
    g1, g2 = np.float64(region.gamma1), np.float64(region.gamma2)
    if g1 == 0.0 and g2 == 0.0:
        for k in range(v.size):
            v[k] = min(max(v[k], region.lower), region.upper)
        return
    mu, theta, count = 0.0, -np.inf if region.tight else 0.0, v.size + 1
    while True:
        left, sums, squares = 0, 0.0, 0.0
        for k in range(v.size):
            entry = np.float64(v[k])
            if entry > theta:
                left += 1
                sums += entry
                squares += entry * entry
        c = 1.0 - g1 * sums - g2 * squares / 2
        inside = mu == 0.0 and c >= 0.0 and not region.tight
        if inside or left >= count or left == 0:
            break
        a, b = g2 * g2 + left * g1 * g1 * g2 / 2, 2 * g2 + left * g1 * g1
        mu = -2 * c / (b + np.sqrt(max(b * b - 4 * a * c, 0.0)))
        theta, count = mu * g1, left
    shrink = 1.0 / (1.0 + mu * g2)
    for k in range(v.size):
        v[k] = max(v[k] - theta, 0.0) * shrink


@helper
def proximal(h, shift, rho, region, p):  # type: ignore[no-untyped-def]
    """The proximal map ``p = Π(soft(h, t·l1)/(1 + t·l2))`` of penalty and set, ``t = 1/(ρ·shift)``.

    Where the constraint is tight, a penalty on sums is the same for all members.
    """
    l1 = h.dtype.type(0) if region.tight else region.l1
    for k in range(h.size):
        step = h.dtype.type(1) / (rho * shift[k])
        bound = step * l1
        p[k] = (h[k] - min(max(h[k], -bound), bound)) / (h.dtype.type(1) + step * region.l2)
    project(p, region)
