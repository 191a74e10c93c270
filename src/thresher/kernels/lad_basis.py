"""The basis of a vertex: interpolated features, free atoms, and the inverse that links them.

``inverse[j, i]`` belongs to basic feature j and free atom i: by how much the code of the atom moves
when the feature's prediction rises by one and the others stay. It is explicit and small; to
exchange, add or remove a feature or an atom is one pass over it.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import helper
from thresher.kernels.products import add, copy


class LadCodes(NamedTuple):
    """The state of every atom, in the basis or not."""

    c: Any  # (K), codes
    cost: Any  # (K), q − Σ θ_f D_f over the features outside the basis, less penalties
    z: Any  # (K), prices: the same over all features
    held: Any  # (K), whether a code outside the basis is held at its value
    negative: Any  # (K), whether a code is below zero, and pays its penalty


class LadBasis(NamedTuple):
    """Slots of interpolated features and free atoms; how many are used is told beside it."""

    features: Any  # (K + 1), the feature of each slot
    free: Any  # (K + 1), the atom of each slot
    place: Any  # (K), the slot of an atom, or −1
    inverse: Any  # (K + 1, K + 1), by slots of features and of atoms
    theta: Any  # (K), the dual θ of the feature of each slot


@helper
def room_for_codes(K):  # type: ignore[no-untyped-def]
    """`LadCodes` of K atoms, still to be filled."""
    held, negative = np.empty(K, np.bool_), np.empty(K, np.bool_)
    return LadCodes(np.empty(K), np.empty(K), np.empty(K), held, negative)


@helper
def room_for_basis(K):  # type: ignore[no-untyped-def]
    """A `LadBasis` of up to K slots, and one more in between."""
    features, free = np.empty(K + 1, np.int64), np.empty(K + 1, np.int64)
    place, inverse, theta = np.empty(K, np.int64), np.empty((K + 1, K + 1)), np.empty(K)
    return LadBasis(features, free, place, inverse, theta)


@helper
def pair(Dt, features, atoms, size, T, basis):  # type: ignore[no-untyped-def]
    """Pair features with atoms, in the order of the features, as far as they are independent.

    The first features get their place in the basis, each with the atom that it determines best.
    ``T`` is the derivative of predictions in codes; to exchange a feature for an atom is one
    elimination step, and the inverse is read off in the end. Returns the number of pairs.
    """
    n_features, n_atoms = features.size, atoms.size
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
        rows[n], columns[n] = a, at
        basis.free[n], basis.features[n] = atoms[at], features[a]
        n += 1
    for j in range(n):
        for i in range(n):
            basis.inverse[j, i] = T[rows[i], columns[j]]
    return n


@helper
def vertex(x, Dt, words, basis, n, codes):  # type: ignore[no-untyped-def]
    """The free codes: those that interpolate x in the basis, besides the codes that are held.

    Basic feature j is entry ``features[j]`` of x, and row ``words[j]`` of Dt.
    """
    c, held, free = codes.c, codes.held, basis.free
    for i in range(n):
        c[free[i]] = 0.0
    for j in range(n):
        value, column = x[basis.features[j]], Dt[words[j]]
        for k in range(c.size):
            if held[k]:
                value -= c[k] * column[k]
        row = basis.inverse[j]
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
