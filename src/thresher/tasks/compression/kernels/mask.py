"""Which sensors are missing: a change from the row before is rare, and coded as such.

The chance of a change is counted in contexts: whether the sensor was present, how long that has
been so, and how often it used to change, told by a running rate. All integers.
"""

from typing import Any, NamedTuple

import numpy as np

from thresher.kernels.compiling import strict_helper, strict_kernel
from thresher.tasks.compression.kernels.adaptive_bits import adapt, n_below, told

# Bounds of contexts, part of the format; by judgement, about an octave each.
_AGES = np.array([1, 2, 4, 8, 16, 64])  # rows
_RATES = 40 << np.arange(9)  # in units of 2⁻¹⁶


class MaskState(NamedTuple):
    """What both sides know."""

    present: Any  # in the row before, (N)
    age: Any  # rows since the last change, (N)
    rate: Any  # of changes, by sensor and presence, in units of 2⁻¹⁶, (N, 2)
    chances: Any  # (2, contexts)


def first_mask(N: int) -> MaskState:
    """All sensors present, changes rare."""
    n_contexts = (len(_RATES) + 1) * 2 * (len(_AGES) + 1)
    return MaskState(
        present=np.ones(N, np.bool_),
        age=np.zeros(N, np.int64),
        rate=np.full((N, 2), 2000),
        chances=np.stack([np.full(n_contexts, 600), np.full(n_contexts, 2)]),
    )


@strict_helper
def _context(state, j):  # type: ignore[no-untyped-def]
    here = int(state.present[j])
    rate = n_below(_RATES, state.rate[j, here])
    age = n_below(_AGES, state.age[j] + 1)
    return (rate * 2 + here) * (_AGES.size + 1) + age


@strict_helper
def changes_at(state, j):  # type: ignore[no-untyped-def]
    """The chance that sensor j changes, in units of 2⁻¹⁶."""
    return 16 * told(state.chances, _context(state, j))


@strict_helper
def learn_change(state, j, changed):  # type: ignore[no-untyped-def]
    """Learn whether sensor j has changed."""
    here = int(state.present[j])
    adapt(state.chances, _context(state, j), changed)
    state.rate[j, here] += ((65535 if changed else 0) - state.rate[j, here]) // 40
    state.age[j] = 0 if changed else state.age[j] + 1
    state.present[j] = state.present[j] != changed


@strict_kernel
def mask_chances(state, p):  # type: ignore[no-untyped-def]
    """Chances that each sensor changes in the next row."""
    for j in range(p.size):
        p[j] = told(state.chances, _context(state, j))


@strict_kernel
def mask_learn(state, present):  # type: ignore[no-untyped-def]
    """Learn from a row."""
    for j in range(present.size):
        learn_change(state, j, present[j] != state.present[j])
