r"""Symmetric Manhattan NMF, entry by entry: each takes the value that is best given all others.

In column c of row j, with the others fixed and Z = X − Σ_{c'≠c} h_{c'} h_{c'}ᵀ, the objective is

.. math:: \varphi(x) = |Z_{jj} - x^2| + 2 \sum_{i \ne j} |Z_{ij} - h_i x|, \qquad x \ge 0,

(61) of the paper with every entry off the diagonal counted twice, as the norm does. The sum is a
convex function g, linear between its breakpoints v = Z_ij / h_i, with minimum at their weighted
median m. The first term has its minimum, zero, at r = √[Z_jj]₊, and is concave before it. So both
fall before min(m, r) and both rise after max(m, r): the answer lies between m and r.

- r ≤ m: there x² + g is convex, and its minimum is where the slope 2x + g' changes its sign
  (Theorem 3 with b = 1, d = 0). Since x ≤ m, this is after g' = −2m.
- m < r: there g − x² is concave between breakpoints, so one of these is best, or m, or r. From a
  breakpoint p with g'(p) ≥ r + p on, it only rises: g(x) − x² − g(p) + p² ≥ (x − p)(g'(p) − x − p).

Either way few breakpoints around the median are left to sort.

Where X is zero, Z ≤ 0 and the breakpoint is not positive: on x ≥ 0 such a term is linear. All of
them together are one breakpoint at zero, and X is looked at only where it has entries.
"""

import numpy as np

from thresher.kernels.bundles import BreakpointBuffer
from thresher.kernels.compiling import strict_helper, strict_kernel
from thresher.kernels.weighted_median import weighted_select


@strict_helper
def _quantile(values, weights, n, target, total, workspace):  # type: ignore[no-untyped-def]
    """First value at which the weights, in order of value, reach the target."""
    buffer_values, buffer_weights, marks = workspace
    buffer_values[:n] = values[:n]
    buffer_weights[:n] = weights[:n]
    value, _ = weighted_select(buffer_values, buffer_weights, marks, n, target, total)
    return value


@strict_helper
def _between(values, weights, n, low, high, workspace):  # type: ignore[no-untyped-def]
    """Breakpoints in (low, high], in order, and the weight of all at or below ``low``."""
    below, kept = 0.0, 0
    kept_values, kept_weights, _ = workspace
    for i in range(n):
        if values[i] <= low:
            below += weights[i]
        elif values[i] <= high:
            kept_values[kept], kept_weights[kept] = values[i], weights[i]
            kept += 1
    order = np.argsort(kept_values[:kept])
    return kept_values[:kept][order], kept_weights[:kept][order], below


@strict_helper
def _convex_side(values, weights, n, total, r, m, workspace):  # type: ignore[no-untyped-def]
    """Minimum of x² + g on [r, m], where g falls: Theorem 3, clipped to both ends of a piece."""
    low = r
    target = 0.5 * total - m
    if target > 0:  # before this breakpoint the slope is below −2m + 2x ≤ 0
        start = _quantile(values, weights, n, target, total, workspace)
        low = max(r, np.nextafter(start, -np.inf))
    kept, kept_weights, below = _between(values, weights, n, low, m, workspace)
    slope = 2 * below - total
    left = r
    for i in range(kept.size):
        if -0.5 * slope <= kept[i]:
            break
        slope += 2 * kept_weights[i]
        left = kept[i]
    return max(left, -0.5 * slope)


@strict_helper
def _concave_side(values, weights, n, total, r, m, workspace):  # type: ignore[no-untyped-def]
    """Minimum of g − x² on [m, r], where g rises: at a breakpoint or an end."""
    high = r
    target = 0.5 * total + r
    if target < total:  # after this breakpoint the slope is at least 2r − 2x ≥ 0
        high = min(r, _quantile(values, weights, n, target, total, workspace))
    kept, kept_weights, below = _between(values, weights, n, m, high, workspace)
    slope = 2 * below - total
    here, best, change, lowest = m, m, 0.0, 0.0
    for i in range(kept.size):
        if slope >= r + here:
            return best
        change += (kept[i] - here) * (slope - kept[i] - here)
        here = kept[i]
        slope += 2 * kept_weights[i]
        if change < lowest:
            best, lowest = here, change
    if slope < r + here and change + (r - here) * (slope - r - here) < lowest:
        best = r
    return best


@strict_helper
def _best_entry(values, weights, n, square, workspace):  # type: ignore[no-untyped-def]
    """Minimise |square − x²| + Σ w |x − v| over x ≥ 0; without the first term if it is NaN."""
    total = weights[:n].sum()
    r = np.sqrt(square) if square > 0 else 0.0
    if total <= 0:
        return r
    m = max(_quantile(values, weights, n, 0.5 * total, total, workspace), 0.0)
    if np.isnan(square):
        return m
    if r <= m:
        return _convex_side(values, weights, n, total, r, m, workspace)
    return _concave_side(values, weights, n, total, r, m, workspace)


@strict_helper
def _beyond(values, weights, n, workspace):  # type: ignore[no-untyped-def]
    """Minimise x² + Σ w |x − v| over x ≥ 0: what (61) is beyond the root of the diagonal."""
    total = weights[:n].sum()
    if total <= 0:
        return 0.0
    m = max(_quantile(values, weights, n, 0.5 * total, total, workspace), 0.0)
    return _convex_side(values, weights, n, total, 0.0, m, workspace)


@strict_helper
def _residuals(data, stored, H, j, residual):  # type: ignore[no-untyped-def]
    """Row j of X − HHᵀ where X has entries; the place of the diagonal among them, or −1."""
    on_diagonal = -1
    for t in range(stored.size):
        i = stored[t]
        prediction = 0.0
        for c in range(H.shape[1]):
            prediction += H[j, c] * H[i, c]
        residual[t] = data[t] - prediction
        if i == j:
            on_diagonal = t
    return on_diagonal


@strict_kernel
def symmetric_sweep(X, H):  # type: ignore[no-untyped-def]
    """Give every entry of H (n, K) its best value, row by row, in place.

    X is a symmetric CSR matrix; what is not stored is zero, NaN missing.
    """
    indptr, indices, data = X
    n, K = H.shape
    sums = np.zeros(K)
    longest = 0
    for j in range(n):
        sums += H[j]
        longest = max(longest, indptr[j + 1] - indptr[j])
    residual = np.empty(longest)
    values, weights = np.empty(longest + 1), np.empty(longest + 1)
    workspace = BreakpointBuffer(
        np.empty(longest + 1), np.empty(longest + 1), np.zeros(longest + 1, np.int64)
    )

    for j in range(n):
        row = slice(indptr[j], indptr[j + 1])
        stored = indices[row]
        on_diagonal = _residuals(data[row], stored, H, j, residual)
        all_stored = stored.size + (on_diagonal < 0) == n
        for c in range(K):
            x = H[j, c]
            square, seen = 0.0, 0.0
            if on_diagonal >= 0:
                square = residual[on_diagonal] + x * x
            else:  # an entry of zero, whose root is zero whatever the other columns take from it
                seen = x
            used = 0
            for t in range(stored.size):
                h = H[stored[t], c]
                seen += h
                if h > 0 and t != on_diagonal and not np.isnan(residual[t]):
                    values[used] = residual[t] / h + x
                    weights[used] = 2 * h
                    used += 1
            # Where all is stored, rounding of the sums must not make a breakpoint.
            if not all_stored and sums[c] > seen:
                values[used], weights[used] = 0.0, 2 * (sums[c] - seen)
                used += 1

            best = _best_entry(values, weights, used, square, workspace)
            for t in range(stored.size):
                residual[t] -= (best - x) * (best + x if t == on_diagonal else H[stored[t], c])
            sums[c] += best - x
            H[j, c] = best


@strict_kernel
def symmetric_columns(X, H, exact):  # type: ignore[no-untyped-def]
    """Minimise ‖X − HHᵀ‖₁ in every entry of H (n, K), column by column, in place: (60)–(61).

    If not ``exact``, entries off the diagonal count once, and the diagonal is x² whatever Z_jj is.
    """
    indptr, indices, data = X
    n, K = H.shape
    twice = 2.0 if exact else 1.0
    Z = np.empty(data.size)
    longest = 0
    for j in range(n):
        row = slice(indptr[j], indptr[j + 1])
        _residuals(data[row], indices[row], H, j, Z[row])
        longest = max(longest, indptr[j + 1] - indptr[j])
    values, weights = np.empty(longest + 1), np.empty(longest + 1)
    workspace = BreakpointBuffer(
        np.empty(longest + 1), np.empty(longest + 1), np.zeros(longest + 1, np.int64)
    )
    for c in range(K):
        total = 0.0
        for j in range(n):
            total += H[j, c]
            for t in range(indptr[j], indptr[j + 1]):
                Z[t] += H[j, c] * H[indices[t], c]
        for j in range(n):
            square, used, seen, on_diagonal = 0.0, 0, H[j, c], False
            for t in range(indptr[j], indptr[j + 1]):
                i = indices[t]
                if i == j:
                    square, on_diagonal = Z[t], True
                    continue
                seen += H[i, c]
                if H[i, c] > 0 and not np.isnan(Z[t]):
                    values[used], weights[used] = Z[t] / H[i, c], twice * H[i, c]
                    used += 1
            # Where X is zero breakpoints are not positive: together they are one at zero.
            if indptr[j + 1] - indptr[j] + (not on_diagonal) < n and total > seen:
                values[used], weights[used] = 0.0, twice * (total - seen)
                used += 1
            if not (exact or np.isnan(square)):
                best = _beyond(values, weights, used, workspace)
            else:
                best = _best_entry(values, weights, used, square, workspace)
            total += best - H[j, c]
            H[j, c] = best
        for j in range(n):
            for t in range(indptr[j], indptr[j + 1]):
                Z[t] -= H[j, c] * H[indices[t], c]


@strict_kernel
def symmetric_loss(X, H):  # type: ignore[no-untyped-def]
    """‖X − HHᵀ‖₁ without missing entries; where X is zero the prediction itself is the loss."""
    indptr, indices, data = X
    n, K = H.shape
    sums, loss = np.zeros(K), 0.0
    for j in range(n):
        sums += H[j]
    for j in range(n):
        row = slice(indptr[j], indptr[j + 1])
        stored = indices[row]
        residual = np.empty(stored.size)
        _residuals(data[row], stored, H, j, residual)
        rest = sums.copy()
        for t in range(stored.size):
            loss += 0.0 if np.isnan(residual[t]) else abs(residual[t])
            rest -= H[stored[t]]
        if stored.size < n:
            loss += max((rest * H[j]).sum(), 0.0)
    return loss
