"""One pass over residuals for the ADMM of a factorisation."""

import numpy as np

from thresher.kernels.compiling import kernel


@kernel
def split_residual(X, Y, weight, width, square, push, U, losses):  # type: ignore[no-untyped-def]
    """Split ``x − y + u`` into outlier and dual; the target of the factors replaces Y.

    With ``p = x − y + u`` the outlier is ``e = soft(p, wt)/(1 + wtα)``, t the ``width`` and α the
    ``square``; the scaled dual becomes ``u = p − e``, and the target ``x − e + push·u``. An entry
    of weight zero is all outlier. ``losses`` get ``Σ w(|r| + α/2 r²)``, ``r = x − y``, row by row.
    """
    one = X.dtype.type(1)
    ones = np.ones(X.shape[1], X.dtype)
    for i in range(X.shape[0]):
        x, y, u = X[i], Y[i], U[i]
        v = weight[i] if weight.shape[0] > 0 else ones
        row = X.dtype.type(0)
        for f in range(x.size):
            w, r = v[f], x[f] - y[f]
            p = r + u[f]
            t = w * width
            e = (p - min(max(p, -t), t)) / (one + t * square)
            row += w * (abs(r) + square * r * r / 2)
            new = (p - e) * push
            u[f] = new
            y[f] = x[f] - e + new
        losses[i] = row
