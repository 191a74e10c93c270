"""A follower of a stream in a file: the rows that it keeps; what they say is learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.persistence import Contents
from thresher.tasks.tables.causal import MOST_ROWS, Follower


def packed_follower(follower: Follower) -> dict[str, Any]:
    """Its rows, as arrays."""
    arrays: dict[str, Any] = {"rows": follower.X, "seconds": follower.seconds}
    arrays["came"] = follower.came
    arrays["trusted"] = np.stack(follower.trusted).astype(np.uint8)
    return arrays


def unpacked_follower(contents: Contents) -> Follower:
    """The follower again, before it has learned."""
    X = contents.array("rows", (None, None), finite=False)
    n, F = X.shape
    seconds = contents.array("seconds", (n,))
    n_passes = len(Follower.new(1).trusted)
    trusted = contents.array("trusted", (n_passes, n, F), ("uint8",)).astype(bool)
    came = contents.array("came", (2, n, F), finite=False)
    n_rows, n_learned = contents.integer("n_rows", least=n), contents.integer("n_learned")
    if F < 1 or n_learned > min(n, MOST_ROWS) or np.isinf(X).any() or (np.diff(seconds) < 0).any():
        raise contents.error("its rows do not make sense")
    if np.isinf(came).any() or (came[1] < 0).any():
        raise contents.error("it remembers what cannot have come")
    if (trusted & np.isnan(X)).any():
        raise contents.error("it trusts readings that are not there")
    return Follower(X, seconds, list(trusted), came, n_rows, n_learned)
