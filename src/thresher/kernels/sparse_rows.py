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


@kernel
def floor_rows(indptr, x, y, share, out):  # type: ignore[no-untyped-def]
    """``out = max(y, 0)`` plus a share of the largest entry of the row."""
    for i in range(indptr.size - 1):
        largest = x.dtype.type(0)
        for j in range(indptr[i], indptr[i + 1]):
            largest = max(largest, x[j])
        floor = share * largest
        for j in range(indptr[i], indptr[i + 1]):
            out[j] = max(y[j], y.dtype.type(0)) + floor


@kernel
def add_rows(indptr, indices, values, C, out):  # type: ignore[no-untyped-def]
    """Add ``VᵀC`` to ``out`` (F × K), for the CSR matrix V of these values."""
    for i in range(indptr.size - 1):
        c = C[i]
        for j in range(indptr[i], indptr[i + 1]):
            row, value = out[indices[j]], values[j]
            for k in range(c.size):
                row[k] += value * c[k]
