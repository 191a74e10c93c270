"""Tables of documents in files."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from thresher.estimators.parts import PARAMETERS
from thresher.persistence import Contents


def documents_of(contents: Contents, name: str, n_words: int) -> Any:
    """A table of documents, None if there is none (also in older files)."""
    if contents.document.get(name) is None:
        return None
    rows: Any = PARAMETERS.unpack(contents.record(name), contents)
    if not isinstance(rows, sparse.csr_array) or rows.shape[1] != n_words:
        raise contents.error(f"its documents are no table of {n_words} words")
    if not np.isfinite(rows.data).all() or (rows.data < 0).any():
        raise contents.error("its documents have weights that no word has")
    return rows
