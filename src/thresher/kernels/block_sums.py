"""What a coded block leaves behind under a separable envelope, in one call."""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import kernel
from thresher.kernels.envelope import inlier, outlier


class BlockSums(NamedTuple):
    """Room for the sums of a block."""

    values: Any  # (n), losses of the rows
    gradient: Any  # (n, F), ∇ in the prediction
    squares: Any  # (n), ‖c‖²
    A: Any  # (K, K), Σ w cᵀc
    B: Any  # (K, F), Σ w cᵀ∇
    curvature: Any  # (F), Σ w‖c‖² |∇|/|x − y|

    @classmethod
    def like(cls, X: Any, K: int) -> "BlockSums":
        """Room for such samples."""
        (n, F), dtype = X.shape, X.dtype
        shapes: tuple[Any, ...] = (n, (n, F), n, (K, K), (K, F), F)
        return cls(*(np.empty(shape, dtype) for shape in shapes))


@kernel
def block_sums(X, C, D, weights, outliers, sums):  # type: ignore[no-untyped-def]
    """Predict, compare and add up; ``weights`` are those of the rows.

    Where a residual is zero, its curvature is one.
    """
    values, G, squares, A, B, curvature = sums
    l1, l2, lower, upper = outliers
    zero, half, one = X.dtype.type(0), X.dtype.type(0.5), X.dtype.type(1)
    shrink, half_l2 = one / (one + l2), half * l2
    weighted = np.empty_like(C)
    np.dot(C, D, G)
    curvature[:] = zero
    for i in range(X.shape[0]):
        x, g, c, w = X[i], G[i], C[i], weights[i]
        square = zero
        for k in range(c.size):
            square += c[k] * c[k]
            weighted[i, k] = w * c[k]
        energy, total = w * square, zero
        for f in range(x.size):
            e = x[f] - g[f]
            r = outlier(e, l1, shrink, lower, upper)
            kept, size = inlier(e, l1, l2, shrink, lower, upper), abs(e)
            total += half * kept * kept + abs(r) * (l1 + half_l2 * abs(r))
            curvature[f] += energy * (abs(kept) / size if size > zero else one)
            g[f] = -kept
        values[i], squares[i] = total, square
    np.dot(weighted.T, C, A)
    np.dot(weighted.T, G, B)
