"""What travels as bytes, so that its arrays begin where arrays begin.

Dask hands arrays over as pieces of the message that they came in, and these begin at any byte.
There matrix products and compiled loops take other ways, which round differently.
"""

from functools import lru_cache
from typing import Any

import cloudpickle
import numpy as np

from thresher.linalg import is_sparse

_KEPT = 8  # models and dictionaries that a worker keeps unpacked; by judgement


def packed(value: Any) -> bytes:
    """Anything as bytes, parts that users wrote included."""
    return bytes(cloudpickle.dumps(value))


@lru_cache(_KEPT)
def shared(value: bytes) -> Any:
    """What was packed, made once in a process for all tasks: not to be changed."""
    return unpacked(value)


def unpacked(value: bytes) -> Any:
    """What was packed."""
    return cloudpickle.loads(value)


def aligned(rows: Any) -> Any:
    """Samples, dense or CSR, copied if they came in a message and begin at an odd byte."""
    if not is_sparse(rows):
        return np.require(rows, requirements="A")
    arrays = [np.require(part, requirements="A") for part in (rows.data, rows.indices, rows.indptr)]
    return type(rows)(tuple(arrays), shape=rows.shape)
