"""Products that are wanted at the nonzeros of sparse rows only."""

from thresher.kernels.compiling import kernel


@kernel
def products_at(indptr, indices, C, Dt, out):  # type: ignore[no-untyped-def]
    """``out = (C D) at the nonzeros``; ``Dt`` is Dᵀ, so that both factors are read in order."""
    for i in range(indptr.size - 1):
        c = C[i]
        for j in range(indptr[i], indptr[i + 1]):
            d = Dt[indices[j]]
            total = c.dtype.type(0)
            for k in range(c.size):
                total += c[k] * d[k]
            out[j] = total
