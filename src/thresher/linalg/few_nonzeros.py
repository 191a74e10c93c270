"""Matrices of few nonzeros, whose products should touch only these."""

from typing import Any

import numpy as np
from scipy import sparse

from thresher.linalg.arrays import Array

_FEW = 0.1  # heuristic


def thinned(A: Array) -> Any:
    """The matrix as CSR if less than a tenth of it is nonzero, else as it is."""
    return sparse.csr_array(A) if np.count_nonzero(A) < _FEW * A.size else A
