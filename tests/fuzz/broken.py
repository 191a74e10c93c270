"""Families that go wrong, each in its own way: what the harness itself is tested with."""

import os
import time
import warnings

import numpy as np
from numba.core import event


def hangs(rng: np.random.Generator) -> str:
    time.sleep(3600)
    return "right"


def turns_in_circles(rng: np.random.Generator) -> str:
    while rng.random() < 2:
        pass
    return "right"


def compiles_for_long(rng: np.random.Generator) -> str:
    with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
        time.sleep(2)
    return "right"


def eats_memory(rng: np.random.Generator) -> str:
    kept = [np.empty(1 << 24) for _ in range(64)]  # 128 MB each; touching them takes seconds
    return "right" if kept else "refused"


def asks_for_too_much(rng: np.random.Generator) -> str:
    np.empty(1 << 37)
    return "right"


def is_wrong(rng: np.random.Generator) -> str:
    assert rng.random() < 0, "Two and two are five."
    return "right"


def raises(rng: np.random.Generator) -> str:
    raise KeyError("nobody caught this")


def warns(rng: np.random.Generator) -> str:
    warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)
    return "right"


def aborts(rng: np.random.Generator) -> str:
    os.abort()


def leaves(rng: np.random.Generator) -> str:
    raise SystemExit(0)


def says_nothing(rng: np.random.Generator) -> str:
    return ""


def is_right(rng: np.random.Generator) -> str:
    return "right" if rng.random() < 2 else "refused"
