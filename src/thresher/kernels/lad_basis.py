"""The basis of a vertex: interpolated features, free atoms, and the inverse that links them.

``inverse[j, i]`` belongs to basic feature j and free atom i: by how much the code of the atom moves
when the feature's prediction rises by one and the others stay. It is explicit and small; to
exchange, add or remove a feature or an atom is one pass over it.
"""

import numpy as np

from thresher.kernels.compiling import helper
from thresher.kernels.products import add, copy


@helper
def pair(Dt, features, n_features, atoms, n_atoms, size, T, free, basis, inverse):  # type: ignore[no-untyped-def]
    """Pair features with atoms, in the order of the features, as far as they are independent.

    The first features get their place in the basis, each with the atom that it determines best.
    ``T`` is the derivative of predictions in codes; to exchange a feature for an atom is one
    elimination step, and the inverse is read off in the end. Returns the number of pairs.
    """
    for a in range(n_features):
        row, column = T[a], Dt[features[a]]
        for b in range(n_atoms):
            row[b] = column[atoms[b]]
    n = 0
    rows, columns = np.empty(n_atoms, np.int64), np.empty(n_atoms, np.int64)
    taken = np.zeros(n_atoms, np.bool_)
    skipped = np.zeros(n_features, np.bool_)
    for a in range(n_features):
        if n == n_atoms:
            break
        row, column = T[a, :n_atoms], Dt[features[a]]
        best, whole, at = 0.0, 0.0, -1
        for b in range(n_atoms):
            whole = max(whole, abs(column[atoms[b]]) / size[atoms[b]])
            if not taken[b] and abs(row[b]) > best * size[atoms[b]]:
                best, at = abs(row[b]) / size[atoms[b]], b
        if not best > 1e-3 * whole:
            skipped[a] = True
            continue
        scale = 1 / row[at]
        for b in range(n_atoms):
            row[b] *= -scale
        row[at] = scale
        for p in range(n_features):
            if p != a and not skipped[p]:
                other = T[p, :n_atoms]
                factor = other[at]
                other[at] = 0
                add(other, factor, row)
        taken[at] = True
        rows[n], columns[n], free[n], basis[n] = a, at, atoms[at], features[a]
        n += 1
    for j in range(n):
        for i in range(n):
            inverse[j, i] = T[rows[i], columns[j]]
    return n


@helper
def vertex(x, basis, Dt, words, free, n, inverse, held, c):  # type: ignore[no-untyped-def]
    """The free codes: those that interpolate x in the basis, besides the codes that are held.

    Basic feature j is entry ``basis[j]`` of x, and row ``words[j]`` of Dt.
    """
    for i in range(n):
        c[free[i]] = 0.0
    for j in range(n):
        value, column = x[basis[j]], Dt[words[j]]
        for k in range(c.size):
            if held[k]:
                value -= c[k] * column[k]
        row = inverse[j]
        for i in range(n):
            c[free[i]] += value * row[i]


@helper
def basic_duals(inverse, n, cost, size, theta, length):  # type: ignore[no-untyped-def]
    """``θ = inverse·cost``, and the squared length of the edge that releases each basic feature."""
    for j in range(n):
        row = inverse[j, :n]
        value, squares = 0.0, 0.0
        for i in range(n):
            value += row[i] * cost[i]
            squares += (row[i] * size[i]) * (row[i] * size[i])
        theta[j], length[j] = value, squares


@helper
def times_column(inverse, n, column, atoms, out):  # type: ignore[no-untyped-def]
    """``out = inverse · column[atoms]``."""
    for j in range(n):
        row, value = inverse[j, :n], 0.0
        for i in range(n):
            value += row[i] * column[atoms[i]]
        out[j] = value


@helper
def replace_feature(inverse, n, j, u):  # type: ignore[no-untyped-def]
    """A new basic feature in slot j; ``u = inverse · its column``."""
    pivot = inverse[j, :n]
    for i in range(n):
        pivot[i] /= u[j]
    for i in range(n):
        if i != j:
            add(inverse[i, :n], -u[i], pivot)


@helper
def replace_atom(inverse, n, i, g):  # type: ignore[no-untyped-def]
    """A new free atom in slot i; ``g = its row · inverse``."""
    for j in range(n):
        row = inverse[j, :n]
        own = row[i] / g[i]
        add(row, -own, g[:n])
        row[i] = own


@helper
def border(inverse, n, u, g, schur):  # type: ignore[no-untyped-def]
    """One more atom and one more feature, in slot n."""
    for j in range(n):
        add(inverse[j, :n], u[j] / schur, g[:n])
        inverse[j, n] = -u[j] / schur
        inverse[n, j] = -g[j] / schur
    inverse[n, n] = 1 / schur


@helper
def remove(inverse, n, j, i):  # type: ignore[no-untyped-def]
    """Without the feature in slot j and the atom in slot i; the last slots move there."""
    pivot = inverse[j, :n]
    for p in range(n):
        if p != j:
            add(inverse[p, :n], -inverse[p, i] / pivot[i], pivot)
    copy(inverse[n - 1, :n], inverse[j, :n])
    for p in range(n):
        inverse[p, i] = inverse[p, n - 1]
