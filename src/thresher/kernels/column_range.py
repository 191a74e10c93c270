"""The range of every column, in one pass."""

from thresher.kernels.compiling import kernel


@kernel
def column_range(X, low, high):  # type: ignore[no-untyped-def]
    """Lower ``low`` and raise ``high`` to the entries of every column; NaN is skipped."""
    for i in range(X.shape[0]):
        x = X[i]
        for f in range(x.size):
            low[f] = x[f] if x[f] < low[f] else low[f]
            high[f] = x[f] if x[f] > high[f] else high[f]
