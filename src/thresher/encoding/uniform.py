"""The published start of codes and outliers: uniform on [0, 1] (paper A, VII-B1)."""

import numpy as np

from thresher.encoding.iterate import Block
from thresher.linalg import Array
from thresher.losses import Envelope


def uniform_start(block: Block, seed: int, envelope: Envelope | None) -> tuple[Array, Array | None]:
    """Codes and, under an ``envelope``, outliers of a block, made feasible like the first atoms.

    Each row has its own, and the same block always starts alike.
    """
    problem, X = block.problem, block.X
    n, (K, F) = X.shape[0], problem.D.shape
    rng = np.random.default_rng(seed)
    C = problem.regulariser.region.project(rng.random((n, K)).astype(X.dtype))
    if envelope is None:
        return C, None
    R: Array = envelope.region.project(rng.random((n, F)).astype(X.dtype))
    if block.weight is not None:
        R[block.weight == 0] = 0
    return C, R
