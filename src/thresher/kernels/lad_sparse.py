"""Exact nonnegative least absolute deviations of sparse rows; the method is in `lad_pivots`."""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.bundles import BreakpointBuffer, Limits
from thresher.kernels.compiling import helper, strict_kernel
from thresher.kernels.lad_basis import room_for_basis, room_for_codes, vertex
from thresher.kernels.lad_bounds import absolute, lower_bound
from thresher.kernels.lad_pivots import PricedAtoms, Watched, perturb, pivots
from thresher.kernels.products import add, copy


class WordAtoms(NamedTuple):
    """A nonnegative dictionary whose atoms are read word by word."""

    Dt: Any  # (F, K), transposed
    sums: Any  # (K), of the atoms, float64
    size: Any  # (K), lengths of the atoms, float64


@helper
def _sum_rows(Dt, words, out):  # type: ignore[no-untyped-def]
    """``out = Σ_words Dt[word]``, four at a time, in float64."""
    one = np.float64(1)
    out[:] = 0
    fours = words.size - words.size % 4
    for i in range(0, fours, 4):
        d0, d1, d2, d3 = Dt[words[i]], Dt[words[i + 1]], Dt[words[i + 2]], Dt[words[i + 3]]
        for k in range(out.size):
            out[k] += (one * d0[k] + one * d1[k]) + (one * d2[k] + one * d3[k])
    for i in range(fours, words.size):
        d0 = Dt[words[i]]
        for k in range(out.size):
            out[k] += d0[k]


@strict_kernel
def lad_sparse_rows(rows, dictionary, l1, zero_weight, C, limits, outcome):  # type: ignore[no-untyped-def]
    """Exact codes C, in place, on a nonnegative D; certificate and bounds as in `lad_rows`.

    Entries that are zero weigh ``zero_weight``. There ``|0 − y| = y`` is linear, so a row is a
    problem in its own words, with ``q = l1 + zero_weight (sums − Σ_words D)``: the work grows with
    the nonzeros. C is the start, zero or not.
    """
    indptr, indices, data = rows
    Dt, sums, size = dictionary
    tol, max_iter = limits
    certificate, n_iter = outcome
    n_rows, K = indptr.size - 1, Dt.shape[1]
    longest = 0
    for row in range(n_rows):
        longest = max(longest, indptr[row + 1] - indptr[row])
    noisy, w, e = np.empty(longest), np.empty(longest), np.empty(longest)
    side, dual = np.empty(longest), np.empty(longest)
    slot, dy = np.empty(longest, np.int64), np.empty(longest)
    local, gathered = np.empty((K, longest)), np.empty(K, np.int64)
    inside, q, penalty, at_bottom = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    basic_words = np.empty(K + 1, np.int64)
    codes, basis = room_for_codes(K), room_for_basis(K)
    breakpoints = BreakpointBuffer(
        np.empty(longest + K + 2), np.empty(longest + K + 2), np.empty(longest + K + 2, np.int64)
    )
    atoms = PricedAtoms(Dt, size, size, penalty)  # no entry is larger than its atom
    c, cost, z, held, negative = codes
    for row in range(n_rows):
        words, x = indices[indptr[row] : indptr[row + 1]], data[indptr[row] : indptr[row + 1]]
        m = x.size
        scale, total, heaviest = 0.0, 0.0, 0.0
        for f in range(m):
            w[f] = 1.0 if x[f] != 0 else zero_weight
            scale += w[f] * abs(x[f])
            total += w[f]
            heaviest = max(heaviest, w[f])
        n_iter[row], certificate[row] = 0, 0.0
        if not scale > 0 or scale == np.inf:
            C[row] = 0
            if scale != 0:
                certificate[row] = np.nan
            continue
        perturb(x, scale / total, noisy)
        _sum_rows(Dt, words, inside)
        for k in range(K):
            q[k] = l1 + zero_weight * max(sums[k] - inside[k], 0.0)
            penalty[k] = 2 * (q[k] + heaviest * inside[k])
            held[k] = C[row, k] > 0 and penalty[k] > 0
            c[k] = C[row, k] if held[k] else 0.0
        best = np.inf
        for _ in range(2):
            n = np.int64(0)
            for f in range(m):
                e[f] = noisy[f]
            for k in range(K):
                basis.place[k], negative[k], gathered[k] = -1, False, 0
                cost[k] = q[k] - inside[k]
                if held[k]:
                    for f in range(m):
                        e[f] -= c[k] * Dt[words[f], k]
            for f in range(m):
                slot[f], side[f] = -1, -1.0 if e[f] < 0 else 1.0
                if side[f] * w[f] != 1:
                    add(cost, 1 - side[f] * w[f], Dt[words[f]])
            n, done, _ = pivots(
                atoms, Watched(words, w, e, side, slot, dy, gathered), m, local, np.inf, codes,
                basis, n, Limits(0.1 * tol, max_iter - n_iter[row]), breakpoints,
            )  # fmt: skip
            n_iter[row] += done
            for k in range(K):
                z[k] = q[k] - inside[k]
                at_bottom[k] = q[k] + inside[k]
            for f in range(m):
                dual[f] = side[f] * w[f]
                if slot[f] >= 0:
                    dual[f] = min(max(basis.theta[slot[f]], -w[f]), w[f])
                if dual[f] != 1:
                    add(z, 1 - dual[f], Dt[words[f]])
                if w[f] != 1:
                    add(at_bottom, w[f] - 1, Dt[words[f]])
            low = lower_bound(x, w[:m], dual, z, penalty, q, at_bottom)
            # The codes that the basis gives with the true data, if that is no worse.
            for j in range(n):
                basic_words[j] = words[basis.features[j]]
            for values in (x, noisy):
                vertex(values, Dt, basic_words, basis, n, codes)
                high = 0.0
                for f in range(m):
                    e[f] = x[f]
                for k in range(K):
                    c[k] = max(c[k], 0.0)
                    high += q[k] * c[k]
                    if c[k] > 0:
                        for f in range(m):
                            e[f] -= c[k] * (local[k, f] if gathered[k] == m else Dt[words[f], k])
                high += absolute(e[:m], w[:m])
                if high < best:
                    best = high
                    copy(c, C[row])
                if best - low <= tol * scale:
                    break
            certificate[row] = (best - low) / scale
            if certificate[row] <= tol or n_iter[row] >= max_iter:
                break
            # Once more, with a fresh inverse.
            for k in range(K):
                c[k] = C[row, k]
                held[k] = c[k] > 0
